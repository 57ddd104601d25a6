"""Programs that others wrote, for tests of the live device. What is not installed is skipped."""

import contextlib
import os
import shutil
import subprocess
import time

import pytest


def need(*names):
    """Skips the test without the programs of these names."""
    for name in names:
        if shutil.which(name) is None and shutil.which(name, path="/usr/sbin:/sbin") is None:
            pytest.skip(f"{name} is not installed")


def call(*words, check=True, **options):
    """Runs a program; what it prints."""
    environment = os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        **options,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def mounted(live, directory, check=True):
    """The device as a directory with an ext4 file system, which is checked at the end."""
    need("nbdfuse", "mkfs.ext4", "e2fsck", "mount", "umount")
    if os.geteuid() != 0:
        pytest.skip("mount needs root")
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    fuse, place = directory / "fuse", directory / "mounted"
    fuse.mkdir()
    place.mkdir()
    process = subprocess.Popen(["nbdfuse", fuse / "disk", live.uri], stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 20
        while not (fuse / "disk").exists():
            if process.poll() is not None:
                pytest.skip(f"nbdfuse does not work here: {process.stderr.read().decode()}")
            assert time.monotonic() < until
            time.sleep(0.02)
        call("mkfs.ext4", "-q", "-E", "nodiscard", fuse / "disk")
        done = subprocess.run(["mount", "-o", "loop", fuse / "disk", place], capture_output=True)
        if done.returncode:
            pytest.skip(f"loop mounts do not work here: {done.stderr.decode().strip()}")
        try:
            yield place
        finally:
            call("umount", place)
        if check:
            call("e2fsck", "-f", "-n", fuse / "disk")
    finally:
        subprocess.run(["fusermount3", "-u", fuse], capture_output=True)
        process.terminate()
        process.wait()
        process.stderr.close()
