"""Fits parameters of any device of ssdlab to measurements, by simulating them.

Each measured point is simulated as a closed loop of its pattern, size and queue depth. The
objective is the sum of squared ln(simulated / measured) times: equal ratios count equally at 512 B
and at 1 MiB. Numbers are searched by scipy's differential evolution within their bounds, then
refined by least squares; each combination of words is searched separately.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.calibration.points import Point, Steps, means
from ssdlab.calibration.regression import mean_size
from ssdlab.running import Part, _section, run_layers

#: Simulated requests per outstanding one, and their minimum.
REQUESTS_EACH, FEWEST_REQUESTS = 100, 400
#: Maximum number of word combinations.
MOST_COMBINATIONS = 64
#: Differential evolution: trials for each number in a generation, and generations.
POPULATION, GENERATIONS = 8, 20
#: Maximum steps of the final descent.
MOST_STEPS = 15
#: Step of numerical derivatives, as a share of the range: large against the noise of a random load.
STEP = 0.004
#: A parameter has no effect if its whole range changes no time by this share.
FAINT = 1e-3
#: A direction is undetermined if its effect is below this share of the strongest.
WEAK = 0.05
SEED = 42
INTERRUPTED = "the search was interrupted: these are the best values so far"


@dataclass(frozen=True)
class Parameter:
    """A searched key: numbers from `low` to `high` in `unit`, or words."""

    key: str
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    whole: bool = False
    words: tuple[str, ...] = ()

    def text(self, share: float) -> str:
        """The value at a share of the range, logarithmic if the range begins above zero."""
        if self.low > 0:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        if self.whole:
            return str(round(value))
        digits = 0 if self.unit == "ns" and self.high > 1000 else 3
        return f"{value:.{digits}f}{self.unit}"


def parameter(assignment: str) -> Parameter:
    """The parameter in "KEY=LOW..HIGH" or "KEY=WORD,WORD"."""
    key, equals, values = assignment.partition("=")
    where = f"--fit {assignment}"
    if not equals or not values:
        raise InputError(f"{where}: expected KEY=LOW..HIGH, such as timing.read=10us..100us")
    low, dots, high = values.partition("..")
    if not dots:
        words = tuple(word.strip() for word in values.split(","))
        if len(words) < 2 or not all(words):
            raise InputError(f"{where}: expected LOW..HIGH, or at least two words or numbers, a,b")
        found = Parameter(key, words=words)
    else:
        ends = [re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z/]*)\s*", end) for end in (low, high)]
        if ends[0] is None or ends[1] is None:
            raise InputError(f"{where}: a bound is a number, perhaps with a unit, such as 25us")
        units = {end[2] for end in ends if end}
        if len(units) > 1:
            raise InputError(f"{where}: both bounds in one unit, such as 5us..1000us")
        bounds = float(ends[0][1]), float(ends[1][1])
        if bounds[0] >= bounds[1]:
            raise InputError(f"{where}: the bounds are reversed or equal; the lower comes first")
        unit = units.pop()
        whole = not unit and "." not in low.strip() + high.strip()
        found = Parameter(key, *bounds, unit, whole)
    for value in found.words or (low.strip(), high.strip()):
        try:
            _core.set_layer(f"{key}={value}")
        except InputError as error:
            raise InputError(f"{where}: {str(error).partition(': ')[2]}") from None
    return found


class Search:
    """Simulates points for trial values of the parameters."""

    def __init__(
        self,
        device: Part | None,
        parameters: Sequence[Parameter],
        points: Sequence[Point],
        progress: Steps | None,
        allow_code: bool = False,
    ) -> None:
        base = [] if device is None else _section("device", device)
        self.base = layers.permitting(base) if allow_code else base
        self.parameters = parameters
        self.points = points
        self.progress = progress
        self.trials: dict[tuple[str, ...], list[float]] = {}
        self.numbers = [p for p in parameters if not p.words]
        self.expected = self._expected()
        # Both ends of every range are checked by the engine before the first run.
        for parameter in parameters:
            ends = parameter.words or (parameter.text(0), parameter.text(1))
            for end in ends:
                stack = [*self.base, *layers.from_options([f"{parameter.key}={end}"])]
                _core.resolve(stack)
                _core.permit_code(stack)

    def _expected(self) -> int:
        combinations = math.prod(len(p.words) for p in self.parameters if p.words)
        if combinations > MOST_COMBINATIONS:
            raise InputError(
                f"--fit: {combinations} combinations of words; at most {MOST_COMBINATIONS}"
            )
        numbers = len(self.numbers)
        return combinations * max(1, numbers * (POPULATION * (GENERATIONS + 1) + MOST_STEPS))

    def stack(self, values: Mapping[str, str]) -> list[layers.Layer]:
        """The device with these values."""
        return [*self.base, *layers.from_options([f"{k}={v}" for k, v in values.items()])]

    def times(self, values: Mapping[str, str]) -> list[float]:
        """The simulated mean time of each point, us."""
        key = tuple(f"{key}={value}" for key, value in values.items())
        if key not in self.trials:
            if self.progress is not None:
                self.progress(len(self.trials), max(self.expected, len(self.trials) + 1))
            stack = self.stack(values)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                self.trials[key] = list(pool.map(lambda p: simulated_us(stack, p), self.points))
        return self.trials[key]

    def residuals(self, values: Mapping[str, str]) -> list[float]:
        """The logarithm of simulated over measured, for each point."""
        pairs = zip(self.times(values), self.points, strict=True)
        return [math.log(time / point.mean_us) for time, point in pairs]

    def best(self) -> tuple[dict[str, str], list[list[float]]]:
        """The best values, and the derivatives there: a row for each point, by number."""
        from scipy.optimize import differential_evolution, least_squares

        found: tuple[float, dict[str, str], list[list[float]]] | None = None
        choices = [[(p.key, word) for word in p.words] for p in self.parameters if p.words]
        for words in itertools.product(*choices):

            def values(shares: Sequence[float], words: Any = words) -> dict[str, str]:
                numbers = zip(self.numbers, shares, strict=True)
                return {**dict(words), **{p.key: p.text(share) for p, share in numbers}}

            # scipy's steps are relative to the value, so the range is mapped to 1..2.
            def miss(place: Any, values: Any = values) -> list[float]:
                return self.residuals(values([min(max(x - 1, 0), 1) for x in place]))

            sensitivity: list[list[float]] = []
            if not self.numbers:
                shares: Sequence[float] = []
            else:
                # Changes of the bottleneck form valleys, in which a plain descent stops early.
                valley = differential_evolution(
                    lambda place, miss=miss: sum(r * r for r in miss(place)),
                    [(1, 2)] * len(self.numbers),
                    init="sobol",
                    popsize=POPULATION,
                    maxiter=GENERATIONS,
                    tol=0.05,
                    polish=False,
                    rng=SEED,
                )
                ended = least_squares(
                    miss, valley.x, bounds=(1, 2), diff_step=STEP, max_nfev=MOST_STEPS, xtol=1e-4
                )
                shares = [float(x) - 1 for x in ended.x]
                sensitivity = ended.jac.tolist()
            chosen = values(shares)
            error = sum(r * r for r in self.residuals(chosen))
            if found is None or error < found[0]:
                found = error, chosen, sensitivity
        assert found is not None
        return found[1], found[2]

    def best_so_far(self) -> dict[str, str] | None:
        """The best values of the completed trials, if any."""
        tried = {
            words: sum(
                math.log(time / point.mean_us) ** 2
                for time, point in zip(times, self.points, strict=True)
            )
            for words, times in self.trials.items()
            if words
        }
        if not tried:
            return None
        return dict(word.split("=", 1) for word in min(tried, key=lambda it: tried[it]))


def simulated_us(stack: list[layers.Layer], point: Point) -> float:
    """The mean time of a point's requests on the device."""
    requests = max(FEWEST_REQUESTS, REQUESTS_EACH * point.outstanding)
    workload = {
        "kind": "closed",
        "requests": requests,
        "outstanding": point.outstanding,
        "read_share": float(point.pattern.endswith("read")),
        "random_share": float(point.pattern.startswith("rand")),
        "block_size": f"{point.bytes}B",
    }
    experiment = [*stack, *layers.from_mapping("calibration", {"workload": workload})]
    mean: float = run_layers(experiment).host.all.mean_us
    return mean


