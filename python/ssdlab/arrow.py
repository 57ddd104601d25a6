"""Tables of Arrow whose columns say their units, for results, sweeps and comparisons.

The unit of a column stands in its metadata: `table.schema.field("mean_us").metadata[b"unit"]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    return with_units(required("pyarrow", what).Table.from_pylist([dict(row) for row in rows]))
