"""A live device on a disk that lies: what was flushed is there, by every door and after every kill.

The disk (`support/lying`) is mounted, and the server uses it as any other; it remembers what was
synced. Each test records one use of the device, and then cuts the power at thousands of instants of
it.
"""

import errno
import os
import random
import struct

import guest
import initiator
import pytest
from lying import cuts, planted
from lying.mount import lying_disk
from lying.promises import All, Blocks, Whole
from short_client import FLUSH, FUA, TRIM, WRITE, Client

import ssdlab

BLOCK = 4096
BLOCKS = 48
DRIVE = {"device.blocks_per_plane": 16, "device.channels": 1, "device.dies_per_package": 1}
KILLS = 3000


class Writer:
    """Writes numbered blocks through a door, and marks what it sent and what it was promised."""

    def __init__(self, disk):
        self._disk, self._number = disk, 0
        self._sent, self._answered = [0] * BLOCKS, [0] * BLOCKS

    def change(self, block, write, *, durable=False, trim=False):
        self._number += 1
        number = 0 if trim else self._number
        self._sent[block] += 1
        self._disk.say("sent", block, number)
        write(block * BLOCK, struct.pack("<Q", number) * (BLOCK // 8))
        self._answered[block] = self._sent[block]
        if durable:
            self._disk.say("safe", {block: self._sent[block]})

    def flush(self, flush):
        before = dict(enumerate(self._answered))
        flush()
        self._disk.say("safe", before)

    def save(self, live):
        self._disk.say("saving", dict(enumerate(self._answered)))
        live.say("save")
        self._disk.say("kept", "data.drive")


def use(writer, rng, live, door, operations):
    """Some use of the device; `door` has `write`, `force`, `trim` and `flush`."""
    for _ in range(operations):
        block, what = rng.randrange(BLOCKS), rng.random()
        if what < 0.62:
            writer.change(block, door.write)
        elif what < 0.74:
            writer.change(block, door.force, durable=True)
        elif what < 0.82:
            writer.change(block, door.trim, trim=True)
        elif what < 0.94:
            writer.flush(door.flush)
        else:
            writer.save(live)


class OverNbd:
    """Two clients in turn: a flush of one covers what the other was answered."""

    def __init__(self, live, path):
        self._clients = [Client(path), Client(path)]

    def _ask(self, *words, **options):
        self._clients.reverse()
        self._clients[0].ask(*words, **options)

    def write(self, offset, data):
        self._ask(WRITE, offset, data=data)

    def force(self, offset, data):
        self._ask(WRITE, offset, data=data, flags=FUA)

    def trim(self, offset, data):
        self._ask(TRIM, offset, len(data))

    def flush(self):
        self._ask(FLUSH)


class OverFile:
    """The mounted file."""

    def __init__(self, live, path):
        self._file = os.open(live.file, os.O_RDWR)

    def write(self, offset, data):
        os.pwrite(self._file, data, offset)

    def force(self, offset, data):
        os.pwrite(self._file, data, offset)
        os.fdatasync(self._file)

    def trim(self, offset, data):
        os.pwrite(self._file, bytes(len(data)), offset)

    def flush(self):
        os.fsync(self._file)


class OverGuest:
    """A guest with the disk, which forces by a flush."""

    def __init__(self, live, path):
        self._guest = guest.Guest(path.with_name("vhost"))

    def write(self, offset, data):
        self._guest.ask(guest.OUT, offset, data)

    def force(self, offset, data):
        self.write(offset, data)
        self.flush()

    def trim(self, offset, data):
        what = struct.pack("<QII", offset // 512, len(data) // 512, 0)
        self._guest.ask(guest.DISCARD, 0, what)

    def flush(self):
        self._guest.ask(guest.FLUSH)


class OverNvme:
    """Two queues of an NVMe host in turn."""

    def __init__(self, live, path):
        self._host = initiator.Host(live.nvme, queues=2)

    def _queue(self):
        self._host.queues.reverse()
        return self._host[0]

    def write(self, offset, data):
        self._queue().write(offset, data)

    def force(self, offset, data):
        self._queue().write(offset, data, durable=True)

    def trim(self, offset, data):
        what = struct.pack("<IIQ", 0, len(data) // 512, offset // 512)
        entry = initiator.command(initiator.DATASET, 1, [(11, 4)])
        assert self._queue().ask(entry, what).status == 0

    def flush(self):
        self._queue().flush()


def doors(door, tmp_path):
    if door == "nvme":
        return OverNvme, {"nvme": initiator.socket_uri(tmp_path / "nvme")}
    if door == "nbd":
        return OverNbd, {"socket": tmp_path / "socket"}
    if door == "guest":
        return OverGuest, {"vhost_user": tmp_path / "vhost"}
    (tmp_path / "file").mkdir(exist_ok=True)
    return OverFile, {"mount": tmp_path / "file"}


def served(tmp_path, door="nbd", seed=1, operations=160, spoil=(), record=None):
    """The log of a use of a live device on a lying disk."""
    with lying_disk(tmp_path) as disk:
        kind, place = doors(door, tmp_path)
        writer, rng = Writer(disk), random.Random(seed)
        for order in spoil:
            disk.say(*order)
        options = {"size": f"{BLOCK * BLOCKS}B", "set": DRIVE, "backing": disk.path / "data"}
        if record:
            options["record"] = disk.path / record
        with ssdlab.serve("agrawal2008", **place, **options) as live:
            use(writer, rng, live, kind(live, tmp_path / "socket"), operations)
            if record:
                live.say("latency add 1ms p=0.5")
                writer.change(0, kind(live, tmp_path / "socket").write)
            writer.flush(lambda: live.stop())
        for name in ["data.drive", *([record, f"{record}.faults"] if record else [])]:
            disk.say("kept", name)
    return disk.log


@pytest.mark.parametrize("door", ["nbd", "file", "guest", "nvme"])
def test_what_was_flushed_is_there_after_every_kill(tmp_path, door):
    log = served(tmp_path, door)
    found = cuts.kill(log, Blocks("data", BLOCK), kills=KILLS)
    assert found is None, found


def test_a_recording_is_whole_or_absent_and_there_once_the_server_has_ended(tmp_path):
    log = served(tmp_path, record="app.parquet", operations=40)
    names = ("app.parquet", "app.parquet.faults")
    promises = All(Blocks("data", BLOCK), *(Whole(name) for name in names))
    found = cuts.kill(log, promises, kills=1000)
    assert found is None, found
    assert all(len(promise.versions) == 2 for promise in promises.promises[1:])


@pytest.mark.parametrize(
    "mistake", [*planted.MISTAKES, planted.age_first], ids=lambda it: it.__name__
)
def test_a_planted_mistake_is_found(recorded, mistake):
    found = cuts.kill(mistake(recorded), Blocks("data", BLOCK), kills=10_000)
    assert found is not None, f"{mistake.__name__} was not found"
    print(f"{mistake.__name__}: {found}")


@pytest.mark.parametrize(
    "share", [8, pytest.param(1, marks=pytest.mark.nightly)], ids=["some", "all"]
)
def test_each_sync_is_needed(recorded, share):
    """Without any one of them a kill finds a loss."""
    rows = list(planted.each(recorded))
    rows = random.Random(1).sample(rows, len(rows) // share)
    missed = []
    for place, log in rows:
        if cuts.kill(log, Blocks("data", BLOCK), kills=2000) is None:
            missed.append(place)
    print(f"{len(rows) - len(missed)} of {len(rows)} missing syncs were found")
    # A flush that covers only a trim of what was never written has nothing to lose.
    assert len(missed) <= len(rows) // 20, [recorded[place - 3 : place + 3] for place in missed]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("door", ["nbd", "file", "guest", "nvme"])
def test_other_uses_lose_nothing_either(tmp_path, door, seed):
    log = served(tmp_path, door, seed, operations=600)
    found = cuts.kill(log, Blocks("data", BLOCK), kills=10_000, seed=seed)
    assert found is None, found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A use of the device that several tests look at."""
    return served(tmp_path_factory.mktemp("recorded"))


def test_short_and_slow_calls_change_nothing(tmp_path):
    log = served(tmp_path, operations=60, spoil=[("short", 1024), ("slow", 0.02)])
    found = cuts.kill(log, Blocks("data", BLOCK), kills=1000)
    assert found is None, found


def fails(number, ask, *words, **options):
    """The request is answered with this error."""
    with pytest.raises(AssertionError, match=f"^{number}$"):
        ask(*words, **options)


def test_after_a_failed_sync_no_flush_succeeds(tmp_path):
    """The system may have dropped the data, and reports that once."""
    with lying_disk(tmp_path) as disk:
        options = {"size": "192KiB", "backing": disk.path / "data"}
        with ssdlab.serve("null", socket=tmp_path / "socket", **options) as live:
            client, writer = Client(tmp_path / "socket"), Writer(disk)
            writer.change(1, client.write)
            writer.flush(lambda: client.ask(FLUSH))
            writer.change(2, client.write)
            disk.say("fail", "fsync", 1, errno.EIO)
            fails(errno.EIO, client.ask, FLUSH)
            # The data seem to be there, and a sync would find nothing to do.
            assert client.read(2 * BLOCK, 8) == struct.pack("<Q", 2)
            for _ in range(3):
                fails(errno.EIO, client.ask, FLUSH)
            fails(errno.EIO, client.ask, WRITE, 0, data=bytes(512), flags=FUA)
            writer.change(3, client.write)
            live.stop()
    found = cuts.kill(disk.log, Blocks("data", BLOCK), kills=1000)
    assert found is None, found


def test_a_full_disk_is_told_and_loses_nothing_that_was_flushed(tmp_path):
    with lying_disk(tmp_path) as disk:
        options = {"size": "192KiB", "backing": disk.path / "data", "set": DRIVE}
        with ssdlab.serve("agrawal2008", socket=tmp_path / "socket", **options) as live:
            client, writer = Client(tmp_path / "socket"), Writer(disk)
            for block in range(20):
                writer.change(block, client.write)
            writer.flush(lambda: client.ask(FLUSH))
            writer.save(live)
            disk.say("full", 2 * BLOCK + 1024)
            writer.change(20, client.write)
            writer.change(21, client.write)
            with pytest.raises(AssertionError, match=f"^{errno.ENOSPC}$"):
                writer.change(22, client.write)
            writer.flush(lambda: client.ask(FLUSH))
            assert "No space left" in live.say("save")["error"]
            disk.say("full", 1 << 30)
            writer.save(live)
            live.stop()
    found = cuts.kill(disk.log, Blocks("data", BLOCK), kills=1000)
    assert found is None, found
