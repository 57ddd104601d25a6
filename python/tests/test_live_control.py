"""Orders to a live device: the effect of each on its clients, and in a replay."""

import contextlib
import json
import os
import socket
import stat
import subprocess
import time

import pytest
from short_client import FLUSH, READ, TRIM, WRITE, Client

import ssdlab
from ssdlab.control import order

SMALL = {"device.blocks_per_plane": 16}
IO, PERM = 5, 1


@pytest.fixture
def serve(tmp_path):
    """A live drive with a control socket; the device, a client, and what says an order."""
    running = []

    def call(**options):
        path, control = tmp_path / f"s{len(running)}", tmp_path / f"c{len(running)}"
        options = {"device": "agrawal2008", "size": "8MiB", "set": SMALL} | options
        live = ssdlab.serve(socket=path, control=control, **options)
        running.append(live)

        def say(line):
            return order(control, line)

        return live, Client(path), say

    yield call
    for live in running:
        live.stop()


def error_of(client, command, offset=0, length=0, data=b""):
    client.send(command, offset, length or len(data), data=data)
    return client.answer(length if command == READ else 0)[0]


def test_only_its_user_may_order(serve, tmp_path):
    serve()
    assert stat.S_IMODE((tmp_path / "c0").stat().st_mode) == 0o600


def test_it_says_how_it_is(serve):
    _, client, say = serve()
    client.write(0, bytes(4096))
    said = say("stats")
    assert (said["requests"], said["host"]["write"]["requests"]) == (1, 1)
    assert say("health")["percentage_used"] == 0
    assert "the orders are: slow X" in say("sing")["error"]


def test_what_is_to_fail_fails_and_leaves_no_data(serve):
    _, client, say = serve()
    client.write(0, b"a" * 4096)
    say("fail write 0..4KiB 2")
    assert error_of(client, WRITE, 8192, data=b"c" * 512) == 0
    assert error_of(client, WRITE, 0, data=b"b" * 512) == IO
    assert error_of(client, WRITE, 512, data=b"b" * 512) == IO
    assert client.read(0, 1024) == b"a" * 1024
    client.write(0, b"b" * 512)
    assert client.read(0, 512) == b"b" * 512
    say("fail flush 1")
    assert error_of(client, FLUSH) == IO
    assert error_of(client, FLUSH) == 0
    say("fail read 1MiB..2MiB rate=1")
    assert error_of(client, READ, 1 << 20, 512) == IO
    assert error_of(client, READ, 0, 512) == 0
    say("reset")
    assert error_of(client, READ, 1 << 20, 512) == 0


def test_nothing_is_changed_when_it_is_read_only(serve):
    _, client, say = serve()
    client.write(0, b"a" * 512)
    say("readonly")
    assert error_of(client, WRITE, 0, data=b"b" * 512) == PERM
    assert error_of(client, TRIM, 0, 4096) == PERM
    assert client.read(0, 512) == b"a" * 512
    say("readonly off")
    client.write(0, b"b" * 512)
    say("end-of-life")
    say("reset")
    assert error_of(client, WRITE, 0, data=b"c" * 512) == PERM
    assert client.read(0, 512) == b"b" * 512


def test_slow_is_slow_and_fast_again(serve):
    live, client, say = serve()
    client.read(0, 4096)
    say("latency add 30ms")
    began = time.monotonic()
    client.read(0, 4096)
    assert time.monotonic() - began > 0.03
    say("latency none")
    say("stall 40ms")
    began = time.monotonic()
    client.read(0, 4096)
    assert time.monotonic() - began > 0.02
    say("slow 100")
    client.read(4096, 4096)
    say("reset")
    client.read(0, 4096)
    host = live.stop().host
    assert host.read.max_us >= 30_000
    assert host.read.min_us < 1000


def test_an_old_drive_amplifies_writes(serve):
    live, client, say = serve()
    client.write(0, bytes(4096))
    assert "done" in say("age 100000 writes")
    assert "age 90d at 40C" in say("age 90 days")["error"]
    assert "unless device.media.model is set" in say("age 90d at 40C")["error"]
    assert say("health")["mean_erases"] > 1
    for number in range(64):
        client.write(number * 4096, bytes(4096))
    assert live.stop().flash.write_amplification_bytes > 1.1


POWER = SMALL | {"device.persistence.recovery": "spare"}


def test_the_power_goes_and_comes_back(serve, tmp_path):
    _, client, say = serve(set=POWER)
    client.write(0, b"here", 1)
    assert "done" in say("cut off 100ms")
    client.socket.settimeout(10)
    with pytest.raises((AssertionError, ConnectionError)):
        client.read(0, 4)
    assert Client(tmp_path / "s0").read(0, 4) == b"here"


