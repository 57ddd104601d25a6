"""Terminal output of a test: a sentence on its steady state, and its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO

from rich.console import Group, RenderableType
from rich.text import Text

from ssdlab.pts import sentences
from ssdlab.pts.outcome import Outcome
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.units import duration

#: Rows of write saturation.
MOST_ROWS = 10


def test(found: Outcome, measured: Outcome | None, file: IO[str]) -> str:
    """The test as text for `file`, with measured figures beside simulated ones, if any."""
    console, _ = console_for(file)
    sections: list[RenderableType] = [
        Group(Text(found.test.title, style="bold"), *map(Text, sentences.of(found)))
    ]
    sections += TABLES[found.test.word](found, measured)
    return rendered(console, sections)


def _cells(found: Outcome, measured: Outcome | None) -> list[RenderableType]:
    """A row for each block size and a column for each mix, for every figure."""
    tables: list[RenderableType] = []
    loads = [it for it in found.test.round if it.name != "before"]
    mixes = list(dict.fromkeys(it.mix for it in loads))
    for figure in found.figures():
        table = Columns([NAMES[figure], *mixes], 1)
        for size in dict.fromkeys(it.size for it in loads):
            names = {it.mix: it.name for it in loads if it.size == size}
            table.add_row(size, *(_cell(found, names[mix], figure) for mix in mixes))
            if measured is not None:
                cells = (_beside(found, measured, names[mix], figure) for mix in mixes)
                table.add_row(Text("  measured", style="dim"), *cells)
        tables.append(table)
    return tables


def _demand(found: Outcome, measured: Outcome | None) -> list[RenderableType]:
    depths = sorted({it.depth for it in found.test.round if it.reads})
    tables: list[RenderableType] = []
    for figure in found.figures():
        table = Columns([f"{NAMES[figure]}: threads", *(f"QD {it}" for it in depths)], 1)
        for threads in sorted({it.threads for it in found.test.round if it.reads}):
            names = [f"t{threads}-q{depth}" for depth in depths]
            table.add_row(f"{threads}", *(_cell(found, name, figure) for name in names))
            if measured is not None:
                cells = (_beside(found, measured, name, figure) for name in names)
                table.add_row(Text("  measured", style="dim"), *cells)
        tables.append(table)
    return tables


def _saturation(found: Outcome, measured: Outcome | None) -> list[RenderableType]:
    both = [found, *([measured] if measured else [])]
    table = Columns(["written", "IOPS", *(["measured"] if measured else [])], 1)
    rows = max(len(it.rounds) for it in both)
    for number in range(0, rows, max(1, rows // MOST_ROWS)):
        series = [it.series("write") for it in both]
        values = [f"{it[number]:,.0f}" if number < len(it) else "" for it in series]
        share = (number + 1) * sum(it.share * it.repeat for it in found.test.round) / 100
        table.add_row(f"{share:.1f} capacities", *values)
    return [table]


def _stimulus(found: Outcome, measured: Outcome | None) -> list[RenderableType]:
    heads = ["measured first", "measured last", "measured alike"] if measured else []
    names = ["writes", "first MB/s", "last MB/s", "alike after", *heads]
    table = Columns(names, 1, ["writes"])
    for load in found.test.after:
        row = [f"{'random' if load.is_random else 'sequential'} {load.size}"]
        for it in (found, measured):
            if it is not None and (recovered := it.recovery(load.name)) is not None:
                first, last, writes = recovered
                row += [f"{first:,.0f}", f"{last:,.0f}", f"{writes:.1f} capacities"]
        table.add_row(*row, *[""] * (len(names) - len(row)))
    return [table]


def _rests(found: Outcome, measured: Outcome | None) -> list[RenderableType]:
    heads = ["measured bursts", "measured then"] if measured else []
    table = Columns(["rest", "IOPS of bursts", "without rest, then", *heads], 1)
    others = {rest: values for rest, *values in measured.rested()} if measured else {}
    for rest, bursts, later in found.rested():
        values = [bursts, later, *others.get(rest, ())]
        row = [f"{it:,.0f}" for it in values]
        table.add_row(f"{rest:g} s", *row, *[""] * (len(table.names) - 1 - len(row)))
    return [table]


TABLES: dict[str, Callable[[Outcome, Outcome | None], Sequence[RenderableType]]] = {
    "iops": _cells,
    "throughput": _cells,
    "latency": _cells,
    "wsat": _saturation,
    "dirth": _demand,
    "xsr": _stimulus,
    "hir": _rests,
}
NAMES = {"iops": "IOPS", "mb_per_s": "MB/s", "mean_us": "mean", "max_us": "most"}


def _cell(found: Outcome, name: str, figure: str) -> str:
    value = found.mean(name, figure)
    if value is None:
        return "no" if name in found.refused else "-"
    return duration(value) if figure.endswith("_us") else f"{value:,.0f}"


def _beside(found: Outcome, measured: Outcome, name: str, figure: str) -> Text:
    """The measured figure, and its ratio to the simulated one."""
    here, there = found.mean(name, figure), measured.mean(name, figure)
    if there is None:
        return Text("-", style="dim")
    said = duration(there) if figure.endswith("_us") else f"{there:,.0f}"
    if here is None:
        return Text(said, style="dim")
    return Text(f"{said} ({here / there - 1:+.0%})", style="dim")
