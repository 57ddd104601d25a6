"""The single changes that `ssdlab why` tries: one key each, or a named set of keys.

A change is a function from the facts of a run to assignments, or None if the design already has it.
Hardware changes keep the amount of flash, so that they add no spare space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ssdlab import _core, market, sources, under_load
from ssdlab._core import InputError
from ssdlab.comparison.grid import split
from ssdlab.layers import Layer
from ssdlab.results.facts import Facts
from ssdlab.running import stack

SETTING, HARDWARE, LOAD, DRIVE, OWN = "settings", "hardware", "load", "drives", "yours"
#: Groups of `--among` with their meaning, in order of cost.
GROUPS = {
    SETTING: "settings of firmware and administrator",
    LOAD: "more requests outstanding",
    HARDWARE: "more of a part of the drive",
    DRIVE: "other drives on sale, of equal capacity",
}
#: Maximum number of changes: each one widens all confidence intervals.
MOST = 16


@dataclass(frozen=True)
class Change:
    """A change: assignments, or another drive of the catalogue."""

    name: str
    group: str
    assignments: tuple[str, ...] = ()
    device: str | None = None
    #: Dollars of the other drive.
    price: float | None = None

    def layers(self) -> list[Layer]:
        """Layers above the experiment."""
        if self.device is not None:
            return [sources.from_name("device", self.device)]
        return list(stack.above(self.assignments, None))

    @property
    def effort(self) -> tuple[int, int, float]:
        """Order of changes by effort: the group, then the number of keys, then dollars."""
        return (OWN, *GROUPS).index(self.group), len(self.assignments), self.price or 0.0

    @property
    def side(self) -> str:
        """The change as a side of `ssdlab compare`."""
        return self.device if self.device is not None else ",".join(self.assignments)

    @property
    def words(self) -> list[str]:
        """The change as options of `ssdlab run`."""
        if self.device is not None:
            return ["--device", self.device]
        return [word for it in self.assignments for word in ("--set", it)]


Proposal = Callable[[Facts], "Sequence[str] | None"]


def candidates(facts: Facts, among: Sequence[str]) -> list[Change]:
    """The changes applicable to this design, in order of cost."""
    found = []
    for name, group, kinds, proposal in TABLE:
        if group not in among or not (kinds is None or _kind(facts) in kinds):
            continue
        assignments = proposal(facts)
        if assignments:
            found.append(Change(name, group, tuple(assignments)))
    if DRIVE in among:
        # Before the final rows of the table, which are cut first.
        drives = _others(facts)
        found[MOST - len(drives) : MOST - len(drives)] = drives
    return found


def of_user(text: str) -> Change:
    """A change given by the user: KEY=VALUE, several with commas, or a preset of a drive."""
    if "=" not in text and _core.preset_layer("device", text) is not None:
        return Change(f"the drive {text}", OWN, device=text)
    if "=" not in text:
        raise InputError(f"--try {text}: neither KEY=VALUE nor a preset of a device")
    parts = split(text)
    return Change(", ".join(it.rpartition("=")[0].rpartition(".")[2] for it in parts), OWN, parts)


def together(first: Change, second: Change) -> Change | None:
    """Both changes; None if they set the same key."""
    both = (*first.assignments, *second.assignments)
    if len({it.partition("=")[0] for it in both}) < len(both):
        return None
    group = max(first.group, second.group, key=(OWN, *GROUPS).index)
    return Change(f"{first.name}, {second.name}", group, both)


def _kind(facts: Facts) -> str:
    """The kind of the drive; for an array, its members'."""
    return str(facts.setting(f"{facts.drive}.kind"))


def _is_array(facts: Facts) -> bool:
    return str(facts.setting("device.kind")) == "array"


def _set(key: str, value: str, unless: Sequence[object] = ()) -> Proposal:
    """Set an existing key to a value other than its own and `unless`."""

    def proposal(facts: Facts) -> Sequence[str] | None:
        own = facts.setting(f"{facts.drive}.{key}")
        stated = str(own).lower() if isinstance(own, bool) else own
        if stated is None or stated == value or own in unless:
            return None
        return [f"{facts.drive}.{key}={value}"]

    return proposal


