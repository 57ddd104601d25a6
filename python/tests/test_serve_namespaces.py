"""Several namespaces of one drive: what they share, thin ones, and blocks of 4 KiB."""

import random
import struct

import initiator
import pytest
from initiator import COMPARE, COPY, DATASET, READ, WRITE, ZEROES, Host, command

import ssdlab

KIB, MIB = 1 << 10, 1 << 20
FULL, OUT_OF_RANGE, FIELD = 0x81, 0x80, 0x02
DRIVE = {"device.blocks_per_plane": 64}


@pytest.fixture
def served(tmp_path):
    """Serves a device with namespaces at a Unix socket; stops it at the end."""
    running = []

    def start(namespaces, device="null", size="8MiB", **settings):
        uri = initiator.socket_uri(tmp_path / f"nvme{len(running)}")
        running.append(ssdlab.serve(device, size=size, nvme=uri, namespaces=namespaces, **settings))
        return running[-1]

    yield start
    for it in running:
        it.stop()


def blocks(opcode, first, count, namespace):
    return command(opcode, namespace, [(10, first), (11, first >> 32), (12, count - 1)])


def write(queue, first, data, namespace, block=512):
    return queue.ask(blocks(WRITE, first, len(data) // block, namespace), data).status


def test_namespaces_lie_one_behind_the_other_and_do_not_overlap(served):
    live = served("25%, 4MiB, 2MiB")
    with Host(live.nvme) as host:
        for number, size in ((1, 2 * MIB), (2, 4 * MIB), (3, 2 * MIB)):
            space = host.admin.identify(0, number).data
            assert struct.unpack_from("<QQQ", space) == (size // 512,) * 3
            data = bytes([number]) * 4096
            assert write(host[0], 0, data, number) == 0
            assert write(host[0], (size - 4096) // 512, data, number) == 0
            assert write(host[0], size // 512 - 1, data, number) == OUT_OF_RANGE
        for number, size in ((1, 2 * MIB), (2, 4 * MIB), (3, 2 * MIB)):
            for at in (0, size - 4096):
                assert host[0].read(at, 4096, number) == bytes([number]) * 4096
        # One command goes from one to another.
        ranges = struct.pack("<IIQHHIQ", 1, 0, 0, 7, 0, 0, 0)
        words = [(10, 64), (12, 2 << 8)]
        assert host[0].ask(command(COPY, 3, words), ranges).status == 0
        assert host[0].read(64 * 512, 4096, 3) == b"\1" * 4096
        assert len({host.admin.identify(0, number).data[104:120] for number in (1, 2, 3)}) == 3


def test_two_halves_are_one_drive_to_the_last_count(served):
    """The same writes to one namespace, and to two of half the size."""
    chance = random.Random(3)
    places = [chance.randrange(0, 8 * MIB // 4096) for _ in range(600)]
    found = []
    for namespaces in (None, "50%, 50%"):
        live = served(namespaces, device="agrawal2008", set=DRIVE)
        with Host(live.nvme) as host:
            for page in places:
                half = 4 * MIB // 4096
                number, at = (1, page) if namespaces is None else (1 + page // half, page % half)
                assert write(host[0], at * 8, bytes(4096), number) == 0
        results = live.stop()
        found.append((results.flash.to_dict(), results.wear.to_dict(), results.host.write.bytes))
    for part in found:
        part[0].pop("cleaning", None)
    assert found[0] == found[1]


def test_a_thin_namespace_is_full_exactly_at_its_capacity(served):
    live = served("4MiB thin 64KiB, 4MiB")
    with Host(live.nvme) as host:
        queue = host[0]
        space = host.admin.identify(0, 1).data
        assert struct.unpack_from("<QQQ", space) == (8192, 128, 0) and space[24] & 1
        for page in range(15):
            assert write(queue, 97 * page * 8 % 8192, bytes(4096), 1) == 0
        # The sixteenth unit by a single block, the seventeenth not.
        assert write(queue, 8191, bytes(512), 1) == 0
        assert write(queue, 4000, b"x" * 512, 1) == FULL
        assert host[0].read(4000 * 512, 512, 1) == bytes(512)
        # What is mapped can be written again, and the other namespace is its own.
        assert write(queue, 0, bytes(4096), 1) == write(queue, 0, bytes(MIB), 2) == 0
        used = struct.unpack_from("<Q", host.admin.identify(0, 1).data, 16)[0]
        assert used == 128
        # Half of a unit gives nothing back, a whole one does.
        trim = command(DATASET, 1, [(10, 0), (11, 4)])
        assert queue.ask(trim, struct.pack("<IIQ", 0, 4, 0)).status == 0
        assert write(queue, 4000, b"x" * 512, 1) == FULL
        assert queue.ask(trim, struct.pack("<IIQ", 0, 8, 0)).status == 0
        assert write(queue, 4000, b"x" * 512, 1) == 0
        assert queue.ask(blocks(ZEROES, 4000, 8, 1)).status == 0
        # A write over the edge writes nothing.
        assert write(queue, 2048, b"y" * 8192, 1) == FULL
        assert queue.read(2048 * 512, 8192, 1) == bytes(8192)
        ranges = struct.pack("<IIQHHIQ", 0, 0, 2048, 15, 0, 0, 0)
        assert queue.ask(command(COPY, 1, [(10, 3000)]), ranges).status == FULL


def test_blocks_of_4_kib(served):
    live = served("4MiB, 4MiB lba 4KiB")
    data = random.Random(4).randbytes(8 * KIB)
    with Host(live.nvme) as host:
        queue = host[0]
        space = host.admin.identify(0, 2).data
        assert struct.unpack_from("<Q", space)[0] == 1024 and space[130] == 12
        assert write(queue, 7, data, 2, block=4096) == 0
        done = queue.ask(blocks(READ, 7, 2, 2), room=8 * KIB)
        assert done.status == 0 and done.data == data
        assert queue.ask(blocks(COMPARE, 8, 1, 2), data[4096:]).status == 0
        assert write(queue, 1023, data, 2, block=4096) == OUT_OF_RANGE
        trim = command(DATASET, 2, [(10, 0), (11, 4)])
        assert queue.ask(trim, struct.pack("<IIQ", 0, 1, 7)).status == 0
        assert queue.ask(blocks(READ, 7, 1, 2), room=4096).data == bytes(4096)
        # From one size of blocks to another nothing is copied.
        ranges = struct.pack("<IIQHHIQ", 1, 0, 0, 7, 0, 0, 0)
        assert queue.ask(command(COPY, 2, [(12, 2 << 8)]), ranges).status == FIELD
        pair = [blocks(COMPARE, 8, 1, 2), blocks(WRITE, 8, 1, 2)]
        for number, entry in enumerate(pair):
            entry[1] |= number + 1
        for entry, it in zip(pair, (data[4096:], data[:4096]), strict=True):
            queue.send(entry, it)
        assert [queue.done().status, queue.done().status] == [0, 0]
        assert queue.ask(blocks(READ, 8, 1, 2), room=4096).data == data[:4096]


def test_handles_of_a_drive_are_those_of_all_its_namespaces(served):
    keys = {"device.fdp.handles": 2, "device.spare_factor": 0.3}
    live = served("50%, 50%", device="tlc-client", set=keys)
    with Host(live.nvme) as host:
        for number in (1, 2):
            entry = command(WRITE, number, [(12, 7 | 2 << 20), (13, (number - 1) << 16)])
            assert host[0].ask(entry, bytes(4096)).status == 0
            assert struct.unpack_from("<H", host.admin.identify(0, number).data, 102)[0] == 1
        statistics = host.admin.log(0x22, 64, group=1).data
        assert struct.unpack_from("<Q", statistics)[0] == 8192
        assert host.admin.log(0x22, 64, group=2).status == FIELD
        words = live.say("placement")
    assert [it["host_bytes"] for it in words["handles"]] == [4096, 4096]


def test_those_of_the_experiment_are_served(served):
    live = served(None, set={"run.namespaces": "25%, 1MiB thin 8KiB lba 4KiB"})
    with Host(live.nvme) as host:
        sizes = [struct.unpack_from("<Q", host.admin.identify(0, it).data)[0] for it in (1, 2)]
        assert sizes == [2 * MIB // 512, MIB // 4096]
        assert write(host[0], 0, bytes(8192), 2, 4096) == 0
        assert write(host[0], 2, bytes(4096), 2, 4096) == FULL
    # What is wished for by itself takes their place.
    live = served("100%", set={"run.namespaces": "50%, 50%"})
    with Host(live.nvme) as host:
        assert struct.unpack_from("<Q", host.admin.identify(0, 1).data)[0] == 8 * MIB // 512


def test_wrong_namespaces_are_refused(tmp_path):
    for said, why in (
        ("9MiB", "the device has 8388608"),
        ("1MiB thin 2MiB", "cannot map"),
        ("1MiB lba 1KiB", "512B or 4KiB"),
        ("much", "no size in whole units"),
    ):
        with pytest.raises(ssdlab.InputError, match=why):
            uri = initiator.socket_uri(tmp_path / "n")
            ssdlab.serve("null", size="8MiB", nvme=uri, namespaces=said)
    with pytest.raises(ssdlab.InputError, match="give its address"):
        ssdlab.serve("null", size="8MiB", socket=tmp_path / "s", namespaces="50%, 50%")
