"""Terminal output for traces: tables and character graphics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from ssdlab.charts import text
from ssdlab.results.records import Record
from ssdlab.terminal import console_for, fact_table, rendered, side_by_side
from ssdlab.trace import Progress, figures
from ssdlab.units import count, duration, size

#: Width of the bars of sizes.
BAR = 40
READ, OTHER = text.COLOURS


def info(name: str, found: Record, file: IO[str]) -> str:
    """Content of a trace as text for `file`: in colour for a terminal, else plain."""
    console, plain = console_for(file)
    sections = [
        _headline(name, found),
        side_by_side(_requests(found), _places(found), _times(found)),
        _map(found, console.width, plain),
        _sizes(found, plain),
        _working_set(found, plain),
        _notes(found),
    ]
    return rendered(console, [section for section in sections if section is not None])


def head(found: Record, file: IO[str]) -> str:
    """The first requests of a trace, each below its source line."""
    console, _ = console_for(file)
    unit = "line" if found.text else "record"
    lines: list[RenderableType] = []
    for row in found.requests:
        sectors = "1 sector" if row.sectors == 1 else f"{row.sectors:,} sectors"
        where = "" if row.op == "flush" else f" {sectors} at {row.sector:,}"
        fua = " (FUA)" if row.fua else ""
        what = Text(f"{row.op}{where}{fua}", style=READ if row.op == "read" else OTHER)
        at = f"{row.at_ns // 10**9}.{row.at_ns % 10**9:09} s"
        what.append(f"  device {row.device}, at {at}", style="default")
        raw = Text(row.raw.expandtabs() if found.text else "", style="dim")
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True, min_width=len(unit) + 7)
        table.add_column(overflow="fold")
        table.add_row(f"{unit} {row.number}", raw if found.text else what)
        if found.text:
            table.add_row("", what)
        lines.append(table)
    notes = [
        f"{title}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items())
        for title, counts in (("left out", found.skipped), ("changed", found.changed))
        if counts
    ]
    body: list[RenderableType] = [Group(Text(f"format {found.format}", style="bold"), *lines)]
    if notes:
        body.append(Text("\n".join(notes), style="yellow"))
    return rendered(console, body)


@contextmanager
def progress_bar(file: IO[str]) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on the terminal `file`; yields the function that updates it."""
    bars = Bars(
        SpinnerColumn(),
        TextColumn("reading"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[requests]} requests"),
        TimeRemainingColumn(compact=True),
        console=Console(file=file),
        transient=True,
    )
    task = bars.add_task("", total=None, requests="0")

    def move(now: Progress) -> None:
        expected = now.expected_bytes
        # A trace read in several passes exceeds its file's size.
        total = expected if expected is not None and now.bytes <= expected else None
        bars.update(task, completed=now.bytes, total=total, requests=count(now.requests))

    with bars:
        yield move


