"""The original 2008 simulator under many configurations: mean response and blocks cleaned.

Its results and the traces that it was given have terms of their own and are not part of this
repository: the test runs where they lie in `../shared`. Every run is within 3 % or is an exception
with a reason; `docs/original-simulator.md` tells the reasons at length.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ssdlab

SHARED = Path(__file__).resolve().parents[3] / "shared"
MATRIX = SHARED / "oracle" / "matrix.json"
TOLERANCE = 0.03

# The streams of the gang runs arrive more slowly than those of the files: by these factors, found
# with the runs without gangs.
GANG_TIME_SCALE = {"w_tpcc": 8, "w_rd128k": 10}
BUS = {1: "none", 2: "die", 4: "plane-pair", 8: "plane"}


def exception(name, workload, c):
    """Why a run of the original is not comparable, or None."""
    units, pool = c["Number of parallel units"], c["Allocation pool logic"]
    gang, cleans = c["Elements per gang"], not workload.startswith("w_rd")
    if not c["Copy back"] and cleans:
        return (
            "without copy-back it cleans in lumps of two, counts a block too many, moves for free"
        )
    if units > 1 and cleans:
        return "while one unit of a package is cleaned, the others serve nothing"
    if units > 1 and pool == 2:
        return "reads of a package go in rounds that wait for their slowest"
    if pool == 2 and workload == "w_wr128k":
        return "its static map follows the old copy, ours the address"
    if pool == 0 and gang > 1 and "sync" in name.split("__")[2][:4]:
        return "the transfers of a synchronous gang are serial, as over one bus"
    if pool == 0 and gang > 1 and c["Gang share"] == 1:
        return "on a shared bus cell operations are serial too"
    if pool == 0 and gang in (2, 4) and workload not in ("w_rd128k",):
        return "its gangs are neighbours in the stripe, ours lie on different channels"
    if c["Minimum free blocks percentage"] == 1 and c["Blocks per plane"] < 100:
        return "it cleans a plane when no block is free, we keep one"
    if c["Reserve pages percentage"] in (5, 8) and c["Blocks per plane"] < 100:
        return "it cleaned for longer than its stream of requests lasts: the stream is another"
    if c["Reserve pages percentage"] == 10 and c["Blocks per plane"] < 100:
        return "the block that it loses is a thirty-second of the spare"
    return None


def settings(name, workload, requests, c):
    """The keys that make `disksim-ssd` the drive of a run, and its trace the stream."""
    planes, units = c["Planes per package"], c["Number of parallel units"]
    pool, gang = c["Allocation pool logic"], c["Elements per gang"]
    interleave = BUS[units]
    dies = 2 if planes >= 4 else 1
    if planes != 8 and units > 1:
        dies, interleave = units, "die"
    free = c["Minimum free blocks percentage"] / 100
    keys = {
        "device.dies_per_package": dies,
        "device.planes_per_die": planes // dies,
        "device.blocks_per_plane": c["Blocks per plane"],
        "device.spare_blocks_per_plane": c["Reserve pages percentage"]
        * c["Blocks per plane"]
        // 100,
        "device.interleave": interleave,
        "device.pool": "plane" if pool == 2 else "package",
        "device.timing.read": f"{1000 * c['Page read latency']:g}us",
        "device.timing.program": f"{1000 * c['Page write latency']:g}us",
        "device.timing.erase": f"{c['Block erase latency']:g}ms",
        "device.timing.bus_per_byte": f"{1e6 * c['Chip xfer latency']:g}ns",
        "device.host_link.queue_depth": c["Max queue length"],
        "device.host_link.latency": f"{1000 * c['Command overhead']:g}us",
        "device.cleaning.min_free": free,
        "device.cleaning.copy_back": bool(c["Copy back"]),
    }
    synchronous = pool == 0 and "__sync" in name
    if not synchronous:
        keys["device.stripe"] = f"{4 * c['Element stride pages']}KiB"
    if pool == 0:
        shared = {1: "shared-bus", 2: "shared-control-async"}[c["Gang share"]]
        keys["device.gang"] = "shared-control-sync" if synchronous else shared
        keys["device.channels"], keys["device.packages_per_channel"] = 8 // gang, gang
        keys["workload.time_scale"] = GANG_TIME_SCALE.get(workload, 1)
    if c["Cleaning in background"]:
        keys["device.cleaning.background"] = True
        keys["device.cleaning.background_free"] = free
    if c["Cleaning policy"] == 3:
        migrates = c["Copy back"] and not name.endswith("_nomig")
        keys["device.cleaning.levelling.rule"] = "migrate" if migrates else "rate-limit"
    if requests == 99_999:
        keys["workload.requests"] = 100_000
    if c["Reserve pages percentage"] > 15 or planes < 8:
        # The original was given a stream over its own capacity, which is smaller.
        keys["workload.beyond"] = "scale"
    return keys


def trace(workload):
    name = workload if workload.startswith("disksim") else f"oracle_{workload}"
    return SHARED / "traces" / f"{name}.trace.zst"


def test_the_original_under_many_configurations():
    if not MATRIX.exists():
        pytest.skip(f"{MATRIX.name} of the original simulator is absent")
    matrix = json.loads(MATRIX.read_text())
    runs, exceptions, known = [], {}, {}
    for run in matrix["experiments"]:
        name, workload = run["name"], run["workload"]
        config = {**matrix["base"], **run["changed"]}
        why = exception(name, workload, config)
        if why is not None:
            exceptions.setdefault(why, []).append(name)
            continue
        keys = settings(name, workload, run["requests"], config)
        runs.append((run, known.setdefault((workload, json.dumps(keys)), keys)))

    def simulate(case):
        (workload, _), keys = case
        return ssdlab.run(device="disksim-ssd", trace=trace(workload), set=keys, seed=1)

    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(known, pool.map(simulate, known.items()), strict=True))
    print()
    wrong = []
    for run, keys in runs:
        result = results[run["workload"], json.dumps(keys)]
        mean_ms = (result.host.all.mean_us - result.host.all.breakdown_us.host_queue) / 1000
        cleaned = result.flash.block_erases
        off = mean_ms / run["device_mean_ms"] - 1
        off_cleaned = cleaned / run["blocks_cleaned"] - 1 if run["blocks_cleaned"] else 0.0
        line = (
            f"{run['name']:45} {run['device_mean_ms']:9.4f} ms, here {mean_ms:9.4f} ({off:+.2%}); "
            f"{run['blocks_cleaned']:7} blocks cleaned, here {cleaned:7} ({off_cleaned:+.2%})"
        )
        print(line)
        if max(abs(off), abs(off_cleaned)) > TOLERANCE:
            wrong.append(line)
    for why, names in exceptions.items():
        print(f"not comparable, {why}: {', '.join(names)}")
    print(f"{len(runs)} runs compared, {sum(map(len, exceptions.values()))} exceptions")
    assert not wrong
    assert len(runs) >= 100
