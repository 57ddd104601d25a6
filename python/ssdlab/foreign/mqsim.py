"""MQSim's two files as an experiment: the drive (`ssdconfig.xml`) and the workload.

Read after MQSim's own configuration files (Tavakkol et al., FAST 2018). Every parameter is mapped,
or noted as not modelled, in order of effect on results. MQSim's data cache, a DRAM in front of the
drive that answers writes, is the write buffer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign import xml
from ssdlab.foreign.parameters import Given, toml

DRIVE, WORKLOAD = "Execution_Parameter_Set", "MQSim_IO_Scenarios"
#: Root elements of the two files, of MQSim and of forks.
DRIVES, WORKLOADS = (DRIVE, "ExecParameterSet"), (WORKLOAD, "Workload_Definition")
RESULTS = "MQSim_Results"
#: Prefixes of flow elements.
FLOWS = ("IO_Flow_Parameter_Set", "SyntheticFlowParam", "TraceFlowParam")
#: Parameters that forks rename.
ALIASES = {
    "Trace_File_Path": "File_Path", "Percentage_To_Be_Simulated": "Percentage_To_Be_Executed",
    "Replay_Count": "Relay_Count", "Page_Metadata_Capacity": "Page_Metadat_Capacity",
    "ResponseTime_Logging_Period": "ResponseTime_Logging_Period_Length",
    "Die_No_per_Zone": "Die_No_Per_Zone",
}  # fmt: skip
POLICIES = {
    "GREEDY": "greedy",
    "RGA": "d-choices",
    "RANDOM": "random",
    "RANDOM_P": "random",
    "RANDOM_PP": "random",
    "FIFO": "fifo",
}
#: Number of requests of a flow that is limited by time.
ENDLESS = 10**9
SECTOR = 512
#: Flash size from which preconditioning takes minutes.
SLOW_GIB = 128
TIME_UNITS = {"PICOSECOND": None, "NANOSECOND": "ns", "MICROSECOND": "us", "MILLISECOND": "ms"}
READ = ("Page_Read_Latency_LSB", "Page_Read_Latency_CSB", "Page_Read_Latency_MSB")
PROGRAM = tuple(name.replace("Read", "Program") for name in READ)
#: Page types of each technology.
TYPES = {"SLC": (0,), "MLC": (0, 2), "TLC": (0, 1, 2)}
#: Choices equal to the model's.
AS_HERE = {
    "Memory_Type": "FLASH", "Address_Mapping": "PAGE_LEVEL", "CMT_Sharing_Mode": "SHARED",
    "Data_Cache_Sharing_Mode": "SHARED",
}  # fmt: skip
#: Parameters of a drive or a flow that are lost in conversion, by effect on results, largest first.
BY_EFFECT = (
    "Memory_Type", "Address_Mapping", "Caching_Mechanism", "Device_Level_Data_Caching_Mode",
    "SLC_Program_Latency", "SLC_Read_Latency", "TLC_Program_Latency", "TLC_Read_Latency",
    "Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs", "CMD_Suspension_Support",
    "Plane_Allocation_Scheme", "Zone_Allocation_Scheme", "SubZone_Allocation_Scheme",
    "Plane_No_Per_Zone", "Variance_Request_Size", "Percentage_To_Be_Executed",
    "Transaction_Scheduling_Policy", "Priority_Class", "Read_Reclaim_Threshold",
    "ECC_Correction_Capability", "Preemptible_GC_Enabled",
    "Dynamic_Wearleveling_Enabled", "Static_Wearleveling_Enabled", "Static_Wearleveling_Threshold",
    "CMT_Sharing_Mode", "Data_Cache_Sharing_Mode", "GC_Hard_Threshold",
)  # fmt: skip
#: Parameters of MQSim's reports, or without an effect on results.
WITHOUT_EFFECT = (
    "Enable_ResponseTime_Logging", "ResponseTime_Logging_Period_Length", "Data_Cache_DRAM_Row_Size",
    "Data_Cache_DRAM_Data_Rate", "Data_Cache_DRAM_Data_Busrt_Size", "Data_Cache_DRAM_tRCD",
    "Data_Cache_DRAM_tCL", "Data_Cache_DRAM_tRP", "Flash_Comm_Protocol", "Intensity", "Seed",
    "IO_Queue_Depth",  # requests beyond the queue wait in the host, and that wait counts as latency
    "Preferred_suspend_erase_time_for_read", "Preferred_suspend_erase_time_for_write",
    "Preferred_suspend_write_time_for_read", "Generated_Aligned_Addresses",
    "Address_Alignment_Unit",
)  # fmt: skip


def converted(path: Path) -> str:
    """The file `path` as TOML, with notes on unconverted parameters as comments.

    Raises `InputError` for other files.
    """
    root = xml.read(path)
    if root.name in DRIVES:
        return _Drive(path, root.leaves()).text()
    if root.name in WORKLOADS:
        return _workload(path, root)
    if root.name == RESULTS:
        raise InputError(
            f"{path}: results of MQSim; `ssdlab run` takes the ssdconfig.xml and workload.xml "
            "that made them"
        )
    raise InputError(
        f"{path}: <{root.name}> is neither MQSim's <{DRIVE}> nor its <{WORKLOAD}>; other "
        "experiments are TOML"
    )


class _Given(Given):
    by_effect = BY_EFFECT
    without_effect = WITHOUT_EFFECT

    def __init__(self, path: Path, given: Mapping[str, str]) -> None:
        super().__init__(path, {ALIASES.get(name, name): it for name, it in given.items()})


class _Drive(_Given):
    #: Whole numbers, by the resulting key.
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
        for name, value in AS_HERE.items():
            if self.left.get(name, "").upper() == value:
                del self.left[name]
        by_zones = self.left.get("Address_Mapping", "").upper() == "ZONE_LEVEL"
        if self.word("Support_Zone", self.YES_NO) or by_zones:
            return self._zoned()
        self.ignore(*(name for name in self.left if "Zone" in name))
        device: dict[str, Any] = {"kind": "ssd", "summary_page": False, "interleave": "die"}
        for name, key in self.WHOLE.items():
            if (count := self.whole(name)) is not None:
                device[key] = count
        for name, key in self.SIZES.items():
            if (number := self.number(name)) is not None:
                device[key] = f"{int(number)}B"
        if (share := self.number("Overprovisioning_Ratio")) is not None:
            device["spare_factor"] = share
        pages = device.get("pages_per_block", 256)
        device["timing"], cell = self._timing(pages)
        device |= {"cell": cell} if cell else {}
        is_buffered = self._cache(device)
        self._suspension(device, is_buffered)
        device["host_link"] = self._link()
        device["cleaning"] = self._cleaning(device.get("blocks_per_plane", 2048), is_buffered)
        self._levelling(device)
        self._life(device)
        run = self._run()
        return toml({"device": device, "run": run}, [*_slowness(device, run), *self.rest()])

    def _zoned(self) -> str:
        """The zoned drive as TOML: the host cleans it, and the map has one entry per zone."""
        self.left.pop("Address_Mapping", None)
        count = {key: self.whole(name) or 1 for name, key in self.WHOLE.items()}
        page = int(self.number("Page_Capacity") or 8192)
        dies = count["packages_per_channel"] * count["dies_per_package"]
        size = int((self.number("Zone_Size") or 256) * (1 << 20))
        of_die = count["planes_per_die"] * count["blocks_per_plane"] * count["pages_per_block"]
        zones = count["channels"] * dies * of_die * page // max(size, 1)
        parts = ("Channel_No_Per_Zone", "Chip_No_Per_Zone", "Die_No_Per_Zone")
        width = math.prod(self.whole(name) or 1 for name in parts)
        timing, cell = self._timing(count["pages_per_block"])
        link = self._link()
        # There, zones have no limits, and commands take no controller time.
        device: dict[str, Any] = {
            "kind": "zoned",
            "channels": count["channels"],
            "dies_per_channel": dies,
            "planes_per_die": count["planes_per_die"],
            "pages_per_block": count["pages_per_block"],
            "page_size": f"{page}B",
            "bits": cell.get("bits", 1),
            "zones": {
                "count": zones, "size": f"{size}B", "width": width, "open": zones, "active": zones,
                "reset": "0ns",
            },
            "timing": timing,
            "firmware": {"write": "0ns", "append": "0ns", "manage": "0ns"},
        }  # fmt: skip
        if "bandwidth" in link:
            rate = float(link["bandwidth"].removesuffix("MB/s"))
            device["link"] = {"page": f"{4096 / rate * 1000:.0f}ns"}
        if "queue_depth" in link:
            device.setdefault("link", {})["queue_depth"] = link["queue_depth"]
        if (capacity := self.number("Data_Cache_Capacity")) and "Caching_Mechanism" in self.left:
            del self.left["Caching_Mechanism"]
            device["buffer"] = {"size": f"{int(capacity)}B"}
        if self.left.get("Plane_No_Per_Zone") == str(count["planes_per_die"]):
            del self.left["Plane_No_Per_Zone"]
        self.ignore(
            "Page_Metadat_Capacity", "Overprovisioning_Ratio", "Ideal_Mapping_Table",
            "CMT_Capacity", "GC_Exec_Threshold", "GC_Hard_Threshold", "GC_Block_Selection_Policy",
            "Use_Copyback_for_GC", "Preemptible_GC_Enabled", "Dynamic_Wearleveling_Enabled",
            "Static_Wearleveling_Enabled", "Static_Wearleveling_Threshold",
            "Suspend_Program_Time", "Suspend_Erase_Time",
        )  # fmt: skip
        self._life(device)
        return toml({"device": device, "run": self._run()}, self.rest())

    def _life(self, device: dict[str, Any]) -> None:
        if (cycles := self.number("Block_PE_Cycles_Limit")) is not None:
            device["wear"] = {"rated_cycles": int(cycles)}

    def _run(self) -> dict[str, Any]:
        run: dict[str, Any] = {}
        if (seed := self.number("Seed")) is not None:
            run["seed"] = int(seed)
        if self.word("Enabled_Preconditioning", self.YES_NO):
            run["precondition"] = "steady"
        return run

    def _cache(self, device: dict[str, Any]) -> bool:
        """The data cache as write buffer, and the map cache; returns True if there is a buffer."""
        capacity = self.number("Data_Cache_Capacity")
        mechanisms = {"SIMPLE": True, "ADVANCED": True, "NONE": False, "TURNED_OFF": False}
        is_buffered = bool(self.word("Caching_Mechanism", mechanisms) and capacity)
        if is_buffered and capacity is not None:
            device["buffer"] = {"size": f"{int(capacity)}B"}
            del device["interleave"]
            if "cell" in device:
                device["cell"]["program"] = "per-page"
        elif capacity:
            self.left["Data_Cache_Capacity"] = f"{capacity:.0f}"
        if self.word("Ideal_Mapping_Table", self.YES_NO) is not False:
            self.ignore("CMT_Capacity")  # the whole map is in DRAM
        elif memory := self.number("CMT_Capacity"):
            device["map"] = {"memory": f"{int(memory)}B"}
        return is_buffered

    def _suspension(self, device: dict[str, Any], is_buffered: bool) -> None:
        """Operations that reads may suspend; drives without a buffer suspend none."""
        kinds = {
            "NONE": (), "PROGRAM": ("program",), "ERASE": ("erase",),
            "PROGRAM_ERASE": ("program", "erase"), "ERASE_PROGRAM": ("program", "erase"),
        }  # fmt: skip
        suspended = self.word("CMD_Suspension_Support", kinds)
        times = {kind: self.number(f"Suspend_{kind.title()}_Time") for kind in ("program", "erase")}
        if not suspended:
            return
        if not is_buffered:
            self.notes.append("CMD_Suspension_Support: not modelled without a data cache")
            return
        device["suspend"] = {kind: f"{times[kind] or 0:.10g}ns" for kind in suspended}

    def _levelling(self, device: dict[str, Any]) -> None:
        """Wear levelling: dynamic opens the least worn block, static moves cold data."""
        if self.word("Dynamic_Wearleveling_Enabled", self.YES_NO):
            device["free_order"] = "least-worn"
        if not self.word("Static_Wearleveling_Enabled", self.YES_NO):
            self.ignore("Static_Wearleveling_Threshold")
            return
        device["cleaning"]["levelling"] = {"rule": "migrate"}
        threshold = self.number("Static_Wearleveling_Threshold")
        said = "" if threshold is None else f", not at a difference of {threshold:.0f} erasures"
        self.notes.append(f"Static_Wearleveling: by the share of life that is left{said}")

    def _timing(self, pages: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Timing, and cells if page types differ in time."""
        timing: dict[str, Any] = {}
        technology = self.word("Flash_Technology", {name: name for name in TYPES}) or "SLC"
        types = TYPES[technology]
        # Partial word lines of a block are dropped.
        bits = len(types) if pages % len(types) == 0 else 1
        for names, key in ((READ, "read"), (PROGRAM, "program")):
            times = [self.number(name) for name in names]
            used = [it for it in (times[position] for position in types) if it is not None]
            if not used:
                continue
            if key == "read" and bits == len(used) and len({*used}) > 1:
                timing[key] = ", ".join(f"{it:.10g}ns" for it in used)
                continue
            # A word line is programmed page by page, each page in its share of the time.
            mean = sum(used) / len(used)
            timing[key] = f"{round(mean * (bits if key == 'program' else 1))}ns"
            if len({*used}) > 1:
                kinds = f"the mean of {technology}'s pages, which take the same time here"
                self.notes.append(f"timing.{key}: {kinds}")
        if bits > 1 and "program" not in timing:
            # The default is the time of one page.
            timing["program"] = f"{200 * bits}us"
        if (erase := self.number("Block_Erase_Latency")) is not None:
            timing["erase"] = f"{erase:.10g}ns"
        rate, width = self.number("Channel_Transfer_Rate"), self.number("Flash_Channel_Width") or 1
        if rate:
            # A rate: most drives' times per byte are not whole ps.
            timing["bus_rate"] = f"{rate * width:.10g}MT/s"
        return timing, {"bits": bits} if bits > 1 else {}

    def _link(self) -> dict[str, Any]:
        link: dict[str, Any] = {}
        rate, lanes = self.number("PCIe_Lane_Bandwidth"), self.number("PCIe_Lane_Count") or 1
        fetched = self.number("Queue_Fetch_Size")
        if self.word("HostInterface_Type", {"NVME": False, "SATA": True}):
            delay, depth = self.number("SATA_Processing_Delay"), self.number("IO_Queue_Depth")
            link = {"bandwidth": "sata-300", "duplex": "half"}
            link |= {"latency": f"{delay:.10g}ns"} if delay else {}
            link |= {"queue_depth": int(depth)} if depth else {}
            return link
        self.ignore("SATA_Processing_Delay")
        if rate:
            link = {"bandwidth": f"{rate * lanes * 1000:.10g}MB/s", "duplex": "full"}
        if fetched:
            link["queue_depth"] = int(fetched)
        return link

    def _cleaning(self, blocks: int, is_buffered: bool) -> dict[str, Any]:
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
        copy_back = self.word("Use_Copyback_for_GC", self.YES_NO)
        if is_buffered and copy_back:
            self.left["Use_Copyback_for_GC"] = "true: copies go through the buffer"
        elif copy_back is not None and not is_buffered:
            cleaning["copy_back"] = copy_back
        yields = self.word("Preemptible_GC_Enabled", self.YES_NO)
        if is_buffered and yields is not None:
            self.notes.append("Preemptible_GC_Enabled: cleaning goes beside the writes of a buffer")
        elif yields is not None:
            cleaning["time"] = "interleaved" if yields else "blocking"
        return cleaning


