"""Serves pages to browsers on this machine only.

A `Loopback` answers HTTP on 127.0.0.1 from a table of routes, on separate threads. It and its pages
load nothing from the network. Other machines cannot connect; a page of another site in a local
browser can neither read answers (requests must name this machine as host) nor send orders (these
need the key after the `#` of the terminal's address).

The standard library's server parses requests. It is imported on demand.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ssdlab._core import InputError

ADDRESS = "127.0.0.1"
#: Header with the page's key, required for changes.
KEY_HEADER = "X-Ssdlab-Key"
#: Maximum number of connections; browsers keep up to six each. A further one replaces the
#: connection that has been idle or mid-request longest; if all are being answered it gets an error.
MOST_CONNECTIONS = 32
MOST_BODY_BYTES = 64 * 1024
#: Timeout of a complete request, after which the connection is closed.
IDLE_SECONDS = 20.0
#: Timeout of sending to a slow client; streams have none.
ANSWER_SECONDS = 60.0
LOOK_SECONDS = 0.2

_NAMES = {ADDRESS, "localhost", "[::1]"}
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
#: Content security policy of every answer; a page adds the hashes of its scripts.
_CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_FULL = b"HTTP/1.1 503 All places are taken\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Asked(NamedTuple):
    """Request to a route."""

    query: dict[str, str]
    """Query string."""
    body: bytes
    """Body; empty for GET."""

    def json(self) -> Any:
        """The body as JSON; raises `InputError` for other bodies."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise InputError(f"the request is not JSON: {error}") from None


class Answer(NamedTuple):
    """Answer of a route."""

    body: bytes | Iterable[bytes]
    """The whole body, or a stream of pieces, each sent as soon as it is available."""
    kind: str
    """Media type."""
    status: int = HTTPStatus.OK
    policy: str = _CLOSED
    """Content security policy."""


Route = Callable[[Asked], Answer]


def page(text: str) -> Answer:
    """A page that may use only its inline scripts and styles, and requests to this server."""
    digests = (hashlib.sha256(it.encode()).digest() for it in _INLINE_SCRIPT.findall(text))
    scripts = " ".join(f"'sha256-{base64.b64encode(it).decode()}'" for it in digests) or "'none'"
    own = "style-src 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'"
    policy = f"script-src {scripts}; {own}; {_CLOSED}"
    return Answer(text.encode(), "text/html; charset=utf-8", policy=policy)


def as_json(value: Any, status: int = HTTPStatus.OK) -> Answer:
    """A value as JSON."""
    return Answer(json.dumps(value, separators=(",", ":")).encode(), "application/json", status)


class Loopback:
    """A server that answers from `routes`, such as `{"GET /": ..., "POST /order": ...}`.

    It serves from its construction until `close` or the end of its `with`, on daemon threads.
    `port` 0 takes any free port. Several threads may call a route at once; its `InputError` becomes
    the answer `{"error": ...}`.

    Raises `InputError` if the port is not available.
    """

    def __init__(
        self,
        routes: Mapping[str, Route],
        port: int = 0,
        *,
        most_body_bytes: int = MOST_BODY_BYTES,
    ) -> None:
        self.key = secrets.token_urlsafe(16)
        """Key required for changes."""
        try:
            self._server = _Server(port, dict(routes), self.key, most_body_bytes)
        except OSError as error:
            raise _port_unavailable(port, error) from None
        self.port: int = self._server.server_address[1]
        """Port in use."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(LOOK_SECONDS,), name="pages", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address without the key, which only allows viewing."""
        return f"http://{ADDRESS}:{self.port}/"

    @property
    def url_with_key(self) -> str:
        """The address with the key, which allows changes. Only for the terminal."""
        return f"{self.url}#{self.key}"

    def close(self) -> None:
        """Stop: close the port and all streams."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Loopback:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def refuse_taken(port: int) -> None:
    """Raise `InputError` if the port is not available, before long work."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((ADDRESS, port))
        except OSError as error:
            raise _port_unavailable(port, error) from None


def _port_unavailable(port: int, error: OSError) -> InputError:
    is_used = error.errno == errno.EADDRINUSE
    why = "is in use" if is_used else f"cannot be had: {error.strerror}"
    return InputError(f"port {port} of {ADDRESS} {why}; choose another, or 0 for any that is free")


