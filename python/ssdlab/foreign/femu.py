"""The options of FEMU's black-box drive in a shell script, such as `run-blackbox.sh`, as a drive.

FEMU collects garbage by superblocks, a block of every unit; here a superblock has one block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign.parameters import Given, toml

#: Maximum size of a script.
LARGEST_BYTES = 1 << 18
#: Variables stand for variables, so deep.
DEEPEST = 8
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?(\w+)=[\"']?([^\s\"';]+)", re.M)
#: A value ends at the next option; a shell expression at its closing parenthesis.
_OPTION = re.compile(r"\b([a-z_]+)=[\"']?(\$\([^)]*\)|[^\s,\"';]*)")
#: Options by the resulting key.
WHOLE = {
    "nchs": "channels", "luns_per_ch": "packages_per_channel", "pls_per_lun": "planes_per_die",
    "blks_per_pl": "blocks_per_plane", "pgs_per_blk": "pages_per_block",
}  # fmt: skip
TIMES = {"pg_rd_lat": "read", "pg_wr_lat": "program", "blk_er_lat": "erase"}
#: Further options of QEMU about the drive and itself.
OTHERS = {
    "devsz_mb", "femu_mode", "secsz", "secs_per_pg", "ch_xfer_lat", "gc_thres_pcent",
    "gc_thres_pcent_high", "namespaces", "queues", "multipoller_enabled", "bufsz_mb",
    "fdp", "nruh", "nrg", "nru",
}  # fmt: skip


#: A drive of FEMU among QEMU's devices, but not a subsystem of it.
_DEVICE = re.compile(r"-device\s+[\"']?femu\b(?!-)")
#: An option behind a comma.
_FURTHER = re.compile(r"(?<=,)([a-z_]+)=[\"']?(\$\([^)]*\)|[^\s,\"';]*)")
_FIO = re.compile(r"^\s*(?:sudo\s+)?fio\s+--", re.M)
#: Options of QEMU that name a drive.
NAMES = {"id", "serial", "subsys", "bus", "addr", "drive"}

#: FEMU's other modes.
MODES = {
    "0": "an open-channel drive", "2": "a drive without a model", "3": "zones",
    "4": "a drive that computes", "5": "a store of keys and values",
}  # fmt: skip


class _Drive(Given):
    by_effect = (
        "nand_cell_type", "cell_pages", "pe_suspend", "tsusp_ns", "nrg", "nru", "gc_thres_pcent",
        "namespaces", "bufsz_mb",
    )  # fmt: skip
    without_effect = ("queues", "multipoller_enabled")


def converted(path: Path) -> str:
    """The drive of a script as TOML. Raises `InputError` for a script without one."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    text = _COMMENT.sub("", text)
    variables = dict(_ASSIGNED.findall(text))
    known = {*WHOLE, *TIMES, *OTHERS}
    # Words stay unchanged, for messages.
    options = {
        name: _resolved(value, variables)
        for name, value in _OPTION.findall(text)
        if name in known and value
    }
    if "femu" not in text or "devsz_mb" not in options:
        raise InputError(
            f"{path}: a shell script that names no drive of FEMU (-device femu,devsz_mb=...); "
            + (
                "options of fio belong into a job file, one a line below [job]"
                if _FIO.search(text)
                else "experiments are TOML"
            )
        )
    if (count := len(_DEVICE.findall(text))) > 1:
        raise InputError(f"{path}: {count} drives of FEMU (-device femu,...); keep one")
    return _text(_Drive(path, _further(text, known, variables) | options))


def _further(text: str, known: set[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Options of the drive that are not read, so that the notes name each."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if _DEVICE.search(line) or known & {name for name, _ in _OPTION.findall(line)}:
            found |= {name: _resolved(value, variables) for name, value in _FURTHER.findall(line)}
    return {name: value for name, value in found.items() if name not in known | NAMES}


def _resolved(value: str, variables: Mapping[str, str]) -> str:
    """A value whose variables the script sets; any other as it stands."""
    for _ in range(DEEPEST):
        if not value.startswith("$") or value.strip("${}") not in variables:
            break
        value = variables[value.strip("${}")]
    return value


def _text(given: _Drive) -> str:
    # FEMU's own default is a drive without a model.
    mode = given.left.pop("femu_mode", "2")
    if mode != "1":
        said = MODES.get(mode, "another kind of drive")
        raise InputError(
            f"{given.path}: femu_mode={mode}: {said}; only the black box, femu_mode=1, is read"
        )
    device: dict[str, Any] = {"kind": "ssd", "summary_page": False, "dies_per_package": 1}
    device |= {"interleave": "none", "spare_size": "0B"}
    for name, key in WHOLE.items():
        if (count := given.whole(name)) is not None:
            device[key] = count
    page = (given.whole("secsz") or 512) * (given.whole("secs_per_pg") or 8)
    device["page_size"] = f"{page}B"
    if (size := given.whole("devsz_mb")) is not None:
        device["capacity"] = f"{size}MiB"
    timing = {key: f"{ns:.0f}ns" for name, key in TIMES.items() if (ns := given.number(name))}
    # Transfer time of a page on its channel; without it, as in most scripts, there is no bus.
    crossing = given.number("ch_xfer_lat") or 0
    timing["bus_per_byte"] = f"{round(crossing * 1000 / page)}ps"
    device["timing"] = timing
    if (high := given.number("gc_thres_pcent_high")) is not None:
        device["cleaning"] = {"policy": "greedy", "min_free": max(round(1 - high / 100, 4), 0)}
    _place(given, device)
    if given.left.get("namespaces") == "1":
        given.ignore("namespaces")
    given.notes.append(
        "superblocks: a block is cleaned by itself, not the blocks of all units together"
    )
    return toml({"device": device}, given.rest())


def _place(given: _Drive, device: dict[str, Any]) -> None:
    """Placement handles of a subsystem with flexible data placement."""
    handles = given.whole("nruh")
    if given.word("fdp", {"ON": True, "TRUE": True, "OFF": False, "FALSE": False}):
        device["fdp"] = {"handles": handles or 1}
    else:
        given.ignore("nrg", "nru")
    if given.left.get("nrg") == "1":
        given.ignore("nrg")
    if given.left.get("nru") == str(device.get("blocks_per_plane")):
        given.ignore("nru")
