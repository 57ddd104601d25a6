"""Writes docs/glossary.md from the table of terms, or links a site to it.

Without an argument it writes the page; a test holds it fresh. With the folder of a site, as after
`make docs`, the first use of a term on each page becomes a link to its meaning.
"""

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ssdlab.catalogue import glossary

TARGET = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"
HEAD = """\
# Glossary

The field's terms, and where ssdlab has them: the keys that change them and the results that state
them. `ssdlab show TERM` prints one; `ssdlab keys TERM` lists its keys.

This page is generated from the program's own table.
"""
#: Terms that are ordinary words too: their first use may have the ordinary meaning.
ORDINARY = {"block", "breakdown", "domain", "erase", "live page", "map", "pace", "page", "program"}
ORDINARY |= {"scale", "sense", "spare area", "stream", "unit", "wear", "zone"}
#: Elements within which no term becomes a link.
PLAIN = {"a", "button", "code", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "script", "style", "svg"}


def text() -> str:
    """What the page has to be."""
    parts = [HEAD]
    for it in glossary.terms():
        facts = {
            "Unit": it.unit,
            "Keys": ", ".join(f"`{key}`" for key in it.keys),
            "Results": ", ".join(f"`{name}`" for name in it.results),
            "Also": ", ".join(it.also),
        }
        title = it.term[0].upper() + it.term[1:]
        parts.append(f"## {title}\n\n{it.meaning} [More]({it.page}).\n")
        said = " ".join(f"{name}: {said}." for name, said in facts.items() if said)
        parts += [f"{said}\n"] if said else []
    return "\n".join(parts)


def words() -> dict[str, glossary.Term]:
    """The words that become links, in small letters but for abbreviations, with their terms."""
    found = {}
    for it in glossary.terms():
        # Of the other words the abbreviations and phrases: "line" and "cliff" have other meanings.
        also = [word for word in it.also if word.isupper() or re.search(r"[ \d-]", word)]
        for word in [it.term, *also]:
            if word not in ORDINARY:
                found[word if word.isupper() else word.lower()] = it
    return found


def linked(page: str, glossary_page: str) -> str:
    """A page of HTML whose article links the first use of each term to `glossary_page`."""
    left = words()
    longest = sorted(left, key=len, reverse=True)
    # "WA" is an abbreviation, "was" is none.
    each = (word if word.isupper() else f"(?i:{re.escape(word)})" for word in longest)
    uses = re.compile(rf"\b({'|'.join(each)})(?:e?s)?\b")

    def link(found: re.Match[str]) -> str:
        it = left.get(found[1]) or left.get(found[1].lower())
        if it is None:
            return found[0]
        for word in [word for word, other in left.items() if other is it]:
            del left[word]
        place = re.sub(r"[^\w]+", "-", it.term.lower())
        meaning = html.escape(it.meaning, quote=True)
        return f'<a href="{glossary_page}#{place}" title="{meaning}">{found[0]}</a>'

    def parts() -> Iterator[str]:
        within: list[str] = []
        article = False
        for part in re.split(r"(<[^>]*>)", page):
            tag = re.match(r"<(/?)(\w+)", part)
            if tag is None:
                yield uses.sub(link, part) if article and not within else part
                continue
            if tag[2] == "article":
                article = not tag[1]
            elif tag[2] in PLAIN and not tag[1]:
                within.append(tag[2])
            elif within and tag[1] and tag[2] == within[-1]:
                within.pop()
            yield part

    return "".join(parts())


def link_site(site: Path) -> None:
    """Link the pages of a site to its glossary."""
    target = site / "glossary.html"
    for path in sorted(site.rglob("*.html")):
        if path != target:
            up = "../" * (len(path.relative_to(site).parts) - 1)
            page = path.read_text(encoding="utf-8")
            path.write_text(linked(page, f"{up}glossary.html"), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        link_site(Path(sys.argv[1]))
    else:
        TARGET.write_text(text(), encoding="utf-8")
