"""What a drive may be written, in closed form, and how that goes with the rated erasures.

What is programmed until the end is what the flash holds, times the mean erasures of a block:
`TBW = physical bytes x rated erasures x evenness / write amplification`. Evenness is the mean
erasures of a block at the end / its rating. The most erased blocks have had their rating then, so
that this is mean / most erasures. A day of service has `DWPD = TBW / (capacity x 365 x years)`.
"""

from __future__ import annotations

import math

DAYS_PER_YEAR = 365

#: The differences of wear that is drawn by chance grow with the square root of the erasures; those
#: of wear that always falls on the same blocks grow with the erasures.
BY_CHANCE, ALWAYS = 0.5, 1.0


def written(physical_bytes: float, erasures: float, evenness: float, amplification: float) -> float:
    """Bytes that the host may write.

    >>> written(1.1e12, 3000, 0.96, 4.8) / 1e12
    660.0
    """
    return physical_bytes * erasures * evenness / amplification


def drive_writes_per_day(bytes_written: float, capacity_bytes: float, years: float) -> float:
    """Capacities that may be written each day of so many years.

    >>> drive_writes_per_day(1752e12, 960e9, 5)
    1.0
    """
    return bytes_written / (capacity_bytes * DAYS_PER_YEAR * years)


def growth(short: tuple[float, float], long: tuple[float, float]) -> float:
    """With which power of the mean erasures those that are lost to uneven wear grow.

    Each life is the rating with which it was simulated and its mean erasures at the end.

    >>> round(growth((100, 90), (400, 380)), 2), growth((100, 50), (400, 200))
    (0.5, 1.0)
    """
    (rated, mean), (more, further) = short, long
    lost, more_lost = rated - mean, more - further
    if not (0 < lost < more_lost and 0 < mean < further):
        return BY_CHANCE
    power = math.log(more_lost / lost) / math.log(further / mean)
    return min(max(power, BY_CHANCE), ALWAYS)


def mean_erasures(rated: float, life: tuple[float, float], power: float) -> float:
    """The mean erasures at the end of a drive with that rating, by a life with another one.

    >>> round(mean_erasures(800, (100, 88.07), 0.5), 1)
    764.8
    """
    simulated, mean = life
    lost = max(simulated - mean, 0.0) / mean**power
    low, high = 0.0, float(rated)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle + lost * middle**power < rated else (low, middle)
    return low
