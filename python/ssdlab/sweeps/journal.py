"""The full results of each point, one line of JSON each, from which an interrupted sweep resumes.

A line is appended as soon as its point is complete, so that no finished point is lost. Each ends
with a checksum. On resuming, a line that is damaged or violates an invariant of results is dropped,
and its point is simulated again. Only successful points count as complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from ssdlab import delivery, files, portable, reading
from ssdlab._core import InputError
from ssdlab.results import SCHEMA
from ssdlab.sweeps import table
from ssdlab.sweeps.packing import MISSING, Packing
from ssdlab.sweeps.plan import Point
from ssdlab.sweeps.work import Outcome

#: Remedy for a damaged file.
_AGAIN = "the file is damaged or was edited; the same sweep again simulates that point anew"

_LINE = re.compile(rb'\{"key": "([0-9a-f]{32})", "error": (null,)?')
_BEGINS = b'{"key": "'
#: Lines examined to recognise a damaged journal, and bytes of each.
_LOOKED_AT = 64
_LOOKED_AT_BYTES = 1 << 20
#: Characters of lines: JSON without control characters.
_TEXT = re.compile(rb"[ -~\n]*")
_RESULTS = b', "results": '
#: Text between a line and its checksum.
_SUM = b', "crc32": "'


class Journal:
    """Outcomes by the key of their point; without a path, in a temporary file."""

    def __init__(self, path: Path | None, force: bool = False, packs: bool = False) -> None:
        self.path = path
        self._packs, self._packing = packs, Packing()
        #: Key of the point against which the others are packed.
        self._first = ""
        self.errors: dict[str, str] = {}
        self.points: list[Point] = []
        #: Messages about dropped damaged lines.
        self.damaged: list[str] = []
        #: Parameters and goals of the sweep, repeated on every line.
        self.asked: dict[str, Any] = {}
        self._places: dict[str, tuple[int, int]] = {}
        #: All points of the file, failed ones included, and their parameters.
        self._found: set[str] = set()
        self._was_asked: dict[str, Any] = {}
        self._is_moved = False
        self._force = force or delivery.is_forced()
        self._file: IO[bytes]
        if path is None:
            self._file = tempfile.TemporaryFile(prefix="ssdlab-sweep-")  # noqa: SIM115
            return
        is_foreign = not _is_journal(path)
        if is_foreign and not self._force:
            raise InputError(
                f"{path}: is there already, and is no journal of ssdlab sweep, which keeps its "
                "points there; --force replaces it, another --out keeps it"
            )
        self._file = path.open("a+b")
        try:
            portable.lock(self._file)
        except OSError:
            raise InputError(f"{path}: another sweep is writing it") from None
        if is_foreign:
            self._file.truncate(0)
        self._scan(self._problem)

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal of a finished sweep, with its `points`. Raises `InputError`."""
        journal = cls(None)
        journal._file.close()
        try:
            journal._file = reading.opened(path)
            journal._scan(lambda line: None)
            journal._file.seek(0)
            for number, text in enumerate(journal._file, start=1):
                line = journal._lawful(f"{path}: line {number}", text)
                journal.points.append(_point(line))
                journal.asked = line.get("sweep", journal.asked)
                if (was := _sum_problem(text)) and _SUM in text:
                    raise InputError(f"{path}: line {number}: {was}; {_AGAIN}")
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except InputError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError):
            raise InputError(f"{path}: not written by ssdlab sweep") from None
        return journal

    def _scan(self, problem: Callable[[bytes], str | None]) -> None:
        """Index the lines; lines with a `problem` are dropped."""
        self._file.seek(0)
        for line in self._file:
            if _SUM not in line or _sum_problem(line) is None:
                self._begin(line)
            if self._packing.knows_first:
                break
        self._file.seek(0)
        position = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n") and self._file.writable():
                # Another process was killed while writing.
                self._file.truncate(position)
                break
            # A power cut may leave zeroes in unsynced data.
            head = _LINE.match(line)
            wrong = "it is no line of a sweep" if head is None else problem(line)
            if wrong is not None:
                self.damaged.append(f"{self.path}: line {number}: {wrong}")
            elif head is not None:
                if head[2]:
                    self._places[head[1].decode()] = position, len(line)
                if not self._found:
                    self._was_asked = _asked_in(line)
                self._found.add(head[1].decode())
            position += len(line)

    def refuse_another(self, points: Iterable[Point] | None) -> None:
        """Raise `InputError` if the file has points of another sweep, which this one would drop.

        `points` are this sweep's points; None for a search, whose points are not known yet. Then
        the question must be equal, with at least as many points.
        """
        if self._force or not self._found:
            return
        if points is None:
            was, now = dict(self._was_asked), dict(self.asked)
            more = (now.pop("search") or 0) >= (was.pop("search", None) or 0)
            others = 0 if was == json.loads(json.dumps(now)) and more else len(self._found)
        else:
            others = len(self._found - {point.key for point in points})
        if others:
            raise InputError(
                f"{self.path}: has {others} {'point' if others == 1 else 'points'} of another "
                "sweep (other settings, another trace or version), which this one would drop; "
                "give another --out, vary the same keys too, or use --force"
            )

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def add(self, point: Point, outcome: Outcome) -> None:
        """Store the outcome of a point."""
        results, error = outcome
        if results is None:
            self.errors[point.key] = error or "failed"
            return
        text = self._text(point, None, results.encode())
        position = self._file.seek(0, 2)
        # Unbuffered: a buffer would retain data that a full disk has rejected.
        try:
            left = text
            while left:
                left = left[os.write(self._file.fileno(), left) :]
        except OSError as error:
            self._truncate(position)
            path = self.path or Path(tempfile.gettempdir())
            position = self._continue_elsewhere(files.NotWrittenError.of(path, error))
            self._file.write(text)
            self._file.flush()
        self._places[point.key] = position, len(text)

    def _truncate(self, place: int) -> None:
        """Truncate to whole lines; remove a file without any."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file.fileno(), place)
            if place == 0 and self.path is not None:
                self.path.unlink()

    def _continue_elsewhere(self, why: files.NotWrittenError) -> int:
        """Continue in a temporary folder; returns the size so far. Raises `why` without one."""

        def copy() -> Iterable[bytes]:
            self._file.seek(0)
            while piece := self._file.read(1 << 20):
                yield piece

        if self.path is None or not delivery.is_command() or self._is_moved:
            raise why
        moved = delivery.elsewhere(self.path.name, copy)
        if moved is None:
            raise why
        delivery.failed(
            f"{self.path}: cannot be written: {why.strerror}; the sweep continues, and its points "
            f"go to {moved}: copy it back, and the same command goes on from there"
        )
        self._file.close()
        self.path, self._is_moved = moved, True
        self._file = moved.open("a+b")
        return self._file.seek(0, 2)

    def results(self, key: str) -> dict[str, Any] | None:
        """The full results of a point, or None if it did not succeed."""
        if key not in self._places:
            return None
        return self._packing.unpack(json.loads(self._line(key))["results"])

    def row(self, point: Point) -> dict[str, Any]:
        """A point's row of the table: parameters, scalars of the results, and error."""
        results = self.results(point.key)
        scalars = {} if results is None else table.flat(results)
        error = point.error or self.errors.get(point.key)
        return {**point.parameters, **scalars, "error": error}

    def finish(self, points: Iterable[Point]) -> None:
        """Sort the lines by point, errors included, and drop foreign ones."""
        if self.path is None:
            return

        points = [*points]
        packing = Packing()
        # The line against which the others are packed may be any, but must be there.
        first = self._line(self._first) if self._first in self._places else b""
        is_plain = _results_in(first)[:1] == b"{"
        is_kept = is_plain and any(point.key == self._first for point in points)

        def lines() -> Iterable[bytes]:
            for place, point in enumerate(points):
                results = b"null"
                if point.key in self._places:
                    results = _results_in(self._line(point.key))
                    is_packed = results[:1] != b"{" or point.key == self._first
                    if self._packs and not (is_kept and is_packed):
                        found = self._packing.unpack(json.loads(results))
                        again = self._packing if is_kept else packing
                        results = again.pack(json.dumps(found).encode())
                error = point.error or self.errors.get(point.key)
                asked = self.asked if not self._packs or not place else None
                yield _whole_line(_head(point, error, asked), results)
            portable.close_before_replaced(self._file)

        try:
            files.write(self.path, lines())
        except files.NotWrittenError as error:
            if not delivery.is_command() or self._file.closed:
                raise
            said = f"{self.path}: cannot be put in order: {error.strerror}"
            delivery.failed(f"{said}; it has every point that succeeded")
            return
        self._file.close()
        self._file = self.path.open("rb")
        self._places.clear()
        self._packing, self._first = Packing(), ""
        self._scan(lambda line: None)

    def _line(self, key: str) -> bytes:
        position, length = self._places[key]
        self._file.seek(position)
        return self._file.read(length)

    def _text(self, point: Point, error: str | None, results: bytes) -> bytes:
        """The line of a point; of a large sweep only the first line states the question."""
        if not self._packs:
            return _whole_line(_head(point, error, self.asked), results)
        asked = None if self._packing.knows_first else self.asked
        self._first = self._first or point.key
        return _whole_line(_head(point, error, asked), self._packing.pack(results))

    def _begin(self, line: bytes) -> None:
        """Take the first plain results as the base of packed ones."""
        if not self._packing.knows_first and (found := _results_in(line))[:1] == b"{":
            self._packing.begin(found)
            self._first = line[len(_BEGINS) :][:32].decode(errors="replace")

    def _problem(self, line: bytes) -> str | None:
        """Error in a line that invalidates its point; None without errors."""
        if (found := _sum_problem(line)) is not None:
            return found
        if (packed := _results_in(line))[:1] == b'"':  # its checksum says it is as it was written
            return None if self._packing.is_mine(packed[1:]) else MISSING
        try:
            _point(self._lawful("it", line))
        except InputError as error:
            return str(error)
        except (ValueError, LookupError, TypeError, AttributeError):
            return "it is no line of a sweep"
        return None

    def _lawful(self, source: str, text: bytes) -> dict[str, Any]:
        """A line with valid results, unpacked. Raises `InputError`, which names `source`."""
        line: dict[str, Any] = reading.parsed(source, text)
        if isinstance(line["results"], str):
            try:
                line["results"] = self._packing.unpack(line["results"])
            except ValueError as error:
                raise InputError(f"{source}: {error}") from None
        if (results := line["results"]) is not None:
            _refuse_schema(results, source)
            reading.refuse_broken_results(source, results)
        return line

    def close(self) -> None:
        """Close the file; a temporary one is removed."""
        self._file.close()


