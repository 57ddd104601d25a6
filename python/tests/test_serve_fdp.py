"""Placement handles of a live device: log pages, management of units, and the server's words."""

import json
import random
import struct

import initiator
import pytest
from initiator import MANAGEMENT_RECEIVE, MANAGEMENT_SEND, WRITE, Host, blocks, command

import ssdlab

DRIVE, SIZE = "tlc-client", "8MiB"
KEYS = {"device.fdp.handles": 3, "device.fdp.isolation": "persistent", "device.spare_factor": 0.3}
# Nothing is padded because a client paused, so that counts do not depend on the clock.
PATIENT = KEYS | {"device.buffer.linger": "none"}


@pytest.fixture
def served(tmp_path):
    """Serves a drive with handles at a Unix socket; stops it at the end."""
    running = []

    def start(keys=KEYS, **settings):
        uri = initiator.socket_uri(tmp_path / f"nvme{len(running)}")
        running.append(ssdlab.serve(DRIVE, size=SIZE, nvme=uri, set=keys, **settings))
        return running[-1]

    yield start
    for it in running:
        it.stop()


def write(queue, number, handle, kind=2):
    data = random.Random(number).randbytes(4096)
    entry = blocks(WRITE, number * 4096, 4096, directive=(kind, handle))
    return queue.ask(entry, data).status


def u(data, at, form):
    return struct.unpack_from(f"<{form}", data, at)[0]


def test_the_log_pages_are_the_servers_own_words(served):
    live = served(PATIENT)
    with Host(live.nvme) as host:
        for number in range(60):
            assert write(host[0], number, number % 4) == 0
        assert host[0].ask(command(MANAGEMENT_SEND, 1, [(10, 1 | 0 << 16)]), b"\1\0").status == 0
        admin = host.admin
        words = live.say("placement")
        configured = admin.log(0x20, 16 + 80, group=1).data
        assert u(configured, 0, "H") == 0 and u(configured, 4, "I") == len(configured)
        one = configured[16:]
        assert u(one, 0, "H") == 80 and one[2] == 0x80 and u(one, 4, "I") == 1
        assert (u(one, 8, "H"), u(one, 10, "H"), u(one, 12, "I")) == (3, 2, 1)
        assert u(one, 16, "Q") == words["unit_bytes"]
        assert [one[64 + 4 * n] for n in range(3)] == [2, 2, 2] and words[
            "isolation"
        ] == "persistent"
        usage = admin.log(0x21, 32, group=1).data
        assert u(usage, 0, "H") == 3 and [usage[8 + 8 * n] for n in range(3)] == [1, 1, 1]
        statistics = admin.log(0x22, 64, group=1).data
        numbers = [u(statistics, at, "Q") for at in (0, 16, 32)]
        assert numbers == [words[f"{what}_bytes"] for what in ("host", "media", "erased")]
        assert numbers[0] == 60 * 4096
        events = admin.log(0x23, 64 * 64, group=1, which=1).data
        count = u(events, 0, "I")
        told = words["last_events"]["host"]
        assert count == len(told) == 16
        codes = {"unit_not_full": 0, "invalid_handle": 3}
        for number, event in enumerate(told):
            it = events[64 + 64 * number :][:64]
            assert it[0] == codes[event["event"]] and u(it, 12, "I") == 1
            assert it[34] == event["handle"] and u(it, 40, "Q") == event["after_bytes"]
            if it[0] == 3:
                assert it[1] == 7 and u(it, 2, "H") == event["named_handle"] == 3
                assert u(it, 20, "Q") == event["sector"]
        assert told[-1] == {
            "event": "unit_not_full",
            "handle": 1,
            "named_handle": None,
            "sector": None,
            "sectors": 0,
            "after_bytes": 60 * 4096,
        }
        assert u(admin.log(0x23, 64 * 64, group=1).data, 0, "I") == len(
            words["last_events"]["controller"]
        )
        status = host[0].ask(command(MANAGEMENT_RECEIVE, 1, [(10, 1), (11, 27)]), room=112).data
        left = [u(status, 16 + 32 * number + 8, "Q") * 512 for number in range(3)]
        assert u(status, 14, "H") == 3
        assert left == [it["left_bytes"] for it in words["handles"]]
        assert left[1] == words["unit_bytes"] > left[2]
        for page in range(0x20, 0x24):
            assert admin.log(page, 64, group=2).status == 2
            assert admin.log(0, 1024).data[4 * page] == 1
        about = admin.identify(1).data
        assert u(about, 96, "I") >> 19 & 1 and u(about, 256, "H") >> 5 & 1
        assert u(admin.identify(0, 1).data, 102, "H") == 1
        assert admin.ask(command(initiator.GET, 0, [(10, 0x1D), (11, 1)])).result == 1
        # Results end with the last request, and without it would not have the order before it.
        assert write(host[0], 60, 1) == 0
    results = live.stop()
    fdp = results["fdp"]
    assert [it["units_given_up"] for it in fdp["handles"]] == [0, 1, 0]
    assert fdp["events"]["unit_not_full"] == 1 and fdp["events"]["invalid_handle"] == 15


