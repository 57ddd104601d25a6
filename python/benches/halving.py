"""Successive halving against its whole grid: 108 drives under a load of writes in bursts.

`python python/benches/halving.py [--record]` sweeps the grid once, and halves it for each
objective. The table has the CPU seconds of both, and the best of each. `--record` writes
`halving.tsv`; the status is 1 if a search took more than a tenth of the grid's CPU time, or found
a point more than 5 % from the grid's best.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ssdlab

VARY = {
    "device.channels": [4, 8, 16],
    "device.over_provisioning": [0.07, 0.15, 0.28, 0.4],
    "device.cleaning.pace": ["burst", "token", "adaptive"],
    "device.buffer.size": ["16MiB", "32MiB", "64MiB"],
}
SET = {
    "device.blocks_per_plane": 64,
    "workload.requests": 1_000_000,
    "run.precondition": "steady",
}
OBJECTIVES = ("write.p99", "read.p99.9", "write_amplification_bytes")
HEADS = ("objective", "points", "grid, CPU s", "halving, CPU s", "share", "grid's best", "found")


def swept(**more):
    """A sweep, and its CPU seconds: threads count, processes would not."""
    began = time.process_time()
    found = ssdlab.sweep(
        device="tlc-enterprise",
        workload="ssdiq-load",
        vary=VARY,
        set=SET,
        executor=ThreadPoolExecutor(2),
        **more,
    )
    return found, time.process_time() - began


def main():
    """Sweep the grid, halve it, and print a line for each objective."""
    os.environ["SSDLAB_CACHE"] = "off"  # prepared drives of the grid would help the search
    grid, whole = swept(minimize=OBJECTIVES)
    rows, failed = [], 0
    for position, objective in enumerate(OBJECTIVES):
        found, seconds = swept(minimize=objective, halve=True)
        column = grid.goals.objectives[position].column
        best = min(grid.columns[column])
        mine = min(
            value
            for value, front in zip(found.columns[column], found.columns["pareto"], strict=True)
            if front
        )
        failed += bool(seconds > 0.1 * whole or mine > 1.05 * best)
        figures = (f"{whole:.1f}", f"{seconds:.1f}", f"{seconds / whole:.3f}")
        rows.append((objective, str(len(grid)), *figures, f"{best:.4g}", f"{mine:.4g}"))
        print(*rows[-1], sep="\t", flush=True)
    print(f"{len(rows) - failed} passed, {failed} failed")
    if "--record" in sys.argv:
        lines = ["\t".join(row) for row in (HEADS, *rows)]
        Path(__file__).with_suffix(".tsv").write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
