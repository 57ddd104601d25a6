"""A fio job run by ssdlab and by fio itself, on a live device without latency: the same requests.

The streams are random, so distributions are compared. Two samples of n requests differ in their
cumulated shares by more than 1.95 sqrt(2 / n) once in a thousand times (Kolmogorov and Smirnov).
"""

import collections
import math
import shutil
import subprocess

import pytest

import ssdlab

CAPACITY = 64 << 20
NOTHING = {
    f"device.{pattern}.{part}": "0ns"
    for pattern in ("sequential_read", "random_read", "sequential_write", "random_write")
    for part in ("fixed", "per_kib")
}
JOBS = {
    "sizes": "rw=randrw\nrwmixread=70\nbssplit=4k/50:8k/30:16k/20\nio_size=128m\nnorandommap",
    "zipf": "rw=randrw\nrwmixread=40\nbs=4k\nrandom_distribution=zipf:1.2:0.25\nio_size=64m",
    "sequential": "rw=write\nbs=64k",
    "every block once": "rw=randread\nbs=4k",
}


def requests_of(file):
    """Direction, first byte and bytes of each request of a trace."""
    rows = ssdlab.trace.head(file, 10**6).requests
    # fio ends with a flush of its own.
    return [
        (row["op"], row["sector"] * 512, row["sectors"] * 512)
        for row in rows
        if row["op"] != "flush"
    ]


def follows(rows):
    """Whether each request begins where the one before of its direction ended."""
    ends = {}
    for op, offset, size in rows:
        yield ends.get(op) == offset
        ends[op] = offset + size


def popularity(rows):
    """The rank of the block of each request, by how often it is asked for."""
    counts = collections.Counter(offset // 4096 for _, offset, _ in rows)
    for rank, (_, count) in enumerate(counts.most_common()):
        yield from [rank] * count


def distance(ours, theirs):
    """The largest difference of two distributions' cumulated shares."""
    counts = [collections.Counter(values) for values in (ours, theirs)]
    totals = [sum(count.values()) for count in counts]
    sums, largest = [0, 0], 0.0
    for value in sorted(counts[0].keys() | counts[1].keys()):
        sums = [so_far + count[value] for so_far, count in zip(sums, counts, strict=True)]
        largest = max(largest, abs(sums[0] / totals[0] - sums[1] / totals[1]))
    return largest


@pytest.mark.parametrize("name", JOBS)
def test_fio_asks_a_live_device_for_the_same(name, tmp_path):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False)
    if "nbd" not in engines.stdout:
        pytest.skip("fio has no engine nbd")
    job = f"[job]\n{JOBS[name]}\nsize={CAPACITY}\niodepth=8\n"
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    keys = {**NOTHING, "device.size": f"{CAPACITY}B"}
    ssdlab.run(device="zeus-linear", workload={"kind": "fio", "job": job}, set=keys, requests=ours)
    with ssdlab.serve("zeus-linear", socket=tmp_path / "socket", record=theirs, set=keys) as live:
        file = tmp_path / "live.fio"
        file.write_text(f"{job}ioengine=nbd\nuri={live.uri}\n")
        subprocess.run(["fio", file], check=True, capture_output=True, timeout=120, cwd=tmp_path)
    ours, theirs = requests_of(ours), requests_of(theirs)
    fewer = min(len(ours), len(theirs))
    # The sizes are drawn, and the job ends with its bytes.
    assert abs(len(ours) - len(theirs)) <= 0.02 * fewer
    figures = {
        "direction": lambda rows: [row[0] for row in rows],
        "size": lambda rows: [row[2] for row in rows],
        "position": lambda rows: [row[1] for row in rows],
        "follows": lambda rows: list(follows(rows)),
        "popularity": lambda rows: list(popularity(rows)),
    }
    differences = {what: distance(of(ours), of(theirs)) for what, of in figures.items()}
    print(name, len(ours), len(theirs), differences)
    bound = 1.95 * math.sqrt(2 / fewer)
    assert all(difference < bound for difference in differences.values()), differences
    assert fewer >= 1024
