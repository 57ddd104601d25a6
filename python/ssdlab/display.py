"""What a person sees of a run: the progress bar and the table of results.

Only this module needs rich, and only who shows something imports it: `ssdlab --help` and runs for a
script start without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import IO, Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from ssdlab import counters
from ssdlab.api import Progress
from ssdlab.comparison import Comparison
from ssdlab.paper.item import Figure, Item
from ssdlab.results import Record, Results
from ssdlab.sweeps.result import Sweep, cell_text

# The parts of a response time in the order in which a request meets them: label, the glyph that
# tells them apart without colour, its substitute where there is only ASCII, and the colour.
PARTS = {
    "host_queue": ("waiting for the host queue", "░", ".", "bright_black"),
    "host_link": ("on the host link", "─", "-", "blue"),
    "unit_wait": ("waiting for a busy unit", "▒", ":", "yellow"),
    "cleaning_wait": ("waiting for cleaning", "▓", "%", "red"),
    "bus": ("on the bus", "═", "=", "cyan"),
    "cell": ("in the flash cells", "█", "#", "green"),
}
MAX_WIDTH = 100
BUSIEST_UNITS = 5
UNIT_BAR = 30


def results_table(results: Results, file: IO[str]) -> str:
    """The table of `results` as text for `file`: in colour for a terminal, else plain.

    It fits in 80 columns.
    """
    console, plain = _console(file)
    sections = [
        _headline(results),
        _latencies(results.host),
        _failures(results.host),
        _breakdown(results.host, console.width, plain),
        _side_by_side(_flash(results), _wear(results)),
        _units(results.get("units") or [], plain),
        _notices(results),
        _warnings(results.warning_messages()),
        _steady_state(results),
        _clock(results),
    ]
    return _text(console, [section for section in sections if section is not None])


def catalogue_table(catalogue: Mapping[str, Mapping[str, str]], file: IO[str]) -> str:
    """One table for each category, names and summaries, as text for `file`."""
    sections: list[RenderableType] = []
    for category, entries in catalogue.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for name, summary in entries.items():
            table.add_row(Text(name), Text(summary))
        sections.append(Group(Text(category, style="bold"), Padding(table, (0, 0, 0, 2))))
    console, _ = _console(file)
    return _text(console, sections)


def _console(file: IO[str]) -> tuple[Console, bool]:
    """A console that writes nothing and draws for `file`, and whether that takes only ASCII."""
    model = Console(file=file)
    colours: Any = model.color_system
    console = Console(
        file=StringIO(),
        width=min(model.width, MAX_WIDTH),
        color_system=colours,
        force_terminal=model.is_terminal,
        highlight=False,
    )
    return console, model.options.ascii_only


def _text(console: Console, sections: list[RenderableType]) -> str:
    """The sections with an empty line between them, without the blanks that rich fills up with."""
    texts = []
    for section in sections:
        with console.capture() as capture:
            console.print(section)
        texts.append("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
    return "\n".join(texts)


@contextmanager
def steps(
    file: IO[str], what: str, quiet: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on `file`, if it is a terminal; it is told the steps done and to do."""
    if quiet or not file.isatty():
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), _Share())
    with Bars(*columns, TimeRemainingColumn(), console=Console(file=file), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, expected: bars.update(task, completed=done, total=expected)


def sweep_table(sweep: Sweep, file: IO[str]) -> str:
    """The points of a sweep as text for `file`: parameters and what matters most of the results."""
    names, rows = sweep.shown()
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for name in names:
        words = name.removeprefix("host.").removeprefix("device.").replace("percentiles_us.", "p")
        table.add_column(words, justify="left" if name == "error" else "right", header_style="dim")
    marks = sweep.warning_marks()
    if marks:
        names.append("warnings")
        table.add_column("!", header_style="dim")
    for row in rows:
        cells = {name: cell_text(sweep.columns[name][row]) for name in names}
        if marks:  # said below the table
            cells["warnings"] = " ".join(str(marks[name][0]) for name in sweep.warned(row))
        if cells.get("error"):  # said below the table
            cells["error"] = "failed"
        table.add_row(*map(Text, cells.values()))
    title = Text(f"{len(sweep):,} points", style="bold")
    if len(rows) < len(sweep):
        title.append(f", {len(rows)} of them here; --out keeps all", style="dim")
    console, _ = _console(file)
    warned = [
        f"! {mark}  {name}, {points:,} of {len(sweep):,} points: {summary}"
        for name, (mark, points, summary) in marks.items()
    ]
    said = [Text("\n".join(warned), style="yellow")] if warned else []
    return _text(console, [title, table, *said])


def compare_table(found: Comparison, file: IO[str]) -> str:
    """A comparison as text for `file`: what was changed, and what that did."""
    console, _ = _console(file)
    head = Text(f"A  {found.a}\nB  {found.b}", style="bold")
    if found.repeat > 1:
        head.append(f"\neach {found.repeat} times; mean and interval of 95 %", style="dim")
    changes = Table.grid(padding=(0, 2))
    for key, (left, right) in found.changed.items():
        changes.add_row(
            key, "-" if left is None else str(left), "-" if right is None else f"{right}"
        )
    rows = Table(box=None, padding=(0, 1), pad_edge=False)
    rows.add_column("")
    for name in "A", "B", "B - A", "":
        rows.add_column(name, justify="right", header_style="dim", no_wrap=True)
    for row in found.shown():
        percent = row.difference_percent
        difference = "" if percent is None else f"{percent:+.2f}%"
        if row.difference_margin is not None and row.a:
            difference += f" ± {100 * row.difference_margin / abs(row.a):.2f}%"
        note = "" if row.significant is None else "differs" if row.significant else "within chance"
        rows.add_row(
            row.name.removeprefix("host.").replace("percentiles_us.", "p"),
            _with_margin(row.a, row.a_margin),
            _with_margin(row.b, row.b_margin),
            difference,
            Text(note, style="bold" if row.significant else "dim"),
        )
    messages = [f"{side} {it}" for side, said in found.warnings.items() for it in said]
    warned = [it for it in [_warnings(messages)] if it is not None]
    return _text(console, [head, *([changes] if found.changed else []), rows, *warned])


def _with_margin(value: float, margin: float | None) -> str:
    text = f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.0f}"
    return text if margin is None else f"{text} ± {margin:.2g}"