def test_a_recorded_unit_update_is_in_the_replay(served, tmp_path):
    # A CSV trace has no handles, and ticks of 100 ns.
    live = served(record=tmp_path / "trace.parquet")
    with Host(live.nvme) as host:
        for number in range(40):
            assert write(host[0], number, 1 + number % 2) == 0
            if number == 20:
                update = command(MANAGEMENT_SEND, 1, [(10, 1 | 1 << 16)])
                assert host[0].ask(update, struct.pack("<HH", 2, 1)).status == 0
    results = live.stop()
    assert results["fdp"]["events"]["unit_not_full"] == 2
    assert "next-unit 2" in results.live.orders
    again = ssdlab.run(results.experiment.to_dict())
    assert again["fdp"].to_dict() == results["fdp"].to_dict()
    assert again.host.write.mean_us == results.host.write.mean_us


def test_streams_are_handles_counted_from_one(served):
    found = []
    for kind, first in ((2, 0), (1, 1)):
        live = served(PATIENT)
        with Host(live.nvme) as host:
            for number in range(50):
                assert write(host[0], number * 7 % 50, number % 3 + first, kind) == 0
        results = live.stop()
        found.append(results["fdp"].to_dict())
    assert found[0] == found[1]


def test_a_drive_without_handles_says_so(served):
    live = served(keys={})
    with Host(live.nvme) as host:
        assert host.admin.log(0x22, 64, group=1).status == 0x109
        status = command(MANAGEMENT_RECEIVE, 1, [(10, 1), (11, 27)])
        assert host[0].ask(status, room=112).status == 0x29
        update = command(MANAGEMENT_SEND, 1, [(10, 1)])
        assert host[0].ask(update, b"\0\0").status == 0x29
        # A write that names a handle is refused, whatever the kind.
        assert write(host[0], 0, 0, 2) == write(host[0], 0, 1, 1) == write(host[0], 0, 1, 7) == 2
        assert write(host[0], 0, 0, 0) == 0
        assert host.admin.ask(command(0x1A, 1, [(10, 1023), (11, 1)]), room=4096).status == 1


def test_directives_are_told(served):
    live = served()
    with Host(live.nvme) as host:

        def ask(kind, operation):
            words = [(10, 1023), (11, kind << 8 | operation)]
            return host.admin.ask(command(0x1A, 1, words), room=4096)

        about = ask(0, 1).data
        assert about[0] == about[32] == 0b111
        streams = ask(1, 1).data
        assert u(streams, 0, "H") == 3 and u(streams, 16, "I") == 8
        assert struct.unpack_from("<4H", ask(1, 2).data) == (3, 1, 2, 3)
        assert ask(2, 1).status == ask(1, 9).status == 2
        assert host.admin.ask(command(0x19, 1, [(11, 1 << 8 | 1)])).status == 0


def test_a_look_at_a_device_without_handles_is_refused(tmp_path):
    with ssdlab.serve("null", size=SIZE, socket=tmp_path / "s") as live:
        problem = live.say("placement")
    assert "device.fdp.handles" in json.dumps(problem)


def test_an_identifier_names_the_group_in_its_upper_bits(served):
    live = served(PATIENT | {"device.fdp.handles": 2, "device.fdp.groups": 2})
    written = [0] * 4
    with Host(live.nvme) as host:
        for number in range(80):
            group, handle = number // 4 % 2, number % 4 // 2
            assert write(host[0], number, group << 15 | handle) == 0
            written[2 * group + handle] += 4096
        words = live.say("placement")
        one = host.admin.log(0x20, 16 + 72, group=1).data[16:]
        # One bit of the group, two groups, two handles in each.
        assert (one[2], u(one, 4, "I"), u(one, 8, "H"), u(one, 10, "H")) == (0x81, 2, 2, 1)
        assert u(host.admin.log(0x21, 24, group=1).data, 0, "H") == 2
        asked = command(MANAGEMENT_RECEIVE, 1, [(10, 1), (11, 35)])
        status = host[0].ask(asked, room=144).data
        assert u(status, 14, "H") == 4
        named = [u(status, 16 + 32 * number, "H") for number in range(4)]
        assert named == [0, 1, 1 << 15, 1 << 15 | 1]
        left = [u(status, 16 + 32 * number + 8, "Q") * 512 for number in range(4)]
        assert left == [it["left_bytes"] for it in words["handles"]]
        update = command(MANAGEMENT_SEND, 1, [(10, 1 | 0 << 16)])
        assert host[0].ask(update, struct.pack("<H", 1 << 15 | 1)).status == 0
        # There is no third handle: the default one takes it.
        assert write(host[0], 80, 1 << 15 | 2) == 0
    results = live.stop()
    handles = results["fdp"]["handles"]
    assert [(it["group"], it["handle"]) for it in handles] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [it["units_given_up"] for it in handles] == [0, 0, 0, 1]
    written[0] += 4096
    assert [it["host_bytes"] for it in handles] == written
    assert results["fdp"]["events"]["invalid_handle"] == 1
