"""The shortest guest with a disk of vhost-user: a hypervisor and its driver, one request at a
time."""

import array
import errno
import mmap
import os
import select
import socket
import struct

IN, OUT, FLUSH, DISCARD = 0, 1, 4, 11
SECTOR = 512
SIZE = 8
#: Where things are in the guest's memory, and where the hypervisor says that it sees this memory.
DESCRIPTORS, AVAILABLE, USED, HEAD, STATUS, DATA, MEMORY = (
    0,
    0x1000,
    0x2000,
    0x3000,
    0x3100,
    0x4000,
    1 << 20,
)
SEEN_AT = 0x10000000
FEATURES = 1 << 32 | 1 << 30 | 1 << 9 | 1 << 13
PATIENCE_MS = 30_000


class Guest:
    """Connected to the socket at `path`; closed at the end of its `with`."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        self._socket.connect(os.fspath(path))
        self._file = os.memfd_create("guest")
        os.ftruncate(self._file, MEMORY)
        self._memory = mmap.mmap(self._file, MEMORY)
        # The server waits for neither.
        self._kick, self._call = (os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2))
        self._asked = 0
        (offered,) = struct.unpack("<Q", self._ask(1, size=8))
        assert offered & FEATURES == FEATURES, hex(offered)
        self._ask(3)
        self._ask(2, struct.pack("<Q", FEATURES))
        self._ask(16, struct.pack("<Q", 0))
        self._ask(5, struct.pack("<IIQQQQ", 1, 0, 0, MEMORY, SEEN_AT, 0), file=self._file)
        self._ask(8, struct.pack("<II", 0, SIZE))
        places = (SEEN_AT + place for place in (DESCRIPTORS, USED, AVAILABLE))
        self._ask(9, struct.pack("<IIQQQQ", 0, 0, *places, 0))
        self._ask(10, struct.pack("<II", 0, 0))
        self._ask(13, struct.pack("<Q", 0), file=self._call)
        self._ask(12, struct.pack("<Q", 0), file=self._kick)
        self._ask(18, struct.pack("<II", 0, 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._memory.close()
        self._socket.close()
        for file in (self._file, self._kick, self._call):
            os.close(file)

    def _ask(self, request, data=b"", file=None, size=None):
        """A message of the hypervisor; the answer of `size` bytes, if there is one."""
        rights = []
        if file is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
        message = struct.pack("<III", request, 1, len(data)) + data
        self._socket.sendmsg([message], rights)
        if size is None:
            return b""
        answer = b""
        while len(answer) < 12 + size:
            piece = self._socket.recv(12 + size - len(answer))
            assert piece, "the server hung up"
            answer += piece
        return answer[12:]

    def ask(self, kind, offset=0, data=b"", length=0):
        """One request of the driver; its data."""
        length = length or len(data)
        self._memory[HEAD : HEAD + 16] = struct.pack("<IIQ", kind, 0, offset // SECTOR)
        self._memory[DATA : DATA + len(data)] = data
        parts = [(HEAD, 16, 0), (STATUS, 1, 2)]
        if length:
            parts.insert(1, (DATA, length, 2 if kind == IN else 0))
        for number, (place, size, flags) in enumerate(parts):
            follows = int(number + 1 < len(parts))
            at = DESCRIPTORS + 16 * number
            words = struct.pack("<QIHH", place, size, flags | follows, number + 1)
            self._memory[at : at + 16] = words
        slot = AVAILABLE + 4 + 2 * (self._asked % SIZE)
        self._memory[slot : slot + 2] = struct.pack("<H", 0)
        self._asked += 1
        self._memory[AVAILABLE + 2 : AVAILABLE + 4] = struct.pack("<H", self._asked % 65536)
        os.eventfd_write(self._kick, 1)
        waiting = select.poll()
        waiting.register(self._call, select.POLLIN)
        while struct.unpack_from("<H", self._memory, USED + 2)[0] != self._asked % 65536:
            assert waiting.poll(PATIENCE_MS), "no answer"
            os.eventfd_read(self._call)
        if self._memory[STATUS]:
            raise OSError(errno.EIO, f"status {self._memory[STATUS]}")
        return self._memory[DATA : DATA + length]
