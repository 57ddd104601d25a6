"""The pages of the docs, which are part of the package, and a search in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

#: Maximum number of sections in a search result.
MAX_FOUND = 12

_HEADING = re.compile(r"(#{1,4}) (.+)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


class Section(NamedTuple):
    """A part of a page under one heading."""

    page: str
    heading: str
    text: str

    def score(self, words: Sequence[str]) -> int:
        """Match score for lower-case `words`: 0 unless all occur; headings count most."""
        head, text = self.heading.lower(), self.text.lower()
        counts = [
            text.count(word) + 20 * (word in head) + 5 * (word in self.page) for word in words
        ]
        return sum(min(count, 30) for count in counts) if all(counts) else 0

    def line(self, words: Sequence[str]) -> str:
        """Its first sentence-like line with one of the words, without link markup."""
        lines = [
            _LINK.sub(r"\1", it).strip("|>- ").replace("**", "")
            for it in self.text.splitlines()
            if it.strip()
        ]
        with_word = [it for it in lines if any(word in it.lower() for word in words)]
        return next(iter([*with_word, *lines]), "")


@cache
def pages() -> Mapping[str, str]:
    """The text of each page, by its name: `drives`, `configuration/ssd`.

    Raises:
        InputError: The package was installed without its docs.
    """
    found = dict(sorted(_read(files("ssdlab.catalogue").joinpath("docs"), "")))
    if not found:
        raise InputError("the docs are not in this installation: the wheel has them")
    return found


def _read(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    if not folder.is_dir():  # a checkout without symbolic links
        return []
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _read(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".md"):
            name = prefix + entry.name.removesuffix(".md")
            found.append((name, entry.read_text(encoding="utf-8")))
    return found


#: Folders beside the pages, whose files the pages name.
BESIDE = ("examples", "notebooks")


def copy_examples(folder: Path) -> list[Path]:
    """Copy the examples and notebooks that the pages name into a folder; the new paths.

    Raises:
        InputError: The folder has examples or notebooks already, or is not writable.
    """
    for name in BESIDE:
        if (folder / name).exists():
            raise InputError(f"{folder / name}: is there already; another folder keeps it")
    try:
        copied = [
            it
            for name in BESIDE
            for it in _copy(files("ssdlab.catalogue").joinpath(name), folder / name)
        ]
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written: {error.strerror}") from None
    if not copied:
        raise InputError("the examples are not in this installation: the wheel has them")
    return copied


def _copy(source: Traversable, target: Path) -> list[Path]:
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        return [target]
    if not source.is_dir() or source.name == "__pycache__":
        return []
    return [it for entry in source.iterdir() for it in _copy(entry, target / entry.name)]


def title(text: str) -> str:
    """The heading of a page."""
    return text.partition("\n")[0].lstrip("# ")


@cache
def sections() -> tuple[Section, ...]:
    """The sections of all pages, in order."""
    found = []
    for page, text in pages().items():
        heading, lines, in_block = "", list[str](), False
        for line in text.splitlines():
            in_block ^= line.lstrip().startswith("```")
            match = None if in_block else _HEADING.fullmatch(line)
            if match is None:
                lines.append(line)
                continue
            if heading:
                found.append(Section(page, heading, "\n".join(lines).strip()))
            heading, lines = match[2], []
        found.append(Section(page, heading, "\n".join(lines).strip()))
    return tuple(found)


def search(wanted: str) -> list[Section]:
    """The sections that have all words of `wanted`, best first, at most `MAX_FOUND`.

    >>> search("write amplification")[0].heading
    'Write amplification'
    """
    words = wanted.lower().split()
    scored = [(it.score(words), it) for it in sections()]
    best = sorted((it for it in scored if it[0]), key=lambda it: -it[0])
    return [it for _, it in best[:MAX_FOUND]]
