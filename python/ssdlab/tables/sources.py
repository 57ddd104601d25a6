"""Files and objects as batches of Arrow: Parquet, Arrow IPC, lines of JSON, data frames."""

from __future__ import annotations

import glob
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ssdlab._core import InputError
from ssdlab.optional import required

PARQUET, ARROW = b"PAR1", b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
#: Maximum length of a JSON line, and minimum number of values of a request: time, operation,
#: offset, size.
JSON_BYTES, JSON_VALUES = 1 << 14, 4
#: Rows per batch, which bound memory.
BATCH_ROWS = 1 << 17
#: Columns in the footer of the engine's own Parquet format.
OWN = ((b"at_ns", b"sectors"), (b"arrival_ns", b"size_bytes"))


@dataclass
class Batches:
    """A table: column names, and rows in batches."""

    source: str
    names: Sequence[str]
    #: Reads these columns.
    read: Any
    #: Description of a row's position, counted from zero.
    place: Callable[[int], str] = lambda row: f"row {row + 1:,}"


def matches(path: str) -> list[Path] | None:
    """The files that match a pattern, sorted; None if `path` is not a pattern.

    Raises `InputError` without a match.
    """
    if not glob.has_magic(path) or os.path.lexists(path):
        return None
    found = sorted(Path(it) for it in glob.glob(path, recursive=True) if os.path.isfile(it))
    if not found:
        raise InputError(f"trace {path}: no file matches the pattern")
    return found


def refuse_folder(path: str | os.PathLike[str]) -> None:
    """Raise `InputError` for a folder, which names a file in it."""
    if os.path.isdir(path):
        files = sorted(it.name for it in os.scandir(path) if it.is_file())
        one = f"; name one file in it, such as {os.path.join(path, files[0])}" if files else ""
        raise InputError(f"trace {os.fspath(path)}: is a folder{one}")


def is_table(path: Path) -> bool:
    """True if a file is a table that the engine cannot read."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
            if start.startswith(PARQUET):
                return not _is_own(file)
    except OSError:
        return False  # the engine reports the error
    return start.startswith((ARROW, ARROW_STREAM)) or is_json_lines(path)


def is_json_lines(path: Path) -> bool:
    """True if the first line of a file is an object with the values of a request."""
    with path.open("rb") as file:
        line = file.readline(JSON_BYTES) if file.peek(1)[:1] == b"{" else b""
    try:
        found = json.loads(line)
    except ValueError:
        return False
    flat = isinstance(found, dict) and not any(isinstance(it, dict | list) for it in found.values())
    return flat and len(found) >= JSON_VALUES


def is_parquet(path: Path) -> bool:
    """True if a file is Parquet, with any columns."""
    with path.open("rb") as file:
        return file.read(4) == PARQUET


def _is_own(file: Any) -> bool:
    """True if the footer of a Parquet file has the engine's columns."""
    file.seek(-8, os.SEEK_END)
    length = int.from_bytes(file.read(4), "little")
    file.seek(-min(8 + length, file.tell() + 4), os.SEEK_END)
    footer = file.read(length)
    return any(all(name in footer for name in names) for names in OWN)


def of_file(path: Path) -> Batches:
    """The table in a file. Raises `InputError` for other files."""
    pa = required("pyarrow", f"trace {path}: a table")
    with path.open("rb") as file:
        start = file.read(8)
    try:
        if start.startswith(PARQUET):
            return _of_parquet(path)
        if start.startswith(b"{"):
            lines = required("pyarrow.json", f"trace {path}: a table").read_json(path)
            parts = lines.to_batches(BATCH_ROWS)
            reader = _selecting(path, parts)
            return Batches(f"trace {path}", lines.column_names, reader, _line_of)
        if not start.startswith(ARROW):
            stream = pa.ipc.open_stream(pa.memory_map(str(path)))
            return Batches(f"trace {path}", stream.schema.names, _selecting(path, _sound(stream)))
        source = pa.ipc.open_file(pa.memory_map(str(path)))
        parts = _sound(source.get_batch(n) for n in range(source.num_record_batches))
        return Batches(f"trace {path}", source.schema.names, _selecting(path, parts))
    except broken() as error:
        unreadable(path, error)


def _line_of(row: int) -> str:
    return f"line {row + 1:,}"


def broken() -> tuple[type[Exception], ...]:
    """Exceptions of libraries for a damaged file."""
    ours = (OSError, EOFError)
    arrow = sys.modules.get("pyarrow")
    return ours if arrow is None else (arrow.ArrowException, *ours)


def unreadable(path: object, error: Exception) -> NoReturn:
    """Raise `InputError` for a table that a library cannot read."""
    raise InputError(f"trace {path}: cannot be read as a table: {_line(error)}") from None


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__


def _of_parquet(path: Path) -> Batches:
    parquet = required("pyarrow.parquet", f"trace {path}: a table")
    file = parquet.ParquetFile(path)
    return Batches(
        f"trace {path}",
        file.schema_arrow.names,
        lambda wanted: _checked(
            path, file.iter_batches(batch_size=BATCH_ROWS, columns=list(wanted))
        ),
    )


def _sound(parts: Any) -> Iterator[Any]:
    """The batches of a file, with validated offsets."""
    for part in parts:
        part.validate(full=True)
        yield part


def _selecting(path: object, parts: Any) -> Any:
    return lambda wanted: _checked(path, (part.select(list(wanted)) for part in parts))


def _checked(path: object, parts: Any) -> Iterator[Any]:
    """The batches; library errors become errors about the file."""
    try:
        yield from parts
    except broken() as error:
        unreadable(path, error)


def of_object(source: str, table: Any) -> Batches:
    """The table in an object of Arrow, pandas or Polars.

    Raises `InputError` for other objects.
    """
    pa = required("pyarrow", f"{source}: a table")
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):
        table = table.collect()  # a lazy frame of Polars
    if hasattr(table, "__arrow_c_stream__"):
        stream = pa.RecordBatchReader.from_stream(table)
    elif hasattr(table, "columns") and hasattr(table, "iloc"):  # a pandas of before 2.2
        stream = pa.Table.from_pandas(table, preserve_index=False).to_reader()
    else:
        raise InputError(
            f"{source}: expected a path or a table of pandas, Polars or Arrow, not "
            f"{type(table).__name__}"
        )
    return Batches(source, stream.schema.names, _selecting(source, stream))
