"""Prose that is hard to read, counted: in comments, docstrings, help, messages and pages.

A pattern that is reworded into its twin is a new row here.
"""

import ast
import io
import re
import tokenize

from house import ROOT

#: Words with which no comment begins, and words that stand for a noun of the field.
PATTERNS = {
    f"begins with {word}": re.compile(rf"^{word}\b")
    for word in ("What", "Whether", "Who", "Those", "The same")
} | {
    words: re.compile(rf"\b{words}\b", re.IGNORECASE)
    for words in (
        "comes to",
        "goes on",
        "has it",
        "in no time",
        "is asked",
        "is due",
        "is gone",
        "is told",
        "looked (?:at|for|through)",
        "nobody",
        "of it",
        "power goes",
        "so many",
        "that of",
        "those of",
        "those that",
        "what is",
    )
}
#: Words of a sentence that is read once.
LONGEST = 35


#: A string literal of Rust with words.
LITERAL = re.compile(r'"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"', re.DOTALL)


def of_rust(text):
    """The messages, and the comments, a block of lines each."""
    code = re.sub(r"(?:^|\s)//.*", "", text)
    yield from (re.sub(r"\\\n\s*", "", it) for it in LITERAL.findall(code))
    block = []
    for line in text.splitlines():
        found = re.match(r"\s*//[/!]?(?: (.*))?$", line)
        if found:
            block.append(found[1] or "")
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def of_python(text):
    """The comments, and all texts: docstrings, help and messages."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("#: ")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value.strip()


def of_page(text):
    """The paragraphs, without blocks, tables and code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-*] )", text):
        if not paragraph.lstrip().startswith(("|", "<!--", "#")):
            yield re.sub(r"`[^`]*`", "CODE", paragraph.strip().removeprefix("- "))


def texts():
    """Every text, by where it stands."""
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        yield from (("Rust", it) for it in of_rust(path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "python/ssdlab").rglob("*.py")):
        yield from (("Python", it) for it in of_python(path.read_text(encoding="utf-8")))
    for path in [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]:
        yield from (("pages", it) for it in of_page(path.read_text(encoding="utf-8")))


def sentences(text):
    """The sentences of a text."""
    return re.split(r"(?<=[.?!:;])\s+", re.sub(r"\s+", " ", text))


def found():
    """How often each pattern is found, and sentences of more than `LONGEST` words in pages."""
    counts = dict.fromkeys([*PATTERNS, f"more than {LONGEST} words"], 0)
    for where, text in texts():
        if where == "pages":
            counts[f"more than {LONGEST} words"] += sum(
                len(sentence.split()) > LONGEST for sentence in sentences(text)
            )
        for name, pattern in PATTERNS.items():
            # Pages and messages may ask a question.
            counts[name] += sum(
                not sentence.rstrip().endswith("?") and bool(pattern.search(sentence))
                for sentence in sentences(text)
            )
    return counts
