"""Axes of a sweep, from `KEY=SPEC` or from Python values.

A spec is a comma-separated list of items. An item is a value in the syntax of `--set`, or a range
with both ends: `1..8` (whole steps), `0.05..0.3:0.05` or `5%..30%:5%` (a step), `4KiB..1MiB:*2` or
`1k..64k:*2` (a factor). `footprint*0.5` is half of the trace's footprint, `footprint*0.1..1:0.1` a
range of such shares.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError

#: Axes of a sweep beside keys: each value names a preset or a file.
NAMES = ("device", "workload", "trace")
#: Larger axes count as typing errors.
MAX_VALUES = 1_000_000

_SIZES = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_DECIMALS = {"kB": 3, "KB": 3, "MB": 6, "GB": 9, "TB": 12}
#: Suffixes of numbers without a unit, and their factors.
_PLAIN: Mapping[str, Decimal] = {
    "%": Decimal("0.01"),
    **{letter: Decimal(10) ** n for letter, n in {"k": 3, "K": 3, "M": 6, "G": 9}.items()},
}
#: Units that a range may mix, by quantity.
_UNITS: dict[str, tuple[str, Decimal]] = {
    **{f"{u}{s}": (f"size{s}", Decimal(1 << n)) for u, n in _SIZES.items() for s in ("", "/s")},
    **{f"{u}{s}": (f"size{s}", Decimal(10) ** n) for u, n in _DECIMALS.items() for s in ("", "/s")},
    **{u: ("share" if u == "%" else "count", n) for u, n in _PLAIN.items()},
    **{u: ("time", Decimal(n)) for u, n in {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}.items()},
}

_NUMBER = r"([+-]?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z/]*|%)"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}(?::(\*?){_NUMBER})?")
_LIKE_A_RANGE = re.compile(r"[+-]?\d[^/]*\.\.")
_DASHED = re.compile(rf"({_NUMBER})-({_NUMBER})")
_RELATIVE = re.compile(r"footprint\s*\*\s*(.+)")


@dataclass(frozen=True)
class Share:
    """A value relative to the trace's footprint, which is known only with the trace."""

    share: float


@dataclass(frozen=True)
class Span:
    """A range for a search, which chooses the values: from `low` to `high`, inclusive."""

    low: Decimal
    high: Decimal
    unit: str
    whole: bool


@dataclass(frozen=True)
class Axis:
    """An axis: a full key or one of `NAMES`, and its values.

    `span` is set instead if a search may choose any value of a range; `ordered` marks values of a
    range.
    """

    name: str
    source: str
    values: Sequence[Any]
    span: Span | None = None
    ordered: bool = False

    def words(self) -> list[str] | str:
        """The axis in the form of the journal: the values, or the ends of a span."""
        if self.span is not None:
            return f"{self.span.low}..{self.span.high}{self.span.unit}"
        return [text_of(value) for value in self.values]

    def assignment(self, value: Any) -> str:
        """One value of this axis, as named in error messages."""
        return f"{self.source} {self.name}={text_of(value)}"


def text_of(value: Any) -> str:
    """A value in the syntax of `--vary`."""
    if isinstance(value, Share):
        return f"footprint*{value.share:.10g}"
    return value if isinstance(value, str) else json.dumps(value)


def is_of_load(name: str) -> bool:
    """True if an axis changes the load, other than its number of requests."""
    return name in ("workload", "trace") or (
        name.startswith("workload.") and name != "workload.requests"
    )


def from_option(assignment: str, searching: bool = False) -> Axis:
    """The axis of `--vary KEY=SPEC`. Raises `InputError`, with the nearest keys."""
    key, equals, spec = assignment.partition("=")
    if not equals:
        raise InputError(f"--vary {assignment}: expected KEY=A,B,C, such as device.channels=4,8")
    return _axis("--vary", key.strip(), spec, searching)


def from_mapping(vary: Mapping[str, Any], searching: bool = False) -> list[Axis]:
    """The axes of `vary={key: values}`: a spec as text, or a sequence of values."""
    return [_axis("vary", key, values, searching) for key, values in vary.items()]


def _axis(source: str, key: str, values: Any, searching: bool) -> Axis:
    name = key if key in NAMES else _full_key(source, key)
    said = f"{source} {key}={values}"
    if not isinstance(values, str):
        if isinstance(values, Mapping) or not hasattr(values, "__iter__"):
            raise InputError(f"{said}: expected a list of values, or a text such as '1..8'")
        listed = [_python_value(value) for value in values]
        if not listed:
            raise InputError(f"{source} {key}: no values; an empty grid has nothing to run")
        return Axis(name, source, listed)
    items = [item.strip() for item in _split(values)]
    if not all(items):
        raise InputError(f"{said}: an empty value; an empty grid has nothing to run")
    if name == "trace":
        from ssdlab import tables

        items = [os.fspath(path) for item in items for path in tables.matches(item) or (item,)]
    if name in NAMES:
        return Axis(name, source, items)
    if searching and len(items) == 1 and (span := _span(items[0], said)) is not None:
        return Axis(name, source, [], span=span)
    listed = [
        value if item[:1] in "\"'" else _plain(name, value, said)
        for item in items
        for value in _item(item, said)
    ]
    ordered = len(items) == 1 and len(listed) > 1
    return Axis(name, source, listed, ordered=ordered)


