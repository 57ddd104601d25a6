"""Recordings of the live device, written by hand, and a client that writes records to a device."""

import socket
import struct
import sys
import time
import zlib
from pathlib import Path

WRITE, TRIM, ZEROES, FLUSH, ANSWER, END = range(1, 7)


class Log:
    """What clients asked and were told, in order."""

    def __init__(self, size=64 << 10):
        self.size = size
        self.records = b""
        self.events = self.asked = 0

    def _event(self, kind, flags=0, length=0, id=0, offset=0, data=b""):
        body = struct.pack("<BBHIQQQ", kind, flags, 0, length, id, offset, 1000) + data
        self.records += struct.pack("<I", zlib.crc32(body)) + body
        self.events += 1

    def ask(self, kind, offset=0, length=0, data=b"", fua=False):
        id = self.asked
        self.asked += 1
        self._event(kind, fua, length or len(data), id, offset, data)
        return id

    def write(self, offset, data, fua=False):
        return self.ask(WRITE, offset, data=data, fua=fua)

    def answer(self, *ids, refused=False):
        for id in ids:
            self._event(ANSWER, 2 * refused, id=id)

    def flush(self):
        self.answer(self.ask(FLUSH))

    def bytes(self, end=True):
        header = struct.pack("<8sIIQ", b"ssdcrash", 1, 0, self.size)
        text = header + struct.pack("<I", zlib.crc32(header)) + self.records
        if end:
            body = struct.pack("<BBHIQQQ", END, 0, 0, 0, self.events, 0, 0)
            text += struct.pack("<I", zlib.crc32(body)) + body
        return text


def _receive(connection, count):
    data = b""
    while len(data) < count:
        data += connection.recv(count - len(data))
    return data


def write_records(uri, count, flush):
    """Writes record after record of 4 KiB over NBD and prints which was answered."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(uri.partition("socket=")[2])
    _receive(connection, 18)
    connection.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
    _receive(connection, 10)

    def ask(command, offset=0, length=0, data=b""):
        header = struct.pack(">IHHQQI", 0x25609513, 0, command, 0, offset, length)
        connection.sendall(header + data)
        assert struct.unpack(">II", _receive(connection, 16)[:8]) == (0x67446698, 0)

    for number in range(1, count + 1):
        ask(1, number * 4096, 4096, bytes([number]) * 4096)
        if flush:
            ask(3)
        print(number, flush=True)
        # What is printed is heard a moment later; on a busy machine that is after the next writes.
        time.sleep(0.03)


def check_records(image, lines, unanswered):
    """Status 3 if a record that was answered is missing, 1 if one is half there."""
    numbers = range(1, unanswered + 1) if unanswered else map(int, lines)
    with open(image, "rb") as file:
        for number in numbers:
            file.seek(number * 4096)
            found = set(file.read(4096))
            if len(found) > 1:
                sys.exit(f"record {number} is torn")
            if found != {number} and not unanswered:
                print(f"record {number} is missing")
                sys.exit(3)


if __name__ == "__main__":
    action, where, *words = sys.argv[1:]
    if action == "run":
        write_records(where, int(words[0]), "flush" in words)
    else:
        lines = Path(words[0]).read_text().split()
        check_records(where, lines, int(words[1]) if len(words) > 1 else 0)
