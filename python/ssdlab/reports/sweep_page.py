"""The page of a sweep: best points, effect of each parameter, all points."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ssdlab import pages, readable
from ssdlab._core import InputError
from ssdlab.charts import Figure, svg
from ssdlab.pages import KeyFigure, Section
from ssdlab.sweeps import figures, table
from ssdlab.sweeps.figures import Rows, short
from ssdlab.sweeps.result import Sweep
from ssdlab.sweeps.seeds import SEED, Design, rows_of
from ssdlab.sweeps.table import Goals, Objective, margin_of

#: Default objectives in figures.
DEFAULT = ("host.all.percentiles_us.99", "flash.write_amplification_bytes")
#: Maximum number of rows in the table.
MAX_ROWS = 500
#: Maximum number of rows for points that miss the constraints.
NEAREST = 10
#: Maximum number of parameters and metrics in parallel coordinates.
FEWEST_PARALLEL = 4


def page(sweep: Sweep, minimize: Sequence[str], maximize: Sequence[str]) -> str:
    """The report of `sweep` as HTML."""
    goals = _goals(sweep, minimize, maximize)
    objectives = [objective.column for objective in goals.objectives]
    means = sweep.means(goals.names())
    rows = _rows(sweep, means, goals.names())
    seeds = max((len(it.rows) for it in means), default=0)
    best = goals.pareto(rows)
    varied = [
        name
        for name in sweep.parameters
        if len(set(map(str, sweep.columns[name]))) > 1 and not (seeds and name == SEED)
    ]
    pairs = [(x, y) for n, x in enumerate(objectives) for y in objectives[n + 1 :]]
    trade_offs = [figures.trade_off(rows, best, x, y, varied) for x, y in pairs]
    maps = [
        figures.heat_map(rows, varied[0], varied[1], name)
        for name in objectives
        if len(varied) == 2
    ]
    curves = [figures.by_parameter(rows, name, figure) for figure in objectives for name in varied]
    every = [*varied, *objectives]
    parallel = [figures.parallel(rows, best, every)] if len(every) >= FEWEST_PARALLEL else []
    front = sum(best)
    unmet = goals.unmet(rows, varied)
    sections = [
        Section("best", _best_heading(rows, goals, front), _best(rows, best, varied, objectives))
        if unmet is None
        else Section("best", "The points nearest to what was asked", _nearest(rows, goals, varied)),
        Section(
            "trade-off",
            f"{front} of {len(rows):,} points {'is' if front == 1 else 'are'} on the Pareto front",
            "".join(map(svg.figure, trade_offs)),
            "One dot per point; the line joins the Pareto front. Axes are logarithmic where "
            "values spread.",
        ),
        Section("heat-map", "By both parameters", "".join(map(svg.draw, _there(maps)))),
        Section(
            "by-parameter",
            _strongest(rows, varied, goals.objectives[0]),
            _multiples(_there(curves)),
            _dot_legend(len(varied), seeds),
        ),
        Section(
            "parallel",
            "Parallel coordinates",
            "".join(map(svg.figure, _there(parallel))),
        ),
        Section("points", "All points", _points(rows, varied, objectives)),
    ]
    title = f"Sweep of {', '.join(map(short, varied)) or 'one point'}"
    warned = [
        f"{name}, {points:,} of {len(sweep):,} points: {summary}"
        for name, (_, points, summary) in sweep.warning_marks().items()
    ]
    lead = (
        f'<p class="over">{escape(title)} · {len(sweep):,} points</p>'
        f"<h1>{escape(_unmet(rows, varied, goals) if unmet else _sentence(rows, varied, goals))}"
        f"{escape(_failures(sweep))}</h1>"
        + pages.warnings(warned)
        + pages.key_figures(_key_figures(sweep, varied, rows, goals))
    )
    return pages.document(title, lead, sections)


def _rows(sweep: Sweep, means: Sequence[Design], names: Sequence[str]) -> Rows:
    """A row per point; with repeated seeds a row per design, with means and margins."""
    if not means:
        return sweep.rows([*names, "warnings", "error"])
    rows = rows_of(means)
    of_points = sweep.columns["error"]
    for design, row in zip(means, rows, strict=True):
        errors = [it for position in design.rows if (it := of_points[position])]
        count = f"{len(errors)} of {len(design.rows)} seeds failed: "
        row["error"] = f"{count if len(design.rows) > 1 else ''}{errors[0]}" if errors else None
        warned = [name for position in design.rows for name in sweep.warned(position)]
        row["warnings"] = " ".join(dict.fromkeys(warned))
    return rows


def _dot_legend(parameters: int, seeds: int) -> str:
    """Meaning of the dots in a figure over a parameter."""
    if parameters > 1:
        return "Dot: mean over the other parameters; bar: minimum to maximum."
    if seeds > 1:
        return f"Dot: mean over {seeds} seeds; bar: the 95 % confidence interval."
    return ""


def _failures(sweep: Sweep) -> str:
    """Sentence on the points that failed."""
    failed = len(sweep.errors)
    return f" {failed:,} of {len(sweep):,} points failed." if failed else ""


def _there(drawn: Sequence[Figure]) -> list[Figure]:
    return [it for it in drawn if not it.empty()]


def _multiples(drawn: Sequence[Figure]) -> str:
    shown = "".join(svg.figure(it, height=170) for it in drawn)
    return f'<div class="multiples">{shown}</div>' if shown else ""


def _values(rows: Rows, name: str) -> list[float]:
    return [float(row[name]) for row in rows if isinstance(row.get(name), int | float)]


def _unmet(rows: Rows, varied: Sequence[str], goals: Goals) -> str:
    """Sentence for a sweep in which no point satisfies the constraints."""
    limits = (
        f"{short(it.column)} {it.sign} {figures.value_text(it.limit, it.column)}"
        for it in goals.constraints
    )
    said = f"No point satisfies {' and '.join(limits)}"
    having = [row for row in rows if goals.miss(row) < float("inf")]
    if not having:
        return f"{said}: none has these figures."
    row = min(having, key=goals.miss)
    at = ", ".join(f"{short(key)}={figures.value_text(row.get(key), key)}" for key in varied)
    has = ", ".join(
        f"{short(name)} {figures.value_text(row[name], name)}"
        for name in dict.fromkeys(it.column for it in goals.constraints)
    )
    return f"{said}; the nearest{f', {at},' if at else ''} has {has}."


def _sentence(rows: Rows, varied: Sequence[str], goals: Goals) -> str:
    """Sentence on the best point by the first objective, and the range of all points."""
    goal = goals.objectives[0]
    stored = filter(goals.kept, rows)
    having = [row for row in stored if isinstance(row.get(goal.column), int | float)]
    name = short(goal.column)
    if not having:
        return f"No point has a value of {name}."
    order = sorted(having, key=lambda row: row[goal.column], reverse=goal.maximize)
    at = ", ".join(f"{short(key)}={figures.value_text(order[0].get(key), key)}" for key in varied)
    best = figures.value_text(order[0][goal.column], goal.column)
    word = "highest" if goal.maximize else "lowest"
    said = f"The {word} {name}, {best}, is at {at}" if at else f"The {name} is {best}"
    ties = sum(row[goal.column] == order[0][goal.column] for row in order) - 1
    if ties and at:
        said += f" and {readable.counted(ties, 'other point')}"
    ends = [abs(row[goal.column]) for row in (order[0], order[-1])]
    if min(ends) > 0 and not readable.same(*ends):
        said += f": {readable.grouped(max(ends) / min(ends))} times better than the worst"
    return f"{said}."


def _key_figures(sweep: Sweep, varied: Sequence[str], rows: Rows, goals: Goals) -> list[KeyFigure]:
    failed = f"{len(sweep.errors):,} failed" if sweep.errors else "none failed"
    found = [
        KeyFigure("Points", f"{len(sweep):,}", failed),
        KeyFigure("Parameters", str(len(varied)), ", ".join(map(short, varied))),
    ]
    for goal in goals.objectives[:4]:
        values = _values(rows, goal.column)
        if values:
            low, high = (figures.value_text(it, goal.column) for it in (min(values), max(values)))
            first, last = (high, low) if goal.maximize else (low, high)
            found.append(KeyFigure(f"Best {short(goal.column)}", first, f"worst {last}"))
    return found


def _best_heading(rows: Rows, goals: Goals, front: int) -> str:
    names = " and ".join(short(it.column) for it in goals.objectives)
    if len(goals.objectives) == 1:
        return f"Best in {names}"
    return f"{readable.counted(front, 'point')} on the Pareto front of {names}"


def _strongest(rows: Rows, varied: Sequence[str], goal: Objective) -> str:
    """The parameter with the largest effect on the mean of an objective."""
    reach = {}
    for name in varied:
        groups: dict[str, list[float]] = {}
        for row in rows:
            if isinstance(row.get(goal.column), int | float):
                groups.setdefault(str(row.get(name)), []).append(float(row[goal.column]))
        means = [sum(group) / len(group) for group in groups.values()]
        if len(means) > 1 and min(means) > 0:
            reach[name] = max(means) / min(means)
    if not reach:
        return "Effect of each parameter"
    name = max(reach, key=lambda it: reach[it])
    if readable.same(1.0, reach[name]):
        return f"No parameter changes {short(goal.column)} by more than 2 %"
    much = readable.grouped(reach[name])
    if len(varied) == 1:
        return f"{short(name)} changes {short(goal.column)} by a factor of {much}"
    return f"{short(name)} changes {short(goal.column)} most, {much} times on average"


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
    what = "the lowest" if len(names) == 1 else "the Pareto front"
    return pages.table(
        [short(name) for name in [*varied, *names]] or [""],
        [[_cell(row, name) for name in [*varied, *names]] for row in front[:MAX_ROWS]],
        f"{what} of {', '.join(map(short, names))}",
    )


def _nearest(rows: Rows, goals: Goals, varied: Sequence[str]) -> str:
    """The points nearest to the constraints."""
    having = [row for row in rows if goals.miss(row) < float("inf")]
    said: dict[str, str] = {}
    for it in goals.constraints:
        limit = f"{it.sign} {figures.value_text(it.limit, it.column)}"
        said[it.column] = f"{said.get(it.column, short(it.column))} {limit}"
    columns = list(dict.fromkeys([*varied, *said, *(it.column for it in goals.objectives)]))
    return pages.table(
        [said.get(name, short(name)) for name in columns],
        [
            [_cell(row, name) for name in columns]
            for row in sorted(having, key=goals.miss)[:NEAREST]
        ],
        "no point keeps every constraint; the nearest first",
    )


def _cell(row: dict[str, Any], name: str) -> str:
    """A value, with its margin if seeds are repeated."""
    text, half = figures.value_text(row.get(name), name), row.get(margin_of(name))
    return f"{text} \u00b1 {figures.value_text(half, name)}" if text and half else text


def _points(rows: Rows, varied: Sequence[str], names: Sequence[str]) -> str:
    failed = ["error"] if any(row.get("error") for row in rows) else []
    warned = ["warnings"] if any(row.get("warnings") for row in rows) else []
    columns = [*varied, *names, *warned, *failed]
    body = [
        [
            _cell(row, name) or ("" if name in ("warnings", "error") else readable.ABSENT)
            for name in columns
        ]
        for row in rows[:MAX_ROWS]
    ]
    more = f"the first {MAX_ROWS} of {len(rows):,}" if len(rows) > MAX_ROWS else ""
    return pages.table([short(name) for name in columns], body, more)
