"""Findings of a test, on a simulated drive or a real one: figures of every load, by round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from ssdlab.pts.plan import Load, Test
from ssdlab.pts.steady import WINDOW, Window, windows

#: Maximum mean response time at the operating point of most IOPS; the specification leaves it open.
RESPONSE_US = 5000.0
#: Share of the maximum IOPS at the knee.
KNEE = 0.9
#: Relative distance from the last quarter's rate at which a load has recovered.
RECOVERED = 0.1


@dataclass(frozen=True)
class Measure:
    """Figures of a load: reads and writes together, times in microseconds."""

    requests: int
    iops: float
    mb_per_s: float
    mean_us: float
    max_us: float
    written_bytes: float


#: Measures of a round's loads by name, one per repetition.
Round = Mapping[str, Sequence[Measure]]


@dataclass(frozen=True)
class Outcome:
    """Result of a test, complete or partial."""

    test: Test
    rounds: Sequence[Round]
    after: Round = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Unsupported loads by name, with reasons."""
    minute_seconds: float = 60.0
    """Simulated duration of the specification's minute."""
    scale: int = 1
    """Size of the drive relative to the simulated part."""
    capacity_bytes: float | None = None
    """Capacity of the whole drive; None if fio does not report it."""

    @cached_property
    def windows(self) -> dict[str, Window]:
        """Measurement window of each figure checked for steady state."""
        names = [it for it in self.test.tracked if it not in self.refused]
        series = {name: self.series(name) for name in names}
        return windows(series, self.test.skipped)

    @property
    def is_steady(self) -> bool:
        """True if every checked figure is steady."""
        return bool(self.windows) and all(it.is_steady for it in self.windows.values())

    def series(self, name: str) -> list[float]:
        """A load's figure checked for steady state, by round."""
        return [
            statistics.fmean(getattr(it, self.test.figure) for it in each[name])
            for each in self.rounds
            if each.get(name)
        ]

    @property
    def window(self) -> Sequence[Round]:
        """Rounds of the measurement window."""
        found = next(iter(self.windows.values()), None)
        if found is None:
            return self.rounds[-WINDOW:]
        return self.rounds[found.first - 1 : found.last]

    def mean(self, name: str, figure: str) -> float | None:
        """Mean of a load's figure over the window; for `max_us` the maximum."""
        values = [getattr(it, figure) for each in self.window for it in each.get(name, ())]
        if not values:
            return None
        return float(max(values) if figure == "max_us" else statistics.fmean(values))

    def cells(self) -> list[tuple[Load, str]]:
        """All pairs of a load and a reported figure."""
        return [(load, figure) for load in self.test.round for figure in self.figures()]

    def figures(self) -> tuple[str, ...]:
        """Reported figures of the test."""
        return {
            "throughput": ("mb_per_s",),
            "latency": ("mean_us", "max_us"),
            "dirth": ("iops", "mean_us"),
        }.get(self.test.word, ("iops",))

    # Write saturation

    def curve(self) -> list[tuple[float, float]]:
        """Bytes sent to the whole drive, and IOPS, per written share."""
        points, written = [], 0.0
        for each in self.rounds:
            for it in each.get("write", ()):
                written += it.written_bytes * self.scale
                points.append((written, it.iops))
        return points

    # Demand intensity

    def points(self) -> dict[str, Load]:
        """The operating points: most IOPS within the response time, middle, least, and knee."""
        loads = [it for it in self.test.round if it.reads]
        iops = {it.name: value for it in loads if (value := self.mean(it.name, "iops"))}
        inside = {
            name: value
            for name, value in iops.items()
            if (self.mean(name, "mean_us") or 0.0) < RESPONSE_US
        }
        if not inside:
            return {}
        maximum, minimum = max(inside.values()), min(inside.values())
        by_name = {it.name: it for it in loads}
        middle = min(inside, key=lambda it: abs(inside[it] - (maximum + minimum) / 2))
        enough = [by_name[it] for it, value in inside.items() if value >= KNEE * maximum]
        return {
            "most": by_name[max(inside, key=lambda it: inside[it])],
            "middle": by_name[middle],
            "least": by_name[min(inside, key=lambda it: inside[it])],
            "knee": min(enough, key=lambda it: it.outstanding),
        }

    # Recovery

    def recovery(self, name: str) -> tuple[float, float, float] | None:
        """First and last MB/s of a load, and drive writes until recovery."""
        values = [it.mb_per_s for it in self.after.get(name, ())]
        if not values:
            return None
        last = statistics.fmean(values[-max(1, len(values) // 4) :])
        far = [n + 1 for n, it in enumerate(values) if abs(it - last) > RECOVERED * last]
        return values[0], last, max(far, default=0) * self.test.load(name).share / 100

    def rested(self) -> list[tuple[float, float, float]]:
        """Each rest, with IOPS of the bursts after it, and of continuous writes."""
        found = []
        for load in self.test.after:
            name = load.name.replace("rest", "after")
            if load.rest and self.after.get(load.name) and self.after.get(name):
                both = (self.after[load.name], self.after[name])
                bursts, later = (statistics.fmean(m.iops for m in it) for it in both)
                found.append((load.rest, bursts, later))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The outcome in the form of `--json`."""
        return {
            "title": self.test.title,
            "steady": self.is_steady if self.test.tracked else None,
            "minute_seconds": self.minute_seconds,
            "scale": self.scale,
            "windows": {
                name: {
                    "first_round": it.first,
                    "last_round": it.last,
                    self.test.figure: list(it.values),
                    "mean": it.mean,
                    "excursion": it.excursion,
                    "slope": it.slope,
                    "steady": it.is_steady,
                }
                for name, it in self.windows.items()
            },
            "results": {
                load.name: {figure: self.mean(load.name, figure) for figure in self.figures()}
                for load in self.test.round
            },
            "points": {name: it.name for name, it in self.points().items()}
            if self.test.word == "dirth"
            else None,
            "refused": dict(self.refused),
            "rounds": [_measures(it) for it in self.rounds],
            "after": _measures(self.after),
        }


def _measures(found: Round) -> dict[str, list[dict[str, Any]]]:
    return {name: [asdict(it) for it in each] for name, each in found.items()}
