"""A client of NBD that says options one by one, for tests of the negotiation."""

import socket
import ssl
import struct

EXPORT_NAME, ABORT, LIST, STARTTLS, INFO, GO, STRUCTURED = 1, 2, 3, 5, 6, 7, 8
ACK, SERVER, INFORMATION = 1, 2, 3
UNSUPPORTED, POLICY, INVALID, TLS_REQUIRED, UNKNOWN = ((1 << 31) + it for it in (1, 2, 3, 5, 6))


def address_of(uri):
    """What to connect to."""
    if "socket=" in uri:
        return uri.partition("socket=")[2]
    host, _, port = uri.partition("//")[2].partition("/")[0].rpartition(":")
    return host, int(port)


def option(number, data=b""):
    return struct.pack(">8sII", b"IHAVEOPT", number, len(data)) + data


def name(text, *infos):
    """The data of INFO and GO."""
    words = struct.pack(">I", len(text.encode())) + text.encode()
    return words + struct.pack(f">H{len(infos)}H", len(infos), *infos)


class Haggler:
    """It has greeted, and says options."""

    def __init__(self, uri):
        address = address_of(uri)
        self.socket = socket.socket(
            socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        )
        self.socket.settimeout(30)
        self.socket.connect(address)
        assert self.receive(18) == b"NBDMAGICIHAVEOPT\0\x03"
        self.socket.sendall(struct.pack(">I", 3))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def receive(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError(data)
            data += piece
        return data

    def reply(self):
        """The kind and the data of the next reply."""
        magic, _, kind, length = struct.unpack(">QIII", self.receive(20))
        assert magic == 0x3E889045565A9
        return kind, self.receive(length)

    def say(self, number, data=b""):
        """The replies to an option, up to the last."""
        self.socket.sendall(option(number, data))
        replies = [self.reply()]
        while replies[-1][0] in (SERVER, INFORMATION):
            replies.append(self.reply())
        return replies

    def kinds(self, number, data=b""):
        return [kind for kind, _ in self.say(number, data)]

    def secure(self, certificates, show=False):
        """Begins TLS."""
        assert self.kinds(STARTTLS) == [ACK]
        context = ssl.create_default_context(cafile=certificates / "ca-cert.pem")
        if show:
            context.load_cert_chain(
                certificates / "client-cert.pem", certificates / "client-key.pem"
            )
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")

    def ask(self, command, offset=0, length=0, data=b""):
        """A request; the first word of its answer."""
        words = struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length or len(data))
        self.socket.sendall(words + data)
        return struct.unpack(">I", self.receive(4))[0]

    def hears_no_more(self):
        """Whether the server hangs up without another word."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