def fit(
    device: Part | None,
    assignments: Sequence[str],
    measured: Sequence[Point],
    progress: Steps | None,
    allow_code: bool = False,
) -> dict[str, Any]:
    """The best-fitting parameters and their errors."""
    parameters = [parameter(assignment) for assignment in assignments]
    keys = [p.key for p in parameters]
    if len(set(keys)) < len(keys):
        raise InputError(f"--fit: a key is given twice: {', '.join(keys)}")
    try:
        import scipy  # noqa: F401
    except ImportError:
        raise InputError("--fit needs scipy: pip install 'ssdlab[calibrate]'") from None
    points = means(measured)
    search = Search(device, parameters, points, progress, allow_code)
    before = search.times({})
    interrupted = False
    try:
        chosen, sensitivity = search.best()
    except KeyboardInterrupt:
        best = search.best_so_far()
        if best is None:
            raise
        chosen, sensitivity, interrupted = best, [], True
    after = search.times(chosen)
    rows = []
    for point, old, new in zip(points, before, after, strict=True):
        rows.append(
            {
                **point.to_dict(),
                "before_us": old,
                "after_us": new,
                "before_error_percent": 100 * (old / point.mean_us - 1),
                "after_error_percent": 100 * (new / point.mean_us - 1),
            }
        )

    def summary(which: str) -> dict[str, float]:
        errors = [row[f"{which}_error_percent"] for row in rows]
        return {
            "mean_error_percent": mean_size(errors),
            "max_error_percent": max(map(abs, errors)),
        }

    return {
        "device": device if isinstance(device, str) else None,
        "parameters": chosen,
        "searched": list(assignments),
        "before": summary("before"),
        "after": summary("after"),
        "points": rows,
        "simulations": len(search.trials) * len(points),
        "notes": [INTERRUPTED] if interrupted else _notes(parameters, chosen, sensitivity),
        "toml": _device_sections(_core.resolve(search.stack(chosen))),
    }


