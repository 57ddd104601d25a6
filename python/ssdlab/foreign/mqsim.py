"""MQSim's two files as an experiment: the drive (`ssdconfig.xml`) and the workload.

Read after MQSim's own configuration files (Tavakkol et al., FAST 2018). Every parameter is mapped,
or named as not modelled. The drive has no write buffer: MQSim's cache is a DRAM in front of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign import xml

DRIVE, WORKLOAD = "Execution_Parameter_Set", "MQSim_IO_Scenarios"
#: What elements of a scenario are called that are flows.
FLOW = "IO_Flow_Parameter_Set"
POLICIES = {
    "GREEDY": "greedy",
    "RGA": "d-choices",
    "RANDOM": "random",
    "RANDOM_P": "random",
    "RANDOM_PP": "random",
    "FIFO": "fifo",
}
#: Requests of a flow that ends by its time.
ENDLESS = 10**9
#: No parameter is larger: bytes, requests, nanoseconds.
LARGEST = 1e18
SECTOR = 512
TIME_UNITS = {"PICOSECOND": None, "NANOSECOND": "ns", "MICROSECOND": "us", "MILLISECOND": "ms"}
READ = ("Page_Read_Latency_LSB", "Page_Read_Latency_CSB", "Page_Read_Latency_MSB")
PROGRAM = tuple(name.replace("Read", "Program") for name in READ)
#: Page types of each technology.
TYPES = {"SLC": (0,), "MLC": (0, 2), "TLC": (0, 1, 2)}


def converted(path: Path) -> str:
    """The file `path` as TOML, with what was not carried over as comments.

    Raises `InputError` for a file that is neither of the two.
    """
    root = xml.read(path)
    if root.name == DRIVE:
        return _Drive(path, root.leaves()).text()
    if root.name == WORKLOAD:
        return _workload(path, root)
    raise InputError(
        f"{path}: <{root.name}> is neither MQSim's <{DRIVE}> nor its <{WORKLOAD}>; other "
        "experiments are TOML"
    )


class _Given:
    """Parameters, each used once; unused ones are not modelled."""

    def __init__(self, path: Path, given: Mapping[str, str]) -> None:
        self.path = path
        self.left = dict(given)
        self.notes: list[str] = []

    def word(self, name: str, choices: Mapping[str, Any]) -> Any:
        """What the word of a parameter means; None if it is not given."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        if value.upper() not in choices:
            raise self.wrong(name, value, f"choose from {', '.join(choices)}")
        return choices[value.upper()]

    def number(self, name: str) -> float | None:
        """A parameter that is a number; None if it is not given."""
        value = self.left.pop(name, None)
        if value is None:
            return None
        try:
            number = float(value)
        except ValueError:
            raise self.wrong(name, value, "expected a number") from None
        if not 0 <= number <= LARGEST:
            raise self.wrong(name, value, f"expected a number from 0 to {LARGEST:g}")
        return number

    def whole(self, name: str) -> int | None:
        """A parameter that counts something, of which there is at least one."""
        said = self.left.get(name, "")
        number = self.number(name)
        if number is not None and (number < 1 or number != int(number)):
            raise self.wrong(name, said, "expected a whole number from 1")
        return None if number is None else int(number)

    def wrong(self, name: str, value: str, problem: str) -> InputError:
        """The error about a parameter."""
        return InputError(f'{self.path}: {name} = "{value}": {problem}')

    def rest(self) -> list[str]:
        """The notes, and what of the file was not used."""
        unused = [f"not modelled: {name} = {value}" for name, value in self.left.items()]
        return [*self.notes, *unused]


