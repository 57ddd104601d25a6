"""A load on a drive: life, p99 of reads and of writes, watts and dollars.

All commands that judge a drive take these figures from here, so that one question has one answer.
A figure has a kind, its origin in words, and no value if it is not known.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ssdlab import _core, lifetime, market
from ssdlab.lifetime import Lifetime
from ssdlab.market import Rated

#: Kinds of figures. The origin of a bound says which one it is.
SIMULATED, RATED, BOUNDED, STATED, UNKNOWN = (
    "simulated", "rated", "bounded by arithmetic", "stated", "not known",
)  # fmt: skip
DAYS, DAY_SECONDS = 365, 86_400
#: Years over which data sheets rate drive writes per day (DWPD).
RATED_YEARS = 5
#: Minimum evenness of wear at which a run tells the life of a drive on sale. Real drives level wear
#: by moving cold data; the presets do not, as no data sheet describes it. Below, the rating counts.
EVEN = 0.5
#: Longer lifetimes are not stated in years.
LONG = 100


@dataclass(frozen=True)
class Figure:
    """A figure with its kind and origin; `math.inf` is unlimited."""

    value: float | None
    kind: str
    origin: str

    @property
    def known(self) -> float | None:
        """The value, if it is more than a bound."""
        return None if self.kind == BOUNDED else self.value

    def over(self, divisor: float) -> Figure:
        """The figure divided by a number, of equal kind and origin."""
        value = self.value if self.value is None else self.value / divisor
        return Figure(value, self.kind, self.origin)

    def to_dict(self) -> dict[str, Any]:
        """The figure in the form of JSON; an unlimited one has the value null."""
        is_unlimited = self.value == math.inf
        value = None if is_unlimited else self.value
        return {
            "value": value,
            "unlimited": is_unlimited,
            "kind": self.kind,
            "origin": self.origin,
        }


@dataclass(frozen=True)
class UnderLoad:
    """A drive, or several striped ones, under a load; watts and dollars are of all of them."""

    life_years: Figure
    read_p99_us: Figure
    write_p99_us: Figure
    watts: Figure
    dollars: Figure

    def figures(self) -> dict[str, Figure]:
        """The figures by name."""
        return dict(vars(self))

    def to_dict(self) -> dict[str, Any]:
        """The figures in the form of JSON."""
        return {name: it.to_dict() for name, it in self.figures().items()}


def of(
    runs: Sequence[Mapping[str, Any]],
    *,
    row: Rated | None = None,
    drives: int = 1,
    dollars: float | None = None,
    least_evenness: float | None = None,
) -> UnderLoad:
    """The figures of `runs`, which differ by their seed alone.

    `row` has the commercial data of one drive, by default the catalogue's (`sold`); `dollars` is
    your price of one drive instead, by default from `[cost]` in the experiment. Wear that is
    less even than `least_evenness` tells no life; by default `EVEN` for a drive with a rating.
    """
    experiment = runs[0]["experiment"]
    row = row or sold(experiment)
    if dollars is None:
        dollars = _own_price(experiment, runs[0]["capacity_bytes"] * scale_of(runs[0]) / drives)
    return UnderLoad(
        life(runs, None if row is None else row.dwpd, least_evenness),
        p99(runs, "read"),
        p99(runs, "write"),
        watts(runs, row, drives),
        price(row, drives, dollars),
    )


def _own_price(experiment: Mapping[str, Any], capacity: float) -> float | None:
    """Price of a drive in the experiment, which has `[cost]`."""
    given = experiment.get("cost") or {}
    per_gb = given.get("capacity_dollars_per_gb")
    if per_gb is not None:
        return float(per_gb) * capacity / 1e9
    dollars = given.get("device_dollars")
    return None if dollars is None else float(dollars)


def columns(results: Mapping[str, Any]) -> dict[str, float]:
    """Known life, watts and dollars by their names in tables; empty for a drive without a price.

    Latencies are columns of the results already.
    """
    found = of([results])
    if found.dollars.value is None:
        return {}
    named = {"life_years": found.life_years, "watts": found.watts, "dollars": found.dollars}
    return {
        f"under_load.{name}": it.known
        for name, it in named.items()
        if it.known is not None and it.known != math.inf
    }


def daily_bytes(runs: Sequence[Mapping[str, Any]]) -> float:
    """Bytes that the load writes a day, at its rate in the runs and around the clock."""
    rates = [it["host"]["write"]["mb_per_s"] or 0.0 for it in runs if "write" in it["host"]]
    return statistics.fmean(rates) * 1e6 * DAY_SECONDS if rates else 0.0


def life(
    runs: Sequence[Mapping[str, Any]],
    dwpd: float | None = None,
    least_evenness: float | None = None,
    writes: bool = True,
) -> Figure:
    """Years until the flash is worn out, at the load's rate around the clock."""
    return years(writable(runs, dwpd, least_evenness), daily_bytes(runs) if writes else 0.0)


