"""A live device as a target of NVMe/TCP."""

import random
import struct
import time

import initiator
import pytest
from initiator import (
    COMPARE,
    DATASET,
    DISCOVERY,
    EVENT,
    FLUSH,
    GET,
    KEEP_ALIVE,
    READ,
    SET,
    VERIFY,
    WRITE,
    ZEROES,
    Ended,
    Host,
    Queue,
    blocks,
    command,
)

import ssdlab

MIB = 1 << 20
SMALL = {"device.blocks_per_plane": 64}
POWER = SMALL | {"device.persistence.recovery": "spare"}


@pytest.fixture
def served(tmp_path):
    """Serves a device at a Unix socket; stops it at the end."""
    running = []

    def start(device="null", size="64MiB", **settings):
        uri = initiator.socket_uri(tmp_path / "nvme")
        running.append(ssdlab.serve(device, size=size, nvme=uri, **settings))
        return running[-1]

    yield start
    for it in running:
        it.stop()


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def test_data_come_back_over_tcp():
    data = random.Random(1).randbytes(MIB)
    with ssdlab.serve("null", size="64MiB", nvme="tcp://127.0.0.1:0") as live:
        assert live.nvme.startswith("tcp://127.0.0.1:") and not live.nvme.endswith(":0")
        with Host(live.nvme) as host:
            for length in (512, 8192, 8704, MIB):
                host[0].write(4096, data[:length])
                assert host[0].read(4096, length) == data[:length]
            host[0].flush()
    host = live.results.host
    assert (host.write.requests, host.read.requests, host.flush.requests) == (4, 4, 1)
    assert host.write.bytes == host.read.bytes == 512 + 8192 + 8704 + MIB
    assert live.results.live.nvme == live.nvme
    assert live.results.live.requests == 9


def test_nbd_and_nvme_are_doors_to_one_device(served, tmp_path):
    from short_client import Client

    live = served(socket=tmp_path / "nbd")
    other = Client(tmp_path / "nbd")
    with Host(live.nvme) as host:
        host[0].write(0, b"a" * 4096)
        assert other.read(0, 4096) == b"a" * 4096
        other.write(0, b"b" * 512)
        assert host[0].read(0, 1024) == b"b" * 512 + b"a" * 512


def test_discovery_tells_where_the_drive_is():
    with (
        ssdlab.serve("null", size="64MiB", nvme="tcp://127.0.0.1:0") as live,
        Queue(live.nvme) as queue,
    ):
        assert queue.connect(name=DISCOVERY).status == 0
        queue.enable()
        about = queue.identify(1).data
        assert about[111] == 2 and about[768:].startswith(DISCOVERY.encode() + b"\0")
        page = queue.log(0x70, 2048).data
        assert u64(page, 8) == 1
        record = page[1024:]
        assert record[:3] == bytes([3, 1, 2])
        assert record[32:64].decode().strip() == live.nvme.rsplit(":", 1)[1]
        assert record[256:512].rstrip(b"\0").decode() == initiator.SUBSYSTEM
        assert record[512:768].decode().strip() == "127.0.0.1"
        # The same in two parts, and nothing else.
        parts = queue.log(0x70, 1024).data + queue.log(0x70, 1024, offset=1024).data
        assert parts == page
        assert queue.log(2, 512).status == 0x109
        assert queue.identify(0, 1).status == 2


