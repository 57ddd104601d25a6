"""The full results of each point, a line of JSON each, from which an interrupted sweep resumes.

A line is appended as soon as its point is done, so that nothing finished is lost; a line that was
cut short is dropped. Only points that succeeded count as done.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from ssdlab import delivery, files, portable, reading
from ssdlab._core import InputError
from ssdlab.results import SCHEMA
from ssdlab.sweeps.plan import Point
from ssdlab.sweeps.work import Outcome

_LINE = re.compile(rb'\{"key": "([0-9a-f]{32})", "error": (null,)?')
_BEGINS = b'{"key": "'
_RESULTS = b', "results": '
#: A power cut leaves at least this many zeros where data did not reach the disk.
_LOST = 512


class Journal:
    """Where outcomes are kept, by the key of their point; without a path, in a temporary file."""

    def __init__(self, path: Path | None, force: bool = False) -> None:
        self.path = path
        self.errors: dict[str, str] = {}
        self.points: list[Point] = []
        #: The parameters and goals of the sweep; every line has them.
        self.asked: dict[str, Any] = {}
        self._places: dict[str, tuple[int, int]] = {}
        #: Every point that the file had, also those that failed, and what was asked then.
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
        self._scan()

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal of a sweep that is done, with its `points`. Raises `InputError`."""
        journal = cls(None)
        journal._file.close()
        try:
            journal._file = path.open("rb")
            journal._scan()
            journal._file.seek(0)
            for number, text in enumerate(journal._file, start=1):
                line = reading.parsed(f"{path}: line {number}", text)
                journal.points.append(_point(line))
                journal.asked = line.get("sweep", {})
                if (results := line["results"]) is not None:
                    _refuse_schema(results, path)
                    reading.refuse_broken_results(f"{path}: line {number}", results)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except InputError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError):
            raise InputError(f"{path}: not written by ssdlab sweep") from None
        return journal

    def _scan(self) -> None:
        self._file.seek(0)
        place = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(place)
                break
            # Of what was not synced a power cut may leave zeroes: that point is simulated again.
            if b"\0" not in line and (head := _LINE.match(line)):
                if head[2]:
                    self._places[head[1].decode()] = place, len(line)
                if not self._found:
                    self._was_asked = _asked_in(line)
                self._found.add(head[1].decode())
            place += len(line)

    def refuse_another(self, points: Iterable[Point] | None) -> None:
        """Raise `InputError` if the file has points of another sweep, which this one would drop.

        `points` are those of this one; None if it searches, so that they are not known yet. Then
        what was asked must be the same, and at least as many points.
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
                "give another --out, vary what that one varied too, or --force"
            )

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def add(self, point: Point, outcome: Outcome) -> None:
        """Keep the outcome of a point."""
        results, error = outcome
        if results is None:
            self.errors[point.key] = error or "failed"
            return
        text = _head(point, None, self.asked) + results.encode() + b"}\n"
        place = self._file.seek(0, 2)
        # Not through the buffer, which would keep what a full disk has refused.
        try:
            left = text
            while left:
                left = left[os.write(self._file.fileno(), left) :]
        except OSError as error:
            self._take_back(place)
            path = self.path or Path(tempfile.gettempdir())
            place = self._go_elsewhere(files.NotWrittenError.of(path, error))
            self._file.write(text)
            self._file.flush()
        self._places[point.key] = place, len(text)

    def _take_back(self, place: int) -> None:
        """Leave only whole lines, and no file where there are none."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file.fileno(), place)
            if place == 0 and self.path is not None:
                self.path.unlink()

    def _go_elsewhere(self, why: files.NotWrittenError) -> int:
        """Continue in a folder for temporary files; its size so far. Raises `why` without one."""

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
            f"{self.path}: cannot be written: {why.strerror}; the sweep goes on, and its points go "
            f"to {moved}: copy it back, and the same command goes on from there"
        )
        self._file.close()
        self.path, self._is_moved = moved, True
        self._file = moved.open("a+b")
        return self._file.seek(0, 2)

    def results(self, key: str) -> dict[str, Any] | None:
        """The full results of a point, or None if it did not succeed."""
        if key not in self._places:
            return None
        results: dict[str, Any] = json.loads(self._line(key))["results"]
        return results

    def finish(self, points: Iterable[Point]) -> None:
        """Put the lines in the order of the points, errors too, and drop what is not of them."""
        if self.path is None:
            return

        def lines() -> Iterable[bytes]:
            for point in points:
                rest = b"null}\n"
                if point.key in self._places:
                    _, _, rest = self._line(point.key).partition(_RESULTS)
                error = point.error or self.errors.get(point.key)
                yield _head(point, error, self.asked) + rest
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
        self._scan()

    def _line(self, key: str) -> bytes:
        place, length = self._places[key]
        self._file.seek(place)
        return self._file.read(length)

    def close(self) -> None:
        """Close the file; a temporary one is gone."""
        self._file.close()


def _point(line: Any) -> Point:
    """The point of a line. Raises `ValueError` and its like for one that no sweep has written."""
    parameters, key, error = line["parameters"], line["key"], line["error"]
    if not isinstance(parameters, dict) or not isinstance(line["results"], dict | None):
        raise ValueError("no parameters, or no results")
    if not isinstance(error, str | None) or not re.fullmatch("[0-9a-f]{32}", key):
        raise ValueError("no key, or no error")
    if any(isinstance(value, dict | list) for value in parameters.values()):
        raise ValueError("a parameter is a word or a number")
    return Point(parameters, [], key, error)


def _is_journal(path: Path) -> bool:
    """Whether the file was written by a sweep, or has nothing in it.

    What a power cut leaves of one is one, too: its first line may be torn, or be zeros.
    """
    try:
        with path.open("rb") as file:
            begins = file.readline(1 << 12)
    except FileNotFoundError:
        return True
    if begins.startswith(bytes(_LOST)) or not begins.strip(b"\0"):
        return all(byte == 0 or 32 <= byte < 127 or byte == 10 for byte in begins)
    begins = begins.rstrip(b"\0")
    return begins.startswith(_BEGINS) or _BEGINS.startswith(begins)


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


def _refuse_schema(results: dict[str, Any] | None, path: Path) -> None:
    if results is not None and results["schema"] != SCHEMA:
        raise InputError(f"{path}: results of schema {results['schema']}; this reads {SCHEMA}")