def years(written: Figure, daily: float) -> Figure:
    """Years in which `written` bytes are written, at `daily` bytes a day."""
    if not daily:
        return Figure(math.inf, SIMULATED, "the load writes nothing")
    return written.over(daily * DAYS)


def writable(
    runs: Sequence[Mapping[str, Any]],
    dwpd: float | None = None,
    least_evenness: float | None = None,
) -> Figure:
    """Host bytes until the flash is worn out: simulated, else rated, else bounded by arithmetic.

    `dwpd` are the rated drive writes per day over `RATED_YEARS`.
    """
    least = (0.0 if dwpd is None else EVEN) if least_evenness is None else least_evenness
    lives = [it for run in runs if (it := lifetime.of(run)) is not None]
    is_even = all(evenness_of(it) >= least for it in runs)
    return of_lives(lives, runs[0]["capacity_bytes"] * scale_of(runs[0]), dwpd, is_even)


def of_lives(
    lives: Sequence[Lifetime], capacity: float, dwpd: float | None = None, is_even: bool = True
) -> Figure:
    """Host bytes until the flash of `capacity` exported bytes is worn out, by the lives of runs.

    Uneven wear makes a simulated life a lower bound.
    """
    if lives and is_even and all(it.known for it in lives):
        return _simulated(lives, capacity)
    if dwpd is not None:
        why = "" if is_even else "; the run wears few blocks, which a drive on sale levels"
        origin = f"{dwpd:g} drive writes a day over {RATED_YEARS} years, by its data sheet{why}"
        return Figure(dwpd * DAYS * RATED_YEARS * capacity, RATED, origin)
    if not lives:
        return Figure(None, UNKNOWN, "this device does not wear")
    bounds = [it.host_bytes if it.known else it.at_least_bytes for it in lives]
    stated = [it for it in bounds if it is not None]
    why = "the run is too short" if is_even else "the run wears few blocks"
    reason = next((it.reason for it in lives if it.reason), why)
    if len(stated) == len(lives):
        return Figure(min(stated), BOUNDED, reason)
    return Figure(None, UNKNOWN, reason)


def _simulated(lives: Sequence[Lifetime], capacity: float) -> Figure:
    mean = statistics.fmean(it.drive_writes or 0.0 for it in lives) * capacity
    erasures = sum(it.erases for it in lives)
    error = max(it.error or 0.0 for it in lives)
    return Figure(mean, SIMULATED, f"{erasures:,} erasures of the run, within {100 * error:.2g} %")


def of_flash(flash_bytes: float, cycles: float, amplification: float, daily: float) -> Figure:
    """Years until evenly worn flash of rated P/E cycles is worn out, at `daily` host bytes a day.

    An upper bound, as no wear is more even.
    """
    origin = "at most: all flash worn evenly, by its rated cycles and this write amplification"
    return years(Figure(flash_bytes * cycles / amplification, BOUNDED, origin), daily)


def p99(runs: Sequence[Mapping[str, Any]], kind: str) -> Figure:
    """p99 of reads or writes in microseconds, the mean over the runs."""
    hosts = [it["host"].get(kind) for it in runs]
    counts = [it["requests"] if it else 0 for it in hosts]
    if not all(counts):
        return Figure(None, UNKNOWN, f"the load has no {kind}s")
    mean = statistics.fmean(float(it["percentiles_us"]["99"]) for it in hosts)
    return Figure(mean, SIMULATED, f"{sum(counts):,} {kind}s")


