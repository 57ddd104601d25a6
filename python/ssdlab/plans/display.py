"""Terminal output of plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from rich.text import Text

from ssdlab import under_load
from ssdlab.plans.growth import Fleet, Plan
from ssdlab.plans.schemes import STATES, Protection, Scheme
from ssdlab.plans.tenants import Consolidation
from ssdlab.sizing.display import goals_text
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.under_load import Figure
from ssdlab.units import decimal_size, dollars, duration, significant


@dataclass(frozen=True)
class Answer:
    """A plan in words and cells, for the terminal and for a page."""

    title: str
    #: The question, a line each.
    asked: Sequence[str]
    answer: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Lines below the table, and explanations of its cells.
    below: Sequence[str]
    notes: Sequence[str]


def text(it: Answer, file: IO[str]) -> str:
    """The answer as text for `file`."""
    console, _ = console_for(file)
    head = Text(it.title, style="bold")
    head.append("\n" + "\n".join(it.asked), style="dim")
    table = Columns([*it.heads], keys=1, left=[it.heads[0], "drives by year"])
    for row in it.rows:
        table.add_row(*row)
    lines = [("bold", it.answer), ("", it.below), ("dim", it.notes)]
    first, *others = [Text("\n".join(said), style=style) for style, said in lines if said]
    return rendered(console, [head, first, table, *others])


def plan(found: Plan) -> Answer:
    """The plan: a row for each drive, then what breaks when."""
    goals = goals_text(found.asked.goals) if found.asked.goals else "Goals: none"
    notes = ["*: an assumed street price; --price or --catalogue gives yours."]
    if any(not it.is_life_known and not it.fails for it in found.fleets):
        notes.append("Where the life is not known no drive is replaced: see --json.")
    return Answer(
        f"{found.years} years of {found.asked.load.name}",
        [
            f"{goals}; {found.asked.gigabytes:,.0f} GB, data {100 * found.growth:+g} % and load "
            f"{100 * found.load_growth:+g} % a year"
        ],
        [_best(found)],
        ["drive", "drives by year", "bought", "last p99", "watts", "dollars"],
        [*map(_fleet, found.fleets)],
        [line for it in found.fleets for line in _broken(it)],
        notes,
    )


def _best(found: Plan) -> str:
    best = found.best
    if best is None:
        return "No drive of these meets the targets in all years."
    cost = "no price is known" if best.dollars is None else dollars(best.dollars)
    return f"Cheapest: {best.bought} x {best.drive} over the years, {cost}"


def _fleet(it: Fleet) -> list[str]:
    last = it.years[-1].offer if it.years else None
    watts = None if last is None else last.all_watts
    p99 = None if last is None or last.trial is None else last.trial.known("p99_us")
    return [
        it.drive,
        " ".join(str(year.drives) for year in it.years) + (" fails" if it.fails else ""),
        str(it.bought),
        "" if p99 is None else duration(p99),
        "" if watts is None else f"{watts:.1f}",
        "?" if it.dollars is None else f"{dollars(it.dollars)}{'*' if it.is_assumed else ''}",
    ]


def _broken(it: Fleet) -> list[str]:
    lines = [
        f"{it.drive}, year {year.number}: {year.breaks}; {year.bought} more"
        for year in it.years
        if year.breaks
    ]
    if it.fails:
        lines.append(f"{it.drive}, year {len(it.years) + 1}: no number suffices: {it.fails}")
    return lines


def consolidation(found: Consolidation) -> Answer:
    """The tenants in each arrangement, and the remedies."""
    names = [f"{number}: {it}" for number, it in enumerate(found.tenants, start=1)]
    rows = [
        [
            row.name,
            *("-" if us is None else duration(us) for us in row.p99_us),
            "" if row.amplification is None else f"{row.amplification:.2f}",
            _life(row.life),
        ]
        for row in found.rows
    ]
    return Answer(
        f"{len(found.tenants)} tenants on {found.device}",
        names,
        found.sentences(),
        ["tenants", *(f"p99 of {n + 1}" for n in range(len(names))), "WA", "life"],
        rows,
        [],
        ["r: by the rated writes of its sheet; >=: by arithmetic; life around the clock."],
    )


def _life(found: Figure) -> str:
    """A lifetime in few letters: `r` by a rating, `>=` by arithmetic."""
    text = under_load.life_text(found.value).replace("more than", ">")
    if found.kind == under_load.BOUNDED:
        return f">= {text}"
    return f"{text} r" if found.kind == under_load.RATED else text


def protection(found: Protection) -> Answer:
    """The schemes in one table."""
    safest = min(found.rows, key=lambda it: it.losses_a_year)
    most = max(found.rows, key=lambda it: it.usable_bytes)
    return Answer(
        f"{found.members} x {found.device} under {found.load.name}",
        [
            f"A drive lives {found.times.life}; rebuilt at {found.rebuild_rate}; "
            f"price: {found.price.origin}"
        ],
        [
            f"Fewest losses: {safest.redundancy}, {safest.losses_a_year:.2g} a year; most room: "
            f"{most.redundancy}, {decimal_size(most.usable_bytes)}."
        ],
        ["scheme", "usable", *STATES, "rebuild", "losses a year", "$/TB"],
        [*map(_scheme, found.rows)],
        [f"Left out: {it}." for it in found.left_out],
        ["p99 of reads / writes by state; rebuild: hours without load."],
    )


def _scheme(it: Scheme) -> list[str]:
    def p99(state: str) -> str:
        found = it.states.get(state)
        if found is None:
            return "-"
        return f"{_us(found.read_p99_us)} / {_us(found.write_p99_us)}"

    return [
        it.redundancy,
        decimal_size(it.usable_bytes),
        *(p99(state) for state in STATES),
        "-" if it.rebuild_hours is None else f"{significant(it.rebuild_hours, 3)} h",
        f"{it.losses_a_year:.2g}",
        "?" if it.dollars_per_tb is None else dollars(it.dollars_per_tb),
    ]


def _us(found: Figure) -> str:
    return "-" if found.value is None else duration(found.value)
