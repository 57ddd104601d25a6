"""Operations on traces without a device: `info`, `head`, `convert`, and `write` from arrays.

>>> import ssdlab.trace
>>> ssdlab.trace.info("some.trace").footprint_bytes  # doctest: +SKIP

A path is a file, plain or compressed, or "-" for standard input. Further arguments are keys of the
workload kind `trace` that control reading: `format`, `time_unit`, `columns`, `pattern`, `layout`,
`event`, `read_share`, `skip_bad`, `devices`, `requests`, `duration`. The user's mistakes raise
`InputError`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path as _Path
from typing import Any, NamedTuple, TypeAlias

from ssdlab import _core, delivery, forms
from ssdlab._core import InputError
from ssdlab.arguments import public
from ssdlab.results.records import Record

Path: TypeAlias = str | os.PathLike[str]

#: Keys that affect reading a trace.
READING = (
    "format",
    "time_unit",
    "columns",
    "layout",
    "event",
    "read_share",
    "skip_bad",
    "devices",
    "requests",
    "duration",
)


class Progress(NamedTuple):
    """Progress through a trace; `progress` is called with it, about ten times a second."""

    requests: int
    """Requests read."""
    bytes: int
    """Bytes read, before decompression."""
    expected_bytes: int | None
    """The size of the file, if known."""


Report: TypeAlias = Callable[[Progress], object]


@public
def info(path: Path, *, progress: Report | None = None, **options: Any) -> Record:
    """Statistics of the trace: requests, sizes, addresses, times and anomalies.

    Sizes are in bytes and times in seconds. The footprint counts pages of 4 KiB of each device;
    `working_set` is an estimate within 1 %; all else is exact. The option `capacity` ("27GiB") is
    the capacity of a device: `oddities.beyond_device` counts the requests beyond it.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "it.parquet")
    >>> write(path, at_ns=[0, 1000], op=["read", "write"], sector=[0, 8], sectors=[8, 8])
    >>> info(path).footprint_bytes, info(path).read_share
    (8192, 0.5)
    """
    path, options = _read_as(path, options)
    text = _core.trace_info(path, _json(options), _report(progress))
    return Record(json.loads(text))


@public
def head(path: Path, count: int = 10, **options: Any) -> Record:
    """The first `count` requests, each with the number and text of its source line."""
    path, options = _read_as(path, options)
    return Record(json.loads(_core.trace_head(path, _json(options), count)))


@public
def convert(
    source: Path,
    target: Path,
    to: str | None = None,
    *,
    force: bool = False,
    progress: Report | None = None,
    **options: Any,
) -> Record:
    """Write the trace in the format `to`, by default from the extension of `target`.

    A further extension `.gz` or `.zst` compresses it. Returns the number of requests written, and
    as `lost` counts of properties that the format cannot represent. The target is written
    atomically; raises `OSError` if it cannot be written. An existing file is replaced if it is a
    Parquet trace of ssdlab, or with `force`; other formats do not identify their writer.
    """
    if os.fspath(target) != "-":
        delivery.refuse(_Path(target), forms.TRACE, forms.TRACE_OF_ARRAYS, force=force)
    source, options = _read_as(source, options)
    paths = source, os.fspath(target)
    return Record(json.loads(_core.trace_convert(*paths, to, _json(options), _report(progress))))


@public
def write(
    path: Path,
    table: Any = None,
    *,
    at_ns: Iterable[int] | None = None,
    op: Iterable[str] | None = None,
    sector: Iterable[int] | None = None,
    sectors: Iterable[int] | None = None,
    device: Iterable[int] | None = None,
    fua: Iterable[bool] | None = None,
    handle: Iterable[int] | None = None,
    columns: str | None = None,
    force: bool = False,
) -> None:
    """Write a trace from a table, or from arrays with a value for each request, as Parquet.

    `table` is a data frame of pandas or Polars, or anything that streams Arrow; its columns are
    recognised by name, or mapped by `columns` ("time=ts:us,offset=lba*512,size=len,op=rw"). The
    arrays are:

    - `at_ns`: when it arrives, ns;
    - `op`: "read", "write", "trim", "flush", or a command of zones or of NVMe;
    - `sector`, `sectors`: begin and length, in sectors of 512 B;
    - `device`, `fua`: its device, and True for forced unit access;
    - `handle`: the placement handle of a write, 255 for none.

    Each is a NumPy array, an Arrow array, a pandas Series or any sequence, all of one length. The
    file is then a trace like any other: `ssdlab.run(trace=path)`. Raises `InputError` for invalid
    values and `OSError` if the file cannot be written, also for an existing foreign file, unless
    `force` is given.
    """
    given = {"at_ns": at_ns, "device": device, "op": op, "sector": sector, "sectors": sectors}
    given |= {"fua": fua, "handle": handle}
    arrays = {name: it for name, it in given.items() if it is not None}
    if table is not None:
        if arrays:
            raise InputError(f"a table and {', '.join(arrays)} exclude each other")
        _write_table(_Path(path), table, columns)
        return
    if columns is not None:
        raise InputError("columns describes a table, which is not given")
    if missing := [name for name in ("at_ns", "op", "sector", "sectors") if name not in arrays]:
        raise InputError(f"{', '.join(missing)}: missing; give a table, or arrays of all of them")
    found = []
    for name, values in arrays.items():
        kind = {"op": "str", "fua": "bool"}.get(name, "int")
        found.append((name, kind, _listed(name, kind, values)))
    try:
        content = _core.to_parquet(found)
    except ValueError as error:
        raise InputError(str(error)) from None
    delivery.write(_Path(path), content, forms.TRACE_OF_ARRAYS, forms.TRACE, force=force)


def _write_table(path: _Path, table: Any, columns: str | None) -> None:
    """Write a table in memory, in batches."""
    from ssdlab import tables

    tables.write(path, table, columns)


_KINDS: dict[str, type] = {"int": int, "str": str, "bool": bool}
_OPS = _core.request_kinds()


def _listed(name: str, kind: str, values: Iterable[Any]) -> list[Any]:
    """Values of an array as Python objects of one type."""
    for method in ("tolist", "to_pylist"):
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    found: list[Any] = list(values)
    for place, value in enumerate(found):
        right = type(value) is _KINDS[kind]
        if not right or (kind == "int" and value < 0):
            wanted = {"int": "a whole number, 0 or more", "str": "a string", "bool": "a boolean"}
            raise InputError(f"{name}[{place}] is {value!r}, not {wanted[kind]}")
        if name == "op" and value not in _OPS:
            raise InputError(f"op[{place}] is {value!r}; the operations are {', '.join(_OPS)}")
    return found


def _read_as(path: Path, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The file for the engine, with its options; a table with column names is converted first."""
    from ssdlab import tables

    columns = options.get("columns")
    if any(options.get(it) is not None for it in ("format", "pattern")):  # the format is given
        return os.fspath(path), options
    found = os.fspath(tables.as_trace(path, columns, f"trace {os.fspath(path)}"))
    if columns is not None and found != os.fspath(path):
        options = {key: value for key, value in options.items() if key != "columns"}
    return found, options


def _json(options: dict[str, Any]) -> str:
    for key, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"workload.{key}: {value} is not a finite number")
    return json.dumps({key: value for key, value in options.items() if value is not None})


def _report(progress: Report | None) -> Callable[[int, int, int | None], object] | None:
    if progress is None:
        return None
    return lambda *now: progress(Progress(*now))
