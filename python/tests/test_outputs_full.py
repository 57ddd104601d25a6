"""A full disk is reported with the name of the file, and no partial file is left."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ssdlab import files
from ssdlab.sweeps import backends
from ssdlab.sweeps.journal import Journal

pytestmark = pytest.mark.usefixtures("processes")

FULL = Path("/dev/full")
RUN = ["--set", "workload.requests=300", "--set", "device.blocks_per_plane=32"]
needs_full = pytest.mark.skipif(not FULL.is_char_device(), reason="no /dev/full")


@pytest.fixture
def full(tmp_path):
    """A file of a name that is as full as `/dev/full`."""

    def of(name):
        (tmp_path / name).symlink_to(FULL)
        return name

    return of


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


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of 64 KiB needs root")
def test_a_full_file_system_keeps_what_was_whole(ssdlab, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (small / "a.json").write_text("whole")
        (small / "filler").write_bytes(bytes(60 << 10))
        drive = [
            "--set",
            "run.precondition=random:1",
            "--set",
            f"run.save_drive={small / 'a.drive'}",
        ]
        for name, words in {
            "a.json": ["--json", small / "a.json"],
            "results.json": ["--out", small / "out"],
            "a.drive": drive,
            "a.parquet": ["--requests", small / "a.parquet"],
        }.items():
            done = ssdlab("run", *RUN, "--quiet", *words)
            assert done.returncode == 1 and done.stderr.count("\n") == 1, done
            assert name in done.stderr and "No space left on device" in done.stderr
            assert sorted(os.listdir(small)) == ["a.json", "filler"], name
        assert (small / "a.json").read_text() == "whole"
        sweep = ["--vary", "run.seed=1..9", "--out", small / "b.csv", "--quiet"]
        done = ssdlab("sweep", *RUN, *sweep)
        assert done.returncode == 1 and "b.jsonl: cannot be written: No space" in done.stderr
        assert sorted(os.listdir(small)) == ["a.json", "filler"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


@needs_full
def test_a_device_is_written_to_and_not_replaced(full, tmp_path):
    path = tmp_path / full("a")
    for write in (
        lambda: files.write_bytes(path, [b"text"]),
        lambda: files.write_together({path: "text"}),
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
