"""Parameters of other simulators' files, and their conversion to TOML."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ssdlab._core import InputError

#: Upper bound of all parameters: bytes, requests, nanoseconds.
LARGEST = 1e18


class Given:
    """Parameters, each used once; unused ones are not modelled."""

    #: Unsupported parameters, by effect on results, largest first.
    by_effect: Sequence[str] = ()
    #: Parameters without an effect on results.
    without_effect: Collection[str] = ()

    def __init__(self, path: Path, given: Mapping[str, str]) -> None:
        self.path = path
        self.left = dict(given)
        self.notes: list[str] = []
        self.idle: list[str] = []

    def word(self, name: str, choices: Mapping[str, Any]) -> Any:
        """Meaning of a parameter's word; None if it is not given."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        if value.upper() not in choices:
            raise self.wrong(name, value, f"choose from {', '.join(choices)}")
        return choices[value.upper()]

    def number(self, name: str) -> float | None:
        """The parameter's value as a number; None if absent."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        try:
            number = float(value)
        except ValueError:
            raise self.wrong(name, value, "expected a number") from None
        if not 0 <= number <= LARGEST:
            raise self.wrong(name, value, f"expected a number from 0 to {LARGEST:g}")
        return number

    def whole(self, name: str) -> int | None:
        """The parameter's value as a count of at least one."""
        stated = self.left.get(name, "")
        number = self.number(name)
        if number is not None and (number < 1 or number != int(number)):
            raise self.wrong(name, stated, "expected a whole number from 1")
        return None if number is None else int(number)

    def ignore(self, *names: str) -> None:
        """Mark parameters without effect beside the others."""
        self.idle += [name for name in names if self.left.pop(name, None) is not None]

    def wrong(self, name: str, value: str, problem: str) -> InputError:
        """The error about a parameter."""
        return InputError(f'{self.path}: {name} = "{value}": {problem}')

    def rest(self) -> list[str]:
        """Unused parts of the file, by effect, and the notes."""
        lost = [name for name in self.left if name not in self.without_effect]
        ranks = {name: rank for rank, name in enumerate(self.by_effect)}
        lost.sort(key=lambda name: ranks.get(name, len(ranks)))
        unused = [f"not modelled: {name} = {self.left[name]}" for name in lost]
        idle = [*self.idle, *(name for name in self.left if name in self.without_effect)]
        quiet = [f"without effect here: {', '.join(idle)}"] if idle else []
        return [*unused, *self.notes, *quiet]


def toml(sections: Mapping[str, Any], notes: list[str]) -> str:
    """The sections as TOML, below the notes as comments."""
    lines = [f"{name} = {_value(table)}" for name, table in sections.items() if table]
    return "\n".join([*(f"# {' '.join(note.split())}" for note in notes), *lines]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(it)}" for key, it in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)
