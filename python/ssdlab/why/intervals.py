"""Confidence of a gain under sequential testing: intervals that hold together, and at every look.

Each seed gives one paired log ratio, as both sides serve the same requests. The mean of these has a
Student t interval. Its chance of being wrong is `1 - CONFIDENCE` for *all* changes and *all* looks
together: every change gets an equal part of the error (Bonferroni), and every look a share of it,
later looks larger ones (`LOOKS`). So looking at the seeds as they come, and at sixteen changes at
once, makes no finding more likely by chance.

Logarithms of a p99 that jumps between two values are no Gaussian: four seeds that happen to agree
leave the interval no width. So it is never narrower than half of the experiment's own spread over
seeds would make it, and the first advice has held on fresh seeds (`holds`).

A change is dropped that shows no gain with the first seed, half of the least with two, or less than
the least at a look, whatever later seeds would say: that finds nothing that is not there. It may
miss a gain that is small beside the noise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab.confidence import CONFIDENCE, student_quantile

#: Seeds after which is looked, and the share of the chance of an error that each look spends. One
#: look less would cost seeds for clear changes, one more width for close ones.
LOOKS = ((4, 0.2), (6, 0.3), (9, 0.5))
#: The least gain that counts, as a ratio.
LEAST = 1.03
#: A standard deviation of paired ratios below this share of the experiment's own is not believed.
PAIRED = 0.5
#: The number of first advices that are tried with fresh seeds, and of these seeds: six of six
#: gains come by chance with 1 in 64, which is below 5 % divided among three.
CONFIRMED, FRESH = 3, 6

HELPS, HURTS, LITTLE, UNKNOWN = "helps", "hurts", "little", "cannot tell"
EXCLUDED = "no gain"
NO_EFFECT, TRADES = "no effect", "trades"
#: Verdict on a change without gain at the first seeds, which was not continued.
DROPPED = "dropped"
#: Of a gain that did not hold on fresh seeds.
FAILED = "not confirmed"
LEFT_OUT = "left out"


@dataclass(frozen=True)
class Gain:
    """Improvement of a figure: a log ratio, above 0 where it is."""

    mean: float
    #: Half of the interval; None for a single seed.
    half: float | None
    seeds: int

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return -math.inf if self.half is None else self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return math.inf if self.half is None else self.mean + self.half

    @property
    def verdict(self) -> str:
        """Verdict of the interval."""
        if self.low > 0 and self.mean >= math.log(LEAST):
            return HELPS
        if self.high < 0 and self.mean <= -math.log(LEAST):
            return HURTS
        if self.high < math.log(LEAST) and self.low > -math.log(LEAST):
            return LITTLE
        return EXCLUDED if self.high < math.log(LEAST) else UNKNOWN

    @property
    def is_dropped(self) -> bool:
        """True if its first seeds, too few for an interval, showed no gain worth another."""
        return self.seeds < LOOKS[0][0] and self.mean <= (self.seeds > 1) * math.log(LEAST) / 2

    @property
    def is_hopeless(self) -> bool:
        """True if so little was gained by now that more seeds would hardly prove it."""
        return self.is_dropped or (self.seeds >= LOOKS[0][0] and self.mean < math.log(LEAST))

    @property
    def decided(self) -> bool:
        """True if further seeds could not change the advice: a gain is proved or excluded."""
        return self.verdict == HELPS or self.high < math.log(LEAST)


def gain(ratios: Sequence[float], comparisons: int, spread: float = 0.0) -> Gain:
    """The gain that paired log ratios show, one for each seed, among so many comparisons.

    `spread` is the standard deviation of the logarithm of the figure without the change.

    >>> gain([0.2, 0.21, 0.19, 0.2], 1).verdict, gain([0.2, -0.2, 0.1, -0.1], 1).verdict
    ('helps', 'cannot tell')
    >>> gain([0.0, 0.0, 0.0, 0.0], 16).verdict
    'little'
    """
    count = len(ratios)
    mean = statistics.fmean(ratios)
    if count < LOOKS[0][0]:
        return Gain(mean, None, count)
    # Between looks, as where time ran out: the next look's share, of which nothing is spent yet.
    share = next((share for seeds, share in LOOKS if count <= seeds), LOOKS[-1][1])
    error = (1 - CONFIDENCE) * share / max(comparisons, 1)
    width = student_quantile(1 - error / 2, count - 1)
    deviation = max(statistics.stdev(ratios), PAIRED * spread)
    return Gain(mean, width * deviation / math.sqrt(count), count)


def holds(fresh: Sequence[float], spread: float = 0.0) -> bool:
    """True if a gain holds on seeds that it was not found with.

    Each seed shows it, or their interval is above 0.

    >>> holds([0.1, 0.5, 0.2, 0.3, 0.1, 0.4]), holds([0.0, 5.0, 0.0, 0.0, 5.0, 5.0])
    (True, False)
    """
    if len(fresh) < FRESH:
        return False
    error = (1 - CONFIDENCE) / CONFIRMED
    width = student_quantile(1 - error / 2, len(fresh) - 1) / math.sqrt(len(fresh))
    deviation = max(statistics.stdev(fresh), PAIRED * spread)
    return min(fresh) > 0 or statistics.fmean(fresh) > width * deviation


def next_look(seeds: int) -> int | None:
    """Number of seeds at the next look; None after the last look.

    >>> next_look(0), next_look(4), next_look(9)
    (4, 6, None)
    """
    return next((count for count, _ in LOOKS if count > seeds), None)
