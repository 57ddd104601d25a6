"""Differences between systems, in one place: locks, cores, Ctrl-C, the live device.

Everything here asks what the system has, never what it is called. No result depends on it.
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


#: True if this build has the live device, for which Linux is needed.
HAS_LIVE_DEVICE = hasattr(_core, "LiveDevice")

_fcntl = _module("fcntl")
#: Position of the lock on Windows: locked bytes are unreadable to others, and no file extends that
#: far.
_LOCKED_BYTE = 2**31 - 2


def refuse_without_live_device() -> None:
    """Raise `InputError` where this build has no live device."""
    if not HAS_LIVE_DEVICE:
        raise _core.InputError("the live device needs Linux")


def lock(file: IO[bytes]) -> None:
    """Lock an open file against other programs until it is closed; `OSError` if one has.

    Where it is read or written next is not the same afterwards.
    """
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        return
    msvcrt = import_module("msvcrt")
    file.seek(_LOCKED_BYTE)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


def close_before_replaced(file: IO[bytes]) -> None:
    """Close a file that another is about to replace, where an open file cannot be replaced."""
    if _fcntl is None:
        file.close()


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def interrupts_are_ours() -> Iterator[None]:
    """Within, a process that is started is deaf to Ctrl-C, where that can be inherited."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """In a process that was started so: be deaf to Ctrl-C where that could not be inherited."""
    if not hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: without it a power cut may bring the old file back.

    Where directories cannot be opened or synced, there is no better way.
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
