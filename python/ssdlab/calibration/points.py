"""Input of calibration: mean service times by pattern, size and queue depth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ssdlab._core import InputError

#: Short name of each pattern, and its section in a device file.
PATTERNS: Mapping[str, str] = {
    "seq_read": "sequential_read",
    "rand_read": "random_read",
    "seq_write": "sequential_write",
    "rand_write": "random_write",
}
KIB = 1024
UNITS = {"B": 1, "KiB": KIB, "MiB": KIB**2}

Steps = Callable[[int, int], object]
"""Callback: steps done, total steps."""


@dataclass(frozen=True)
class Point:
    """The mean time of requests of one pattern and size at one queue depth."""

    pattern: str
    bytes: int
    outstanding: int
    mean_us: float
    requests: int

    def to_dict(self) -> dict[str, Any]:
        """The point in the form of the JSON output."""
        return {
            "pattern": self.pattern,
            "bytes": self.bytes,
            "outstanding": self.outstanding,
            "mean_us": self.mean_us,
            "requests": self.requests,
        }


@dataclass(frozen=True)
class Measured:
    """Points with their origin and notes."""

    source: str
    points: list[Point]
    conditions: dict[str, Any]
    size_bytes: int | None = None
    notes: list[str] = field(default_factory=list)


def means(points: Iterable[Point]) -> list[Point]:
    """One mean point per pattern, size and queue depth: the mean over all requests."""
    sums: dict[tuple[str, int, int], list[float]] = {}
    for point in points:
        total = sums.setdefault((point.pattern, point.bytes, point.outstanding), [0.0, 0])
        total[0] += point.mean_us * point.requests
        total[1] += point.requests
    return [
        Point(pattern, size, outstanding, us / requests, int(requests))
        for (pattern, size, outstanding), (us, requests) in sorted(sums.items())
    ]


def size_bytes(text: str, what: str) -> int:
    """A size such as "4KiB" in bytes: whole sectors of 512 B."""
    found = re.fullmatch(r"(\d+)\s*(B|KiB|MiB)", text.strip())
    number = int(found[1]) * UNITS[found[2]] if found else 0
    if not number or number % 512:
        raise InputError(
            f"{what} {text}: a size is a multiple of 512B with its unit, such as 512B or 64KiB"
        )
    return number


def size_text(size: int) -> str:
    """A size in the largest unit that gives a whole number.

    >>> size_text(512), size_text(65536), size_text(1 << 20)
    ('512B', '64KiB', '1MiB')
    """
    unit = max((unit for unit in UNITS if size % UNITS[unit] == 0), key=UNITS.__getitem__)
    return f"{size // UNITS[unit]}{unit}"


def list_of_numbers(text: str, what: str) -> tuple[int, ...]:
    """Rising numbers from 1, such as "1,2,4"."""
    try:
        numbers = tuple(int(number) for number in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1 or any(a >= b for a, b in zip(numbers, numbers[1:])):  # noqa: B905
        raise InputError(f"{what} {text}: expected rising whole numbers from 1, such as 1,2,4")
    return numbers
