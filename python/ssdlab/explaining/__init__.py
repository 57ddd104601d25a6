"""Why a drive is slow under a load: single changes, tried with paired seeds, ranked by gain.

All advice is simulated. The experiment and every change share the seeds, hence the requests; a
change with a gain on the first seed gets more, until its confidence interval proves or excludes the
gain. The error probability is divided among all changes and interim tests (`intervals.py`), and the
first recommendations are repeated with fresh seeds. A change is a row of `changes.TABLE`. Counts of
the run, not times, determine the size of a trial, so any number of workers gives the same answer.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ssdlab import _core, arrow, readable
from ssdlab._core import InputError
from ssdlab.confidence import CONFIDENCE
from ssdlab.explaining import changes as proposals
from ssdlab.explaining import intervals, metric, trial
from ssdlab.explaining.changes import Change
from ssdlab.explaining.intervals import Gain
from ssdlab.explaining.metric import Metric
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.results.facts import Facts
from ssdlab.running import Part, Progress, layers_of, stack

if TYPE_CHECKING:
    from ssdlab.explaining.trial import Plan

__all__ = ["Row", "Why", "tried", "why"]

#: Metrics that a change may worsen; True if more is better.
BESIDE = {"host.all.iops": True, "host.read.percentiles_us.99": False,
          "host.write.percentiles_us.99": False}  # fmt: skip
#: Parts of results that differ between equal runs: the experiment and wall-clock times.
OF_THE_RUN = ("experiment", "elapsed", "steady_state")
#: Ratio above which a worse metric is reported; above `PRICE` the change is a trade-off.
LOSS, PRICE = 1.1, 1.25


@dataclass(frozen=True)
class Row:
    """A change with its effect."""

    change: Change
    #: None if the trial was impossible.
    gain: Gain | None
    verdict: str
    before: float | None = None
    after: float | None = None
    #: Other metrics that it worsens, with their ratio.
    losses: Mapping[str, float] = field(default_factory=dict)
    #: Reason for omission.
    reason: str = ""

    @property
    def high(self) -> float:
        """Upper bound of its gain, as a log ratio."""
        return math.inf if self.gain is None else self.gain.high

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `ssdlab why --json`."""
        gain = self.gain
        bounds = None if gain is None or gain.half is None else [gain.low, gain.high]
        return {
            "change": self.change.name,
            "group": self.change.group,
            "set": list(self.change.assignments),
            "device": self.change.device,
            "dollars": self.change.price,
            "verdict": self.verdict,
            "seeds": 0 if gain is None else gain.seeds,
            "before": self.before,
            "after": self.after,
            "times_better": None if gain is None else math.exp(gain.mean),
            "interval": None if bounds is None else [math.exp(it) for it in bounds],
            "worse": dict(self.losses),
            "reason": self.reason or None,
        }


@dataclass(frozen=True)
class Why(arrow.Table):
    """Changes tried against the bottleneck, the most helpful first in `rows`."""

    title: str
    metric: Metric
    before: float
    rows: Sequence[Row]
    left_out: Sequence[Row]
    plan: Plan
    simulations: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def helps(self) -> list[Row]:
        """The changes with a proven gain and no other metric much worse, the best first."""
        return [row for row in self.rows if row.verdict == intervals.HELPS]

    @property
    def best(self) -> Row | None:
        """The first recommendation; None if no tried change helps."""
        return next(iter(self.helps), None)

    def to_dict(self, again: Callable[[str], str] | None = None) -> dict[str, Any]:
        """Content of `ssdlab why --json`; `again` gives the command that repeats a change."""
        return {
            "title": self.title,
            "for": self.metric.name,
            "column": self.metric.column,
            "because": self.metric.why or None,
            "before": self.before,
            "confidence": CONFIDENCE,
            "requests": self.plan.requests,
            "precondition": self.plan.prepared,
            "simulations": self.simulations,
            "rows": [
                row.to_dict() | ({"command": again(row.change.side)} if again else {})
                for row in self.rows
            ],
            "left_out": [row.to_dict() for row in self.left_out],
            "elapsed": {"wall_seconds": self.wall_seconds, "cpu_seconds": self.cpu_seconds},
        }

    def __repr__(self) -> str:
        best = "nothing helps" if self.best is None else f"best: {self.best.change.name}"
        tried = readable.counted(len(self.rows), "change")
        return f"<Why: {self.metric.name} of {self.title}, {tried}, {best}>"

    def __str__(self) -> str:
        import io

        from ssdlab.explaining import display

        return display.table(self, io.StringIO())


