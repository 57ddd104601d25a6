"""A full disk is reported with the name of the file, and no partial file is left."""

import atexit
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from short_client import Client

import ssdlab as package
from ssdlab import delivery, files, portable
from ssdlab.sweeps import backends
from ssdlab.sweeps.journal import Journal

pytestmark = pytest.mark.usefixtures("processes")

FULL = Path("/dev/full")
SERVED = [
    "serve",
    *["--set", "device.blocks_per_plane=32", "--device", "agrawal2008", "--size", "16MiB"],
    "--socket",
]
RUN = ["--set", "workload.requests=300", "--set", "device.blocks_per_plane=32"]
needs_full = pytest.mark.skipif(not FULL.is_char_device(), reason="no /dev/full")


@pytest.fixture
def full(tmp_path):
    """A file of a name that is as full as `/dev/full`."""

    def of(name):
        (tmp_path / name).symlink_to(FULL)
        return name

    return of


def moved(message):
    """The file that a message says to be elsewhere; it goes with the test."""
    path = Path(message.partition(" it is in ")[2].partition(" instead")[0])
    assert path.parent.name.startswith("ssdlab-")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    return path


@needs_full
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["run", *RUN, "--json", "{}"], "a.json"),
        (["run", *RUN, "--quiet", "--requests", "{}"], "a.parquet"),
        (
            ["run", *RUN, "--quiet", "--set", "run.precondition=random:1"]
            + ["--set", "run.save_drive={}"],
            "a.drive",
        ),
        (["report", "out", "--out", "{}"], "a.html"),
        (["report", "out", "out", "--out", "{}"], "a.html"),
        (["compare", "out", "out", "--json", "{}"], "a.json"),
        (["compare", "out", "out", "--plot", "{}"], "a.png"),
        (["compare", "out", "out", "--plot", "{}"], "a.svg"),
        (["sweep", *RUN, "--vary", "seed=1,2", "--json", "{}"], "a.json"),
        (["sweep", *RUN, "--vary", "seed=1,2", "--out", "{}"], "a.csv"),
        (["sweep", *RUN, "--vary", "seed=1,2", "--out", "{}"], "a.parquet"),
        (["trace", "convert", "t.csv", "{}", "--to", "msr"], "b.csv"),
        (["trace", "info", "t.csv", "--json", "{}"], "a.json"),
        (["cost", "out", "--need", "iops=1", "--device-dollars", "9", "--json", "{}"], "a.json"),
    ],
)
def test_a_full_disk_is_named(ssdlab, full, tmp_path, words, name):
    (tmp_path / "t.csv").write_text("128166372003061629,host,0,Read,0,4096,100\n")
    if "out" in words:
        assert ssdlab("run", *RUN, "--out", "out", "--quiet").returncode == 0
    before = {it.name for it in tmp_path.iterdir()}
    link = full(name)
    done = ssdlab(*(word.format(link) for word in words))
    assert done.returncode == 1, done
    said = done.stderr.strip().splitlines()
    assert len(said) == 1 and said[0].startswith("ssdlab: "), done.stderr
    assert re.search(rf"{re.escape(name)}\"?: cannot be written: No space left", said[0]), said[0]
    if words[0] != "report" and words[1] != "convert" and "--quiet" not in words:
        assert done.stdout.count("\n") > 1, "the table is shown whatever becomes of the files"
    if " instead" in said[0]:
        assert moved(said[0]).stat().st_size > 100
    else:  # what the engine writes to a device cannot be read back
        assert name in ("a.parquet", "a.drive", "b.csv") and words[0] != "sweep"
    # The device is still there, and nothing beside it but what a sweep has finished.
    left = {it.name for it in tmp_path.iterdir()} - before - {name, "a.jsonl"}
    assert not left and stat.S_ISCHR((tmp_path / name).stat().st_mode)


@needs_full
@pytest.mark.parametrize("words", [["run", *RUN], ["run", *RUN, "--json", "-"], ["keys"]])
def test_a_full_standard_output_is_named(command, words):
    with FULL.open("w") as full:
        done = subprocess.run(
            [*command, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 1
    assert done.stderr == "ssdlab: standard output: cannot be written: No space left on device\n"


@pytest.fixture
def small(tmp_path):
    """A file system of 64 KiB of which all but a page is taken."""
    if os.geteuid() != 0:
        pytest.skip("a file system of 64 KiB needs root")
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    (small / "filler").write_bytes(bytes(60 << 10))
    yield small
    subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--json", "SMALL/a.json", "--force"], "a.json"),
        (["--out", "SMALL/out"], "results.json"),
        (["--requests", "SMALL/a.parquet"], "a.parquet"),
        (
            ["--set", "run.precondition=random:1", "--set", "run.save_drive=SMALL/a.drive"],
            "a.drive",
        ),
    ],
)
def test_a_full_file_system_costs_no_results(ssdlab, small, tmp_path, options, name):
    (small / "a.json").write_text("whole")
    options = [word.replace("SMALL", str(small)) for word in options]
    # Another output of the same command, which has room, is where it was asked.
    requests = 20_000 if name == "a.parquet" else 300
    run = ["run", "--set", f"workload.requests={requests}", *RUN[2:]]
    done = ssdlab(*run, *options, *(["--json", "b.json"] if name != "a.json" else []))
    assert done.returncode == 1, done
    assert "requests in" in done.stdout and "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if "No space left on device" in line]
    assert lines and all(line.startswith("ssdlab: ") for line in lines), done
    assert name in lines[0] and moved(lines[0]).stat().st_size > 4096
    assert not [it for it in os.listdir(small) if it.endswith(".tmp")]
    assert (small / "a.json").read_text() == "whole"
    if name != "a.json":
        assert json.loads((tmp_path / "b.json").read_text())["schema"] == 1
    if name == "a.parquet":
        assert package.trace.info(moved(lines[0])).requests == requests
    if name == "a.drive":
        again = ["--set", "run.precondition=none", "--set", f"run.load_drive={moved(lines[0])}"]
        assert ssdlab("run", *RUN, *again, "--quiet").returncode == 0