def _point(line: Any) -> Point:
    """The point of a line. Raises `ValueError` or similar for a line that no sweep wrote."""
    parameters, key, error = line["parameters"], line["key"], line["error"]
    if not isinstance(parameters, dict) or not isinstance(line["results"], dict | None):
        raise ValueError("no parameters, or no results")
    if not isinstance(error, str | None) or not re.fullmatch("[0-9a-f]{32}", key):
        raise ValueError("no key, or no error")
    if any(isinstance(value, dict | list) for value in parameters.values()):
        raise ValueError("a parameter is a word or a number")
    return Point(parameters, [], key, error)


def _is_journal(path: Path) -> bool:
    """True for a sweep's file, or an empty one."""
    try:
        with reading.opened(path) as file:
            lines = [file.readline(_LOOKED_AT_BYTES) for _ in range(_LOOKED_AT)]
    except FileNotFoundError:
        return True
    begins = lines[0]
    if begins.startswith(b"\0"):  # after a power cut, sectors of the first line are missing
        return bool(_TEXT.fullmatch(begins.replace(b"\0", b"")))
    return not begins or _BEGINS.startswith(begins) or any(map(_LINE.match, lines))


def _asked_in(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)["sweep"]
    except (ValueError, LookupError, TypeError):
        return {}
    return found


