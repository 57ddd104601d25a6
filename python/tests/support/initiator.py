"""A small initiator of NVMe/TCP: queues over sockets, one command at a time or many.

Layouts after the NVM Express base specification 1.4 and its TCP transport 1.0.
"""

import contextlib
import os
import socket
import struct
from typing import NamedTuple

SUBSYSTEM = "nqn.2024-07.internal.ssdlab:drive"
DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
FLUSH, WRITE, READ, COMPARE, ZEROES, DATASET, VERIFY = 0, 1, 2, 5, 8, 9, 12
UNCORRECTABLE, COPY = 4, 0x19
MANAGEMENT_RECEIVE, MANAGEMENT_SEND = 0x12, 0x1D
LOG_PAGE, IDENTIFY, ABORT, SET, GET, EVENT, KEEP_ALIVE, FABRICS = 2, 6, 8, 9, 10, 12, 24, 127
SECTOR = 512
IN_CAPSULE = 8192
HOST = bytes(range(16))


class Done(NamedTuple):
    """How a command ended."""

    id: int
    status: int
    result: int
    data: bytes


class Ended(Exception):
    """The target ended the connection; its reason is the argument, 0 without one."""


def connection(uri, timeout=30, context=None):
    """A socket at the address of a target; within TLS, with a context of that."""
    if uri.startswith("unix://"):
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(timeout)
        link.connect(uri.removeprefix("unix://"))
    else:
        host, port = uri.removeprefix("tcp://").rsplit(":", 1)
        link = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link if context is None else context.wrap_socket(link, server_hostname="localhost")


def command(opcode, namespace=0, words=(), fuse=0):
    """A command; `words` are pairs of a number from 10 on and a value."""
    entry = bytearray(64)
    entry[0], entry[1] = opcode, 0x40 | fuse
    struct.pack_into("<I", entry, 4, namespace)
    for number, value in words:
        struct.pack_into("<I", entry, 4 * number, value & 0xFFFFFFFF)
    return entry


def blocks(opcode, offset, length, namespace=1, durable=False, directive=(0, 0)):
    """A command on bytes of a namespace; a directive has a type and what it names."""
    first, count = offset // SECTOR, length // SECTOR - 1
    kind, named = directive
    words = [(10, first), (11, first >> 32), (12, count | durable << 30 | kind << 20)]
    return command(opcode, namespace, [*words, (13, named << 16)])


