"""Commands of NVMe on a live device beyond reads and writes, and how each can end."""

import random
import struct
import threading

import initiator
import pytest
from initiator import (
    COMPARE,
    COPY,
    DATASET,
    READ,
    UNCORRECTABLE,
    VERIFY,
    WRITE,
    ZEROES,
    Host,
    blocks,
    command,
)

import ssdlab

FIELD, FAILED, MISSING, ATOMIC = 0x02, 0x09, 0x0A, 0x14
SAID_TYPE, OUT_OF_RANGE, SIZE_LIMIT = 0x11, 0x80, 0x183
DIFFERS, UNREADABLE, NO_NAMESPACE, PROTECTED = 0x285, 0x281, 0x0B, 0x20


@pytest.fixture
def served(tmp_path):
    """Serves devices at a Unix socket; stops them at the end."""
    running = []

    def start(device="null", size="64MiB", **settings):
        uri = initiator.socket_uri(tmp_path / f"nvme{len(running)}")
        running.append(ssdlab.serve(device, size=size, nvme=uri, **settings))
        return running[-1]

    yield start
    for it in running:
        it.stop()


def fused(queue, offset, expected, data, **changed):
    """A comparison fused with a write; how both ended."""
    pair = [blocks(COMPARE, offset, len(expected)), blocks(WRITE, offset, len(data))]
    for number, entry in enumerate(pair):
        entry[1] |= number + 1
    pair[1][0] = changed.get("second", WRITE)
    numbers = [queue.send(entry, it) for entry, it in zip(pair, (expected, data), strict=True)]
    ended = {done.id: done.status for done in (queue.done(), queue.done())}
    return [ended[number] for number in numbers]


def test_a_fused_pair_writes_what_it_expects(served):
    live = served()
    old, new = bytes(4096), random.Random(1).randbytes(4096)
    with Host(live.nvme) as host:
        queue = host[0]
        assert fused(queue, 8192, old, new) == [0, 0]
        assert fused(queue, 8192, old, old) == [DIFFERS, FAILED]
        assert queue.read(8192, 4096) == new
        assert fused(queue, 8192, new[:512], old[:512]) == [0, 0]
        assert queue.read(8192, 4096) == old[:512] + new[512:]
        # What is no pair is none, and the queue goes on.
        assert fused(queue, 0, old, new[:512]) == [FAILED, FIELD]
        assert fused(queue, 0, old, new, second=ZEROES) == [FAILED, FIELD]
        assert fused(queue, 64 << 20, old, new) == [OUT_OF_RANGE, FAILED]
        assert fused(queue, 0, bytes(12288), bytes(12288)) == [ATOMIC, FAILED]
        lone = blocks(WRITE, 0, 512)
        lone[1] |= 2
        assert queue.ask(lone, old[:512]).status == MISSING
        lone = blocks(COMPARE, 0, 512)
        lone[1] |= 1
        first = queue.send(lone, old[:512])
        second = queue.send(blocks(READ, 0, 512), room=512)
        ended = {it.id: it.status for it in (queue.done(), queue.done())}
        assert ended == {first: MISSING, second: 0}
        lone[1] |= 3
        assert queue.ask(lone, old[:512]).status == FIELD
        about = host.admin.identify(1).data
        assert struct.unpack_from("<H", about, 522)[0] == 1
        assert struct.unpack_from("<H", about, 532)[0] == 15
    results = live.stop().host
    # The device reads before it writes.
    assert results.write.requests == 2


