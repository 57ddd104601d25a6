"""Tables of Arrow whose columns say their units, for results, sweeps and other answers with rows.

The unit of a column stands in its metadata: `table.schema.field("mean_us").metadata[b"unit"]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ssdlab.optional import required

#: Units by the last words of a column's name.
ENDS: Mapping[str, str] = {
    "_us": "us",
    "_ns": "ns",
    "_ms": "ms",
    "_seconds": "s",
    "_hours": "h",
    "_days": "d",
    "_years": "y",
    "mb_per_s": "MB/s",
    "iops": "1/s",
    "_bytes": "B",
    "_percent": "%",
    "_joules": "J",
    "_watts": "W",
    "_celsius": "°C",
    "terabytes_written": "TB",
    "dollars": "USD",
}


def unit(column: str) -> str:
    """The unit of a column by its name; empty for a plain number or a word.

    >>> unit("host.all.percentiles_us.99"), unit("mb_per_s"), unit("flash.block_erases")
    ('us', 'MB/s', '')
    """
    # A component or a percentile follows the quantity: `breakdown_us.cell`, `percentiles_us.99.9`.
    for part in ("percentiles_us.", "breakdown_us."):
        if part in column:
            return "us"
    last = column.rpartition(".")[2]
    if "amplification" in last:
        return ""
    return next(
        (it for end, it in ENDS.items() if last == end.strip("_") or last.endswith(end)), ""
    )


def with_units(table: Any) -> Any:
    """The `pyarrow.Table` with the unit of each column of numbers in its metadata."""
    pyarrow = required("pyarrow", "a table")
    fields = []
    for field in table.schema:
        stated = unit(field.name)
        is_number = pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type)
        fields.append(field.with_metadata({"unit": stated}) if stated and is_number else field)
    return table.cast(pyarrow.schema(fields, metadata=table.schema.metadata))


def of_rows(rows: Sequence[Mapping[str, Any]], what: str) -> Any:
    """The rows as a `pyarrow.Table` with units; raises `InputError` in the name of `what` without
    pyarrow.
    """
    pyarrow = required("pyarrow", what)
    names = dict.fromkeys(name for row in rows for name in row)
    return with_units(pyarrow.table({name: [row.get(name) for row in rows] for name in names}))


class Table:
    """Base of answers with rows: tables for pandas, polars and every consumer of Arrow."""

    # Answers with slots stay read-only.
    __slots__ = ()

    #: Key of the rows in `to_dict`.
    ROWS = "rows"

    def to_dict(self) -> dict[str, Any]:
        """The answer in the form of the command's JSON."""
        raise NotImplementedError

    def table_rows(self) -> list[dict[str, Any]]:
        """The rows of the table; a column of a part is named by its path, such as `a.mean`."""
        return [dict(_flat(row, "")) for row in self.to_dict()[self.ROWS]]

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`. Raises `InputError` without pandas."""
        return required("pandas", f"{type(self).__name__}.to_pandas").DataFrame(self.table_rows())

    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`, each unit in its column's metadata.

        Raises `InputError` without pyarrow.
        """
        return of_rows(self.table_rows(), f"{type(self).__name__}.to_arrow")

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`. Raises `InputError` without polars."""
        return required("polars", f"{type(self).__name__}.to_polars").from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table for any Arrow consumer."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _flat(row: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
