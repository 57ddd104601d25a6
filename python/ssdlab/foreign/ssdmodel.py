"""An SSD of DiskSim's extension (`ssdmodel_ssd`) as keys of `device`."""

from __future__ import annotations

from typing import Any

from ssdlab.foreign.given import SECTOR, Given
from ssdlab.foreign.parv import Value


def ssd_keys(given: Given) -> dict[str, Any]:
    """Keys of `device` that turn `disksim-ssd` into the drive of a block `ssdmodel_ssd`."""
    device: dict[str, Any] = {"preset": "disksim-ssd"}
    elements = given.whole("Flash chip elements") or 8
    device["channels"], device["packages_per_channel"] = elements, 1
    device |= _planes(given)
    page = (given.whole("Page size") or 8) * SECTOR
    device["page_size"] = f"{page}B"
    # The spare area has 16 B per sector.
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
        link["bandwidth"] = bandwidth(sector_ms)
    inner = given.inner("Scheduler")
    policies = {str(n): n for n in range(1, 50)}
    if inner is not None and inner.word("Scheduling policy", policies) != 1:
        given.notes.append("Scheduler: queues of the elements are first come, first served")
    if given.word("Never disconnect", {"0": False, "1": True}) is False:
        given.notes.append("not modelled: Never disconnect = 0, a bus released between transfers")
    return link


def bandwidth(sector_ms: float) -> str:
    """Bandwidth of a bus with `sector_ms` per sector."""
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
