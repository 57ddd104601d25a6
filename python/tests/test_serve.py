"""The live device: what clients see, its results, and how it refuses and ends."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
from short_client import FLUSH, FUA, READ, TRIM, WRITE, Client

import ssdlab
from ssdlab.live import Status
from ssdlab.live.display import status_text

SMALL = {"device.blocks_per_plane": 64}


@pytest.fixture
def serve(tmp_path):
    """`ssdlab.serve` on a socket in an empty directory; the device and its socket's path."""
    running = []

    def call(**options):
        path = tmp_path / f"socket{len(running)}"
        options = {"device": "null", "size": "8MiB", "socket": path} | options
        running.append(ssdlab.serve(**options))
        return running[-1], path

    yield call
    for live in running:
        live.stop()


@pytest.fixture
def served(command, tmp_path):
    """`ssdlab serve` as a process, once it listens."""
    running = []

    def call(*arguments, path="socket"):
        words = [*command, "serve", "--socket", path, *arguments]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        running.append(process)
        line = process.stderr.readline()
        while "warning" in line:
            line = process.stderr.readline()
        assert "serving" in line, line + process.stderr.read()
        return process

    yield call
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def tool(name):
    """The path of a program, without which the test is skipped."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


# What a client sees


def test_what_is_written_is_read(serve):
    live, path = serve()
    client = Client(path)
    assert client.size == live.size_bytes == 8 << 20
    assert client.read(0, 4096) == bytes(4096)
    client.write(4096, b"x" * 4096, FUA)
    # Not even sectors are needed.
    client.write(5000, b"yy")
    client.ask(FLUSH)
    assert Client(path).read(4990, 14) == b"x" * 10 + b"yy" + b"x" * 2
    client.ask(TRIM, 4096, 4096)
    assert client.read(4096, 4096) == bytes(4096)


def test_connections_do_not_disturb_each_other(serve):
    _, path = serve()
    good = Client(path)
    half = Client(path)
    half.send(WRITE, 0, 1 << 20, data=b"z" * 1000)
    mad = Client(path)
    mad.socket.sendall(b"\xff" * 28)
    assert mad.socket.recv(1) == b""
    half.socket.close()
    silent = socket.socket(socket.AF_UNIX)
    silent.connect(os.fspath(path))
    # Of a write whose data did not all come, nothing is written.
    assert good.read(0, 4096) == bytes(4096)
    good.write(0, b"a")
    assert good.read(0, 2) == b"a\0"
    silent.close()


def test_wrong_requests_are_answered(serve):
    _, path = serve()
    client = Client(path)
    for command, offset, length, error in [
        (READ, client.size, 1, 22),
        (READ, 0, (32 << 20) + 1, 22),
        (TRIM, client.size - 1, 2, 22),
        (99, 0, 1, 22),
    ]:
        client.send(command, offset, length, cookie=7)
        assert client.answer()[::2] == (error, 7)
    client.send(WRITE, client.size, 3, data=b"abc")
    assert client.answer()[0] == 28
    assert client.read(0, 1) == b"\0"


# Results


def test_results_are_those_of_the_replayed_trace(serve, tmp_path):
    live, path = serve(device="agrawal2008", set=SMALL, record=tmp_path / "t.parquet")
    client = Client(path)
    for number in range(50):
        client.write(number * 12288 % (1 << 20), bytes(4096 * (1 + number % 3)), number % 2)
        client.read(number * 4096, 8192)
    client.ask(FLUSH)
    client.ask(TRIM, 0, 65536)
    results = live.stop()
    assert live.status() is None
    assert results.host.read.requests == results.host.write.requests == 50
    assert results.live.requests == 102
    assert results.live.measured.read.mean_us >= results.host.read.min_us
    seen, model = results.live.measured.all, results.host.all
    assert results.live.error.mean == pytest.approx(seen.mean_us / model.mean_us - 1)
    assert results.live.error.p99 is not None and results.live.error.seen_by == "server"
    again = ssdlab.run(device="agrawal2008", trace=tmp_path / "t.parquet", set=SMALL)
    assert again.host.to_dict() == results.host.to_dict()
    assert again.flash.to_dict() == results.flash.to_dict()


def test_forced_writes_wait_for_the_flash_live_and_in_the_replay(serve, tmp_path):
    keys = {"device.buffer.power_loss_protected": False}
    found = []
    for fua in (0, 1):
        trace = tmp_path / f"{fua}.parquet"
        live, path = serve(device="tlc-client", set=keys, size="16MiB", record=trace)
        client = Client(path)
        for number in range(8):
            client.write(number << 16, bytes(4096), fua)
        client.ask(FLUSH)
        results = live.stop()
        again = ssdlab.run(device="tlc-client", trace=trace, set=keys)
        assert again.host.to_dict() == results.host.to_dict()
        found.append(results.host.write.percentiles_us["50"])
    assert found[1] > 5 * found[0]


def test_requests_take_at_least_what_the_model_says(serve):
    slow = {"device.random_read.fixed": "20ms"}
    _, path = serve(set=slow, time_scale=2.0)
    client = Client(path)
    started = time.monotonic()
    for number in (5, 3, 1):
        client.read(number << 20, 512)
    # But for the floor, which is much less than a millisecond.
    assert time.monotonic() - started > 3 * 0.040 - 0.003


def test_status_counts(serve):
    live, path = serve()
    client = Client(path)
    for _ in range(5):
        client.read(0, 4096)
    status = live.status()
    assert (status.requests, status.bytes) == (5, 5 * 4096)


def test_data_stay_in_the_backing_file(serve, tmp_path):
    file = tmp_path / "data"
    live, path = serve(backing=file)
    Client(path).write(1000, b"stay")
    live.stop()
    assert file.stat().st_size == 8 << 20
    _, path = serve(backing=file, size=None)
    client = Client(path)
    assert client.size == 8 << 20
    assert client.read(1000, 4) == b"stay"


# How it refuses


def test_wrong_input_is_refused(refused, tmp_path, serve):
    _, busy = serve(backing=tmp_path / "locked")
    (tmp_path / "short").write_bytes(bytes(512))
    (tmp_path / "file").touch()
    tiny = "--set", "device.blocks_per_plane=16"
    for words, message in [
        ((), "--nvme URI or --run COMMAND is needed"),
        (("--socket", "a", "--port", "1"), "--socket and --port exclude each other"),
        (("--socket", busy), "in use: another server listens there"),
        (("--socket", "file"), "is not a socket"),
        (("--socket", "no/such"), "cannot be made"),
        (("--socket", "s", "--size", "100TiB"), "the device has only"),
        (("--socket", "s", "--size", "1000B"), "not a multiple of 512"),
        (("--socket", "s", "--size", "much"), 'size: "much"'),
        (("--socket", "s", "--backing", "locked"), "another server or program has locked it"),
        (("--socket", "s", "--backing", "short", "--size", "1MiB"), "it has 512 bytes, too few"),
        (("--socket", "s", "--backing", "no/such"), "cannot be opened"),
        (("--socket", "s", "--time-scale", "0"), "a time scale of 0"),
        (("--socket", "s", "--record", "t.exe"), "no trace format has this extension"),
        (("--socket", "s", "--record", "no/t.parquet"), "does not exist"),
        (("--socket", "s", "--rdelay", "1ms"), "there is no option"),
        (("--socket", "s", "--set", "device.nonesuch=1"), "nonesuch"),
        (("--socket", "s", "--host", "127.0.0.1", "--allow-remote"), "belong to --port"),
        (("null", "--device", "null", "--port", "0"), "DEVICE and --device say the same"),
        (("--backing", "x.csv", "--record", "x.csv", "--port", "0"), "x.csv is what --backing"),
        (("--record", "x.csv", "--json", "x.csv", "--port", "0"), "both written to x.csv"),
        (("--record", "x.csv", "--script", "x.csv.faults", "--port", "0"), "--record (.faults)"),
        (("--port", "0", "--host", "0.0.0.0"), "other machines could read and write"),
        (("--port", "0", "--host", "nowhere"), "neither an IP address nor localhost"),
    ]:
        assert message in refused("serve", *tiny, *words), words
    assert {path.name for path in tmp_path.iterdir()} == {"socket0", "locked", "short", "file"}


def test_a_dead_server_s_socket_is_taken_over(served, tmp_path):
    first = served("--set", "device.blocks_per_plane=16")
    first.kill()
    first.wait()
    assert (tmp_path / "socket").exists()
    served("--set", "device.blocks_per_plane=16")
    assert Client(tmp_path / "socket").read(0, 1) == b"\0"


# How it ends


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_with_results(served, tmp_path, number):
    process = served("--set", "device.blocks_per_plane=16", "--json", "-")
    Client(tmp_path / "socket").read(0, 4096)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["host"]["read"]["requests"] == 1
    assert not (tmp_path / "socket").exists()


def test_the_device_needs_no_option(ssdlab):
    done = ssdlab("serve", "null", "--size", "1MiB", "--run", "true", "--json", "-")
    assert json.loads(done.stdout)["experiment"]["device"]["kind"] == "law", done.stderr


def test_it_ends_with_the_command(ssdlab, tmp_path):
    tiny = "--set", "device.blocks_per_plane=16"
    done = ssdlab("serve", *tiny, "--run", 'echo "$uri" > uri; exit 3')
    assert (tmp_path / "uri").read_text().startswith("nbd+unix:///?socket=/")
    assert done.returncode == 1
    assert done.stderr == ('ssdlab: the command ended with status 3: echo "$uri" > uri; exit 3\n')
    assert "Timing invalid\nno request was answered" in done.stdout
    done = ssdlab("serve", *tiny, "--run", "true", "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["live"]["reason"] == "no request was answered"


def test_a_block_ends_it():
    with ssdlab.serve("null", size="1MiB", port=0) as live:
        assert live.uri.startswith("nbd://127.0.0.1:")
        client = Client(("127.0.0.1", int(live.uri.rpartition(":")[2])))
        client.write(0, b"over TCP")
        assert client.read(0, 8) == b"over TCP"
    assert live.results.host.all.requests == 2


def test_signals_end_its_preparations(command, busy, tmp_path):
    words = [*command, "serve", "--socket", "s", "--set", "run.precondition=random:1000"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    busy(process)
    # Nobody listens yet, so there is no socket.
    assert process.poll() is None and not (tmp_path / "s").exists()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (143, "ssdlab: interrupted; nothing was written\n")
    assert not any(tmp_path.iterdir())


def test_a_terminal_has_a_line_of_what_happens():
    before = Status(0, 0, 0.0, None, 0.0)
    now = Status(20_000, 81_920_000, 4.0, 1.25, 0.004)
    assert status_text(before, now, 2.0) == (
        "10,000 IOPS | 41.0 MB/s | 200.0 us | write amplification 1.25 | late 0.4%"
    )
    assert status_text(now, now, 1.0) == "0 IOPS | 0.0 MB/s | write amplification 1.25 | late 0.4%"
