"""Why a drive is slow under a load: single changes, tried with paired seeds, ranked by what helps.

Nothing is advised that was not simulated. Each seed is used for the experiment and for every
change, so that all meet the same requests; a change that shows a gain with the first is tried with
more, until its interval proves or excludes that. The chance of an error is divided among all
changes and all looks (`intervals.py`). A change is a row of `changes.TABLE`. The size of a trial
follows from counts of the run, never from a clock, so any number of workers gives the same answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.cli import stack
from ssdlab.confidence import CONFIDENCE
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.running import Progress
from ssdlab.running.facts import Facts
from ssdlab.why import changes as proposals
from ssdlab.why import intervals, metric, trial
from ssdlab.why.changes import Change
from ssdlab.why.intervals import Gain
from ssdlab.why.metric import Metric

if TYPE_CHECKING:
    from ssdlab.why.trial import Plan

__all__ = ["Row", "Why", "tried"]

#: Figures that a change may worsen, and whether more is better.
BESIDE = {"host.all.iops": True, "host.read.percentiles_us.99": False,
          "host.write.percentiles_us.99": False}  # fmt: skip
#: Parts of results that differ between equal runs: the experiment, and the time of the machine.
OF_THE_RUN = ("experiment", "elapsed", "steady_state")
#: A change that worsens another figure by as much as this is a trade.
LOSS = 1.1


@dataclass(frozen=True)
class Row:
    """A change and what it did."""

    change: Change
    #: None where it could not be tried.
    gain: Gain | None
    verdict: str
    before: float | None = None
    after: float | None = None
    #: Other figures that it worsens, with the ratio by which each grew.
    losses: Mapping[str, float] = field(default_factory=dict)
    #: Why it was left out.
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The row as `ssdlab why --json` has it."""
        gain = self.gain
        bounds = None if gain is None or gain.half is None else [gain.low, gain.high]
        return {
            "change": self.change.name,
            "group": self.change.group,
            "set": list(self.change.assignments),
            "device": self.change.device,
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
class Why:
    """Changes tried against the bottleneck; `rows` begin with the most helpful."""

    title: str
    metric: Metric
    before: float
    rows: Sequence[Row]
    left_out: Sequence[Row]
    plan: Plan
    simulations: int
    wall_seconds: float
    cpu_seconds: float

    @classmethod
    def of(cls, results: Results, **arguments: Any) -> Why:
        """Changes that would help a run; the arguments are those of `Results.why`."""
        experiment = results.experiment.to_dict()
        return tried(layers.from_mapping("the experiment", experiment), results, **arguments)

    @property
    def helps(self) -> list[Row]:
        """The changes with a proven gain, and no other figure much worse; the best first."""
        return [row for row in self.rows if row.verdict == intervals.HELPS]

    @property
    def best(self) -> Row | None:
        """The first advice; None where nothing helps within the changes tried."""
        return next(iter(self.helps), None)

    def to_dict(self, again: Callable[[str], str] | None = None) -> dict[str, Any]:
        """Content of `ssdlab why --json`; `again` says the command that repeats a change."""
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

    def __str__(self) -> str:
        import io

        from ssdlab.why import display

        return display.table(self, io.StringIO())


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

    `goal` is a word or figure as of `--for`; `among` are groups of changes, `own` changes of the
    caller's. `progress` is told simulations done and to do. Raises `InputError`.
    """
    began = time.perf_counter(), time.process_time()
    if results is None:
        results = trial.first_run(below, first)
    if not results.host.all.requests:
        raise InputError("no request completed: there is nothing to explain")
    wanted = metric.of_word(goal, results) if goal else metric.what_hurts(results)
    facts = Facts(results)
    todo = [*(proposals.of_user(it) for it in own), *proposals.candidates(facts, among)]
    todo, cut = todo[: proposals.MOST], todo[proposals.MOST :]
    size = trial.plan(results, len(todo), requests)
    base = [*below, *stack.above(size.assignments, None)]
    hunt = _Hunt(base, todo, wanted, results, progress)
    with trial.crew(workers) as crew:
        hunt.run(crew)
    title = str(results.experiment.get("title"))
    spent = time.perf_counter() - began[0], time.process_time() - began[1]
    before, rows, left_out = hunt.found()
    why_cut = f"{proposals.MOST} changes are tried at most; --among and --try choose"
    left_out += [Row(change, None, "left out", reason=why_cut) for change in cut]
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
        self.outcomes: dict[tuple[Change | None, int], Results] = {}
        self.done = self.begun = 0
        for change in changes:
            try:
                layered = [*base, *change.layers()]
                _core.check_device(layered)
                self.stacks[change] = layered
            except InputError as error:
                if change.group == proposals.OWN:
                    raise InputError(str(error).replace("--set", "--try", 1)) from None
                self.refused[change] = str(error)
        self.comparisons = max(len(self.stacks) - 1, 1)

    def run(self, crew: trial.Crew) -> None:
        """Simulate round by round; a round ends when all that it needs is known."""
        seeds = 0
        while (look := intervals.next_look(seeds)) is not None:
            open_ = [it for it in self.stacks if it is not None and not self._is_decided(it, seeds)]
            if not open_:
                return
            for place in range(seeds, look):
                for change in (None, *open_):
                    if change is None or not self._is_settled(change):
                        crew.start((change, place), self.stacks[change], self.seed + place)
                        self.begun += 1
                if place < 2 or place + 1 == look:
                    self._gather(crew)
            seeds = look

    def _gather(self, crew: trial.Crew) -> None:
        for (change, place), outcome in crew.outcomes():
            self.done += 1
            if isinstance(outcome, str):
                if change is None:
                    raise InputError(outcome)
                self.refused.setdefault(change, outcome)
            else:
                self.outcomes[change, place] = outcome
            if self.progress is not None:
                self.progress(self.done, max(self.begun, self.done))

    def _is_settled(self, change: Change) -> bool:
        """True if no further seed is needed: it is refused, hopeless, or changes not a bit."""
        if change in self.refused or self._is_same(change):
            return True
        # A change that the user named is pursued to the end.
        gain = self._gain(change) if change.group != proposals.OWN else None
        return gain is not None and gain.is_hopeless

    def _is_same(self, change: Change) -> bool:
        places = [place for it, place in self.outcomes if it == change]
        return bool(places) and all(
            _content(self.outcomes[None, place]) == _content(self.outcomes[change, place])
            for place in places
        )

    def _is_decided(self, change: Change, seeds: int) -> bool:
        if change in self.refused or (seeds and self._is_settled(change)):
            return True
        gain = self._gain(change)
        return gain is not None and gain.decided

    def _values(self, change: Change | None) -> list[tuple[float, float]]:
        """The metric before and after, of each seed that has both."""
        pairs = []
        for (it, place), results in self.outcomes.items():
            if it == change:
                values = [self.wanted.value(self.outcomes[None, place]), self.wanted.value(results)]
                if None not in values and 0 not in values:
                    pairs.append((float(values[0] or 0), float(values[1] or 0)))
        return pairs

    def _gain(self, change: Change) -> Gain | None:
        sign = 1 if self.wanted.maximize else -1
        logs = [sign * math.log(after / before) for before, after in self._values(change)]
        return intervals.gain(logs, self.comparisons) if logs else None

    def found(self) -> tuple[float, list[Row], list[Row]]:
        """The metric of the experiment, the changes tried, and those left out."""
        before = [value for value, _ in self._values(None)]
        if not before and (known := self.wanted.value(self.results)):
            before = [known]  # of a design that no change applies to
        if not before:
            raise InputError(
                f"{self.wanted.name} is 0 or not known in this run: there is nothing to improve"
            )
        rows: list[Row] = []
        left_out: list[Row] = []
        for change in self.stacks:
            if change is not None and change not in self.refused:
                row = self._row(change)
                (rows if row.gain else left_out).append(row)
        left_out += [
            Row(change, None, "left out", reason=why) for change, why in self.refused.items()
        ]
        order = [intervals.HELPS, intervals.TRADES, intervals.UNKNOWN, intervals.LITTLE,
                 intervals.NO_EFFECT, intervals.EXCLUDED, intervals.DROPPED,
                 intervals.HURTS]  # fmt: skip
        rows.sort(key=lambda row: (order.index(row.verdict), -(row.gain.mean if row.gain else 0)))
        return _mean(before), rows, left_out

    def _row(self, change: Change) -> Row:
        gain = self._gain(change)
        if gain is None:
            why = f"{self.wanted.name} is not known with it"
            return Row(change, None, "left out", reason=why)
        pairs = self._values(change)
        losses = self._losses(change)
        verdict = gain.verdict
        if self._is_same(change):
            verdict = intervals.NO_EFFECT
        elif gain.is_dropped:
            verdict = intervals.DROPPED
        elif verdict == intervals.HELPS and _outweigh(losses, gain):
            verdict = intervals.TRADES
        before, after = (_mean(values) for values in zip(*pairs, strict=True))
        return Row(change, gain, verdict, before, after, losses)

    def _losses(self, change: Change) -> dict[str, float]:
        """Other figures that are worse by `LOSS` or more with every seed."""
        found = {}
        for column, maximize in BESIDE.items():
            if column == self.wanted.column:
                continue
            value = metric.figure(column).value
            ratios = []
            for (it, place), results in self.outcomes.items():
                if it == change:
                    a, b = value(self.outcomes[None, place]), value(results)
                    ratios.append(b / a if a and b else 1.0)
            if all((1 / ratio if maximize else ratio) >= LOSS for ratio in ratios):
                found[metric.spoken(column)] = _mean(ratios)
        return found


def _outweigh(losses: Mapping[str, float], gain: Gain) -> bool:
    """True if a change takes throughput, or worsens another figure by as much as it helps."""
    throughput = metric.spoken("host.all.iops")
    return any(
        name == throughput or abs(math.log(ratio)) >= gain.mean for name, ratio in losses.items()
    )


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))  # in whatever order they end


def _content(results: Results) -> dict[str, Any]:
    return {key: value for key, value in results.to_dict().items() if key not in OF_THE_RUN}
