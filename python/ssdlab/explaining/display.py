"""Output of `ssdlab why`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from ssdlab import readable
from ssdlab.explaining import intervals
from ssdlab.explaining.changes import SETTING
from ssdlab.terminal import console_for, continued, rendered
from ssdlab.units import dollars

if TYPE_CHECKING:
    from ssdlab.explaining import Row, Why

#: The command that repeats a change.
Again = Callable[[str], str]

STYLES = {
    intervals.HELPS: "green",
    intervals.TRADES: "yellow",
    intervals.HURTS: "red",
}
#: Widths of the first columns.
NAMES, EFFECTS = 36, 26
#: Half-width of an interval above which its ends are shown.
TIGHT = 0.3
#: Words of a verdict beside the numbers.
WORDS = {
    intervals.HELPS: "",
    intervals.TRADES: "at a price",
    intervals.FAILED: "not on fresh seeds",
    intervals.UNKNOWN: "cannot tell",
    intervals.EXCLUDED: "no gain",
    intervals.LITTLE: "hardly matters",
    intervals.NO_EFFECT: "no effect",
    intervals.DROPPED: "not pursued",
    intervals.HURTS: "do not",
}


def table(found: Why, file: IO[str], again: Again | None = None) -> str:
    """Tried changes, as text for `file`; `again` gives the command that repeats a change."""
    console, _ = console_for(file)
    sections: list[RenderableType] = [_headline(found), _sentence(found), _rows(found)]
    if found.left_out:
        lines = [f"{row.change.name}: {_clause(row.reason)}" for row in found.left_out]
        sections.append(Text("Left out\n" + "\n".join(lines), style="dim"))
    text = rendered(console, sections)
    if again is not None and found.rows:
        first = found.best or found.rows[0]
        text += "\nEach again with the whole run: its change as the second side, as in\n"
        text += f"{continued(again(first.change.side), console.width)}\n"
    return text.replace(readable.THIN, " ")


def _headline(found: Why) -> Text:
    metric = found.metric
    text = Text(found.title, style="bold")
    text.append(f"\n{metric.name} {metric.said(found.before)}", style="not bold")
    if metric.why:
        text.append(f" ({metric.why})", style="not bold dim")
    size = readable.counted(found.plan.requests or 0, "request")
    if found.plan.prepared:
        size += f" after {found.plan.prepared}"
    text.append(
        f"\n{found.simulations} simulations of {size}; {found.cpu_seconds:.0f} s of processor "
        f"time in {found.wall_seconds:.0f} s",
        style="not bold dim",
    )
    return text


def _sentence(found: Why) -> Text:
    best = found.best
    tried = f"{len(found.rows)} change{'' if len(found.rows) == 1 else 's'}"
    if best is None:
        return Text(f"Nothing helps: {tried} tried." if found.rows else "No change applies.")
    maximize = found.metric.maximize
    said = f"{found.metric.name} {effect(best, maximize)} by {best.change.name}"
    by_settings = next((it for it in found.helps if it.change.group == SETTING), None)
    if best.change.group != SETTING and by_settings is not None:
        said += f"; by settings alone {effect(by_settings, maximize)}: {by_settings.change.name}"
    return Text(f"{said}.")


def effect(row: Row, maximize: bool) -> str:
    """Effect of a change on the metric, with its interval.

    >>>     >>> row = Row(Change("token pace", "settings"), Gain(math.log(10), 0.06, 6), "helps")
    >>> effect(row, False).replace("\\u202f", " "), effect(row, True).replace("\\u202f", " ")
    ('÷ 10.0 (± 6 %)', '× 10.0 (± 6 %)')
    """
    if row.gain is None:
        return "-"
    logs = row.gain.mean if maximize else -row.gain.mean
    half = row.gain.half or 0.0
    thin = readable.THIN
    if abs(logs) >= math.log(3):
        sign, size = ("×", logs) if logs > 0 else ("÷", -logs)
        if row.gain.half is None:
            return f"{sign}{thin}{readable.grouped(math.exp(size))}"
        around = f"±{thin}{100 * math.sinh(half):.0f}{thin}%"
        if half > TIGHT:
            around = " to ".join(readable.grouped(math.exp(size + it)) for it in (-half, half))
        return f"{sign}{thin}{readable.grouped(math.exp(size))} ({around})"
    low, middle, high = (100 * math.expm1(logs + it) for it in (-half, 0, half))
    text = f"{_signed(middle)}{thin}%"
    digits = 0 if high - low >= 2 else 1
    if high - low < 0.05:
        return text
    return f"{text} ({_signed(low, digits)} to {_signed(high, digits)})"


def _signed(percent: float, digits: int | None = None) -> str:
    if digits is None:
        digits = 0 if abs(percent) >= 9.95 else 1
    text = f"{abs(percent):.{digits}f}"
    if float(text) == 0:
        return "0"
    return f"{'+' if percent > 0 else readable.MINUS}{text}"


def _rows(found: Why) -> RenderableType:
    """Two lines per change: its effect, then its assignments and side effects."""
    metric = found.metric
    text = Text(" " * (NAMES + EFFECTS - len(metric.name)) + metric.name, style="dim")
    for row in found.rows:
        style = STYLES.get(row.verdict, "")
        after = "" if row.after is None else metric.said(row.after)
        text.append(f"\n{row.change.name:<{NAMES}}", style="not dim")
        text.append(f"{effect(row, metric.maximize):>{EFFECTS}}", style=f"not dim {style}")
        text.append(f"{after:>12}", style="not dim")
        text.append(f"\n  {row.change.side}")
        if note := _note(row):
            text.append(f"  {note}", style=style or "dim")
    return text


def _note(row: Row) -> str:
    words = [WORDS[row.verdict]] if WORDS[row.verdict] else []
    if row.change.price is not None:
        words.append(dollars(row.change.price))
    for name, ratio in row.losses.items():
        factor, sign = (ratio, "×") if ratio > 1 else (1 / ratio, "÷")
        change = f"{sign}{readable.THIN}{readable.grouped(factor)}"
        words.append(f"{name} {change if factor > 3 else f'{_signed(100 * (ratio - 1))} %'}")
    return ", ".join(words)


def _clause(reason: str) -> str:
    """The reason in a rejection, without keys and remedies.

    >>> _clause("--set device.a=1: device.a = 1 with device.b: planes clean apart; use device.c")
    'planes clean apart'
    """
    return reason.partition("\n")[0].rpartition(": ")[2].partition(";")[0]