def watts(runs: Sequence[Mapping[str, Any]], row: Rated | None, drives: int = 1) -> Figure:
    """Power of all drives: by the energy model, else by the catalogue and the dies' utilisation."""
    models = [float((it.get("energy") or {}).get("mean_watts") or 0.0) for it in runs]
    if all(models):
        return Figure(statistics.fmean(models), SIMULATED, "the energy model of the drive")
    busy = [unit["busy"] for run in runs for unit in run.get("units") or []]
    found = row.watts(statistics.fmean(busy)) if row is not None and busy else None
    if row is None or found is None:
        return Figure(None, UNKNOWN, "the drive states no power (device.energy)")
    origin = f"between idle and active by how busy the dies are; {row.watts_source}"
    return Figure(drives * found, RATED, origin)


def price(row: Rated | None, drives: int = 1, dollars: float | None = None) -> Figure:
    """Price of all drives: yours, else the catalogue's with its date."""
    if dollars is not None:
        return Figure(drives * dollars, STATED, "your price")
    if row is None or row.price is None:
        return Figure(None, UNKNOWN, "no price is stated")
    return Figure(drives * row.price, STATED, f"the catalogue, {row.said}")


def said_years(found: Figure) -> str:
    """A lifetime with its kind, in words.

    >>> said_years(Figure(5.04, SIMULATED, "")), said_years(Figure(0.0112, BOUNDED, ""))
    ('5.04 years (simulated)', 'at least 4.09 days (by arithmetic)')
    """
    if found.value is None:
        return UNKNOWN
    if found.value == math.inf:
        return "unlimited"
    if found.kind == BOUNDED:
        return f"at least {life_text(found.value)} (by arithmetic)"
    return f"{life_text(found.value)} ({found.kind})"


def life_text(found: float | None) -> str:
    """A lifetime in words.

    >>> life_text(5.04), life_text(0.0112), life_text(1e5), life_text(math.inf), life_text(None)
    ('5.04 years', '4.09 days', 'more than 100 years', 'unlimited', 'not known')
    """
    if found is None:
        return UNKNOWN
    if found == math.inf:
        return "unlimited"
    if found > LONG:
        return f"more than {LONG} years"
    return f"{found:.3g} years" if found >= 1 else f"{DAYS * found:.3g} days"


def evenness_of(results: Mapping[str, Any]) -> float:
    """Evenness of a run's wear; 1 if unknown."""
    found = ((results.get("wear") or {}).get("lifetime") or {}).get("evenness")
    return 1.0 if found is None else float(found)


def scale_of(results: Mapping[str, Any]) -> int:
    """Scale of the simulated drive: size of the whole drive over the simulated part."""
    device = results["experiment"]["device"]
    while "member" in device:
        device = device["member"]
    return int(device.get("scale", 1))


def sold(experiment: Mapping[str, Any]) -> Rated | None:
    """The catalogue's row of the preset that an experiment names; None for another drive.

    Price and rated writes hold for the drive as sold: a changed one has neither. The part of a
    drive that is simulated (device.scale) may differ.
    """
    row = market.of_title(str(experiment["title"]))
    if row is None:
        return None
    device = experiment["device"]
    own = _text(device.get("member", device))
    changed = replace(row, price=None, dwpd=None)
    return next((it for it in market.models(row.model) if _preset(it.name) == own), changed)


def _text(device: Mapping[str, Any]) -> str:
    kept = {key: it for key, it in device.items() if key != "scale"}
    return json.dumps(kept, sort_keys=True, default=dict)


def _preset(name: str) -> str:
    return _text(_device(name)[0])


def capacity(name: str) -> float:
    """Capacity of a preset, bytes of the whole drive."""
    device, found = _device(name)
    return found * int(device.get("scale", 1))


@functools.cache
def _device(name: str) -> tuple[dict[str, Any], float]:
    """The keys of a drive, and the capacity of its simulated part."""
    stack = [market.layer(name)]
    return json.loads(_core.resolve_json(stack))["device"], float(_core.capacity_bytes(stack))