def test_fused_pairs_of_several_queues_lose_no_increment(served):
    live = served()
    counts = [0] * 4
    with Host(live.nvme, queues=4) as host:

        def increment(number):
            queue = host[number]
            while counts[number] < 25:
                now = queue.read(4096, 512)
                (value,) = struct.unpack_from("<Q", now)
                more = struct.pack("<Q", value + 1).ljust(512, b"\0")
                counts[number] += fused(queue, 4096, now, more) == [0, 0]

        threads = [threading.Thread(target=increment, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert struct.unpack_from("<Q", host[0].read(4096, 512))[0] == sum(counts) == 100


def source(first, count, namespace=0):
    return struct.pack("<IIQHHIQ", namespace, 0, first, count - 1, 0, 0, 0)


def copy(queue, to, sources, kind=0, namespace=1):
    words = [(10, to), (11, to >> 32), (12, len(sources) - 1 | kind << 8)]
    return queue.ask(command(COPY, namespace, words), b"".join(sources)).status


def test_copy_puts_ranges_one_behind_the_other(served):
    live = served()
    data = random.Random(2).randbytes(1 << 20)
    with Host(live.nvme) as host:
        queue = host[0]
        queue.write(0, data)
        assert copy(queue, 8192, [source(100, 8), source(0, 1), source(2047, 1)]) == 0
        expected = data[51200:55296] + data[:512] + data[-512:]
        assert queue.read(8192 * 512, len(expected)) == expected
        # It may overlap with what it reads.
        assert copy(queue, 1, [source(0, 64)]) == 0
        assert queue.read(0, 33280) == data[:512] + data[:32768]
        assert copy(queue, 20000, [source(0, 2048)] * 4) == 0
        assert queue.read((20000 + 3 * 2048) * 512, 1 << 20) == queue.read(0, 1 << 20)
        for wanted, sources, kind in (
            (SIZE_LIMIT, [source(0, 2049)], 0),
            (SIZE_LIMIT, [source(0, 2048)] * 5, 0),
            (SIZE_LIMIT, [source(0, 1)] * 129, 0),
            (OUT_OF_RANGE, [source(1 << 40, 1)], 0),
            (FIELD, [source(0, 1)], 1),
            (NO_NAMESPACE, [source(0, 1, namespace=9)], 2),
        ):
            assert copy(queue, 0, sources, kind) == wanted, (wanted, kind)
        assert copy(queue, (64 << 20) // 512 - 1, [source(0, 2)]) == OUT_OF_RANGE
        space = host.admin.identify(0, 1).data
        assert struct.unpack_from("<HIB", space, 74) == (2048, 8192, 127)
        assert host.admin.identify(1).data[521] & 1
    results = live.stop().host
    assert results.write.requests == 1 + 3


def test_copy_comes_from_other_namespaces(tmp_path):
    drives = {name: {"device": "null", "size": "8MiB"} for name in ("a", "b")}
    uri = initiator.socket_uri(tmp_path / "nvme")
    with ssdlab.serve_exports(drives, nvme=uri) as live, Host(uri) as host:
        host[0].write(0, b"x" * 4096, namespace=2)
        assert copy(host[0], 8, [source(0, 8, namespace=2)], 2) == 0
        assert host[0].read(4096, 4096) == b"x" * 4096
    assert live.results["a"].host.write.bytes == live.results["b"].host.read.bytes == 4096


def test_what_is_marked_cannot_be_read_until_it_is_written(served):
    live = served()
    with Host(live.nvme) as host:
        queue = host[0]
        queue.write(0, b"a" * 8192)
        assert queue.ask(blocks(UNCORRECTABLE, 512, 1024)).status == 0
        assert queue.ask(blocks(READ, 0, 8192), room=8192).status == UNREADABLE
        assert queue.ask(blocks(VERIFY, 1024, 512)).status == UNREADABLE
        assert queue.ask(blocks(COMPARE, 1024, 512), b"a" * 512).status == UNREADABLE
        assert copy(queue, 100, [source(0, 1), source(2, 1)]) == UNREADABLE
        assert fused(queue, 512, b"a" * 512, b"b" * 512) == [UNREADABLE, FAILED]
        assert queue.read(0, 512) == b"a" * 512 and queue.read(1536, 512) == b"a" * 512
        queue.write(512, b"b" * 512)
        assert queue.read(0, 1024) == b"a" * 512 + b"b" * 512
        assert queue.ask(blocks(READ, 1024, 512), room=512).status == UNREADABLE
        trim = command(DATASET, 1, [(10, 0), (11, 4)])
        assert queue.ask(trim, struct.pack("<IIQ", 0, 1, 2)).status == 0
        assert queue.read(1024, 512) == bytes(512)


def test_what_changes_data_is_refused_of_a_device_that_is_read_only(served):
    live = served(read_only=True)
    with Host(live.nvme) as host:
        for entry, data in (
            (blocks(WRITE, 0, 512), bytes(512)),
            (blocks(ZEROES, 0, 512), b""),
            (blocks(UNCORRECTABLE, 0, 512), b""),
            (command(DATASET, 1, [(10, 0), (11, 4)]), bytes(16)),
            (command(COPY, 1), bytes(32)),
        ):
            assert host[0].ask(entry, data).status == PROTECTED
        assert fused(host[0], 0, bytes(512), bytes(512)) == [FAILED, PROTECTED]


def test_what_was_done_is_in_the_replay(served, tmp_path):
    # A CSV trace has ticks of 100 ns, and the two reads of Copy are closer to each other.
    record = tmp_path / "trace.parquet"
    live = served("agrawal2008", record=record, set={"device.blocks_per_plane": 64})
    with Host(live.nvme) as host:
        host[0].write(0, bytes(65536))
        assert fused(host[0], 0, bytes(4096), b"z" * 4096) == [0, 0]
        assert copy(host[0], 512, [source(0, 8), source(64, 16)]) == 0
    results = live.stop()
    again = ssdlab.run(results.experiment.to_dict())
    assert again.host.all.requests == results.host.all.requests == 6
    assert again.host.all.mean_us == results.host.all.mean_us


def test_random_pairs_and_marks_leave_what_a_simple_model_says(served):
    live = served(size="1MiB")
    chance, model = random.Random(5), bytearray(1 << 20)
    bad = set()
    with Host(live.nvme) as host:
        queue = host[0]
        for _ in range(400):
            first, count = chance.randrange(0, 200), chance.randrange(1, 9)
            at, end = 512 * first, 512 * (first + count)
            sectors = set(range(first, first + count))
            data = bytes([chance.randrange(1, 256)]) * (end - at)
            what = chance.randrange(5)
            if what == 0:
                queue.write(at, data)
                model[at:end], bad = data, bad - sectors
            elif what == 1:
                assert queue.ask(blocks(UNCORRECTABLE, at, end - at)).status == 0
                model[at:end], bad = bytes(end - at), bad | sectors
            elif what == 2:
                right = chance.random() < 0.6
                expected = bytes(model[at:end]) if right else b"!" * (end - at)
                found = fused(queue, at, expected, data)
                if sectors & bad:
                    assert found == [UNREADABLE, FAILED]
                elif right:
                    assert found == [0, 0]
                    model[at:end] = data
                else:
                    assert found == [DIFFERS, FAILED]
            elif what == 3:
                to = chance.randrange(300, 400)
                found = copy(queue, to, [source(first, count)])
                assert found == (UNREADABLE if sectors & bad else 0)
                if found == 0:
                    model[512 * to : 512 * (to + count)] = model[at:end]
            else:
                done = queue.ask(blocks(READ, at, end - at), room=end - at)
                assert done.status == (UNREADABLE if sectors & bad else 0)
                assert done.status or done.data == model[at:end]


def test_descriptions_of_ranges_may_come_with_room_for_more(served):
    """As Linux sends them: always as many as there may be."""
    live = served()
    with Host(live.nvme) as host:
        queue = host[0]
        queue.write(0, b"a" * 8192)
        first = struct.pack("<IIQ", 0, 8, 0)
        for size, status in ((4096, 0), (16, 0), (8, 0x0F), (4096 + 16, 0x0F)):
            # What lies behind the first range is not looked at.
            data = (first + b"\xff" * 4096)[:size]
            assert queue.ask(command(DATASET, 1, [(10, 0), (11, 4)]), data).status == status, size
        assert queue.read(0, 8192) == bytes(4096) + b"a" * 4096
        source = struct.pack("<IIQH14x", 0, 0, 8, 7)
        copy = command(COPY, 1, [(10, 64), (12, 0)])
        assert queue.ask(copy, source + b"\xff" * 4064).status == 0
        assert queue.read(64 * 512, 4096) == b"a" * 4096
