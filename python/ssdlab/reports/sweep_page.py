"""The page of a sweep: its best points, what each parameter does, every point."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ssdlab._core import InputError
from ssdlab.paper.item import Figure, Series
from ssdlab.reports import html
from ssdlab.sweeps import table
from ssdlab.sweeps.result import Sweep, cell_text
from ssdlab.sweeps.table import Goals, Objective

#: What is drawn of a sweep that names no objectives.
DEFAULT = ("host.all.percentiles_us.99", "flash.write_amplification_bytes")
#: Cells of a heat map, rows of the table and lines of the parallel coordinates.
MAX_CELLS = 40
MAX_ROWS = 500
MAX_LINES = 2000

WIDTH, HEIGHT, MARGIN = 640, 340, 40


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
    figures = {"points": f"{len(sweep):,}"}
    if sweep.errors:
        figures["failed"] = f"{len(sweep.errors):,}"
    figures["parameters"] = str(len(varied))
    sections = {
        "Best": _best(rows, best, varied, objectives),
        "Trade-off": _trade_off(rows, best, objectives),
        "Heat map": "".join(_heat_map(rows, varied, name) for name in objectives),
        "By parameter": _by_parameter(rows, varied, objectives),
        "Parallel coordinates": _parallel(rows, best, [*varied, *objectives]),
        "Points": _points(rows, varied, objectives),
    }
    title = f"Sweep of {', '.join(map(short, varied)) or 'one point'}"
    warned = [
        f"{name}, {points:,} of {len(sweep):,} points: {summary}"
        for name, (_, points, summary) in sweep.warning_marks().items()
    ]
    return html.document(title, html.key_figures(figures) + html.warnings(warned), sections)


def _goals(sweep: Sweep, minimize: Sequence[str], maximize: Sequence[str]) -> Goals:
    if minimize or maximize:
        return table.goals(minimize, maximize, (), list(sweep.columns), "--")
    if sweep.goals.objectives:
        return sweep.goals
    there = [name for name in DEFAULT if any(v is not None for v in sweep.columns.get(name, []))]
    if not there:
        raise InputError("no point of the sweep has results to show")
    return Goals([Objective(name, maximize=False) for name in there])


def short(name: str) -> str:
    """A column as a person reads it."""
    for prefix in ("host.", "device.", "workload.", "flash."):
        name = name.removeprefix(prefix)
    kind, percentiles, percent = name.partition("percentiles_us.")
    name = f"{kind}p{percent} us" if percentiles else name
    return name.replace("_", " ")


Rows = Sequence[dict[str, Any]]


def _best(rows: Rows, best: Sequence[bool], varied: Sequence[str], names: Sequence[str]) -> str:
    front = [row for row, is_best in zip(rows, best, strict=True) if is_best]
    what = (
        "the lowest" if len(names) == 1 else "the Pareto front: no other point beats these in all"
    )
    return html.table(
        [short(name) for name in [*varied, *names]] or [""],
        [[cell_text(row.get(name)) for name in [*varied, *names]] for row in front[:MAX_ROWS]],
        f"{what} of {', '.join(map(short, names))}",
    )


def _trade_off(rows: Rows, best: Sequence[bool], names: Sequence[str]) -> str:
    """Each pair of objectives against each other."""
    text = ""
    pairs = [(x, y) for n, x in enumerate(names) for y in names[n + 1 :]]
    for x, y in pairs:
        kept = [
            (row[x], row[y], is_best)
            for row, is_best in zip(rows, best, strict=True)
            if row.get(x) is not None and row.get(y) is not None
        ]
        text += _scatter(kept, short(x), short(y))
    return text


def _scatter(points: Sequence[tuple[float, float, bool]], x_name: str, y_name: str) -> str:
    if not points:
        return ""
    (left, right), (bottom, top) = (_ends([p[n] for p in points]) for n in (0, 1))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            MARGIN + (x - left) / (right - left) * (WIDTH - 2 * MARGIN),
            HEIGHT - MARGIN - (y - bottom) / (top - bottom) * (HEIGHT - 2 * MARGIN),
        )

    dots = ""
    for x, y, is_best in sorted(points, key=lambda point: point[2]):
        px, py = place(x, y)
        kind = 'class="dot c1" r="5"' if is_best else 'class="dot c0" r="3" opacity=".6"'
        told = escape(f"{x_name} {x:.5g}, {y_name} {y:.5g}")
        dots += f'<circle {kind} cx="{px:.1f}" cy="{py:.1f}"><title>{told}</title></circle>'
    front = [place(x, y) for x, y, is_best in sorted(points) if is_best]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in front)
    axes = (
        f'<line class="grid" x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{HEIGHT - MARGIN}" '
        f'y2="{HEIGHT - MARGIN}"/><line class="grid" x1="{MARGIN}" x2="{MARGIN}" y1="{MARGIN}" '
        f'y2="{HEIGHT - MARGIN}"/>'
        f"{_label(MARGIN, HEIGHT - 22, cell_text(left), 'start')}"
        f"{_label(WIDTH - MARGIN, HEIGHT - 22, cell_text(right), 'end')}"
        f"{_label(WIDTH / 2, HEIGHT - 6, x_name, 'middle')}"
        f"{_label(MARGIN, 30, cell_text(top), 'start')}"
        f"{_label(MARGIN, 14, y_name, 'start')}"
        f"{_label(4, HEIGHT - MARGIN, cell_text(bottom), 'start')}"
    )
    return (
        f"<figure><figcaption>{escape(y_name)} against {escape(x_name)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_name)} against '
        f'{escape(x_name)}, a point for each experiment">{axes}'
        f'<polyline class="line c1" points="{line}"/>{dots}</svg>'
        '<p class="legend"><span><i class="swatch c1"></i>best</span>'
        '<span><i class="swatch c0"></i>others</span></p></figure>'
    )


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = float(min(values)), float(max(values))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _order(value: Any) -> tuple[int, Any, str]:
    """Numbers first, by size; then words."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, value, "") if number else (1, 0, str(value))


