"""Makes a Python on Linux lack what it lacks on another system: `ELSEWHERE` is macos or windows.

Every process that inherits the environment begins with it, worker processes too.
"""

import os
import signal
import socket
import subprocess  # noqa: F401, before there is an msvcrt: it takes that for all of Windows
import sys
import types
import warnings

#: What only Linux has of what Python offers there.
ONLY_LINUX = {
    os: ["sched_getaffinity", "sched_setaffinity", "O_DIRECT", "pidfd_open", "memfd_create"],
}
#: What macOS has as well, and Windows has not.
NOT_WINDOWS = {
    os: ["fork", "forkpty", "geteuid", "getuid", "getloadavg", "killpg", "setsid", "preadv"],
    signal: ["pthread_sigmask", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGPIPE", "alarm"],
    socket: ["AF_UNIX"],
}
MODULES = ["fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "readline"]


def hide(attributes):
    for module, names in attributes.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


def locking(descriptor, mode, count):
    """A byte is locked from where the file stands, as on Windows, and until the file is closed."""
    assert (mode, count) == (LK_NBLCK, 1), (mode, count)
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    linux_fcntl.lockf(descriptor, linux_fcntl.LOCK_EX | linux_fcntl.LOCK_NB, 1, place)


def replace_closed(source, target, *, _replace=os.replace):
    """As on Windows, what is open in this process cannot be replaced."""
    target = os.path.realpath(target)
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{number}") == target:
                raise PermissionError(13, "it is open", os.fspath(target))
        except FileNotFoundError:
            continue
    _replace(source, target)


LK_NBLCK = 2
system = os.environ["ELSEWHERE"]
hide(ONLY_LINUX)
if system == "windows":
    import fcntl as linux_fcntl

    sys.modules.update(dict.fromkeys(MODULES))  # None: the import fails
    sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=LK_NBLCK)
    os.replace = replace_closed
    hide(NOT_WINDOWS)

# Windows writes other bytes than UTF-8 where none is named.
warnings.filterwarnings("error", category=EncodingWarning, module=r"ssdlab\.")

import ssdlab._core  # noqa: E402

if hasattr(ssdlab._core, "LiveDevice"):
    del ssdlab._core.LiveDevice