def _head(point: Point, error: str | None, asked: Mapping[str, Any] | None = None) -> bytes:
    """A line up to the results."""
    cause, parameters = json.dumps(error), json.dumps(point.parameters)
    head = f'{{"key": "{point.key}", "error": {cause}, "parameters": {parameters}'
    if asked:
        head += f', "sweep": {json.dumps(asked)}'
    return head.encode() + _RESULTS


def _whole_line(head: bytes, results: bytes) -> bytes:
    """A line with its checksum."""
    body = head + results
    return body + _SUM + b'%08x"}\n' % zlib.crc32(body)


def _sum_problem(line: bytes) -> str | None:
    """Error in a line's checksum, if any."""
    body, mark, stated = line.rpartition(_SUM)
    if not mark:
        return "it has no checksum"
    is_right = stated == b'%08x"}\n' % zlib.crc32(body)
    return None if is_right else "its checksum does not match its text"


def _results_in(line: bytes) -> bytes:
    """The text of a line's results."""
    _, _, remainder = line.partition(_RESULTS)
    return remainder.rpartition(_SUM)[0]


def _refuse_schema(results: dict[str, Any], source: str) -> None:
    if results["schema"] != SCHEMA:
        raise InputError(f"{source}: results of schema {results['schema']}; this reads {SCHEMA}")