def why(
    experiment: Results | Part | None = None,
    *,
    goal: str | None = None,
    among: Sequence[str] = (*proposals.GROUPS,),
    own: Sequence[str] = (),
    requests: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    **arguments: Any,
) -> Why:
    """Try single changes of an experiment, ranked by their effect.

    `experiment` is `Results` or as for `ssdlab.run`, whose other arguments follow. `goal` is the
    metric to improve: p99, mean, throughput, tbw, cost, watts, or any column of a sweep; None
    chooses the worst. `among` are groups of changes (settings, load, hardware, drives), `own` your
    changes (`["device.channels=4"]`), `requests` the requests per simulation, `workers` the
    parallel simulations. `progress` is called with the completed and all simulations. Raises
    `InputError`.

    >>> import ssdlab
    >>> small = {"device.blocks_per_plane": 64, "workload.requests": 2000}
    >>> found = ssdlab.why(workload="random-read", set=small, own=["device.channels=1"], among=[])
    >>> [row.verdict for row in found.rows]
    ['hurts']
    """
    results = None
    if isinstance(experiment, Results):
        results = None if arguments else experiment
        experiment = experiment.experiment.to_dict()
    return tried(
        layers_of(experiment, **arguments),
        results,
        goal=goal,
        among=among,
        own=own,
        requests=requests,
        workers=workers,
        progress=progress,
    )


def tried(
    below: Sequence[Layer],
    results: Results | None = None,
    *,
    goal: str | None = None,
    among: Sequence[str] = (*proposals.GROUPS,),
    own: Sequence[str] = (),
    requests: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    first: Callable[[Progress], object] | None = None,
) -> Why:
    """Try changes on the experiment of `below`, of which `results` may be known.

    `goal` is a word or metric of `--for`; `among` are groups of changes, `own` the caller's
    changes. `progress` is called with the simulations done and their total. Raises `InputError`.
    """
    began = time.perf_counter(), time.process_time()
    if results is None:
        results = trial.first_run(below, first)
    if not results.host.all.requests:
        raise InputError("no request completed: there is nothing to explain")
    wanted = metric.of_word(goal, results) if goal else metric.worst(results)
    facts = Facts(results)
    todo = [*(proposals.of_user(it) for it in own), *proposals.candidates(facts, among)]
    todo, cut = todo[: proposals.MOST], todo[proposals.MOST :]
    size = trial.plan(results, len(todo), requests, wanted.column)
    base = [*below, *stack.above(size.assignments, None)]
    hunt = _Hunt(base, todo, wanted, results, progress)
    with trial.crew(workers) as crew:
        hunt.run(crew)
        hunt.combine(crew)
        hunt.confirm(crew)
    title = str(results.experiment.get("title"))
    spent = time.perf_counter() - began[0], time.process_time() - began[1]
    before, rows, left_out = hunt.found()
    why_cut = f"{proposals.MOST} changes are tried at most; --among and --try choose"
    left_out += [Row(change, None, intervals.LEFT_OUT, reason=why_cut) for change in cut]
    return Why(title, wanted, before, rows, left_out, size, hunt.done, *spent)


