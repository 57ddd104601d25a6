"""Possible contents of a drive after a power cut: all durable data, and any part of open writes.

A flush covers requests completed before its submission. On a drive with a volatile buffer, a write
is durable once a covering flush has completed, or at its own completion with forced unit access
(FUA); on other drives at its completion. A trim is durable after a flush, on every drive. Submitted
data that is not durable is open: present, absent, or present in some atoms.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab.crashes.recording import ANSWER, FLUSH, FUA, REFUSED, TRIM, WRITE, ZEROES, Recording

SECTOR = 512
BLOCK = 4096
CHANGES = (WRITE, TRIM, ZEROES)
EMPTY = bytes(BLOCK)


class Promise(NamedTuple):
    """Durability promised by a drive."""

    volatile: bool
    """True if completed writes may be lost until a flush."""
    atom: int
    """Atomic write unit in bytes."""


def promise_of(device: dict[str, Any]) -> Promise:
    """Durability promised by the drive of a resolved `[device]` section."""
    if device["kind"] == "array":
        return promise_of(device["member"])
    if device["kind"] != "ssd":
        return Promise(volatile=False, atom=SECTOR)
    # A drive with a write buffer lacks the keys of a block buffer.
    buffers = [device[name] for name in ("buffer", "block_buffer") if name in device]
    volatile = any(bytes_of(it["size"]) > 0 and not it["power_loss_protected"] for it in buffers)
    atom = bytes_of(device.get("logical_page") or device["page_size"])
    return Promise(volatile, atom)


def bytes_of(size: str) -> int:
    """A size such as "4KiB", as the resolved configuration writes it."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)):
        if size.endswith(unit):
            return int(size.removesuffix(unit)) * factor
    raise ValueError(size)


class Piece(NamedTuple):
    """Bytes that may be on the drive."""

    number: int
    """Event number of the request: later writes override earlier ones."""
    offset: int
    length: int
    data: int
    """Offset of the data in the recording; -1 for zeroes."""
    answered: bool = False
    source: bytes | None = None
    """Data itself, for a piece that does not end at sector boundaries."""