def test_identify_says_what_there_is(served):
    live = served(size="48MiB")
    with Host(live.nvme, queues=0) as host:
        queue = host.admin
        capabilities = queue.property(0, long=True).result
        assert capabilities & 0xFFFF == 127 and capabilities >> 37 & 1
        assert queue.property(8).result == 0x10400 and queue.property(0x1C).result == 1
        about = queue.identify(1).data
        assert about[24:64].decode().strip() == "ssdlab" and about[77] == 8
        assert struct.unpack_from("<H", about, 78)[0] == queue.controller
        assert struct.unpack_from("<II", about, 1792) == ((64 + 8192) // 16, 1)
        space = queue.identify(0, 1).data
        assert u64(space, 0) == u64(space, 8) == (48 << 20) // 512 and space[130] == 9
        assert queue.identify(2).data[:8] == struct.pack("<II", 1, 0)
        assert queue.identify(2, 1).data == bytes(4096)
        described = queue.identify(3, 1).data
        assert described[:2] == b"\2\x10" and described[4:20] == space[104:120] != bytes(16)
        for what in (5, 6, 7, 8, 0x1C):
            assert queue.identify(what, 1).status == 0, what
        assert queue.identify(0, 2).status == queue.identify(3, 0).status == 0x0B
        assert queue.identify(0x77).status == 2


def test_the_log_of_health_is_that_of_the_drive(served):
    live = served("agrawal2008", set=SMALL)
    with Host(live.nvme) as host:
        for number in range(20):
            host[0].write(number * 65536, bytes(65536))
        host[0].read(0, 65536)
        time.sleep(0.2)
        page, health = host.admin.log(2, 512).data, live.say("health")
        assert page[3] == health["available_spare"] and page[5] == health["percentage_used"]
        assert page[0] == 0
        assert (u64(page, 64), u64(page, 80)) == (1, 20)
        assert u64(page, 32) == 1 and u64(page, 48) >= 20 * 65536 // 512_000
        # The log of errors has what failed, the latest first.
        assert host[0].ask(command(0x77, 1)).status == 1
        assert host[0].ask(blocks(READ, 1 << 40, 512), room=512).status == 0x80
        entries = host.admin.log(1, 1024).data
        assert [u64(entries, 64 * number) for number in range(3)] == [2, 1, 0]
        assert struct.unpack_from("<H", entries, 12)[0] >> 1 & 0x7FF == 0x80
        assert host.admin.log(3, 512).data[0] == 1
        assert host.admin.log(5, 4096).data[1024 + 4 * WRITE] == 3
        assert host.admin.log(0, 1024).data[4 * 2] == 1


def test_commands_do_what_they_are(served):
    live = served()
    with Host(live.nvme) as host:
        queue = host[0]
        data = random.Random(2).randbytes(65536)
        queue.write(0, data, durable=True)
        assert queue.ask(blocks(COMPARE, 0, 65536), data).status == 0
        assert queue.ask(blocks(COMPARE, 0, 512), data[512:1024]).status == 0x285
        assert queue.ask(blocks(VERIFY, 0, 65536)).status == 0
        assert queue.ask(blocks(ZEROES, 512, 1024)).status == 0
        ranges = b"".join(struct.pack("<IIQ", 0, 1, 8 * number) for number in range(1, 100))
        trim = command(DATASET, 1, [(10, 98), (11, 4)])
        assert queue.ask(trim, ranges).status == 0
        expected = bytearray(data)
        expected[512:1536] = bytes(1024)
        for number in range(1, 100):
            if number * 4096 < len(expected):
                expected[number * 4096 : number * 4096 + 512] = bytes(512)
        assert queue.read(0, 65536) == bytes(expected)
    host = live.stop().host
    assert host.trim.requests == 100 and host.write.requests == 1


def test_queues_are_counted(served):
    live = served()
    with Host(live.nvme, queues=0) as host:
        asked = command(SET, 0, [(10, 7), (11, 99 | 3 << 16)])
        assert host.admin.ask(asked).result == 3 | 3 << 16
        asked = command(SET, 0, [(10, 7), (11, 99 | 99 << 16)])
        assert host.admin.ask(asked).result == 15 | 15 << 16
        assert host.admin.ask(command(GET, 0, [(10, 7)])).result == 15 | 15 << 16
        host.queues += [host.queue(number) for number in range(1, 17)]
        with Queue(live.nvme) as more:
            assert more.connect(17, host.admin.controller).status == 0x182
            # One that is connected already.
            assert more.connect(16, host.admin.controller).status == 0x0C
        with Host(live.nvme, queues=16) as other, Host(live.nvme, queues=0) as third:
            with Queue(live.nvme) as more:
                assert more.connect(1, third.admin.controller).status == 0x181
            other[15].write(0, bytes(512))
        host[15].write(0, bytes(512))


def test_what_cannot_connect_is_told_why(served):
    live = served()
    with Queue(live.nvme) as queue:
        assert queue.ask(command(KEEP_ALIVE)).status == 0x0C
        assert queue.connect(name="nqn.2024-07.internal.ssdlab:other").status == 0x182
        assert queue.connect(controller=7).status == 0x182
        assert queue.connect(1, controller=7).status == 0x182
        assert queue.connect(size=0).status == queue.connect(size=128).status == 0x182
        assert queue.connect(who=b"").status == 0x182
        assert queue.connect(format=1).status == 0x180
        assert queue.connect().status == 0
        # It is one now, but not enabled yet.
        assert queue.identify(1).status == 0x0C
        with Queue(live.nvme) as other:
            assert other.connect(1, queue.controller).status == 0x0C
            queue.enable()
            assert other.connect(1, queue.controller, host=bytes(16)).status == 0x182
            assert other.connect(1, queue.controller).status == 0
        assert queue.connect().status == 0x0C


def test_a_reset_ends_the_io_queues(served):
    live = served()
    with Host(live.nvme) as host:
        host.admin.property(0x14, 0x00460000)
        with pytest.raises((Ended, OSError)):
            host[0].ask(command(FLUSH, 1))
        assert host.admin.property(0x1C).result == 0
        host.admin.enable()
        with host.queue(1) as queue:
            queue.flush()
        host.admin.property(0x14, 0x00464001)
        assert host.admin.property(0x1C).result == 1 | 2 << 2


def test_a_host_that_is_silent_for_too_long_is_ended(served):
    live = served()
    with Host(live.nvme, patience_ms=1000) as host:
        for _ in range(12):
            time.sleep(0.1)
            assert host.admin.ask(command(KEEP_ALIVE)).status == 0
        # Requests count as signs of life.
        for _ in range(12):
            time.sleep(0.1)
            host[0].flush()
        for queue in (host[0], host.admin):
            queue.socket.settimeout(60)
            with pytest.raises(Ended):
                queue.done()
    with Host(live.nvme) as host:
        host[0].flush()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (b"\x04" + bytes(7), 2),
        (b"nonsense" * 20, 1),
        (b"\x00\x00\x80\x00\x7f\0\0\0" + bytes(120), 1),
        (b"\x00\x00\x80\x00\x80\0\0\0\x01" + bytes(119), 6),
        (b"\x00\x00\x80\x00\x80\0\0\0\x00\x00\x20" + bytes(117), 1),
    ],
    ids=["command first", "nonsense", "length", "version", "alignment"],
)
def test_what_is_no_greeting_is_told_why(served, words, reason):
    with Queue(served().nvme, greets=False) as queue:
        queue.socket.sendall(words)
        with pytest.raises(Ended) as ended:
            queue.terminated(queue.receive(8))
        assert ended.value.args[0] == reason
        assert queue.socket.recv(1) == b""


