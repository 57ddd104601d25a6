"""Table 6 of the 2008 paper: a measured advantage and drawback of each technique."""

from __future__ import annotations

from typing import Any

from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 6: design trade-offs, each with gain and cost"

#: Pins of a package: data, and "a similar number of control pins" (section 3.1): 136 for eight.
DATA_PINS, CONTROL_PINS = 8, 9
#: A command and five address cycles at 40 MHz.
COMMAND = "150ns"

#: A small drive suffices.
SMALL = {"preset": "agrawal2008", "blocks_per_plane": 64}


def run(study: Study) -> Item:
    """Each technique compared with its absence."""
    part = 4 if study.quick else 1
    found = study.measure(_experiments(part))
    iops = {name: results.host.all.iops for name, results in found.items()}
    mean = {name: results.host.all.mean_us for name, results in found.items()}
    rows = [
        _row(
            "large allocation pool: load balancing",
            "writes/s to 4 stripes of 8, pool of the drive / of a package",
            iops["ssd pool"] / iops["package pool"],
            above=1.5,
        ),
        _row(
            "large allocation pool: few intra-chip operations",
            "time to clean a block, pool of a package, through the pins / of a plane, copy-back",
            _clean_us(found["package moves"]) / _clean_us(found["plane moves"]),
            above=1.3,
        ),
        _row(
            "large page size: small page table",
            "entries of the map, logical page 32 KiB / 4 KiB",
            _entries(found["32KiB page"]) / _entries(found["4KiB page"]),
            below=0.2,
            arithmetic=True,
        ),
        _row(
            "large page size: read-modify-writes",
            "latency of 4 KiB writes, logical page 32 KiB / 4 KiB",
            mean["32KiB page"] / mean["4KiB page"],
        ),
        _row(
            "overprovisioning: less cleaning",
            "blocks cleaned for the same writes, spare factor 0.25 / 0.12",
            _cleaned(found["spare 0.25"]) / _cleaned(found["spare 0.12"]),
            below=0.75,
        ),
        _row(
            "overprovisioning: reduced capacity",
            "capacity, spare factor 0.25 / 0.12",
            found["spare 0.25"].capacity_bytes / found["spare 0.12"].capacity_bytes,
            below=0.9,
            arithmetic=True,
        ),
        _row(
            "ganging: sparser wiring",
            "data paths, 8-gang / none",
            found["gang"].experiment.device.channels / found["no gang"].experiment.device.channels,
            below=0.2,
            arithmetic=True,
        ),
        *_pins(),
        _row(
            "shared control: wider than a shared bus",
            "4 KiB requests/s, half of them writes, 8-gang under shared control / on a shared bus",
            iops["mixed, control"] / iops["mixed, bus"],
            above=1.5,
        ),
        _row(
            "shared control: nearly as wide as full connection",
            "4 KiB requests/s, half of them writes, 8-gang under shared control / none",
            iops["mixed, control"] / iops["mixed, own"],
            above=0.95,
            most=1 / 0.95,
        ),
        _row(
            "ganging: reduced parallelism",
            "4 KiB reads/s, 8-gang / none",
            iops["gang"] / iops["no gang"],
            below=0.5,
        ),
        _row(
            "striping: concurrency",
            "latency of 32 KiB reads, stripe 4 KiB / 256 KiB",
            mean["fine stripe"] / mean["coarse stripe"],
            below=0.3,
        ),
        _row(
            "striping: loss of locality",
            "cleaning efficiency, 256 KiB random writes, stripe 4 KiB / 256 KiB",
            found["fine writes"].flash.cleaning.efficiency
            / found["coarse writes"].flash.cleaning.efficiency,
            below=0.8,
        ),
    ]
    return Item("table6", "Table 6: SSD design trade-offs in brief", rows)


