"""Search for keys and names by the field's words."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ssdlab import _core, catalogue
from ssdlab._core import InputError
from ssdlab.catalogue import glossary

#: Example command for each category.
USES: Mapping[str, str] = {
    "devices": "ssdlab run --device {}",
    "cleaners": "ssdlab run --set cleaning.policy={}",
    "workloads": "ssdlab run --workload {}",
    "formats": "ssdlab run --trace FILE --set workload.format={}",
    "links": "ssdlab run --set device.host_link.bandwidth={}",
    "cells": "ssdlab run --device tlc-enterprise --set device.cell.preset={}",
    "keys": "ssdlab run --set {}=VALUE",
    "figures": "ssdlab paper {}",
}


class Found(NamedTuple):
    """A name in a category, with its summary."""

    category: str
    name: str
    summary: str


class Synonym(NamedTuple):
    """A foreign name of a key: a row of the engine's table."""

    word: str
    terms: Sequence[str]
    """Last parts of the equivalent keys; empty without an equivalent."""
    note: str
    """Another answer: a command, or the reason why no key exists."""

    @property
    def said(self) -> str:
        """Its name in ssdlab."""
        return f"called {', '.join(self.terms)} here" if self.terms else self.note


def synonym(search: str) -> Synonym | None:
    """The row of a synonym in any spelling."""
    found = _core.synonym(search)
    return None if found is None else Synonym(*found)


def keys(search: str) -> list[Found]:
    """The keys that match `search`: by name first, then by mention.

    >>> [found.name for found in keys("bs")][0]
    'workload.block_size'
    """
    every = catalogue.list("keys")
    wanted = search.strip().lower()
    row = synonym(search)
    if row is not None:
        words = [term.lower() for term in row.terms]
        named = [name for word in words for name in every if word in name]
        stated = [name for name, it in every.items() if any(word in it.lower() for word in words)]
    else:
        named = [name for name in every if wanted in name.lower()]
        named = sorted(named, key=lambda name: not name.lower().endswith(wanted))
        parts = wanted.split()
        stated = [
            name
            for name, summary in every.items()
            if all(part in f"{name} {summary}".lower() for part in parts)
        ]
    term = glossary.find(search)
    if term is not None and (row is None or not row.terms):
        named = [*term.keys, *named]
    return [Found("keys", name, every[name]) for name in dict.fromkeys([*named, *stated])]


def named(name: str) -> list[Found]:
    """Matches of `name` in every category; a key by its last parts, a term by any synonym.

    Raises `InputError` with near matches or the name used here, if there are none.
    """
    found = []
    for category in catalogue.categories():
        entries = catalogue.list(category)
        for each, summary in entries.items():
            if each == name or (category == "keys" and each.endswith(f".{name}")):
                found.append(Found(category, each, summary))
    if (term := glossary.find(name)) is not None:
        found.insert(0, Found("terms", term.term, term.meaning))
    if found:
        return found
    if (row := synonym(name)) is not None:
        hint = row.said
        if row.terms:
            hint = f"it is {row.said}: ssdlab keys {row.word!r}"
            hint += f"; {row.note}" if row.note else ""
        raise InputError(f'nothing is called "{name}"; {hint}')
    every = [each for category in catalogue.categories() for each in catalogue.list(category)]
    near = difflib.get_close_matches(name, every, n=3, cutoff=0.6)
    near += [key for key in every if key.rpartition(".")[2] == name]
    hint = f"; did you mean {', '.join(near)}?" if near else "; ssdlab list has the names"
    raise InputError(f'nothing is called "{name}"{hint}')
