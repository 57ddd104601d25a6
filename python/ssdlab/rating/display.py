"""Terminal output for an endurance rating."""

from __future__ import annotations

from typing import IO

from rich.console import Group, RenderableType
from rich.text import Text

from ssdlab.rating import FAILURES, Rating
from ssdlab.terminal import console_for, fact_table, rendered
from ssdlab.units import count, decimal_size

#: Maximum number of drives with a separate line.
MOST_LINES = 8


def rating(found: Rating, tried: float | None, file: IO[str]) -> str:
    """The rating as text for `file`: simulated, and in closed form."""
    console, _ = console_for(file)
    drives = len(found.lives)
    head = Text(f"{found.device} under {found.subject.workload}", style="bold")
    head.append(f"\nJESD218, class {found.of.name}: wear and retained capacity", style="dim")
    sections: list[RenderableType] = [head, _tables(found)]
    if drives > 1:
        sections.append(_lives(found))
    notes = [*_scaling(found)]
    if drives * FAILURES < 1:
        drives_are = "1 drive is" if drives == 1 else f"{drives} drives are"
        notes.append(
            f"Of fewer than 34 drives none may fail ({FAILURES:.0%}); {drives_are} written."
        )
    notes += [f"Not tested: {it}." for it in found.left_out()]
    sections.append(Text("\n".join(notes), style="dim"))
    if tried is not None:
        sections.append(_verdict(found, tried))
    return rendered(console, sections)


def _tables(found: Rating) -> Group:
    years = f"{found.subject.years:g} years"
    simulated, closed = found.tbw_bytes, found.closed_form_bytes
    difference = f" ({closed / simulated - 1:+.1%})" if simulated else ""
    rows = [
        ("TBW, simulated", decimal_size(simulated)),
        ("TBW, closed form", f"{decimal_size(closed)}{difference}"),
        ("drive writes", f"{simulated / found.capacity_bytes:,.0f}"),
        (f"a day, {years}", f"{found.per_day(simulated):.3g} drive writes"),
    ]
    life = found.life_years
    if life.value is not None:
        rows.append((f"life under the trace, {life.kind}", f"{life.value:.3g} years"))
    if (kept := found.retention) is not None:
        read = kept["read"]
        rows += [
            ("decided by", found.decided),
            (f"cycles that keep data {found.of.retention}", count(round(kept["cycles"]))),
            ("UBER at the rating / allowed",
             f"{kept['uber_at_rating']:.2g} / {kept['uber_allowed']:.0e}"),
            ("pages lost of the scaled drive", f"{read['lost']:,} of {read['pages']:,}"),
        ]  # fmt: skip
    if (failing := found.functional) is not None:
        rows.append(
            (f"drives that lose too many dies in {years}",
             f"{failing['failed_share']:.2%} of {failing['allowed']:.0%} that may fail")
        )  # fmt: skip
    form = [
        ("  physical", decimal_size(found.physical_bytes)),
        ("x rated P/E cycles", count(found.subject.rated)),
        ("x evenness", f"{found.evenness:.3f}"),
        ("/ write amplification", f"{found.amplification:.3f}"),
    ]
    return Group(fact_table("Rating", rows), Text(), fact_table("Closed form", form))


def _lives(found: Rating) -> Group:
    ends = sorted((found.written(life), life) for life in found.lives)
    visible = [(f"seed {life.seed}", decimal_size(written)) for written, life in ends[:MOST_LINES]]
    if len(ends) > MOST_LINES:
        visible.append(("the others, up to", decimal_size(ends[-1][0])))
    return Group(fact_table("Drives in order of failure", visible))


def _scaling(found: Rating) -> list[str]:
    lines = []
    if found.subject.scale > 1:
        lines.append(f"Simulated at 1/{found.subject.scale} scale (device.scale).")
    if found.uneven is not None:
        lines.append(
            f"{found.cycles} of {count(found.subject.rated)} erasures were simulated (--cycles). "
            f"Uneven wear is assumed to cost {found.uneven.share:.1%} of the erasures and "
            f"{found.uneven.by_chance:.2f} times their square root."
        )
    return lines


def _verdict(found: Rating, tried: float) -> Text:
    failed, drives = found.failed(tried), len(found.lives)
    passed = found.passes(tried)
    said = "passes" if passed else "fails"
    text = Text(f"{decimal_size(tried)} {said}", style="bold green" if passed else "bold red")
    text.append(f": {failed} of {drives} drives failed before that", style="default")
    return text.append(f" ({found.per_day(tried):.3g} drive writes a day)", style="default")
