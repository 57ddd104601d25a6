"""Terminal output for expected data losses."""

from __future__ import annotations

from typing import IO

from rich.console import Group, RenderableType
from rich.text import Text

from ssdlab.numbers import size, study_number
from ssdlab.reliability import HOURS_OF_YEAR, Outlook
from ssdlab.terminal import console_for, fact_table, rendered

#: Losses are stated per this number of groups.
THOUSAND = 1000


def table(found: Outlook, file: IO[str]) -> str:
    """The outlook as text for `file`: what was assumed and lost, and the formula beside it."""
    console, _ = console_for(file)
    array, times = found.array, found.times
    head = Text(f"{array.name}: {array.redundancy}", style="bold")
    of = f"{array.groups} groups of " if array.groups > 1 else ""
    head.append(f"\n{of}{array.members} members of {size(array.member_bytes)}", style="dim")
    assumed = [
        ("member lifetime", times.life),
        ("repair time", times.repair),
        ("of two", "at once" if times.repairs_together else "one after the other"),
        ("time between defects", times.defects or "no defects"),
    ]
    if times.defects is not None:
        assumed.append(("scrub interval", times.scrub or "never"))
    sections: list[RenderableType] = [
        head,
        fact_table("Assumed", assumed),
        Group(fact_table(f"Per 1,000 groups in {found.years:g} years", _losses(found))),
    ]
    notes = [
        f"{found.groups:,} groups, seed {found.seed}; trials with failures "
        f"{study_number(found.found['faster'])} times as fast, each weighted by its likelihood.",
        f"Without trials {found.found['seen']:,} losses were seen in all of them.",
    ]
    if array.groups > 1:
        notes.append(f"Expected data losses of the array: {_few(found.of_array)}.")
    sections.append(Text("\n".join(notes), style="dim"))
    return rendered(console, sections)


def _losses(found: Outlook) -> list[tuple[str, str]]:
    it = found.found
    error = THOUSAND * it["losses_error"]
    rows = [
        ("member failures", _few(THOUSAND * it["member_failures"])),
        ("data losses", f"{_few(THOUSAND * it['losses'])} +- {_few(error)}"),
    ]
    if found.times.defects is not None:
        rows += [
            ("  members missing", _few(THOUSAND * it["by_members"])),
            ("  defects found too late", _few(THOUSAND * it["by_defects"])),
        ]
    rows += [
        ("bytes lost", size(THOUSAND * it["bytes"])),
        ("losses by the MTTDL formula", _few(THOUSAND * it["losses_by_mttdl"])),
        ("its MTTDL, years", f"{it['mttdl_hours'] / HOURS_OF_YEAR:,.4g}"),
        ("losses / formula", _few(found.over_mttdl)),
    ]
    return rows


def _few(number: float) -> str:
    return study_number(number) if number >= 1e-3 or number == 0 else f"{number:.3g}"
