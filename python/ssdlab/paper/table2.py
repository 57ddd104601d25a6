"""Table 2 of the 2008 paper: drives of 2008, and a test of their assumed internals."""

from __future__ import annotations

from typing import Any

from ssdlab.paper.derived import DRIVES_OF_2008
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 2: a USB stick, a laptop drive, two enterprise drives"

#: Preset: name in the paper; published MB/s of sequential reads and writes, and IOPS of random 4
#: KiB reads and writes. Then, not in the paper: size and queue depth of sequential requests, and
#: queue depth of random requests.
DRIVES = {
    "usb-stick": ("USB", (11.7, 4.3, 150, 20), ("128KiB", 1), 1),
    "laptop-ssd": ("MTron", (100, 80, 11_000, 130), ("1MiB", 4), 4),
    "enterprise-ssd": ("Zeus", (200, 100, 52_000, 11_000), ("128KiB", 8), 32),
    "iodrive": ("FusionIO", (700, 600, 87_000, None), ("128KiB", 16), 64),
}
PATTERNS = (
    ("sequential read, MB/s", 1.0, 0.0),
    ("sequential write, MB/s", 0.0, 0.0),
    ("random 4 KiB reads/s", 1.0, 1.0),
    ("random 4 KiB writes/s", 0.0, 1.0),
)
#: Enough requests for a mean, and for settled garbage collection on the page-mapped drive.
REQUESTS = {"usb-stick": 500, "laptop-ssd": 4_000, "enterprise-ssd": 2_400_000, "iodrive": 40_000}


def run(study: Study) -> Item:
    """Each preset under each pattern."""
    found = study.measure(
        {
            (preset, name): _experiment(study, preset, read, random)
            for preset in DRIVES
            for name, read, random in PATTERNS
        }
    )
    alone = study.measure({"alone": _experiment(study, "iodrive", 1.0, 1.0, depth=1)})["alone"]
    rows = []
    for preset, (title, published, _, _) in DRIVES.items():
        for (name, _, random), figure in zip(PATTERNS, published, strict=True):
            host = found[preset, name].host.all
            simulated = host.iops if random else host.mb_per_s
            rows.append(Row(f"{title}, {name}", figure, simulated))
    usb, laptop = (found[name, "random 4 KiB writes/s"] for name in ("usb-stick", "laptop-ssd"))
    rows += [
        _reason("USB", usb),
        _reason("MTron", laptop),
    ]
    reads = found["iodrive", "random 4 KiB reads/s"].host.all.iops
    rows.append(
        Row(
            "FusionIO: random reads at once / one at a time",
            None,
            reads / alone.host.all.iops,
            note='"multiple parallel activities are clearly needed"',
            least=8,
            most=24,
        )
    )
    remarks = [
        "the inside of each drive is a guess, the paper's and ours, made to meet these rates; "
        "only the paper's reasons are judged. The paper has no figure for the "
        "ioDrive's random writes: here it has just been written once in sequence, so that nothing "
        "is cleaned."
    ]
    title = "Table 2: sample flash device performance"
    return Item("table2", title, rows, remarks=remarks, derived=DRIVES_OF_2008)


def _experiment(
    study: Study, preset: str, read: float, random: float, depth: int | None = None
) -> dict[str, Any]:
    _, _, (size, ordered_depth), random_depth = DRIVES[preset]
    wears = preset == "enterprise-ssd" and random > 0 and read == 0
    requests = REQUESTS[preset] if wears or random else REQUESTS[preset] // 4
    workload = {
        "kind": "closed",
        "read_share": read,
        "random_share": random,
        "block_size": "4KiB" if random else size,
        "outstanding": depth or (random_depth if random else ordered_depth),
        "requests": requests if wears else min(requests, 20_000),
    }
    device: dict[str, Any] = {"preset": preset}
    if study.quick:
        device["blocks_per_plane"] = 256
        workload["requests"] = requests // 8 if wears else min(requests, 5_000)
    experiment: dict[str, Any] = {"device": device, "workload": workload}
    if wears:
        experiment["run"] = {"precondition": "random:2"}
    return experiment


def _reason(drive: str, results: Any) -> Row:
    claim = "a write of 4 KiB rewrites a logical page of 64 pages"
    pages = (results.flash.page_programs - results.flash.pages_moved) / results.host.all.requests
    name = f"{drive}: pages programmed for a random write"
    return Row(name, 64, pages, 10, claim)