def head(kind, flags, length, offset, whole):
    return struct.pack("<BBBBI", kind, flags, length, offset, whole)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (head(0, 0, 128, 0, 128), 2),
        (head(4, 0, 71, 0, 72), 1),
        (head(4, 1, 72, 0, 72), 1),
        (head(4, 0, 72, 72, 72 + 8193), 1),
        (head(4, 0, 72, 0, 80), 1),
        (head(6, 4, 24, 24, 24 + 512) + struct.pack("<HHIII", 0, 0, 0, 512, 0), 1),
        (head(5, 0, 24, 0, 24), 1),
    ],
    ids=["again", "header", "digest", "too long", "no offset", "no transfer", "response"],
)
def test_what_is_no_command_is_told_why(served, words, reason):
    with Host(served().nvme) as host:
        host[0].socket.sendall(words)
        with pytest.raises(Ended) as ended:
            host[0].done()
        assert ended.value.args[0] == reason
        # The others are not concerned.
        assert host.admin.ask(command(KEEP_ALIVE)).status == 0


@pytest.mark.parametrize(
    ("begin", "count", "last", "reason"),
    [(512, 512, False, 4), (0, 65536 + 512, True, 5), (0, 512, True, 4), (0, 65536, False, 4)],
    ids=["gap", "too much", "too little", "no end"],
)
def test_data_that_were_not_asked_for_end_the_connection(served, begin, count, last, reason):
    with Host(served().nvme) as host:
        queue = host[0]
        queue.send(blocks(WRITE, 0, 65536), bytes(65536))
        ready = queue.receive(24)
        number, tag, first, length = struct.unpack_from("<HHII", ready, 8)
        assert (ready[0], first, length) == (9, 0, 65536)
        piece = bytes(count)
        with pytest.raises((Ended, ConnectionError)) as ended:
            queue.socket.sendall(initiator.data_pdu(number, tag, begin, piece, last) + piece)
            queue.done()
        # The target hangs up at the head of a piece that is too long. A host that still sends the
        # rest of it finds the connection cut, and may never read the target's last words.
        was_cut = isinstance(ended.value, ConnectionError) or ended.value.args[0] == 0
        assert was_cut and count > length or ended.value.args[0] == reason


