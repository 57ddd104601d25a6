"""A live device as a file: what programs do with it without NBD, and how it comes and goes."""

import ctypes
import errno
import json
import mmap
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import pytest
from other_programs import call, need
from short_client import Client

import ssdlab

MIB = 1 << 20
DRIVE = {"device.blocks_per_plane": 16}
PUNCH_HOLE, ZERO_RANGE, KEEP_SIZE = 2, 16, 1


@pytest.fixture(autouse=True)
def _fuse():
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened")
    if os.geteuid() != 0:
        need("fusermount3")


@pytest.fixture
def place(tmp_path):
    """An empty directory, which is unmounted at the end whatever happened."""
    directory = tmp_path / "ssd"
    directory.mkdir()
    yield directory
    if is_mounted(directory):
        subprocess.run(["umount", "-l", directory], capture_output=True)
        subprocess.run(["fusermount3", "-u", "-z", directory], capture_output=True)


def is_mounted(directory):
    with open("/proc/self/mountinfo") as file:
        return any(line.split()[4] == os.fspath(directory) for line in file)


def fallocate(file, mode, offset, length):
    """As the function of Linux; raises `OSError`."""
    function = ctypes.CDLL(None, use_errno=True).fallocate
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
    if function(file, mode, offset, length):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def refused(number, function, *arguments):
    with pytest.raises(OSError) as caught:
        function(*arguments)
    assert caught.value.errno == number, caught.value


def test_the_file_is_the_device(place, tmp_path):
    with ssdlab.serve("null", mount=place, socket=tmp_path / "socket", size="64MiB") as live:
        assert live.file == place / "disk" and os.listdir(place) == ["disk"]
        found = os.stat(live.file)
        assert (found.st_size, found.st_uid, found.st_mode & 0o777) == (
            64 * MIB,
            os.getuid(),
            0o600,
        )
        file = os.open(live.file, os.O_RDWR)
        data = os.urandom(3 * MIB)
        assert os.pwrite(file, data, 1000) == len(data)
        assert os.pread(file, len(data), 1000) == data
        # A client of NBD has the same device at the same time.
        client = Client(tmp_path / "socket")
        assert client.read(1000, 4096) == data[:4096]
        client.write(0, b"from NBD")
        assert os.pread(file, 8, 0) == b"from NBD"
        os.fsync(file)
        fallocate(file, PUNCH_HOLE | KEEP_SIZE, MIB, MIB)
        assert os.pread(file, MIB, MIB) == bytes(MIB)
        fallocate(file, ZERO_RANGE, 2 * MIB, 8192)
        assert os.pread(file, 8192, 2 * MIB) == bytes(8192)
        os.close(file)
    assert not is_mounted(place) and os.listdir(place) == []
    host = live.results.host
    assert (host.flush.requests, host.trim.requests) == (1, 1)
    # The kernel asks for at most 1 MiB at once, and sectors are written as a whole.
    assert 3 * MIB <= host.write.bytes < 3 * MIB + 16384
    assert host.write.requests >= 5
    assert live.results.live.file == os.fspath(place / "disk")


def test_it_behaves_as_a_disk(place):
    with ssdlab.serve("null", mount=place, size="1MiB") as live:
        assert live.uri == ""
        file = os.open(live.file, os.O_RDWR | os.O_TRUNC)
        assert os.fstat(file).st_size == MIB
        assert os.pwrite(file, bytes(8192), MIB - 4096) == 4096
        assert os.pread(file, 8192, MIB - 4096) == bytes(4096)
        assert os.pread(file, 1, MIB) == b""
        refused(errno.ENOSPC, os.pwrite, file, b"x", MIB)
        refused(errno.EINVAL, os.ftruncate, file, 4096)
        refused(errno.EPERM, os.fchmod, file, 0o777)
        refused(errno.EOPNOTSUPP, fallocate, file, 0x20, 0, 4096)
        fallocate(file, 0, 0, MIB)
        refused(errno.ENOSPC, fallocate, file, 0, 0, 2 * MIB)
        # What goes past the page cache cannot be mapped for several.
        refused(errno.ENODEV, lambda: mmap.mmap(file, 4096, flags=mmap.MAP_SHARED))
        os.close(file)
        refused(errno.ENOENT, os.stat, place / "other")
        with pytest.raises(OSError):
            (place / "other").write_bytes(b"")
    with ssdlab.serve("null", mount=place, size="1MiB", read_only=True) as live:
        assert os.stat(live.file).st_mode & 0o777 == 0o400
        refused(errno.EROFS, os.open, live.file, os.O_RDWR)
        assert live.file.read_bytes() == bytes(MIB)


