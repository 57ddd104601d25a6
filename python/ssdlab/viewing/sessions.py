"""Sessions of a view: a run of one drive, or of two drives under the same requests.

Each page has a session. Its drives advance by equal steps of simulated time. The size and number of
responses are bounded.
"""

from __future__ import annotations

import json
import secrets
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.viewing import knobs
from ssdlab.viewing.scenes import Scene

#: Maximum number of open pages.
MOST_SESSIONS = 4
#: Idle time after which a new session may replace one.
IDLE_SECONDS = 30.0
MOST_FRAMES = 120
#: Maximum step: an hour per frame.
MOST_STEP_NS = 3_600_000_000_000
MOST_DRIVES = 2
#: Number of requests searched at a time for the next slow one.
PATIENCE = 300_000
LOOK_SECONDS = 0.05

#: The sliders set by a page, by drive, with their values.
Turned = Mapping[str, Any]


class Closed(Exception):
    """The session was closed meanwhile."""


class Drive:
    """An independent run."""

    def __init__(self, stack: Sequence[layers.Layer], base: Mapping[str, Any]) -> None:
        self.stack = list(stack)
        self.experiment = json.loads(_core.resolve_json(self.stack))
        self.knobs = knobs.of(base, self.experiment)
        self.now_ns = 0
        self.is_over = False
        self.is_closed = False
        self._is_ready = False
        self._first = b""
        self._results: dict[str, Any] | None = None
        self._run = _core.ViewedRun(self.stack)

    def is_ready(self, timeout_seconds: float) -> bool:
        """True if it is preconditioned; raises the experiment's error."""
        if self._is_ready:
            return True
        first = self._run.frames(timeout_seconds)
        if first == b"":
            self._run.finish()
            raise Closed
        self._is_ready, self._first = first is not None, first or b""
        return self._is_ready

    def has_begun(self) -> bool:
        """True if the drive could be built; raises the experiment's error."""
        return self.is_ready(LOOK_SECONDS) or self._run.progress() is not None

    def progress(self) -> float | None:
        """Progress of the preparation, from 0 to 1."""
        found = self._run.progress()
        if found is None or not found[2]:
            return None
        return min(1.0, found[1] / found[2])

    def first(self) -> bytes:
        """The frame before the first request, once."""
        first, self._first = self._first, b""
        return first

    def advance(self, step_ns: int, frames: int) -> None:
        """Request frames."""
        if not self.is_over:
            self._run.advance(step_ns, frames)

    def seek_slow(self, limit_ns: int) -> None:
        """Request the frame of the next slow request."""
        if not self.is_over:
            self._run.seek_slow(limit_ns, PATIENCE)

    def take(self) -> bytes:
        """The requested frames; none after the end of the run."""
        if self.is_over:
            return b""
        while (frames := self._run.frames(LOOK_SECONDS)) is None:
            if self.is_closed:
                raise Closed
        if frames:
            head = heads(frames)[-1]
            self.now_ns = head["t"]
            if "end" in head:
                self.is_over = True
                self.results()
        return frames

    def results(self) -> dict[str, Any] | None:
        """Run to the end and return the results; raises the run's error."""
        if self._results is None:
            text = self._run.finish()
            self._results = None if text is None else json.loads(text)
        return self._results

    def stop(self) -> None:
        """Stop the run."""
        self.is_closed = True
        self._run.stop()


def heads(frames: bytes) -> list[dict[str, Any]]:
    """Heads of frames in words."""
    found, at = [], 0
    while at < len(frames):
        length, head = struct.unpack_from("<II", frames, at)
        found.append(json.loads(frames[at + 8 : at + 8 + head]))
        at += 4 + length
    return found


