"""The shortest client of NBD, for tests of the live device."""

import os
import socket
import struct

READ, WRITE, DISCONNECT, FLUSH, TRIM = range(5)
FUA = 1


class Client:
    """The shortest client of NBD."""

    def __init__(self, address):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        self.socket = socket.socket(family)
        self.socket.settimeout(30)
        self.socket.connect(address if isinstance(address, tuple) else os.fspath(address))
        self.receive(18)
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.size, self.flags = struct.unpack(">QH", self.receive(10))

    def receive(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            assert piece, "the server hung up"
            data += piece
        return data

    def send(self, command, offset=0, length=0, flags=0, data=b"", cookie=0):
        header = struct.pack(">IHHQQI", 0x25609513, flags, command, cookie, offset, length)
        self.socket.sendall(header + data)

    def answer(self, length=0):
        magic, error, cookie = struct.unpack(">IIQ", self.receive(16))
        assert magic == 0x67446698
        return (error, self.receive(length) if not error else b"", cookie)

    def ask(self, command, offset=0, length=0, flags=0, data=b""):
        self.send(command, offset, length or len(data), flags, data)
        error, got, _ = self.answer(length if command == READ else 0)
        assert error == 0, error
        return got

    def read(self, offset, length):
        return self.ask(READ, offset, length)

    def write(self, offset, data, flags=0):
        self.ask(WRITE, offset, data=data, flags=flags)