def _experiments(part: int) -> dict[str, dict[str, Any]]:
    reads = {"kind": "closed", "outstanding": 32, "requests": 20_000 // part}
    writes = reads | {"read_share": 0.0}
    single = writes | {"outstanding": 1}
    random = {"precondition": "random:2"}
    four = single | {"outstanding": 8, "footprint": "16KiB"}
    large = {"outstanding": 4, "block_size": "256KiB", "requests": 20_000 // part}
    return {
        "ssd pool": {"device": SMALL | {"pool": "ssd"}, "workload": four},
        "package pool": {"device": SMALL, "workload": four},
        "4KiB page": {"device": SMALL | {"logical_page": "4KiB"}, "workload": single},
        "32KiB page": {
            "device": SMALL | {"logical_page": "32KiB", "stripe": "32KiB"},
            "workload": single,
        },
        "package moves": {"device": SMALL, "workload": writes, "run": random},
        "plane moves": {
            "device": SMALL | {"pool": "plane", "cleaning": {"copy_back": True}},
            "workload": writes,
            "run": random,
        },
        "spare 0.12": {"device": SMALL | {"spare_factor": 0.12}, "workload": writes, "run": random},
        "spare 0.25": {"device": SMALL | {"spare_factor": 0.25}, "workload": writes, "run": random},
        "no gang": {"device": SMALL, "workload": reads},
        "gang": {
            "device": SMALL | {"channels": 1, "packages_per_channel": 8},
            "workload": reads,
        },
        **_mixed(part),
        **{
            f"{word} stripe": {
                "device": SMALL | {"stripe": size},
                "workload": reads | {"outstanding": 1, "block_size": "32KiB"},
            }
            for word, size in (("fine", "4KiB"), ("coarse", "256KiB"))
        },
        **{
            f"{word} writes": {
                "device": SMALL | {"stripe": size, "spare_factor": 0.25},
                "workload": writes | large,
            }
            for word, size in (("fine", "4KiB"), ("coarse", "256KiB"))
        },
    }


def _mixed(part: int) -> dict[str, dict[str, Any]]:
    """Half reads, half writes on eight packages, by shared resource."""
    load = {"kind": "closed", "outstanding": 32, "read_share": 0.5, "requests": 20_000 // part}
    gang: dict[str, Any] = {"channels": 1, "packages_per_channel": 8}
    control = {"gang": "shared-control-async", "control_line": "command"}
    drives: dict[str, dict[str, Any]] = {"own": {}, "bus": gang, "control": gang | control}
    timing = {"timing": {"command": COMMAND}}
    return {
        f"mixed, {name}": {"device": SMALL | timing | keys, "workload": load}
        for name, keys in drives.items()
    }


def _pins() -> list[Row]:
    """Pins of the controller for eight packages."""
    counts = (
        ("each with pins of its own", 136, 8 * (DATA_PINS + CONTROL_PINS)),
        ("under shared control", None, 8 * DATA_PINS + CONTROL_PINS),
        ("on a shared bus", None, DATA_PINS + CONTROL_PINS),
    )
    note = "8 for data and 9 for control each; select and ready lines not counted apart"
    return [
        Row(f"pins of 8 packages, {name}", published, pins, 0, note, arithmetic=True)
        for name, published, pins in counts
    ]


def _row(
    name: str,
    what: str,
    value: float,
    above: float | None = None,
    below: float | None = None,
    most: float | None = None,
    arithmetic: bool = False,
) -> Row:
    """A technique compared with its absence; without a bound only the direction is shown."""
    bound, minimum = "", None
    if above is not None:
        bound, minimum, most = f": above {above:g}", above, most or WIDEST * above
    elif below is not None:
        bound, minimum, most = f": below {below:g}", below / WIDEST, below
    note = f"{what}{bound}"
    return Row(name, None, value, note=note, least=minimum, most=most, arithmetic=arithmetic)


def _clean_us(results: Any) -> float:
    return float(results.flash.cleaning.mean_block_us)


def _cleaned(results: Any) -> float:
    return float(results.flash.cleaning.blocks_cleaned)


def _entries(results: Any) -> float:
    """Entries of the map: one for each logical page."""
    page = int(results.experiment.device.logical_page.removesuffix("KiB"))
    return float(results.capacity_bytes / 1024 / page)
