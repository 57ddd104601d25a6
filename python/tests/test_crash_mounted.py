"""Crash tests of file systems: a few points of the controls, and that nothing is left behind.

They need root and the programs that mount; what is lacking is the reason why they are skipped.
"""

import json
import os
import signal
import subprocess
import time

import pytest

from ssdlab.crashes import run

pytestmark = pytest.mark.skipif(
    run.unavailable("ext4", None) is not None, reason=str(run.unavailable("ext4", None))
)


@pytest.fixture
def crash(ssdlab, tmp_path):
    """`ssdlab crash` with its images in a directory of its own: the status and what was found."""
    work = tmp_path / "work"
    work.mkdir()

    def call(*words):
        done = ssdlab("crash", *words, "--json", "-", "--quiet", env=os.environ | {"TMPDIR": work})
        assert done.stderr == "", done.stderr
        nothing_is_left(work)
        return done.returncode, json.loads(done.stdout)

    return call


def left(work):
    """What a test has left behind: files, loop devices, mounts, processes."""
    loops = subprocess.run(["losetup", "--all"], capture_output=True, text=True).stdout
    mounts = open("/proc/mounts").read()  # noqa: SIM115
    found = [line for line in (loops + mounts).splitlines() if str(work) in line]
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read()  # noqa: SIM115
        except OSError:
            continue
        if str(work) in words:
            found.append(words)
    return [*found, *(path.name for path in work.iterdir())]


def nothing_is_left(work, but=None):
    """Nothing is left but names that begin so; the kernel detaches a loop device a moment later."""
    until = time.monotonic() + 30
    while found := [it for it in left(work) if but is None or not it.startswith(but)]:
        assert time.monotonic() < until, found
        time.sleep(0.05)


@pytest.mark.parametrize(
    "settings, points, verdicts",
    [
        ("journal=wal,synchronous=full", 8, {"ok"}),
        ("journal=wal,synchronous=normal", 60, {"ok", "lost"}),
        ("journal=delete,synchronous=off", 100, {"ok", "lost", "broken"}),
    ],
)
def test_sqlite_loses_what_its_settings_say(crash, settings, points, verdicts):
    words = ("--app", f"sqlite:{settings},transactions=60", "--points", points, "--draws", "2")
    status, found = crash(*words)
    assert {verdict for verdict, count in found["verdicts"].items() if count} == verdicts
    assert status == (verdicts != {"ok"})
    assert found["lines"] == 60
    if "full" in settings:
        assert found["asked"]["flushes"] >= 60


def test_files_of_a_command_of_ones_own(crash):
    """In `$dir`, with what was set up, and with the lines that were printed before the cut."""
    write = "cp old a; sync a; sync .; echo a; cp old b; echo b"
    check = (
        "grep -q old $dir/old || exit 1\n"
        'for file in $(cat $acked); do cmp -s old $file || { echo "no $file"; exit 3; }; done'
    )
    words = ("--setup", "echo old > old", "--run", write, "--check", check, "--size", "8MiB")
    status, found = crash(*words, "--points", "200", "--draws", "1")
    assert status == 1
    assert {it["reason"] for it in found["failures"]} == {"no b"}
    assert found["verdicts"]["ok"] > 0 and found["verdicts"]["broken"] == 0


def test_a_file_system_that_is_not_there_is_broken(crash):
    words = ("--run", "true", "--check", "true", "--on", "ext4", "--size", "8MiB")
    ruin = ("--on", "loop", "--run", "echo x; dd if=/dev/urandom of=$dev bs=64k count=1")
    status, _ = crash(*words, "--points", "3")
    assert status == 0
    mount = "mount -t ext4 -o loop $dev $tmp/dir || exit 1; umount $tmp/dir"
    made = ("--setup", "mkfs.ext4 -q $dev", "--check", mount, "--size", "8MiB")
    status, found = crash(*ruin, *made, "--points", "1", "--draws", "0")
    assert found["verdicts"]["broken"] + found["verdicts"]["ok"] == found["distinct"]


def test_what_a_checker_starts_does_not_outlive_it(crash):
    words = (
        "--run",
        "echo x > x; sync x; echo x",
        "--size",
        "8MiB",
        "--points",
        "4",
        "--workers",
        "1",
    )
    # It holds the file system busy.
    status, found = crash(*words, "--check", "sleep 1000 > held & sleep 0.01")
    assert (status, found["verdicts"]["ok"]) == (0, found["distinct"])


@pytest.mark.parametrize("when", ["recorded", "judged"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_mount_or_process_is_left_whenever_a_test_ends(command, tmp_path, number, when):
    work = tmp_path / "work"
    work.mkdir()
    wait = f"touch {tmp_path}/there; sleep 1000"
    run, check = ("echo x > x; sync x", wait) if when == "judged" else (wait, "true")
    words = [*command, "crash", "--run", run, "--check", check, "--size", "8MiB", "--points", "9"]
    environment = os.environ | {"TMPDIR": str(work)}
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
    until = time.monotonic() + 120
    while not (tmp_path / "there").exists():
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            pytest.fail(process.communicate()[1])
        time.sleep(0.02)
    assert left(work)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert err.lstrip() == "ssdlab: interrupted; nothing was written\n"
    # A killed process cannot remove its files; but nothing stays mounted or running.
    nothing_is_left(work, "ssdlab-crash-" if number == signal.SIGKILL else None)
