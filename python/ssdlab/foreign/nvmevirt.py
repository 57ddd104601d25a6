"""A drive of NVMeVirt's header `ssd_config.h`: numbers from `#define` lines, by drive model.

The models stand between `#if (BASE_SSD == NAME)` and `#endif`; the model of a conventional SSD is
read; zoned, key-value and non-flash models are named.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign.parameters import LARGEST, Given, toml

#: Maximum size of a header.
LARGEST_BYTES = 1 << 18
#: Maximum depth of names defined by names.
DEEPEST = 16
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(.*?)[ \t]*$", re.M)
_MODEL = re.compile(r"\(?\s*BASE_SSD\s*==\s*(\w+)\s*\)?")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
SIGNS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.LShift: lambda a, b: a * 2**b,
}  # fmt: skip
WHOLE = {
    "NAND_CHANNELS": "channels", "LUNS_PER_NAND_CH": "packages_per_channel",
    "PLNS_PER_LUN": "planes_per_die", "BLKS_PER_PLN": "blocks_per_plane",
}  # fmt: skip
#: Bits per cell by mode, and the pages of a word line in program order.
CELLS = {"CELL_MODE_SLC": 1, "CELL_MODE_MLC": 2, "CELL_MODE_TLC": 3, "1": 1, "2": 2, "3": 3}
PAGES = ("LSB", "MSB", "CSB")
#: Type of a conventional, not zoned drive.
PAGED = "SSD_TYPE_CONV"
#: More than the maximum queue depth.
CORES = 1024
#: Not in the file: the block size depends on the memory given to the module.
BLOCK_BYTES = 4 << 20
#: Redundant numbers, or numbers without effect on time.
OTHERS = ("NR_NAMESPACES", "NS_SSD_TYPE_1", "NS_CAPACITY_0", "NS_CAPACITY_1", "MDTS", "LBA_BITS",
          "LBA_SIZE", "NAND_READ_LATENCY_CSB", "NAND_4KB_READ_LATENCY_CSB", "BLK_SIZE")  # fmt: skip


class _Drive(Given):
    by_effect = ("FW_READ_LATENCY", "WRITE_UNIT_SIZE", "SSD_PARTITIONS", "MAX_CH_XFER_SIZE")


def converted(path: Path) -> str:
    """The drive of a header as TOML. Raises `InputError` for a header without one."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    models = _models(text)
    flash = {name: it for name, it in models.items() if "NAND_CHANNELS" in it}
    pages = [it for it in flash if flash[it].get("NS_SSD_TYPE_0", PAGED) == PAGED]
    if not flash:
        raise InputError(
            f"{path}: a header without a drive of NVMeVirt (NAND_CHANNELS); experiments are TOML"
        )
    if len(pages) != 1:
        found = (
            f"{len(pages)} drives ({', '.join(pages)}); keep one" if pages else "drives of zones"
        )
        raise InputError(f"{path}: {found}; read is the one whose NS_SSD_TYPE_0 is SSD_TYPE_CONV")
    defined = models.get("", {}) | models[pages[0]]
    given = {name: _said(name, defined) for name in models[pages[0]]}
    drive = _Drive(path, given)
    others = [name for name in models if name not in ("", pages[0])]
    if others:
        drive.notes.append(f"other models of the file, not read: {', '.join(others)}")
    return _text(drive, defined)


def _models(text: str) -> dict[str, dict[str, str]]:
    """Definitions by branch of BASE_SSD; an empty name for those outside."""
    found: dict[str, dict[str, str]] = {}
    #: The conditions around a line: a model, None if the line is excluded, else empty.
    around: list[str | None] = []
    for word, rest in _DIRECTIVE.findall(_COMMENT.sub("", text)):
        if word.startswith("if"):
            around.append(_branch(rest))
        elif word in ("elif", "else") and around:
            # Only one branch of a condition applies.
            before = around.pop()
            around.append(_branch(rest) if word == "elif" else None if before == "" else "")
        elif word == "endif" and around:
            around.pop()
        elif word == "define" and None not in around:
            name, _, value = rest.partition(" ")
            if value and "(" not in name:
                model = next((it for it in reversed(around) if it), "")
                found.setdefault(model, {})[name] = _bare(value)
    return found