def _times(key: str, factor: float, beside: tuple[str, float] | None = None) -> Proposal:
    """Multiply a key, and divide another one to keep the product."""

    def proposal(facts: Facts) -> Sequence[str] | None:
        first = facts.times(f"{facts.drive}.{key}", factor)
        if first is None or beside is None:
            return first and [first]
        other = facts.times(f"{facts.drive}.{beside[0]}", beside[1])
        return other and [first, other]

    return proposal


def _pace(word: str) -> Proposal:
    def proposal(facts: Facts) -> Sequence[str] | None:
        return _set("cleaning.pace", word)(facts) if facts.buffered else None

    return proposal


def _stopping(facts: Facts) -> list[str]:
    """Operations that this design can suspend: programs, and erases if they can yield."""
    drive = facts.drive
    erases = facts.buffered or facts.setting(f"{drive}.cleaning.time") == "interleaved"
    return [f"{drive}.suspend.{it}" for it in ("program", *(["erase"] if erases else []))]


def _suspends(facts: Facts) -> bool:
    return facts.setting(f"{facts.drive}.suspend.program") not in (None, "none")


def _suspend(facts: Facts) -> Sequence[str] | None:
    return None if _suspends(facts) else [f"{it}=35us" for it in _stopping(facts)]


def _no_suspension(facts: Facts) -> Sequence[str] | None:
    return [f"{it}=none" for it in _stopping(facts)] if _suspends(facts) else None


def _spare(facts: Facts) -> Sequence[str] | None:
    """A tenth of the capacity becomes spare space."""
    drive = facts.drive
    if facts.setting(f"{drive}.capacity") not in (None, "default"):
        if (whole := facts.quantity(f"{drive}.capacity") or 0.0) >= 100e9:
            return [f"{drive}.capacity={0.9 * whole / 1e9:.0f}GB"]
        less = facts.times(f"{drive}.capacity", 0.9)
        return less and [less]
    factor = facts.setting(f"{drive}.spare_factor")
    if isinstance(factor, int | float):
        return [f"{drive}.spare_factor={factor + 0.1 * (1 - factor):.4g}"]
    other = facts.setting(f"{drive}.over_provisioning")
    if isinstance(other, int | float):
        return [f"{drive}.over_provisioning={(1 + other) / 0.9 - 1:.4g}"]
    return None


def _buffer(facts: Facts) -> Sequence[str] | None:
    """A write buffer, or a doubled one."""
    if facts.buffered:
        twice = facts.times(f"{facts.drive}.buffer.size", 2)
        return twice and [twice]
    return [f"{facts.drive}.buffer.size=16MiB"]


#: With more blocks per plane, preconditioning under a policy that examines all of them takes
#: minutes instead of a second: `agrawal2008` 74 s with `cost-benefit`. A superblock has one block
#: per plane.
MANY_BLOCKS = 256