def test_a_drive_that_does_not_recover_is_not_cut(serve):
    _, client, say = serve()
    assert "device.persistence.recovery" in say("cut")["error"] or "recover" in say("cut")["error"]
    assert client.read(0, 1) == b"\0"


@pytest.mark.parametrize("device", ["agrawal2008", "tlc-client"])
def test_a_replay_knows_what_was_ordered(serve, tmp_path, device):
    keys = POWER if device == "agrawal2008" else {}
    trace = tmp_path / "t.parquet"
    live, client, say = serve(device=device, set=keys, record=trace, size="16MiB")
    for line in ("latency add 1ms p=0.3", "fail read all rate=0.2", "age 20000 writes", "slow 3"):
        for number in range(30):
            error_of(client, WRITE, number * 12288, data=bytes(8192))
            error_of(client, READ, number * 8192, 4096)
        error_of(client, FLUSH)
        say(line)
    if device == "agrawal2008":
        assert "done" in say("cut off 50ms")
        client = Client(tmp_path / "s0")
    for number in range(30):
        error_of(client, WRITE, number * 12288, data=bytes(8192))
    results = live.stop().to_dict()
    assert (tmp_path / "t.parquet.faults").read_text().count("\n") >= 4
    assert results["host"]["read"]["failures"]["unreadable"] > 0
    again = ssdlab.run(
        device=device,
        trace=trace,
        set=keys | {"run.faults": f"{trace}.faults", "workload.beyond": "error"},
    ).to_dict()
    parts = ("host", "flash", "wear", "buses", "units", "time_series", "health")
    for part in parts:
        assert again[part] == results[part], part
    # What it echoes is enough to run it again.
    assert results["experiment"]["run"]["faults"] == f"{trace}.faults"


def test_a_script_is_kept_to(tmp_path, refused):
    script = tmp_path / "faults.txt"
    script.write_text("# at once\n0s fail flush 1\n50ms latency add 5ms\n")
    keys = {"run.faults": str(script), "workload.requests": 4000}
    results = ssdlab.run(device="agrawal2008", set=keys)
    assert results.host.read.max_us > 5000
    script.write_text("1s\n")
    assert "is not an order" in refused("run", "--set", f"run.faults={script}")
    script.write_text("1s cut\n")
    assert "recover" in refused("run", "--set", f"run.faults={script}")
    said = refused("run", "--set", f"run.faults={script}", "--set", "run.timed=false")
    assert "run.timed" in said


def test_ctl_is_a_command(serve, ssdlab, tmp_path, refused):
    serve()
    done = ssdlab("serve", "ctl", tmp_path / "c0", "latency", "add", "2ms", "p=0.5")
    assert json.loads(done.stdout)["done"] == "latency add 2ms p=0.5", done.stderr
    assert "not an order" in refused("serve", "ctl", tmp_path / "c0", "jump")
    assert "no live device listens" in refused("serve", "ctl", tmp_path / "none", "stats")


# A drive and its data


def test_a_drive_is_as_old_as_it_was(tmp_path):
    """600 MiB of overwrites, an end, and a beginning: the drive has not become young again."""
    options = {
        "device": "agrawal2008",
        "size": "8MiB",
        "set": SMALL,
        "backing": tmp_path / "data",
        "control": tmp_path / "c",
    }
    with ssdlab.serve(socket=tmp_path / "s", **options) as live:
        order(tmp_path / "c", "age 150000 writes")
        Client(tmp_path / "s").write(0, b"kept")
        before = order(tmp_path / "c", "health")["mean_erases"]
    assert before > 1
    assert live.results.live.drive == str(tmp_path / "data.drive")
    assert (tmp_path / "data.drive").exists()
    with ssdlab.serve(socket=tmp_path / "s", **options) as live:
        assert order(tmp_path / "c", "health")["mean_erases"] >= before
        client = Client(tmp_path / "s")
        assert client.read(0, 4) == b"kept"
        for number in range(128):
            client.write(number * 4096, bytes(4096))
        assert "saved" in order(tmp_path / "c", "save")
    assert live.results.flash.write_amplification_bytes > 1.1


def test_a_drive_with_a_buffer_is_kept_too(tmp_path):
    options = {"device": "tlc-client", "size": "16MiB", "backing": tmp_path / "data"}
    for _ in range(2):
        with ssdlab.serve(socket=tmp_path / "s", **options):
            client = Client(tmp_path / "s")
            for number in range(40):
                client.write(number * 4096, bytes(4096))
            client.ask(FLUSH)
    assert (tmp_path / "data.drive").exists()


