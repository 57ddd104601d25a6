"""Programs that others wrote, on the live device. What is not installed is skipped by its name."""

import itertools
import json
import os
import sqlite3
import subprocess

import pytest
from other_programs import call, mounted, need

import ssdlab

MIB = 1 << 20
DRIVE = {"device.blocks_per_plane": 16}


@pytest.fixture
def live(tmp_path):
    """A drive of 64 MiB on a Unix socket, with its data in a file."""
    with ssdlab.serve(
        "agrawal2008",
        record=tmp_path / "trace.parquet",
        socket=tmp_path / "socket",
        size="64MiB",
        backing=tmp_path / "data",
        set=DRIVE,
    ) as live:
        yield live


def test_nbdinfo(live):
    need("nbdinfo")
    export = json.loads(call("nbdinfo", "--json", live.uri))["exports"][0]
    assert export["export-size"] == 64 * MIB
    can = {word for word in ("flush", "fua", "trim", "zero", "multi_conn") if export[f"can_{word}"]}
    assert can == {"flush", "fua", "trim", "zero", "multi_conn"}
    assert (export["block_size_minimum"], export["block_size_maximum"]) == (512, 32 * MIB)
    assert len(json.loads(call("nbdinfo", "--list", "--json", live.uri))["exports"]) == 1


