"""Read retries of old data, after days without power.

A page whose levels have shifted is read again with other reference voltages, each retry in the same
time s. Latencies are t0 + k s for k retries: s is their period. With k <= j the levels have shifted
by less than j + w steps. Shifts are lognormal, so a line of ln(j + w) over the normal quantile of
the share with k <= j gives their mean; over age the mean is K (t / month)^p.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssdlab._core import InputError
from ssdlab.calibration.recipes import Found, Recipe, numbers, shell
from ssdlab.calibration.recipes.logs import latencies_us
from ssdlab.calibration.recipes.numbers import interval

MONTH_DAYS = 365.25 / 12
#: Distance from the best reference within which a page can be read, in steps: half of one when new,
#: less with its errors.
WINDOW = 0.45
#: Minimum number of requests at each age.
FEWEST = 1000
#: Range of tested periods, relative to the latency of fresh data, and their number.
SHORTEST, LONGEST, TRIED = 0.15, 4.0, 1200
#: Maximum number of retries; longer latencies have other causes, such as a search for references.
MOST_STEPS = 60
#: Number of requests used to find the period.
LOOKED_AT = 3000
#: Minimum agreement of latencies with a period (0 to 1); and relative to the best period, for a
#: multiple to replace it.
PERIODIC, AS_GOOD = 0.3, 0.85
#: Range of usable shares of retries: near 0 and 1 they rest on few pages.
TELLING = (0.02, 0.98)
NORMAL = statistics.NormalDist()

JOBS = shell.text("age.fio")
BODY = shell.text("age.sh")
PAGE = """\
# Read speed by age

`age.sh TARGET write` writes the first 8 GiB of the drive: DATA THERE ARE LOST. Later reads change
nothing. It needs fio, and patience: the drive lies unpowered for days, weeks and months, at a
temperature that you write down (10 C more is as if four times as long).

1. `sh age.sh /dev/nvme1n1 write`, then at once `sh age.sh /dev/nvme1n1 0`: data of 0 days.
2. Unplug the drive. After 7, 30, 90 and 365 days, or what you have: `sh age.sh /dev/nvme1n1 7`,
   right after it is plugged in, before the drive has time to refresh its data. Each age is read
   once: `age-7d.json` and its log stay in the directory.
3. `ssdlab calibrate DIRECTORY --fit age`, whenever there is another age.

