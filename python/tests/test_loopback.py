"""Pages for this machine alone: what is answered, what is refused, and that it ends."""

import http.client
import json
import socket
import threading
import time

import pytest

from ssdlab import InputError, loopback
from ssdlab.loopback import (
    KEY_HEADER,
    MOST_CONNECTIONS,
    Answer,
    Loopback,
    as_json,
    page,
    refuse_taken,
)

HTML = "<!doctype html><script>fetch('/number')</script>"


def fails(_asked):
    raise ValueError("no such drive")


def refuses(_asked):
    raise InputError("slow: X is a number")


def pieces(_asked):
    return Answer((f"data: {number}\n\n".encode() for number in range(3)), "text/event-stream")


def wait_until(holds):
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


ROUTES = {
    "GET /": lambda _: page(HTML),
    "GET /number": lambda asked: as_json({"number": int(asked.query.get("n", 7))}),
    "GET /fails": fails,
    "GET /refuses": refuses,
    "GET /stream": pieces,
    "POST /twice": lambda asked: as_json(asked.json() * 2),
}


@pytest.fixture(scope="module")
def served():
    with Loopback(ROUTES, most_body_bytes=100) as it:
        yield it


@pytest.fixture
def ask(served):
    """Asks on a connection that is kept; status, headers and body."""
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)

    def call(method, path, body=None, **headers):
        link.request(method, path, body, {key.replace("_", "-"): it for key, it in headers.items()})
        answer = link.getresponse()
        return answer.status, answer.headers, answer.read()

    yield call
    link.close()


def test_a_page_may_run_its_own_script_and_load_nothing_from_elsewhere(ask):
    status, headers, body = ask("GET", "/")
    assert (status, body.decode()) == (200, HTML)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy
    assert "script-src 'sha256-" in policy and "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Cache-Control"] == "no-store"


def test_a_connection_is_kept_and_routes_get_what_was_asked(ask, served):
    assert ask("GET", "/number?n=12")[2] == b'{"number":12}'
    key = {KEY_HEADER: served.key}
    assert ask("POST", "/twice", json.dumps([1, 2]), **key)[2] == b"[1,2,1,2]"
    status, headers, body = ask("HEAD", "/number")
    assert (status, headers["Content-Length"], body) == (200, "12", b"")
    assert ask("GET", "/stream")[2] == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"


def test_the_key_is_on_the_terminal_and_in_no_answer(ask, served):
    assert served.url_with_key == f"{served.url}#{served.key}"
    for path in ("/", "/number", "/missing"):
        _, headers, body = ask("GET", path)
        assert served.key not in str(headers) + body.decode()


@pytest.mark.parametrize(
    ("request_line", "headers", "status", "words"),
    [
        ("GET /missing", {}, 404, "there is no /missing"),
        ("GET /twice", {}, 405, "/twice takes POST"),
        ("DELETE /", {}, 501, "DELETE"),
        ("GET /number", {"Host": "example.org"}, 403, "127.0.0.1"),
        ("GET /number", {"Host": "localhost.example.org:80"}, 403, "127.0.0.1"),
        ("GET /number", {"Host": ""}, 403, "127.0.0.1"),
        ("POST /twice", {}, 403, "the key is missing"),
        ("POST /twice", {KEY_HEADER: "guessed"}, 403, "the key is missing"),
        ("POST /twice", {"Content-Length": "101"}, 413, "at most 100 bytes"),
        ("POST /twice", {"Content-Length": "-1"}, 411, "Content-Length"),
        ("POST /twice", {"Content-Length": "9" * 4000}, 413, "at most 100 bytes"),
        ("POST /twice", {"Transfer-Encoding": "chunked"}, 411, "Content-Length"),
        ("GET /fails", {}, 500, "ValueError: no such drive"),
        ("GET /refuses", {}, 400, "slow: X is a number"),
    ],
)
def test_what_is_refused_says_why(ask, request_line, headers, status, words):
    method, path = request_line.split()
    got, _, body = ask(method, path, **headers)
    assert got == status
    assert words in json.loads(body)["error"]


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"])
def test_this_machine_has_several_names(ask, name):
    assert ask("GET", "/number", Host=name)[0] == 200


def test_what_is_no_request_is_refused(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as link:
        link.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert b'{"error":"Bad' in link.recv(1000)


def linked(served, words=b""):
    link = socket.create_connection(("127.0.0.1", served.port), timeout=30)
    link.sendall(words)
    return link


ASKING = b"GET /number HTTP/1.1\r\nHost: localhost\r\n"


def test_no_more_are_served_than_there_is_room_for():
    over, begun = threading.Event(), []

    def wait(_asked):
        begun.append(1)
        over.wait(20)
        return as_json(0)

    with Loopback({"GET /number": wait}) as served:
        links = [linked(served, ASKING + b"\r\n") for _ in range(MOST_CONNECTIONS)]
        wait_until(lambda: len(begun) == MOST_CONNECTIONS)
        with linked(served) as late:
            assert b"503" in late.recv(1000)
        over.set()
        for link in links:
            assert b"200" in link.recv(1000)
            link.close()
        with linked(served, ASKING + b"\r\n") as link:
            assert b"200" in link.recv(1000)


def test_connections_that_say_nothing_or_half_of_it_keep_nobody_out(served, ask):
    links = [linked(served, ASKING[: 5 * (number % 2)]) for number in range(60)]
    try:
        for _ in range(3):
            assert ask("GET", "/number")[0] == 200
    finally:
        for link in links:
            link.close()
    # Only the one that asks is left.
    wait_until(lambda: len([it for it in threading.enumerate() if it.name == "page"]) <= 1)


def trickled(link, words):
    """Sends a byte at a time, and says how long it was allowed to."""
    began = time.monotonic()
    try:
        for byte in words:
            link.sendall(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        return time.monotonic() - began
    raise AssertionError("it was never cut off")


def test_a_request_must_end_in_time_however_slowly_it_comes(monkeypatch):
    monkeypatch.setattr(loopback, "IDLE_SECONDS", 0.5)
    with Loopback(ROUTES) as served, linked(served) as link:
        # All of it would take 50 s.
        assert trickled(link, ASKING + b"X: " + b"x" * 1000) < 25


def test_an_answer_must_be_taken_in_time(monkeypatch):
    monkeypatch.setattr(loopback, "ANSWER_SECONDS", 0.5)
    routes = {"GET /number": lambda _: Answer(bytes(64 << 20), "application/octet-stream")}
    with Loopback(routes) as served, linked(served, ASKING + b"\r\n") as link:
        assert b"200" in link.recv(1000)
        wait_until(lambda: not [it for it in threading.enumerate() if it.name == "page"])


def test_a_port_that_is_taken_is_named(served):
    with pytest.raises(InputError, match=f"port {served.port} of 127.0.0.1 is in use; choose"):
        Loopback({}, served.port)
    with pytest.raises(InputError, match=f"port {served.port} of 127.0.0.1 is in use; choose"):
        refuse_taken(served.port)
    refuse_taken(0)


def test_it_ends_and_so_do_its_connections():
    served = Loopback(ROUTES)
    link = socket.create_connection(("127.0.0.1", served.port), timeout=30)
    link.sendall(b"GET /number HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"200" in link.recv(1000)
    served.close()
    assert link.recv(1000) == b""
    link.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", served.port), timeout=30)
    wait_until(lambda: not [it for it in threading.enumerate() if it.name == "page"])
