"""Terminal output for expected data losses."""

from __future__ import annotations

from typing import IO

from rich.console import Group, RenderableType
from rich.text import Text

from ssdlab.reliability import HOURS_OF_YEAR, Outlook
from ssdlab.reliability.drives import Fleet
from ssdlab.terminal import console_for, fact_table, rendered
from ssdlab.units import size, study_number

#: Losses are stated per this number of groups.
THOUSAND = 1000


def table(found: Outlook, file: IO[str]) -> str:
    """The outlook as text for `file`: assumptions, losses, and the MTTDL formula."""
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


def fleet(found: Fleet, file: IO[str]) -> str:
    """Outcome of a fleet of drives, as text for `file`."""
    console, _ = console_for(file)
    it, forms = found.found, found.found["closed_forms"]
    head = Text(f"{found.device}: {found.drives:,} drives, {found.years:g} years", style="bold")
    parity = "parity over the dies" if it["parity"] else "no parity over the dies"
    head.append(f"\n{it['dies']} dies of {it['blocks_of_a_die']:,} blocks, {parity}", style="dim")
    if not forms["failed_by_dies"]:
        head.append(
            "\nno failure rate of dies is given (device.spares): 0 % says nothing of a real drive",
            style="bold",
        )
    bad, errors = it["bad_blocks"], it["media_errors"]
    fails = [
        ("annual failure rate (AFR)", f"{100 * it['afr']:.3g} %"),
        ("drives that failed", f"{100 * it['failed_share']:.3g} %"),
        ("  expected, by dies", f"{100 * forms['failed_by_dies']:.3g} %"),
        ("drives with a lost die", f"{100 * it['with_lost_die']:.3g} %"),
        ("  expected", f"{100 * forms['with_lost_die']:.3g} %"),
    ]
    blocks = [
        ("drives with any", f"{100 * bad['drives_with']:.3g} %"),
        ("of these, median", "-" if bad["median"] is None else f"{bad['median']:,}"),
        ("of these, mean", "-" if bad["mean"] is None else study_number(bad["mean"])),
    ]
    media = [
        ("drives with any", f"{100 * errors['drives_with']:.3g} %"),
        ("  expected", f"{100 * forms['with_defects']:.3g} %"),
        ("in 1,000 drive days", study_number(errors["per_thousand_days"])),
        ("reach the host", "yes" if errors["reach_the_host"] else "no: parity brings them back"),
    ]
    wear = [
        ("drive writes a day", f"{found.writes_per_day:g}"),
        ("rated P/E cycles used", f"{100 * found.wear:.3g} %"),
    ]
    agree = "agree" if found.agrees else "DISAGREE"
    sections: list[RenderableType] = [
        head,
        fact_table("Failures", fails),
        fact_table("Bad blocks", blocks),
        fact_table("Defects", media),
        fact_table("Wear at the end", wear),
        Text(
            f"Seed {found.seed}; simulated shares and closed forms {agree}. A drive fails when it "
            "has lost more dies than parity bears, or too many pages (device.health).",
            style="dim",
        ),
    ]
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
