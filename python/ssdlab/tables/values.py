"""Columns of a table as the numbers of a trace: exact, a batch at a time.

Whole numbers and texts never become floats: nanoseconds since 1970 exceed a float's precision. Only
float columns are rounded, to the nearest nanosecond.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ssdlab import _core
from ssdlab.optional import required
from ssdlab.tables.columns import SKIP, TIME_UNITS, Column, plain

SECTOR = 512
NS_DIGITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
#: Epoch times by their size: from 2000 to 2100 no two units overlap. Filetime counts 100 ns from
#: 1601.
_FIRST, _LAST = 946_684_800, 4_102_444_800
_SINCE_1601 = 11_644_473_600
_WORDS: Mapping[str, Sequence[str]] = {
    "read": ("r", "rd", "read", "reads", "rs", "ra", "rm", "ram", "rsm", "ras", "diskread"),
    "write": (
        "w", "wr", "write", "writes", "ws", "wsm", "wm", "wfs", "wf", "wfm", "wfsm", "fwfs", "fwf",
        "fws", "diskwrite",
    ),
    "trim": ("d", "trim", "discard", "unmap", "ds", "deallocate"),
    "flush": ("f", "flush", "sync", "fsync", "ff", "fs", "diskflush"),
}  # fmt: skip
OPS = {word: op for op, words in _WORDS.items() for word in words}
# Also the engine's names of NVMe and zone commands.
OPS |= {word: word for word in _core.request_kinds()}
#: The handle value for none.
NO_HANDLE = 255
_YES_NO = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}

Refuse = Callable[..., Exception]


def _compute() -> tuple[Any, Any]:
    return required("pyarrow", "a table"), required("pyarrow.compute", "a table")


def whole(array: Any, column: Column, refuse: Refuse, unit: int = 1) -> Any:
    """A column of whole numbers as int64, multiplied by factor and unit."""
    pa, pc = _compute()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    factor, plus = column.factor * unit, column.plus * unit
    if _is_text(pa, array.type):
        array = pc.utf8_trim_whitespace(pc.cast(array, pa.string()))
        try:
            array = pc.cast(array, pa.int64())
        except pa.ArrowInvalid as error:
            try:
                array = pc.cast(array, pa.float64())
            except pa.ArrowInvalid:
                raise refuse(column.name, f"is not all numbers ({_first(error)})") from None
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        rounded = pc.round(array)
        if pc.any(pc.not_equal(rounded, array)).as_py() and factor.denominator == 1 == factor:
            raise refuse(column.name, "has numbers that are not whole")
        array = pc.multiply(pc.cast(array, pa.float64()), float(factor))
        try:
            return pc.add_checked(pc.cast(pc.round(array), pa.int64()), round(plus))
        except pa.ArrowInvalid as error:
            raise refuse(column.name, f"has numbers out of range ({_first(error)})") from None
    if not pa.types.is_integer(array.type):
        raise refuse(column.name, f"is {array.type}, not numbers")
    try:
        array = pc.cast(array, pa.int64())
        divisor = math.lcm(factor.denominator, plus.denominator)
        if factor * divisor != 1:
            array = pc.multiply_checked(array, int(factor * divisor))
        if plus:
            array = pc.add_checked(array, int(plus * divisor))
        return pc.divide(array, divisor) if divisor != 1 else array
    except pa.ArrowInvalid as error:
        raise refuse(column.name, f"has numbers out of range ({_first(error)})") from None


def times(array: Any, column: Column, refuse: Refuse) -> tuple[Any, Column]:
    """The times as ns, and the column with the detected unit."""
    pa, pc = _compute()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        return pc.cast(pc.cast(array, pa.timestamp("ns", array.type.tz)), pa.int64()), column
    if _is_text(pa, array.type):
        array = pc.utf8_trim_whitespace(pc.cast(array, pa.string()))
        parts = pc.extract_regex(array, r"^(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]+))?$")
        if parts.null_count > array.null_count:
            return _iso(array, column, refuse), column
        number = pc.cast(parts.field(0), pa.int64())
        column = _known_unit(number, column, refuse)
        return _scaled(number, parts.field(1), column, refuse), column
    if pa.types.is_floating(array.type):
        base = pc.floor(array)
        number = pc.cast(base, pa.int64())
        column = _known_unit(number, column, refuse)
        factor = TIME_UNITS[column.unit] * column.factor
        remainder = pc.cast(
            pc.round(pc.multiply(pc.subtract(array, base), float(factor))), pa.int64()
        )
        return pc.add_checked(_ns(number, column, refuse), remainder), column
    if not pa.types.is_integer(array.type):
        raise refuse(column.name, f"is {array.type}, not a time")
    number = pc.cast(array, pa.int64())
    column = _known_unit(number, column, refuse)
    return _ns(number, column, refuse), column


def _scaled(number: Any, part: Any, column: Column, refuse: Refuse) -> Any:
    """Decimal texts as ns, exactly."""
    pa, pc = _compute()
    found = _ns(number, column, refuse)
    digits = NS_DIGITS.get(column.unit, 0)
    has_part = pc.any(pc.greater(pc.binary_length(part), 0)).as_py()
    if not has_part:
        return found
    if column.factor != 1 or column.plus:
        raise refuse(column.name, "has decimals, which take no *, / or +", f"time={column.name}:s")
    part = pc.utf8_slice_codeunits(pc.utf8_rpad(part, digits, "0"), 0, digits)
    return pc.add_checked(found, pc.cast(pc.if_else(pc.equal(part, ""), "0", part), pa.int64()))


def _ns(number: Any, column: Column, refuse: Refuse) -> Any:
    """Whole numbers as ns; Windows times count from 1601, beyond the range of int64 ns."""
    if column.unit == "filetime":
        _, pc = _compute()
        number = pc.subtract_checked(number, _SINCE_1601 * 10**7)
    return whole(number, column, refuse, TIME_UNITS[column.unit])


def _iso(array: Any, column: Column, refuse: Refuse) -> Any:
    """Dates in ISO 8601, with or without a zone."""
    pa, pc = _compute()
    for kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        try:
            return pc.cast(pc.cast(array, kind), pa.int64())
        except pa.ArrowInvalid as error:
            reason = _first(error)
    raise refuse(column.name, f"is neither numbers nor ISO times ({reason})")


def _known_unit(number: Any, column: Column, refuse: Refuse) -> Column:
    """The column with its unit: given, from its name, or of an epoch time."""
    if column.unit or not len(number):
        return column
    pa, pc = _compute()
    value = int(Fraction(pc.min(number).as_py() or 0) * column.factor + column.plus)
    for unit, per_second in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if _FIRST * per_second <= value < _LAST * per_second:
            return replace(column, unit=unit)
    if _FIRST + _SINCE_1601 <= value / 1e7 < _LAST + _SINCE_1601:
        return replace(column, unit="filetime")
    raise refuse(
        column.name, f"begins at {value:,}, which is no date in any unit", f"time={column.name}:us"
    )


def operations(array: Any, column: Column, refuse: Refuse) -> Any:
    """read, write, trim and so on; null for requests to be left out."""
    pa, pc = _compute()
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    words = [_operation(value, column, refuse) for value in array.dictionary.to_pylist()]
    return pc.take(pa.array(words, pa.string()), array.indices)


def _operation(value: Any, column: Column, refuse: Refuse) -> str | None:
    if value is None:
        return None
    text = str(value).strip().lower()
    text = {"false": "0", "true": "1"}.get(text, text)
    number = _number(text)
    marks = column.marks
    if not marks and plain(column.name) in ("iswrite", "isread"):
        is_read = plain(column.name) == "isread"
        marks = (("1", "read"), ("0", "write")) if is_read else (("1", "write"), ("0", "read"))
    for mark, op in marks:
        if mark in ("*", text) or (number is not None and _is_marked(number, mark)):
            return None if op == SKIP else op
    if marks or text not in OPS:
        known = "is no code that op maps" if marks else "is no read, write, trim or flush"
        is_code = marks or number is not None
        example = (f"op={column.name}:1=write,2=read",) if is_code else ()
        raise refuse(column.name, f'has "{value}", which {known}', *example)
    return OPS[text]


def _number(text: str) -> int | None:
    """A whole number, also in hex after `0x` or as a float."""
    match = re.fullmatch(r"(?:0x([0-9a-f]{1,16})|([0-9]{1,20})(?:\.0+)?)", text)
    return None if match is None else int(match[1], 16) if match[1] else int(match[2])


def _is_marked(number: int, mark: str) -> bool:
    """True if a code matches a mark: a number, also in hex, or a bit such as `bit3`."""
    if bit := re.fullmatch("bit([0-9]{1,2})", mark):
        return bool(number >> int(bit[1]) & 1)
    return number == _number(mark)


def handles(array: Any, column: Column, refuse: Refuse) -> Any:
    """The placement handles; rows without a value have none."""
    pa, pc = _compute()
    found = pc.fill_null(whole(array, column, refuse), NO_HANDLE)
    bounds = pc.min_max(found).as_py()
    for wrong in (bounds["min"], bounds["max"]):
        if wrong is not None and not 0 <= wrong <= NO_HANDLE:
            raise refuse(column.name, f"has {wrong:,}, which is no handle from 0 to {NO_HANDLE}")
    return found


def forced(array: Any, column: Column, refuse: Refuse) -> Any:
    """True for forced writes (FUA); rows without a value are not forced."""
    pa, pc = _compute()
    if pa.types.is_boolean(array.type):
        return pc.fill_null(array, False)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    found = []
    for value in array.dictionary.to_pylist():
        stated = _YES_NO.get(str(value).strip().lower())
        if stated is None:
            raise refuse(column.name, f'has "{value}", which is not 0 or 1')
        found.append(stated)
    return pc.fill_null(pc.take(pa.array(found, pa.bool_()), array.indices), False)


def sectors(offset: Any, size: Any) -> tuple[Any, Any]:
    """The sectors that contain a byte range: first sector and count."""
    pa, pc = _compute()
    first = pc.divide(offset, SECTOR)
    end = pc.divide(pc.add_checked(pc.add_checked(offset, size), SECTOR - 1), SECTOR)
    return first, pc.subtract_checked(end, first)


class Devices:
    """Numbers devices by name in order of appearance; numeric devices stay unchanged."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        #: True if the first batch has numbers as text.
        self.are_digits: bool | None = None

    def of(self, array: Any, column: Column, refuse: Refuse) -> Any:
        """The numbers of a batch."""
        pa, pc = _compute()
        if not pa.types.is_dictionary(array.type):
            if pa.types.is_integer(array.type):
                return pc.cast(array, pa.int64())
            array = pc.dictionary_encode(array)
        names = array.dictionary.to_pylist()
        digits = all(it is None or str(it).strip().isdigit() for it in names)
        if self.are_digits is None:
            self.are_digits = digits
        if self.are_digits:
            if not digits:
                raise refuse(column.name, "has names and numbers")
            return whole(array.dictionary_decode(), column, refuse)
        found = [
            None if name is None else self.numbers.setdefault(str(name), len(self.numbers))
            for name in names
        ]
        return pc.take(pa.array(found, pa.int64()), array.indices)


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _first(error: Exception) -> str:
    """The first sentence of a library's message."""
    return str(error).partition("\n")[0].rstrip(".")