def test_more_commands_than_a_queue_holds_end_the_connection(served):
    with Host(served().nvme, queues=0) as host, Queue(host.uri) as queue:
        assert queue.connect(1, host.admin.controller, size=3).status == 0
        for _ in range(5):
            # None of them can end, as their data never come.
            queue.send(blocks(WRITE, 0, 65536), bytes(65536))
        with pytest.raises((Ended, OSError)):
            for _ in range(6):
                head = queue.receive(24)
                assert head[0] in (3, 9)
                if head[0] == 3:
                    raise Ended(head[8])


def test_faults_have_their_statuses(served):
    live = served("agrawal2008", set=SMALL)
    with Host(live.nvme) as host:
        queue = host[0]
        queue.write(0, bytes(4096))
        for kind, entry, data, room, status in (
            ("read", blocks(READ, 0, 4096), b"", 4096, 0x281),
            ("write", blocks(WRITE, 0, 4096), bytes(4096), 0, 0x280),
            ("flush", command(FLUSH, 1), b"", 0, 0x006),
        ):
            assert "done" in live.say(f"fail {kind} 1" if kind == "flush" else f"fail {kind} all 1")
            assert queue.ask(entry, data, room).status == status
            assert queue.ask(entry, data, room).status == 0
        # A drive that accepts no more writes tells who wants to know, once.
        event = host.admin.send(command(EVENT))
        live.say("readonly")
        assert queue.ask(blocks(WRITE, 0, 4096), bytes(4096)).status == 0x182
        done = host.admin.done()
        assert (done.id, done.status, done.result) == (event, 0, 0x20001)
        queue.read(0, 4096)


def test_a_power_cut_ends_the_connections_until_the_drive_is_back(served):
    """A host that comes back at once must not be taken for one of before the cut."""
    live = served("agrawal2008", set=POWER)
    with Host(live.nvme) as host:
        host[0].write(0, b"a" * 4096)
        host[0].flush()
    for _ in range(5):
        with Host(live.nvme) as host:
            assert host[0].read(0, 4096) == b"a" * 4096
            assert "done" in live.say("cut off 5ms")
            with pytest.raises((Ended, OSError)):
                while True:
                    host[0].read(0, 4096)
    assert live.stop().host.read.requests >= 5


