"""A page about a live device, for a browser on this machine, and metrics for Prometheus."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from ssdlab import _core, control
from ssdlab.live import metrics
from ssdlab.live.looker import COLUMNS, WATCHED_SECONDS, Looker
from ssdlab.loopback import Answer, Asked, Loopback, as_json, page

Say = Callable[[str], "str | None"]
HERE = Path(__file__).parent / "page"
#: Concatenated in this order: each uses its predecessors.
SCRIPTS = ("format.js", "draw.js", "map.js", "watch.js")
MOST_LINE = 4096
#: Minimum pause between maps, as a multiple of a map's query time.
MAP_PAUSE = 250


class Watch:
    """A page about a live device, served until `close`.

    `say` sends a line to the device and returns its answer, None after its end; `uri` is its
    address for clients, and `size_bytes` its size. Raises `InputError` if the port is not
    available.
    """

    def __init__(self, say: Say, uri: str, size_bytes: int, port: int = 0) -> None:
        self._say = say
        self._looker = Looker(say)
        about = self._looker.about | {
            "uri": uri,
            "size_bytes": size_bytes,
            "session": secrets.token_hex(4),
            "version": _core.version,
            "columns": COLUMNS,
        }
        self._about = about
        self._lock = threading.Lock()
        self._map_text = ""
        self._map_again = 0.0
        routes = {
            "GET /": lambda _: page(page_text()),
            "GET /about": lambda _: as_json(about),
            "GET /state": self._state,
            "GET /map": self._map,
            "GET /metrics": self._metrics,
            "POST /order": self._order,
        }
        try:
            self._server = Loopback(routes, port)
        except BaseException:
            self._looker.close()
            raise
        self.url = self._server.url
        """Address of the page, for viewing only."""
        self.url_with_key = self._server.url_with_key
        """Address with the key, which allows orders."""

    def close(self) -> None:
        """Stop serving the page."""
        self._looker.close()
        self._server.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _state(self, asked: Asked) -> Answer:
        try:
            since = float(asked.query.get("since", "-1"))
        except ValueError:
            raise _core.InputError("since: seconds, as /state tells them in `now`") from None
        return as_json(self._looker.state(since) | {"session": self._about["session"]})

    def _map(self, _asked: Asked) -> Answer:
        """The map, queried once for all watchers."""
        with self._lock:
            began = time.monotonic()
            if began > self._map_again:
                self._map_text = self._say("map") or '{"error":"the server has ended"}'
                # A map query blocks the device, so a large device is queried less often.
                pause = MAP_PAUSE * (time.monotonic() - began)
                self._map_again = began + max(WATCHED_SECONDS * 0.9, pause)
            return Answer(self._map_text.encode(), "application/json")

    def _metrics(self, _asked: Asked) -> Answer:
        figures = metrics.text(self._looker.latest(), self._about, self._looker.bounds)
        return Answer(figures.encode(), metrics.KIND)

    def _order(self, asked: Asked) -> Answer:
        stated = asked.json()
        line = stated.get("line") if isinstance(stated, dict) else None
        if not isinstance(line, str) or "\n" in line or not 0 < len(line) <= MOST_LINE:
            raise _core.InputError('an order is {"line": "..."}, one line as of `ssdlab serve ctl`')
        return as_json(control.patiently(self._say, line))


def page_text() -> str:
    """The page with its style and script."""
    from ssdlab.charts.style import PALETTE_STYLE

    text = (HERE / "watch.html").read_text(encoding="utf-8")
    style = PALETTE_STYLE + (HERE / "watch.css").read_text(encoding="utf-8")
    script = "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return text.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
