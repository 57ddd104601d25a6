"""A configuration of SimpleSSD as a drive: INI, with times in ps."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign.parameters import Given, toml

#: Maximum size of a configuration.
LARGEST_BYTES = 1 << 18
WHOLE = {
    "pal.channel": "channels", "pal.package": "packages_per_channel", "pal.die": "dies_per_package",
    "pal.plane": "planes_per_die", "pal.block": "blocks_per_plane", "pal.page": "pages_per_block",
}  # fmt: skip
#: Pages per word line, by cell type.
TYPES = {"0": ("lsb",), "1": ("lsb", "msb"), "2": ("lsb", "csb", "msb")}
POLICIES = {"0": "greedy", "1": "cost-benefit", "2": "random", "3": "d-choices"}
#: Bandwidth of a lane, MB/s, by SimpleSSD's number of the generation.
LANES = {"0": 250, "1": 500, "2": 985}
SWITCH = {"0": False, "1": True, "true": True, "false": False}


class _Drive(Given):
    by_effect = (
        "ftl.mappingmode", "icl.enablereadcache", "icl.enablereadprefetch", "pal.superblocksize",
        "pal.pageallocation", "ftl.gcmode", "ftl.gcreclaimblocks", "ftl.gcreclaimthreshold",
        "ftl.enablerandomiotweak", "nvme.maxrequestcount", "icl.cachelatency", "icl.evictpolicy",
    )  # fmt: skip
    without_effect = (
        "nvme.defaultnamespace", "nvme.lbasize", "nvme.enablediskimage", "nvme.strictsizecheck",
        "nvme.diskimagefile1", "nvme.usecopyonwritedisk", "nvme.maxiocqueue", "nvme.maxiosqueue",
        "nvme.wrrhigh", "nvme.wrrmedium",
    )  # fmt: skip


def converted(path: Path) -> str:
    """The drive of a configuration as TOML. Raises `InputError` for a file that is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    parser = configparser.ConfigParser(
        interpolation=None, strict=False, inline_comment_prefixes=("#",)
    )
    try:
        parser.read_string(text)
    except configparser.Error as error:
        said = str(error).partition("\n")[0]
        raise InputError(f"{path}: no configuration of SimpleSSD: {said}") from None
    sections = ("pal", "ftl", "icl", "nvme")
    given = {
        f"{name}.{key}": value
        for name in sections
        if parser.has_section(name)
        for key, value in parser.items(name)
    }
    if parser.has_section("trace") and not parser.has_section("pal"):
        raise InputError(
            f"{path}: SimpleSSD's settings of a replay, without a drive; `ssdlab run --trace FILE` "
            "knows most formats, and --pattern takes a regular expression with named groups"
        )
    if not parser.has_section("pal"):
        raise InputError(
            f"{path}: no configuration of SimpleSSD, which has a section [pal]; "
            "experiments are TOML"
        )
    return _text(_Drive(path, given))


def _text(given: _Drive) -> str:
    device: dict[str, Any] = {"kind": "ssd", "summary_page": False}
    for name, key in WHOLE.items():
        if (count := given.whole(name)) is not None:
            device[key] = count
    if (page := given.whole("pal.pagesize")) is not None:
        device["page_size"] = f"{page}B"
    if (share := given.number("ftl.overprovisioningratio")) is not None:
        device["spare_factor"] = share
    if (filled := given.number("ftl.fillratio")) is not None:
        device["fill"] = min(filled, 1.0)
    device["timing"], bits = _timing(given, device.get("pages_per_block", 512))
    size = given.number("icl.cachesize")
    if given.word("icl.enablewritecache", SWITCH) and size:
        device["buffer"] = {"size": f"{size:.0f}B"}
    else:
        device["interleave"] = (
            "plane" if given.left.get("pal.enablemultiplaneoperation") == "0" else "die"
        )
    given.left.pop("pal.enablemultiplaneoperation", None)
    if bits > 1:
        device["cell"] = {"bits": bits} | ({"program": "per-page"} if "buffer" in device else {})
    lanes, rate = given.whole("nvme.pcielane") or 4, given.word("nvme.pciegeneration", LANES)
    if rate:
        device["host_link"] = {"bandwidth": f"{rate * lanes}MB/s", "duplex": "full"}
    device["cleaning"] = _cleaning(given)
    if (cycles := given.whole("ftl.erasethreshold")) is not None:
        device["wear"] = {"rated_cycles": cycles}
    return toml({"device": device}, given.rest())


def _timing(given: _Drive, pages: int) -> tuple[dict[str, str], int]:
    """Timing, in ps in SimpleSSD, and the pages of a word line."""
    types = given.word("pal.nandtype", TYPES) or ("lsb",)
    times = {
        kind: [given.number(f"pal.{page}{kind}") or 0 for page in types]
        for kind in ("read", "write")
    }
    for page in ("lsb", "csb", "msb"):
        for kind in ("read", "write"):
            given.left.pop(f"pal.{page}{kind}", None)
    bits = len(types) if pages % len(types) == 0 else 1
    mean = {kind: sum(ps) / len(ps) / 1000 for kind, ps in times.items()}
    if bits == len(types):
        read = ", ".join(f"{ps / 1000:.0f}ns" for ps in times["read"])
    else:
        read = f"{mean['read']:.0f}ns"
        given.notes.append("pages of a word line: of one kind, as a block has them in part")
    timing = {"read": read, "program": f"{mean['write'] * bits:.0f}ns"}
    if (erase := given.number("pal.erase")) is not None:
        timing["erase"] = f"{erase / 1000:.0f}ns"
    speed, width = given.number("pal.dmaspeed"), given.number("pal.dmawidth") or 8
    if speed:
        timing["bus_rate"] = f"{speed * width / 8:.10g}MT/s"
    return timing, bits


def _cleaning(given: _Drive) -> dict[str, Any]:
    policy = given.word("ftl.evictpolicy", POLICIES) or "greedy"
    choices = given.whole("ftl.dchoiceparam") or 3
    cleaning: dict[str, Any] = {"policy": policy}
    if policy == "d-choices":
        cleaning["d_choices"] = {"d": choices}
    if (free := given.number("ftl.gcthreshold")) is not None:
        cleaning["min_free"] = free
    return cleaning
