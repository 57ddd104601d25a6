"""Several drives at one socket: each has its name, time, data and results."""

import json
import re
import signal
import subprocess
import time

import haggler
import pytest
from haggler import Haggler, name
from other_programs import call, need

import ssdlab
from ssdlab import control
from ssdlab.live.export_option import variable

MIB = 1 << 20
READ, WRITE, FLUSH = 0, 1, 3
SIMPLE_REPLY = 0x67446698
TINY = {"device.blocks_per_plane": 16}


@pytest.fixture
def serve(tmp_path):
    running = []

    def start(exports, **options):
        options = {"socket": tmp_path / f"s{len(running)}"} | options
        running.append(ssdlab.serve_exports(exports, **options))
        return running[-1]

    yield start
    for live in running:
        live.stop()


def client(live, export, **infos):
    it = Haggler(live[export].uri)
    assert it.kinds(haggler.GO, name(export))[-1] == haggler.ACK
    return it


def write(it, offset, data):
    assert it.ask(WRITE, offset, data=data) == SIMPLE_REPLY
    assert it.receive(12) == bytes(4) + (7).to_bytes(8, "big")


def read(it, offset, length):
    assert it.ask(READ, offset, length) == SIMPLE_REPLY
    assert it.receive(12)[:4] == bytes(4)
    return it.receive(length)


def test_nbdinfo_lists_them(serve):
    need("nbdinfo")
    live = serve(
        {
            "fast": {"device": "null", "size": "8MiB", "description": "the new one"},
            "old disk/ü": {"device": "null", "size": "4MiB", "read_only": True},
        }
    )
    listed = json.loads(call("nbdinfo", "--list", "--json", live["fast"].uri))["exports"]
    found = {it["export-name"]: (it["export-size"], it["is_read_only"]) for it in listed}
    assert found == {"fast": (8 * MIB, False), "old disk/ü": (4 * MIB, True)}
    assert [it["description"] for it in listed] == ["the new one", "null, simulated by ssdlab"]
    for export, size in (("fast", 8 * MIB), ("old disk/ü", 4 * MIB)):
        # The URI says which is meant.
        one = json.loads(call("nbdinfo", "--json", live[export].uri))["exports"][0]
        assert (one["export-name"], one["export-size"]) == (export, size)
    bare = live["fast"].uri.replace("/fast?", "/?")
    assert json.loads(call("nbdinfo", "--json", bare))["exports"][0]["export-size"] == 8 * MIB
    said = call("nbdinfo", live["fast"].uri.replace("/fast?", "/slow?"), check=False)
    assert "export-size" not in said


def test_an_unknown_name_is_answered(serve):
    live = serve({"a": "null", "b": "null"})
    with Haggler(live["a"].uri) as it:
        for number in (haggler.INFO, haggler.GO):
            assert it.kinds(number, name("c")) == [haggler.UNKNOWN]
        assert it.kinds(haggler.LIST) == [haggler.SERVER, haggler.SERVER, haggler.ACK]
        # The client may go on.
        assert it.kinds(haggler.GO, name("b")) == [haggler.INFORMATION, haggler.ACK]
        assert read(it, 0, 512) == bytes(512)
    with Haggler(live["a"].uri) as it:
        it.socket.sendall(haggler.option(haggler.EXPORT_NAME, b"c"))
        assert it.hears_no_more()


def test_each_has_its_own_data_clock_and_results(serve, tmp_path):
    exports = {
        "a": {
            "device": "agrawal2008",
            "set": TINY,
            "backing": tmp_path / "data",
            "record": tmp_path / "a.parquet",
            "seed": 5,
        },
        "b": {"device": "null", "size": "8MiB"},
    }
    with serve(exports) as live:
        with client(live, "a") as a, client(live, "b") as b:
            write(a, 0, b"a" * 4096)
            assert read(b, 0, 4096) == bytes(4096)
            write(b, 0, b"b" * 512)
            assert read(a, 0, 4096) == b"a" * 4096
            assert read(a, 0, 512) == b"a" * 512
        assert live.status().requests == 5
        assert (live["a"].status().requests, live["b"].status().requests) == (3, 2)
    a, b = live.results["a"], live.results["b"]
    assert (a.host.write.requests, a.host.read.requests) == (1, 2)
    assert (b.host.write.mean_us, a.host.write.mean_us > 100) == (0, True)
    assert b.live.uri == live["b"].uri
    assert (tmp_path / "data").read_bytes()[:4096] == b"a" * 4096
    # What was recorded of one is replayed as that of one.
    again = ssdlab.run(device="agrawal2008", trace=tmp_path / "a.parquet", set=TINY, seed=5)
    assert again.host.read.mean_us == a.host.read.mean_us