def test_several_are_outstanding_at_once(place, tmp_path):
    # It serves one at a time: who comes last has waited for all others.
    slow = {"device.random_read.fixed": "50ms", "device.sequential_read.fixed": "50ms"}
    with ssdlab.serve("zeus-linear", mount=place, size="64MiB", set=slow) as live:
        file = os.open(live.file, os.O_RDONLY)
        threads = [
            threading.Thread(target=os.pread, args=(file, 4096, number * MIB))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.close(file)
    assert live.results.host.read.requests == 8
    assert live.results.host.read.max_us > 4 * 50_000


def test_results_are_those_of_the_replayed_trace(place, tmp_path):
    trace = tmp_path / "t.parquet"
    with ssdlab.serve("agrawal2008", mount=place, size="64MiB", set=DRIVE, record=trace) as live:
        file = os.open(live.file, os.O_RDWR)
        for number in range(50):
            os.pwrite(file, bytes(4096 * (1 + number % 3)), number * 12288 % MIB)
            os.pread(file, 8192, number * 4096)
        os.fsync(file)
        os.close(file)
    results = live.results
    assert (results.host.read.requests, results.host.write.requests) == (50, 50)
    assert results.live.measured.read.mean_us >= results.host.read.min_us
    again = ssdlab.run(device="agrawal2008", trace=trace, set=DRIVE)
    assert again.host.to_dict() == results.host.to_dict()
    assert again.flash.to_dict() == results.flash.to_dict()


@pytest.fixture
def served(command, place, tmp_path):
    """`ssdlab serve --mount` as a process, once it serves."""
    running = []

    def call(*arguments):
        words = [*command, "serve", "--device", "null", "--size", "1MiB", "--mount", place]
        process = subprocess.Popen(
            [*words, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        line = process.stderr.readline()
        assert f"at {place}/disk" in line, line + process.stderr.read()
        return process

    yield call
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_server_ends(served, place, number):
    process = served()
    assert (place / "disk").read_bytes() == bytes(MIB)
    process.send_signal(number)
    process.wait(timeout=30)
    # Of a killed one another process hears.
    until = time.monotonic() + 20
    while is_mounted(place):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert os.listdir(place) == []


def test_programs_that_use_the_file_get_an_error_when_the_server_ends(served, place):
    process = served()
    with open(place / "disk", "rb", buffering=0) as file:
        assert file.read(512) == bytes(512)
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert not is_mounted(place)
        with pytest.raises(OSError):
            file.read(512)
    assert (process.returncode, said.count("was unmounted while in use")) == (0, 1)


def wrong(command, place, *arguments):
    """What is said of a directory that cannot be mounted on."""
    words = [*command, "serve", "--device", "null", "--size", "1MiB", "--mount", place, *arguments]
    done = subprocess.run([str(it) for it in words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


def test_a_directory_that_cannot_be_mounted_on_is_refused(command, served, place, tmp_path):
    (tmp_path / "file").write_text("x")
    assert f"mount point {tmp_path}: not empty" in wrong(command, tmp_path)
    assert "not a directory" in wrong(command, tmp_path / "file")
    assert f"mkdir {tmp_path / 'none'}" in wrong(command, tmp_path / "none")
    served()
    assert "something is mounted there" in wrong(command, place)


def test_without_fuse_what_is_missing_is_named(command, place):
    need("unshare")
    words = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev"]
    words[-1] += '; exec "$@"'
    if subprocess.run([*words, "sh", "true"], capture_output=True).returncode:
        pytest.skip("/dev cannot be hidden here")
    assert "there is no /dev/fuse" in wrong([*words, "sh", *command], place)


def test_a_command_finds_the_file(command, place):
    need("dd")
    words = [*command, "serve", "--device", "null", "--size", "1MiB", "--mount", place, "--json"]
    words += ["-", "--run", 'test -z "$uri" && dd if="$disk" of=/dev/null bs=64k 2>&1']
    done = subprocess.run([str(it) for it in words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout[done.stdout.index("{") :])
    assert results["host"]["read"]["bytes"] == MIB


def test_fio_verifies_what_it_wrote(place):
    need("fio")
    with ssdlab.serve("agrawal2008", mount=place, size="64MiB", set=DRIVE) as live:
        words = ["fio", "--name=x", f"--filename={live.file}", "--output-format=json"]
        words += ["--rw=randwrite", "--bsrange=512-64k", "--blockalign=512", "--direct=1"]
        words += ["--ioengine=libaio", "--iodepth=8", "--size=64M", "--io_size=8M", "--fsync=32"]
        words += ["--verify=crc32c", "--do_verify=1", "--verify_state_save=0"]
        said = call(*words)
        job = json.loads(said[said.index("{") :])["jobs"][0]
        assert job["error"] == 0
        assert job["write"]["io_bytes"] == job["read"]["io_bytes"] > 7 * MIB
    assert live.results.host.flush.requests > 0


def test_a_file_system_and_a_database(place, tmp_path):
    need("mkfs.ext4", "e2fsck", "mount", "umount")
    if os.geteuid() != 0:
        pytest.skip("mount needs root")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    with ssdlab.serve("agrawal2008", mount=place, size="64MiB", set=DRIVE) as live:
        call("mkfs.ext4", "-q", live.file)
        assert live.status().bytes > 0
        done = subprocess.run(["mount", "-o", "loop", live.file, mounted], capture_output=True)
        if done.returncode:
            pytest.skip(f"loop mounts do not work here: {done.stderr.decode().strip()}")
        try:
            (mounted / "file").write_bytes(b"x" * 3 * MIB)
            database = sqlite3.connect(mounted / "db")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT)")
            for number in range(100):
                with database:
                    database.execute("INSERT INTO t VALUES (?, ?)", (number, "text" * 50))
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            database.close()
            shutil.copy(mounted / "file", tmp_path / "copy")
            assert (tmp_path / "copy").stat().st_size == 3 * MIB
        finally:
            call("umount", mounted)
        call("e2fsck", "-f", "-n", live.file)
    host = live.results.host
    assert host.flush.requests > 0 and host.write.requests > 100 and host.trim.requests > 0
