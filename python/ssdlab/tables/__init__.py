"""Any table as a trace: Parquet, Arrow, data frames, patterns of files.

Files in the engine's formats (text, its own Parquet) are passed through. Other tables are read once
with pyarrow, in batches, and cached as Parquet files for the engine.
"""

from __future__ import annotations

import atexit
import bisect
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.optional import required
from ssdlab.tables import kept, sources, values
from ssdlab.tables.columns import SIZE_UNITS, Column, Columns, mapped, parse, refusal
from ssdlab.tables.merge import merged

#: Version of the conversion, which is part of the cache key.
VERSION = 3
#: Rows per row group of a written file.
GROUP_ROWS = 1 << 17
#: Optional columns, by the engine's names.
OPTIONAL = {"handle": "handle", "fua": "fua", "end": "end_ns"}
#: Extensions without plugins.
_ENDINGS = (
    "arrow bin blkparse bz2 csv feather gz ipc iolog json log parquet spc trace tsv txt vscsi xz"
)
KNOWN = frozenset(["", ".zst", *(f".{it}" for it in _ENDINGS.split())])

__all__ = ["as_trace", "is_object", "matches", "named", "write", "written"]

matches = sources.matches


def is_object(trace: Any) -> bool:
    """True for a table in memory."""
    return trace is not None and not isinstance(trace, str | os.PathLike)


def as_trace(
    trace: Any, columns: str | None = None, source: str = "argument trace"
) -> str | os.PathLike[str]:
    """The path of a trace that the engine reads: `trace` itself, or a converted file.

    `trace` is a path, a pattern of paths, or a table in memory; `columns` maps its columns by name.
    For a path of a trace, the engine does the mapping. Raises `InputError` for a table that is not
    a trace.
    """
    if is_object(trace):
        target = _temporary() / f"{len(os.listdir(_temporary()))}.parquet"
        written(target, [sources.of_object(source, trace)], parse(columns) if columns else {})
        _names[os.fspath(target)] = source
        return target
    path: str | os.PathLike[str] = trace
    if os.fspath(path) == "-":
        return path
    if (table := _of_plugin(Path(path))) is not None:
        return as_trace(table, columns, source)
    sources.refuse_folder(path)
    several = matches(os.fspath(path))
    files = several or [Path(path)]
    if not all(os.path.isfile(it) for it in files):
        return path  # a pipe can be read only once, by the engine, which also reports errors
    if several is None and not _is_mapped(files[0], columns):
        return path

    def make(target: Path) -> None:
        given = parse(columns) if columns else {}
        written(target, [_table(it, columns) for it in files], given)

    found = kept.file(_key(files, columns), os.fspath(path), make, _temporary())
    _names[os.fspath(found)] = f"trace {os.fspath(path)}"
    return found


def named(message: str) -> str:
    """An engine message with the user's names of tables."""
    for made, name in _names.items():
        message = message.replace(f"trace {made}", name).replace(made, name.removeprefix("trace "))
    return message


def _of_plugin(path: Path) -> Any:
    """Table read by a plugin, by extension."""
    if path.suffix.lower() in KNOWN or not path.is_file():
        return None
    from ssdlab import plugins

    return plugins.table(path)


def write(target: Path, table: Any, columns: str | None = None) -> int:
    """Write a table in memory as a trace; returns the number of requests."""
    given = parse(columns) if columns else {}
    return written(target, [sources.of_object("the table", table)], given)


def written(target: Path, tables: Sequence[sources.Batches], given: Columns) -> int:
    """Write tables as one trace in order of time, atomically; returns the number of requests."""
    pa = required("pyarrow", "a table")
    parquet = required("pyarrow.parquet", "a table")
    roles = [mapped(table.source, table.names, given) for table in tables]
    more = [role for role in OPTIONAL if any(role in it for it in roles)]
    schema = _schema(pa, more)
    devices = values.Devices()
    read = [
        _requests(pa, table, columns, more, devices)
        for table, columns in zip(tables, roles, strict=True)
    ]
    own = target.with_name(f"{target.name}.{os.getpid()}.part")
    count = 0
    try:
        with parquet.ParquetWriter(own, schema, compression="zstd") as writer:
            for batch in merged(pa, read):
                count += batch.num_rows
                writer.write_batch(batch.cast(schema), row_group_size=GROUP_ROWS)
        os.replace(own, target)
    finally:
        own.unlink(missing_ok=True)
    return count