def test_orders_are_for_one_of_them(serve, tmp_path):
    sockets = {it: tmp_path / f"{it}.ctl" for it in "ab"}
    drive = {"device": "zeus-linear", "size": "8MiB"}
    live = serve({it: drive | {"control": sockets[it]} for it in "ab"})
    with client(live, "a") as a, client(live, "b") as b:
        control.order(sockets["a"], "fail write all")
        assert a.ask(WRITE, 0, data=bytes(512)) == SIMPLE_REPLY
        assert int.from_bytes(a.receive(12)[:4], "big") == 5
        write(b, 0, b"fine" * 128)
        control.order(sockets["b"], "stall 500ms")
        started = time.monotonic()
        assert read(a, 0, 512) == bytes(512)
        between = time.monotonic() - started
        assert read(b, 0, 4) == b"fine"
        assert time.monotonic() - started > max(between, 0.3)


def test_a_cut_takes_the_clients_of_one(serve, tmp_path):
    cut = {"device": "agrawal2008", "control": tmp_path / "ctl"}
    cut["set"] = TINY | {"device.persistence.recovery": "summary"}
    live = serve({"a": cut, "b": {"device": "null", "size": "8MiB"}})
    with client(live, "a") as a, client(live, "b") as b:
        write(a, 0, b"x" * 4096)
        control.order(tmp_path / "ctl", "cut off 100ms")
        assert a.hears_no_more()
        write(b, 0, b"y" * 512)
    # Who comes meanwhile waits until it is back.
    with client(live, "a") as a:
        assert read(a, 0, 4096) == b"x" * 4096


def test_the_limit_on_clients_is_for_all_exports_together(serve):
    live = serve({it: {"device": "null", "size": "1MiB"} for it in "ab"})
    inside = [client(live, "ab"[number % 2]) for number in range(64)]
    for it in inside[1:]:
        read(it, 0, 512)
    started = time.monotonic()
    with Haggler(live["a"].uri) as late:
        (kind, words), *_ = late.say(haggler.GO, name("b"))
        assert (kind, words) == (haggler.POLICY, b"all places are taken; try again later")
    # One that has asked for nothing in 10 s makes room, and only that.
    time.sleep(max(0, 10.5 - (time.monotonic() - started)))
    with client(live, "b") as late:
        read(late, 0, 512)
        assert inside[0].hears_no_more()
        read(inside[1], 0, 512)
        read(inside[2], 0, 512)
    for it in inside:
        it.socket.close()
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with Haggler(live["a"].uri) as it:
            if it.kinds(haggler.GO, name("a"))[-1] == haggler.ACK:
                break
        time.sleep(0.05)
    else:
        raise AssertionError("nobody who left made room")


def test_clients_that_do_not_speak_nbd_are_disconnected(serve):
    live = serve({"a": "null", "b": "null"})
    for words in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0\0\0\x03" + b"x" * 4000):
        with Haggler(live["a"].uri) as it:
            it.socket.sendall(words)
            assert it.hears_no_more()
    with client(live, "a") as it:
        read(it, 0, 512)


def test_what_is_said_with_the_choice_is_heard(serve):
    """A client need not wait for the answer to its choice before it asks."""
    live = serve({"a": "null", "b": {"device": "null", "size": "1MiB"}})
    with Haggler(live["a"].uri) as it:
        asks = b"\x25\x60\x95\x13\0\0\0\x01" + bytes(8) + bytes(8) + (512).to_bytes(4, "big")
        words = haggler.option(haggler.EXPORT_NAME, b"b") + asks + b"z" * 512
        it.socket.sendall(words)
        assert int.from_bytes(it.receive(10)[:8], "big") == MIB
        assert it.receive(16)[:8] == SIMPLE_REPLY.to_bytes(4, "big") + bytes(4)
        assert read(it, 0, 512) == b"z" * 512