def _policy(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.cleaning.policy"
    if facts.setting(key) != "greedy":
        return [f"{key}=greedy"]
    blocks = facts.setting(f"{facts.drive}.blocks_per_plane")
    is_slow = not facts.buffered and isinstance(blocks, int) and blocks > MANY_BLOCKS
    return [f"{key}={'d-choices' if is_slow else 'cost-benefit'}"]


def _frontiers(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.cleaning.frontiers"
    return [f"{key}={'separate-moved' if facts.setting(key) == 'hot-cold' else 'hot-cold'}"]


def _queue(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.{'queue_depth' if _kind(facts) == 'disk' else 'host_link.queue_depth'}"
    depth = facts.setting(key)
    return [f"{key}=unlimited"] if isinstance(depth, int) else None


def _outstanding(facts: Facts) -> Sequence[str] | None:
    """Four times the queue depth; a lower one would only move the wait to the host."""
    own = facts.setting("workload.outstanding")
    return [f"workload.outstanding={4 * own}"] if isinstance(own, int) else None


def _of_array(*assignments: str) -> Proposal:
    """Assignments to an array's own keys, except current values."""

    def proposal(facts: Facts) -> Sequence[str] | None:
        if not _is_array(facts):
            return None
        own = [(it, facts.setting(it.partition("=")[0])) for it in assignments]
        return [it for it, value in own if value is not None and str(value) != it.split("=")[1]]

    return proposal


def _stripe(factor: float) -> Proposal:
    def proposal(facts: Facts) -> Sequence[str] | None:
        found = facts.times("device.stripe", factor) if _is_array(facts) else None
        return found and [found]

    return proposal


def _parity(facts: Facts) -> bool:
    return "parity" in str(facts.setting("device.redundancy"))


def _mirrors(facts: Facts) -> Sequence[str] | None:
    members = facts.setting("device.members")
    is_even = isinstance(members, int) and members % 2 == 0
    return ["device.redundancy=mirror"] if _parity(facts) and is_even else None


def _map(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.map.memory"
    return [f"{key}=all"] if facts.setting(key) not in (None, "all") else None


def _slc_cache(facts: Facts) -> bool:
    drive = facts.drive
    dynamic = facts.setting(f"{drive}.slc_cache.dynamic")
    return bool(dynamic) or facts.setting(f"{drive}.slc_cache.static") not in (None, "0B")


def _larger_cache(facts: Facts) -> Sequence[str] | None:
    """A doubled SLC cache: its limit, its share of the free blocks, or its static blocks."""
    cache = f"{facts.drive}.slc_cache"
    if not _slc_cache(facts):
        return None
    share = facts.setting(f"{cache}.dynamic")
    for key in ("limit", "static"):
        if key == "static" and isinstance(share, int | float) and 0 < share < 1:
            return [f"{cache}.dynamic={min(2 * share, 1):.4g}"]
        if facts.setting(f"{cache}.{key}") not in (None, "0B"):
            twice = facts.times(f"{cache}.{key}", 2)
            return twice and [twice]
    return None


def _folding(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.slc_cache.fold"
    other = {"idle": "eager", "lazy": "eager", "eager": "idle"}
    own = other.get(str(facts.setting(key)))
    return [f"{key}={own}"] if own and _slc_cache(facts) else None


def _persistent(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.fdp"
    handles = facts.setting(f"{key}.handles")
    is_set = isinstance(handles, int) and handles > 1
    return _set("fdp.isolation", "persistent")(facts) if is_set else None


def _scheme(facts: Facts) -> Sequence[str] | None:
    key = f"{facts.drive}.log_blocks.scheme"
    own = facts.setting(key)
    return [f"{key}={'bast' if own == 'fast' else 'fast'}"] if own not in (None, "none") else None


def _log_blocks(facts: Facts) -> Sequence[str] | None:
    twice = facts.times(f"{facts.drive}.log_blocks.count", 2) if _scheme(facts) else None
    return twice and [twice]


def _merged(facts: Facts) -> Sequence[str] | None:
    return ["device.stripe_cache=16"] if _parity(facts) else None


SSD, DISK, ZONED = ("ssd",), ("disk",), ("zoned",)
#: Name, group, kinds of drive (None for any), and assignments; changes with the fewest keys first.
TABLE: Sequence[tuple[str, str, Sequence[str] | None, Proposal]] = (
    ("four times outstanding", LOAD, None, _outstanding),
    ("token pace", SETTING, SSD, _pace("token")),
    ("adaptive pace", SETTING, SSD, _pace("adaptive")),
    ("reads suspend programs and erases", SETTING, SSD, _suspend),
    ("no suspension", SETTING, SSD, _no_suspension),
    ("cleaning yields to requests", SETTING, SSD, _set("cleaning.time", "interleaved")),
    ("cleaning while idle", SETTING, SSD, _set("cleaning.background", "true")),
    (
        "host reads before reads of cleaning",
        SETTING,
        SSD,
        _set("cleaning.read_order", "host-first"),
    ),
    ("cleaning in blocks", SETTING, SSD, _set("cleaning.reclaim", "block")),
    ("another cleaner", SETTING, SSD, _policy),
    ("other write frontiers", SETTING, SSD, _frontiers),
    ("placement over the whole drive", SETTING, SSD, _set("pool", "ssd")),
    ("dies work apart", SETTING, SSD, _set("interleave", "die", unless=("plane", "plane-pair"))),
    ("a tenth more spare", SETTING, SSD, _spare),
    ("shortest access first", SETTING, DISK, _set("scheduler", "sptf")),
    ("write cache", SETTING, DISK, _set("write_cache", "on")),
    ("no read-ahead", SETTING, DISK, _set("buffer.read_ahead", "0B")),
    ("unlimited queue", SETTING, ("ssd", "disk"), _queue),
    ("larger chunks", SETTING, None, _stripe(4)),
    ("smaller chunks", SETTING, None, _stripe(0.25)),
    ("members clean in turn", SETTING, SSD, _of_array("device.cleaning_together=staggered")),
    ("merged writes of a stripe", SETTING, None, _merged),
    ("mirrors instead of parity", HARDWARE, None, _mirrors),
    ("a larger SLC cache", SETTING, SSD, _larger_cache),
    ("another time for folding", SETTING, SSD, _folding),
    ("handles kept apart while cleaning", SETTING, SSD, _persistent),
    ("another scheme of log blocks", SETTING, SSD, _scheme),
    ("twice the log blocks", SETTING, SSD, _log_blocks),
    ("the whole map in memory", HARDWARE, SSD, _map),
    ("larger write buffer", HARDWARE, SSD, _buffer),
    ("twice the channels", HARDWARE, SSD, _times("channels", 2, ("blocks_per_plane", 0.5))),
    ("twice the dies", HARDWARE, SSD, _times("dies_per_package", 2, ("blocks_per_plane", 0.5))),
    ("buses twice as fast", HARDWARE, SSD, _times("timing.bus_rate", 2)),
    ("buses twice as fast", HARDWARE, SSD, _times("timing.bus_per_byte", 0.5)),
    ("a host link twice as fast", HARDWARE, SSD, _times("host_link.bandwidth", 2)),
    ("twice the cores", HARDWARE, SSD, _times("firmware.cores", 2)),
    ("twice the segments", HARDWARE, DISK, _times("buffer.segments", 2)),
    ("cache reads", SETTING, ZONED, _set("timing.cache_reads", "true")),
    ("larger write buffer", HARDWARE, ZONED, _times("buffer.size", 2)),
    ("twice the channels", HARDWARE, ZONED, _times("channels", 2, ("dies_per_channel", 0.5))),
    ("twice the dies", HARDWARE, ZONED, _times("dies_per_channel", 2)),
    ("buses twice as fast", HARDWARE, ZONED, _times("timing.bus_rate", 2)),
    ("a host link twice as fast", HARDWARE, ZONED, _times("link.page", 0.5)),
    ("15,000 rpm", HARDWARE, DISK, _set("rpm", "15000")),
)

#: Disks and drives with a service law that stand for others, in the order of trials.
DRIVES = {
    "disk": ("scsi-15k", "nearline-24tb", "tlc-client"),
    "law": ("tlc-enterprise", "samsung-983zet"),
}
#: Number of tried drives.
FEW_DRIVES = 3
#: Capacity of another drive / capacity of the experiment's.
EQUAL = (0.8, 1.25)


def _others(facts: Facts) -> list[Change]:
    """Other drives: of an SSD those on sale with an equal capacity, the cheapest first."""
    if _is_array(facts):
        return []
    title = str(facts.results.experiment.get("title") or "")
    own = title.partition(" under ")[0]
    if _kind(facts) != "ssd":
        named = [it for it in DRIVES.get(_kind(facts), ()) if it != own]
        return [Change(f"the drive {it}", DRIVE, device=it) for it in named][:FEW_DRIVES]
    results = facts.results.to_dict()
    capacity = results["capacity_bytes"] * under_load.scale_of(results)
    rows = [it for it in market.shipped().values() if it.name != own and it.price is not None]
    rows = [it for it in rows if not it.changes]
    near = [it for it in rows if EQUAL[0] <= under_load.capacity(it.name) / capacity <= EQUAL[1]]
    near.sort(key=lambda it: it.price or 0.0)
    # Of many the cheapest, the dearest and one between.
    if len(near) > FEW_DRIVES:
        near = [near[0], near[len(near) // 2], near[-1]]
    return [Change(f"the drive {it.name}", DRIVE, device=it.name, price=it.price) for it in near]
