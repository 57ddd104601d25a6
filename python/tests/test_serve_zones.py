"""A drive of zones over NVMe/TCP: what it says of itself, reports, appends, windows, power cuts."""

import random
import struct
from typing import NamedTuple

import initiator
import pytest
from initiator import COPY, DATASET, READ, UNCORRECTABLE, WRITE, ZEROES, Host, blocks, command

import ssdlab

KIB, MIB = 1 << 10, 1 << 20
SEND, RECEIVE, APPEND = 0x79, 0x7A, 0x7D
CLOSE, FINISH, OPEN, RESET, OFFLINE, COMMIT = 1, 2, 3, 4, 5, 0x11
SIZE, CAPACITY, COUNT = 4 * MIB, 3 * MIB, 16
ZONE = SIZE // 512
KEYS = {
    "device.kind": "zoned",
    "device.zones.count": COUNT,
    "device.zones.size": "4MiB",
    "device.zones.capacity": "3MiB",
    "device.zones.open": 4,
    "device.zones.active": 5,
    "device.zones.append_limit": "256KiB",
}
WINDOWS = {
    "device.zones.zrwa.resources": 2,
    "device.zones.zrwa.size": "256KiB",
    "device.zones.zrwa.granularity": "64KiB",
}
# States as a report has them.
EMPTY, IMPLICIT, EXPLICIT, CLOSED, READ_ONLY, FULL = 1, 2, 3, 4, 0xD, 0xE


@pytest.fixture
def served(tmp_path):
    """Serves a drive of zones at a Unix socket; stops it at the end."""
    running = []

    def start(keys=KEYS, **settings):
        uri = initiator.socket_uri(tmp_path / f"nvme{len(running)}")
        running.append(ssdlab.serve(nvme=uri, set=keys, **settings))
        return running[-1]

    yield start
    for it in running:
        it.stop()


class Zone(NamedTuple):
    state: int
    attributes: int
    capacity: int
    start: int
    pointer: int


def send(queue, action, zone=0, *, every=False, window=False, block=None):
    """The status of a command of management, for a zone, or for the last block of a commit."""
    first = zone * ZONE if block is None else block
    words = [(10, first), (11, first >> 32), (13, action | every << 8 | window << 9)]
    return queue.ask(command(SEND, 1, words)).status