def _notes(
    parameters: Sequence[Parameter], chosen: Mapping[str, str], sensitivity: list[list[float]]
) -> list[str]:
    """Notes on undetermined values."""
    notes = []
    numbers = [p for p in parameters if not p.words]
    message = []
    for p, column in zip(numbers, zip(*sensitivity, strict=True), strict=True):
        if max(map(abs, column)) < FAINT:
            notes.append(f"{p.key} changes no measured point: its value means nothing")
            continue
        message.append((p, column))
        if chosen[p.key] in (p.text(0), p.text(1)):
            notes.append(f"{p.key} = {chosen[p.key]} is at a bound: the best may lie beyond")
    if len(message) > 1:
        import numpy

        # The direction of parameters with the least effect on all points.
        _, strengths, directions = numpy.linalg.svd(numpy.array([c for _, c in message]).T)
        if len(strengths) < len(message) or strengths[-1] < WEAK * strengths[0]:
            shares = [abs(float(share)) for share in directions[-1]]
            keys = [p.key for (p, _), share in zip(message, shares, strict=True) if share > 0.2]
            notes.append(
                f"these points hardly tell {' and '.join(keys)} apart: other values of them "
                "together fit nearly as well"
            )
    return notes


def _device_sections(experiment: str) -> str:
    """The device in the TOML of an experiment."""
    lines, inside = [], False
    for line in experiment.splitlines():
        if line.startswith("["):
            inside = line == "[device]" or line.startswith("[device.")
        if inside:
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"
