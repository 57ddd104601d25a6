"""The glossary: the field's terms, with the keys and results that carry them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Term(NamedTuple):
    """A term of the field."""

    term: str
    unit: str
    """Its unit or symbol; empty if it has none."""
    meaning: str
    keys: Sequence[str]
    """Configuration keys that change it."""
    results: Sequence[str]
    """Results that report it."""
    also: Sequence[str]
    """Other words for it."""
    page: str
    """Page of the docs that explains it."""

    @property
    def lines(self) -> list[str]:
        """Facts besides the meaning, one line each."""
        stated = {
            "Unit": self.unit,
            "Keys": ", ".join(self.keys),
            "In results": ", ".join(self.results),
            "Also called": ", ".join(self.also),
        }
        return [f"{name}: {text}" for name, text in stated.items() if text]


@cache
def terms() -> tuple[Term, ...]:
    """All terms in order of name."""

    def some(text: str) -> list[str]:
        return [] if text == "-" else text.split(", ")

    table = files("ssdlab.catalogue").joinpath("glossary.tsv").read_text(encoding="utf-8")
    return tuple(
        Term(
            row["term"],
            "" if row["unit"] == "-" else row["unit"],
            row["meaning"],
            some(row["keys"]),
            some(row["results"]),
            some(row["also"]),
            row["page"],
        )
        for row in csv.DictReader(table.splitlines(), delimiter="\t")
    )


def find(word: str) -> Term | None:
    """The term of a word or synonym, in any spelling.

    >>> find("WAF").term
    'write amplification'
    """
    wanted = _plain(word)
    for it in terms():
        if wanted in {_plain(name) for name in (it.term, *it.also)}:
            return it
    return None


def _plain(word: str) -> str:
    """Normal form of a word for comparison: without a plural, and with spaces for signs."""
    text = word.strip().lower().replace("_", " ").replace("-", " ")
    return text.removesuffix("s") if len(text) > 3 else text
