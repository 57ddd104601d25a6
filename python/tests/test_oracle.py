"""The eight validation runs of the 2008 simulator (DiskSim 4.0 with its SSD module).

Six are open synthetic loads, replayed draw by draw from its generator; two are traces with terms of
their own, which are not part of this repository: their tests run where the traces lie in
`../shared/traces`. What is compared is the time from leaving the host's queue, which the original
calls the device's response time, and the number of blocks cleaned.
"""

from pathlib import Path

import pytest

import ssdlab

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"

# name: requests, sequential share, read share; published: device mean in ms, blocks cleaned
SYNTHETIC = {
    "sr250k": (250_000, 1, 1, 0.132511, 0),
    "sw250k": (250_000, 1, 0, 0.310895, 0),
    "sw5m": (5_000_000, 1, 0, 0.334365, 77_493),
    "rr250k": (250_000, 0, 1, 0.136118, 0),
    "rw250k": (250_000, 0, 0, 0.329458, 0),
    "rw5m": (5_000_000, 0, 0, 0.593438, 143_179),
}
# name: trace; published: device mean in ms, blocks cleaned
TRACED = {
    "iozone": ("disksim_iozone_aligned2_100K.trace.zst", 6.394276, 129_772),
    "postmark": ("disksim_postmark_aligned2.trace.zst", 4.14033, 21_580),
}
#: Where ours differ: mean in us and blocks cleaned, as docs/original-simulator.md has them.
OURS = {
    "rr250k": (136.117, 0),
    "iozone": (6394.235, 129_773),
    "postmark": (4140.265, 21_580),
}


def for_the_night(names, longest):
    """A list of names as parameters, with their marks."""
    parameters = []
    for name in names:
        marks = [pytest.mark.nightly] if name == longest else []
        if name in TRACED:
            marks.append(pytest.mark.shared(f"traces/{TRACED[name][0]}"))
        parameters.append(pytest.param(name, marks=marks))
    return parameters


def compare(name, results, mean_ms, cleaned):
    host = results.host.all
    simulated_us = host.mean_us - host.breakdown_us.host_queue
    erases = results.flash.block_erases
    print(
        f"\n{name}: mean {simulated_us:.3f} us, published {mean_ms * 1000:.3f} us "
        f"({100 * (simulated_us / mean_ms / 1000 - 1):+.3f} %); "
        f"{erases} blocks cleaned, published {cleaned}"
    )
    mean_us, blocks = OURS.get(name, (round(mean_ms * 1000, 3), cleaned))
    assert round(simulated_us, 3) == mean_us
    assert erases == blocks


@pytest.mark.parametrize("name", for_the_night(SYNTHETIC, "rw5m"))
def test_synthetic(name):
    requests, sequential_share, read_share, mean_ms, cleaned = SYNTHETIC[name]
    workload = {
        "kind": "open",
        "requests": requests,
        "sequential_share": float(sequential_share),
        "read_share": float(read_share),
        "interarrival": "uniform(0, 1)",
        "sequential_interarrival": "uniform(0, 1)",
        "size": "exponential(0, 8)",
        "block_size": "4KiB",
        "footprint": "3593678848B",  # 7,018,904 sectors of 512 B
        "generator": "drand48",
    }
    results = ssdlab.run(device="disksim-ssd", workload=workload, seed=42)
    compare(name, results, mean_ms, cleaned)
    if name == "rw5m":
        host = results.host.all
        assert results.flash.pages_moved == 1_929_239
        assert (round(host.std_us, 3), round(host.max_us, 2)) == (970.446, 6518.65)


@pytest.mark.parametrize("name", for_the_night(TRACED, "iozone"))
def test_trace(name):
    file, mean_ms, cleaned = TRACED[name]
    results = ssdlab.run(device="disksim-ssd", trace=TRACES / file)
    compare(name, results, mean_ms, cleaned)