def test_a_drive_of_other_data_is_refused(tmp_path):
    options = {"device": "agrawal2008", "size": "1MiB", "set": SMALL}
    for name in ("a", "b"):
        ssdlab.serve(socket=tmp_path / "s", backing=tmp_path / name, **options).stop()
        time.sleep(0.01)
    os.replace(tmp_path / "a.drive", tmp_path / "b.drive")
    with pytest.raises(ssdlab.InputError, match="it belongs to other data"):
        ssdlab.serve(socket=tmp_path / "s", backing=tmp_path / "b", **options)
    os.unlink(tmp_path / "b.drive")
    ssdlab.serve(socket=tmp_path / "s", backing=tmp_path / "b", **options).stop()
    other = options | {"set": {"device.blocks_per_plane": 32}}
    with pytest.raises(ssdlab.InputError, match="blocks_per_plane is 16 there and 32 here"):
        ssdlab.serve(socket=tmp_path / "s", backing=tmp_path / "b", **other)


def test_the_drive_is_kept_though_the_trace_cannot_be_written(tmp_path):
    (tmp_path / "t.csv").symlink_to("/dev/full")
    options = {"device": "agrawal2008", "size": "1MiB", "set": SMALL}
    options |= {"backing": tmp_path / "a", "record": tmp_path / "t.csv"}
    live = ssdlab.serve(socket=tmp_path / "s", **options)
    Client(tmp_path / "s").write(0, bytes(4096))
    with pytest.raises(OSError, match=r"t.csv: cannot be written"):
        live.stop()
    assert (tmp_path / "a.drive").exists()


def test_copies_of_data_and_drive_belong_together(tmp_path):
    options = {"device": "agrawal2008", "size": "1MiB", "set": SMALL}
    ssdlab.serve(socket=tmp_path / "s", backing=tmp_path / "a", **options).stop()
    for name in ("a", "a.drive"):
        subprocess.run(
            ["cp", "-p", tmp_path / name, tmp_path / name.replace("a", "b", 1)], check=True
        )
    ssdlab.serve(socket=tmp_path / "s", backing=tmp_path / "b", **options).stop()


# What else clients see


def test_read_only_is_said_and_held(tmp_path):
    with ssdlab.serve("null", socket=tmp_path / "s", size="1MiB", read_only=True):
        client = Client(tmp_path / "s")
        assert client.flags & 2
        assert error_of(client, WRITE, 0, data=b"x") == PERM
        assert client.read(0, 1) == b"\0"


def test_who_comes_when_all_places_are_taken_hears_so(tmp_path):
    with ssdlab.serve("null", socket=tmp_path / "s", size="1MiB"):
        clients = [Client(tmp_path / "s") for _ in range(64)]
        for client in clients:
            client.read(0, 1)
        late = socket.socket(socket.AF_UNIX)
        late.settimeout(30)
        late.connect(os.fspath(tmp_path / "s"))
        late.sendall(b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06" + bytes(6))
        heard = b""
        while piece := late.recv(4096):
            heard += piece
        assert b"all places are taken" in heard
        clients.pop().socket.close()
        # Until the server has heard that one is gone, the next is sent away.
        until, newcomer = time.monotonic() + 30, None
        while newcomer is None:
            with contextlib.suppress(*([AssertionError, OSError] * (time.monotonic() < until))):
                newcomer = Client(tmp_path / "s")
        assert newcomer.read(0, 1) == b"\0"


def test_a_floor_that_is_none_is_refused(tmp_path, refused):
    file = tmp_path / "overhead.json"
    for text, message in [
        ("{}", "no rows for reads"),
        ('{"overhead": {"read": [{"bytes": 1}]}}', "a row needs bytes"),
        ("no", "expected"),
    ]:
        file.write_text(text)
        assert message in refused("serve", "--socket", "s", "--overhead", file), text


def test_who_has_a_floor_is_answered_so_much_earlier(tmp_path):
    row = [{"bytes": 512, "outside_us": 3000, "least_us": 3000}]
    file = tmp_path / "overhead.json"
    file.write_text(json.dumps({"overhead": {"read": row, "write": row}}))
    keys = {"device.random_read.fixed": "20ms", "device.random_read.per_kib": "0us"}
    options = {"size": "1MiB", "set": keys, "overhead": file, "time_scale": 5.0}
    with ssdlab.serve("zeus-linear", socket=tmp_path / "s", **options) as live:
        client = Client(tmp_path / "s")
        began = time.monotonic()
        client.read(4096, 512)
        assert time.monotonic() - began > 0.09
    assert live.results.live.error.seen_by == "client"
    assert live.results.live.overhead_us.read.to_dict()["512"] == 3000