def report(queue, first=0, state=0, *, partial=False, room=64 * KIB):
    """The count of a report, and its zones."""
    words = [(10, first), (12, room // 4 - 1), (13, state << 8 | partial << 16)]
    done = queue.ask(command(RECEIVE, 1, words), room=room)
    assert done.status == 0, hex(done.status)
    (count,) = struct.unpack_from("<Q", done.data)
    zones = []
    for at in range(64, min(len(done.data), 64 + 64 * count), 64):
        kind, state, attributes, capacity, start, pointer = struct.unpack_from(
            "<BBB5xQQQ", done.data, at
        )
        if kind == 0:
            break
        assert kind == 2 and state & 15 == 0
        zones.append(Zone(state >> 4, attributes, capacity, start, pointer))
    return count, zones


def states(queue):
    return [it.state for it in report(queue)[1]]


def append(queue, zone, data):
    return queue.ask(blocks(APPEND, zone * SIZE, len(data)), data)


def write(queue, offset, data):
    return queue.ask(blocks(WRITE, offset, len(data)), data).status


def test_it_says_what_its_zones_are_like(served):
    live = served(KEYS | WINDOWS)
    with Host(live.nvme) as host:
        admin = host.admin
        # The capability of several command sets; two are there, in one combination.
        assert admin.property(0, long=True).result >> 43 & 1
        assert admin.identify(0x1C).data[0] == 1 | 1 << 2
        assert admin.ask(command(initiator.SET, 0, [(10, 0x19), (11, 0)])).status == 0
        # Descriptors: the last is that of the command set.
        assert admin.identify(3, 1).data[40:45] == bytes([4, 1, 0, 0, 2])
        zoned = [(11, 2 << 24)]
        assert admin.identify(7, 0, zoned).data[:8] == struct.pack("<II", 1, 0)
        assert admin.identify(7, 0).data[:4] == bytes(4)
        own = admin.identify(5, 1, zoned).data
        assert struct.unpack_from("<HHII", own) == (0, 3, 4, 3)
        assert struct.unpack_from("<IHHB", own, 44) == (1, 128, 512, 1)
        assert struct.unpack_from("<Q", own, 2816) == (ZONE,)
        assert admin.identify(6, 0, zoned).data[0] == 6
        size, capacity, used = struct.unpack_from("<QQQ", admin.identify(0, 1).data)
        assert (size, capacity) == (COUNT * ZONE, COUNT * CAPACITY // 512) and used == capacity
        # Commands of the set of zones, and those of blocks.
        for words, there in (([(14, 2 << 24)], 1), ([], 0)):
            page = command(initiator.LOG_PAGE, 0xFFFFFFFF, [(10, 5 | 1023 << 16), (11, 0), *words])
            page = admin.ask(page, room=4096).data
            assert [page[1024 + 4 * it] & 1 for it in (SEND, RECEIVE, APPEND)] == 3 * [there]
        assert admin.identify(5, 1, [(11, 1 << 24)]).status == 2


def test_every_state_is_reported_and_asked_for_by_its_number(served):
    live = served()
    with Host(live.nvme) as host:
        queue = host[0]
        assert append(queue, 1, bytes(4096)) == (queue.next - 1, 0, ZONE, b"")
        assert append(queue, 1, bytes(8192)).result == ZONE + 8
        assert [send(queue, OPEN, it) for it in (2, 3, 4)] == [0, 0, 0]
        assert append(queue, 3, bytes(512)).status == 0
        assert [
            send(queue, it, zone) for it, zone in ((CLOSE, 3), (FINISH, 4), (FINISH, 5))
        ] == 3 * [0]
        count, zones = report(queue)
        assert count == COUNT == len(zones)
        found = [EMPTY, IMPLICIT, EXPLICIT, CLOSED, FULL, FULL] + (COUNT - 6) * [EMPTY]
        assert [it.state for it in zones] == found
        assert [it.start for it in zones] == [it * ZONE for it in range(COUNT)]
        assert {it.capacity for it in zones} == {CAPACITY // 512}
        pointers = [0, ZONE + 24, 2 * ZONE, 3 * ZONE + 1, 2**64 - 1, 2**64 - 1]
        assert [it.pointer for it in zones[:6]] == pointers and zones[6].pointer == 6 * ZONE
        for asked, state in ((1, EMPTY), (2, IMPLICIT), (3, EXPLICIT), (4, CLOSED), (5, FULL)):
            wanted = [it for it in zones if it.state == state]
            assert report(queue, state=asked) == (len(wanted), wanted)
        assert report(queue, state=6) == report(queue, state=7) == (0, [])
        # From a zone on, with room for two: all are counted, or those that are there.
        assert report(queue, 4 * ZONE, room=64 + 130) == (COUNT - 4, zones[4:6])
        assert report(queue, 4 * ZONE, partial=True, room=64 + 130) == (2, zones[4:6])
        assert report(queue, 3 * ZONE + 5, partial=True, room=128) == (1, zones[3:4])
        # The server's own words.
        told = live.say("zones")
        assert told["open"] == 2 and told["active"] == 3
        names = {
            "implicitly_open": IMPLICIT,
            "explicitly_open": EXPLICIT,
            "closed": CLOSED,
            "full": FULL,
        }
        assert [(it["zone"], names[it["state"]]) for it in told["not_empty"]] == [
            (number, it.state) for number, it in enumerate(zones) if it.state != EMPTY
        ]
        assert [it["written_bytes"] for it in told["not_empty"]][:3] == [24 * 512, 0, 512]
    results = live.stop()
    assert results.zones.states.full == 2 and results.host.append.requests == 3
    assert results.host.report.requests > 8


def test_each_status_has_its_code(served):
    keys = KEYS | WINDOWS | {"device.zones.read_across": False}
    live = served(keys)
    with Host(live.nvme) as host:
        queue = host[0]
        assert write(queue, 4096, bytes(512)) == 0x1BC
        assert write(queue, CAPACITY, bytes(512)) == 0x1B8
        assert append(queue, 0, bytes(512 * KIB)).status == 2
        assert queue.ask(blocks(APPEND, 512, 512), bytes(512)).status == 2
        done = queue.ask(blocks(READ, SIZE - 512, 1024), room=1024)
        assert done.status == 0x1B8
        assert [send(queue, OPEN, it) for it in range(5)] == [0, 0, 0, 0, 0x1BE]
        assert send(queue, CLOSE, 0) == 0 and send(queue, OPEN, 4) == 0
        assert write(queue, 5 * SIZE, bytes(512)) == 0x1BD
        assert send(queue, CLOSE, 6) == 0x1BF and send(queue, OFFLINE, 6) == 0x1BF
        assert send(queue, FINISH, 1) == 0 and write(queue, SIZE, bytes(512)) == 0x1B9
        assert send(queue, RESET, every=True) == 0 and states(queue) == COUNT * [EMPTY]
        assert [send(queue, OPEN, it, window=True) for it in (0, 1, 2)] == [0, 0, 0x1B7]
        assert append(queue, 0, bytes(512)).status == 0x1B6
        assert send(queue, COMMIT, block=100) == 0x1B6
        assert send(queue, 0x10) == 2 and send(queue, CLOSE, window=True) == 2
        assert send(queue, RESET, COUNT) == 0x80
        for action in (OPEN, RESET):
            assert send(queue, action, block=5) == 2
        assert queue.ask(command(RECEIVE, 1, [(13, 1)]), room=4).status == 2
        assert queue.ask(command(RECEIVE, 1, [(13, 8 << 8)]), room=4).status == 2
        assert queue.ask(command(RECEIVE, 1, [(12, 1 << 20)]), room=4).status == 2
        assert queue.ask(blocks(UNCORRECTABLE, 0, 512)).status == 1
    results = live.stop()
    codes = {"0/02h", *(f"1/B{it}h" for it in "6789CDEF")}
    assert {*results.zones.statuses} == codes


def test_data_are_those_of_the_last_life_of_a_zone(served):
    live = served()
    draw = random.Random(1)
    with Host(live.nvme) as host:
        queue = host[0]
        data = draw.randbytes(192 * KIB)
        assert write(queue, SIZE, data) == 0 and queue.read(SIZE, len(data)) == data
        # Above the write pointer there are zeroes, and behind a border the next zone.
        assert queue.read(SIZE + len(data), 8192) == bytes(8192)
        assert queue.read(2 * SIZE - 4096, 8192) == bytes(8192)
        assert write(queue, SIZE, data) == 0x1BC and queue.read(SIZE, len(data)) == data
        assert send(queue, RESET, 1) == 0 and queue.read(SIZE, len(data)) == bytes(len(data))
        other = draw.randbytes(4096)
        done = append(queue, 1, other)
        assert done.result == ZONE and queue.read(SIZE, 8192) == other + bytes(4096)
        # Several at once, to one zone: each is where its answer says.
        pieces = {
            queue.send(blocks(APPEND, 2 * SIZE, len(it)), it): it
            for it in (draw.randbytes(512 * draw.randrange(1, 17)) for _ in range(40))
        }
        places = {}
        for _ in pieces:
            done = queue.done()
            assert done.status == 0
            places[done.result * 512] = pieces[done.id]
        at = 2 * SIZE
        for place in sorted(places):
            assert place == at
            assert queue.read(place, len(places[place])) == places[place]
            at += len(places[place])
        # A copy goes to a write pointer; zeroes are written there; and a range can be given up.
        ranges = struct.pack("<IIQH14x", 0, 0, ZONE, 7)
        copy = command(COPY, 1, [(10, 3 * ZONE), (12, 0)])
        assert queue.ask(copy, ranges).status == 0 and queue.read(3 * SIZE, 4096) == other
        assert queue.ask(copy, ranges).status == 0x1BC
        assert queue.ask(blocks(ZEROES, 3 * SIZE + 4096, 4096)).status == 0
        assert report(queue)[1][3].pointer == 3 * ZONE + 16
        trim = command(DATASET, 1, [(10, 0), (11, 4)])
        assert queue.ask(trim, struct.pack("<IIQ", 0, 8, 3 * ZONE)).status == 0
        assert queue.read(3 * SIZE, 4096) == bytes(4096)


def test_a_window_takes_random_writes_and_is_committed(served):
    live = served(KEYS | WINDOWS)
    with Host(live.nvme) as host:
        queue = host[0]
        assert send(queue, OPEN, 0, window=True) == 0
        assert report(queue)[1][0].attributes == 8
        content = bytearray(CAPACITY)
        draw = random.Random(2)
        for _ in range(40):
            at = 4096 * draw.randrange(0, 60)
            data = draw.randbytes(4096)
            assert write(queue, at, data) == 0
            content[at : at + 4096] = data
        assert report(queue)[1][0].pointer == 0
        assert queue.read(0, 256 * KIB) == content[: 256 * KIB]
        # Up to the last block of the first granule; then a write beyond the window moves it.
        assert send(queue, COMMIT, block=127) == 0 and report(queue)[1][0].pointer == 128
        assert write(queue, 0, bytes(4096)) == 0x1BC
        assert write(queue, 64 * KIB + 256 * KIB, b"x" * 4096) == 0
        content[320 * KIB : 324 * KIB] = b"x" * 4096
        assert report(queue)[1][0].pointer == 256
        assert queue.read(0, MIB) == content[:MIB]
        assert send(queue, FINISH, 0) == 0
        assert report(queue)[1][0] == (FULL, 0, CAPACITY // 512, 0, 2**64 - 1)
        assert queue.read(0, MIB) == content[:MIB]


@pytest.mark.parametrize("is_protected", [True, False])
def test_a_power_cut_keeps_what_the_model_says(served, is_protected):
    keys = KEYS | WINDOWS | {"device.buffer.power_loss_protected": is_protected}
    live = served(keys)
    data = random.Random(3).randbytes(128 * KIB)
    with Host(live.nvme) as host:
        queue = host[0]
        assert write(queue, SIZE, data) == 0
        queue.flush()
        assert write(queue, SIZE + len(data), data) == 0
        assert send(queue, OPEN, 2, window=True) == 0 and write(queue, 2 * SIZE, data) == 0
        assert send(queue, FINISH, 3) == 0
        assert "done" in live.say("cut off 10ms")
        with pytest.raises((initiator.Ended, TimeoutError)):
            queue.done()
    with Host(live.nvme) as host:
        queue = host[0]
        zones = report(queue)[1]
        told = {it["zone"]: it for it in live.say("zones")["not_empty"]}
        assert {it.state for it in zones} <= {EMPTY, CLOSED, FULL} and zones[3].state == FULL
        kept = told[1]["written_bytes"]
        assert len(data) <= kept <= 2 * len(data)
        if is_protected:
            assert kept == 2 * len(data) and zones[1].state == zones[2].state == CLOSED
            assert queue.read(2 * SIZE, len(data)) == data
        else:
            assert queue.read(2 * SIZE, len(data)) == bytes(len(data))
        rest = 2 * len(data) - kept
        assert queue.read(SIZE, 2 * len(data)) == (data + data)[:kept] + bytes(rest)
        if zones[1].state == CLOSED:
            assert write(queue, SIZE + kept, data) == 0


def test_a_replay_of_what_was_recorded_has_the_same_zones(served, tmp_path):
    live = served(record=tmp_path / "trace.parquet")
    draw = random.Random(4)
    with Host(live.nvme) as host:
        queue = host[0]
        for _ in range(300):
            zone = draw.randrange(6)
            match draw.randrange(8):
                case 0:
                    send(queue, draw.choice((OPEN, CLOSE, FINISH, RESET)), zone)
                case 1:
                    send(queue, RESET, every=True)
                case _:
                    append(queue, zone, bytes(512 * draw.randrange(1, 200)))
    results = live.stop()
    again = ssdlab.run(results.experiment.to_dict())
    assert again.zones.to_dict() == results.zones.to_dict()


def test_ways_that_know_no_zones_are_refused(served, tmp_path):
    for settings, why in (
        (
            {"socket": tmp_path / "nbd"},
            "device.adapt: NBD knows no zones",
        ),
        ({"vhost_user": tmp_path / "disk"}, "the disk of a guest has no zones"),
        ({"backing": tmp_path / "data"}, "backing: the zones are not saved"),
        ({"size": "5MiB"}, "zones have 4MiB, so use 4MiB or a multiple"),
        ({"namespaces": "50%, 50%"}, "zones are one namespace"),
    ):
        with pytest.raises(ssdlab.InputError, match=why):
            served(**settings)
    live = served(size="8MiB", namespaces="100% lba 4KiB")
    with Host(live.nvme) as host:
        own = host.admin.identify(5, 1, [(11, 2 << 24)]).data
        assert struct.unpack_from("<Q", own, 2816) == (SIZE // 4096,)
        done = host[0].ask(command(APPEND, 1, [(10, SIZE // 4096), (12, 1)]), bytes(8192))
        assert (done.status, done.result) == (0, SIZE // 4096)
        assert report(host[0])[0] == 2
    # A log of the host makes blocks of them.
    adapted = KEYS | {"device.adapt": "log", "device.log.spare": 0.5}
    live = served(adapted, size="8MiB", socket=tmp_path / "nbd")
    with Host(live.nvme) as host:
        host[0].write(4096, b"a" * 512)
        assert host[0].ask(command(APPEND, 1), bytes(512)).status == 1


def test_zones_that_the_drive_has_changed_are_told(served):
    # A buffer that all zones fit into would take every write before the first program has failed.
    keys = KEYS | {"device.wear.program_failures": 0.06, "device.buffer.size": "1MiB"}
    live = served(keys)
    with Host(live.nvme) as host:
        admin = host.admin
        assert struct.unpack_from("<I", admin.identify(1).data, 92)[0] >> 27 & 1
        wants = command(initiator.SET, 0, [(10, 0x0B), (11, 1 << 27)])
        assert admin.ask(wants).status == 0
        admin.send(command(initiator.EVENT))
        changed = set()
        for zone in range(COUNT):
            for at in range(0, CAPACITY, 256 * KIB):
                if write(host[0], zone * SIZE + at, bytes(256 * KIB)) == 0x1BA:
                    changed.add(zone)
                    break
            else:
                continue
            if len(changed) == 2:
                break
        assert changed
        told = admin.done()
        assert (told.status, told.result) == (0, 0xBFEF02 | 1 << 32)
        page = admin.log(0xBF, 4096, namespace=1).data
        (count,) = struct.unpack_from("<H", page)
        found = {it // ZONE for it in struct.unpack_from(f"<{count}Q", page, 8)}
        states_now = states(host[0])
        assert found == {zone for zone, it in enumerate(states_now) if it == READ_ONLY} >= changed
        # The host knows now.
        assert admin.log(0xBF, 4096, namespace=1).data[:2] == bytes(2)
        assert admin.log(0xBF, 512, namespace=2).status == 0x0B


def test_a_host_may_send_what_it_likes(served):
    live = served(KEYS | WINDOWS)
    draw = random.Random(5)
    opcodes = [SEND, RECEIVE, APPEND, READ, WRITE, ZEROES, COPY, DATASET, UNCORRECTABLE]
    with Host(live.nvme) as host:
        queue = host[0]
        ended = set()
        for _ in range(1500):
            opcode = draw.choice(opcodes)
            block = draw.choice((0, 1, ZONE, COUNT * ZONE - 1, 2**63)) + draw.randrange(9) * ZONE
            words = [(10, block), (11, block >> 32), (12, draw.choice((0, 7, 127)))]
            words.append(
                (13, draw.choice((0, 1, 2, 3, 4, 5, 0x10, 0x11)) | draw.randrange(1024) << 8)
            )
            if draw.randrange(8) == 0:
                words = [(number, draw.getrandbits(32)) for number in range(10, 16)]
            entry = command(opcode, draw.choice((1, 1, 1, 2)), words)
            word = dict(words)
            length = ((word[12] & 0xFFFF) + 1) * 512
            described = {COPY: 32 * ((word[12] & 0xFF) + 1), DATASET: 16 * ((word[10] & 0xFF) + 1)}
            writes = {APPEND: length, WRITE: length} if length <= 65536 else {}
            data = draw.randbytes((described | writes).get(opcode, 0))
            takes = opcode in (READ, RECEIVE)
            room = min(draw.choice((0, 64, length, 4096)), 1 << 20) if takes else 0
            ended.add(queue.ask(entry, data, room=room).status)
        assert {0, 1, 2, 0x0B, 0x80, 0x1BC, 0x1BF} <= ended
        # Limits hold, and what it says now is the server's own words.
        zones = report(queue)[1]
        told = live.say("zones")
        assert sum(it.state in (IMPLICIT, EXPLICIT) for it in zones) == told["open"] <= 4
        assert sum(it.state in (IMPLICIT, EXPLICIT, CLOSED) for it in zones) == told["active"] <= 5
        assert [it["zone"] for it in told["not_empty"]] == [
            number for number, it in enumerate(zones) if it.state != EMPTY
        ]
