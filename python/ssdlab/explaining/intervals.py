"""Confidence intervals of gains under sequential testing, simultaneous over all changes and interim
tests. Each seed gives one paired log ratio, as both sides serve the same requests.

Their mean has a Student t interval. `1 - CONFIDENCE` is the error probability for *all* changes and
*all* interim tests together: every change gets an equal part of it (Bonferroni), and every test a
share, larger for later tests (`LOOKS`). So neither interim tests nor sixteen parallel changes
increase false findings. A p99 that jumps between two values is not Gaussian: four seeds that agree
by chance leave no width. So an interval is at least half as wide as the experiment's own spread
over seeds implies, and the first recommendation is confirmed on fresh seeds (`holds`). A change is
dropped without a gain on the first seed, below half of the minimum gain after two, or below the
minimum at a test. This adds no false findings, but may miss gains that are small against the noise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab.confidence import CONFIDENCE, student_quantile

#: Numbers of seeds at interim tests, with each test's share of the error probability. Fewer tests
#: would cost seeds for clear changes, more would widen intervals of close ones.
LOOKS = ((4, 0.2), (6, 0.3), (9, 0.5))
#: Minimum significant gain, as a ratio.
LEAST = 1.03
#: Lower bound of the standard deviation of paired ratios, as a share of the experiment's own.
PAIRED = 0.5
#: Number of recommendations to confirm, and of fresh seeds: six gains of six have a probability of
#: 1 in 64 by chance, below 5 % divided by three.
CONFIRMED, FRESH = 3, 6
#: Distance of the fresh seeds from the first ones.
FAR = 10_000

HELPS, HURTS, LITTLE, UNKNOWN = "helps", "hurts", "little", "cannot tell"
EXCLUDED = "no gain"
NO_EFFECT, TRADES = "no effect", "trades"
#: Verdict on a change dropped at the first seeds without gain.
DROPPED = "dropped"
#: Verdict on a gain that was not confirmed on fresh seeds.
FAILED = "not confirmed"
LEFT_OUT = "left out"


@dataclass(frozen=True)
class Gain:
    """Improvement of a metric: a log ratio, positive for a gain."""

    mean: float
    #: Half-width of the confidence interval; None for a single seed.
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
        """True if its first seeds, too few for an interval, showed too little gain."""
        return self.seeds < LOOKS[0][0] and self.mean <= (self.seeds > 1) * math.log(LEAST) / 2

    @property
    def is_hopeless(self) -> bool:
        """True if more seeds are unlikely to prove a gain."""
        return self.is_dropped or (self.seeds >= LOOKS[0][0] and self.mean < math.log(LEAST))

    @property
    def decided(self) -> bool:
        """True if a gain is proved or excluded, regardless of further seeds."""
        return self.verdict == HELPS or self.high < math.log(LEAST)


def gain(ratios: Sequence[float], comparisons: int, spread: float = 0.0) -> Gain:
    """The gain in paired log ratios, one per seed, among `comparisons`.

    `spread` is the standard deviation of the metric's logarithm without the change.

    >>> gain([0.2, 0.21, 0.19, 0.2], 1).verdict, gain([0.2, -0.2, 0.1, -0.1], 1).verdict
    ('helps', 'cannot tell')
    >>> gain([0.0, 0.0, 0.0, 0.0], 16).verdict
    'little'
    """
    count = len(ratios)
    mean = statistics.fmean(ratios)
    if count < LOOKS[0][0]:
        return Gain(mean, None, count)
    # Between interim tests, for instance when time runs out, use the next test's unspent share.
    share = next((share for seeds, share in LOOKS if count <= seeds), LOOKS[-1][1])
    error = (1 - CONFIDENCE) * share / max(comparisons, 1)
    width = student_quantile(1 - error / 2, count - 1)
    deviation = max(statistics.stdev(ratios), PAIRED * spread)
    return Gain(mean, width * deviation / math.sqrt(count), count)


def holds(fresh: Sequence[float], spread: float = 0.0) -> bool:
    """True if fresh seeds confirm a gain:

    each shows it, or their confidence interval is above 0.

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
    """Number of seeds at the next interim test; None after the last.

    >>> next_look(0), next_look(4), next_look(9)
    (4, 6, None)
    """
    return next((count for count, _ in LOOKS if count > seeds), None)
