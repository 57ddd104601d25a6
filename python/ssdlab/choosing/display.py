"""Terminal output for choosing a drive."""

from __future__ import annotations

from dataclasses import replace
from typing import IO

from rich.console import RenderableType
from rich.text import Text

from ssdlab.choosing import Choice, Offer
from ssdlab.sizing import life_of
from ssdlab.sizing.display import goals_text
from ssdlab.terminal import Columns, console_for, rendered, warning_lines
from ssdlab.under_load import life_text as life
from ssdlab.units import decimal_size, dollars, duration


def choice(found: Choice, file: IO[str]) -> str:
    """The choice as text for `file`."""
    console, _ = console_for(file)
    head = Text(f"Drives under {found.load.name}", style="bold")
    need = "".join(f", {amount:g} {name.upper()}" for name, amount in found.need.amounts.items())
    head.append(
        f"\n{goals_text([replace(it, if_known=False) for it in found.goals])}{need}", style="dim"
    )
    sections: list[RenderableType] = [head]
    if (stated := warning_lines(list(found.notes))) is not None:
        sections.append(stated)
    if not found.is_whole:
        sections.append(Text("Partial: not all drives were tried.", style="yellow"))
    sections += [_answer(found), _table(found)]
    if failing := [it for it in found.offers if not it.meets]:
        sections.append(Text("\n".join(["Why not:", *(f"  {_why(it)}" for it in failing)])))
    sections.append(Text("\n".join([*prepared(found), *prices(found), *NOTES]), style="dim"))
    text = rendered(console, sections)
    if found.command is not None:  # one line, to copy
        text += f"\nThe same by itself:\n{found.command}\n"
    return text


def _answer(found: Choice) -> Text:
    best = found.best
    if best is None:
        return Text("No drive of these meets the goals.", style="bold red")
    count = "" if best.drives == 1 else f"{best.drives} x "
    cost = "no price is known" if best.dollars is None else dollars(best.dollars)
    return Text(f"Cheapest: {count}{best.drive}, {cost}", style="bold green")


def _why(offer: Offer) -> str:
    count = "" if offer.drives <= 1 else f"{offer.drives} x "
    return f"{count}{offer.drive}: {offer.why}"


def _table(found: Choice) -> Columns:
    names = ["drive", "drives", "capacity", "p99", "life", "watts", "dollars", ""]
    table = Columns(names, keys=2, left=["drive"])
    for offer in found.offers:
        trial, watts = offer.trial, offer.all_watts
        cost = "?" if offer.dollars is None else dollars(offer.dollars)
        table.add_row(
            offer.drive,
            f"{offer.drives}" if trial is not None else "-",
            "" if trial is None else decimal_size(trial.capacity_bytes),
            "" if trial is None else duration(trial.known("p99_us")),
            _lasts(offer),
            "" if watts is None else f"{watts:.1f}",
            "" if trial is None else f"{cost}{'*' if offer.is_assumed else ''}",
            "meets" if offer.meets else "fails",
        )
    return table


def _lasts(offer: Offer) -> str:
    if offer.trial is None:
        return ""
    years, is_rated = offer.life
    lasts = life_of(offer.trial) if years is None else life(years)
    lasts = lasts.replace("more than", ">")
    return f"{lasts}{' (rated)' if is_rated else ''}"


def prepared(found: Choice) -> list[str]:
    """Preparations of the drives, where they differ: rows of unequal wear stand side by side."""
    ways: dict[str, list[str]] = {}
    for offer in found.offers:
        for said in offer.how:
            if said.startswith(PREPARED):
                ways.setdefault(said.removeprefix(PREPARED), []).append(offer.drive)
    if len(ways) < 2:
        return []
    each = sorted(ways.items(), key=lambda it: len(it[1]))
    lines = [f"{', '.join(drives)} {way}" for way, drives in each[:-1]]
    return [f"Preconditioned unlike the others ({each[-1][0].rstrip('.')}): {it}" for it in lines]


def prices(found: Choice) -> list[str]:
    """Dates of the prices, and the price changes that would change the answer."""
    lines = []
    if any(it.is_assumed and it.price is not None for it in found.offers):
        lines.append("*: an assumed street price; --price or --catalogue gives yours.")
    if when := found.priced():
        lines.append(f"Prices of the catalogue are of {', '.join(when)}.")
    if moves := found.moves()[:2]:
        each = [f"{it.drive} {dollars(it.dollars)} ({100 * it.change:+.0f} %)" for it in moves]
        lines.append(f"Another drive would be cheapest at {' or '.join(each)} a drive.")
    return lines


#: Begin of the sentence on the preparation of a drive.
PREPARED = "Preconditioned: "
NOTES = (
    "life: of the flash under this trace around the clock; (rated): too few erasures were seen, or "
    "all of few blocks, so by the rated drive writes of its sheet; at least: by arithmetic.",
    "watts: between idle and active by how busy the dies are; `ssdlab catalogue show` has their "
    "sources.",
)
