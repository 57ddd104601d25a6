"""Fits the model of a current drive to fio's results: `ssdlab calibrate --fit model`.

Keys that no data sheet states are searched one by one, numbers by factors that shrink from 2 to
1.015, words by trial. Then all numbers are fitted together by least squares. Rounds repeat until
one changes little. The objective is the mean square of ln(simulated / measured) over all jobs,
directions and metrics; percentiles count by `jobs.certain_misses`. All simulations share a seed, so
the search is reproducible.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ssdlab import _core, layers, portable
from ssdlab._core import InputError
from ssdlab.calibration import jobs
from ssdlab.calibration.jobs import Job
from ssdlab.layers import Layer
from ssdlab.running import Experiment, Part, _section, run_layers

SEED = 42
#: Successive factors by which a number is changed.
STEPS = (2.0, 1.4, 1.18, 1.08, 1.03, 1.015)
ROUNDS = 4
#: The factors for sizes and counts.
COARSE = (2.0, 1.4)
#: The step of a derivative, in logarithms, and the number of least-squares descents.
STEP = 0.03
DESCENTS = 20
#: The miss of a metric that the simulated drive lacks.
FAR_OFF = 1.0
#: Minimum change of a figure that counts.
FAINT = 0.003
#: Maximum ratio of a number to its initial value.
FARTHEST = 16.0
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Values = Mapping[str, str]


@dataclass(frozen=True)
class Key:
    """A searched key: numbers, scaled together, or words, each a set of assignments."""

    name: str
    start: str = ""
    words: Sequence[Mapping[str, str]] = ()
    whole: bool = False
    #: True if few of its values differ, as for a striped buffer.
    coarse: bool = False

    def scaled(self, factor: float) -> str:
        """The initial value times a factor; all numbers of a list are scaled alike."""

        def times(found: re.Match[str]) -> str:
            number = float(found[0]) * factor
            return str(max(1, round(number))) if self.whole else f"{number:.5g}"

        return _NUMBER.sub(times, self.start)


def keys_of(device: Mapping[str, Any], spare: float) -> list[Key]:
    """Searched keys of a resolved device, with its spare space / exported capacity."""
    link, timing = device["host_link"], device["timing"]
    # Words come first: a number that compensates for a wrong word is hard to correct.
    latency = device["suspend"].get("program", "none")
    own = latency if latency != "none" else "35us"
    suspends = [{"device.suspend.program": it, "device.suspend.erase": it} for it in (own, "none")]
    paces = [{"device.cleaning.pace": it} for it in ("token", "burst", "adaptive")]
    found = [
        Key("device.suspend.program", words=suspends),
        Key("device.cleaning.pace", words=paces),
        Key("device.timing.read", str(timing["read"])),
        Key("device.timing.program", str(timing["program"])),
        Key("device.over_provisioning", f"{spare:.5g}"),
    ]
    for name in ("read", "write"):
        if not str(device["firmware"].get(name, "0ns")).startswith("0"):
            found.append(Key(f"device.firmware.{name}", str(device["firmware"][name])))
    found.append(Key("device.buffer.size", str(device["buffer"]["size"]), coarse=True))
    if isinstance(link.get("queue_depth"), int):
        depth = str(link["queue_depth"])
        found.append(Key("device.host_link.queue_depth", depth, whole=True, coarse=True))
    return found


class Search:
    """The simulations of a fit, memoised."""

    def __init__(
        self,
        base: Sequence[Layer],
        wanted: Sequence[Job],
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self.base, self.wanted, self.progress = base, wanted, progress
        self.known: dict[tuple[tuple[str, str], ...], list[Mapping[tuple[str, str], float]] | None]
        self.known = {}
        self.expected = 0

    def stack(self, values: Values) -> list[Layer]:
        """The device with these values."""
        return [*self.base, *layers.from_options([f"{key}={it}" for key, it in values.items()])]

    def misses(self, values: Values) -> list[dict[tuple[str, str], float]] | None:
        """Certain misses of each job's figures.

        None for a drive that cannot be built.
        """
        found = self.found(values)
        return None if found is None else [*map(jobs.certain_misses, self.wanted, found)]

    def found(self, values: Values) -> list[Mapping[tuple[str, str], float]] | None:
        """The figures of each job; None for a drive that cannot be built."""
        key = tuple(sorted(values.items()))
        if key not in self.known:
            if self.progress is not None:
                self.progress(len(self.known), max(self.expected, len(self.known) + 1))
            try:
                stack = self.stack(values)
                _core.check_device(stack)
                with ThreadPoolExecutor(portable.cores()) as pool:
                    simulated = pool.map(lambda it: jobs.simulated(stack, it, SEED), self.wanted)
                    self.known[key] = [*simulated]
            except InputError:
                self.known[key] = None
        return self.known[key]

    def score(self, values: Values) -> float:
        """The mean square of all misses; infinite for a drive that cannot be built."""
        found = self.misses(values)
        if found is None:
            return math.inf
        every = [it for job in found for it in job.values()]
        return sum(it * it for it in every) / len(every) if every else math.inf


def fit(
    device: Part | None,
    wanted: Sequence[Job],
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """The best-fitting values and their errors. Raises `InputError`."""
    if device is None:
        raise InputError("--fit model: --device names the drive to begin with")
    base = _section("device", device)
    resolved = Experiment._from_layers(base).to_dict()["device"]
    if resolved.get("kind") != "ssd" or str(resolved["buffer"]["size"]).startswith("0"):
        raise InputError("--fit model: --device must be a drive of today, with a write buffer")
    try:
        import scipy  # noqa: F401
    except ImportError:
        raise InputError("--fit needs scipy: pip install 'ssdlab[calibrate]'") from None
    too_few = [*base, *layers.from_mapping("model", {"workload": {"requests": 1}})]
    nominal = run_layers(too_few).flash.spare.nominal
    keys = keys_of(resolved, nominal / (1 - nominal))
    search = Search(base, wanted, progress)
    search.expected = ROUNDS * sum(2 * len(STEPS) if not it.words else 2 for it in keys)
    if search.misses({}) is None:
        raise InputError("--fit model: the jobs cannot be simulated on this device")
    values, interrupted = _searched(search, keys)
    notes = [] if not interrupted else ["the search was interrupted: the best values so far"]
    return _found(search, keys, values, device, notes)


def _searched(search: Search, keys: Sequence[Key]) -> tuple[dict[str, str], bool]:
    """The best values, and True if the search was interrupted.

    Continuous numbers are searched one by one, then together; sizes and counts, which matter less,
    follow.
    """
    values: dict[str, str] = {}
    factors = {key.name: 1.0 for key in keys if not key.words}
    best = search.score(values)
    smooth = [key for key in keys if not (key.words or key.coarse)]
    try:
        for number in range(ROUNDS):
            before = best
            for key in keys:
                if key.words:
                    for word in key.words:
                        trial = {**values, **word}
                        if (score := search.score(trial)) < best:
                            best, values = score, trial
                elif not key.coarse:
                    for step in STEPS if not number else STEPS[2:]:
                        best, values = _stepped(search, key, step, (best, values), factors)
            best, values = _valley(search, smooth, (best, values), factors)
            for key in keys:
                if key.coarse:
                    for step in COARSE:
                        best, values = _stepped(search, key, step, (best, values), factors)
            if best > 0.98 * before:
                break
    except KeyboardInterrupt:
        return values, True
    return values, False


def _valley(
    search: Search,
    keys: Sequence[Key],
    best: tuple[float, dict[str, str]],
    factors: dict[str, float],
) -> tuple[float, dict[str, str]]:
    """Least squares over all numbers together, by the logarithms of their factors."""
    import numpy
    from scipy.optimize import least_squares

    order = [(job, it) for job, found in enumerate(search.misses(best[1]) or ()) for it in found]

    def values(place: Any) -> dict[str, str]:
        own = {key.name: key.scaled(math.exp(float(x))) for key, x in zip(keys, place, strict=True)}
        return {**best[1], **own}

    def miss(place: Any) -> Any:
        found = search.misses(values(place))
        if found is None:
            return numpy.full(len(order), FAR_OFF)
        return numpy.array([found[job].get(it, FAR_OFF) for job, it in order])

    def slopes(place: Any) -> Any:
        steps = STEP * numpy.eye(len(keys))
        return numpy.array([(miss(place + h) - miss(place - h)) / (2 * STEP) for h in steps]).T

    begin = [math.log(factors[key.name]) for key in keys]
    maximum = math.log(FARTHEST)
    found = least_squares(miss, begin, slopes, bounds=(-maximum, maximum), max_nfev=DESCENTS)
    chosen = values(found.x)
    if (score := search.score(chosen)) >= best[0]:
        return best
    factors |= {key.name: math.exp(float(x)) for key, x in zip(keys, found.x, strict=True)}
    return score, chosen


def _stepped(
    search: Search,
    key: Key,
    step: float,
    best: tuple[float, dict[str, str]],
    factors: dict[str, float],
) -> tuple[float, dict[str, str]]:
    """Multiplies by a factor while the result improves, in either direction."""
    for direction in (step, 1 / step):
        moved = False
        while 1 / FARTHEST <= (factor := factors[key.name] * direction) <= FARTHEST:
            trial = best[1] | {key.name: key.scaled(factor)}
            score = search.score(trial)
            if score >= best[0] * (1 - 1e-6):
                break
            best, factors[key.name], moved = (score, trial), factor, True
        if moved:
            break
    return best


def _found(
    search: Search, keys: Sequence[Key], values: Values, device: Part, notes: list[str]
) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    before, found = search.found({}) or [], search.found(values) or []
    after = search.misses(values) or []
    for job, old, new in zip(search.wanted, before, found, strict=True):
        for op, figure in job.figures:
            if (op, figure) in new and (op, figure) in old:
                measured = job.figures[op, figure]
                rows.append(
                    {
                        "job": job.name,
                        "op": op,
                        "figure": figure,
                        "measured": measured,
                        "before": float(old[op, figure]),
                        "after": float(new[op, figure]),
                    }
                )
    for key in keys:
        if not _is_determined(search, key, values, after):
            notes.append(f"no job tells {key.name}: its value is that of the drive begun with")
    errors = {
        figure: {
            which: _mean([abs(100 * (it[which] / it["measured"] - 1)) for it in of_figure])
            for which in ("before", "after")
        }
        for figure in jobs.FIGURES
        if (of_figure := [it for it in rows if it["figure"] == figure])
    }
    from ssdlab.calibration.search import _device_sections

    return {
        "device": device if isinstance(device, str) else None,
        "parameters": dict(values),
        "searched": [key.name for key in keys],
        "errors_percent": errors,
        "figures": rows,
        "simulations": len(search.known) * len(search.wanted),
        "notes": notes,
        "toml": _device_sections(_core.resolve(search.stack(values))),
    }


def _is_determined(
    search: Search, key: Key, values: Values, now: Sequence[Mapping[tuple[str, str], float]]
) -> bool:
    """True if another value of a key changes any metric of any job."""
    if key.words:
        others = [dict(values) | dict(word) for word in key.words]
    else:
        at = _NUMBER.search(values.get(key.name, key.start))
        began = _NUMBER.search(key.start)
        factor = float(at[0]) / float(began[0]) if at and began and float(began[0]) else 1.0
        others = [dict(values) | {key.name: key.scaled(factor * it)} for it in (1.3, 1 / 1.3)]
    for other in others:
        for old, new in zip(now, search.misses(other) or [], strict=False):
            if any(abs(new[it] - old[it]) > FAINT for it in old if it in new):
                return True
    return False


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