def _values(rows: Rows, name: str) -> list[Any]:
    return sorted({row.get(name) for row in rows}, key=_order)


def _heat_map(rows: Rows, varied: Sequence[str], figure: str) -> str:
    """A figure over two parameters, where just two vary: a table whose cells are shaded."""
    if len(varied) != 2:
        return ""
    (down, across) = varied
    columns, lines = _values(rows, across), _values(rows, down)
    if max(len(columns), len(lines)) > MAX_CELLS:
        return ""
    found = {(row.get(down), row.get(across)): row.get(figure) for row in rows}
    low, high = _ends([value for value in found.values() if value is not None] or [0])
    head = "".join(f'<th scope="col">{escape(cell_text(value))}</th>' for value in columns)
    body = ""
    for line in lines:
        cells = ""
        for column in columns:
            value = found.get((line, column))
            share = 0 if value is None else 8 + 62 * (value - low) / (high - low)
            shade = f"background:color-mix(in srgb, var(--c1) {share:.0f}%, var(--bg))"
            cells += f'<td style="{shade}">{escape(cell_text(value)) or "-"}</td>'
        body += f'<tr><th scope="row">{escape(cell_text(line))}</th>{cells}</tr>'
    caption = f"{short(figure)}: {short(down)} down, {short(across)} across; darker is more"
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption><thead><tr><th></th>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _by_parameter(rows: Rows, varied: Sequence[str], names: Sequence[str]) -> str:
    """Each figure over each parameter: lowest, mean and highest over all else that varies."""
    text = ""
    for figure in names:
        having = [row for row in rows if _has(row, figure)]
        for name in varied:
            groups = [
                (value, [row[figure] for row in having if row.get(name) == value])
                for value in _values(rows, name)
            ]
            groups = [(value, found) for value, found in groups if found]
            if len(groups) < 2 or len(groups) > MAX_CELLS:
                continue
            numbers = all(_order(value)[0] == 0 for value, _ in groups)
            x = [value if numbers else cell_text(value) for value, _ in groups]
            series = [
                Series("lowest", x, [min(found) for _, found in groups]),
                Series("mean", x, [sum(found) / len(found) for _, found in groups]),
                Series("highest", x, [max(found) for _, found in groups]),
            ]
            alike = all(line.y == series[0].y for line in series)
            title = f"{short(figure)} by {short(name)}"
            drawn = Figure(
                title,
                short(name),
                short(figure),
                [Series(short(figure), x, series[0].y)] if alike else series,
            )
            text += html.figure(drawn)
    return text


def _has(row: dict[str, Any], name: str) -> bool:
    return isinstance(row.get(name), int | float)


def _parallel(rows: Rows, best: Sequence[bool], names: Sequence[str]) -> str:
    """A line for each point through its parameters and figures, the best ones on top."""
    if len(names) < 4:
        return ""
    scales = {}
    for name in names:
        values = [value for value in _values(rows, name) if value is not None]
        if all(_order(value)[0] == 0 for value in values):
            low, high = _ends(values)
            scales[name] = {v: (v - low) / (high - low) for v in values}
        else:
            scales[name] = {v: n / max(len(values) - 1, 1) for n, v in enumerate(values)}
    step = (WIDTH - 2 * MARGIN) / (len(names) - 1)
    lines = {False: "", True: ""}
    kept = [
        (row, is_best)
        for row, is_best in zip(rows, best, strict=True)
        if all(row.get(name) is not None for name in names)
    ]
    for row, is_best in kept[:MAX_LINES]:
        places = " ".join(
            f"{MARGIN + n * step:.1f},{HEIGHT - 50 - scales[name][row[name]] * (HEIGHT - 80):.1f}"
            for n, name in enumerate(names)
        )
        kind = "thin best c1" if is_best else "thin c0"
        lines[is_best] += f'<polyline class="{kind}" points="{places}"/>'
    axes = ""
    for n, name in enumerate(names):
        x = MARGIN + n * step
        found = list(scales[name])
        axes += f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="30" y2="{HEIGHT - 50}"/>'
        axes += _label(x, 22, cell_text(found[-1]), "middle")
        axes += _label(x, HEIGHT - 34, cell_text(found[0]), "middle")
        axes += _label(x, HEIGHT - 18 + 14 * (n % 2), short(name), "middle")
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="A line for each '
        f'experiment through its parameters and figures">{axes}{lines[False]}{lines[True]}</svg>'
        "</figure>"
    )


def _points(rows: Rows, varied: Sequence[str], names: Sequence[str]) -> str:
    failed = ["error"] if any(row.get("error") for row in rows) else []
    warned = ["warnings"] if any(row.get("warnings") for row in rows) else []
    columns = [*varied, *names, *warned, *failed]
    body = [[cell_text(row.get(name)) for name in columns] for row in rows[:MAX_ROWS]]
    more = f"the first {MAX_ROWS} of {len(rows):,}" if len(rows) > MAX_ROWS else ""
    return html.table([short(name) for name in columns], body, more)