def item_table(item: Item, file: IO[str]) -> str:
    """An item of a study as text for `file`: rows that compare, then the series of its figures."""
    console, _ = _console(file)
    verdicts = {"pass": "green", "fail": "bold red", "info": "dim"}
    rows = Table(box=None, padding=(0, 1), pad_edge=False)
    rows.add_column("")
    for name in "published", "simulated", "diff.", "tol.", "":
        rows.add_column(name, justify="right", header_style="dim", no_wrap=True)
    notes = list(dict.fromkeys(row.note for row in item.rows if row.note))
    for row in item.rows:
        difference, tolerance = row.difference_percent, row.tolerance_percent
        label = Text(row.name)
        if row.note:
            label.append(f" [{notes.index(row.note) + 1}]", style="dim")
        rows.add_row(
            label,
            "" if row.published is None else figure(row.published),
            figure(row.simulated),
            "" if difference is None else f"{difference:+.1f}%",
            "" if tolerance is None else f"{tolerance:g}%",
            Text(row.verdict, style=verdicts[row.verdict]),
        )
    sections: list[RenderableType] = [Text(item.title, style="bold"), rows]
    if notes:
        lines = (f"[{number}] {note}" for number, note in enumerate(notes, start=1))
        sections.append(Text("\n".join(lines), style="dim"))
    sections += [_series_table(drawn) for drawn in item.figures]
    sections += [Text(f"Note: {remark}", style="yellow") for remark in item.remarks]
    return _text(console, sections)


