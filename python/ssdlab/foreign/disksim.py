"""A parameter file of DiskSim (`.parv`) as an experiment: drives, how they are combined, the load.

Read after the manual of DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, 2008) and the parameters
of its SSD extension (Agrawal et al., 2008). Every parameter is mapped, or named as not modelled.
Deliberate differences of the model are in docs/original-simulator.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign import diskspecs, parv, ssdmodel, synthio
from ssdlab.foreign.given import SECTOR, Given
from ssdlab.foreign.parv import Block

REDUNDANCY = {
    "Noredun": None, "Shadowed": "mirror", "Parity_disk": "parity-disk", "Parity_rotated": "parity",
}  # fmt: skip


#: Block types of supported and of unsupported drives.
DRIVES, OTHER_DRIVES = ("ssdmodel_ssd", "disksim_disk", "disksim_simpledisk"), ("memsmodel_mems",)
#: Disk schedulers for the policies of a driver.
SCHEDULERS = {
    1: "fcfs", 2: "scan", 3: "c-look", 4: "sstf", 5: "scan", 6: "c-look", 7: "sstf",
}  # fmt: skip
#: Parts of a file: all of it, the drive, or the load.
PARTS = ("all", "drive", "load")


def converted(path: Path, part: str = "all") -> str:
    """A part of the file `path` as TOML, with notes on unconverted parameters as comments.

    Raises `InputError`, which names file, line and block.
    """
    assert part in PARTS
    return _Experiment(parv.read(path)).text(part)


def traced(path: Path) -> dict[str, Any]:
    """The file's `workload` keys for any trace replayed on its drives."""
    return _Experiment(parv.read(path)).traced()