def _full_key(source: str, key: str) -> str:
    """The full path of a possibly abbreviated key."""
    try:
        text = _core.set_layer(f"{key}=0")[1]
    except InputError as error:
        message = str(error).removeprefix(f"--set {key}=0: ")
        raise InputError(f"{source} {key}: {message}") from None
    return text.partition(" = ")[0]


def _plain(key: str, value: Any, said: str) -> Any:
    """A number in informal notation, such as 28% or 100k, if the key takes a number."""
    if not isinstance(value, str) or not re.match(r"[+-]?[\d.]", value):
        return value
    try:
        layer = _core.set_layer(f"{key}={value}")[1]
    except InputError as error:
        message = str(error).removeprefix(f"--set {key}={value}: ")
        raise InputError(f"{said}: {message}") from None
    return value if (read := layer.partition(" = ")[2]).startswith('"') else _literal(read)


def _python_value(value: Any) -> Any:
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str) and (relative := _RELATIVE.fullmatch(value.strip())):
        return Share(float(relative[1]))
    return value


def _split(spec: str) -> Iterator[str]:
    """The items of a spec: commas inside brackets and quotes belong to a value."""
    depth, quote, start = 0, "", 0
    for position, letter in enumerate(spec):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth <= 0:
            yield spec[start:position]
            start = position + 1
    yield spec[start:]


def _item(item: str, said: str) -> list[Any]:
    if relative := _RELATIVE.fullmatch(item):
        shares = _range(relative[1], said) or [_literal(relative[1])]
        if not all(isinstance(share, int | float) and share > 0 for share in shares):
            raise InputError(f"{said}: {item}: a share is a positive number, as in footprint*0.5")
        return [Share(float(share)) for share in shares]
    return _range(item, said) or [_literal(item)]


def _literal(text: str) -> Any:
    """A value of `--set` for the table: a number if possible."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    for kind in int, float:
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _parsed(item: str, said: str) -> re.Match[str] | None:
    found = _RANGE.fullmatch(item)
    if found is None and _LIKE_A_RANGE.match(item):
        raise InputError(
            f"{said}: {item} is no range; ranges are written 1..8, 0.05..0.3:0.05 (a step) "
            "or 4KiB..1MiB:*2 (a factor)"
        )
    if (dashed := _DASHED.fullmatch(item)) is not None:
        raise InputError(f"{said}: {item} is no range; write {dashed[1]}..{dashed[4]}")
    return found


def _ends(found: re.Match[str], said: str) -> tuple[Decimal, Decimal, str]:
    """Both ends in the unit of the lower one."""
    low, low_unit, high, high_unit = found.group(1, 2, 3, 4)
    unit = low_unit or high_unit
    top = _converted(Decimal(high), high_unit or unit, unit, said)
    if top < Decimal(low):
        raise InputError(f"{said}: {found[0]} is empty: its end lies below its beginning")
    if unit in _PLAIN:
        return Decimal(low) * _PLAIN[unit], top * _PLAIN[unit], ""
    return Decimal(low), top, unit


def _converted(value: Decimal, unit: str, into: str, said: str) -> Decimal:
    if unit == into:
        return value
    (measure, size), (other, other_size) = _UNITS.get(unit, (unit, 1)), _UNITS.get(into, (into, 1))
    if measure != other:
        raise InputError(f"{said}: {unit} and {into} are units of different things")
    return value * size / other_size


def _range(item: str, said: str) -> list[Any] | None:
    """The values of a range, or None if the item is not a range."""
    found = _parsed(item, said)
    if found is None:
        return None
    low, high, unit = _ends(found, said)
    factor, step_text, step_unit = found.group(5, 6, 7)
    if step_text is None:
        if low % 1 or high % 1:
            quarter = (high - low) / 4 / _PLAIN.get(found[2] or found[4], 1)
            raise InputError(f"{said}: {item} needs a step, such as {item}:{quarter.normalize():f}")
        step = Decimal(1)
    else:
        letter = "" if factor else step_unit or found[2] or found[4]
        if letter in _PLAIN:
            step = Decimal(step_text) * _PLAIN[letter]
        else:
            step = _converted(Decimal(step_text), step_unit or unit, unit, said)
    if (factor and (step <= 1 or low <= 0)) or step <= 0:
        raise InputError(f"{said}: {item} never reaches its end")
    values: list[Any] = []
    value = low
    while value <= high:
        values.append(_number(value, unit))
        value = value * step if factor else value + step
        if len(values) > MAX_VALUES:
            raise InputError(f"{said}: {item} has more than {MAX_VALUES:,} values")
    return values


def _span(item: str, said: str) -> Span | None:
    """The ends of a range without a step."""
    found = _parsed(item, said)
    if found is None or found[6] is not None:
        return None
    low, high, unit = _ends(found, said)
    return Span(low, high, unit, whole=not low % 1 and not high % 1)


def _number(value: Decimal, unit: str) -> Any:
    """A value of a range: a number, or a text if it has a unit."""
    whole = value == value.to_integral_value()
    if not unit:
        return int(value) if whole else float(value)
    return f"{int(value)}{unit}" if whole else f"{value.normalize():f}{unit}"


def at(span: Span, value: float) -> Any:
    """The value of a span at a search's position."""
    number = Decimal(int(value)) if span.whole else Decimal(repr(value))
    return _number(number, span.unit)
