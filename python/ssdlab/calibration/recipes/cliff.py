"""The SLC cache: its size, the write rate without it, and its fold rate.

An empty drive is filled sequentially: the rate falls when the cache is full, and again when native
cells are used up and each byte waits for (bits - 1) others to be folded. Then, five times, the
drive is discarded, slightly more than the cache size is written, and after a rest the same amount
again. The part written at cache speed is the recovered cache, f (t - t0).
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssdlab._core import InputError
from ssdlab.calibration.recipes import Found, Recipe, numbers, shell
from ssdlab.calibration.recipes.logs import bandwidth, stage
from ssdlab.calibration.recipes.numbers import Samples, interval, rate

#: Minimum ratio of distinct rates; minimum number of samples in a stretch; maximum number of
#: samples.
RATIO, FEWEST, MOST = 1.2, 3, 400
#: Stages that follow a rest.
RESTS = (1, 2, 3, 4, 5)
#: A rest that recovers more than this share of the cache counts as complete recovery.
ALL = 0.95
#: A copy that used less than this share of the cache size seen by other copies did not fill it.
FILLED = 0.75

JOBS = shell.text("cliff.fio")
#: The cache ends when six successive samples are below 0.7 of the first second's rate. Bandwidths
#: are in KiB a second, times in ms.
BODY = shell.text("cliff.sh")
PAGE = shell.text("cliff.txt")


def scripts(capacity_bytes: int) -> Mapping[str, str]:
    """The files; sizes are shares of the drive."""
    usage = "Writes all of TARGET: ALL DATA ON IT ARE LOST."
    return {
        "cliff.md": PAGE,
        "cliff.sh": shell.script("cliff", usage, BODY, erases=True),
        "cliff.fio": shell.jobs("cliff", JOBS),
    }


def fit(directory: Path, settings: Mapping[str, float], time_scale: float) -> Found:
    """Cache size and rates, from the logs of the stages."""
    found = Found()
    fill = stage(directory / "fill.json")
    samples = _at_model_speed(bandwidth(directory, fill, "write"), time_scale)
    samples = numbers.thinned(samples, MOST)
    parts = numbers.stretches(samples, 3, RATIO, FEWEST)
    pieces = [samples[start:end] for start, end in parts]
    rates = [rate(_inner(piece)) for piece in pieces]
    if len(pieces) < 2 or rates[1] > rates[0]:
        raise InputError(
            f"{directory}: fill is written at one rate, {rate(samples) / 1e6:.4g} MB/s, or becomes "
            "faster: no SLC cache is seen"
        )
    fast, direct = pieces[:2]
    found.add(
        "cache",
        _crossing(fast, direct),
        "B",
        "C, capacity of the cache of an empty drive",
    )
    found.add("fast", _rate(fast), "B/s", "writes into the cache")
    found.add("direct", _rate(direct), "B/s", "B_d, writes when it is full")
    forced = pieces[2] if len(pieces) > 2 and rates[2] < rates[1] else None
    if forced is not None:
        before = sum(amount for _, amount in fast)
        at = tuple(before + it for it in _crossing(direct, forced))
        found.add("native_end", (at[0], at[1], at[2]), "B", "written until space must be folded")
        found.add("forced", _rate(forced), "B/s", "writes that wait for folds")
        folds = _forced_fold(direct, forced, settings["bits"])
        found.add("forced_fold", folds, "B/s", "fold rate behind it, 1/(bits-1) bytes a byte")
    else:
        found.notes.append("fill ends before writes wait for folds: no rate of forced folds")
    _recovery(directory, time_scale, (fast, direct), found)
    values = {it.name: it.value for it in found.quantities}
    found.keys["device.slc_cache.limit"] = f"{values['cache'] / 1e6:.0f}MB"
    if "fold" in values:
        found.keys["device.slc_cache.fold_rate"] = f"{values['fold'] / 1e6:.4g}MB/s"
        if values["fold_after"] > 0:
            found.keys["device.slc_cache.fold_after"] = f"{values['fold_after']:.3g}s"
        else:
            found.notes.append("folds go on beside writes behind the cache: fold_after is unknown")
    return found


def _at_model_speed(samples: Samples, time_scale: float) -> list[tuple[float, float]]:
    return [(seconds / time_scale, amount) for seconds, amount in samples]


def _inner(piece: Samples) -> Samples:
    """Samples without the first and last, which may mix two rates."""
    return piece[1:-1] if len(piece) > FEWEST else piece


def _rate(piece: Samples) -> tuple[float, float, float]:
    inner = _inner(piece)
    return interval(rate(inner), numbers.resampled(lambda draw: rate(numbers.drawn(inner, draw))))


def _bytes_at(first: float, second: float, both: Samples) -> float:
    """Bytes written at the first of two rates, given the bytes of both."""
    seconds, amount = (sum(it[position] for it in both) for position in (0, 1))
    if first <= second:
        return 0.0
    return min(amount, max(0.0, first * (amount - second * seconds) / (first - second)))


def _crossing(one: Samples, other: Samples) -> tuple[float, float, float]:
    """Bytes written at the first rate, interpolated within a sample."""
    both = [*one, *other]

    def of(draw: random.Random | None) -> float:
        rates = [
            rate(_inner(it)) if draw is None else rate(numbers.drawn(_inner(it), draw))
            for it in (one, other)
        ]
        return _bytes_at(rates[0], rates[1], both)

    return interval(of(None), numbers.resampled(of))


def _forced_fold(direct: Samples, forced: Samples, bits: float) -> tuple[float, float, float]:
    """The fold rate f of 1/B = 1/B_d + 1/((bits - 1) f)."""

    def of(rates: Sequence[float]) -> float:
        slower = 1 / rates[1] - 1 / rates[0]
        return 1 / ((bits - 1) * slower) if slower > 0 and bits > 1 else math.inf

    pieces = [_inner(direct), _inner(forced)]
    drawn = numbers.resampled(lambda draw: of([rate(numbers.drawn(it, draw)) for it in pieces]))
    return interval(of([rate(it) for it in pieces]), drawn)


def _recovery(
    directory: Path,
    time_scale: float,
    pieces: tuple[Samples, Samples],
    found: Found,
) -> None:
    """Bytes recovered by rests, and the line through them."""
    rates = [rate(_inner(piece)) for piece in pieces]
    points: list[tuple[float, Samples]] = []
    used = {}
    for number in RESTS:
        copy = stage(directory / f"copy-{number}.json")
        samples = _at_model_speed(bandwidth(directory, copy, "write"), time_scale)
        used[number] = _bytes_at(rates[0], rates[1], samples)
    usual = statistics.median(used.values())
    for number in RESTS:
        before, again = (stage(directory / f"{it}-{number}.json") for it in ("copy", "again"))
        name = again.name
        rest = (again.began_s - before.ended_s) / time_scale
        if used[number] < FILLED * usual:
            found.notes.append(
                f"{before.name}: the cache took less of it than of the others, as after a drive "
                "that was full: left out"
            )
            continue
        samples = _at_model_speed(bandwidth(directory, again, "write"), time_scale)
        given = _bytes_at(rates[0], rates[1], samples)
        whole = sum(amount for _, amount in samples)
        if given >= ALL * min(whole, usual):
            found.notes.append(
                f"{name}: a rest of {rest:.4g} s gave all of the cache back, and might have more"
            )
        elif given <= (1 - ALL) * whole:
            found.notes.append(f"{name}: a rest of {rest:.4g} s gave nothing back")
        else:
            points.append((rest, samples))
    if len(points) < 2:
        found.notes.append(
            "fewer than two rests gave back a part of the cache: no fold rate. Choose other PAUSES"
        )
        return
    rests = [rest for rest, _ in points]

    def of(draw: random.Random | None) -> tuple[float, float] | None:
        drawn = [
            rate(_inner(it)) if draw is None else rate(numbers.drawn(_inner(it), draw))
            for it in pieces
        ]
        given = [_bytes_at(drawn[0], _rate_beyond_cache(drawn, it), it) for _, it in points]
        begin, slope = numbers.line(rests, given)
        return None if slope <= 0 else (slope, -begin / slope)

    best = of(None)
    if best is None:
        found.notes.append("longer rests did not give back more of the cache: no fold rate")
        return
    slope, after = best
    drawn = [it for it in (of(random.Random(n)) for n in range(numbers.DRAWS)) if it is not None]
    _, low, high = interval(slope, [it for it, _ in drawn])
    half = numbers.slope_interval(
        rests, [_bytes_at(rates[0], _rate_beyond_cache(rates, it), it) for _, it in points]
    )
    bounds = (slope, min(low, slope - half), max(high, slope + half))
    found.add("fold", bounds, "B/s", "f, cache recovered per second of idle time")
    # The fitted line passes through the centre.
    centre = sum(rests) / len(rests)
    afters = [centre - (centre - after) * slope / it for it in bounds if it > 0]
    found.add("fold_after", interval(after, afters), "s", "rest before that begins")


def _rate_beyond_cache(rates: Sequence[float], samples: Samples) -> float:
    """Write rate beyond the cache after a rest; concurrent folding may lower it."""
    # The last sample may be incomplete.
    late = samples[-max(FEWEST, len(samples) // 4) - 1 : -1]
    own = rate(late)
    return own if own < math.sqrt(rates[0] * rates[1]) else rates[1]


RECIPE = Recipe(
    summary="the SLC cache: its size, the rates in and behind it, and how fast it is folded",
    scripts=scripts,
    fit=fit,
    settings={"bits": 3.0},
)
