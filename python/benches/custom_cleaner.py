"""What a cleaning policy in Python costs, in microseconds a victim, by the blocks of the domain.

Held against the built-in greedy, in fast-forward. All but the first repeat what greedy said before,
so that the look is all they cost beside the answer. `make bench` calls it; the table is in
docs/write-a-cleaner.md.
"""

import sys
import time

import numpy as np

import ssdlab
from ssdlab import Clean, cleaners

SIZES = (512, 4096, 32768)


def settings(blocks):
    """One domain of `blocks` blocks of 16 data pages, overwritten twice."""
    return {
        "device.channels": 1,
        "device.dies_per_package": 1,
        "device.planes_per_die": 1,
        "device.blocks_per_plane": blocks,
        "device.pages_per_block": 17,
        "workload.requests": 50,
        "run.precondition": "random:2",
        "cleaning.tie_break": "lowest",
    }


class Recording:
    """Greedy, which keeps what it says."""

    def __init__(self):
        self.said = []

    def step(self, view):
        """The victim with the fewest valid pages."""
        self.said.append(view.emptiest)
        return Clean(self.said[-1])


class Repeating:
    """Says what was said before, after a look."""

    def __init__(self, said, look):
        self.answers, self.look = iter(said), look

    def step(self, view):
        """The next of the answers."""
        self.look(view)
        return Clean(next(self.answers))


class Emptiest:
    """Greedy, answered by the drive's own order."""

    def step(self, view):
        """The one line."""
        return Clean(view.emptiest)


def by_numpy(view):
    """Greedy by a pass over all blocks."""
    return np.where(view.states == cleaners.CLOSED, view.valid, view.pages).argmin()


def windowed(view):
    """Greedy among the 64 oldest candidates."""
    blocks = view.oldest_first(64)
    return blocks[view.valid[blocks].argmin()]


LOOKS = {
    "only answers": lambda view: None,
    "looks at two arrays": lambda view: (view.valid, view.states),
    "looks at four arrays": lambda view: (view.valid, view.states, view.opened, view.erases),
    "asks NumPy for view.valid.argmin()": lambda view: view.valid.argmin(),
    "finds the emptiest of view.oldest_first(64)": windowed,
    "finds the emptiest by numpy.where and argmin": by_numpy,
}
ONE_LINE = "is greedy: Clean(view.emptiest)"


def seconds(make, chosen):
    """The least processor time of three runs."""
    best = float("inf")
    for _ in range(3):
        policy = make()
        started = time.process_time()
        ssdlab.run(set=chosen, cleaner=policy)
        best = min(best, time.process_time() - started)
    return best


def main():
    """Print the table."""
    sizes = [*map(int, sys.argv[1:])] or SIZES
    rows = {name: [] for name in (ONE_LINE, *LOOKS)}
    for blocks in sizes:
        chosen = settings(blocks)
        first = Recording()
        ssdlab.run(set=chosen, cleaner=first)
        victims, nothing = len(first.said), seconds(lambda: None, chosen)

        for name, look in LOOKS.items():
            spent = seconds(lambda look=look, said=first.said: Repeating(said, look), chosen)
            rows[name].append(1e6 * (spent - nothing) / victims)
        rows[ONE_LINE].append(1e6 * (seconds(Emptiest, chosen) - nothing) / victims)
    print("| a `step` that | " + " | ".join(f"{blocks:,} blocks" for blocks in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for name, costs in rows.items():
        print(f"| {name} | " + " | ".join(f"{cost:.1f}" for cost in costs) + " |")


if __name__ == "__main__":
    main()