class _Drive(_Given):
    #: Whole numbers, by the key that each becomes.
    WHOLE: Mapping[str, str] = {
        "Flash_Channel_Count": "channels",
        "Chip_No_Per_Channel": "packages_per_channel",
        "Die_No_Per_Chip": "dies_per_package",
        "Plane_No_Per_Die": "planes_per_die",
        "Block_No_Per_Plane": "blocks_per_plane",
        "Page_No_Per_Block": "pages_per_block",
    }
    SIZES: Mapping[str, str] = {"Page_Capacity": "page_size", "Page_Metadat_Capacity": "spare_size"}
    YES_NO: Mapping[str, bool] = {"TRUE": True, "FALSE": False}

    def text(self) -> str:
        """The drive as TOML."""
        device: dict[str, Any] = {"kind": "ssd", "summary_page": False, "interleave": "die"}
        for name, key in self.WHOLE.items():
            if (count := self.whole(name)) is not None:
                device[key] = count
        for name, key in self.SIZES.items():
            if (number := self.number(name)) is not None:
                device[key] = f"{int(number)}B"
        if (share := self.number("Overprovisioning_Ratio")) is not None:
            device["spare_factor"] = share
        device["timing"] = self._timing()
        device["host_link"] = self._link()
        device["cleaning"] = self._cleaning(device.get("blocks_per_plane", 2048))
        if (cycles := self.number("Block_PE_Cycles_Limit")) is not None:
            device["wear"] = {"rated_cycles": int(cycles)}
        run: dict[str, Any] = {}
        if (seed := self.number("Seed")) is not None:
            run["seed"] = int(seed)
        if self.word("Enabled_Preconditioning", self.YES_NO):
            run["precondition"] = "steady"
        return _toml({"device": device, "run": run}, self.rest())

    def _timing(self) -> dict[str, Any]:
        timing = {}
        technology = self.word("Flash_Technology", {name: name for name in TYPES}) or "SLC"
        for names, key in ((READ, "read"), (PROGRAM, "program")):
            times = [self.number(name) for name in names]
            used = [it for it in (times[place] for place in TYPES[technology]) if it is not None]
            if not used:
                continue
            timing[key] = f"{sum(used) / len(used):.10g}ns"
            if len(set(used)) > 1:
                kinds = f"the mean of {technology}'s pages, which are of one kind here"
                self.notes.append(f"timing.{key}: {kinds}")
        if (erase := self.number("Block_Erase_Latency")) is not None:
            timing["erase"] = f"{erase:.10g}ns"
        rate, width = self.number("Channel_Transfer_Rate"), self.number("Flash_Channel_Width") or 1
        if rate:
            # As a rate: a byte takes no whole number of ps at most of those that drives have.
            timing["bus_rate"] = f"{rate * width:.10g}MT/s"
        return timing

    def _link(self) -> dict[str, Any]:
        link: dict[str, Any] = {}
        rate, lanes = self.number("PCIe_Lane_Bandwidth"), self.number("PCIe_Lane_Count") or 1
        delay = self.number("SATA_Processing_Delay")
        depth, fetched = self.number("IO_Queue_Depth"), self.number("Queue_Fetch_Size")
        if self.word("HostInterface_Type", {"NVME": False, "SATA": True}):
            link = {"bandwidth": "sata-300", "duplex": "half"}
            link |= {"latency": f"{delay:.10g}ns"} if delay else {}
            link |= {"queue_depth": int(depth)} if depth else {}
            return link
        if delay is not None:
            self.notes.append("unused with NVMe: SATA_Processing_Delay")
        if rate:
            link = {"bandwidth": f"{rate * lanes * 1000:.10g}MB/s", "duplex": "full"}
        if fetched:
            link["queue_depth"] = int(fetched)
        if depth:
            queues = "the host's queues are endless"
            self.notes.append(f"not modelled: IO_Queue_Depth = {depth:.0f}: {queues}")
        return link

    def _cleaning(self, blocks: int) -> dict[str, Any]:
        cleaning: dict[str, Any] = {}
        said = self.left.get("GC_Block_Selection_Policy", "")
        if policy := self.word("GC_Block_Selection_Policy", POLICIES):
            cleaning["policy"] = policy
        if policy == "d-choices":
            cleaning["d_choices"] = {"d": max(round(math.log2(blocks)), 1)}
        if said.upper() in ("RANDOM_P", "RANDOM_PP"):
            self.notes.append(f"GC_Block_Selection_Policy {said}: taken as random")
        if (share := self.number("GC_Exec_Threshold")) is not None:
            cleaning["min_free"] = share
        if (copy_back := self.word("Use_Copyback_for_GC", self.YES_NO)) is not None:
            cleaning["copy_back"] = copy_back
        if (yields := self.word("Preemptible_GC_Enabled", self.YES_NO)) is not None:
            cleaning["time"] = "interleaved" if yields else "blocking"
        return cleaning


