"""Finds the smallest drive that meets latency and lifetime goals under a trace. Designs are tried
in order of their flash:

one drive with little spare space, with more, two drives and so on. More spare space is assumed to
increase speed and lifetime, so that a bisection finds the minimum.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ssdlab import _core, arrow, layers, sources
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.running import Experiment
from ssdlab.sizing.fit import WHOLE, Effort, Fit, fit
from ssdlab.sizing.load import Load
from ssdlab.sizing.trial import SEEDS, Design, Goal, Trial, judge, refuse_contradictions
from ssdlab.sweeps.plan import BLOCKS, blocks_for
from ssdlab.under_load import LONG
from ssdlab.under_load import life_text as life
from ssdlab.units import SIZE, TIME

#: Default drive to size.
DRIVE = "tlc-enterprise"
#: Spare / exported space of the designs.
SPARE = (0.07, 0.1, 0.15, 0.2, 0.28, 0.4, 0.55, 0.75)
MAX_DRIVES = 4
#: Default lifetime goal.
YEARS = 5.0
STRIPE = "64KiB"
#: Sentence on a lifetime that is neither required nor known.
UNTOLD = (
    f"Not judged: the lifetime, which no run determines; --years {YEARS:g} asks for it, and a "
    "longer "
    "trace or one that writes more tells it."
)


@dataclass(frozen=True)
class Sizing(arrow.Table):
    """All designs tried, and the smallest suitable ones."""

    ROWS = "tried"

    drive: str
    load: Load
    goals: Sequence[Goal]
    years: float
    fit: Fit
    trials: Sequence[Trial]
    best: Trial | None
    """The design with the least flash that meets the goals, or None."""
    next_best: Trial | None
    """The next best design with another number of drives."""
    command: str | None
    """The `ssdlab run` that repeats the best one."""

    def __repr__(self) -> str:
        best = self.because() if self.best is None else design(self.best)
        return f"<Sizing: {self.drive} under {self.load.name}, {best}>"

    def because(self) -> str:
        """Reason why no design meets the goals: the unmet goals of the best one."""
        nearest = min(self.trials, key=self._miss)
        lacking = [said(nearest, goal) for goal in nearest.broken(self.goals)]
        load = "; the trace offers more load than it can serve" if nearest.overloaded else ""
        return f"at its best ({design(nearest)}) {' and '.join(lacking)}{load}"

    def _miss(self, trial: Trial) -> float:
        """Worst ratio of a metric to its goal; below 1 if all are met, infinite if unknown."""
        ratios = []
        for goal in self.goals:
            mean = trial.mean(goal.figure)
            ratio = math.inf if mean is None else mean / goal.limit
            ratios.append(1 / max(ratio, 1e-12) if goal.at_least and mean is not None else ratio)
        return max(ratios, default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """The sizing in the form of `ssdlab size --json`; times in us, sizes in bytes."""

        def trial_dict(trial: Trial | None) -> dict[str, Any] | None:
            return None if trial is None else trial.to_dict(self.goals, self.years)

        return {
            "drive": self.drive,
            "load": self.load.name,
            "trace": None if self.load.trace is None else str(self.load.trace),
            "goals": [it.to_dict() for it in self.goals],
            "fit": list(self.fit.words),
            "best": trial_dict(self.best),
            "next_best": trial_dict(self.next_best),
            "because": self.because() if self.best is None else None,
            "command": self.command,
            "tried": [trial_dict(trial) for trial in self.trials],
        }


def design(trial: Trial) -> str:
    """A design in words.

    `2 drives with 28 % of spare space`
    """
    count = "1 drive" if trial.design.drives == 1 else f"{trial.design.drives} drives"
    return f"{count} with {100 * trial.over_provisioning:.0f} % over-provisioning"


def experiment(stack: Sequence[Layer]) -> Experiment:
    """The experiment of a trial."""
    return Experiment._from_layers(stack)


def life_of(trial: Trial) -> str:
    """Lifetime of a trial's drives in words: the value, or its lower bound by arithmetic."""
    lasts, least = trial.mean("years"), trial.least_years
    if lasts is None and least is not None:
        return life(least) if least > LONG else f"at least {life(least)}"
    return life(lasts)


def said(trial: Trial, goal: Goal) -> str:
    """Distance of a trial from a goal, in words."""
    from ssdlab.units import duration

    if goal.figure == "years":
        lasts = trial.mean("years")
        said = life(lasts) if lasts is not None else trial.why_unknown()
        if lasts is None and trial.least_years is not None:
            said = f"{life_of(trial)} by arithmetic, and {said}"
        return f"lifetime is {said}, not {life(goal.limit)}"
    name = goal.name
    if (mean := trial.mean(goal.figure)) is None:
        return f"{name} is not known: the trace has no such requests"
    return f"{name} is {duration(mean)}, not {duration(goal.limit)}"


