"""What `ssdlab why` prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import IO

from rich.console import RenderableType
from rich.text import Text

from ssdlab import readable
from ssdlab.terminal import Columns, console_for, continued, rendered
from ssdlab.why import Row, Why, intervals
from ssdlab.why.changes import Change
from ssdlab.why.intervals import Gain

#: The command that repeats a change.
Again = Callable[[Change], str]

STYLES = {
    intervals.HELPS: "green",
    intervals.TRADES: "yellow",
    intervals.HURTS: "red",
}
#: What is said of a verdict beside the numbers.
WORDS = {
    intervals.HELPS: "",
    intervals.TRADES: "at a price",
    intervals.UNKNOWN: "cannot tell",
    intervals.LITTLE: "hardly matters",
    intervals.NO_EFFECT: "no effect",
    intervals.HURTS: "do not",
}


def table(found: Why, file: IO[str], again: Again | None = None) -> str:
    """What was tried, as text for `file`; `again` says the command that repeats a change."""
    console, _ = console_for(file)
    sections: list[RenderableType] = [_headline(found), _sentence(found), _rows(found)]
    if found.left_out:
        lines = [f"{row.change.name}: {_first_line(row.reason)}" for row in found.left_out]
        sections.append(Text("Left out\n" + "\n".join(lines), style="dim"))
    text = rendered(console, sections)
    if again is not None and (shown := [it for it in found.rows if _is_worth(it)]):
        commands = [continued(again(row.change), console.width) for row in shown]
        heads = [f"# {row.change.name}" for row in shown]
        lines = [f"{head}\n{it}" for head, it in zip(heads, commands, strict=True)]
        text += "\n" + "\n".join(lines) + "\n"
    return text.replace(readable.THIN, " ")


def _is_worth(row: Row) -> bool:
    return row.verdict != intervals.NO_EFFECT


def _headline(found: Why) -> Text:
    metric = found.metric
    text = Text(found.title, style="bold")
    text.append(f"\n{metric.name} {metric.said(found.before)}", style="not bold")
    if metric.why:
        text.append(f" ({metric.why})", style="not bold dim")
    size = f"{readable.counted(found.plan.requests or 0, 'request')} a simulation"
    if found.plan.prepared:
        size += f", prepared by {found.plan.prepared}"
    text.append(
        f"\n{found.simulations} simulations of {size}; {found.cpu_seconds:.0f} s of processor "
        f"time in {found.wall_seconds:.0f} s",
        style="not bold dim",
    )
    return text


def _sentence(found: Why) -> Text:
    best = found.best
    if best is None or best.gain is None:
        return Text(f"Nothing helps within these {len(found.rows)} changes.")
    return Text(f"{best.change.name}: {found.metric.name} {effect(best, found.metric.maximize)}.")


def effect(row: Row, maximize: bool) -> str:
    """What a change does to the metric, with its interval.

    >>> from ssdlab.why.changes import Change
    >>> row = Row(Change("token pace", "settings"), Gain(math.log(10), 0.06, 6), "helps")
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
        around = f"±{thin}{100 * math.sinh(half):.0f}{thin}%" if half < 1 else "wide"
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
    metric = found.metric
    columns = Columns(["", metric.name, "change (95 %)", "seeds", ""], keys=1, left=("",))
    for row in found.rows:
        after = "" if row.after is None else metric.said(row.after)
        columns.add_row(
            Text(row.change.name),
            after,
            Text(effect(row, metric.maximize), style=STYLES.get(row.verdict, "")),
            str(row.gain.seeds if row.gain else 0),
            Text(_note(row), style=STYLES.get(row.verdict, "dim")),
        )
    return columns


def _note(row: Row) -> str:
    words = [WORDS[row.verdict]] if WORDS[row.verdict] else []
    for name, ratio in row.losses.items():
        change = f"÷{readable.THIN}{1 / ratio:.3g}" if ratio < 1 / 3 else (
            f"×{readable.THIN}{ratio:.3g}" if ratio > 3 else f"{_signed(100 * (ratio - 1))} %"
        )  # fmt: skip
        words.append(f"{name} {change}")
    return ", ".join(words)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