def _workload(path: Path, root: xml.Element) -> str:
    scenarios = [it for it in root.inside if it.inside]
    if not scenarios:
        raise InputError(f"{path}: no <IO_Scenario>")
    notes = []
    if len(scenarios) > 1:
        notes.append(f"not run: {len(scenarios) - 1} further IO_Scenario; give each a file")
    classes: dict[str, Any] = {}
    traces: list[dict[str, Any]] = []
    ends: list[float] = []
    requests, filled = 0, 0.0
    flows = [it for it in scenarios[0].inside if it.name.startswith(FLOW)]
    others = [it.name for it in scenarios[0].inside if it not in flows]
    notes += [f"not modelled: {name}" for name in others]
    for number, flow in enumerate(flows):
        given = _Given(path, flow.leaves())
        if (share := given.number("Initial_Occupancy_Percentage")) is not None:
            filled = max(filled, min(share / 100, 1.0))
        if "Trace" in flow.name:
            traces.append(_trace(given))
        else:
            classes[f"flow_{number}"], asked, end = _synthetic(given)
            requests += asked or ENDLESS
            ends += [end] if end and not asked else []
        notes += [f"flow {number}: {note}" for note in given.rest()]
    streams: list[dict[str, Any]] = list(traces)
    if classes:
        streams.append({"kind": "threads", "requests": requests, "classes": classes})
    if not streams:
        raise InputError(f"{path}: the scenario has no flow")
    workload = streams[0] if len(streams) == 1 else {"kind": "mix", "streams": streams}
    run = {"until": f"{max(ends):.0f}ns"} if ends else {}
    device = {"fill": filled} if filled else {}
    return _toml({"workload": workload, "run": run, "device": device}, notes)


def _trace(given: _Given) -> dict[str, Any]:
    name = given.left.pop("File_Path", "")
    if not name:
        raise InputError(f"{given.path}: a trace-based flow without <File_Path>")
    unit = given.word("Time_Unit", TIME_UNITS) or "ns"
    found = {"kind": "trace", "path": name, "format": "mqsim", "time_unit": unit, "beyond": "wrap"}
    given.notes.append("addresses beyond the drive wrap around it, as in MQSim")
    share = given.number("Percentage_To_Be_Executed")
    if share is not None and share != 100:
        given.left["Percentage_To_Be_Executed"] = f"{share:g}"
    return found | {"loops": max(int(given.number("Relay_Count") or 1), 1)}


def _synthetic(given: _Given) -> tuple[dict[str, Any], int, float]:
    """A class of threads, how many requests it asks (0: until its time), and that time in ns."""
    found: dict[str, Any] = {"threads": 1}
    sectors = given.number("Average_Request_Size") or 8
    size = max(int(sectors), 1) * SECTOR
    found["block_size"] = f"{size}B"
    fixed = given.word("Request_Size_Distribution", {"FIXED": True, "NORMAL": False})
    spread = given.number("Variance_Request_Size")
    if fixed is False:
        given.notes.append(f"sizes: all are the mean; not modelled: a variance of {spread or 0:g}")
    if (share := given.number("Read_Percentage")) is not None:
        found["read_share"] = share / 100
    if share := given.number("Working_Set_Percentage"):
        found["footprint"] = share / 100
    hot = given.number("Percentage_of_Hot_Region") or 0.0
    kinds = {"RANDOM_UNIFORM": 0, "RANDOM_HOTCOLD": 1, "STREAMING": 2}
    kind = given.word("Address_Distribution", kinds)
    found["random_share"] = 0 if kind == 2 else 1
    if kind != 1 and hot:
        given.notes.append("unused without RANDOM_HOTCOLD: Percentage_of_Hot_Region")
    if kind == 1 and 0 < hot < 100:
        found["locality"] = f"hot-cold({1 - hot / 100:g}, {hot / 100:g})"
    depth = given.number("Average_No_of_Reqs_in_Queue")
    bandwidth = given.number("Bandwidth")
    paced = given.word("Synthetic_Generator_Type", {"QUEUE_DEPTH": False, "BANDWIDTH": True})
    if paced:
        if not bandwidth:
            raise InputError(f"{given.path}: a flow of type BANDWIDTH without <Bandwidth>")
        found |= {"rate": bandwidth / size, "arrivals": "poisson", "depth": 65536}
        if depth:
            given.notes.append("unused with BANDWIDTH: Average_No_of_Reqs_in_Queue")
    else:
        if bandwidth:
            given.notes.append("unused with QUEUE_DEPTH: Bandwidth")
        found["depth"] = max(int(depth or 1), 1)
    requests = int(given.number("Total_Requests_To_Generate") or 0)
    end = given.number("Stop_Time") or 0.0
    if not requests and not end:
        raise InputError(f"{given.path}: a flow needs Total_Requests_To_Generate or Stop_Time")
    if requests and end:
        given.notes.append("unused with Total_Requests_To_Generate: Stop_Time")
    return found, requests, end


def _toml(sections: Mapping[str, Any], notes: list[str]) -> str:
    lines = [f"{name} = {_value(table)}" for name, table in sections.items() if table]
    return "\n".join([*(f"# {' '.join(note.split())}" for note in notes), *lines]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(it)}" for key, it in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)