def size(
    trace: str | os.PathLike[str] | Load,
    *,
    p99: str | None = None,
    p999: str | None = None,
    years: float | None = None,
    device: str = DRIVE,
    capacity: str | None = None,
    drives: int = MAX_DRIVES,
    set: Mapping[str, Any] | Sequence[str] = (),
    columns: str | None = None,
    seed: int = 42,
    progress: Callable[[int, int], object] | None = None,
) -> Sizing:
    """Search the smallest design of a drive that meets the goals under a trace or another load.

    `device` is a preset or a file; `set` are keys of all runs. `p99` and `p999` are latency limits
    over all requests, such as "2ms"; `years` is the required lifetime at the trace's write rate, by
    default 5 if a run yields one; `columns` assigns the columns of a table; `capacity` is the
    exported capacity of a drive, such as "500GB", by default its own; `drives` the maximum number
    of drives. Raises `InputError` for wrong input.

    >>> import ssdlab
    >>> s = ssdlab.size("FILE", p99="2ms", years=5)  # doctest: +SKIP
    >>> s.best.design, s.best.mean("years")  # doctest: +SKIP
    """
    load = trace if isinstance(trace, Load) else Load.of(Path(trace), columns)
    limits = latency_limits(p99, p999)
    lasting = Goal("years", years or YEARS, at_least=True)
    goals = [Goal(figure, limit) for figure, limit in limits.items()]
    refuse_contradictions(goals)
    # A closed loop writes as fast as the drive allows: no drive lasts years.
    if years is not None or load.is_paced:
        goals.append(lasting)
    if not goals:
        raise InputError(
            f"{load.name}: no target: a load without a pace tells no lifetime; give --p99, --p999 "
            "or --years"
        )
    capacity_bytes = SIZE.given("--capacity", capacity)
    search = Search(load, device, capacity_bytes, layers.assigned(set), drives)
    done, most = 0, 1

    def judged(trial: Trial, least: int = 1) -> bool:
        def ran() -> None:
            nonlocal done, most
            done += 1
            most = max(most, done + 1)
            if progress is not None:
                progress(done, most)

        return judge(trial, goals, seed, ran, least)

    winners: list[Trial] = []
    words = [*search.fit.words]
    for count in counts(search.fit.fewest_drives, drives):
        # The best is repeated; for the next best a clear single seed suffices.
        seeds = 1 if winners else SEEDS
        found = _least(search, count, judged, seeds)
        if found is None and years is None and lasting in goals and not search.yields("years"):
            goals.remove(lasting)
            words.append(UNTOLD)
            found = _least(search, count, judged, seeds)
        if found is not None:
            winners.append(found)
        if len(winners) == 2:
            break
    best, after = (*winners, None, None)[:2]
    command = search.command(best.design, seed) if best is not None else None
    tried = sorted(search.trials.values(), key=lambda trial: trial.flash_bytes)
    message = replace(search.fit, words=words)
    return Sizing(device, load, goals, years or YEARS, message, tried, best, after, command)


def latency_limits(p99: str | None, p999: str | None) -> dict[str, float]:
    """The limits that are given, in us, by the figure of a trial."""
    given = {"p99_us": TIME.given("--p99", p99), "p999_us": TIME.given("--p999", p999)}
    return {figure: 1e6 * limit for figure, limit in given.items() if limit is not None}


def counts(fewest: int, most: int) -> list[int]:
    """The tried numbers of drives: each twice its predecessor."""
    counts = [fewest]
    while counts[-1] < most:
        counts.append(min(2 * counts[-1], most))
    return counts


def _least(search: Search, drives: int, judged: Callable[..., bool], seeds: int) -> Trial | None:
    """The trial with `drives` drives and the minimum spare space that meets the goals."""
    designs = search.designs(drives)

    def meets(place: int, least: int = 1) -> bool:
        return judged(search.trial(designs[place]), least)

    low, high = -1, len(designs) - 1
    if meets(0, seeds):
        return search.trial(designs[0])
    if not meets(high):
        return None
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    while high < len(designs) and not meets(high, seeds):  # more seeds may change the decision
        high += 1
    return search.trial(designs[high]) if high < len(designs) else None


