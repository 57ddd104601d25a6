"""A log-structured merge tree compared with closed forms, and the effect of placement.

The workload `lsm` counts the tree's write amplification; the drive's is from untimed runs with
reclaim units smaller than the tree's files.
"""

from __future__ import annotations

import math
from typing import Any

from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "RocksDB: write amplification of leveled merging, and of the drive with hints"

#: The drive: 512 superblocks of 1.5 MiB.
DRIVE = {
    "device.channels": 1,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.packages_per_channel": 1,
    "device.blocks_per_plane": 512,
    "device.pages_per_block": 96,
    "device.scale": 1,
    "device.spare_factor": 0.12,
    "device.buffer.size": "1MiB",
    "device.buffer.copies": "1MiB",
    "run.timed": False,
}
#: A third of the drive remains for logs, level 0 and merges, about the required space.
FAN_OUT, DATA_MIB, BASE_MIB = 8, 448, 8


def _load(**keys: Any) -> dict[str, Any]:
    return {
        "kind": "lsm",
        "data": f"{DATA_MIB}MiB",
        "memtable": "1MiB",
        "l1": f"{BASE_MIB}MiB",
        "file": "2MiB",
        "fan_out": FAN_OUT,
        "buffer": "256KiB",
        "request_size": "256KiB",
        # Small write groups do not overtake the merges of an untimed run: otherwise level 0 would
        # exceed its limit, and write amplification fall below the closed form.
        "append": "16KiB",
        "merges": 4,
        "outstanding": 1,
        **keys,
    }


def _in_order(requests: int) -> dict[str, Any]:
    """Keys in order need no merges, so that levels and files have no effect."""
    merges = ("l1", "file", "fan_out", "buffer", "merges")
    load = _load(requests=requests, keys="sequential")
    return {key: value for key, value in load.items() if key not in merges}


def run(study: Study) -> Item:
    """The tree, keys in order, and four placements; `quick` runs fewer requests."""
    requests = 150_000 if study.quick else 500_000
    handles = {"device.fdp.handles": 8}
    runs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "none": (_load(requests=requests), {}),
        "no trim": (_load(requests=requests, trim=False), {}),
        "in order": (_in_order(requests // 4), {}),
        "hints": (_load(requests=requests, placement="hints"), handles),
        "shifted": (_load(requests=requests, placement="shifted"), handles),
        "level": (_load(requests=requests, placement="level"), handles),
    }
    requested = {
        name: {"device": "tlc-enterprise", "workload": load, "set": DRIVE | more}
        for name, (load, more) in runs.items()
    }
    found = study.measure(requested)
    levels = math.ceil(math.log(DATA_MIB / BASE_MIB, FAN_OUT))
    least, most = levels * (FAN_OUT / 2 + 1) + 2, levels * (FAN_OUT + 1) + 4
    tree, order = _tree(found["none"]), _tree(found["in order"])
    drive = {name: _drive(it) for name, it in found.items()}
    rows = [
        Row("of the tree, uniform keys", None, tree, least=least, most=most,
            note=f"{least:.0f} to {most:.0f} for {levels} levels below the base level"),
        Row("of the tree, keys in order", 2.0, order, 2, "log and flush, no merges"),
        Row("of the drive, trims and no placement", None, drive["none"]),
        Row("of the drive, with trims / without", None, drive["none"] / drive["no trim"],
            note="trims keep it below that without", least=0.5, most=1),
        Row("of the drive, without trims", None, drive["no trim"],
            note="above 1.3: deleted files are moved", least=1.3, most=2.6),
        Row("of the drive, a handle for each level / without", None, drive["level"] / drive["none"],
            note="no worse than without", least=0.5, most=1.02),
        Row("of the drive, hints of levels shifted down", None, drive["shifted"], None,
            "not judged: these files leave either form of hints next to nothing to move"),
        Row("of the drive, default hints", None, drive["hints"]),
    ]  # fmt: skip
    return Item("lsm", "Log-structured merge trees", rows)


def _count(results: Results, name: str) -> float:
    return float(results.to_dict()["workload"]["notices"][f"lsm_{name}_bytes"])


def _tree(results: Results) -> float:
    """Bytes written to the device per user byte, after the load phase."""
    written = sum(_count(results, name) for name in ("logged", "flushed", "merged"))
    return written / _count(results, "user")


def _drive(results: Results) -> float:
    return float(results.flash.write_amplification)
