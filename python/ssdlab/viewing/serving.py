"""Routes of the page.

A response concatenates the frames of all drives, each preceded by its length in 4 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from ssdlab._core import InputError
from ssdlab.loopback import Answer, Asked, Route, as_json, page
from ssdlab.viewing.document import document
from ssdlab.viewing.sessions import MOST_FRAMES, MOST_STEP_NS, Closed, Session, Sessions

#: The page's polling interval while a drive is being preconditioned.
PREPARING_SECONDS = 0.1


def routes(sessions: Sessions) -> Mapping[str, Route]:
    """The routes of the page."""

    def opened(asked: Asked) -> Answer:
        given = _table(asked)
        drives, load = given.get("drives", []), given.get("load", {})
        if not isinstance(drives, list) or not all(isinstance(it, dict) for it in drives):
            raise InputError("drives: a list of tables is needed")
        if not isinstance(load, dict):
            raise InputError("load: a table is needed")
        name, session = sessions.open(drives, load, given.get("instead"))
        return as_json({"id": name} | session.said())

    def frames(asked: Asked) -> Answer:
        given = _table(asked)
        step = _within(given, "step_ns", 1, MOST_STEP_NS)
        count = _within(given, "frames", 1, MOST_FRAMES)
        return _answered(given, lambda session: session.frames(step, count))

    def slow(asked: Asked) -> Answer:
        given = _table(asked)
        limit = _within(given, "limit_ns", 1, MOST_STEP_NS)

        def look(session: Session) -> list[bytes]:
            return session.slow(_within(given, "drive", 0, len(session.drives) - 1), limit)

        return _answered(given, look)

    def _answered(given: Mapping[str, Any], look: Any) -> Answer:
        try:
            session = sessions.find(str(given.get("id", "")))
            with session.lock:
                if not all(drive.is_ready(PREPARING_SECONDS) for drive in session.drives):
                    found = [drive.progress() for drive in session.drives]
                    return as_json({"preparing": found})
                found = look(session)
        except Closed:
            return as_json({"closed": True})
        return Answer(
            b"".join(struct.pack("<I", len(it)) + it for it in found), "application/octet-stream"
        )

    def closed(asked: Asked) -> Answer:
        sessions.close(str(_table(asked).get("id", "")))
        return as_json({})

    return {
        "GET /": lambda _: page(document()),
        "POST /open": opened,
        "POST /frames": frames,
        "POST /slow": slow,
        "POST /close": closed,
    }


def _table(asked: Asked) -> dict[str, Any]:
    found = asked.json()
    if not isinstance(found, dict):
        raise InputError("a table is needed")
    return found


def _within(given: Mapping[str, Any], key: str, least: int, most: int) -> int:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{key}: {value} is not a whole number within {least} and {most}")
    return value