class Search:
    """Designs of a drive under a trace, each tried once."""

    def __init__(
        self,
        load: Load,
        drive: str,
        capacity_bytes: float | None,
        assignments: Sequence[str],
        most_drives: int,
        effort: Effort = WHOLE,
    ) -> None:
        if not 1 <= most_drives <= 64:
            raise InputError(f"--drives {most_drives}: from 1 to 64")
        self.trials: dict[Design, Trial] = {}
        self._drive, self._load, self._given = drive, load, [*assignments]
        device = sources.from_name("device", drive, "--device")
        requested = load.layers(assignments)
        # A file may also describe a drive; the tried drive overrides it.
        self._below = [device, *requested] if load.job is None else [*requested, device]
        stack = [*self._below, *layers.from_options(self._given)]
        found = Experiment._from_layers(stack).to_dict()["device"]
        if found["kind"] != "ssd":
            raise InputError(
                f"--device {drive}: kind {found['kind']}, not ssd; `ssdlab list devices` has the "
                "drives (several are put in an array here)"
            )
        self._own = capacity_bytes is None
        self._wanted = _core.capacity_bytes(stack)
        self._guess = int(found["blocks_per_plane"])
        if capacity_bytes is not None:
            self._wanted = round(capacity_bytes / int(found.get("scale", 1)))
            self._given.append(self._blocks(0.07))
            stack = [*self._below, *layers.from_options([*self._given, _spare(0.07)])]
            self._given.pop()
        self.fit = fit(load, stack, most_drives, effort)

    @property
    def exported_bytes(self) -> int:
        """Exported bytes of one drive."""
        stack = [*self._below, *layers.from_options(self._given)]
        drive = Experiment._from_layers(stack).to_dict()["device"]
        return _core.capacity_bytes(stack) * int(drive.get("scale", 1))

    def yields(self, figure: str) -> bool:
        """True if any run so far yields that metric."""
        return any(it is not None for trial in self.trials.values() for it in trial.values(figure))

    def designs(self, drives: int) -> list[Design]:
        """The designs with `drives` drives, from the least spare space to the most."""
        if not self._own:
            return [Design(drives, share) for share in SPARE]
        first = Design(drives, None)
        own = self._spare_as_it_is()
        more = [Design(drives, share) for share in SPARE if share > 1.05 * own]
        return [first, *more]

    def _spare_as_it_is(self) -> float:
        """Spare / exported space of the unchanged drive."""
        stack = layers.from_options([*self._given, "device.over_provisioning=1"])
        return 2 * _core.capacity_bytes([*self._below, *stack]) / self._wanted - 1

    def trial(self, design: Design) -> Trial:
        """The trial of a design, created on demand."""
        if design not in self.trials:
            stack = self._layers(design)
            found = Experiment._from_layers(stack).to_dict()["device"]
            drive = found.get("member", found)
            scale = int(drive.get("scale", 1))
            self.trials[design] = Trial(design, scale, self.fit.writes, stack)
        return self.trials[design]

    def _blocks(self, share: float) -> str:
        """Assignment of the flash for the required capacity with that spare space."""
        stack = [*self._below, *layers.from_options([*self._given, _spare(share)])]
        return f"{BLOCKS}={blocks_for(stack, self._guess, self._wanted)}"

    def _assignments(self, design: Design) -> list[str]:
        if (share := design.over_provisioning) is None:
            return [*self._given]
        return [*self._given, _spare(share), self._blocks(share)]

    def _layers(self, design: Design) -> list[Layer]:
        aged = {"precondition": self.fit.precondition, "warm_up": self.fit.warm_up}
        sections = {"workload": self._workload(design), "run": aged}
        said = layers.from_mapping("ssdlab size", sections)
        stack = [*self._below, *said, *layers.from_options(self._assignments(design))]
        if design.drives == 1:
            return stack
        found = Experiment._from_layers(stack).to_dict()
        array = {
            "kind": "array",
            "members": design.drives,
            "layout": "striped",
            "stripe": STRIPE,
            "member": found["device"],
        }
        sections = {"device": array, "workload": found["workload"], "run": found["run"]}
        return layers.from_mapping("ssdlab size", sections)

    def _workload(self, design: Design) -> dict[str, Any]:
        """The keys of the workload that the design sets."""
        return {**self.fit.workload, **self._load.share(design.drives * self.exported_bytes)}

    def command(self, design: Design, seed: int) -> str | None:
        """The `ssdlab run` of a design; None if only a file can express it."""
        requested = dict(self._load.keys)
        workload = {f"workload.{key}": value for key, value in self._workload(design).items()}
        aged = {"run.precondition": self.fit.precondition, "run.warm_up": self.fit.warm_up}
        run = aged | {"run.seed": str(seed)}
        given = dict(_full(it) for it in self._assignments(design))
        words = {
            f"{key}": str(value) for key, value in (requested | workload | run).items()
        } | given
        device = ["--device", self._drive]
        if design.drives > 1:
            if _core.preset_text("device", self._drive) is None:
                return None
            device = []
            own = {key: value for key, value in words.items() if key.startswith("device.")}
            words = {
                "device.kind": "array",
                "device.members": str(design.drives),
                "device.layout": "striped",
                "device.stripe": STRIPE,
                "device.member.preset": self._drive,
                **{f"device.member.{k.removeprefix('device.')}": v for k, v in own.items()},
                **{key: value for key, value in words.items() if key not in own},
            }
        job = words.pop("workload.job", None)
        sets = [word for key, value in words.items() for word in ("--set", f"{key}={value}")]
        command = shlex.join(["ssdlab", "run", *device, *self._load.words(), *sets])
        return command if job is None else f"{command} --set {self._load.edited(job)}"


def _spare(share: float) -> str:
    return f"device.over_provisioning={share}"


def _full(assignment: str) -> tuple[str, str]:
    """The full path of the key of an assignment, and its value."""
    path = _core.set_layer(assignment)[1].partition(" = ")[0]
    return path, assignment.partition("=")[2]