class _Hunt:
    """The simulations of all changes, until each is decided."""

    def __init__(
        self,
        base: Sequence[Layer],
        changes: Sequence[Change],
        wanted: Metric,
        results: Results,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self.stacks: dict[Change | None, list[Layer]] = {None: list(base)}
        self.refused: dict[Change, str] = {}
        self.wanted, self.results, self.progress = wanted, results, progress
        self.seed = int(Facts(results).setting("run.seed") or 0)
        self.outcomes: dict[trial.Key, Results] = {}
        #: Metrics of outcomes by name, and their content: both are asked for at every decision.
        self.figures: dict[tuple[str, trial.Key], float | None] = {}
        self.contents: dict[trial.Key, int] = {}
        self.done = self.begun = 0
        #: Changes repeated with fresh seeds.
        self.fresh: set[Change] = set()
        for change in changes:
            self._add_change(change)
        # Plus two pairs.
        self.comparisons = len(self.stacks) + 1

    def _add_change(self, change: Change) -> None:
        try:
            layered = [*self.stacks[None], *change.layers()]
            _core.check_device(layered)
            self.stacks[change] = layered
        except InputError as error:
            if change.group == proposals.OWN:
                raise InputError(str(error).replace("--set", "--try", 1)) from None
            self.refused[change] = str(error)

    def run(self, crew: trial.Crew) -> None:
        """Simulate round by round; a round ends when all its simulations have ended."""
        seeds = 0
        while (look := intervals.next_look(seeds)) is not None:
            open_ = [it for it in self.stacks if it is not None and not self._is_decided(it, seeds)]
            if not open_:
                return
            for position in range(seeds, look):
                for change in (None, *open_):
                    if change is None or not self._is_settled(change):
                        self._start(crew, change, position)
                if position < 2 or position + 1 == look:
                    self._gather(crew)
            seeds = look

    def combine(self, crew: trial.Crew) -> None:
        """Try pairs: the two most helpful settings, and the best setting with the best hardware.

        Both changes of a pair set different keys.
        """
        helps = [row.change for row in self._ranked() if row.verdict == intervals.HELPS]
        settings = [it for it in helps if it.group == proposals.SETTING]
        hardware = [it for it in helps if it.group == proposals.HARDWARE]
        for pair in (settings[:2], [*settings[:1], *hardware[:1]]):
            if len(pair) == 2 and (both := proposals.together(*pair)) is not None:
                self._add_change(both)
        self.run(crew)

    def _start(self, crew: trial.Crew, change: Change | None, place: int) -> None:
        if (change, place) not in self.outcomes:
            far = intervals.FAR if place in self._fresh_places() else 0
            crew.start((change, place), self.stacks[change], self.seed + place + far)
            self.begun += 1

    def confirm(self, crew: trial.Crew) -> None:
        """Repeat the first recommendations with fresh seeds; the next one replaces a failure."""
        while True:
            first = [row.change for row in self._ranked() if row.verdict == intervals.HELPS]
            todo = [it for it in first[: intervals.CONFIRMED] if it not in self.fresh]
            if not todo:
                return
            for position in self._fresh_places():
                for change in (None, *todo):
                    self._start(crew, change, position)
            self._gather(crew)
            self.fresh.update(todo)

    def _fresh_places(self) -> range:
        return range(intervals.LOOKS[-1][0], intervals.LOOKS[-1][0] + intervals.FRESH)

    def _gather(self, crew: trial.Crew) -> None:
        for (change, position), outcome in crew.outcomes():
            self.done += 1
            if isinstance(outcome, str):
                if change is None:
                    raise InputError(outcome)
                self.refused.setdefault(change, outcome)
            else:
                self.outcomes[change, position] = outcome
            if self.progress is not None:
                self.progress(self.done, max(self.begun, self.done))

    def _is_settled(self, change: Change) -> bool:
        """True if no further seed is needed: the change is invalid, hopeless, or without any
        effect.
        """
        if change in self.refused or self._is_same(change):
            return True
        # Changes given by the user run to the end.
        gain = self._gain(change) if change.group != proposals.OWN else None
        return gain is not None and gain.is_hopeless

    def _is_same(self, change: Change) -> bool:
        positions = [position for it, position in self.outcomes if it == change]
        return bool(positions) and all(
            self._content((None, position)) == self._content((change, position))
            for position in positions
        )

    def _content(self, key: trial.Key) -> int:
        """Digest of an outcome without what differs between equal runs."""
        if key not in self.contents:
            found = self.outcomes[key].to_dict()
            same = {name: value for name, value in found.items() if name not in OF_THE_RUN}
            self.contents[key] = hash(json.dumps(same, sort_keys=True))
        return self.contents[key]

    def _figure(self, wanted: Metric, key: trial.Key) -> float | None:
        """A metric of an outcome."""
        if (wanted.name, key) not in self.figures:
            self.figures[wanted.name, key] = wanted.value(self.outcomes[key])
        return self.figures[wanted.name, key]

    def _is_decided(self, change: Change, seeds: int) -> bool:
        if change in self.refused or (seeds and self._is_settled(change)):
            return True
        gain = self._gain(change)
        return gain is not None and gain.decided

    def _values(
        self, change: Change | None, among: Container[int] | None = None
    ) -> list[tuple[float, float]]:
        """The metric before and after, for each seed (in `among`) with both."""
        pairs = []
        for it, position in self.outcomes:
            if it == change and (among is None or position in among):
                values = [self._figure(self.wanted, (side, position)) for side in (None, it)]
                if None not in values and 0 not in values:
                    pairs.append((float(values[0] or 0), float(values[1] or 0)))
        return pairs

    def _logs(self, change: Change, among: Container[int] | None = None) -> list[float]:
        """The gain per seed, as a log ratio."""
        sign = 1 if self.wanted.maximize else -1
        return [sign * math.log(after / before) for before, after in self._values(change, among)]

    def _gain(self, change: Change) -> Gain | None:
        logs = self._logs(change)
        return intervals.gain(logs, self.comparisons, self._spread(change)) if logs else None

    def _spread(self, change: Change) -> float:
        """Standard deviation of the metric's logarithm without the change."""
        before = [math.log(before) for before, _ in self._values(change)]
        return statistics.stdev(before) if len(before) > 1 else 0.0

    def _failed(self, change: Change) -> bool:
        """True if the gain was not confirmed on fresh seeds."""
        fresh = self._logs(change, self._fresh_places())
        return change in self.fresh and not intervals.holds(fresh, self._spread(change))

    def found(self) -> tuple[float, list[Row], list[Row]]:
        """The experiment's metric, the tried changes, and the omitted ones."""
        before = [value for value, _ in self._values(None)]
        if not before and (known := self.wanted.value(self.results)):
            before = [known]  # for a design without applicable changes
        if not before:
            raise InputError(
                f"{self.wanted.name} is 0 or not known in this run: there is nothing to improve"
            )
        ranked = self._ranked()
        left_out = [row for row in ranked if row.gain is None]
        left_out += [
            Row(change, None, intervals.LEFT_OUT, reason=why)
            for change, why in self.refused.items()
        ]
        return _mean(before), [row for row in ranked if row.gain is not None], left_out

    def _ranked(self) -> list[Row]:
        """The valid changes, ranked; the cheaper of equal ones first."""
        rows = [self._row(it) for it in self.stacks if it is not None and it not in self.refused]
        order = [intervals.HELPS, intervals.TRADES, intervals.FAILED, intervals.UNKNOWN,
                 intervals.LITTLE, intervals.NO_EFFECT, intervals.EXCLUDED, intervals.DROPPED,
                 intervals.HURTS, intervals.LEFT_OUT]  # fmt: skip
        rows.sort(key=lambda row: (order.index(row.verdict), -(row.gain.mean if row.gain else 0)))
        ranked: list[Row] = []
        while rows and rows[0].verdict == intervals.HELPS and rows[0].gain is not None:
            low = rows[0].gain.low
            equal = [row for row in rows if row.verdict == intervals.HELPS and row.high >= low]
            ranked += sorted(equal, key=lambda row: row.change.effort)
            rows = [row for row in rows if row not in equal]
        return ranked + rows

    def _row(self, change: Change) -> Row:
        gain = self._gain(change)
        if gain is None:
            why = f"{self.wanted.name} is not known with it"
            return Row(change, None, intervals.LEFT_OUT, reason=why)
        pairs = self._values(change)
        losses = self._losses(change)
        verdict = gain.verdict
        if self._is_same(change):
            verdict = intervals.NO_EFFECT
        elif gain.is_dropped:
            verdict = intervals.DROPPED
        elif verdict == intervals.HELPS and self._failed(change):
            verdict = intervals.FAILED
        elif verdict == intervals.HELPS and _outweigh(losses, gain):
            verdict = intervals.TRADES
        before, after = (_mean(values) for values in zip(*pairs, strict=True))
        return Row(change, gain, verdict, before, after, losses)

    def _losses(self, change: Change) -> dict[str, float]:
        """Other metrics that are worse by at least `LOSS` with every seed."""
        found = {}
        for column, maximize in BESIDE.items():
            if column == self.wanted.column:
                continue
            beside = metric.figure(column)
            ratios = []
            for it, position in self.outcomes:
                if it == change:
                    a, b = (self._figure(beside, (side, position)) for side in (None, it))
                    ratios.append(b / a if a and b else 1.0)
            if all((1 / ratio if maximize else ratio) >= LOSS for ratio in ratios):
                found[metric.spoken(column)] = _mean(ratios)
        return found


def _outweigh(losses: Mapping[str, float], gain: Gain) -> bool:
    """True if a change lowers throughput, or worsens another metric much or as much as its gain."""
    throughput, much = metric.spoken("host.all.iops"), min(math.log(PRICE), gain.mean)
    return any(name == throughput or abs(math.log(it)) >= much for name, it in losses.items())


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))  # in any order of completion
