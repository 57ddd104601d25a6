"""Parameters of a DiskSim block, each used once, so that none is dropped silently."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign.parv import Block, Value

SECTOR = 512
#: Upper bound of all parameters.
LARGEST = 1e15
#: Parameters on printing or queue statistics, without effect on results.
PRINTED = ("Print stats", "Timing model", "Block count", "Blocks per element", "Init Seed")
DISTRIBUTIONS = {"uniform": 2, "exponential": 2, "normal": 2, "poisson": 2}


class Given:
    """Parameters of a block, each used once; unused ones are not modelled."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.left = dict(block.given)
        self.notes: list[str] = []

    def wrong(self, name: str, value: Value, problem: str) -> InputError:
        """The error about a parameter."""
        if self.block.is_hidden:
            # The parameter is known, and the problem text quotes nothing.
            where = f"{self.block.path}:{value.line}: {name}"
            return InputError(f"{where}: {problem} (its value is in a file that another names)")
        of = " ".join(filter(None, (self.block.type, self.block.name)))
        return InputError(f"{self.block.path}:{value.line}: {of}: {name} = {value}: {problem}")

    def refuse(self, name: str, problem: str, *fine: str) -> None:
        """Raise `InputError` if a parameter's number is none of these."""
        value = self.left.pop(name, None)
        if value is not None and not _is_one_of(value, fine):
            raise self.wrong(name, value, problem)

    def neutral(self, *names: str, fine: tuple[str, ...] = ("0",)) -> None:
        """Consume parameters whose values have no effect; others remain not modelled."""
        for name in names:
            if name in self.left and _is_one_of(self.left[name], fine):
                del self.left[name]

    def inner(self, name: str) -> Given | None:
        """The parameter's value as a block."""
        value = self.left.get(name)
        if value is None or not isinstance(value.said, Block):
            return None
        del self.left[name]
        return Given(value.said)

    def number(self, name: str, most: float = LARGEST, least: float = 0.0) -> float | None:
        """The value of a parameter as a number from `least` to `most`; None if absent."""
        value = self.left.pop(name, None)
        return None if value is None else self.as_number(name, value, most, least)

    def as_number(
        self, name: str, value: Value, most: float = LARGEST, least: float = 0.0
    ) -> float:
        """A value as a number."""
        try:
            number = float(value.said) if isinstance(value.said, str) else math.nan
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise self.wrong(name, value, f"expected a number from {least:g} to {most:g}")
        return number

    def whole(self, name: str, least: int = 1) -> int | None:
        """The parameter's value as a count."""
        value = self.left.get(name)
        number = self.number(name)
        if value is None or number is None:
            return None
        if number != int(number) or number < least:
            raise self.wrong(name, value, f"expected a whole number from {least}")
        return int(number)

    def word(self, name: str, choices: Mapping[str, Any]) -> Any:
        """Meaning of the word or number of a parameter; None if absent."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        if str(value) not in choices:
            raise self.wrong(name, value, f"choose from {', '.join(choices)}")
        return choices[str(value)]

    def distribution(self, name: str) -> str | None:
        """A distribution in the syntax of the open workload."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        words = value.said if isinstance(value.said, list) else []
        kind = str(words[0]) if words else ""
        if kind not in DISTRIBUTIONS or len(words) != 1 + DISTRIBUTIONS[kind]:
            kinds = ", ".join(DISTRIBUTIONS)
            raise self.wrong(name, value, f"expected [KIND, a, b], KIND of {kinds}")
        numbers = [self.as_number(name, word) for word in words[1:]]
        return f"{kind}({', '.join(f'{number:.12g}' for number in numbers)})"

    def rest(self) -> list[str]:
        """The notes, including unused parameters of the block."""
        unused = [name for name in self.left if name not in PRINTED]
        if self.block.is_hidden and unused:
            where = f"{self.block.path}:{self.block.line}"
            return [*self.notes, f"not modelled: {len(unused)} parameters of the block at {where}"]
        return [*self.notes, *map(self.unmodelled, unused)]

    def unmodelled(self, name: str) -> str:
        """The note about a parameter that is not modelled."""
        block, value = self.block, self.left[name]
        if block.is_hidden:
            return f"not modelled: a parameter at {block.path}:{value.line}"
        return f"not modelled: {' '.join(filter(None, (block.type, block.name)))}: {name} = {value}"


def _is_one_of(value: Value, fine: tuple[str, ...]) -> bool:
    def number(text: object) -> object:
        try:
            return float(str(text))
        except ValueError:
            return str(text)

    return number(value) in [number(it) for it in fine]