def _seconds(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 3 * length:
            return f"{seconds / length:.4g}{unit}"
    return duration(seconds * 1e6, 4)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _headline(name: str, found: Record) -> RenderableType:
    title = Text(name, style="bold")
    title.append(f"  {found.format}", style="default")
    devices = "1 device" if found.devices == 1 else f"{found.devices:,} devices"
    requests = "1 request" if found.requests == 1 else f"{found.requests:,} requests"
    facts = f"{requests} in {_seconds(found.duration_seconds)} to {devices}"
    return Group(title, Text(facts, style="dim"))


def _requests(found: Record) -> RenderableType:
    rows = [("reads", f"{found.reads:,}"), ("writes", f"{found.writes:,}")]
    for what in ("trims", "flushes", "fua"):
        if found[what]:
            rows.append((what, f"{found[what]:,}"))
    rows += [
        ("read share", _percent(found.read_share)),
        ("mean size", "-" if found.mean_bytes is None else size(found.mean_bytes)),
        ("read and written", size(found.total_bytes)),
    ]
    if found.trims:
        rows.append(("trimmed", size(found.trimmed_bytes)))
    return fact_table("Requests", rows)


def _places(found: Record) -> RenderableType:
    rows = [
        ("footprint", size(found.footprint_bytes)),
        ("span", size(found.span_bytes)),
        ("sequential", _percent(found.sequential_share)),
        ("misaligned", _percent(found.alignment.misaligned_share)),
    ]
    return fact_table("Places", rows)


def _times(found: Record) -> RenderableType:
    mean = found.rates.mean_requests_per_second
    variation = found.inter_arrival.variation
    rows = [
        ("requests/s", "-" if mean is None else f"{mean:,.4g}" if mean < 1e4 else count(mean)),
        ("busiest second", count(found.rates.peak_requests_per_second)),
        ("its throughput", f"{size(found.rates.peak_bytes_per_second)}/s"),
        ("burstiness", "-" if variation is None else f"{variation:.3g}"),
    ]
    return fact_table("Times", rows)


def _map(found: Record, width: int, plain: bool) -> RenderableType | None:
    """Address over time: number of requests as shade, most frequent kind as colour."""
    drawn = figures.density(found)
    if drawn.empty():
        return None
    title = Text(drawn.title, style="bold").append("  mostly ", style="dim")
    title.append("reads", style=READ).append(" or ", style="dim").append("others", style=OTHER)
    return Group(title, text.grid(drawn, width, plain, _seconds, _gibibytes))


def _gibibytes(number: float) -> str:
    return size(number * 2**30)


def _sizes(found: Record, plain: bool) -> RenderableType | None:
    if not found.requests:
        return None
    drawn = figures.sizes(found)
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True, min_width=text.LABEL)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    every = zip(drawn.x.words, drawn.values(), text.bars(drawn, BAR, plain), strict=True)
    for word, number, bar in every:
        table.add_row(word, _percent(number / found.requests), bar)
    return Group(Text(drawn.title, style="bold"), table)


def _working_set(found: Record, plain: bool) -> RenderableType | None:
    most = max(found.working_set.bytes, default=0)
    if not most:
        return None
    length = _seconds(found.working_set.bucket_seconds)
    title = Text("Working set", style="bold").append(
        f"  of every {length}, at most {size(most)}", style="dim"
    )
    steps = text.steps(figures.working_set(found), plain)
    return Group(title, Padding(steps, (0, 0, 0, text.LABEL + 2)))


def _notes(found: Record) -> RenderableType | None:
    notes = [] if found.requests else ["no request was read, or none is left by the options"]
    odd = found.oddities
    if found.backward_steps:
        largest = _seconds(odd.largest_backward_step_seconds)
        notes.append(f"{found.backward_steps:,} times step back (at most {largest}")
    if odd.duplicates:
        notes.append(f"{odd.duplicates:,} exact duplicates of the request before")
    if odd.beyond_device:
        share = _percent(odd.beyond_device / found.requests)
        notes.append(f"beyond the device: {odd.beyond_device:,} of the requests ({share})")
    mean = found.inter_arrival.mean_seconds
    if mean and odd.largest_gap_seconds > 1000 * mean and odd.largest_gap_seconds > 1:
        notes.append(f"longest gap between requests: {_seconds(odd.largest_gap_seconds)}")
    for title, counts in (("left out", found.skipped), ("changed", found.changed)):
        notes += [f"{title}: {count:,} {what}" for what, count in counts.items()]
    starts = found.alignment.starts_by_sector_in_page
    common = max(range(len(starts)), key=starts.__getitem__)
    if common and sum(starts):
        shift = len(starts) - common
        share = _percent(starts[common] / sum(starts))
        notes.append(f"workload.align_shift={shift} would align the starts of {share}")
    if not notes:
        return None
    return Text("\n".join(f"Note: {note}" for note in notes), style="yellow")
