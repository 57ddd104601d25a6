"""Differences between systems, in one place: locks, cores, Ctrl-C, the live device.

The code tests for features, never for the system's name. No result depends on it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import IO, TYPE_CHECKING

from ssdlab import _core

if TYPE_CHECKING:
    from pathlib import Path


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


#: True if this build has the live device, which needs Linux.
HAS_LIVE_DEVICE = hasattr(_core, "LiveDevice")

_fcntl = _module("fcntl")
#: Position of the lock on Windows: locked bytes are unreadable to others, and no file extends that
#: far.
_LOCKED_BYTE = 2**31 - 2


def refuse_without_live_device() -> None:
    """Raise `InputError` if this build has no live device."""
    if not HAS_LIVE_DEVICE:
        raise _core.InputError("the live device needs Linux")


def lock(file: IO[bytes]) -> None:
    """Lock an open file against other programs until it is closed; `OSError` if one holds the lock.

    The file position changes.
    """
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        return
    msvcrt = import_module("msvcrt")
    file.seek(_LOCKED_BYTE)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


def close_before_replaced(file: IO[bytes]) -> None:
    """Close a file about to be replaced, on systems that cannot replace open files."""
    if _fcntl is None:
        file.close()


def cores() -> int:
    """Number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def interrupts_are_ours() -> Iterator[None]:
    """Context in which started processes ignore Ctrl-C, if the system lets them inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in a process started that way, if it could not inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: otherwise a power cut may restore the old file.

    No effect on systems that cannot open or sync directories.
    """
    try:
        directory = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.ENOTSUP):
            raise
    finally:
        os.close(directory)
