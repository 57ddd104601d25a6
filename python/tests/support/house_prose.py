"""Prose that is hard to read, counted: in comments, docstrings, help, messages and pages.

A pattern that is reworded into its twin is a new row here.
"""

import ast
import io
import re
import tokenize

from house import ROOT, parsed, text_of

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


#: A string literal of Rust. Each character fits one way: another would be slow.
LITERAL = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
#: Quotation marks that begin no literal of words: characters, and raw strings.
OTHER_QUOTES = re.compile(r"""b?'\\?"'|br?#"|r(#*)".*?"\1""", re.DOTALL)


def of_rust(text):
    """The messages, and the comments, a block of lines each."""
    code = re.sub(r"(?:^|\s)//.*", "", text)
    texts = LITERAL.findall(OTHER_QUOTES.sub("", code))
    yield from (re.sub(r"\\\n\s*", "", it) for it in texts if " " in it)
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
    for node in ast.walk(parsed(text)):
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
        yield from (("Rust", it) for it in of_rust(text_of(path)))
    for path in sorted((ROOT / "python/ssdlab").rglob("*.py")):
        yield from (("Python", it) for it in of_python(text_of(path)))
    for path in [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]:
        yield from (("pages", it) for it in of_page(path.read_text(encoding="utf-8")))


def sentences(text):
    """The sentences of a text."""
    return re.split(r"(?<=[.?!:;])\s+", re.sub(r"\s+", " ", text))


#: Any of the patterns: most sentences have none.
SOME = re.compile("|".join(it.pattern for it in PATTERNS.values()), re.IGNORECASE)


def counted(every):
    """How often each pattern is found in texts, and long sentences of pages."""
    counts = dict.fromkeys([*PATTERNS, f"more than {LONGEST} words"], 0)
    for where, text in every:
        for sentence in sentences(text):
            if where == "pages":
                counts[f"more than {LONGEST} words"] += len(sentence.split()) > LONGEST
            # Pages and messages may ask a question.
            if SOME.search(sentence) and not sentence.rstrip().endswith("?"):
                for name, pattern in PATTERNS.items():
                    counts[name] += bool(pattern.search(sentence))
    return counts


def found():
    """How often each pattern is found in the project."""
    return counted(texts())