def _series_table(drawn: Figure) -> RenderableType:
    """The series of a figure side by side, with what their short names stand for."""
    table = Table(box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    names = _short_names([line.name for line in drawn.series])
    for name in names:
        table.add_column(name, justify="right", header_style="dim", no_wrap=True)
    values = [dict(zip(line.x, line.y, strict=True)) for line in drawn.series]
    for x in drawn.all_x():
        cells = (_short(line[x]) if x in line else "" for line in values)
        table.add_row(x if isinstance(x, str) else f"{x:g}", *cells)
    title = Text(f"{drawn.title} ({drawn.y_label}) by {drawn.x_label}", style="bold")
    legend = [
        f"{name} {line.name}"
        for name, line in zip(names, drawn.series, strict=True)
        if name != line.name
    ]
    return Group(title, table, *([Text("; ".join(legend), style="dim")] if legend else []))


def _short_names(names: list[str]) -> list[str]:
    """Names that fit a narrow column: where there are many, "sequential read, 4 out" is "sr4"."""
    if sum(map(len, names)) <= 60:
        return names
    shorter = []
    for name in names:
        words, _, rest = name.partition(", ")
        shorter.append("".join(word[0] for word in words.split()) + rest.split(" ")[0])
    return shorter if len(set(shorter)) == len(names) else names


def figure(number: float) -> str:
    """A number of a study: whole if it is large, else with four significant digits."""
    if abs(number) >= 1000 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.4g}"


def _short(number: float) -> str:
    """A number in at most five characters."""
    for limit, scale, unit in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M")):
        if number < limit:
            return f"{number / scale:.3g}{unit}"
    return f"{number:.1e}"


@contextmanager
def progress_bar(file: IO[str]) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on the terminal `file`; calling what it yields moves it."""
    bars = Bars(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        _Share(),
        _Rate(),
        TextColumn("{task.fields[simulated]}"),
        TimeRemainingColumn(compact=True),
        console=Console(file=file),
        transient=True,
    )
    task = None
    phase = None

    def move(now: Progress) -> None:
        nonlocal task, phase
        if task is None or now.phase != phase:
            if task is not None:
                bars.remove_task(task)
            task = bars.add_task(now.phase, total=now.expected, simulated="")
            phase = now.phase
        simulated = f"{duration(now.simulated_seconds * 1e6)} simulated"
        bars.update(task, completed=now.done, total=now.expected, simulated=simulated)

    with bars:
        yield move


class _Share(ProgressColumn):
    """The share done, or the count where the end is not known."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(f"{task.completed:,.0f}")
        return Text(f"{task.percentage:3.0f}%")


