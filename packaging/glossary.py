"""Writes docs/glossary.md from the table of terms. A test holds the page fresh."""

from pathlib import Path

from ssdlab.catalogue import glossary

TARGET = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"
HEAD = """\
# Glossary

The field's terms, and where ssdlab has them: the keys that change them and the results that state
them. `ssdlab show TERM` prints one; `ssdlab keys TERM` lists its keys.

This page is generated from the program's own table.
"""


def text() -> str:
    """What the page has to be."""
    parts = [HEAD]
    for it in glossary.terms():
        facts = {
            "Unit": it.unit,
            "Keys": ", ".join(f"`{key}`" for key in it.keys),
            "In results": ", ".join(f"`{name}`" for name in it.results),
            "Also called": ", ".join(it.also),
        }
        lines = [f"- {name}: {said}\n" for name, said in facts.items() if said]
        title = it.term[0].upper() + it.term[1:]
        parts.append(f"## {title}\n\n{it.meaning} [More]({it.page}).\n")
        parts += ["".join(lines)] if lines else []
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