def _bare(value: str) -> str:
    """A value, without parentheses around a single word."""
    word = value.strip().removeprefix("(").removesuffix(")").strip()
    return word if word.isidentifier() else value.strip()


def _branch(condition: str) -> str | None:
    if (model := _MODEL.fullmatch(condition.strip())) is not None:
        return model[1]
    return None if condition.strip() == "0" else ""


def _said(name: str, defined: Mapping[str, str]) -> str:
    """The number of a name, or its word if it is not a number."""
    number = _number(defined[name], defined)
    return defined[name] if number is None else f"{number:.12g}"


def _number(text: str, defined: Mapping[str, str], deep: int = 0) -> float | None:
    """Value of an expression of numbers, names and units; None for any other."""

    def of(node: ast.expr) -> float | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in defined and deep < DEEPEST:
            return _number(defined[node.id], defined, deep + 1)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            unit, inner = UNITS.get(node.func.id), of(node.args[0])
            return None if unit is None or inner is None else unit * inner
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            left, right = of(node.left), of(node.right)
            if left is None or right is None or (isinstance(node.op, ast.LShift) and right > 64):
                return None
            return float(SIGNS[type(node.op)](left, right))
        return None

    try:
        number = of(ast.parse(_SUFFIX.sub(r"\1", text), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    return number if number is not None and abs(number) <= LARGEST else None


def _text(given: _Drive, defined: Mapping[str, str]) -> str:
    given.left.pop("NS_SSD_TYPE_0", None)
    device: dict[str, Any] = {"kind": "ssd", "summary_page": False, "dies_per_package": 1}
    device["spare_size"] = "0B"
    for name, key in WHOLE.items():
        if (count := given.whole(name)) is not None:
            device[key] = count
    page = given.whole("FLASH_PAGE_SIZE") or 32 << 10
    shot = (given.number("ONESHOT_PAGE_SIZE") or page) / page
    block = _number("BLK_SIZE", defined) or BLOCK_BYTES
    bits = given.word("CELL_MODE", CELLS) or 1
    rows = max(round(block / page / bits), 1)
    device |= {"page_size": f"{page}B", "pages_per_block": rows * bits}
    given.notes.insert(
        0,
        f"blocks of {rows * bits * page >> 10} KiB: there they follow from the memory that the "
        "module is given; device.pages_per_block changes them",
    )
    reads = [given.number(f"NAND_READ_LATENCY_{it}") or 0 for it in PAGES[:bits]]
    timing = {"read": ", ".join(f"{ns:.0f}ns" for ns in reads)}
    first = given.number("NAND_4KB_READ_LATENCY_LSB")
    given.left.pop("NAND_4KB_READ_LATENCY_MSB", None)
    if first:
        timing["read_part"] = f"{first:.0f}ns"
    if (program := given.number("NAND_PROG_LATENCY")) is not None:
        timing["program"] = f"{program * bits / shot:.0f}ns"
    if (erase := given.number("NAND_ERASE_LATENCY")) is not None:
        timing["erase"] = f"{erase:.0f}ns"
    if rate := given.number("NAND_CHANNEL_BANDWIDTH"):
        timing["bus_rate"] = f"{rate:.10g}MT/s"
    device["timing"] = timing
    if bits > 1:
        device["cell"] = {"bits": bits, "program": "per-page"}
    if size := given.number("GLOBAL_WB_SIZE"):
        device["buffer"] = {"size": f"{size:.0f}B"}
    if rate := given.number("PCIE_BANDWIDTH"):
        device["host_link"] = {"bandwidth": f"{rate:.10g}MB/s", "duplex": "half"}
    if share := given.number("OP_AREA_PERCENT"):
        device["over_provisioning"] = share
    firmware = {
        key: f"{ns:.0f}ns"
        for key, name in (("read", "FW_4KB_READ_LATENCY"), ("write", "FW_WBUF_LATENCY0"),
                          ("per_page", "FW_WBUF_LATENCY1"))
        if (ns := given.number(name))
    }  # fmt: skip
    if firmware:
        # This time delays only its own command.
        device["firmware"] = firmware | {"cores": CORES}
    given.ignore(*OTHERS)
    return toml({"device": device}, given.rest())
