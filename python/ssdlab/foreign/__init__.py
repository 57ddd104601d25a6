"""Files other than TOML that describe a run: of this program, of fio, DiskSpd and other simulators.

Each becomes layers, as an experiment file does. Unsupported parts are kept as comments, which
`notes` finds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ssdlab import layers
from ssdlab._core import InputError
from ssdlab.layers import Layer

#: Prefix of notes on parameters that are not or differently converted.
NOTE = "# "


def _results(path: Path) -> list[Layer]:
    from ssdlab.results import Results

    return layers.from_mapping(os.fspath(path), Results.load(path).experiment.to_dict())


def _fio(path: Path) -> list[Layer]:
    return _named(path, {"kind": "fio", "path": path})


def _diskspd(path: Path) -> list[Layer]:
    return _named(path, {"kind": "diskspd", "path": path})


def _named(path: Path, workload: dict[str, Any]) -> list[Layer]:
    """The layers of a job file; messages may quote it, as the user named it."""
    return layers.permitting(layers.from_mapping(os.fspath(path), {"workload": workload}))


def _mqsim(path: Path) -> list[Layer]:
    from ssdlab.foreign import mqsim

    return [Layer(os.fspath(path), mqsim.converted(path))]


def _femu(path: Path) -> list[Layer]:
    from ssdlab.foreign import femu

    return [Layer(os.fspath(path), femu.converted(path))]


def _simplessd(path: Path) -> list[Layer]:
    from ssdlab.foreign import simplessd

    return [Layer(os.fspath(path), simplessd.converted(path))]


def _nvmevirt(path: Path) -> list[Layer]:
    from ssdlab.foreign import nvmevirt

    return [Layer(os.fspath(path), nvmevirt.converted(path))]


def _disksim(path: Path, part: str = "all") -> list[Layer]:
    from ssdlab.foreign import disksim

    return [Layer(os.fspath(path), disksim.converted(path, part))]


def drive_of(path: str | os.PathLike[str]) -> list[Layer] | None:
    """Only the drive of a file, without its load; None if the file has no such parts."""
    return _disksim(Path(path), "drive") if _has_parts(path) else None


def load_of(path: str | os.PathLike[str]) -> list[Layer] | None:
    """Only the load of a file that also has a drive; None if the file has no such parts."""
    return _disksim(Path(path), "load") if _has_parts(path) else None


def of_trace(path: str | os.PathLike[str]) -> list[Layer]:
    """Notes of a device file on replayed traces."""
    if not _has_parts(path):
        return []
    from ssdlab.foreign import disksim

    keys = disksim.traced(Path(path))
    return layers.from_mapping(os.fspath(path), {"workload": keys}) if keys else []


def _has_parts(path: str | os.PathLike[str]) -> bool:
    return os.path.splitext(path)[1] == ".parv"


READERS: dict[str, Callable[[Path], list[Layer]]] = {
    ".bat": _diskspd,
    ".cfg": _simplessd,
    ".cmd": _diskspd,
    ".diskspd": _diskspd,
    ".fio": _fio,
    ".h": _nvmevirt,
    ".ini": _fio,
    ".job": _fio,
    ".json": _results,
    ".parv": _disksim,
    ".sh": _femu,
    ".xml": _mqsim,
}


def reader(path: str | os.PathLike[str]) -> Callable[[Path], list[Layer]] | None:
    """Reader of the file `path`, or of a directory of `ssdlab run --out`; None for TOML."""
    ending = os.path.splitext(path)[1]
    if ending in UNREAD and os.path.isfile(path):
        _refuse_unread(Path(path))
    return READERS.get(ending, _results if os.path.isdir(path) else None)


#: Endings of other simulators' parameters, which may also be TOML.
UNREAD = (".conf", ".parameters")
#: A parameter of each simulator whose files are not read.
OTHERS = {
    "PAGE_READ_DELAY": "FlashSim", "CELL_PROGRAM_DELAY": "VSSIM or an old FEMU",
    "t_PROG": "SSDsim",
}  # fmt: skip


def _refuse_unread(path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(1 << 16)
    for mark, program in OTHERS.items():
        if re.search(rf"^\s*{mark}\b", text, re.MULTILINE):
            raise InputError(
                f"{path}: parameters of {program}, which are not read; `ssdlab list keys` has "
                "the keys of channels, dies, blocks, pages and their times"
            )


def notes(stack: Sequence[Layer]) -> list[str]:
    """Notes on parameters of converted files that are not or differently converted."""
    return [
        f"{layer.source}: {line.removeprefix(NOTE)}"
        for layer in stack
        if layer.source.endswith(layers.CONVERTED)
        for line in layer.text.splitlines()
        if line.startswith(NOTE)
    ]
