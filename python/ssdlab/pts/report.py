"""The tests as one web page: steady state, cells and curves, with measured cells."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from ssdlab import pages, readable
from ssdlab.charts import Figure, svg
from ssdlab.pages import KeyFigure, Section
from ssdlab.pts import Report, figures, sentences
from ssdlab.pts.outcome import Outcome
from ssdlab.pts.plan import Test


def page(report: Report) -> str:
    """The page as HTML."""
    sections = [_section(*it) for it in report.pairs()]
    partial = "" if report.is_whole else " It is partial: not all tests were run to their end."
    beside = f" Beside it: what fio measured, from {report.source}." if report.source else ""
    lead = (
        f'<p class="over">SNIA Solid State Storage Performance Test Specification 2.0.2</p>'
        f"<h1>{escape(report.device)}: the industry's test, simulated</h1>"
        f'<p class="lede">{escape(_lede(report))}{escape(beside)}{escape(partial)}</p>'
        + pages.key_figures(_key_figures(report))
    )
    return pages.document(f"{report.device}, PTS", lead, sections)


def _lede(report: Report) -> str:
    steady = [it for _, it, _ in report.pairs() if it.test.tracked]
    settled = sum(it.is_steady for it in steady)
    return f"{settled} of {len(steady)} tests that must settle are steady."


def _key_figures(report: Report) -> list[KeyFigure]:
    """Cells quoted in data sheets."""
    wanted = [
        ("iops", "rw100-bs4k", "iops", "4 KiB random reads", readable.rate),
        ("iops", "rw0-bs4k", "iops", "4 KiB random writes", readable.rate),
        ("throughput", "read-bs128k", "mb_per_s", "128 KiB reads", readable.throughput),
        ("throughput", "write-bs128k", "mb_per_s", "128 KiB writes", readable.throughput),
        ("latency", "rw100-bs4k", "mean_us", "4 KiB read, QD 1", readable.time),
        ("latency", "rw0-bs4k", "mean_us", "4 KiB write, QD 1", readable.time),
    ]
    found = []
    for word, name, figure, stated, text in wanted:
        outcome, measured = report.simulated.get(word), report.measured.get(word)
        value = outcome.mean(name, figure) if outcome else None
        if value is None:
            continue
        there = measured.mean(name, figure) if measured else None
        found.append(KeyFigure(stated, text(value), f"measured {text(there)}" if there else ""))
    return found


def _section(test: Test, found: Outcome, measured: Outcome | None) -> Section:
    stated = sentences.of(found)
    texts = "".join(f"<p>{escape(it)}</p>" for it in stated)
    drawn = _drawn(found, measured)
    figures = "".join(svg.figure(it, f"{test.word}{n}", 200) for n, it in enumerate(drawn))
    body = texts + _BODIES.get(test.word, _tables)(found, measured)
    body += f'<div class="multiples" style="margin-top:18px">{figures}</div>' if figures else ""
    return Section(test.word, test.title, body, sentences.how(found))


def _drawn(found: Outcome, measured: Outcome | None) -> list[Figure]:
    named = [("simulated", found), *([("measured", measured)] if measured else [])]
    own = {
        "iops": lambda: [figures.by_size(found)],
        "wsat": lambda: [figures.saturation(named)],
        "dirth": lambda: [figures.demand(found)],
        "xsr": lambda: [figures.stimulus(found)],
        "hir": lambda: [figures.rest(found)],
    }
    drawn = own[found.test.word]() if found.test.word in own else []
    if found.test.tracked and found.test.word != "wsat":
        drawn.append(figures.convergence(found))
    return [it for it in drawn if not it.empty()]


def _tables(found: Outcome, measured: Outcome | None) -> str:
    """A table for each figure: block sizes down, mixes across."""
    loads = [it for it in found.test.round if it.name != "before"]
    mixes = list(dict.fromkeys(it.mix for it in loads))
    text = ""
    for figure in found.figures():
        rows = []
        for size in dict.fromkeys(it.size for it in loads):
            names = {it.mix: it.name for it in loads if it.size == size}
            rows.append([size, *(_value(found, names[mix], figure) for mix in mixes)])
        text += _apart(pages.table(["", *mixes], rows, TITLES[figure]))
    return text + _compared(found, measured)


def _iops(found: Outcome, measured: Outcome | None) -> str:
    return svg.draw(figures.cells(found)) + _compared(found, measured)


def _demand(found: Outcome, measured: Outcome | None) -> str:
    points = found.points()
    rows = []
    for name, words in POINTS.items():
        if name in points:
            load = points[name]
            values = [_value(found, load.name, it) for it in ("iops", "mean_us", "max_us")]
            rows.append([words, f"{load.threads}", f"{load.depth}", *values])
    head = ["operating point", "threads", "QD", "IOPS", "mean response", "largest"]
    return (pages.table(head, rows) if rows else "") + _compared(found, measured)


def _saturation(found: Outcome, measured: Outcome | None) -> str:
    """A row per measured round, beside the simulated one."""
    if measured is None:
        return ""
    here, there = found.series("write"), measured.series("write")
    share = sum(it.share * it.repeat for it in found.test.round) / 100
    rows = [
        [f"{share * (n + 1):.1f} drive writes", readable.rate(a), readable.rate(b), f"{a / b:.2f}"]
        for n, (a, b) in enumerate(zip(here, there, strict=False))
    ]
    return pages.table(["written", "simulated", "measured", "simulated / measured"], rows)


def _stimulus(found: Outcome, measured: Outcome | None) -> str:
    rows = []
    for load in found.test.after:
        row = [f"{'random' if load.is_random else 'sequential'} {load.size}"]
        for it in (found, measured):
            if it is not None and (recovered := it.recovery(load.name)) is not None:
                first, last, writes = recovered
                rates = [readable.throughput(first), readable.throughput(last)]
                row += [*rates, f"{writes:.1f} drive writes"]
        rows.append(row)
    heads = ["measured first", "measured last", "measured alike"] if measured else []
    return pages.table(["writes", "first", "last", "alike after", *heads], rows)


def _rests(found: Outcome, measured: Outcome | None) -> str:
    others = {rest: values for rest, *values in measured.rested()} if measured else {}
    heads = ["measured bursts", "measured then"] if measured else []
    rows = [
        [f"{rest:g} s", *map(readable.rate, (bursts, later, *others.get(rest, ())))]
        for rest, bursts, later in found.rested()
    ]
    return pages.table(["rest", "bursts of 5 s", "without rest, then", *heads], rows)


def _compared(found: Outcome, measured: Outcome | None) -> str:
    """Simulated and measured, cell by cell."""
    if measured is None:
        return ""
    rows = []
    for load, figure in found.cells():
        here, there = found.mean(load.name, figure), measured.mean(load.name, figure)
        if here is None or there is None:
            continue
        text = TEXTS[figure]
        rows.append(
            [f"{load.name}, {TITLES[figure]}", text(here), text(there), f"{here / there:.2f}"]
        )
    head = ["cell", "simulated", "measured", "simulated / measured"]
    return _apart(pages.table(head, rows, "Simulated and measured, cell by cell")) if rows else ""


def _apart(table: str) -> str:
    """A table with a margin above."""
    return f'<div style="margin-top:14px">{table}</div>'


def _value(found: Outcome, name: str, figure: str) -> str:
    value = found.mean(name, figure)
    if value is None and name in found.refused:
        return "not run"
    return TEXTS[figure](value)


TITLES = {
    "iops": "IOPS",
    "mb_per_s": "throughput",
    "mean_us": "mean response",
    "max_us": "largest response",
}
TEXTS: dict[str, Callable[[float | None], str]] = {
    "iops": readable.rate,
    "mb_per_s": readable.throughput,
    "mean_us": readable.time,
    "max_us": readable.time,
}
POINTS = {"least": "least IOPS", "middle": "middle", "knee": "knee", "most": "most IOPS"}
_BODIES: dict[str, Callable[[Outcome, Outcome | None], str]] = {
    "iops": _iops,
    "dirth": _demand,
    "hir": _rests,
    "wsat": _saturation,
    "xsr": _stimulus,
}
