"""Roles of a table's columns: from their names, or mapped by the user.

    time=ts:us,offset=lba*512,size=(nlb+1)*4096,op=code:1=write,2=read,device=vm

Each entry has a role and a column, with optional arithmetic on numbers, a unit, or meanings of
operation codes. No other syntax is accepted, and no code is evaluated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ssdlab import _core
from ssdlab._core import InputError

ROLES = ("time", "op", "offset", "size", "device", "handle", "fua", "end")
NEEDED = ("time", "op", "offset", "size")
#: Nanoseconds of the units of time.
TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "filetime": 100}
#: Bytes of the units of offsets and sizes.
SIZE_UNITS = {"bytes": 1, "B": 1, "sectors": 512, "KiB": 1024}
#: The meaning of a code to skip.
SKIP = "skip"
EXAMPLE = "time=ts,offset=lba*512,size=len,op=rw"

#: Names of columns by role, as letters and digits alone. Columns in sectors are separate; "block"
#: and "lba" have no agreed size.
_NAMES = {
    "time": "time timestamp ts at arrival arrivaltime start starttime issuetime datetime date "
    "begin atns arrivalns timens timeus timems times timestampns timestampus timestampms "
    "timestamps tsns tsus tsms tss seconds",
    "op": "op operation opcode optype iotype type rw rwbs direction cmd command action requesttype "
    "readwrite readorwrite iswrite isread",
    "offset": "offset offsetbytes byteoffset offsetinbytes startoffset address addr position pos "
    "sector sectornumber startsector firstsector offsetsectors",
    "size": "size sizebytes length len lengthbytes bytes nbytes iosize requestsize "
    "sectors nrsectors nsectors numsectors sectorcount sizesectors",
    "device": "device deviceid dev disk diskid disknumber volume volumeid vol lun asu vm vmid "
    "drive driveid devicename",
    "handle": "handle handles placementhandle ruhandle reclaimunithandle",
    "fua": "fua forceunitaccess isfua",
    "end": "end endns endus endms ends endtime timeend",
}
SYNONYMS: Mapping[str, Sequence[str]] = {role: words.split() for role, words in _NAMES.items()}
#: Headers of known tables with ambiguous names, and their mappings.
KNOWN: Mapping[frozenset[str], str] = {
    # Tencent CBS 2018, as its documentation names the columns.
    frozenset({"timestamp", "offset", "size", "iotype", "volumeid"}): (
        "time={timestamp}:s,offset={offset}:sectors,size={size}:sectors,op={iotype}:0=read,"
        "device={volumeid}"
    ),
}
_TIME_NAME = re.compile(r"(?:_|\b|time|timestamp|ts|at)\(?(ns|us|ms|s|sec|seconds)\)?$", re.I)
_STEP = re.compile(r"\s*([*/+-])\s*([0-9]+(?:\.[0-9]+)?)\s*")
_STEPS = f"(?P<steps>(?:{_STEP.pattern})*)"
#: A column with arithmetic, or a parenthesised expression.
_PLAIN, _INSIDE = re.compile(f"(?P<name>.+?){_STEPS}"), re.compile(rf"\((?P<name>.+)\){_STEPS}")


@dataclass(frozen=True)
class Column:
    """A column in a role: name, arithmetic and unit."""

    name: str
    factor: Fraction = Fraction(1)
    plus: Fraction = Fraction(0)
    #: A key of `TIME_UNITS` or `SIZE_UNITS`; empty if not given.
    unit: str = ""
    #: Codes of operations with their meanings; the first match applies.
    marks: tuple[tuple[str, str], ...] = ()
    #: Name and arithmetic as one text, which may itself be a column name.
    written: str = ""


Columns = Mapping[str, Column]


def plain(name: str) -> str:
    """Letters and digits of a column name.

    >>> plain("Device_ID "), plain("offset (bytes)")
    ('deviceid', 'offsetbytes')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def parse(text: str) -> dict[str, Column]:
    """The columns in a mapping list. Raises `InputError`, with the syntax, for other text.

    >>> parse("size=(nlb+1)*4096:bytes")["size"].plus
    Fraction(4096, 1)
    >>> parse("op=code:1=write,2=read,size=len")["op"].marks
    (('1', 'write'), ('2', 'read'))
    """
    values: dict[str, str] = {}
    for part in text.split(","):
        role, sign, value = (it.strip() for it in part.partition("="))
        if not sign or not value:
            raise _wrong(f'"{part.strip()}" maps no column')
        if role in values:
            raise _wrong(f"{role} is given twice")
        if role in ROLES:
            values[role] = value
        elif next(reversed(values), "") == "op" and "=" in values["op"]:
            values["op"] += f",{part}"  # the codes of an operation
        else:
            near = difflib.get_close_matches(role, ROLES, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise _wrong(f'"{role}" is no role of a column; roles: {", ".join(ROLES)}{hint}')
    return {role: _column(role, value) for role, value in values.items()}


def _column(role: str, value: str) -> Column:
    if role == "op":
        name, _, codes = value.partition(":")
        return Column(name.strip(), marks=_marks(codes) if codes else ())
    by_role = {"time": TIME_UNITS, "end": TIME_UNITS, "offset": SIZE_UNITS, "size": SIZE_UNITS}
    unit = next((it for it in by_role.get(role, {}) if value.endswith(f":{it}")), "")
    value = value.removesuffix(f":{unit}").strip() if unit else value
    if role not in by_role:
        return Column(value)
    name, factor, plus = _arithmetic(role, value)
    return Column(name, factor, plus, unit, written=value)


def _marks(codes: str) -> tuple[tuple[str, str], ...]:
    """Meanings of codes, from `1=write,2=read`; for a lone 0 or 1, the other code is the other
    direction.
    """
    words = [*_core.request_kinds(), SKIP]
    found = []
    for entry in re.split("[,;]", codes):
        mark, _, word = (it.strip() for it in entry.partition("="))
        if word not in words:
            near = difflib.get_close_matches(word, words, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise _wrong(f'"{entry.strip()}" of op is no code, such as 1=write{hint}')
        found.append((mark.lower(), word))
    match found:
        case [("0" | "1" as mark, "read" | "write" as word)]:
            other = {"read": "write", "write": "read"}[word]
            found.append((str(1 - int(mark)), other))
    return tuple(found)


def _arithmetic(role: str, value: str) -> tuple[str, Fraction, Fraction]:
    """A column, its factor, and its addend."""
    if match := _INSIDE.fullmatch(value):
        name, factor, plus = _arithmetic(role, match["name"].strip())
    else:
        match = _PLAIN.fullmatch(value)
        assert match is not None, value
        name, factor, plus = match["name"].strip(), Fraction(1), Fraction(0)
        if re.search(r"[+-].*[*/]", match["steps"]):
            raise _wrong(f"{role}={value}: it needs parentheses, as in (nlb+1)*4096")
    for sign, number in _STEP.findall(match["steps"]):
        amount = Fraction(number)
        if sign in "+-":
            plus += amount if sign == "+" else -amount
            continue
        if amount == 0:
            raise _wrong(f"{role}={value}: a factor of 0")
        by = amount if sign == "*" else 1 / amount
        factor, plus = factor * by, plus * by
    return name, factor, plus


def _wrong(problem: str) -> InputError:
    return InputError(
        f"--columns: {problem}; expected columns by name such as {EXAMPLE}: a column, or one with "
        "arithmetic such as (nlb+1)*4096, and perhaps :unit, or :1=write,2=read for op"
    )


def mapped(source: str, names: Sequence[str], given: Columns) -> dict[str, Column]:
    """The columns of a table by role: given ones, the others by name.

    Raises a three-line `InputError` for missing or ambiguous columns.
    """
    if not given and (known := _known(names)) is not None:
        return known
    found: dict[str, Column] = {}
    for role in ROLES:
        if role in given:
            found[role] = _named(source, names, role, given[role])
            continue
        used = {it.name for it in given.values()}
        fits = [name for name in names if name not in used and plain(name) in SYNONYMS[role]]
        if len(fits) > 1:
            both = " and ".join(fits)
            raise refusal(source, names, f"{both} could each be the {role}", f"{role}={fits[0]}")
        if fits:
            found[role] = Column(fits[0], unit=_unit(role, fits[0]))
    if "end" in found and not found["end"].unit and "time" in found:
        found["end"] = replace(found["end"], unit=found["time"].unit)
    if missing := [role for role in NEEDED if role not in found]:
        parts = [it for it in EXAMPLE.split(",") if it.partition("=")[0] in missing]
        raise refusal(source, names, f"no column says the {', '.join(missing)}", ",".join(parts))
    return found


def refusal(source: str, names: Sequence[str], problem: str, example: str = EXAMPLE) -> InputError:
    """An error about a table, with its columns and the option to map them."""
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return InputError(
        f"{source}: {problem}\n  its columns: {shown}\n  map them: --columns {example}"
    )


def _known(names: Sequence[str]) -> dict[str, Column] | None:
    by_plain = {plain(name): name for name in names}
    for header, text in KNOWN.items():
        if header == set(by_plain):
            return parse(text.format(**by_plain))
    return None


def _named(source: str, names: Sequence[str], role: str, column: Column) -> Column:
    """The column's name as spelled in the table."""
    if column.written in names:
        return _with_unit(role, Column(column.written, unit=column.unit))
    if column.name in names:
        return column if column.unit else _with_unit(role, column)
    fits = [name for name in names if plain(name) == plain(column.name)]
    if len(fits) == 1:
        return _with_unit(role, replace(column, name=fits[0]))
    near = difflib.get_close_matches(column.name, names, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise refusal(source, names, f'there is no column "{column.name}"{hint}')


def _with_unit(role: str, column: Column) -> Column:
    """The column with the unit in its name, unless an expression changes it."""
    if column.unit or column.factor != 1:
        return column
    return replace(column, unit=_unit(role, column.name))


def _unit(role: str, name: str) -> str:
    """Unit stated in a column's name."""
    if role in ("offset", "size"):
        return "sectors" if "sector" in plain(name) else ""
    if role in ("time", "end") and (match := _TIME_NAME.search(name)):
        unit = match[1].lower()
        return "s" if unit in ("sec", "seconds") else unit
    return ""