class Queue:
    """A queue of a controller."""

    def __init__(self, uri, timeout=30, greets=True, context=None):
        self.socket = connection(uri, timeout, context)
        self.next = 0
        self.controller = None
        #: Data of commands in flight: what is to be sent, and what has come.
        self.sending, self.coming = {}, {}
        if greets:
            self.greet()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def greet(self, digests=0, version=0, alignment=0):
        words = struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, version, alignment, digests, 0)
        self.socket.sendall(words + bytes(112))
        head = self.receive(8)
        if head[0] != 1:
            self.terminated(head)
        return self.receive(120)

    def receive(self, count):
        data = bytearray()
        while len(data) < count:
            try:
                piece = self.socket.recv(min(count - len(data), 1 << 20))
            except ConnectionError:
                piece = b""
            if not piece:
                raise Ended(0)
            data += piece
        return bytes(data)

    def terminated(self, head):
        body = self.receive(struct.unpack_from("<I", head, 4)[0] - 8)
        raise Ended(struct.unpack_from("<H", body)[0] if head[0] == 3 else -1)

    def send(self, entry, data=b"", room=0, kind=None, length=None, offset=0):
        """Sends a command with data, or with room for some; its number."""
        entry, number = bytearray(entry), self.next
        self.next = (self.next + 1) % 0xF000
        inside = 0 < len(data) <= IN_CAPSULE if kind is None else kind == 1
        struct.pack_into("<H", entry, 2, number)
        size = (len(data) or room) if length is None else length
        struct.pack_into("<QI", entry, 24, offset, size)
        entry[39] = (1 if inside else 0x5A) if kind is None else kind
        body = data if inside else b""
        head = struct.pack("<BBBBI", 4, 0, 72, 72 if body else 0, 72 + len(body))
        self.sending[number], self.coming[number] = data, bytearray()
        self.socket.sendall(head + entry + body)
        return number

    def done(self):
        """The next completion; data are sent when they may come, and collected."""
        while True:
            head = self.receive(8)
            kind, whole = head[0], struct.unpack_from("<I", head, 4)[0]
            if kind not in (5, 7, 9):
                self.terminated(head)
            rest = self.receive(whole - 8)
            if kind == 5:
                result, _, _, number, field = struct.unpack("<QHHHH", rest)
                self.sending.pop(number, None)
                data = bytes(self.coming.pop(number, b""))
                return Done(number, field >> 1 & 0x7FF, result, data)
            number, tag, begin, count = struct.unpack_from("<HHII", rest)
            if kind == 7:
                self.coming[number] += rest[head[3] - 8 :][:count]
            else:
                self.give(number, tag, begin, count)

    def give(self, number, tag, begin, count, most=131072):
        """Sends data that may come."""
        data = self.sending[number]
        for at in range(begin, begin + count, most):
            piece = data[at : min(at + most, begin + count)]
            last = at + len(piece) == begin + count
            self.socket.sendall(data_pdu(number, tag, at, piece, last) + piece)

    def ask(self, entry, data=b"", room=0, **words):
        """A command and its end."""
        number = self.send(entry, data, room, **words)
        done = self.done()
        assert done.id == number, done
        return done

    def connect(self, number=0, controller=0xFFFF, name=SUBSYSTEM, patience_ms=0, **changed):
        """Makes it a queue of a controller."""
        data = bytearray(1024)
        data[:16] = changed.get("host", HOST)
        struct.pack_into("<H", data, 16, controller)
        data[256 : 256 + len(name)] = name.encode()
        who = changed.get("who", b"nqn.2024-07.internal.ssdlab:tests")
        data[512 : 512 + len(who)] = who
        entry = command(FABRICS, 1)
        size = changed.get("size", 127)
        struct.pack_into(
            "<HHHBBI", entry, 40, changed.get("format", 0), number, size, 0, 0, patience_ms
        )
        done = self.ask(entry, bytes(data))
        self.controller = done.result & 0xFFFF
        return done

    def property(self, offset, value=None, long=False):
        words = [(10, int(long)), (11, offset), (12, value or 0)]
        return self.ask(command(FABRICS, 4 if value is None else 0, words))

    def enable(self):
        self.property(0x14, 0x00460001)
        return self

    def read(self, offset, length, namespace=1):
        done = self.ask(blocks(READ, offset, length, namespace), room=length)
        assert done.status == 0, hex(done.status)
        return done.data

    def write(self, offset, data, namespace=1, durable=False):
        done = self.ask(blocks(WRITE, offset, len(data), namespace, durable), data)
        assert done.status == 0, hex(done.status)

    def flush(self, namespace=1):
        assert self.ask(command(FLUSH, namespace)).status == 0

    def identify(self, what, namespace=0, words=()):
        return self.ask(command(IDENTIFY, namespace, [(10, what), *words]), room=4096)

    def log(self, page, length, namespace=0xFFFFFFFF, offset=0, group=0, which=0):
        first = page | which << 8 | (length // 4 - 1) << 16
        second = (length // 4 - 1) >> 16 | group << 16
        words = [(10, first), (11, second), (12, offset), (13, offset >> 32)]
        return self.ask(command(LOG_PAGE, namespace, words), room=length)


def data_pdu(number, tag, begin, piece, last):
    """The header of data for the target."""
    return struct.pack(
        "<BBBBIHHIII", 6, last << 2, 24, 24, 24 + len(piece), number, tag, begin, len(piece), 0
    )


class Host:
    """A controller with I/O queues."""

    def __init__(self, uri, queues=1, patience_ms=0, context=None):
        self.uri, self.context = uri, context
        self.admin = Queue(uri, context=context)
        done = self.admin.connect(patience_ms=patience_ms)
        assert done.status == 0, hex(done.status)
        self.admin.enable()
        self.queues = [self.queue(number + 1) for number in range(queues)]

    def queue(self, number):
        queue = Queue(self.uri, context=self.context)
        done = queue.connect(number, self.admin.controller)
        assert done.status == 0, hex(done.status)
        return queue

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for queue in (*self.queues, self.admin):
            with contextlib.suppress(OSError):
                queue.socket.close()

    def __getitem__(self, number):
        return self.queues[number]


def socket_uri(place):
    """The address of a target at a path."""
    return f"unix://{os.fspath(place)}"
