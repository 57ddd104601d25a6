"""Terminal output of plans."""

from __future__ import annotations

from typing import IO

from rich.console import RenderableType
from rich.text import Text

from ssdlab import under_load
from ssdlab.plans.growth import Fleet, Plan
from ssdlab.plans.schemes import STATES, Protection, Scheme
from ssdlab.plans.tenants import Consolidation
from ssdlab.sizing.display import goals_text
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.under_load import Figure
from ssdlab.units import decimal_size, dollars, duration, significant


def plan(found: Plan, file: IO[str]) -> str:
    """The plan as text for `file`: a line for each drive, then what breaks when."""
    console, _ = console_for(file)
    head = Text(f"{found.years} years of {found.asked.load.name}", style="bold")
    goals = goals_text(found.asked.goals) if found.asked.goals else "Goals: none"
    head.append(
        f"\n{goals}; {found.asked.gigabytes:,.0f} GB, data {100 * found.growth:+g} % and load "
        f"{100 * found.load_growth:+g} % a year",
        style="dim",
    )
    table = Columns(["drive", "drives by year", "bought", "last p99", "watts", "dollars"], keys=1,
                    left=["drive", "drives by year"])  # fmt: skip
    for it in found.fleets:
        table.add_row(*_fleet(it))
    sections: list[RenderableType] = [head, _best(found), table]
    for it in found.fleets:
        if lines := _broken(it):
            sections.append(Text("\n".join(lines), style="dim" if it.fails else ""))
    notes = ["*: an assumed street price; --price or --catalogue gives yours."]
    if any(not it.is_life_known and not it.fails for it in found.fleets):
        notes.append("Where the life is not known no drive is replaced: see --json.")
    sections.append(Text("\n".join(notes), style="dim"))
    return rendered(console, sections)


def _best(found: Plan) -> Text:
    best = found.best
    if best is None:
        return Text("No drive of these meets the targets in all years.", style="bold red")
    cost = "no price is known" if best.dollars is None else dollars(best.dollars)
    return Text(f"Cheapest: {best.bought} x {best.drive} over the years, {cost}", style="bold")


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


def consolidation(found: Consolidation, file: IO[str]) -> str:
    """The tenants in each arrangement, and the remedies, as text for `file`."""
    console, _ = console_for(file)
    head = Text(f"{len(found.tenants)} tenants on {found.device}", style="bold")
    names = [f"{number}: {it}" for number, it in enumerate(found.tenants, start=1)]
    head.append("\n" + "\n".join(names), style="dim")
    table = Columns(["", *(f"p99 of {n + 1}" for n in range(len(names))), "WA", "life"], keys=1,
                    left=[""])  # fmt: skip
    for row in found.rows:
        table.add_row(
            row.name,
            *("-" if us is None else duration(us) for us in row.p99_us),
            "" if row.amplification is None else f"{row.amplification:.2f}",
            _life(row.life),
        )
    notes = "r: by the rated writes of its sheet; >=: by arithmetic; life around the clock."
    lines = "\n".join(found.sentences())
    return rendered(console, [head, table, Text(notes, style="dim"), Text(lines, style="bold")])


def _life(found: Figure) -> str:
    """A lifetime in few letters: `r` by a rating, `>=` by arithmetic."""
    text = under_load.life_text(found.value).replace("more than", ">")
    if found.kind == under_load.BOUNDED:
        return f">= {text}"
    return f"{text} r" if found.kind == under_load.RATED else text


def protection(found: Protection, file: IO[str]) -> str:
    """The schemes in one table, as text for `file`."""
    console, _ = console_for(file)
    head = Text(f"{found.members} x {found.device} under {found.load.name}", style="bold")
    head.append(
        f"\nA drive lives {found.times.life}; rebuilt at {found.rebuild_rate}; "
        f"price: {found.price.origin}",
        style="dim",
    )
    names = ["scheme", "usable", *STATES, "rebuild", "losses a year", "$/TB"]
    table = Columns(names, keys=1, left=["scheme"])
    for it in found.rows:
        table.add_row(*_scheme(it))
    notes = [f"Left out: {it}." for it in found.left_out]
    notes.append("p99 of reads / writes by state; rebuild: hours without load.")
    return rendered(console, [head, table, Text("\n".join(notes), style="dim")])


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
