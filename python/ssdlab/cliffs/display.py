"""Terminal output of a copy that may slow down."""

from __future__ import annotations

from typing import IO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.cliffs import Cliff
from ssdlab.terminal import console_for, rendered
from ssdlab.units import decimal_size, duration


def cliff(found: Cliff, within: float | None, file: IO[str]) -> str:
    """The answer as text for `file`: a sentence, the phases, and the cache recovered by a pause."""
    console, _ = console_for(file)
    sections: list[RenderableType] = [Text("\n".join(_sentences(found, within))), _table(found)]
    if found.scale > 1:
        part = f"Simulated at 1/{found.scale} scale (device.scale)."
        sections.append(Text(part, style="dim"))
    if found.coarse is not None:
        sections.append(Text(f"Coarse: {found.coarse}"))
    return rendered(console, sections)


def _sentences(found: Cliff, within: float | None) -> list[str]:
    first, *later = found.phases
    said = (
        f"{decimal_size(first.written_bytes)} at {_rate(first.bytes_per_s)} for "
        f"{_time(first.seconds)}"
    )
    for phase in later[:2]:
        said += f", then {_rate(phase.bytes_per_s)}"
    size = decimal_size(found.copy_bytes)
    sentences = [
        f"{found.device}, {found.fill:.0%} full: {said}.",
        f"A copy of {size} takes {_time(found.seconds)} ({_rate(found.bytes_per_s)}).",
    ]
    if found.pause_seconds is not None and found.recovered_bytes is not None:
        back = decimal_size(found.recovered_bytes) if found.recovered_bytes else "nothing"
        sentences.append(
            f"A pause of {_time(found.pause_seconds)} gives back {back} of the SLC cache."
        )
    if within is not None:
        kept = "is kept" if found.seconds <= within else "is missed"
        sentences.append(f"The limit of {_time(within)} {kept}.")
    return sentences


def _table(found: Cliff) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for _ in range(3):
        table.add_column(justify="right")
    table.add_column()
    table.add_row("written", "rate", "time", "why", style="bold")
    for phase in found.phases:
        size, rate = decimal_size(phase.written_bytes), _rate(phase.bytes_per_s)
        table.add_row(size, rate, _time(phase.seconds), phase.why)
    return Group(table)


def _rate(bytes_per_s: float) -> str:
    return f"{decimal_size(bytes_per_s)}/s"


def _time(seconds: float) -> str:
    if seconds < 120:
        return duration(seconds * 1e6)
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