class Session:
    """A session of a page."""

    def __init__(self, scene: Scene, turned: Sequence[Turned], load: Turned) -> None:
        self.scene = scene
        self.turned = turned
        self.lock = threading.Lock()
        self._has_begun = False
        self.asked_at = time.monotonic()
        self.drives: list[Drive] = []
        base = json.loads(_core.resolve_json(scene.stack))
        first = knobs.of(base, base)
        try:
            for number, own in enumerate(turned):
                neighbours = scene.beside or {}
                stack = scene.stack + (_beside(neighbours) if number else [])
                begun = json.loads(_core.resolve_json(stack))
                changes = _changes(knobs.of(begun, begun), own, "drive")
                changes |= _changes(first, load, "load")
                stack = stack + layers.from_assignments(changes)
                self.drives.append(Drive(stack, begun))
        except BaseException:
            self.stop()
            raise

    def first(self) -> list[bytes]:
        """The first frame of each drive, and the frame at the scene's start.

        Empty on later calls.
        """
        firsts = [drive.first() for drive in self.drives]
        if self._has_begun or not self.begins_at:
            return firsts
        self._has_begun = True
        return self._joined(firsts, round(self.scene.start * 1e9), 1)

    @property
    def begins_at(self) -> int:
        """Number of frames before the first displayed one."""
        return 1 if self.scene.start > 0 else 0

    def frames(self, step_ns: int, count: int) -> list[bytes]:
        """First frames of each drive, and the next `count` frames."""
        return self._joined(self.first(), step_ns, count)

    def _joined(self, before: list[bytes], step_ns: int, count: int) -> list[bytes]:
        for drive in self.drives:
            drive.advance(step_ns, count)
        return [it + drive.take() for it, drive in zip(before, self.drives, strict=True)]

    def slow(self, number: int, limit_ns: int) -> list[bytes]:
        """Frames of all drives at the next slow request of one."""
        leader = self.drives[number]
        before = self.first()
        leader.seek_slow(limit_ns)
        found = {number: before[number] + leader.take()}
        for other, drive in enumerate(self.drives):
            if other != number:
                drive.advance(max(1, leader.now_ns - drive.now_ns), 1)
                found[other] = before[other] + drive.take()
        return [found[number] for number in range(len(self.drives))]

    def stop(self) -> None:
        """End all runs."""
        for drive in self.drives:
            drive.stop()

    def said(self) -> dict[str, Any]:
        """The first message to a page."""
        return {
            "title": self.scene.title or self.drives[0].experiment.get("title", ""),
            "questions": self.scene.questions,
            "colour": self.scene.colour,
            "speed": self.scene.speed,
            "begins_at": self.begins_at,
            "turned": [dict(own) for own in self.turned],
            "parts": [it["label"] for it in _core.latency_parts()],
            "drives": [
                {
                    "name": drive.experiment.get("title", ""),
                    "knobs": [knob.said() for knob in drive.knobs],
                }
                for drive in self.drives
            ],
        }


def _changes(known: Sequence[knobs.Knob], turned: Turned, whose: str) -> dict[str, Any]:
    rows = {knob.name: knob for knob in known if knob.of == whose}
    changes = {}
    for name, value in turned.items():
        if name not in rows:
            raise InputError(f"this experiment has no slider {name}; it has {', '.join(rows)}")
        changes[rows[name].key] = rows[name].set_to(value)
    return changes


class Sessions:
    """The sessions of all pages."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._all: dict[str, Session] = {}
        self._lock = threading.Lock()

    def open(
        self, turned: Sequence[Turned], load: Turned, instead: str | None
    ) -> tuple[str, Session]:
        """Open a session, replacing another of the same page; raises `InputError`.

        After an error the other session continues.
        """
        if len(turned) > MOST_DRIVES:
            raise InputError(f"{len(turned)} drives cannot be shown; 1 or {MOST_DRIVES} can")
        self._make_room(instead)
        session = Session(self.scene, turned or self.begun(), load)
        name = secrets.token_urlsafe(8)
        with self._lock:
            is_full = len(self._all.keys() - {instead}) >= MOST_SESSIONS
            if not is_full:
                self._all[name] = session
        if is_full:
            session.stop()
            raise _full()
        self.close(instead)
        return name, session

    def begun(self) -> list[Turned]:
        """The drives with unchanged knobs."""
        return [{}, {}] if self.scene.beside else [{}]

    def check(self) -> None:
        """Raise errors of the experiment before a page is shown."""
        session = Session(self.scene, self.begun(), {})
        try:
            while not all(drive.has_begun() for drive in session.drives):
                pass
        finally:
            session.stop()

    def find(self, name: str) -> Session:
        """The named session; raises `Closed` if it no longer exists."""
        with self._lock:
            session = self._all.get(name)
        if session is None:
            raise Closed
        session.asked_at = time.monotonic()
        return session

    def close(self, name: str | None) -> None:
        """End a session, if it exists."""
        with self._lock:
            session = self._all.pop(name, None) if name else None
        if session is not None:
            session.stop()

    def close_all(self) -> None:
        """End all."""
        for name in list(self._all):
            with suppress(KeyError):
                self.close(name)

    def _make_room(self, instead: str | None) -> None:
        with self._lock:
            others = {name: it.asked_at for name, it in self._all.items() if name != instead}
        if len(others) >= MOST_SESSIONS:
            oldest = min(others, key=lambda name: others[name])
            if time.monotonic() - others[oldest] < IDLE_SECONDS:
                raise _full()
            self.close(oldest)


def _full() -> InputError:
    return InputError(f"{MOST_SESSIONS} pages are open already; close one")


def _beside(assignments: Mapping[str, Any]) -> list[layers.Layer]:
    """The layer with the second drive's changes, named after its option in messages."""
    try:
        found = layers.from_assignments(assignments)
    except InputError as error:
        raise InputError(str(error).replace("--set ", "--beside ")) from None
    return [it._replace(source=it.source.replace("--set ", "--beside ")) for it in found]
