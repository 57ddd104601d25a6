"""Terminal output for sizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich.console import RenderableType
from rich.text import Text

from ssdlab.sizing import Sizing, design, life_of
from ssdlab.sizing.trial import Goal, Trial
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.under_load import life_text as life
from ssdlab.units import decimal_size, duration


def sizing(found: Sizing, file: IO[str]) -> str:
    """The sizing as text for `file`."""
    console, _ = console_for(file)
    head = Text(f"{found.drive} under {found.load.name}", style="bold")
    head.append(f"\n{goals_text(found.goals)}", style="dim")
    sections: list[RenderableType] = [
        head,
        Text("\n".join(found.fit.words)),
        _answer(found),
        _table(found),
        Text("\n".join(NOTES), style="dim"),
    ]
    text = rendered(console, sections)
    if found.command is not None:  # one line, to copy
        text += f"\nThe same by itself:\n{found.command}\n"
    return text


def several(found: Sequence[Sizing], file: IO[str]) -> str:
    """The smallest designs of several drives, the one with the least flash first."""
    console, _ = console_for(file)
    head = Text(f"{len(found)} drives under {found[0].load.name}", style="bold")
    head.append(f"\n{goals_text(found[0].goals)}", style="dim")
    table = Columns(["drive", "drives", "spare", "flash", "p99", "life"], keys=1, left=["drive"])
    order = sorted((it.best.flash_bytes, it.drive, it.best) for it in found if it.best is not None)
    for flash, drive, best in order:
        table.add_row(
            drive,
            f"{best.design.drives}",
            f"{100 * best.over_provisioning:.0f} %",
            decimal_size(flash),
            duration(best.known("p99_us")),
            life_of(best).replace("more than", ">"),
        )
    failing = [it for it in found if it.best is None]
    sections: list[RenderableType] = [head, *([table] if order else [])]
    if failing:
        lines = (f"  {it.drive}: {it.because()}" for it in failing)
        sections.append(Text("\n".join(["No design of these meets the goals:", *lines])))
    return rendered(console, sections)


def goals_text(goals: Sequence[Goal]) -> str:
    """The goals in words."""
    stated = []
    for goal in goals:
        if goal.figure == "years":
            stated.append(f"lasts {goal.limit:g} years")
        else:
            stated.append(f"{goal.name} <= {duration(goal.limit)}")
    return "Goals: " + ", ".join(stated)


def _answer(found: Sizing) -> Text:
    if found.best is None:
        return Text(f"No design meets the goals: {found.because()}.", style="bold red")
    text = Text(f"Smallest: {_facts(found.best, found.years)}", style="bold green")
    if found.next_best is not None:
        after = f"\nNext best: {_facts(found.next_best, found.years)}"
        text.append(after, style="default not bold")
    return text


def _facts(trial: Trial, years: float) -> str:
    size = f"{decimal_size(trial.flash_bytes)} of flash for {decimal_size(trial.capacity_bytes)}"
    return f"{design(trial)}, {size}; {_lasts(trial, years)}"


def _lasts(trial: Trial, years: float) -> str:
    written, daily = trial.mean("tbw_bytes"), trial.writes_per_day(years)
    if not trial.writes:
        return "lifetime unlimited under this trace, which does not write"
    if written is None or daily is None:
        if trial.least_years is not None:
            return f"lifetime {life_of(trial)} under this trace, by arithmetic"
        return f"lifetime {trial.why_unknown()}"
    return (
        f"{decimal_size(written)} written, {daily:.2g} drive writes a day for {years:g} years; "
        f"lifetime {life(trial.mean('years'))} under this trace"
    )


def _table(found: Sizing) -> Columns:
    table = Columns(["drives", "spare", "flash", "p99", "p99.9", "WA", "TBW", "life", ""], keys=2)
    for trial in found.trials:
        margin = trial.margin("p99_us")
        written = trial.mean("tbw_bytes")
        around = f" ± {duration(margin, 2)}" if margin else ""
        stored = trial.verdict(found.goals)
        table.add_row(
            f"{trial.design.drives}",
            f"{100 * trial.over_provisioning:.0f} %",
            decimal_size(trial.flash_bytes),
            f"{duration(trial.known('p99_us'))}{around}",
            duration(trial.known("p999_us")),
            f"{trial.known('amplification'):.2f}",
            "" if written is None else decimal_size(written),
            life_of(trial).replace("more than", ">"),
            {True: "meets", False: "fails", None: "cannot tell"}[stored],
        )
    return table


NOTES = (
    "p99: mean and 95 % confidence interval over seeds; one seed where that is decisive.",
    "WA: write amplification of the trace if it writes 5 % of the drive, else of the random "
    "writes before it.",
    "TBW, life: estimated from the erasures of the run; at the write rate of the trace, around the "
    "clock.",
)