def _slowness(device: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    """The note on a drive whose preconditioning takes minutes."""
    size = math.prod(int(device.get(key, 1)) for key in _Drive.WHOLE.values())
    size = size * int(str(device.get("page_size", "1B"))[:-1]) >> 30
    if "precondition" not in run or size < SLOW_GIB:
        return []
    return [
        f"preconditioning overwrites {size} GiB until cleaning is steady, which takes minutes: "
        "--set device.scale=64 simulates a part of the drive in seconds"
    ]


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
    flows = [it for it in scenarios[0].inside if it.name.startswith(FLOWS)]
    others = [it.name for it in scenarios[0].inside if it not in flows]
    notes += [f"not modelled: {name}" for name in others]
    modes: set[str] = set()
    same_class = len({flow.leaves().get("Priority_Class") for flow in flows}) < 2
    for number, flow in enumerate(flows):
        given = _Given(path, flow.leaves())
        _everywhere(given)
        if same_class:
            given.ignore("Priority_Class")
        mode = given.left.get("Device_Level_Data_Caching_Mode", "").upper()
        modes.add(mode)
        if mode == "WRITE_CACHE":
            del given.left["Device_Level_Data_Caching_Mode"]
        if (share := given.number("Initial_Occupancy_Percentage")) is not None:
            filled = max(filled, min(share / 100, 1.0))
        if "Trace" in flow.name:
            traces.append(_trace(given))
        else:
            classes[f"flow_{number}"], requested, end = _synthetic(given)
            requests += requested or ENDLESS
            ends += [end] if end and not requested else []
        notes += [f"flow {number}: {note}" for note in given.rest()]
    streams: list[dict[str, Any]] = list(traces)
    if classes:
        streams.append({"kind": "threads", "requests": requests, "classes": classes})
    if not streams:
        raise InputError(f"{path}: the scenario has no flow")
    workload = streams[0] if len(streams) == 1 else {"kind": "mix", "streams": streams}
    run = {"until": f"{max(ends):.0f}ns"} if ends else {}
    device: dict[str, Any] = {"fill": filled} if filled else {}
    if modes == {"TURNED_OFF"}:
        device["buffer"] = {"size": "0B"}
        unused = ": not modelled: Device_Level_Data_Caching_Mode = TURNED_OFF"
        notes = [note for note in notes if not note.endswith(unused)]
        notes.append("the flows turn the data cache off: the drive has no buffer")
    return toml({"workload": workload, "run": run, "device": device}, notes)


def _everywhere(given: _Given) -> None:
    """Lists of units that begin at the first one are taken as the whole drive, with one note."""
    names = ("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs")
    stated = {name: given.left[name] for name in names if name in given.left}
    first = [re.fullmatch(r"0(?:-(\d+)|(?:,\d+)*)", it.replace(" ", "")) for it in stated.values()]
    counts = [int(it[1]) + 1 if it and it[1] else it[0].count(",") + 1 if it else 0 for it in first]
    if stated and all(counts):
        listed = ", ".join(f"{count} of {name}" for name, count in zip(stated, counts, strict=True))
        given.notes.append(f"taken as all of the drive: {listed}")
        for name in stated:
            del given.left[name]


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
    """A class of threads, its number of requests (0: limited by time), and its time in ns."""
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
        given.idle.append("Percentage_of_Hot_Region")
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
            given.idle.append("Average_No_of_Reqs_in_Queue")
    else:
        if bandwidth:
            given.idle.append("Bandwidth")
        found["depth"] = max(int(depth or 1), 1)
    requests = int(given.number("Total_Requests_To_Generate") or 0)
    end = given.number("Stop_Time") or 0.0
    if not requests and not end:
        raise InputError(f"{given.path}: a flow needs Total_Requests_To_Generate or Stop_Time")
    if requests and end:
        given.idle.append("Stop_Time")
    return found, requests, end
