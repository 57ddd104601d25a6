"""A file system in memory that records every change: `python fuse.py DIRECTORY LOG` mounts it.

It is a process of its own, so that no call of the tests can wait for itself. Each change is one
pickle in LOG, in the order in which the system made them; what a client was promised is put in
the same order, by a write to the file `.say`. There is no cache between a program and this file
system: what it has written is in LOG, and what it has not synced is known to be so.

Orders, which are written to `.say` as well, make it a worse disk: `("full", bytes)` refuses
writes when that many more have been written, `("fail", call, count, errno)` fails the next calls
`fsync`, `write` or `rename`, `("short", n)` writes only n bytes at a time, `("slow", seconds)`
delays every sync.
"""

import ctypes
import errno
import os
import pickle
import stat
import struct
import sys
import time

IN = struct.Struct("<IIQQIIII")
OUT = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
SET = struct.Struct("<IIQQQQQQIIIIIIII")
MOST_WRITE = 1 << 20
SAY, ROOT = ".say", 1
DIRECT_IO = 1
PUNCH_HOLE, KEEP_SIZE, ZERO_RANGE = 2, 1, 16
SET_SIZE, SET_MODE, SET_MTIME = 8, 1, 32


class Node:
    """A file or a directory."""

    def __init__(self, number, mode):
        self.number, self.mode = number, mode
        self.data = bytearray()
        self.names = {} if stat.S_ISDIR(mode) else None
        self.changed = time.time_ns()

    def attributes(self):
        seconds, rest = divmod(self.changed, 10**9)
        size, links = len(self.data), 1 if self.names is None else 2
        times = (seconds,) * 3 + (rest,) * 3
        owner = os.getuid(), os.getgid()
        blocks = (size + 511) // 512
        return ATTRIBUTES.pack(
            self.number, size, blocks, *times, self.mode, links, *owner, 0, 4096, 0
        )


