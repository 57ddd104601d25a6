"""The endurance of a drive in closed form, and how it scales with the rated P/E cycles.

Bytes programmed until end of life are the flash's data bytes times the mean erases of a block: `TBW
= physical bytes x rated P/E cycles x evenness / write amplification`. Evenness is the mean erases
of a block at end of life / its rating. The most erased blocks have reached their rating then, so
evenness is mean / maximum erases. Drive writes per day are `DWPD = TBW / (capacity x 365 x years)`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

DAYS_PER_YEAR = 365


def written(physical_bytes: float, erasures: float, evenness: float, amplification: float) -> float:
    """Host bytes until end of life.

    >>> written(1.1e12, 3000, 0.96, 4.8) / 1e12
    660.0
    """
    return physical_bytes * erasures * evenness / amplification


def drive_writes_per_day(bytes_written: float, capacity_bytes: float, years: float) -> float:
    """Drive writes per day (DWPD) over `years` years.

    >>> drive_writes_per_day(1752e12, 960e9, 5)
    1.0
    """
    return bytes_written / (capacity_bytes * DAYS_PER_YEAR * years)


class Uneven(NamedTuple):
    """Loss by uneven wear: mean unused erases of a block at the drive's end of life.

    Wear that is concentrated on the same blocks loses a share of the erases. Random wear loses in
    proportion to their square root, which matters less for high ratings.
    """

    share: float
    by_chance: float

    def lost(self, mean: float) -> float:
        """Expected loss at a mean erase count of `mean`."""
        return self.share * mean + self.by_chance * math.sqrt(mean)

    def mean_erasures(self, rated: float) -> float:
        """Mean erases of a block at end of life, for a rating.

        >>> round(Uneven(0.0, 1.271).mean_erasures(800), 1), Uneven(1.0, 0.0).mean_erasures(800)
        (764.8, 400.0)
        """
        half = self.by_chance / (2 * (1 + self.share))
        return (math.sqrt(half**2 + rated / (1 + self.share)) - half) ** 2


def uneven(short: tuple[float, float], long: tuple[float, float]) -> Uneven:
    """Loss fitted to two lives, from rating and mean erases at end of life.

    Neither part is negative: if one would be, the longer life decides alone.

    >>> [round(part, 3) for part in uneven((100, 90), (400, 380))]
    [0.0, 1.026]
    >>> uneven((100, 50), (400, 200))
    Uneven(share=1.0, by_chance=0.0)
    """
    (less, mean), (rated, further) = short, long
    # The loss per mean erasure is linear in 1 / square root of the mean.
    first, last = less / mean - 1, rated / further - 1
    by_chance = (first - last) / (1 / math.sqrt(mean) - 1 / math.sqrt(further))
    by_chance = max(min(by_chance, last * math.sqrt(further)), 0.0)
    return Uneven(max(last - by_chance / math.sqrt(further), 0.0), by_chance)
