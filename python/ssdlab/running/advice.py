"""Advice on a run: the most effective of the changes suggested by its verdict, by simulation.

Each change is tried on the experiment itself, with the same seed and the same or fewer requests,
and compared with the unchanged experiment. The advised change improves latency or throughput most,
by at least `LEAST` in both halves of the trial, and worsens no other metric by as much. Counts of
the run, not times, determine the number of requests, so the advice is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, log
from typing import NamedTuple

from ssdlab import readable
from ssdlab._core import InputError, PolicyError, resolve
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.results.facts import Facts
from ssdlab.results.verdict import Verdict
from ssdlab.running import Progress, run_layers, stack

#: Time limit of all trials of a run, s.
SECONDS = 5.0
#: Estimated seconds per request or page operation, per page filled, and per page overwritten before
#: the run: twice the demo's, for slower machines.
PER_OPERATION = 0.6e-6
PER_FILLED_PAGE = 0.05e-6
PER_OVERWRITTEN_PAGE = 0.3e-6
#: Minimum number of requests in a trial.
FEWEST = 1000
#: Minimum significant change, as a ratio.
LEAST = 1.05
#: Compared metrics: name, and True if more is better.
FIGURES = {"p99": False, "mean": False, "throughput": True}


class Advice(NamedTuple):
    """A change that helped in a trial."""

    #: The assignment.
    change: str
    #: Effect, in a sentence.
    sentence: str
    #: Requests of the trial, and improvement of each metric as a ratio.
    requests: int
    gains: dict[str, float]


class Trial(NamedTuple):
    """Shortening of the trials of a run."""

    #: Assignments of all changes.
    shortened: tuple[str, ...]
    #: The changes that fit the time limit.
    changes: tuple[str, ...]


def tried(
    results: Results,
    found: Verdict,
    layers: Sequence[Layer],
    progress: Callable[[Progress], object] | None = None,
) -> Advice | None:
    """The most helpful change of the verdict `found`, tried on the experiment of `layers`."""
    changes = [change for change in found.changes if _is_possible(layers, change)]
    trial = plan(results, changes)
    if trial is None:
        return None
    below = [*layers, *stack.above(trial.shortened, None)]
    before = _outcome(below, progress)
    if before is None:
        return None
    after = [
        (change, _outcome([*below, *stack.above((change,), None)], progress))
        for change in trial.changes
    ]
    known = [(change, it) for change, it in after if it is not None]
    better = [(change, it, gains) for change, it in known if (gains := helps(before, it))]
    if not better:
        return None
    change, it, gains = max(better, key=lambda found: max(found[2].values()))
    count = readable.counted(before.host.all.requests, "request")
    stated = f"Tried with {count}{_prepared(trial)}: {change} {_effect(before, it, gains)}."
    return Advice(change, stated, before.host.all.requests, gains)


def _outcome(
    layers: Sequence[Layer], progress: Callable[[Progress], object] | None
) -> Results | None:
    """The results of a trial; None if it is impossible, for instance with a longer warm-up."""
    try:
        return run_layers(layers, progress=progress)
    except (InputError, PolicyError):
        return None


def plan(results: Results, changes: Sequence[str]) -> Trial | None:
    """The trials that fit in `SECONDS`, in order of changes; None if none fits."""
    facts = Facts(results)
    if not changes or facts.setting("run.save_drive") not in (None, "", "none"):
        return None
    requests = results.host.all.requests
    each = seconds_each(results)
    shortened, prepared = preparation(facts)
    requested = facts.setting("workload.requests")
    for count in range(len(changes), 0, -1):
        fitting = int((SECONDS / (1 + count) - prepared) / each)
        if fitting >= requests:
            return Trial(shortened, tuple(changes[:count])) if requests >= FEWEST else None
        if fitting >= FEWEST and isinstance(requested, int):
            # Two significant digits, for readability.
            fitting -= fitting % 10 ** (len(str(fitting)) - 2)
            less = (f"workload.requests={fitting}",)
            return Trial(shortened + less, tuple(changes[:count]))
    return None


def seconds_each(results: Results) -> float:
    """Estimated wall-clock seconds per request of a run."""
    flash = results.get("flash") or {}
    operations = sum(flash.get(key) or 0 for key in ("page_reads", "page_programs"))
    return PER_OPERATION * (1 + operations / max(results.host.all.requests, 1))


def preparation(
    facts: Facts, filled: float = PER_FILLED_PAGE, overwritten: float = PER_OVERWRITTEN_PAGE
) -> tuple[tuple[str, ...], float]:
    """Preparation of a trial's drive, and its duration in seconds.

    `filled` and `overwritten` are the seconds that a page takes.
    """
    way = str(facts.setting("run.precondition") or "none")
    page = facts.quantity(f"{facts.drive}.logical_page") or facts.quantity(
        f"{facts.drive}.page_size"
    )
    pages = facts.results.capacity_bytes / (page or 4096)
    seconds = pages * filled
    kind, _, overwrites = way.partition(":")
    if kind in ("steady", "random"):
        seconds += pages * overwritten
    if kind == "steady" or (kind == "random" and float(overwrites or 1) > 1):
        return ("run.precondition=random:1",), seconds
    return (), seconds


def _is_possible(layers: Sequence[Layer], change: str) -> bool:
    """True if the experiment has the key and takes the value."""
    try:
        resolve([*layers, *stack.above((change,), None)])
    except InputError:
        return False
    return True


def helps(before: Results, after: Results) -> dict[str, float]:
    """Improvement of each metric as a ratio; empty if the change does not help."""
    gains = {}
    for figure in FIGURES:
        each = [_gain(figure, *sides) for sides in zip(_of(before), _of(after), strict=True)]
        if None not in each:
            gains[figure] = [gain for gain in each if gain is not None]
    whole = {figure: it[0] for figure, it in gains.items()}
    sure = [figure for figure, it in gains.items() if min(it) >= log(LEAST)]
    if not sure or -min(whole.values()) >= max(whole[figure] for figure in sure):
        return {}
    return {figure: exp(gain) for figure, gain in whole.items()}


def _of(results: Results) -> list[dict[str, float]]:
    """The metrics of a run, and of its first and second half."""
    total = results.host.all
    series = results.time_series
    bins = len(series.requests)
    found = [{"p99": total.percentiles_us["99"], "mean": total.mean_us, "throughput": total.iops}]
    for half in (slice(0, bins // 2), slice(bins // 2, bins)):
        requests = [count or 0 for count in series.requests[half]]
        means = [mean or 0.0 for mean in series.mean_us[half]]
        slow = sorted(p99 for p99 in series.p99_us[half] if p99 is not None)
        count = sum(requests)
        time = sum(n * mean for n, mean in zip(requests, means, strict=True))
        found.append(
            {
                "p99": slow[len(slow) // 2] if slow else 0.0,
                "mean": time / count if count else 0.0,
                # Halves of runs have no separate rate.
                "throughput": total.iops,
            }
        )
    return found


def _gain(figure: str, before: dict[str, float], after: dict[str, float]) -> float | None:
    """Logarithm of a metric's improvement ratio."""
    a, b = before[figure], after[figure]
    if not a or not b or inf in (a, b):
        return None
    return log(b / a) if FIGURES[figure] else log(a / b)


def _prepared(trial: Trial) -> str:
    ways = [it.partition("=")[2] for it in trial.shortened if it.startswith("run.precondition=")]
    return f" after run.precondition={ways[0]}" if ways else ""


def _effect(before: Results, after: Results, gains: dict[str, float]) -> str:
    """Sentence on the significantly changed metrics."""
    stated = []
    for figure, gain in gains.items():
        if LEAST > gain > 1 / LEAST:
            continue
        values = (_of(before)[0][figure], _of(after)[0][figure])
        write = readable.rate if FIGURES[figure] else readable.time
        stated.append(f"{figure} {write(values[1])} instead of {write(values[0])}")
    return "gives " + ", ".join(stated)
