"""A parameter file of DiskSim (`.parv`) as an experiment: drives, how they are combined, the load.

Read after the manual of DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, 2008) and the parameters
of its SSD extension (Agrawal et al., 2008). Every parameter is mapped, or named as not modelled.
What the model does otherwise than the original is in docs/original-simulator.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign import parv
from ssdlab.foreign.parv import Block, Value

SECTOR = 512
#: No parameter is larger.
LARGEST = 1e15
#: Parameters that say how results are printed or the queue is kept; nothing depends on them here.
PRINTED = ("Print stats", "Timing model", "Block count", "Blocks per element", "Init Seed")

#: Disks that the original validated, by a part of the name of their model or file.
DISKS = {
    "c3323a": "hp-c3323a", "atlas10k": "atlas10k", "qm39100": "atlas10k", "qm309100": "atlas10k",
    "cheetah9lp": "cheetah9lp", "st39102": "cheetah9lp", "barracuda": "barracuda",
    "st32171": "barracuda",
}  # fmt: skip
DISTRIBUTIONS = {"uniform": 2, "exponential": 2, "normal": 2, "poisson": 2}
REDUNDANCY = {
    "Noredun": None, "Shadowed": "mirror", "Parity_disk": "parity-disk", "Parity_rotated": "parity",
}  # fmt: skip


def converted(path: Path) -> str:
    """The file `path` as TOML, with what was not carried over as comments.

    Raises `InputError`, which names file and line.
    """
    return _Experiment(parv.read(path)).text()


class Given:
    """Parameters of a block, each used once; unused ones are not modelled."""

    def __init__(self, path: Path, block: Block) -> None:
        self.path, self.block = path, block
        self.left = dict(block.given)
        self.notes: list[str] = []

    def wrong(self, name: str, value: Value, problem: str) -> InputError:
        """The error about a parameter."""
        return InputError(f"{self.path}:{value.line}: {name} = {value}: {problem}")

    def number(self, name: str, most: float = LARGEST) -> float | None:
        """A parameter that is a number from 0; None if it is not given."""
        value = self.left.pop(name, None)
        return None if value is None else self.as_number(name, value, most)

    def as_number(self, name: str, value: Value, most: float = LARGEST) -> float:
        """A value as a number from 0."""
        try:
            number = float(value.said) if isinstance(value.said, str) else -1.0
        except ValueError:
            number = -1.0
        if not 0 <= number <= most:
            raise self.wrong(name, value, f"expected a number from 0 to {most:g}")
        return number

    def whole(self, name: str, least: int = 1) -> int | None:
        """A parameter that counts something."""
        value = self.left.get(name)
        number = self.number(name)
        if value is None or number is None:
            return None
        if number != int(number) or number < least:
            raise self.wrong(name, value, f"expected a whole number from {least}")
        return int(number)

    def word(self, name: str, choices: Mapping[str, Any]) -> Any:
        """What the word or number of a parameter means; None if it is not given."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        if str(value) not in choices:
            raise self.wrong(name, value, f"choose from {', '.join(choices)}")
        return choices[str(value)]

    def distribution(self, name: str) -> str | None:
        """A distribution as the open workload writes it."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        words = value.said if isinstance(value.said, list) else []
        kind = str(words[0]) if words else ""
        if kind not in DISTRIBUTIONS or len(words) != 1 + DISTRIBUTIONS[kind]:
            kinds = ", ".join(DISTRIBUTIONS)
            raise self.wrong(name, value, f"expected [KIND, a, b], KIND of {kinds}")
        numbers = [self.as_number(name, word) for word in words[1:]]
        return f"{kind}({', '.join(f'{number:.12g}' for number in numbers)})"

    def rest(self) -> list[str]:
        """The notes, and what of the block was not used."""
        unused = [
            f"not modelled: {self.block.type} {self.block.name}: {name} = {value}"
            for name, value in self.left.items()
            if name not in PRINTED
        ]
        return [*self.notes, *unused]


def ssd_keys(given: Given) -> dict[str, Any]:
    """The keys of `device` that make `disksim-ssd` the drive of a block `ssdmodel_ssd`."""
    device: dict[str, Any] = {"preset": "disksim-ssd"}
    elements = given.whole("Flash chip elements") or 8
    device["channels"], device["packages_per_channel"] = elements, 1
    device |= _planes(given)
    page = (given.whole("Page size") or 8) * SECTOR
    device["page_size"] = f"{page}B"
    # 16 B a sector are the spare area of a page.
    device["spare_size"] = f"{page // SECTOR * 16}B"
    if (pages := given.whole("Pages per block")) is not None:
        device["pages_per_block"] = pages
    blocks = given.whole("Blocks per plane") or 2048
    device["blocks_per_plane"] = blocks
    if (reserve := given.number("Reserve pages percentage", 99)) is not None:
        device["spare_blocks_per_plane"] = int(reserve * blocks) // 100
    if given.word("Plane block mapping", {"1": 1, "2": 2, "3": 3}) in (1, 2):
        given.notes.append("Plane block mapping: taken as 3, blocks striped over the planes")
    device["timing"] = _times(given)
    device["host_link"] = _queue(given)
    stride = given.whole("Element stride pages") or 1
    device |= _pool(given, elements, stride * page)
    device["cleaning"] = _cleaning(given)
    if given.word("Write policy", {"1": 1, "2": 2}) == 1:
        given.notes.append("Write policy 1, which the original refuses to run: taken as 2")
    return device


def _planes(given: Given) -> dict[str, Any]:
    planes = given.whole("Planes per package") or 8
    units = given.whole("Number of parallel units") or 1
    interleave = {1: "none", 2: "die", 4: "plane-pair", 8: "plane"}.get(units)
    if interleave is None or planes % units:
        value = given.block.given.get("Number of parallel units", Value(str(units), 0))
        raise given.wrong("Number of parallel units", value, f"of {planes} planes: 1, 2, 4 or 8")
    dies = 2 if planes >= 4 and planes % 2 == 0 else 1
    if planes != 8 and units > 1:
        dies, interleave = units, "die"
    return {
        "dies_per_package": dies, "planes_per_die": planes // dies, "interleave": interleave,
    }  # fmt: skip


def _times(given: Given) -> dict[str, str]:
    names = {
        "read": "Page read latency", "program": "Page write latency",
        "erase": "Block erase latency", "bus_per_byte": "Chip xfer latency",
    }  # fmt: skip
    times = {key: given.number(name) for key, name in names.items()}
    return {key: f"{ms * 1e6:.10g}ns" for key, ms in times.items() if ms is not None}


def _queue(given: Given) -> dict[str, Any]:
    link: dict[str, Any] = {}
    if (depth := given.whole("Max queue length")) is not None:
        link["queue_depth"] = depth
    delay = given.number("Command overhead") or 0
    delay += given.number("Bus transaction latency") or 0
    link["latency"] = f"{delay * 1e6:.10g}ns"
    if sector_ms := given.number("Bulk sector transfer time"):
        link["bandwidth"] = _bandwidth(sector_ms)
    scheduler = given.left.pop("Scheduler", None)
    if scheduler is not None and isinstance(scheduler.said, Block):
        inner = Given(given.path, scheduler.said)
        if inner.word("Scheduling policy", {str(n): n for n in range(1, 50)}) != 1:
            given.notes.append("Scheduler: queues of the elements are first come, first served")
    if given.word("Never disconnect", {"0": False, "1": True}) is False:
        given.notes.append("not modelled: Never disconnect = 0, a bus released between transfers")
    return link


def _bandwidth(sector_ms: float) -> str:
    return f"{SECTOR / sector_ms / 1000:.10g}MB/s"


def _pool(given: Given, elements: int, stripe_bytes: int) -> dict[str, Any]:
    logic = given.word("Allocation pool logic", {"0": "gang", "1": "package", "2": "plane"})
    share = given.word("Gang share", {"1": "shared-bus", "2": "shared-control-async"})
    gang = given.whole("Elements per gang") or 1
    found: dict[str, Any] = {"pool": "plane" if logic == "plane" else "package"}
    found["stripe"] = f"{stripe_bytes}B"
    if logic == "gang":
        if elements % gang:
            value = given.block.given["Elements per gang"]
            raise given.wrong("Elements per gang", value, f"does not divide {elements} elements")
        found |= {"gang": share, "channels": elements // gang, "packages_per_channel": gang}
        given.notes.append("gangs: as Gang share says; the original's program does not read it")
    return found


def _cleaning(given: Given) -> dict[str, Any]:
    cleaning: dict[str, Any] = {}
    free = given.number("Minimum free blocks percentage", 99)
    if free is not None:
        cleaning["min_free"] = free / 100
    copy_back = given.word("Copy back", {"0": False, "1": True})
    if copy_back is not None:
        cleaning["copy_back"] = copy_back
    policy = given.word("Cleaning policy", {"1": "random", "2": "greedy", "3": "wear-aware"})
    if policy == "wear-aware":
        cleaning["levelling"] = {"rule": "rate-limit" if copy_back is False else "migrate"}
    elif policy is not None:
        cleaning["policy"] = policy
    if given.word("Cleaning in background", {"0": False, "1": True}):
        cleaning["background"] = True
        if free is not None:
            cleaning["background_free"] = free / 100
    return cleaning


class _Experiment:
    """A whole file: which of its blocks decide, and what they become."""

    def __init__(self, parameters: parv.Parameters) -> None:
        self.parameters, self.path = parameters, parameters.path
        self.notes: list[str] = []

    def text(self) -> str:
        """The experiment as TOML."""
        sections = {"device": self.device(), "workload": self.workload(), "run": self.run()}
        known = {
            "disksim_global", "disksim_stats", "disksim_iosim", "disksim_logorg", "disksim_pf",
            "disksim_disk", "ssdmodel_ssd", "disksim_syntheticio", "disksim_iodriver",
            "disksim_bus", "disksim_ctlr", "dm_disk",
        }  # fmt: skip
        self.notes += [
            f"not modelled: {block.type} {block.name}"
            for block in self.parameters.blocks
            if block.type not in known
        ]
        lines = [f"{name} = {_value(table)}" for name, table in sections.items() if table]
        return "\n".join([*(f"# {' '.join(note.split())}" for note in self.notes), *lines]) + "\n"

    def organization(self) -> tuple[Given | None, list[str]]:
        """The outermost logical organization, and the devices of it that are not organizations."""
        organizations = self.parameters.of_type("disksim_logorg")
        if not organizations:
            return None, []
        if len(organizations) > 1:
            self.notes.append(f"not modelled: {len(organizations) - 1} further disksim_logorg")
        given = Given(self.path, organizations[0])
        devices = given.left.pop("devices", None)
        names = devices.said if devices is not None and isinstance(devices.said, list) else []
        return given, [str(name) for name in names]

    def device(self) -> dict[str, Any]:
        """The drive, or the array of drives."""
        drives = {
            name: of for name, of in self.parameters.instances.items() if self._kind(of) is not None
        }
        if not drives:
            raise InputError(
                f"{self.path}: no instance of an ssdmodel_ssd or of a disk: nothing to simulate"
            )
        given, members = self.organization()
        used = [name for name in members if name in drives] or list(drives)[:1]
        if len({drives[name] for name in used}) > 1:
            raise InputError(
                f"{self.path}:{given.block.line if given else 1}: {', '.join(used)} are drives of "
                "different kinds: an organization of one kind can be converted"
            )
        drive = self._drive(drives[used[0]])
        if unused := len(drives) - len(used):
            self.notes.append(f"not modelled: {unused} further drives, outside the organization")
        if given is None:
            return drive
        device = self._combined(given, drive, len(used))
        self.notes += given.rest()
        return device

    def _kind(self, of: str) -> str | None:
        """`ssd`, or the preset of a disk, of what is instantiated as `of`."""
        block = next((it for it in self.parameters.blocks if it.name == of), None)
        if block is not None and block.type not in ("ssdmodel_ssd", "disksim_disk"):
            return None
        if block is not None and block.type == "ssdmodel_ssd":
            return "ssd"
        said = [of, *(str(it) for it in block.given.values())] if block is not None else [of]
        if block is None:  # of a file that is not there, which is known by its name
            said += self.parameters.absent
        words = " ".join(said).lower()
        for part, preset in DISKS.items():
            if part in words:
                return preset
        if block is not None:
            raise InputError(
                f"{self.path}:{block.line}: disksim_disk {of}: its model is not known; choose from "
                f"{', '.join(sorted(set(DISKS.values())))}, or describe it with "
                '`device.kind = "disk"` (ssdlab keys device)'
            )
        return None

    def _drive(self, of: str) -> dict[str, Any]:
        preset = self._kind(of)
        block = next((it for it in self.parameters.blocks if it.name == of), None)
        if preset == "ssd" and block is not None:
            given = Given(self.path, block)
            device = ssd_keys(given)
            self.notes += given.rest()
            bulk_ms = Given(self.path, block).number("Bulk sector transfer time")
            self._link(device["host_link"], bulk_ms or 0.0)
            return device
        self.notes.append(f"{of}: the preset {preset}; parameters of its file are not read again")
        return {"preset": preset}

    def _link(self, link: dict[str, Any], sector_ms: float) -> None:
        """The queue of the driver, and the slowest bus, before a drive."""
        for block in self.parameters.of_type("disksim_iodriver"):
            scheduler = block.given.get("Scheduler")
            if scheduler is not None and isinstance(scheduler.said, Block):
                given = Given(self.path, scheduler.said)
                policy = given.word("Scheduling policy", {str(n): n for n in range(1, 50)})
                link["order"] = "fifo" if policy == 1 else "clook"
                if policy not in (1, 3):
                    self.notes.append(f"the driver's Scheduling policy {policy}: taken as C-LOOK")
        times = [sector_ms]
        for block in self.parameters.of_type("disksim_bus"):
            given = Given(self.path, block)
            for name in ("Read block transfer time", "Write block transfer time"):
                times.append(given.number(name) or 0.0)
        if max(times) > 0:
            link["bandwidth"] = _bandwidth(max(times))

    def _combined(self, given: Given, drive: dict[str, Any], count: int) -> dict[str, Any]:
        striped = given.word("Distribution scheme", {"Asis": False, "Striped": True, "Ideal": True})
        redundancy = given.word("Redundancy scheme", REDUNDANCY)
        unit = given.whole("Stripe unit")
        given.left.pop("Addressing mode", None)
        given.left.pop("Stripe unit", None)
        if redundancy is None:
            for name in ("Number of copies", "Parity stripe unit", "Synch writes for safety"):
                given.left.pop(name, None)
        if count == 1 and redundancy is None:
            return drive
        array: dict[str, Any] = {"kind": "array", "members": count, "member": drive}
        array["layout"] = "striped" if striped else "concatenated"
        if redundancy is not None:
            array["redundancy"] = redundancy
        if unit is not None and (striped or redundancy is not None):
            array["stripe"] = f"{unit * SECTOR}B"
        return array

    def run(self) -> dict[str, Any]:
        """The seed."""
        for block in self.parameters.of_type("disksim_global"):
            given = Given(self.path, block)
            if (seed := given.whole("Real Seed", least=0)) is not None:
                return {"seed": seed}
        return {}

    def workload(self) -> dict[str, Any]:
        """The open load of the first generator; nothing if the load is a trace."""
        sources = self.parameters.of_type("disksim_syntheticio")
        if not sources:
            return {}
        given = Given(self.path, sources[0])
        requests = given.whole("Number of I/O requests to generate")
        inner = given.left.pop("generators", None)
        listed = inner.said if inner is not None and isinstance(inner.said, list) else []
        generators = [it.said for it in listed if isinstance(it.said, Block)]
        if not generators:
            raise InputError(f"{self.path}:{sources[0].line}: a synthetic load without generators")
        if len(generators) > 1:
            self.notes.append(f"not modelled: {len(generators) - 1} further generators")
        if (until := given.number("Maximum time of trace generated")) is not None:
            self.notes.append(f"not modelled: the load ends after {until:g} s at the latest")
        given.left.pop("System call/return with each request", None)
        flow = Given(self.path, generators[0])
        workload = self._open(flow) | ({"requests": requests} if requests else {})
        self.notes += [*given.rest(), *flow.rest()]
        return workload

    def _open(self, flow: Given) -> dict[str, Any]:
        for name in (
            "Probability of time-critical request", "Probability of time-limited request",
            "Probability of local access",
        ):  # fmt: skip
            value = flow.left.get(name)
            if value is not None and flow.number(name, 1):
                raise flow.wrong(
                    name, value,
                    "requests that the host waits for, or near the one before, are not converted; "
                    "kind = \"threads\" waits for answers",
                )  # fmt: skip
        for name in ("Time-critical think times", "Time-limited think times",
                     "Time-limited time limits", "Local inter-arrival times", "Local distances",
                     "devices"):  # fmt: skip
            flow.left.pop(name, None)
        found: dict[str, Any] = {"kind": "open", "generator": "drand48"}
        block = flow.whole("Blocking factor") or 1
        found["block_size"] = f"{block * SECTOR}B"
        if (sectors := flow.whole("Storage capacity per device")) is not None:
            found["footprint"] = f"{sectors // block * block * SECTOR}B"
        for key, name in (
            ("sequential_share", "Probability of sequential access"),
            ("read_share", "Probability of read access"),
        ):
            if (share := flow.number(name, 1)) is not None:
                found[key] = share
        for key, name in (
            ("interarrival", "General inter-arrival times"),
            ("sequential_interarrival", "Sequential inter-arrival times"),
            ("size", "Sizes"),
        ):
            if (said := flow.distribution(name)) is not None:
                found[key] = said
        return found


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(it)}" for key, it in value.items()) + "}"
    return json.dumps(value)