def _schema(pa: Any, more: Sequence[str]) -> Any:
    kinds = [
        ("at_ns", pa.uint64()),
        ("device", pa.uint32()),
        ("op", pa.string()),
        ("sector", pa.uint64()),
        ("sectors", pa.uint32()),
    ]
    further = {"handle": pa.uint32(), "fua": pa.bool_(), "end": pa.uint64()}
    kinds += [(OPTIONAL[role], further[role]) for role in more]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds])


def _requests(
    pa: Any,
    table: sources.Batches,
    roles: dict[str, Column],
    more: Sequence[str],
    devices: values.Devices,
) -> Iterator[Any]:
    """The requests of a table in batches, with the union of all tables' columns."""
    if "end" in more and "end" not in roles:
        problem = "no column says the end, which another of the tables has"
        raise refusal(table.source, table.names, problem, "end=end_ns")
    _refuse_doubled(table, roles)
    wanted = list(dict.fromkeys(column.name for column in roles.values()))
    before = 0
    for batch in table.read(wanted):
        _refuse_missing(table, roles, batch, before)
        before += batch.num_rows
        if batch.num_rows:
            try:
                found, roles = _converted(pa, table, roles, more, batch, devices)
            except (InputError, pa.ArrowException):
                _refuse_row(pa, table, roles, more, batch, before - batch.num_rows)
                raise
            if found is not None:
                yield found


def _refuse_doubled(table: sources.Batches, roles: Columns) -> None:
    """Raise `InputError` if a needed column's name is not unique."""
    for column in roles.values():
        if list(table.names).count(column.name) > 1:
            raise refusal(table.source, table.names, f'two columns are called "{column.name}"')


def _first(error: Exception) -> str:
    """The first line of a library's message, with long values truncated."""
    said = str(error).partition("\n")[0].rstrip(".")
    return f"{said[:120]}..." if len(said) > 120 else said


def _refuse_row(
    pa: Any,
    table: sources.Batches,
    roles: dict[str, Column],
    more: Sequence[str],
    batch: Any,
    before: int,
) -> None:
    """Raise `InputError` for the first invalid row of a batch, found by bisection, with its
    position.
    """
    refused: InputError | None = None

    def is_refused(rows: int) -> bool:
        nonlocal refused
        try:
            _converted(pa, table, roles, more, batch.slice(0, rows), values.Devices())
        except InputError as error:
            refused = error
            return True
        except pa.ArrowException as error:
            # A number beyond the engine's columns, for instance with 120 digits.
            refused = InputError(f"{table.source}: has a value out of range ({_first(error)})")
            return True
        return False

    rows = bisect.bisect_left(range(1, batch.num_rows + 1), True, key=is_refused) + 1
    if is_refused(rows) and refused is not None:
        said = str(refused).removeprefix(table.source)
        raise InputError(f"{table.source}, {table.place(before + rows - 1)}{said}") from None


def _converted(
    pa: Any,
    table: sources.Batches,
    roles: dict[str, Column],
    more: Sequence[str],
    batch: Any,
    devices: values.Devices,
) -> tuple[Any, dict[str, Column]]:
    """A batch as requests, if any, and the columns with the unit of the times."""

    def refuse(name: str, problem: str, example: str | None = None) -> InputError:
        words = (f'column "{name}" {problem}', *([example] if example else []))
        return refusal(table.source, table.names, *words)

    op = values.operations(batch.column(roles["op"].name), roles["op"], refuse)
    if op.null_count:  # rows excluded by the codes
        batch, op = batch.filter(op.is_valid()), op.drop_null()
    if not len(op):
        return None, roles
    at, time = values.times(batch.column(roles["time"].name), roles["time"], refuse)
    bytes_of = {
        role: values.whole(
            batch.column(roles[role].name),
            roles[role],
            refuse,
            SIZE_UNITS.get(roles[role].unit, 1),
        )
        for role in ("offset", "size")
    }
    sector, sectors = values.sectors(bytes_of["offset"], bytes_of["size"])
    if "device" in roles:
        device = devices.of(batch.column(roles["device"].name), roles["device"], refuse)
    else:
        device = pa.array([0] * batch.num_rows, pa.int64())
    arrays = {"at_ns": at, "device": device, "op": op, "sector": sector, "sectors": sectors}
    _refuse_negative(pa, roles, arrays | bytes_of, refuse)
    if "end" in roles and not roles["end"].unit:
        roles = roles | {"end": replace(roles["end"], unit=time.unit)}
    for role in more:
        arrays[OPTIONAL[role]] = _further(pa, role, roles.get(role), batch, refuse)
    return pa.RecordBatch.from_pydict(arrays), roles | {"time": time}


