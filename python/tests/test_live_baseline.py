"""What a live device holds is as before once a client has left, however it left.

The server is a process of its own, with all its doors open. Descriptors and threads return to their
number, memory stays: for every kind of client, those that leave in the middle too.
"""

import contextlib
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import time

import certificates
import guest
import haggler
import initiator
import pytest
from lying.mount import need_fuse
from short_client import FLUSH, TRIM, WRITE, Client

ROUNDS = 15
MIB = 1 << 20
#: What the allocator may keep of the largest requests.
MOST_MEMORY = 24 * MIB


class Server:
    """`ssdlab serve` with all doors; what it holds."""

    def __init__(self, command, place, *words):
        self.place, self.said = place, place / "said"
        with open(self.said, "w") as said:
            words = [*command, "serve", "agrawal2008", "--size", "64MiB", *map(str, words)]
            self.process = subprocess.Popen(words, stdout=said, stderr=said, cwd=place)
        until = time.monotonic() + 60
        while "serving" not in self.said.read_text() or not (place / "socket").exists():
            assert self.process.poll() is None and time.monotonic() < until, self.said.read_text()
            time.sleep(0.05)

    @property
    def port(self):
        return int(re.search(r"http://127\.0\.0\.1:(\d+)/", self.said.read_text())[1])

    def held(self):
        """The number of its threads and of its descriptors, and what those are."""
        pid, names = self.process.pid, []
        for number in os.listdir(f"/proc/{pid}/fd"):
            # One that is closed meanwhile does not count.
            with contextlib.suppress(FileNotFoundError):
                names.append(os.readlink(f"/proc/{pid}/fd/{number}"))
        return len(os.listdir(f"/proc/{pid}/task")), len(names), sorted(names)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            (line,) = [line for line in file if line.startswith("VmRSS")]
        return int(line.split()[1]) * 1024

    def settled(self, most=None):
        """What it holds once that no longer falls, or is `most`."""
        until, held = time.monotonic() + 30, self.held()
        least = held
        quiet = time.monotonic() + 1
        while time.monotonic() < until and (most is None or least[:2] > most[:2]):
            time.sleep(0.1)
            held = self.held()
            if held[0] < least[0] or held[1] < least[1]:
                least, quiet = held, time.monotonic() + 1
            elif most is None and time.monotonic() > quiet:
                break
        return least


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("pki") / "right")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    need_fuse()
    place = tmp_path_factory.mktemp("served")
    (place / "file").mkdir()
    doors = ("--socket", "socket", "--mount", "file", "--vhost-user", "vhost")
    doors += ("--nvme", initiator.socket_uri(place / "nvme"))
    yield from running(place, *doors, "--control", "control", "--watch", "0", "--backing", "data")


@pytest.fixture(scope="module")
def secure(tmp_path_factory, pki):
    place = tmp_path_factory.mktemp("secure")
    yield from running(place, "--socket", "socket", "--tls-certificates", pki)


def running(place, *words):
    it = Server([sys.executable, "-m", "ssdlab"], place, *words)
    try:
        yield it
    finally:
        it.process.terminate()
        it.process.wait(timeout=60)


def polite(it):
    client = Client(it.place / "socket")
    client.write(0, bytes(MIB))
    client.ask(FLUSH)
    client.read(0, MIB)
    client.ask(TRIM, 0, MIB)
    client.socket.close()


def in_the_middle_of_a_write(it):
    client = Client(it.place / "socket")
    client.send(WRITE, 0, 8 * MIB, data=bytes(3 * MIB))
    client.socket.close()


def with_answers_waiting(it):
    client = Client(it.place / "socket")
    for number in range(200):
        client.send(0, 0, 256 << 10, cookie=number)
    client.socket.close()


def in_the_middle_of_the_negotiation(it):
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.fspath(it.place / "socket"))
        link.sendall(b"\0\0\0\x03IHAVEOPT\0\0")


def nonsense(door):
    def knock(it):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            link.connect(os.fspath(it.place / door))
            with contextlib.suppress(OSError):
                link.sendall(b"nonsense\n" * 100)
                link.recv(1)

    knock.__name__ = f"nonsense_at_{door}"
    return knock


