"""Reads a recording of the live device: the clients' changes with their data, event by event.

`crates/nbd/src/recording.rs` writes and describes the format.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from ssdlab._core import InputError

WRITE, TRIM, ZEROES, FLUSH, ANSWER, END = range(1, 7)
FUA, REFUSED = 1, 2
MAGIC = b"ssdcrash"
VERSION = 1

HEADER = struct.Struct("<8sIIQ")
SUM = struct.Struct("<I")
RECORD = struct.Struct("<BBHIQQQ")


class Event(NamedTuple):
    """A submission or completion."""

    kind: int
    flags: int
    id: int
    """Number of the submitted or completed request."""
    offset: int
    length: int
    at: int
    """Simulated time, ns."""
    data: int
    """Offset of a write's data in the recording."""


class Recording:
    """A validated recording. Raises `InputError` for a bad one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise InputError(f"recording {path}: cannot be read: {error}") from None
        self.events: list[Event] = []
        at = HEADER.size
        if len(self.bytes) < at + SUM.size:
            raise self._bad("too short to have a header")
        magic, version, _, self.size_bytes = HEADER.unpack_from(self.bytes)
        if magic != MAGIC:
            raise self._bad("not a recording of the live device")
        if version != VERSION:
            raise self._bad(f"version {version}; this ssdlab reads {VERSION}")
        if SUM.unpack_from(self.bytes, at)[0] != zlib.crc32(self.bytes[:at]):
            raise self._bad("the checksum of the header is wrong")
        self._read(at + SUM.size)

    def _bad(self, problem: str) -> InputError:
        return InputError(f"recording {self.path}: {problem}")

    def _read(self, at: int) -> None:
        view = memoryview(self.bytes)
        try:
            while True:
                number = len(self.events)
                if at + SUM.size + RECORD.size > len(view):
                    raise self._bad(f"it ends after {number} events: the server was killed")
                (checksum,) = SUM.unpack_from(view, at)
                at += SUM.size
                kind, flags, _, length, id, offset, time = RECORD.unpack_from(view, at)
                data = at + RECORD.size
                end = data + (length if kind == WRITE else 0)
                if end > len(view) or zlib.crc32(view[at:end]) != checksum:
                    raise self._bad(f"event {number} is cut short or its checksum is wrong")
                if kind == END:
                    if id != number or end != len(view):
                        raise self._bad(f"{number} events are there, {id} were written")
                    return
                self.events.append(Event(kind, flags, id, offset, length, time, data))
                at = end
        finally:
            view.release()

    def counts(self, first: int = 0) -> dict[str, int]:
        """Requested bytes from event `first` on, by kind."""
        requested = self.events[first:]
        names = {"writes": WRITE, "trims": TRIM, "zeroes": ZEROES, "flushes": FLUSH}
        found = {name: sum(it.kind == kind for it in requested) for name, kind in names.items()}
        found["forced"] = sum(it.kind == WRITE and it.flags & FUA != 0 for it in requested)
        return found
