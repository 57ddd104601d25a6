"""Does the advice of `ssdlab why` hold? Ten bottlenecks, ten loads without one, and false proofs.

`python python/benches/why.py [--record]` runs `why` on each bottleneck among all groups of changes,
and the first advice by `compare` with ten seeds that no trial had. Loads that nothing improves come
from the tests. False proofs: 200 studies of 16 equal designs, whose p99 are drawn from one pool
of runs with a tail of two values. `--record` writes `why.tsv`; the status is 1 if an advice is not
confirmed, a load without a bottleneck gets one, or more than 5 % of the studies prove a gain.
"""

import math
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ssdlab
from ssdlab.comparison import grid
from ssdlab.explaining import intervals, tried
from ssdlab.running import layers_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from test_why import NEW, NOTHING

THROUGHPUT = {"goal": "throughput"}
LIGHT = {"workload.requests": 20_000}
USED = {"run.precondition": "random:1"}
#: Device, workload, keys, how it is asked, and parts of advice that would be right.
BOTTLENECKS = {
    "one channel": (
        "tlc-enterprise", "random-read",
        NEW | {"device.channels": 1, "device.dies_per_package": 16}, THROUGHPUT, ("channels",),
    ),
    "few dies": (
        "tlc-enterprise", "random-read",
        NEW | {"device.channels": 2, "device.dies_per_package": 1}, THROUGHPUT,
        ("channels", "dies"),
    ),
    "a slow host link": (
        "tlc-enterprise", "sequential-read", NEW | {"device.host_link.bandwidth": "sata-300"},
        THROUGHPUT, ("host link",),
    ),
    "little spare space": (
        "tlc-enterprise", "random-write",
        NEW | {"device.over_provisioning": 0.05, "run.precondition": "random:2"}, THROUGHPUT,
        ("spare",),
    ),
    "cleaning in bursts": (
        "tlc-client", "ssdiq-load", NEW | LIGHT | USED, {"goal": "write.p99"}, ("pace",),
    ),
    "a map that does not fit": (
        "tlc-enterprise", "random-read", NEW | {"device.map.memory": "1MiB"}, {}, ("map",),
    ),
    "a small SLC cache": (
        "samsung-980pro", "sequential-write", LIGHT, THROUGHPUT, ("SLC cache",),
    ),
    "one command at a time": (
        "tlc-enterprise", "random-read", NEW | {"device.host_link.queue_depth": 1}, {}, ("queue",),
    ),
    "one core": (
        "tlc-enterprise", "random-read", NEW | {"device.firmware.cores": 1}, THROUGHPUT,
        ("cores",),
    ),
    "dies that cannot overlap": (
        "agrawal2008-array-6", "random-read",
        {"device.member.blocks_per_plane": 64, "workload.requests": 4000, "device.stripe": "4KiB",
         "workload.block_size": "64KiB"}, THROUGHPUT, ("dies work apart",),
    ),
}  # fmt: skip
#: Twice-valued tails: seeds of this load have a p99 of writes of either 10 us or milliseconds.
BIMODAL = (
    "tlc-enterprise", "ssdiq-load",
    {"device.blocks_per_plane": 64, "device.over_provisioning": 0.15, "workload.requests": 6000,
     "device.cleaning.pace": "burst", "run.precondition": "random:1"},
)  # fmt: skip
POOL, STUDIES, DESIGNS = 400, 200, 16
HEADS = ("case", "metric", "first advice", "times better", "confirmed", "CPU, s")


def asked(device, workload, keys, words):
    """The answer, and its CPU seconds."""
    began = time.process_time()
    why = tried(layers_of(device=device, workload=workload, set=keys), **words)
    return why, time.process_time() - began


def again(device, workload, keys, why):
    """The first advice with ten seeds that no trial had."""
    column = [why.metric.column]
    said = grid.compare_over(
        "as-is",
        why.best.change.side,
        below=layers_of(device=device, workload=workload),
        assignments=[f"{key}={value}" for key, value in keys.items()],
        minimize=[] if why.metric.maximize else column,
        maximize=column if why.metric.maximize else [],
        repeat=10,
        seed=100_000,
        workers=1,
    )
    return said.cells[0].verdict


def false_proofs():
    """Number of studies of equal designs that prove a gain."""
    device, workload, keys = BIMODAL

    def p99(seed):
        run = ssdlab.run(device=device, workload=workload, set=keys, seed=seed)
        return math.log(run.host.write.percentiles_us["99"])

    with ThreadPoolExecutor(2) as pool:
        values = [*pool.map(p99, range(POOL))]
    draw, wrong = random.Random(11), 0
    for _ in range(STUDIES):
        base, ratios, seeds = [], [[] for _ in range(DESIGNS)], 0

        def more(count, base=base, ratios=ratios):
            base += draw.choices(values, k=count)
            for one in ratios:
                one += [a - draw.choice(values) for a in base[-count:]]

        def proved(base=base, ratios=ratios):
            spread = statistics.stdev(base)
            gains = [intervals.gain(it, DESIGNS + 1, spread).verdict for it in ratios]
            return [it for it, said in zip(ratios, gains, strict=True) if said == intervals.HELPS]

        while (look := intervals.next_look(seeds)) is not None and not (seeds and proved()):
            more(look - seeds)
            seeds = look
        more(intervals.FRESH)
        spread = statistics.stdev(base)
        wrong += any(intervals.holds(it[-intervals.FRESH :], spread) for it in proved())
    return wrong, values


def main():
    """Run all cases, and print a line for each."""
    rows, failed = [], 0
    for name, (device, workload, keys, words, right) in BOTTLENECKS.items():
        why, seconds = asked(device, workload, keys, words)
        best = why.best
        verdict = "-" if best is None else again(device, workload, keys, why)
        advice = "none" if best is None else best.change.name
        gain = "-" if best is None else f"{math.exp(best.gain.mean):.2f}"
        is_right = verdict == "better" and any(it in advice for it in right)
        failed += not is_right
        rows.append((name, why.metric.name, advice, gain, verdict, f"{seconds:.1f}"))
        print(*rows[-1], sep="\t", flush=True)
    for name, (device, workload, keys, words) in NOTHING.items():
        why, seconds = asked(device, workload, keys, words)
        advice = "none" if why.best is None else why.best.change.name
        failed += why.best is not None
        rows.append((name, why.metric.name, advice, "-", "-", f"{seconds:.1f}"))
        print(*rows[-1], sep="\t", flush=True)
    began = time.process_time()
    wrong, values = false_proofs()
    failed += wrong > 0.05 * STUDIES
    high = sum(it > math.log(1000) for it in values)
    name = f"{STUDIES} studies of {DESIGNS} equal designs; {high} of {POOL} tails above 1 ms"
    seconds = time.process_time() - began
    rows.append((name, "p99 of writes", f"{wrong} prove a gain", "-", "-", f"{seconds:.1f}"))
    print(*rows[-1], sep="\t", flush=True)
    print(f"{len(rows) - failed} passed, {failed} failed")
    if "--record" in sys.argv:
        lines = ["\t".join(row) for row in (HEADS, *rows)]
        Path(__file__).with_suffix(".tsv").write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
