"""Files and objects as batches of Arrow: Parquet, Arrow IPC, text with a header, data frames."""

from __future__ import annotations

import csv
import glob
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.optional import required

PARQUET, ARROW = b"PAR1", b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}
#: Separators of text tables, the most likely first.
SEPARATORS = ",;\t|"
#: Rows of a batch, and bytes of a block of text: memory is bounded by some of them.
BATCH_ROWS, BLOCK_BYTES = 1 << 17, 1 << 22
#: What the engine reads by itself: these columns are in the footer of a Parquet file.
OWN = ((b"at_ns", b"sectors"), (b"arrival_ns", b"size_bytes"))
#: Bytes of text in which a header is looked for.
HEAD = 1 << 16


@dataclass
class Batches:
    """A table: the names of its columns, and its rows a batch at a time."""

    source: str
    names: Sequence[str]
    #: Reads these columns.
    read: Any
    #: Where a person finds a row, counted from zero.
    place: Callable[[int], str] = lambda row: f"row {row + 1:,}"


def matches(path: str) -> list[Path] | None:
    """The files that a pattern names, sorted; None where `path` is no pattern.

    Raises `InputError` where none matches.
    """
    if not glob.has_magic(path) or os.path.lexists(path):
        return None
    found = sorted(Path(it) for it in glob.glob(path, recursive=True) if os.path.isfile(it))
    if not found:
        raise InputError(f"trace {path}: no file matches the pattern")
    return found


def is_table(path: Path) -> bool:
    """Whether a file is a table whose columns have names, and no trace that the engine knows."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
            if start.startswith(PARQUET):
                return not _is_own(file)
    except OSError:
        return False  # the engine says what is wrong with it
    if start.startswith((ARROW, ARROW_STREAM)):
        return True
    if not start or (not _compression(start) and b"\x00" in start):
        return False
    header = _header(path)
    if header is None:
        return False
    try:
        _core.trace_head(os.fspath(path), "{}", 1)
    except InputError:
        return True
    return False


def _is_own(file: Any) -> bool:
    """Whether the footer of a Parquet file names the columns that the engine reads."""
    file.seek(-8, os.SEEK_END)
    length = int.from_bytes(file.read(4), "little")
    file.seek(-min(8 + length, file.tell() + 4), os.SEEK_END)
    footer = file.read(length)
    return any(all(name in footer for name in names) for names in OWN)


def _compression(start: bytes) -> str | None:
    return next((name for magic, name in COMPRESSED.items() if start.startswith(magic)), None)


def _header(path: Path) -> tuple[list[str], str] | None:
    """The names in the first line of a text and what separates them; None if it has none."""
    try:
        with _opened(path) as stream:
            line = stream.read(HEAD).partition(b"\n")[0].decode("utf-8-sig").strip("\r")
    except InputError:
        return None
    except broken():
        return None
    separator = max(SEPARATORS, key=line.count)
    if line.count(separator) < 2:
        return None
    names = [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    names[0] = names[0].lstrip("# ")
    if any(not name or name[0].isdigit() or name[0] in "+-." for name in names):
        return None
    return names, separator


def _opened(path: Path) -> Any:
    """The bytes of a file, decompressed."""
    import bz2
    import gzip
    import lzma

    with path.open("rb") as file:
        kind = _compression(file.read(8))
    if kind == "zstd":
        return required("pyarrow", "a table in zstd").input_stream(str(path), compression="zstd")
    opened: Any = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}.get(str(kind), open)
    return opened(path, "rb")


def of_file(path: Path) -> Batches:
    """The table in a file. Raises `InputError` where it is none."""
    pa = required("pyarrow", f"trace {path}: a table")
    with path.open("rb") as file:
        start = file.read(8)
    try:
        if start.startswith(PARQUET):
            return _of_parquet(path)
        if start.startswith(ARROW):
            source = pa.ipc.open_file(pa.memory_map(str(path)))
            parts = _sound(source.get_batch(n) for n in range(source.num_record_batches))
            return Batches(f"trace {path}", source.schema.names, _selecting(path, parts))
        if start.startswith(ARROW_STREAM):
            stream = pa.ipc.open_stream(pa.memory_map(str(path)))
            return Batches(f"trace {path}", stream.schema.names, _selecting(path, _sound(stream)))
    except broken() as error:
        unreadable(path, error)
    header = _header(path)
    if header is None:
        raise InputError(
            f"trace {path}: its first line has no names of columns\n"
            "  a table of text begins with a line such as time,op,offset,size\n"
            "  --columns time=1:us,op=2,offset=3:bytes,size=4 counts the columns instead"
        )
    return Batches(
        f"trace {path}",
        header[0],
        lambda wanted: _of_text(path, *header, wanted),
        lambda row: f"line {_line_of(path, row):,}",
    )


def broken() -> tuple[type[Exception], ...]:
    """What libraries raise for a file that is damaged."""
    import lzma
    import zlib

    ours = (OSError, EOFError, UnicodeError, csv.Error, zlib.error, lzma.LZMAError)
    arrow = sys.modules.get("pyarrow")
    return ours if arrow is None else (arrow.ArrowException, *ours)


def unreadable(path: object, error: Exception, place: str = "") -> NoReturn:
    """Raise `InputError` for a table that a library cannot read."""
    raise InputError(f"trace {path}{place}: cannot be read as a table: {_line(error)}") from None


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
    """The batches of a file, whose offsets the library believes unless it is asked to look."""
    for part in parts:
        part.validate(full=True)
        yield part


def _selecting(path: object, parts: Any) -> Any:
    return lambda wanted: _checked(path, (part.select(list(wanted)) for part in parts))


def _checked(path: object, parts: Any) -> Iterator[Any]:
    """The batches; what the library refuses on the way is the file's fault."""
    try:
        yield from parts
    except broken() as error:
        unreadable(path, error)


def _of_text(path: Path, names: Sequence[str], separator: str, wanted: Sequence[str]) -> Any:
    pa, text = required("pyarrow", "a table"), required("pyarrow.csv", "a table")
    options = {
        "read_options": text.ReadOptions(
            column_names=list(names), skip_rows=1, block_size=BLOCK_BYTES
        ),
        "parse_options": text.ParseOptions(delimiter=separator),
        "convert_options": text.ConvertOptions(
            column_types={name: pa.string() for name in names},
            include_columns=list(wanted),
            strings_can_be_null=True,
            null_values=[""],
        ),
    }
    try:
        with _opened(path) as stream:
            yield from text.open_csv(stream, **options)
    except broken() as error:
        if "Empty CSV" not in str(error):
            unreadable(path, error, _uneven(path, len(names), separator))


def _line_of(path: Path, row: int) -> int:
    """The line of a text, from one on, that has this row: header and empty lines have none."""
    with _opened(path) as stream:
        next(stream)
        filled = (number for number, line in enumerate(stream, 2) if line.strip(b"\r\n"))
        return next(itertools.islice(filled, row, None), 0)


def _uneven(path: Path, columns: int, separator: str) -> str:
    """The first line of a text that has another number of values than its header, if one has."""
    try:
        with _opened(path) as stream:
            lines = csv.reader(
                (line.decode("utf-8", "replace") for line in stream), delimiter=separator
            )
            uneven = (lines.line_num for values in lines if values and len(values) != columns)
            number = next(uneven, None)
    except InputError:
        return ""
    except broken():
        return ""
    return "" if number is None else f", line {number:,}"


def of_object(source: str, table: Any) -> Batches:
    """The table that an object of Arrow, pandas or Polars is.

    Raises `InputError` for one that is none.
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