def a_guest(it):
    with guest.Guest(it.place / "vhost") as disk:
        disk.ask(guest.OUT, 4096, bytes(4096))
        disk.ask(guest.FLUSH)
        disk.ask(guest.IN, 4096, length=4096)


def a_host(it):
    with initiator.Host(initiator.socket_uri(it.place / "nvme"), queues=2) as host:
        host[0].write(0, bytes(MIB))
        host[1].read(0, MIB)
        host[1].flush()
        host.admin.log(2, 512)


def a_host_with_answers_waiting(it):
    with initiator.Host(initiator.socket_uri(it.place / "nvme"), queues=2) as host:
        for number in range(100):
            host[0].send(initiator.blocks(initiator.READ, 0, MIB), room=MIB)
            host[1].send(initiator.blocks(initiator.WRITE, number * 8192, 8192), bytes(8192))


def a_host_in_the_middle_of_a_write(it):
    with initiator.Host(initiator.socket_uri(it.place / "nvme")) as host:
        host[0].send(initiator.blocks(initiator.WRITE, 0, MIB), bytes(MIB))
        number, tag = struct.unpack_from("<HH", host[0].receive(24), 8)
        piece = bytes(65536)
        head = initiator.data_pdu(number, tag, 0, piece, False)
        host[0].socket.sendall(head + piece[:100])


def half_a_header(it):
    with initiator.Queue(initiator.socket_uri(it.place / "nvme")) as queue:
        queue.socket.sendall(b"\x04\x00\x48")


def of_the_file(it):
    file = os.open(it.place / "file/disk", os.O_RDWR)
    os.pwrite(file, bytes(MIB), 0)
    os.fsync(file)
    os.pread(file, MIB, 0)
    os.close(file)


def of_control(it):
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(30)
        link.connect(os.fspath(it.place / "control"))
        link.sendall(b"stats\nhealth\nno such order\nsta")
        link.recv(10)


def of_the_page(it):
    for words in (b"GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /sta", b""):
        with socket.create_connection(("127.0.0.1", it.port), timeout=30) as link:
            link.sendall(words)
            if len(words) > 10:
                link.recv(100)


CLIENTS = (
    polite,
    in_the_middle_of_a_write,
    with_answers_waiting,
    in_the_middle_of_the_negotiation,
    nonsense("socket"),
    nonsense("vhost"),
    nonsense("control"),
    nonsense("nvme"),
    a_guest,
    a_host,
    a_host_with_answers_waiting,
    a_host_in_the_middle_of_a_write,
    half_a_header,
    of_the_file,
    of_control,
    of_the_page,
)


def returns(it, client):
    client(it)
    before, memory = it.settled(), it.memory()
    for _ in range(ROUNDS):
        client(it)
    after = it.settled(before)
    assert after[0] <= before[0], f"threads: {before[0]} before, {after[0]} after"
    assert after[1] <= before[1], f"{before[2]} before, {after[2]} after"
    assert it.memory() - memory < MOST_MEMORY


@pytest.mark.parametrize("client", CLIENTS, ids=lambda it: it.__name__)
def test_nothing_is_left_of_a_client(server, client):
    returns(server, client)


def over_tls(pki):
    def client(it):
        with haggler.Haggler(f"?socket={it.place / 'socket'}") as link:
            link.secure(pki)
            link.kinds(haggler.GO, haggler.name(""))
            link.ask(WRITE, 0, data=bytes(4096))

    return client


def half_a_handshake(it):
    with haggler.Haggler(f"?socket={it.place / 'socket'}") as link:
        link.kinds(haggler.STARTTLS)
        link.socket.sendall(b"\x16\x03\x01")


def nonsense_for_tls(it):
    with haggler.Haggler(f"?socket={it.place / 'socket'}") as link:
        link.kinds(haggler.STARTTLS)
        link.socket.sendall(b"nonsense" * 100)
        with contextlib.suppress(OSError, ssl.SSLError):
            link.socket.recv(100)


def test_nothing_is_left_of_a_client_over_tls(secure, pki):
    for client in (over_tls(pki), half_a_handshake, nonsense_for_tls):
        returns(secure, client)
