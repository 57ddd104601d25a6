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

from ssdlab import files, portable
from ssdlab._core import InputError
from ssdlab.results import SCHEMA
from ssdlab.sweeps.plan import Point
from ssdlab.sweeps.work import Outcome

_HEAD = re.compile(rb'\{"key": "([0-9a-f]{32})", "error": null,')
_RESULTS = b', "results": '


class Journal:
    """Where outcomes are kept, by the key of their point; without a path, in a temporary file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.errors: dict[str, str] = {}
        self.points: list[Point] = []
        #: The parameters and goals of the sweep; every line has them.
        self.asked: dict[str, Any] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._file: IO[bytes]
        if path is None:
            self._file = tempfile.TemporaryFile(prefix="ssdlab-sweep-")  # noqa: SIM115
            return
        self._file = path.open("a+b")
        try:
            portable.lock(self._file)
        except OSError:
            raise InputError(f"{path}: another sweep is writing it") from None
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
            for line in map(json.loads, journal._file):
                found = Point(line["parameters"], [], line["key"], line["error"])
                journal.points.append(found)
                journal.asked = line.get("sweep", {})
            for point in journal.points:
                _refuse_schema(journal.results(point.key), path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except InputError:
            raise
        except (ValueError, KeyError, TypeError):
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
            if b"\0" not in line and (head := _HEAD.match(line)):
                self._places[head[1].decode()] = place, len(line)
            place += len(line)

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
            raise files.NotWrittenError.of(path, error) from None
        self._places[point.key] = place, len(text)

    def _take_back(self, place: int) -> None:
        """Leave only whole lines, and no file where there are none."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file.fileno(), place)
            if place == 0 and self.path is not None:
                self.path.unlink()

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

        files.write_bytes(self.path, lines())
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