def test_a_sweep_goes_on_elsewhere(ssdlab, small, tmp_path):
    sweep = ["--vary", "run.seed=1..9", "--out", small / "b.csv", "--workers", "1"]
    done = ssdlab("sweep", *RUN, *sweep)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done
    assert "b.jsonl: cannot be written: No space" in done.stderr
    assert done.stdout.startswith("9 points"), "the table is shown"
    journal = Path(re.search(r"its points go to (.*): copy it back", done.stderr)[1])
    table = moved(next(line for line in done.stderr.splitlines() if "b.csv" in line))
    atexit.register(shutil.rmtree, journal.parent, ignore_errors=True)
    assert len(journal.read_text().splitlines()) == 9 and table.read_text().count("\n") == 10
    assert sorted(os.listdir(small)) == ["filler"]
    # The same command goes on from what was kept.
    shutil.copy(journal, tmp_path / "b.jsonl")
    again = ssdlab("sweep", *RUN, *sweep[:2], "--out", "b.csv", "--quiet")
    assert again.returncode == 0, again
    assert (tmp_path / "b.csv").read_text() == table.read_text()


@pytest.mark.skipif(not portable.HAS_LIVE_DEVICE, reason="this build has no live device")
def test_a_served_device_has_results_though_its_record_has_no_room(command, small, tmp_path):
    record, socket = small / "a.csv", tmp_path / "s"
    served = subprocess.Popen(
        [*command, *SERVED, str(socket), "--record", str(record), "--json", "b.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        client = first_client(socket)
        for number in range(3000):
            client.write(4096 * (number % 1000), bytes(4096))
    finally:
        served.send_signal(signal.SIGINT)
        out, err = served.communicate(timeout=60)
    assert served.returncode == 1 and "Traceback" not in err, err
    assert "requests in" in out, "the table is shown"
    said = next(line for line in err.splitlines() if "No space left" in line)
    assert "a.csv: cannot be written" in said
    assert moved(said).read_text().count("\n") == 3000, "what was recorded is elsewhere"
    assert json.loads((tmp_path / "b.json").read_text())["host"]["write"]["requests"] == 3000


def first_client(socket):
    until = time.monotonic() + 60
    while True:
        try:
            return Client(socket)
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < until
            time.sleep(0.05)


NOWHERE = """
import resource, sys
from ssdlab.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
sys.exit(main(sys.argv[1:]))
"""


def test_where_there_is_room_nowhere_the_results_go_to_standard_error(tmp_path):
    words = [sys.executable, "-c", NOWHERE, "run", *RUN, "--json", "a.json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "requests in" in done.stdout, done
    said, _, results = done.stderr.partition("\n")
    assert "a.json: cannot be written: File too large; there is no room for it" in said
    assert json.loads(results)["host"]["all"]["requests"] == 300
    assert os.listdir(tmp_path) == []


def test_from_python_the_error_has_the_results(small, tmp_path):
    keys = {"workload.requests": 20_000, "device.blocks_per_plane": 32}
    with pytest.raises(OSError, match=r"a\.parquet: cannot be written") as said:
        package.run(set=keys, requests=small / "a.parquet")
    moved(str(said.value))
    assert said.value.results.host.all.requests == 20_000


@needs_full
def test_a_device_is_written_to_and_not_replaced(full, tmp_path):
    path = tmp_path / full("a")
    for write in (
        lambda: files.write(path, [b"text"]),
        lambda: delivery.write(path, "text"),
    ):
        with pytest.raises(files.NotWrittenError) as said:
            write()
        assert said.value.filename == str(path) and path.is_symlink()
        assert stat.S_ISCHR(FULL.stat().st_mode)


HALF = """
import os, sys
frame = sys._getframe()
while "result_queue" not in frame.f_locals:
    frame = frame.f_back
os.write(frame.f_locals["result_queue"]._writer.fileno(), b"\\0\\0")
os._exit(1)
"""
LEAVE = f"""
import time
from ssdlab.sweeps import backends
with backends.local(1) as crew:
    lane = crew._free[0]
    lane.call(exec, {HALF!r})
    while any(worker.is_alive() for worker in lane._pool._processes.values()):
        time.sleep(0.01)
"""


def test_a_sweep_ends_though_a_worker_was_cut_short_while_it_answered():
    """For example by Ctrl-C or a full disk: the rest of the answer is not awaited."""
    assert backends.local is not None
    subprocess.run([sys.executable, "-c", LEAVE], check=True, timeout=60)


def test_a_journal_has_only_whole_lines(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "a.jsonl")
    real = os.write

    def write(descriptor, data):
        if len(data) < 60:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:50])

    monkeypatch.setattr(os, "write", write)

    class Point:
        key, parameters = "0" * 32, {}

    with pytest.raises(files.NotWrittenError, match="No space left"):
        journal.add(Point(), ("{}", None))
    journal.close()
    assert os.listdir(tmp_path) == []