class Store:
    """The file system: a method for each call, by the name that Linux has for it."""

    def __init__(self, log):
        self._log = log
        self._nodes = {ROOT: Node(ROOT, stat.S_IFDIR | 0o755)}
        self._nodes[ROOT].names[SAY] = self._new(stat.S_IFREG | 0o600).number
        self._room = None
        self._failing = {}
        self._short = None
        self._slow = 0.0

    def _new(self, mode):
        number = max(self._nodes) + 1
        self._nodes[number] = Node(number, mode)
        return self._nodes[number]

    def _note(self, *change):
        pickle.dump(change, self._log, protocol=5)
        self._log.flush()

    def _may_fail(self, call):
        count, number = self._failing.get(call, (0, 0))
        if count:
            self._failing[call] = count - 1, number
            raise OSError(number, call)

    def _said(self, data):
        said = pickle.loads(data)
        match said:
            case ("full", room):
                self._room = room
            case ("fail", call, count, number):
                self._failing[call] = count, number
            case ("short", most):
                self._short = most
            case ("slow", seconds):
                self._slow = seconds
            case _:
                self._note("mark", said)

    def _found(self, directory, name):
        number = self._nodes[directory].names.get(name.decode())
        if number is None:
            raise OSError(errno.ENOENT, name)
        return self._nodes[number]

    def _entry(self, node):
        return struct.pack("<QQQQII", node.number, 0, 0, 0, 0, 0) + node.attributes()

    def lookup(self, number, body):
        return self._entry(self._found(number, body[:-1]))

    def getattr(self, number, _):
        return struct.pack("<QII", 0, 0, 0) + self._nodes[number].attributes()

    def setattr(self, number, body):
        node = self._nodes[number]
        valid, _, _, size, _, _, seconds, _, _, rest, _, mode, *_ = SET.unpack_from(body)
        if valid & SET_SIZE:
            self._may_fail("write")
            del node.data[size:]
            node.data.extend(bytes(size - len(node.data)))
            self._note("size", number, size)
            node.changed = time.time_ns()
        if valid & SET_MODE:
            node.mode = stat.S_IFMT(node.mode) | mode & 0o7777
        if valid & SET_MTIME:
            node.changed = seconds * 10**9 + rest
        return self.getattr(number, b"")

    def create(self, number, body):
        _, mode, umask, _ = struct.unpack_from("<IIII", body)
        node = self._added(number, body[16:-1], stat.S_IFREG | mode & ~umask & 0o7777)
        return self._entry(node) + struct.pack("<QII", 0, DIRECT_IO, 0)

    def _added(self, directory, name, mode):
        self._may_fail("create")
        node = self._new(mode)
        self._nodes[directory].names[name.decode()] = node.number
        self._note("create", directory, name.decode(), node.number, node.names is not None)
        return node

    def mkdir(self, number, body):
        mode, umask = struct.unpack_from("<II", body)
        return self._entry(self._added(number, body[8:-1], stat.S_IFDIR | mode & ~umask))

    def unlink(self, number, body):
        self._found(number, body[:-1])
        del self._nodes[number].names[body[:-1].decode()]
        self._note("unlink", number, body[:-1].decode())
        return b""

    rmdir = unlink

    def rename(self, number, body):
        return self._renamed(number, struct.unpack_from("<Q", body)[0], body[8:])

    def rename2(self, number, body):
        target, flags, _ = struct.unpack_from("<QII", body)
        if flags:
            raise OSError(errno.EINVAL, "rename")
        return self._renamed(number, target, body[16:])

    def _renamed(self, number, target, names):
        self._may_fail("rename")
        old, new = (name.decode() for name in names[:-1].split(b"\0"))
        node = self._found(number, old.encode())
        del self._nodes[number].names[old]
        self._nodes[target].names[new] = node.number
        self._note("rename", number, old, target, new, node.number)
        return b""

    def open(self, _, __):
        return struct.pack("<QII", 0, DIRECT_IO, 0)

    opendir = open

    def read(self, number, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(self._nodes[number].data[offset : offset + size])

    def write(self, number, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        data, node = body[40 : 40 + size], self._nodes[number]
        if number == self._nodes[ROOT].names[SAY]:
            self._said(data)
            return struct.pack("<II", size, 0)
        self._may_fail("write")
        if self._short is not None:
            data = data[: self._short]
        if self._room is not None:
            data = data[: self._room]
            self._room -= len(data)
            if not data:
                raise OSError(errno.ENOSPC, "write")
        node.data.extend(bytes(max(0, offset - len(node.data))))
        node.data[offset : offset + len(data)] = data
        node.changed = time.time_ns()
        self._note("write", number, offset, bytes(data))
        return struct.pack("<II", len(data), 0)

    def fallocate(self, number, body):
        _, offset, length, mode, _ = struct.unpack_from("<QQQII", body)
        if mode not in (PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE | KEEP_SIZE):
            raise OSError(errno.EOPNOTSUPP, "fallocate")
        data = self._nodes[number].data
        length = max(0, min(length, len(data) - offset))
        data[offset : offset + length] = bytes(length)
        self._note("write", number, offset, bytes(length))
        return b""

    def fsync(self, number, _):
        time.sleep(self._slow)
        try:
            self._may_fail("fsync")
        except OSError:
            # As Linux: the pages that could not be written are clean, and the next sync says
            # nothing.
            self._note("lost", number)
            raise
        self._note("sync", number)
        return b""

    def fsyncdir(self, number, _):
        self._may_fail("fsyncdir")
        self._note("dirsync", number)
        return b""

    def readdir(self, number, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        out, names = b"", list(self._nodes[number].names.items())
        for place, (name, found) in enumerate(names[offset:], offset + 1):
            text = name.encode()
            kind = stat.S_IFMT(self._nodes[found].mode) >> 12
            entry = struct.pack("<QQII", found, place, len(text), kind) + text
            entry += bytes(-len(entry) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out

    def statfs(self, _, __):
        return struct.pack(
            "<QQQQQIIII24x", 1 << 30, 1 << 30, 1 << 30, 1 << 20, 1 << 20, 4096, 255, 4096, 0
        )

    def nothing(self, _, __):
        return b""

    flush = release = releasedir = nothing


CALLS = {
    1: "lookup", 3: "getattr", 4: "setattr", 9: "mkdir", 10: "unlink", 11: "rmdir", 12: "rename",
    14: "open", 15: "read", 16: "write", 17: "statfs", 18: "release", 20: "fsync", 25: "flush",
    27: "opendir", 28: "readdir", 29: "releasedir", 30: "fsyncdir", 35: "create", 43: "fallocate",
    45: "rename2",
}  # fmt: skip
INIT, UNANSWERED, DESTROY = 26, (2, 36, 42), 38
BIG_WRITES, MAX_PAGES, ATOMIC_TRUNC = 1 << 5, 1 << 22, 0


def mounted(directory):
    """A descriptor that speaks for the mounted directory."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    mount = ctypes.CDLL(None, use_errno=True).mount
    words = (b"lying", os.fsencode(directory), b"fuse.lying")
    if mount(*words, 0, f"{options},default_permissions".encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return device


def serve(device, store):
    """Answers Linux until the directory is unmounted."""
    while True:
        try:
            message = os.read(device, MOST_WRITE + (64 << 10))
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                continue
            raise
        _, call, unique, number, *_ = IN.unpack_from(message)
        body, failed = message[IN.size :], 0
        if call in UNANSWERED:
            continue
        if call == INIT:
            major, minor = struct.unpack_from("<II", body)
            flags = BIG_WRITES | MAX_PAGES
            out = struct.pack("<IIIIHHI", 7, min(minor, 31), 0, flags, 16, 12, MOST_WRITE)
            out += struct.pack("<IHHI28x", 1, MOST_WRITE // 4096, 0, 0)
        elif call in CALLS:
            try:
                out = getattr(store, CALLS[call])(number, body)
            except OSError as error:
                out, failed = b"", error.errno
        else:
            out, failed = b"", errno.ENOSYS if call != DESTROY else 0
        try:
            os.write(device, OUT.pack(OUT.size + len(out), -failed, unique) + out)
        except OSError as error:
            # The call was interrupted.
            if error.errno != errno.ENOENT:
                raise


if __name__ == "__main__":
    with open(sys.argv[2], "wb", buffering=1 << 16) as log:
        opened = mounted(sys.argv[1])
        print("mounted", flush=True)
        serve(opened, Store(log))
