"""Direct I/O: one record after another on the block device itself.

A drive with durable acknowledgements loses none; a drive with a volatile buffer does, unless each
write is flushed.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence

from ssdlab.crashes import LOOP
from ssdlab.crashes.apps import App, Lost, Place, Settings, Wrong

RECORD = 4096


def _content(number: int) -> bytes:
    return number.to_bytes(8, "little") * (RECORD // 8)


def run(place: Place, settings: Settings) -> None:
    """Write records, and print each acknowledged one."""
    device = os.open(place.dev, os.O_RDWR | os.O_DIRECT)
    buffer = mmap.mmap(-1, RECORD)
    for number in range(1, int(settings["records"]) + 1):
        buffer[:] = _content(number)
        os.pwrite(device, buffer, number * RECORD)
        if settings["flush"] == "each":
            os.fsync(device)
        print(number, flush=True)
    os.close(device)


def check(place: Place, settings: Settings, lines: Sequence[str]) -> None:
    """Look for each acknowledged record."""
    missing = 0
    with open(place.dev, "rb") as device:
        for number in map(int, lines):
            device.seek(number * RECORD)
            found = device.read(RECORD)
            if found == bytes(RECORD):
                missing += 1
            elif found != _content(number):
                raise Wrong(f"record {number} is neither there nor missing")
    if missing:
        raise Lost(f"{missing} of {len(lines)} records are missing")


APP = App(
    summary="Direct I/O: records on the block device, without a file system",
    settings={"flush": ("none", "each"), "records": ("300",)},
    run=run,
    check=check,
    place=LOOP,
    size="4MiB",
)
