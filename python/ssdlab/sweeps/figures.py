"""The figures of a sweep: effects of parameters, and the best points.

A row is a point of the sweep as a mapping from column to value; columns have short names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ssdlab import readable
from ssdlab.charts import Axis, Cells, Figure, Series, Threads
from ssdlab.sweeps.table import margin_of
from ssdlab.units import cell_text

Rows = Sequence[dict[str, Any]]

#: Maximum number of words along an axis.
MAX_WORDS = 40
#: Ratio of values above which an axis is logarithmic.
WIDE_SPREAD = 20
#: Maximum number of labelled best points.
MAX_LABELS = 8


def short(name: str) -> str:
    """Display name of a column."""
    for prefix in ("host.", "device.", "workload.", "flash.", "all."):
        name = name.removeprefix(prefix)
    kind, percentiles, percent = name.partition("percentiles_us.")
    name = f"{kind.replace('.', ' ')}p{percent}" if percentiles else name
    if name == "write_amplification_bytes":
        name = "write_amplification"
    return name.removesuffix("_us").replace("_", " ")


def unit_of(name: str) -> str:
    """The unit of a column by its name, one of `readable.FORMS`; empty for a plain number."""
    last = name.rpartition(".")[2]
    if "percentiles_us." in name or last.endswith("_us"):
        return "us"
    if last == "mb_per_s":
        return "mb_per_s"
    if "bytes" in last.split("_") and "amplification" not in last:
        return "bytes"
    return {"iops": "rate"}.get(last, "")


def value_text(value: Any, name: str) -> str:
    """Display form of a column's value."""
    unit = unit_of(name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and unit:
        return readable.value(value, unit)
    return cell_text(value)


def axis(rows: Rows, name: str) -> Axis:
    """The axis of a column: logarithmic where the values spread."""
    numbers = [row[name] for row in rows if isinstance(row.get(name), int | float)]
    wide = bool(numbers) and min(numbers) > 0 and max(numbers) > WIDE_SPREAD * min(numbers)
    # Values equal within noise share an axis that shows so.
    equal = bool(numbers) and readable.same(min(numbers), max(numbers))
    return Axis(short(name), log=10 if wide else 0, zero=equal, unit=unit_of(name))


def trade_off(
    rows: Rows, best: Sequence[bool], x: str, y: str, varied: Sequence[str] = ()
) -> Figure:
    """A metric of each point over another, and the line through the best ones."""
    points = [
        (row[x], row[y], is_best, _point(row, varied))
        for row, is_best in zip(rows, best, strict=True)
        if row.get(x) is not None and row.get(y) is not None
    ]
    series = []
    for name, wanted, role in (("others", False, "context"), ("best", True, "A")):
        mine = sorted((a, b, stated) for a, b, is_best, stated in points if is_best == wanted)
        at, values = [a for a, _, _ in mine], [b for _, b, _ in mine]
        stated = [
            f"{point}: {value_text(a, x)}, {value_text(b, y)}".removeprefix(": ")
            for a, b, point in mine
        ]
        if wanted and len(mine) > 1:
            series.append(Series("", at, values, role=role, dash=0, says=stated))
        if mine:
            labels = [point for _, _, point in mine] if wanted and len(mine) <= MAX_LABELS else []
            dots = Series(name, at, values, "dots", strong=wanted, role=role, says=stated)
            series.append(replace(dots, labels=labels))
    return Figure(
        f"{short(y)} against {short(x)}",
        axis(rows, x),
        axis(rows, y),
        series,
    )


def _point(row: dict[str, Any], varied: Sequence[str]) -> str:
    """Display name of a point."""
    return ", ".join(f"{short(name)}={cell_text(row.get(name))}" for name in varied)


def heat_map(rows: Rows, down: str, across: str, figure: str) -> Figure:
    """A metric over two parameters; empty if a parameter has too many values."""
    columns, lines = values(rows, across), values(rows, down)
    found = {(row.get(down), row.get(across)): row.get(figure) for row in rows}
    grid = [[found.get((line, column)) for column in columns] for line in lines]
    fits = max(len(columns), len(lines)) <= MAX_WORDS
    return Figure(
        "",
        Axis(short(across), words=[*map(cell_text, columns)]),
        Axis(short(down), words=[*map(cell_text, lines)]),
        [Cells(short(figure), grid, unit=unit_of(figure))] if fits else [],
    )


def by_parameter(rows: Rows, name: str, figure: str) -> Figure:
    """A metric over a parameter: a dot for the mean over all other parameters, with its range.

    The range is minimum to maximum; for a single design with several seeds, the mean's confidence
    interval.
    """
    having = [row for row in rows if isinstance(row.get(figure), int | float)]
    groups = [
        (value, [row for row in having if row.get(name) == value]) for value in values(rows, name)
    ]
    groups = [(value, found) for value, found in groups if found]
    x = [value for value, _ in groups]
    if not _numbers(x):
        x = [cell_text(value) for value in x]
    means = [sum(row[figure] for row in found) / len(found) for _, found in groups]
    ranges = [_range(found, figure) for _, found in groups]
    says = [
        f"{short(name)} {cell_text(at)}: {value_text(mean, figure)}"
        + ("" if ends is None else f", {' to '.join(value_text(it, figure) for it in ends)}")
        for at, mean, ends in zip(x, means, ranges, strict=True)
    ]
    series = [Series("", x, means, "dots", role="A", ranges=ranges, says=says)]
    if _numbers(x):
        series.insert(0, Series("", x, means, role="A", dash=0, says=says))
    across = axis([{name: value} for value in x], name)
    upright = axis(having, figure)
    return Figure(
        f"{short(figure)} by {short(name)}",
        replace(across, words=()),
        replace(upright, zero=True),
        series if 2 <= len(groups) <= MAX_WORDS else [],
    )


def _range(rows: Rows, figure: str) -> tuple[float, float] | None:
    """Range of a group's points."""
    if len(rows) == 1:
        half = rows[0].get(margin_of(figure))
        return (rows[0][figure] - half, rows[0][figure] + half) if half else None
    found = [row[figure] for row in rows]
    return min(found), max(found)


def parallel(rows: Rows, best: Sequence[bool], names: Sequence[str]) -> Figure:
    """A line for each point through its parameters and metrics."""
    scales, ends = {}, []
    for name in names:
        there = [value for value in values(rows, name) if value is not None]
        if not there:
            return Figure("", Axis(), Axis())
        if _numbers(there):
            low, high = float(min(there)), float(max(there))
            scales[name] = {v: (v - low) / (high - low) if high > low else 0.5 for v in there}
        else:
            scales[name] = {v: n / max(len(there) - 1, 1) for n, v in enumerate(there)}
        ends.append((value_text(there[0], name), value_text(there[-1], name)))
    lines: dict[bool, list[list[float]]] = {False: [], True: []}
    for row, is_best in zip(rows, best, strict=True):
        if all(row.get(name) is not None for name in names):
            lines[is_best].append([scales[name][row[name]] for name in names])
    threads = [Threads("others", lines[False], 7), Threads("best", lines[True], 3, strong=True)]
    return Figure(
        "",
        Axis("through its parameters and metrics", words=[*map(short, names)], ends=ends),
        Axis(low=0.0, high=1.0),
        [mark for mark in threads if mark.lines],
    )


def values(rows: Rows, name: str) -> list[Any]:
    """Distinct values of a column: numbers first, ascending; then words."""
    return sorted({row.get(name) for row in rows}, key=_order)


def _numbers(there: Iterable[Any]) -> bool:
    return all(_order(value)[0] == 0 for value in there)


def _order(value: Any) -> tuple[int, Any, str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, value, "") if number else (1, 0, str(value))