class _Rate(ProgressColumn):
    """Requests per second of wall time."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{count(task.speed)}/s")


def duration(us: float, digits: int = 3) -> str:
    """A time of `us` microseconds in the unit that suits it, to `digits` significant digits.

    >>> duration(130.6), duration(130.6, 4), duration(1532.9), duration(0), duration(9999.9)
    ('131us', '130.6us', '1.53ms', '0us', '10.0ms')
    """
    if us == 0:
        return "0us"
    for unit, size in (("ns", 1e-3), ("us", 1.0), ("ms", 1e3)):
        text = _significant(us / size, digits)
        if float(text) < 1000:
            return text + unit
    return _significant(us / 1e6, digits) + "s"


def count(number: float) -> str:
    """A large number, short: exact below a hundred million.

    >>> count(61255.1), count(5704304), count(123456789)
    ('61,255', '5,704,304', '123.5M')
    """
    for limit, size, unit in ((1e8, 1, ""), (1e11, 1e6, "M"), (1e14, 1e9, "G")):
        if number < limit:
            return f"{number / size:,.0f}" if size == 1 else f"{number / size:,.1f}{unit}"
    return f"{number:.3g}"


def _significant(value: float, digits: int) -> str:
    """`value` to `digits` significant digits, with all digits before the point.

    >>> _significant(130.62, 3), _significant(1.5329, 3), _significant(99.96, 3)
    ('131', '1.53', '100')
    """
    before = len(str(int(float(f"{value:.{digits - 1}e}"))))  # after rounding: 99.96 has three
    return f"{value:.{max(digits - before, 0)}f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _headline(results: Results) -> RenderableType:
    elapsed = results.elapsed
    title = Text("ssdlab", style="bold")
    title.append(f"  {results.experiment.title}")
    facts = (
        f"{results.host.all.requests:,} requests in {duration(results.simulated_seconds * 1e6, 4)} "
        f"of simulated time; took {duration(elapsed.wall_seconds * 1e6)}, "
        f"{count(elapsed.requests_per_second)} requests/s"
    )
    return Group(title, Text(facts, style="dim"))


def _latencies(host: Record) -> RenderableType | None:
    kinds = [(kind, host[kind]) for kind in ("read", "write", "trim", "flush") if kind in host]
    kinds = [(kind, it) for kind, it in kinds if it.requests]
    if not kinds:
        return None
    if len(kinds) > 1:  # with one kind, "all" would repeat it
        kinds.append(("all", host.all))
    table = Table(box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("", style="bold", no_wrap=True)
    for name in "requests", "IOPS", "MB/s", "mean", "p50", "p95", "p99", "p99.9", "max":
        table.add_column(name, justify="right", no_wrap=True, header_style="dim")
    for kind, it in kinds:
        p = it.percentiles_us
        times = [p["50"], p["95"], p["99"], p["99.9"], it.max_us]
        table.add_row(
            kind,
            count(it.requests),
            count(it.iops or 0),
            _significant(it.mb_per_s or 0, 4),
            Text(duration(it.mean_us, 4), style="bold"),
            *map(duration, times),
        )
    return table


def _failures(host: Record) -> RenderableType | None:
    """What the device refused, of which the latencies above say nothing."""
    kinds = [
        f"{count(host[kind].failed)} {kind}{'s' if host[kind].failed > 1 else ''}"
        for kind in ("read", "write", "trim", "flush")
        if kind in host and host[kind].get("failed")
    ]
    if not kinds:
        return None
    text = f"Refused: {', '.join(kinds)}: the drive has ended and takes no more writes"
    return Text(text, style="bold red")


def _breakdown(host: Record, width: int, plain: bool) -> RenderableType | None:
    measured = host.all.get("breakdown_us", {})
    keys = sorted(measured, key=lambda key: list(PARTS).index(key) if key in PARTS else len(PARTS))
    parts = {key: measured[key] for key in keys if measured[key]}
    total = sum(parts.values())
    if not total:
        return None
    bar = Text()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for (key, us), cells in zip(parts.items(), _shares(list(parts.values()), width), strict=True):
        label, glyph, substitute, colour = PARTS.get(key, (key, "▪", "?", "magenta"))
        glyph = substitute if plain else glyph
        bar.append(glyph * cells, style=colour)
        name = Text(glyph * 2, style=colour).append(f" {label}", style="default")
        table.add_row(name, _percent(us / total), duration(us, 4))
    return Group(Text("Where the time goes", style="bold"), bar, table)


def _shares(values: list[float], cells: int) -> list[int]:
    """`cells` dealt out in proportion to `values`: by largest remainder, so that they add up."""
    exact = [value * cells / sum(values) for value in values]
    dealt = [int(share) for share in exact]
    order = sorted(range(len(values)), key=lambda i: dealt[i] - exact[i])
    for i in order[: cells - sum(dealt)]:
        dealt[i] += 1
    return dealt


def _flash(results: Results) -> RenderableType | None:
    flash = results.get("flash")
    if not flash:
        return None
    # Results of an older version have no bytes.
    in_pages = flash["write_amplification"]
    amplification = flash.get("write_amplification_bytes", in_pages)
    rows = [
        ("write amplification", "no writes" if amplification is None else f"{amplification:.3f}"),
    ]
    if in_pages != amplification:
        rows.append(("  in flash pages", f"{in_pages:.3f}"))
    rows += _counts("flash", flash)
    if spare := flash.get("spare"):
        rows.append(("spare space", _percent(spare["nominal"])))
        rows.append(("effective spare", _percent(spare["effective"])))
    cleaning = flash.get("cleaning", {})
    rows += _counts("flash.cleaning", cleaning)
    if cleaning.get("blocks_cleaned"):
        rows.append(("cleaning efficiency", _percent(cleaning["efficiency"])))
        rows.append(("mean time to clean", duration(cleaning["mean_block_us"])))
    return _facts("Flash", rows)


def _wear(results: Results) -> RenderableType | None:
    wear = results.get("wear")
    if not wear:
        return None
    rows = [
        ("mean erases of a block", f"{wear['mean_erases']:.3f}"),
        ("most erases", count(wear["max_erases"])),
        ("mean erases left", f"{wear['mean_remaining']:,.1f}"),
    ]
    used = wear["mean_erases"] / (wear["mean_erases"] + wear["mean_remaining"] or 1)
    rows.append(("rated life left", f"{100 * (1 - used):.3f}%"))
    if wear["expired_blocks"]:
        rows.append(("expired blocks", count(wear["expired_blocks"])))
    if wear.get("ended"):
        rows.append(("the drive has ended", "its spare space is gone"))
    rows += _counts("wear", wear)
    life = wear.get("lifetime", {})
    for name, event in (
        ("first block expires", "first_expiry"),
        ("spare space gone", "spare_gone"),
    ):
        if milestone := life.get(event):
            about = "" if milestone["measured"] else "about "
            rows.append((f"{name} after", f"{about}{milestone['terabytes_written']:,.3g} TB"))
            rows.append(
                (
                    f"  a day, {life['service_years']:g} years",
                    f"{milestone['drive_writes_per_day']:,.3g} drive writes",
                )
            )
    return _facts("Wear", rows)


def _counts(section: str, found: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(label, count(number)) for label, number in counters.shown(section, found)]


def _facts(title: str, rows: list[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in rows:
        table.add_row(name, value)
    return Group(Text(title, style="bold"), table)


def _side_by_side(*parts: RenderableType | None) -> RenderableType | None:
    shown = [part for part in parts if part is not None]
    if not shown:
        return None
    table = Table.grid(padding=(0, 4))
    table.add_row(*shown)
    return table


def _units(units: list[Any], plain: bool) -> RenderableType | None:
    busiest = sorted(units, key=lambda unit: -unit["busy"])[:BUSIEST_UNITS]
    if not busiest or not busiest[0]["busy"]:
        return None
    full, empty = ("#", ".") if plain else ("█", "░")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for unit in busiest:
        cells = round(UNIT_BAR * min(unit["busy"], 1))
        bar = Text(full * cells, style="green")
        bar.append(empty * (UNIT_BAR - cells), style="bright_black")
        notes = []
        if unit.get("cleaning"):
            notes.append(f"{_percent(unit['cleaning'])} cleaning")
        if unit.get("queue_mean") is not None:
            notes.append(f"queue {unit['queue_mean']:.2f}")
        table.add_row(unit["name"], bar, _percent(unit["busy"]), ", ".join(notes))
    title = "Busiest units" if len(units) > len(busiest) else "Units"
    return Group(Text(title, style="bold").append(f" (of {len(units)})", style="dim"), table)


def _notices(results: Results) -> RenderableType | None:
    notices = dict(results.get("workload", {}).get("notices", {}))
    for warning in results.get("warnings") or []:  # which say it themselves
        notices = {name: n for name, n in notices.items() if name not in warning["figures"]}
    notes = [f"{count(number)} {name}" for name, number in notices.items() if number]
    return Text(f"Note: the workload had {', '.join(notes)}", style="yellow") if notes else None


def _warnings(messages: list[str]) -> RenderableType | None:
    """Where a number does not mean what it seems to, a line each."""
    return (
        Text("\n".join(f"Warning: {it}" for it in messages), style="yellow") if messages else None
    )


def _steady_state(results: Results) -> RenderableType | None:
    lines = []
    for phase, seen in (results.get("steady_state") or {}).items():
        if not seen:
            continue
        rounds = f"{len(seen['rounds'])} rounds"
        line = f"Steady state of the {phase}: not reached in {rounds}"
        if seen["steady"]:
            metric = seen["metric"].replace("_", " ")
            line = (
                f"Steady state of the {phase} after {rounds}: {metric} {seen['window_mean']:,.4g}"
            )
        lines.append(line)
    return Text("\n".join(lines)) if lines else None


def _clock(results: Results) -> RenderableType | None:
    """How well a live device kept to the times of its model."""
    live = results.get("live")
    if not live:
        return None
    title = Text("Timing", style="bold")
    title.append(f" {live.timing}", style="green" if live.timing == "valid" else "bold red")
    if not live.requests:
        return title
    rows = [
        ("mean latency of the model", duration(live.model_mean_us, 4)),
        ("mean latency as served", duration(live.measured_mean_us, 4)),
        ("late by over 5% (of those not below the floor)", f"{live.late_share:.2%}"),
        ("below the floor of the transport", f"{live.below_floor / live.requests:.2%}"),
    ]
    facts = Table.grid(padding=(0, 2))
    facts.add_column()
    facts.add_column(justify="right")
    for row in rows:
        facts.add_row(*row)
    return Group(title, Text(live.reason), facts) if live.reason else Group(title, facts)
