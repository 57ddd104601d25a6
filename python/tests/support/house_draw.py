"""Draws sentences and identifiers for a review, the same ones for the same seed and tree.

`python python/tests/support/house_draw.py sentences 51` prints 100 sentences from comments,
docstrings, help, messages and pages, `identifiers 51` 200 names of items, fields, parameters and
variables, each with its file. A reader judges which of them to rewrite.
"""

import ast
import random
import re
import sys

import house_prose
from house import ROOT

COUNTS = {"sentences": 100, "identifiers": 200}
#: Words of a sentence at least.
LEAST_WORDS = 5
#: Names in Rust that the code itself declares.
DECLARED = re.compile(
    r"\b(?:fn|struct|enum|trait|mod|const|static|type|let(?: mut)?)\s+(\w+)"
    r"|^\s*(?:pub(?:\(\w+\))? )?(\w+): ",
    re.MULTILINE,
)


def sentences():
    """Every sentence of prose, with the kind of its text."""
    for where, text in house_prose.texts():
        for sentence in house_prose.sentences(text):
            words = re.findall(r"[A-Za-z]{2,}", sentence)
            is_prose = re.fullmatch(r"[A-Z*`\"(].*[.:?!]", sentence) is not None
            if is_prose and len(words) >= LEAST_WORDS:
                yield f"{where}: {sentence}"


def of_rust(text):
    """The names that a file of Rust declares, without its comments."""
    code = re.sub(r"//.*", "", text)
    return {first or second for first, second in DECLARED.findall(code)}


def of_python(text):
    """The names that a file of Python declares."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def identifiers():
    """Every name of two letters or more, once for each file that declares it."""
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        yield from named(path, of_rust(path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "python/ssdlab").rglob("*.py")):
        yield from named(path, of_python(path.read_text(encoding="utf-8")))


def named(path, names):
    """The names with their file, in order."""
    place = path.relative_to(ROOT).as_posix()
    return [f"{place}: {name}" for name in sorted(set(names)) if len(name.strip("_")) > 1]


def drawn(kind, seed):
    """The sample of `kind` for a seed."""
    every = sorted(set({"sentences": sentences, "identifiers": identifiers}[kind]()))
    return random.Random(seed).sample(every, COUNTS[kind])


if __name__ == "__main__":
    print("\n".join(drawn(sys.argv[1], int(sys.argv[2]))))