class Content:
    """The content at an instant: the durable data `sure`, overlaid by pieces of `open`."""

    def __init__(
        self, recording: Recording, initial: Path, promise: Promise, hashing: bool = False
    ) -> None:
        self.recording = recording
        self.promise = promise
        self.position = 0
        self.sure = bytearray(initial.read_bytes())
        self.open: dict[int, Piece] = {}
        self._owner = array("q", [-1]) * (-(-len(self.sure) // SECTOR))
        self._covered: dict[int, list[int]] = {}
        self._forced: set[int] = set()
        self._hashes: dict[int, int] | None = None
        self.digest = 0
        if hashing:
            self._hashes = {}
            for block in range(len(self.sure) // BLOCK):
                self._hash(block, self.sure[block * BLOCK : (block + 1) * BLOCK])

    def advance(self, to: int) -> None:
        """Advance to the instant after `to` events."""
        events = self.recording.events
        while self.position < to:
            event = events[self.position]
            if event.kind in CHANGES:
                data = event.data if event.kind == WRITE else -1
                piece = Piece(self.position, event.offset, event.length, data)
                self.open[event.id] = self._of_sectors(piece)
                if event.flags & FUA or not self.promise.volatile and event.kind != TRIM:
                    self._forced.add(event.id)
            elif event.kind == FLUSH:
                self._covered[event.id] = [id for id, it in self.open.items() if it.answered]
            elif event.kind == ANSWER:
                self._answered(event.id, event.flags & REFUSED != 0)
            self.position += 1

    def _of_sectors(self, piece: Piece) -> Piece:
        """The piece extended to whole sectors, with their content at submission."""
        end = piece.offset + piece.length
        first, last = piece.offset // SECTOR * SECTOR, -(-end // SECTOR) * SECTOR
        if (first, last) == (piece.offset, end):
            return piece
        source = bytearray(self.sure[first:last])
        for block, content in self.above([*self.open.values(), piece]).items():
            start, stop = max(first, block * BLOCK), min(last, (block + 1) * BLOCK)
            if start < stop:
                within = start - block * BLOCK
                source[start - first : stop - first] = content[within : within + stop - start]
        return Piece(piece.number, first, last - first, 0, source=bytes(source))

    def _answered(self, id: int, refused: bool) -> None:
        covered = self._covered.pop(id, None)
        if covered is not None:
            for it in () if refused else covered:
                if it in self.open:
                    self._settle(self.open.pop(it))
        elif refused:
            self.open.pop(id, None)
        elif id in self._forced:
            self._settle(self.open.pop(id))
        elif id in self.open:
            self.open[id] = self.open[id]._replace(answered=True)
        self._forced.discard(id)

    def _settle(self, piece: Piece) -> None:
        blocks: set[int] = set()
        for offset, data, sectors in self._uppermost(piece, self._owner):
            self.sure[offset : offset + len(data)] = data
            for sector in sectors:
                self._owner[sector] = piece.number
            blocks.update(range(offset // BLOCK, (offset + len(data) - 1) // BLOCK + 1))
        if self._hashes is not None:
            for block in blocks:
                self._hash(block, self.sure[block * BLOCK : (block + 1) * BLOCK])

    def _hash(self, block: int, content: bytes | bytearray) -> None:
        assert self._hashes is not None
        new = _block_hash(block, content)
        self.digest = (self.digest - self._hashes.get(block, 0) + new) % (1 << 128)
        if new:
            self._hashes[block] = new
        else:
            self._hashes.pop(block, None)

    def _uppermost(self, piece: Piece, owner: array[int]) -> Iterator[tuple[int, bytes, range]]:
        """Parts of a piece that are not overwritten: first byte, data, sectors."""
        first = piece.offset // SECTOR
        end = -(-(piece.offset + piece.length) // SECTOR)
        if max(owner[first:end], default=-1) < piece.number:
            yield piece.offset, self._data(piece, piece.offset, piece.length), range(first, end)
            return
        for sector in range(first, end):
            if owner[sector] < piece.number:
                start = sector * SECTOR
                yield start, self._data(piece, start, SECTOR), range(sector, sector + 1)

    def _data(self, piece: Piece, offset: int, length: int) -> bytes:
        if piece.data < 0:
            return bytes(length)
        start = piece.data + offset - piece.offset
        source = self.recording.bytes if piece.source is None else piece.source
        return source[start : start + length]

    def above(self, pieces: Iterable[Piece]) -> dict[int, bytearray]:
        """The blocks that differ from `sure` with these pieces applied."""
        blocks: dict[int, bytearray] = {}
        for piece in sorted(pieces):
            for offset, data, _ in self._uppermost(piece, self._owner):
                while data:
                    block, within = divmod(offset, BLOCK)
                    count = min(len(data), BLOCK - within)
                    if block not in blocks:
                        blocks[block] = self.sure[block * BLOCK : (block + 1) * BLOCK]
                    blocks[block][within : within + count] = data[:count]
                    offset, data = offset + count, data[count:]
        return blocks

    def digest_with(self, blocks: dict[int, bytearray]) -> int:
        """A digest of the image's content."""
        assert self._hashes is not None
        digest = self.digest
        for block, content in blocks.items():
            digest += _block_hash(block, content) - self._hashes.get(block, 0)
        return digest % (1 << 128)

    def write(self, path: Path, blocks: dict[int, bytearray]) -> None:
        """Write the image with these blocks to a file, sparse."""
        chunk = 16 * BLOCK
        zeroes = bytes(chunk)
        with open(path, "wb", buffering=0) as file:
            file.truncate(len(self.sure))
            for start in range(0, len(self.sure), chunk):
                data = self.sure[start : start + chunk]
                if data != zeroes[: len(data)]:
                    file.seek(start)
                    file.write(data)
            for block, content in blocks.items():
                file.seek(block * BLOCK)
                file.write(content)


def _block_hash(block: int, content: bytes | bytearray) -> int:
    if content == EMPTY[: len(content)]:
        return 0
    hash = blake2b(content, digest_size=16, salt=block.to_bytes(8, "little"))
    return int.from_bytes(hash.digest(), "little")


def kinds_of_choice(open: list[Piece], atom: int) -> list[str]:
    """Kinds of selections of open data."""
    kinds = ["only", "without", "random"] if len(open) > 1 else []
    if any(len(_atoms(piece, atom)) > 1 for piece in open):
        kinds.append("torn")
    return kinds


def choices(open: list[Piece], atom: int, draws: int, seed: int, event: int) -> list[str]:
    """Names of selections of open data at an instant: none, all, and random subsets."""
    if not open:
        return ["none"]
    kinds = kinds_of_choice(open, atom)
    generator = random.Random(f"{seed}:{event}")
    if not kinds:
        return ["none", "all"]
    first = generator.randrange(len(kinds))
    drawn = [f"{kinds[(first + number) % len(kinds)]}-{number}" for number in range(draws)]
    return ["none", "all", *drawn]


def chosen(open: list[Piece], atom: int, choice: str, seed: int, event: int) -> list[Piece]:
    """The open data selected by a name."""
    kind, _, _ = choice.partition("-")
    generator = random.Random(f"{seed}:{event}:{choice}")
    if kind == "none":
        return []
    if kind == "all":
        return open
    if kind in ("only", "without"):
        one = generator.randrange(len(open))
        return [it for number, it in enumerate(open) if (number == one) == (kind == "only")]
    share = generator.choice((0.1, 0.5, 0.9))
    if kind == "random":
        return [it for it in open if generator.random() < share]
    atoms = [part for piece in open for part in _atoms(piece, atom)]
    return [it for it in atoms if generator.random() < share]


def _atoms(piece: Piece, atom: int) -> list[Piece]:
    parts = []
    offset, end = piece.offset, piece.offset + piece.length
    while offset < end:
        stop = min(end, (offset // atom + 1) * atom)
        data = piece.data if piece.data < 0 else piece.data + offset - piece.offset
        parts.append(piece._replace(offset=offset, length=stop - offset, data=data))
        offset = stop
    return parts