class _Experiment:
    """A whole file: its relevant blocks and their conversion."""

    def __init__(self, parameters: parv.Parameters) -> None:
        self.parameters, self.path = parameters, parameters.path
        #: Parameters with and without a notable effect on results.
        self.effects: list[str] = []
        self.notes: list[str] = []
        #: The only devices that the generators use; None for all.
        self.only: set[str] | None = None

    def text(self, part: str) -> str:
        """A part of the experiment as TOML."""
        sections: dict[str, Any] = {}
        if part == "all":
            self._leave_out()
        if part != "load":
            sections["device"] = self.device()
            self._others()
        run = self._seed()
        if part != "drive":
            sections["workload"], until = self.workload()
            run |= until
        sections["run"] = run
        lines = [f"{name} = {_value(table)}" for name, table in sections.items() if table]
        notes = [f"# {' '.join(note.split())}" for note in (*self.effects, *self.notes)]
        return "\n".join([*notes, *lines]) + "\n"

    def _leave_out(self) -> None:
        """Leave out generators that never run, and drives that only those use."""
        listed = self._generators()
        used = synthio.running(listed, self._processors())
        if len(used) < len(listed):
            self.only = {str(it) for one in used for it in self._names(one)}
            self.effects.append(
                f"{len(listed) - len(used)} of {len(listed)} generators never run: none waits, so "
                "that each keeps its processor, and the last in the file are the first to have one"
            )

    def _processors(self) -> int:
        found = [
            Given(it).whole("Number of processors") for it in self.parameters.of_type("disksim_pf")
        ]
        return next((it for it in found if it is not None), 1)

    def _generators(self) -> list[Block]:
        """The generators of the file, as listed."""
        for block in self.parameters.of_type("disksim_synthio"):
            listed = block.given.get("Generators")
            said = listed.said if listed is not None and isinstance(listed.said, list) else []
            return [it.said for it in said if isinstance(it.said, Block)]
        return []

    @staticmethod
    def _names(block: Block) -> list[parv.Value]:
        """The devices that a block names."""
        listed = block.given.get("devices")
        return listed.said if listed is not None and isinstance(listed.said, list) else []

    def traced(self) -> dict[str, Any]:
        """Layers for a trace: each drive of several has its own requests."""
        found: dict[str, Any] = {}
        if len(self._members()[1]) > 1 and self._is_apart():
            found["combine"] = "separate"
        for block in self.parameters.of_type("disksim_iosim"):
            scale = Given(block).number("I/O Trace Time Scale")
            if scale is not None and scale != 1:
                found["time_scale"] = scale
        return found

    def _used(self, type_: str) -> list[Block]:
        """The instantiated blocks of a type."""
        named = set(self.parameters.instances.values())
        return [block for block in self.parameters.of_type(type_) if block.name in named]

    def _shown(self, names: Sequence[str]) -> str:
        """Names, without included files."""
        return ", ".join("..." if name in self.parameters.hidden else name for name in names)

    def _wrong(self, block: Block, problem: str) -> InputError:
        if block.is_hidden:
            return InputError(f"{block.path}:{block.line}: {problem}")
        of = " ".join(filter(None, (block.type, block.name)))
        return InputError(f"{block.path}:{block.line}: {of}: {problem}")

    def _others(self) -> None:
        """Components around the drives: if they affect results, they are rejected or noted."""
        for block in self._used("disksim_ctlr"):
            given = Given(block)
            if "Cache" in given.left or str(given.left.get("type", "1")) == "3":
                raise self._wrong(
                    block,
                    "a controller with a cache is not modelled; remove the block's Cache and give "
                    'it type = 1, or put a cache before the drive with device.kind = "cache"',
                )
            given.neutral("Scale for delays", "Bulk sector transfer time")
            given.neutral("type", fine=("1", "2"))
            given.left.pop("Maximum queue length", None)
            self.effects += given.rest()
        for block in self._used("disksim_iodriver"):
            given = Given(block)
            given.refuse("Constant access time", "a driver that simulates no drive", "0")
            given.neutral("type", fine=("1",))
            given.left.pop("Use queueing in subsystem", None)
            if (queue := given.inner("Scheduler")) is not None:
                for name in ("Scheduling timeout scheme", "Scheduling priority scheme",
                             "Sequential stream scheme", "Overlapping request scheme",
                             "Write initiation delay", "Read initiation delay"):  # fmt: skip
                    queue.neutral(name)
                    if name in queue.left:
                        effect = (
                            f"not modelled: {block.type} {block.name}: {name} = {queue.left[name]}"
                        )
                        self.effects.append(queue.unmodelled(name) if block.is_hidden else effect)
            self.effects += given.rest()
        for block in self._used("disksim_bus"):
            given = Given(block)
            given.neutral("Arbitration time")
            if "Arbitration time" in given.left:
                self.notes.append(given.unmodelled("Arbitration time"))
        for block in self.parameters.of_type("disksim_global"):
            for name, value in block.given.items():
                if name.startswith("Statistic warm-up") and re.search(r"[1-9]", str(value)):
                    effect = f"not modelled: {block.type}: {name} = {value}"
                    self.effects.append(
                        Given(block).unmodelled(name) if block.is_hidden else effect
                    )
        for block in self.parameters.of_type("disksim_iosim"):
            given = Given(block)
            given.left.pop("I/O Trace Time Scale", None)
            self._maps(given)
            self.effects += given.rest()
        known = {
            "disksim_global", "disksim_stats", "disksim_iosim", "disksim_logorg", "disksim_pf",
            *DRIVES, "disksim_synthio", "disksim_iodriver",
            "disksim_bus", "disksim_ctlr", "dm_disk",
        }  # fmt: skip
        self.effects += [
            f"not modelled: the block at {block.path}:{block.line}"
            if block.is_hidden
            else f"not modelled: {block.type} {block.name}"
            for block in self.parameters.blocks
            if block.type not in known
        ]

    def _maps(self, given: Given) -> None:
        """Consume a mapping that only numbers the devices of a trace."""
        listed = given.left.get("I/O Mappings")
        if listed is None or not isinstance(listed.said, list):
            return
        maps = [Given(it.said) for it in listed.said if isinstance(it.said, Block)]
        for one in maps:
            one.refuse("locScale", "addresses of a trace in sectors of 512 bytes alone", "512")
            one.refuse("sizeScale", "sizes of a trace in sectors alone", "1")
        positions = [str(one.left.get("simdev")) for one in maps]
        if len(set(positions)) < len(positions):
            raise given.wrong("I/O Mappings", listed, "several devices of a trace on one drive")
        del given.left["I/O Mappings"]

    def _is_apart(self) -> bool:
        """True for drives with separate addresses."""
        listed = self.parameters.of_type("disksim_logorg")
        return all(str(it.given.get("Distribution scheme", "Asis")) == "Asis" for it in listed)

    def _members(self) -> tuple[Block | None, list[str]]:
        """The organization that combines the drives, if any, and the drives' names."""
        instances = self.parameters.instances
        blocks = {block.name: block for block in self.parameters.blocks}
        drives = []
        for name, of in instances.items():
            kind = blocks[of].type if of in blocks else None
            if kind in OTHER_DRIVES:
                raise self._wrong(blocks[of], "a drive of this kind is not modelled")
            if kind in DRIVES:
                drives.append(name)
        organizations = self.parameters.of_type("disksim_logorg")
        if self.only is not None:
            organizations = [
                it
                for it in organizations
                if self.only & {it.name, *(str(name) for name in self._names(it))}
            ]
            drives = [it for it in drives if organizations or it in self.only]
        used: list[str] = []
        for block in organizations:
            for value in self._names(block):
                if str(value) not in drives:
                    absent = ", ".join(self.parameters.absent)
                    is_known = str(value) in instances and absent
                    why = f"; {absent} is not there" if is_known else ""
                    if block.is_hidden:
                        raise Given(block).wrong("devices", value, "one is no drive")
                    raise InputError(
                        f"{block.path}:{value.line}: {block.type} {block.name}: {value} is no "
                        f"instance of {', '.join(DRIVES)}{why}"
                    )
                used.append(str(value))
        if len(organizations) > 1 and not self._is_apart():
            raise self._wrong(
                organizations[1], "several organizations that combine drives are not converted"
            )
        if not drives:
            absent = "".join(f"; {it} is not there" for it in self.parameters.absent)
            raise InputError(
                f"{self.path}: no instance of {', '.join(DRIVES)}: nothing to simulate{absent}"
            )
        if unused := [name for name in drives if name not in used] if organizations else []:
            self.notes.append(f"not modelled: {self._shown(unused)}, outside the organization")
        return (organizations[0] if organizations else None), used or drives

    def device(self) -> dict[str, Any]:
        """The drive, or the array of drives."""
        organization, used = self._members()
        kinds = list(dict.fromkeys(self.parameters.instances[name] for name in used))
        blocks = {block.name: block for block in self.parameters.blocks}
        if len(kinds) > 1:
            at = organization or blocks[kinds[1]]
            raise self._wrong(
                at,
                f"drives of different kinds ({self._shown(kinds)}); name drives of one kind in its "
                "devices, and run each kind from a file of its own",
            )
        drive = self._drive(blocks[kinds[0]])
        if organization is None:
            return drive if len(used) == 1 else _apart(drive, len(used))
        given = Given(organization)
        given.left.pop("devices", None)
        device = self._combined(given, drive, len(used))
        self.notes += given.rest()
        return device

    def _drive(self, block: Block) -> dict[str, Any]:
        reads, writes = self._bus()
        if block.type == "ssdmodel_ssd":
            given = Given(block)
            device = ssdmodel.ssd_keys(given)
            self.notes += given.rest()
            bulk_ms = Given(block).number("Bulk sector transfer time") or 0.0
            link = device["host_link"]
            if (policy := self._policy()) is not None:
                link["order"] = "fifo" if policy == 1 else "clook"
                if policy not in (1, 3):
                    self.effects.append(f"the driver's Scheduling policy {policy}: taken as C-LOOK")
            if (slowest := max(reads, writes, bulk_ms)) > 0:
                link["bandwidth"] = ssdmodel.bandwidth(slowest)
            return device
        if block.type == "disksim_simpledisk":
            given = Given(block)
            device = diskspecs.simple_keys(given, max(reads, writes))
            self.effects += given.rest()
            return device
        if reads != writes:
            self.effects.append(
                f"not modelled: {writes:g} ms of bus a sector of a write: {reads:g}"
            )
        device, notes = diskspecs.keys(block, reads)
        self.effects += notes
        policy = self._policy() or 1
        device["scheduler"], device["queue_depth"] = SCHEDULERS.get(policy, "sptf"), "unlimited"
        if policy not in SCHEDULERS:
            self.effects.append(f"the driver's Scheduling policy {policy}: taken as SPTF")
        return device

    def _policy(self) -> int | None:
        """The order of the driver's queue."""
        for block in self._used("disksim_iodriver"):
            if (queue := Given(block).inner("Scheduler")) is not None:
                policy = queue.whole("Scheduling policy")
                return policy
        return None

    def _bus(self) -> tuple[float, float]:
        """Time per sector of the slowest bus, ms, for reads and writes."""
        given = [Given(block) for block in self._used("disksim_bus")]
        reads, writes = (
            max([it.number(f"{name} block transfer time") or 0.0 for it in given], default=0.0)
            for name in ("Read", "Write")
        )
        return reads, writes

    def _combined(self, given: Given, drive: dict[str, Any], count: int) -> dict[str, Any]:
        striped = given.word("Distribution scheme", {"Asis": False, "Striped": True, "Ideal": True})
        redundancy = given.word("Redundancy scheme", REDUNDANCY)
        unit = given.whole("Stripe unit")
        given.left.pop("Addressing mode", None)
        for name in [it for it in given.left if it.startswith("Time stamp")]:
            del given.left[name]
        if redundancy is None:
            for name in ("Number of copies", "Parity stripe unit", "Synch writes for safety",
                         "Copy choice on read", "RMW vs. reconstruct",
                         "Parity rotation type"):  # fmt: skip
                given.left.pop(name, None)
        if count == 1 and redundancy is None:
            return drive
        array = _apart(drive, count) | ({"layout": "striped"} if striped else {})
        if redundancy is not None:
            array["redundancy"] = redundancy
        if unit is not None and (striped or redundancy is not None):
            array["stripe"] = f"{unit * SECTOR}B"
        return array

    def _seed(self) -> dict[str, Any]:
        for block in self.parameters.of_type("disksim_global"):
            if (seed := Given(block).whole("Real Seed", least=0)) is not None:
                return {"seed": seed}
        return {}

    def workload(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The generators' load, with its end."""
        sources = self.parameters.of_type("disksim_synthio")
        if not sources:
            raise InputError(
                f"{self.path}: the file has no load (no block disksim_synthio): --trace FILE or "
                "--workload NAME says what is asked of its drives"
            )
        given = Given(sources[0])
        requests = given.whole("Number of I/O requests to generate")
        given.left.pop("Generators", None)
        generators = synthio.running(self._generators(), self._processors())
        if not generators:
            raise self._wrong(sources[0], "a synthetic load without Generators")
        until: dict[str, Any] = {}
        if (end := given.number("Maximum time of trace generated")) is not None:
            until["until"] = f"{end:.10g}s"
        for flow in map(Given, generators):
            self._refuse_places(flow)
        if not synthio.are_alike(generators):
            raise self._no_load(
                generators[1], f"the load of {len(generators)} generators that differ"
            )
        given.neutral(
            "System call/return with each request", "Think time from call to request",
            "Think time from request to return",
        )  # fmt: skip
        for block in self.parameters.of_type("disksim_logorg"):
            scheme = block.given.get("Redundancy scheme")
            if scheme is not None and "Parity" in str(scheme):
                problem = "here writes that would corrupt each other's parity wait, and in the "
                raise self._no_load(block, f"{problem}original they do not, so that its own load")
        flow = Given(generators[0])
        self._refuse_places(flow)  # consumes the devices
        workload = synthio.load(flow, len(generators), self._processors())
        self.notes += [*given.rest(), *flow.rest()]
        return workload | ({"requests": requests} if requests else {}), until

    def _no_load(self, block: Block, problem: str) -> InputError:
        problem += " is not converted; --trace FILE or --workload NAME runs another load"
        return self._wrong(block, problem)

    def _refuse_places(self, flow: Given) -> None:
        """Raise `InputError` unless a generator addresses the only device."""
        listed = flow.left.pop("devices", None)
        names = [str(it) for it in listed.said] if listed and isinstance(listed.said, list) else []
        places = ", ".join(names[:4]) + (" .." if len(names) > 4 else "")
        if flow.block.is_hidden:
            places = "..."
        organizations = [it.name for it in self.parameters.of_type("disksim_logorg")]
        organizations += [
            name for name, of in self.parameters.instances.items() if of in organizations
        ]
        alone = len(self._members()[1]) == 1
        if len(names) > 1:
            raise self._no_load(flow.block, f"a generator over several devices ({places})")
        if names and not alone and (names[0] not in organizations or self._is_apart()):
            raise self._no_load(flow.block, f"a generator for one drive of several ({places})")


def _apart(drive: dict[str, Any], count: int) -> dict[str, Any]:
    """An array of drives with separate addresses."""
    return {"kind": "array", "members": count, "member": drive, "layout": "concatenated"}


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(it)}" for key, it in value.items()) + "}"
    return json.dumps(value)