def test_the_results_are_those_of_the_replayed_trace(served, tmp_path):
    live = served("agrawal2008", set=SMALL, record=tmp_path / "t.parquet")
    with Host(live.nvme, queues=2) as host:
        for number in range(50):
            queue = host[number % 2]
            length = 4096 * (1 + number % 3)
            queue.write(number * 12288 % MIB, bytes(length), durable=number % 5 == 0)
            queue.read(number * 4096, 8192)
        numbers = [host[0].send(blocks(READ, 0, 65536), room=65536) for _ in range(32)]
        assert {host[0].done().id for _ in numbers} == set(numbers)
        host[0].flush()
        ranges = struct.pack("<IIQ", 0, 128, 0)
        assert host[0].ask(command(DATASET, 1, [(11, 4)]), ranges).status == 0
    results = live.stop()
    assert results.host.read.requests == 82 and results.live.requests == 134
    again = ssdlab.run(device="agrawal2008", trace=tmp_path / "t.parquet", set=SMALL)
    assert again.host.to_dict() == results.host.to_dict()
    assert again.flash.to_dict() == results.flash.to_dict()


def test_drives_are_the_namespaces_of_one_subsystem(tmp_path):
    uri = initiator.socket_uri(tmp_path / "nvme")
    drives = {
        "fast": {"device": "null", "size": "32MiB"},
        "old": {"device": "null", "size": "8MiB"},
    }
    with ssdlab.serve_exports(drives, socket=tmp_path / "nbd", nvme=uri) as live:
        assert live["fast"].nvme == live["old"].nvme == uri
        with Host(uri) as host:
            assert host.admin.identify(2).data[:12] == struct.pack("<III", 1, 2, 0)
            sizes = [u64(host.admin.identify(0, number).data, 0) for number in (1, 2)]
            assert sizes == [(32 << 20) // 512, (8 << 20) // 512]
            ids = {host.admin.identify(3, number).data[4:20] for number in (1, 2)}
            assert len(ids) == 2
            queue = host[0]
            queue.write(0, b"a" * 4096, 1)
            queue.write(0, b"b" * 65536, 2)
            assert queue.read(0, 4096, 1) == b"a" * 4096
            assert queue.read(0, 4096, 2) == b"b" * 4096
            assert queue.ask(blocks(READ, 16 << 20, 512, 2), room=512).status == 0x80
            queue.flush(2)
            queue.flush(0xFFFFFFFF)
            page = host.admin.log(2, 512, 1).data
            assert (u64(page, 64), u64(page, 80)) == (1, 1)
            time.sleep(0.2)
            assert u64(host.admin.log(2, 512).data, 80) == 2
    fast, old = live.results["fast"].host, live.results["old"].host
    assert (fast.flush.requests, old.flush.requests) == (1, 2)
    assert (fast.write.bytes, old.write.bytes) == (4096, 65536)


def test_a_read_only_drive_is_protected(served):
    with Host(served(read_only=True).nvme) as host:
        assert host.admin.identify(0, 1).data[99] == 1
        for entry, data in (
            (blocks(WRITE, 0, 512), bytes(512)),
            (blocks(ZEROES, 0, 512), b""),
            (command(DATASET, 1, [(11, 4)]), bytes(16)),
        ):
            assert host[0].ask(entry, data).status == 0x20
        assert host[0].read(0, 512) == bytes(512)


def test_wrong_addresses_are_refused(refused, tmp_path):
    for uri, words in (
        ("127.0.0.1:4420", "an address begins with tcp:// or unix://"),
        ("tcp://127.0.0.1", "the port is missing"),
        ("tcp://127.0.0.1:99999", "a port is a number from 0 to 65535"),
        ("tcp://nowhere:4420", "neither an IP address nor localhost"),
        ("tcp://0.0.0.0:4420", "--allow-remote"),
        ("unix://", "the path is missing"),
    ):
        said = refused("serve", "null", "--size", "1MiB", "--nvme", uri)
        assert words in said, said
    path = tmp_path / "file"
    path.write_text("")
    said = refused("serve", "null", "--size", "1MiB", "--nvme", f"unix://{path}")
    assert "a file that is not a socket has this name" in said