Read an age only once, or on another copy: a drive may rewrite what took many retries.
"""


def scripts(capacity_bytes: int) -> Mapping[str, str]:
    """The files; 8 GiB of a drive represent it."""
    usage = "'write' writes the first 8 GiB of TARGET: DATA THERE ARE LOST."
    return {
        "age.md": PAGE,
        "age.sh": shell.script("age", usage, BODY, erases=False),
        "age.fio": shell.jobs("age", JOBS),
    }


def fit(directory: Path, settings: Mapping[str, float], time_scale: float) -> Found:
    """Level drift, from the latencies at each age."""
    found = Found()
    ages = _ages(directory)
    all_us = {
        age: [it / time_scale for it in latencies_us(directory, name)] for age, name in ages.items()
    }
    for age, values in all_us.items():
        if len(values) < FEWEST:
            raise InputError(
                f"{directory}, {ages[age]}: {len(values)} requests; at least {FEWEST:,} are needed"
            )
    fresh = statistics.median(all_us[0.0])
    step = _period(all_us, fresh, directory)
    found.add("fresh", _median_interval(all_us[0.0]), "us", "read of fresh data")
    found.add("step", step, "us", "one retry")
    days: list[float] = []
    means: list[float] = []
    drawn: list[list[float]] = []
    for age, values in sorted(all_us.items()):
        if age == 0.0:
            continue
        retries = [round((it - fresh) / step[0]) for it in values]
        retries = [it for it in retries if 0 <= it <= MOST_STEPS]
        moved = _moved(retries)
        share = sum(it > 0 for it in retries) / len(retries)
        if moved is None:
            found.notes.append(f"{ages[age]}: {share:.1%} of the reads take retries: no drift seen")
            continue
        days.append(age)
        means.append(moved)
        some = retries

        def again(draw: random.Random, some: Sequence[int] = some) -> float | None:
            return _moved(draw.choices(some, k=len(some)))

        drawn.append(numbers.resampled(again))
        subject = f"steps that levels have moved after {age:g} days, mean"
        found.add(f"drift_{age:g}d", interval(moved, drawn[-1]), "steps", subject)
    if not days:
        raise InputError(f"{directory}: no age of {len(ages)} shows retries; read older data")
    if len(days) < 2:
        found.notes.append("one age with retries: no law of time; read another age")
        return found
    x = [math.log(it / MONTH_DAYS) for it in days]
    begin, power = numbers.line(x, [math.log(it) for it in means])
    lines = [
        numbers.line(x, [math.log(it[n]) for it in drawn]) for n in range(min(map(len, drawn)))
    ]
    half = numbers.slope_interval(x, [math.log(it) for it in means])
    _, low, high = interval(power, [it for _, it in lines])
    of_month = interval(math.exp(begin), [math.exp(it) for it, _ in lines])
    found.add("drift_month", of_month, "steps", "steps after a month")
    bounds = (power, min(low, power - half), max(high, power + half))
    found.add("power", bounds, "", "p of (t / month)^p")
    found.notes.append(
        "days count as the data lay: a day at 40 C is as 3.8 at 30 C. Compare with ssdlab retention"
    )
    return found


def _ages(directory: Path) -> dict[float, str]:
    """Ages in days, with the names of their result files."""
    found = {}
    for path in sorted(directory.glob("age-*d.json")):
        match = re.fullmatch(r"age-(\d+(?:\.\d+)?)d", path.stem)
        if match:
            found[float(match[1])] = path.stem
    if 0.0 not in found or len(found) < 2:
        raise InputError(
            f"{directory}: needed are age-0d.json and an older one, such as age-30d.json, with "
            "their logs"
        )
    return found


def _period(
    all_us: Mapping[float, Sequence[float]], fresh: float, directory: Path
) -> tuple[float, float, float]:
    """The time of a retry: the largest period in latencies above the fresh ones."""
    oldest = all_us[max(all_us)]
    spread = statistics.median(abs(it - fresh) for it in all_us[0.0])
    beyond = [it - fresh for it in oldest if it > fresh + max(4 * spread, SHORTEST * fresh)]
    beyond = [it for it in beyond if it < MOST_STEPS * LONGEST * fresh][:LOOKED_AT]
    if len(beyond) < FEWEST // 10:
        raise InputError(f"{directory}: no age shows retries; read older data")

    def agrees(period: float, values: Sequence[float]) -> float:
        return sum(math.cos(2 * math.pi * it / period) for it in values) / len(values)

    ratio = (LONGEST / SHORTEST) ** (1 / TRIED)
    tried = [SHORTEST * fresh * ratio**n for n in range(TRIED + 1)]
    scores = [agrees(it, beyond) for it in tried]
    best = max(scores)
    if best < PERIODIC:
        raise InputError(
            f"{directory}: the latencies of old data have no period: is the drive busy, or warm?"
        )
    # Fractions of a period fit as well: take the longest.
    at = max(n for n, score in enumerate(scores) if score >= AS_GOOD * best)
    while at + 1 < len(scores) and scores[at + 1] > scores[at]:
        at += 1
    while at > 0 and scores[at - 1] > scores[at]:
        at -= 1
    rough = tried[at]

    def refined(values: Sequence[float]) -> float:
        # Slope through the origin: added latency over the number of retries.
        pairs = [(round(it / rough), it) for it in values]
        products = sum(k * it for k, it in pairs)
        return float(products / max(1, sum(k * k for k, _ in pairs)))

    def again(draw: random.Random) -> float:
        return refined(draw.choices(beyond, k=len(beyond)))

    return interval(refined(beyond), numbers.resampled(again))


def _median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    some = values[:LOOKED_AT]

    def again(draw: random.Random) -> float:
        return float(statistics.median(draw.choices(some, k=len(some))))

    return interval(statistics.median(values), numbers.resampled(again))


def _moved(retries: Sequence[int]) -> float | None:
    """Mean level shift of pages in steps; None if too few needed retries."""
    count = len(retries)
    x, y = [], []
    below = 0
    for steps in range(max(retries) + 1):
        below += sum(it == steps for it in retries)
        share = below / count
        if TELLING[0] <= share <= TELLING[1]:
            x.append(NORMAL.inv_cdf(share))
            y.append(math.log(steps + WINDOW))
    if len(x) < 2:
        return None
    middle, spread = numbers.line(x, y)
    return math.exp(middle + spread * spread / 2)


RECIPE = Recipe(
    summary="read speed by age: the time of a retry, and how far levels drift with time",
    scripts=scripts,
    fit=fit,
)