def _further(pa: Any, role: str, column: Column | None, batch: Any, refuse: Any) -> Any:
    """An optional column; a table without it gets the neutral value."""
    if column is None:
        lacking = {"handle": values.NO_HANDLE, "fua": False}[role]
        return pa.array([lacking] * batch.num_rows)
    array = batch.column(column.name)
    if role == "end":
        return values.times(array, column, refuse)[0]
    return (values.handles if role == "handle" else values.forced)(array, column, refuse)


def _refuse_negative(pa: Any, roles: Columns, arrays: dict[str, Any], refuse: Any) -> None:
    """Raise `InputError` for negative numbers."""
    pc = required("pyarrow.compute", "a table")
    maximum = {"time": 2**63 - 1, "device": 2**32 - 1, "offset": 2**63 - 1, "size": 2**31}
    for role, key in (
        ("time", "at_ns"),
        ("device", "device"),
        ("offset", "offset"),
        ("size", "size"),
    ):
        if role not in roles or not len(arrays[key]):
            continue
        bounds = pc.min_max(arrays[key]).as_py()
        if bounds["min"] < 0 or bounds["max"] > maximum[role]:
            wrong = bounds["min"] if bounds["min"] < 0 else bounds["max"]
            raise refuse(roles[role].name, f"has {wrong:,}, which is no {role} of a request")


def _refuse_missing(table: sources.Batches, roles: Columns, batch: Any, before: int) -> None:
    """Raise `InputError` for a row without a value."""
    for role, column in roles.items():
        if role in ("handle", "fua"):
            continue  # a row may lack it
        array = batch.column(column.name)
        if array.null_count:
            row = array.is_null().to_pylist().index(True)
            raise refusal(
                table.source, table.names,
                f'column "{column.name}" has no value in {table.place(before + row)}',
            )  # fmt: skip


def _is_mapped(path: Path, columns: str | None) -> bool:
    """True if Python reads the columns: for Parquet and Arrow."""
    if sources.is_table(path):
        return True
    return columns is not None and path.is_file() and sources.is_parquet(path)


def _table(path: Path, columns: str | None) -> sources.Batches:
    """A file as a table; the engine first converts its own formats."""
    if _is_mapped(path, columns):
        return sources.of_file(path)
    target = _temporary() / f"{len(os.listdir(_temporary()))}.parquet"
    options = json.dumps({"columns": columns} if columns else {})
    _core.trace_convert(os.fspath(path), str(target), "parquet", options, None)
    found = sources.of_file(target)
    found.source = f"trace {path}"
    return found


def _key(files: Sequence[Path], columns: str | None) -> str:
    """Name of a converted file: a key of the files and the reading options."""
    states = [(os.path.abspath(it), it.stat().st_size, it.stat().st_mtime_ns) for it in files]
    text = json.dumps([VERSION, _core.version, columns, states])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


#: User's names of converted tables, by file.
_names: dict[str, str] = {}
_made: list[Path] = []


def _temporary() -> Path:
    """A temporary folder, removed at process exit."""
    if not _made:
        _made.append(Path(tempfile.mkdtemp(prefix="ssdlab-")))
        atexit.register(shutil.rmtree, _made[0], ignore_errors=True)
    return _made[0]
