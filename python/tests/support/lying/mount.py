"""The mounted disk: what tests write to it, what they say to it, and its log at the end."""

import contextlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

FUSE = Path(__file__).with_name("fuse.py")


def need_fuse():
    """Skips the test where this user cannot mount."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened, or this is not root, who alone may mount")


class Disk:
    """A mounted disk, and its log once it is unmounted."""

    def __init__(self, directory):
        self.path = directory
        self.log = []
        self._say = os.open(directory / ".say", os.O_WRONLY)

    def say(self, *said):
        """Gives the disk an order, or puts a mark between the changes."""
        os.pwrite(self._say, pickle.dumps(said), 0)

    def close(self):
        os.close(self._say)


@contextlib.contextmanager
def lying_disk(tmp_path, name="disk"):
    """A disk at `tmp_path / name`; its `log` is complete afterwards."""
    need_fuse()
    directory, log = tmp_path / name, tmp_path / f"{name}.log"
    directory.mkdir()
    words = [sys.executable, os.fspath(FUSE), os.fspath(directory), os.fspath(log)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "mounted\n"
        disk = Disk(directory)
        try:
            yield disk
        finally:
            disk.close()
    finally:
        subprocess.run(["umount", "-l", directory], check=False)
        process.wait(timeout=60)
        process.stdout.close()
    disk.log = read(log)


def read(path):
    """The changes and marks of a log."""
    changes = []
    with open(path, "rb") as file, contextlib.suppress(EOFError):
        while True:
            changes.append(pickle.load(file))
    return changes