@pytest.mark.parametrize("backing", [None, "file"])
def test_what_was_never_written_is_known(tmp_path, backing):
    need("nbdinfo", "nbdcopy")
    options = {"socket": tmp_path / "socket", "size": "64MiB"}
    if backing is not None:
        options["backing"] = tmp_path / backing
    with ssdlab.serve("null", **options) as live:
        source = tmp_path / "source"
        with open(source, "wb") as file:
            file.truncate(64 * MIB)
            file.seek(8 * MIB)
            file.write(os.urandom(MIB))
        call("nbdcopy", "--destination-is-zero", source, live.uri)
        extents = json.loads(call("nbdinfo", "--map", "--json", live.uri))
        assert sum(extent["length"] for extent in extents) == 64 * MIB
        written = [extent for extent in extents if extent["type"] == 0]
        assert sum(extent["length"] for extent in written) < 3 * MIB
        assert all(extent["type"] == 3 for extent in extents if extent not in written)
        before = live.status().bytes
        call("nbdcopy", live.uri, tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == source.read_bytes()
        # The rest was not read.
        assert live.status().bytes - before < 3 * MIB


def test_nbdcopy(live, tmp_path):
    need("nbdcopy")
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(os.urandom(8 * MIB) + bytes(56 * MIB))
    call("nbdcopy", "--flush", source, live.uri)
    assert (tmp_path / "data").read_bytes() == source.read_bytes()
    call("nbdcopy", "--connections", "4", live.uri, back)
    assert back.read_bytes() == source.read_bytes()


def test_nbdsh(live):
    need("nbdsh")
    script = f"""
h.set_strict_mode(0)  # what is beyond the end is for the server to judge
h.set_request_block_size(False)  # who asks keeps to them
h.connect_uri("{live.uri}")
h.pwrite(b"a" * 1000, 777, nbd.CMD_FLAG_FUA)
assert h.pread(1002, 776) == b"\\0" + b"a" * 1000 + b"\\0"
h.zero(512, 1024); h.trim(512, 2048); h.flush()
assert h.pread(2, 1023) == b"a\\0"
try:
    h.pread(512, h.get_size())
    raise SystemExit("read beyond the end")
except nbd.Error as error:
    assert error.errno == "EINVAL", error
assert h.pread(1, 777) == b"a"
"""
    # Its module belongs to the system's Python.
    environment = os.environ | {"PATH": "/usr/bin:/bin"}
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    words = ["nbdsh", "-c", script]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    if "No module named" in done.stderr:
        pytest.skip("nbdsh has no python3-libnbd")
    assert done.returncode == 0, done.stderr


def test_qemu(live, tmp_path):
    need("qemu-img", "qemu-io")
    assert (
        json.loads(call("qemu-img", "info", "--output=json", live.uri))["virtual-size"] == 64 * MIB
    )
    commands = ["write -P 7 0 1M", "write -z 64k 64k", "discard 0 32k", "aio_write -P 9 3M 4k"]
    commands += ["aio_flush", "flush", "write -f -P 3 5000 10000"]
    commands += [
        "read -P 7 32k 32k",
        "read -P 0 64k 64k",
        "read -P 9 3M 4k",
        "read -P 3 5000 10000",
    ]
    words = [word for command in commands for word in ("-c", command)]
    said = call("qemu-io", "-f", "raw", *words, live.uri)
    assert "Pattern verification failed" not in said and "error" not in said.lower(), said
    call("qemu-img", "convert", "-f", "raw", "-O", "raw", live.uri, tmp_path / "copy")
    said = call("qemu-img", "compare", "-f", "raw", "-F", "raw", live.uri, tmp_path / "copy")
    assert "Images are identical." in said
    call("qemu-img", "bench", "-f", "raw", "-t", "none", "-c", 500, "-d", 16, "-w", live.uri)


def test_fio_verifies_what_it_wrote(live):
    need("fio")
    if "nbd" not in call("fio", "--enghelp"):
        pytest.skip("fio has no engine nbd")
    words = ["fio", "--name=x", "--ioengine=nbd", f"--uri={live.uri}", "--output-format=json"]
    words += ["--rw=randwrite", "--bsrange=512-64k", "--blockalign=512", "--iodepth=8"]
    words += ["--size=64M", "--io_size=8M", "--fsync=32", "--verify=crc32c", "--do_verify=1"]
    words += ["--verify_state_save=0"]
    said = call(*words)
    job = json.loads(said[said.index("{") :])["jobs"][0]
    assert job["error"] == 0
    assert job["write"]["io_bytes"] == job["read"]["io_bytes"] > 7 * MIB


@pytest.mark.parametrize("outstanding", [1, 32])
def test_fio_reads_with_many_outstanding(tmp_path, outstanding):
    need("fio")
    with ssdlab.serve("null", socket=tmp_path / "socket", size="64MiB") as live:
        words = ["fio", "--name=x", "--ioengine=nbd", f"--uri={live.uri}", "--rw=randread"]
        words += ["--bs=4k", "--size=64M", f"--iodepth={outstanding}", "--number_ios=10000"]
        said = call(*words, "--output-format=json")
        job = json.loads(said[said.index("{") :])["jobs"][0]
    assert job["error"] == 0
    assert job["read"]["total_ios"] == live.results.host.read.requests == 10_000


# The Zeus drive: A and B in us and us per KiB.
ZEUS = {"randread": (230.6, 3.987), "randwrite": (770.0, 5.382)}


def medians(live, prefix, count, clock):
    """The median latency that fio sees over the law's, by pattern and KiB.

    `clock` is fio's: `lat_ns` starts before a request is sent, `clat_ns` when it has been sent.
    """
    found = {}
    for (pattern, (fixed, per_kib)), kib in itertools.product(ZEUS.items(), (4, 64, 1024)):
        words = [*prefix, "fio", "--name=x", "--ioengine=nbd", f"--uri={live.uri}"]
        words += ["--size=64M", f"--rw={pattern}", f"--bs={kib}k", f"--number_ios={count}"]
        words += ["--lat_percentiles=1", "--clat_percentiles=1"]
        said = call(*words, "--output-format=json")
        job = json.loads(said[said.index("{") :])["jobs"][0][pattern.removeprefix("rand")]
        median = job[clock]["percentile"]["50.000000"] / 1000
        found[pattern, kib] = median / (fixed + per_kib * kib)
    return found


def test_what_a_client_of_the_live_device_asked_is_simulated_to_the_law(tmp_path):
    need("fio")
    with ssdlab.serve("zeus-linear", socket=tmp_path / "socket", size="64MiB") as live:
        medians(live, [], 20, "lat_ns")
    # One outstanding, 20 of each size.
    for direction, pattern in (("read", "randread"), ("write", "randwrite")):
        fixed, per_kib = ZEUS[pattern]
        mean = fixed + per_kib * (4 + 64 + 1024) / 3
        assert getattr(live.results.host, direction).mean_us == pytest.approx(mean, rel=1e-3)


@pytest.mark.nightly
def test_the_live_device_is_hardly_faster_than_its_model(tmp_path):
    """The server answers early by what the transport takes, which it measures at its start."""
    need("fio")
    with ssdlab.serve("zeus-linear", socket=tmp_path / "socket", size="64MiB") as live:
        found = medians(live, [], 20, "lat_ns")
    if live.results.live.timing == "invalid":
        pytest.skip(f"timing: invalid, {live.results.live.reason}")
    # fio's percentiles come from a histogram, to 1 %.
    assert min(found.values()) > 0.95, found


@pytest.mark.nightly
def test_the_live_device_obeys_its_model(tmp_path):
    need("fio", "chrt")
    if os.cpu_count() < 2:
        pytest.skip("client and server need a processor each")
    if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True).returncode:
        pytest.skip("chrt -f is not allowed here")
    with ssdlab.serve(
        "zeus-linear", socket=tmp_path / "socket", size="64MiB", realtime=True
    ) as live:
        found = medians(live, ["chrt", "-f", "1"], 100, "clat_ns")
    timing = live.results.live
    if timing.timing == "invalid":
        pytest.skip(f"timing: invalid, {timing.reason}")
    # The typical request: on a busy machine some of the others have to wait.
    assert max(abs(ratio - 1) for ratio in found.values()) < 0.05, found


def test_a_file_system_and_a_database(live, tmp_path):
    with mounted(live, tmp_path) as place:
        (place / "file").write_bytes(b"x" * 3 * MIB)
        database = sqlite3.connect(place / "db")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT)")
        for number in range(200):
            with database:
                database.execute("INSERT INTO t VALUES (?, ?)", (number, "text" * 50))
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()
        assert (place / "file").stat().st_size == 3 * MIB
    results = live.stop()
    assert results.host.flush.requests > 0
    assert results.host.write.requests > 100
    # Simulated once more it is the same; and what SQLite saw was that, if the verdict says so.
    again = ssdlab.run(device="agrawal2008", trace=tmp_path / "trace.parquet", set=DRIVE)
    assert again.host.to_dict() == results.host.to_dict()
    if results.live.timing == "valid":
        seen = results.live.measured.all.mean_us
        assert seen == pytest.approx(again.host.all.mean_us, rel=0.05)