def test_one_that_cannot_be_served_keeps_all_closed(tmp_path):
    (tmp_path / "short").write_bytes(bytes(100))
    place = tmp_path / "s"
    good = {"device": "null", "size": "1MiB"}
    for bad, message in [
        ({"device": "nonesuch"}, "nonesuch"),
        ({"device": "null", "size": "1000B"}, "export b: size 1000B: not a multiple of 512"),
        (good | {"backing": tmp_path / "short"}, "export b: backing file"),
        (good | {"sized": 1}, "export b: there is no sized of an export; there are allow_code"),
        (good | {"record": tmp_path / "x.csv"}, "x.csv is what export a: record names already"),
    ]:
        with pytest.raises(ssdlab.InputError, match=re.escape(message)):
            record = {"record": tmp_path / "x.csv"} if "record" in bad else {}
            ssdlab.serve_exports({"a": good | record, "b": bad}, socket=place)
        assert not place.exists()
    with pytest.raises(ssdlab.InputError, match="longer than 255 bytes"):
        ssdlab.serve_exports({"x" * 256: good}, socket=place)
    with pytest.raises(ssdlab.InputError, match="0 exports"):
        ssdlab.serve_exports({}, socket=place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_with_results(command, tmp_path, number):
    words = [*command, "serve", "--socket", "s", "--json", "-", "--size", "1MiB"]
    words += ["--export", "fast=null,size=2MiB,description=a,,b", "--export", "old=null"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        uris = [process.stderr.readline().rpartition(" at ")[2].strip() for _ in range(2)]
        assert uris[0].startswith("nbd+unix:///fast?socket=/")
        with Haggler(uris[1]) as it:
            (_, listed), *_ = it.say(haggler.LIST)
            assert listed == b"\0\0\0\x04fasta,b"
            it.say(haggler.GO, name("old"))
            read(it, 0, 512)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, err) == (0, "")
    exports = json.loads(out)["exports"]
    asked = [exports[it]["host"]["read"]["requests"] for it in ("fast", "old")]
    assert asked == [0, 1]
    assert [exports[it]["live"]["size_bytes"] for it in ("fast", "old")] == [2 * MIB, MIB]
    assert not (tmp_path / "s").exists()


def test_a_command_finds_each(ssdlab, tmp_path):
    done = ssdlab(
        *("serve", "--export", "new drive=null,size=1MiB", "--export", "old=null,size=1MiB"),
        *("--run", 'echo "$uri" "$uri_new_drive" "$uri_old"'),
    )
    assert done.returncode == 0, done.stderr
    first, same, other = done.stdout.splitlines()[0].split()
    assert first == same and "/new%20drive?" in same and "/old?" in other
    assert done.stdout.count("Export ") == 2
    assert variable("a-b.ü") == "uri_a_b__"


def test_wrong_exports_are_refused(refused):
    place = ("--socket", "s")
    for words, message in [
        (("--export", "fast"), "write NAME=DEVICE first"),
        (("--export", "=null"), "write NAME=DEVICE first"),
        (("--export", "a=null,colour=red"), '"colour=red" is no KEY=VALUE of an export'),
        (("--export", "a=null,size"), '"size" is no KEY=VALUE of an export'),
        (("--export", "a=null,read-only=yes"), '"read-only=yes" is no KEY=VALUE'),
        (("--export", "a=null,seed=x"), 'seed "x" is not a whole number'),
        (("--export", "a=null,device.nonesuch=1"), "nonesuch"),
        (("--export", "a=null", "--export", "a=null"), "name is used twice"),
        (("--export", "a=null", "--device", "null"), "--device and --export exclude"),
        (("--export", "a=null", "--backing", "f"), "write NAME=DEVICE,backing=VALUE"),
        (("--device", "null", "--tls", "require"), "a directory with certificates is needed"),
        (("--device", "null", "--tls-certificates", "no"), "server-cert.pem: No such file"),
    ]:
        assert message in refused("serve", *place, *words), words
