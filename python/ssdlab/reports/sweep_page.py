"""The page of a sweep: its best points, what each parameter does, every point."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab import pages
from ssdlab._core import InputError
from ssdlab.charts import svg
from ssdlab.numbers import cell_text
from ssdlab.sweeps import figures, table
from ssdlab.sweeps.figures import Rows, short
from ssdlab.sweeps.result import Sweep
from ssdlab.sweeps.table import Goals, Objective

#: What is drawn of a sweep that names no objectives.
DEFAULT = ("host.all.percentiles_us.99", "flash.write_amplification_bytes")
#: Rows of the table.
MAX_ROWS = 500
#: Parameters and figures that are worth a line through them.
FEWEST_PARALLEL = 4


def page(sweep: Sweep, minimize: Sequence[str], maximize: Sequence[str]) -> str:
    """The report of `sweep` as HTML."""
    goals = _goals(sweep, minimize, maximize)
    objectives = [objective.column for objective in goals.objectives]
    rows = [
        {name: values[place] for name, values in sweep.columns.items()}
        for place in range(len(sweep))
    ]
    best = goals.pareto(rows)
    varied = [name for name in sweep.parameters if len(set(map(str, sweep.columns[name]))) > 1]
    key_figures = {"points": f"{len(sweep):,}"}
    if sweep.errors:
        key_figures["failed"] = f"{len(sweep.errors):,}"
    key_figures["parameters"] = str(len(varied))
    pairs = [(x, y) for n, x in enumerate(objectives) for y in objectives[n + 1 :]]
    trade_offs = [figures.trade_off(rows, best, x, y) for x, y in pairs]
    maps = [
        figures.heat_map(rows, varied[0], varied[1], name)
        for name in objectives
        if len(varied) == 2
    ]
    curves = [figures.by_parameter(rows, name, figure) for figure in objectives for name in varied]
    every = [*varied, *objectives]
    parallel = [figures.parallel(rows, best, every)] if len(every) >= FEWEST_PARALLEL else []
    sections = {
        "Best": _best(rows, best, varied, objectives),
        "Trade-off": "".join(map(svg.figure, trade_offs)),
        "Heat map": "".join(svg.draw(it) for it in maps if not it.empty()),
        "By parameter": "".join(map(svg.figure, curves)),
        "Parallel coordinates": "".join(map(svg.figure, parallel)),
        "Points": _points(rows, varied, objectives),
    }
    title = f"Sweep of {', '.join(map(short, varied)) or 'one point'}"
    warned = [
        f"{name}, {points:,} of {len(sweep):,} points: {summary}"
        for name, (_, points, summary) in sweep.warning_marks().items()
    ]
    return pages.document(title, pages.key_figures(key_figures) + pages.warnings(warned), sections)


def _goals(sweep: Sweep, minimize: Sequence[str], maximize: Sequence[str]) -> Goals:
    limits = sweep.goals.constraints
    if minimize or maximize:
        given = table.goals(minimize, maximize, (), list(sweep.columns), "--")
        return Goals(given.objectives, limits)
    if sweep.goals.objectives:
        return sweep.goals
    there = [name for name in DEFAULT if any(v is not None for v in sweep.columns.get(name, []))]
    if not there:
        raise InputError("no point of the sweep has results to show")
    return Goals([Objective(name, maximize=False) for name in there], limits)


def _best(rows: Rows, best: Sequence[bool], varied: Sequence[str], names: Sequence[str]) -> str:
    front = [row for row, is_best in zip(rows, best, strict=True) if is_best]
    what = (
        "the lowest" if len(names) == 1 else "the Pareto front: no other point beats these in all"
    )
    return pages.table(
        [short(name) for name in [*varied, *names]] or [""],
        [[cell_text(row.get(name)) for name in [*varied, *names]] for row in front[:MAX_ROWS]],
        f"{what} of {', '.join(map(short, names))}",
    )


def _points(rows: Rows, varied: Sequence[str], names: Sequence[str]) -> str:
    failed = ["error"] if any(row.get("error") for row in rows) else []
    warned = ["warnings"] if any(row.get("warnings") for row in rows) else []
    columns = [*varied, *names, *warned, *failed]
    body = [[cell_text(row.get(name)) for name in columns] for row in rows[:MAX_ROWS]]
    more = f"the first {MAX_ROWS} of {len(rows):,}" if len(rows) > MAX_ROWS else ""
    return pages.table([short(name) for name in columns], body, more)