class _Server(HTTPServer):
    """A thread per connection, up to the maximum."""

    request_queue_size = 16

    def __init__(self, port: int, routes: dict[str, Route], key: str, most_body_bytes: int) -> None:
        self.routes = routes
        self.key = key
        self.most_body_bytes = most_body_bytes
        #: True if it is being answered, and the deadline of that state.
        self._connections: dict[socket.socket, tuple[bool, float]] = {}
        self._lock = threading.Lock()
        super().__init__((ADDRESS, port), _Handler)

    def server_bind(self) -> None:
        """Bind without the library's lookup of the host name, which may query the network."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a separate thread."""
        with self._lock:
            has_room = len(self._connections) < MOST_CONNECTIONS or self._is_evicted()
            if has_room:
                self._connections[request] = (False, time.monotonic() + IDLE_SECONDS)
        if not has_room:
            request.settimeout(0.1)
            with suppress(OSError):
                request.sendall(_FULL)
            self.shutdown_request(request)
            return
        thread = threading.Thread(
            target=self._attend, args=(request, client_address), name="page", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            self._forget(request)

    def _is_evicted(self) -> bool:
        """True if an idle connection was closed to make room; needs `_lock`."""
        waiting = [
            (until, it) for it, (answered, until) in self._connections.items() if not answered
        ]
        if not waiting:
            return False
        _, longest = min(waiting, key=lambda it: it[0])
        del self._connections[longest]
        with suppress(OSError):
            longest.shutdown(socket.SHUT_RDWR)
        return True

    def attends(self, request: socket.socket, answered: bool, seconds: float) -> None:
        """Record that a connection is being answered, or idle, with a deadline."""
        with self._lock:
            if request in self._connections:
                self._connections[request] = (answered, time.monotonic() + seconds)

    def service_actions(self) -> None:
        """Close connections past their deadline; the library calls this every `LOOK_SECONDS`."""
        now = time.monotonic()
        with self._lock:
            for connection, (_, until) in self._connections.items():
                if now > until:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)

    def _attend(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            pass  # The browser has disconnected.
        finally:
            self._forget(request)

    def _forget(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)
        self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep connection errors off the terminal."""

    def server_close(self) -> None:
        """Close the port and all connections."""
        super().server_close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """A connection: requests one after the other."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ssdlab"
    sys_version = ""
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle_one_request(self) -> None:
        """Wait for a request within a time limit, and answer it."""
        self.server.attends(self.connection, False, IDLE_SECONDS)
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer a GET request."""
        self._answer("GET")

    def do_HEAD(self) -> None:
        """Answer with the head alone."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Answer a POST request, which needs the key."""
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with a JSON error and close the connection, whose body may be unread."""
        self.close_connection = True
        self._send(as_json({"error": message or HTTPStatus(code).phrase}, code))

    def _answer(self, method: str) -> None:
        parts = urlsplit(self.path)
        refused = self._refused(method, parts.path)
        if refused is not None:
            self.send_error(*refused)
            return
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        self.server.attends(self.connection, True, float("inf"))
        route = self.server.routes[f"{method} {parts.path}"]
        try:
            answer = route(Asked(dict(parse_qsl(parts.query)), body))
        except InputError as error:
            answer = as_json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        except Exception as error:  # The page shows the error; the server continues.
            problem = f"{type(error).__name__}: {error}"
            answer = as_json({"error": problem}, HTTPStatus.INTERNAL_SERVER_ERROR)
        self._send(answer)

    def _refused(self, method: str, path: str) -> tuple[int, str] | None:
        """Reason to reject a request: status and message."""
        # After DNS rebinding, a foreign page's requests name its own host.
        if re.sub(r":\d+$", "", self.headers.get("Host", "")).lower() not in _NAMES:
            return HTTPStatus.FORBIDDEN, f"this page is for this machine; ask for {ADDRESS}"
        length = self.headers.get("Content-Length") or "0"
        if "Transfer-Encoding" in self.headers or not length.isascii() or not length.isdigit():
            return HTTPStatus.LENGTH_REQUIRED, "a request says its length in Content-Length"
        if len(length) > 9 or int(length) > self.server.most_body_bytes:
            most = self.server.most_body_bytes
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {most} bytes"
        if f"{method} {path}" not in self.server.routes:
            others = [it.split()[0] for it in self.server.routes if it.split()[1] == path]
            if others:
                return HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {' or '.join(others)}"
            return HTTPStatus.NOT_FOUND, f"there is no {path}"
        if method == "POST":
            # The header blocks other sites: for them the browser sends a preflight request first.
            key = self.headers.get(KEY_HEADER, "")
            if not secrets.compare_digest(key.encode(), self.server.key.encode()):
                return HTTPStatus.FORBIDDEN, "the key is missing: open the address on the terminal"
        return None

    def _send(self, answer: Answer) -> None:
        body = answer.body
        is_stream = not isinstance(body, bytes)
        self.server.attends(self.connection, True, float("inf") if is_stream else ANSWER_SECONDS)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        if isinstance(body, bytes):
            self.send_header("Content-Length", str(len(body)))
        if is_stream or self.close_connection:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.send_header("Content-Security-Policy", answer.policy)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if self.command == "HEAD":
            return
        for piece in (body,) if isinstance(body, bytes) else body:
            self.wfile.write(piece)
            self.wfile.flush()
