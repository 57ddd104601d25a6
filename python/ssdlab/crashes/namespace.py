"""Processes in separate namespaces: nothing stays mounted or running after their end.

When such a process ends, the kernel drops the mounts of its mount namespace and kills the processes
of its PID namespace. Loop devices are detached with their file systems.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

from ssdlab._core import InputError

UNSHARE = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc", "--")
#: Debian's folder of PostgreSQL's server programs.
POSTGRES = "/usr/lib/postgresql/*/bin"
SYSTEM = f"{os.defpath}:/usr/sbin:/sbin"
#: Debian packages of the programs.
PACKAGES = {
    "nbdfuse": "libnbd-bin",
    "fusermount3": "fuse3",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "btrfs": "btrfs-progs",
    "losetup": "mount",
    "mount": "mount",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "psql": "postgresql-client",
    "postgres": "postgresql",
    "initdb": "postgresql",
}
CLONE_NEWNS = 0x00020000  # sched.h
MOUNTING = ("unshare", "mount", "losetup", "nbdfuse", "fusermount3")


def environment(**variables: str) -> dict[str, str]:
    """Environment of child processes, with a path to system programs."""
    path = [os.environ.get("PATH", ""), SYSTEM, *sorted(glob(POSTGRES), reverse=True)]
    return os.environ | {"PATH": ":".join(path)} | variables


def find(program: str) -> str | None:
    """The path of a program."""
    return shutil.which(program, path=environment()["PATH"])


def unavailable(programs: Sequence[str]) -> str | None:
    """Reason why programs or mounts are unavailable; None if all are available."""
    for program in programs:
        if find(program) is None:
            package = PACKAGES.get(program)
            debian = f" (in Debian's package {package})" if package else ""
            return f"{program} is not installed{debian}"
    if "mount" in programs:
        if os.geteuid() != 0:
            return "mounting needs root"
        if not os.path.exists("/dev/fuse"):
            return "there is no /dev/fuse, which nbdfuse needs"
        tried = subprocess.run(
            [*UNSHARE, "true"], capture_output=True, text=True, env=environment()
        )
        if tried.returncode:
            return f"unshare does not work here: {tried.stderr.strip()}"
    return None


def demand(programs: Sequence[str]) -> None:
    """Raise `InputError` for a missing requirement."""
    problem = unavailable(programs)
    if problem is not None:
        raise InputError(f"crash: {problem}")


def start(module: str, *words: str, alone: bool = True, **options: Any) -> subprocess.Popen[str]:
    """Start a module of ssdlab, in namespaces if `alone`; it ends when its input closes."""
    command = [*(UNSHARE if alone else ()), sys.executable, "-m", module, *words]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
        **options,
    )


def end(process: subprocess.Popen[str]) -> None:
    """End a process with its namespaces."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def kill_others(*spared: int) -> None:
    """Kill all processes of this PID namespace except this one and `spared`."""
    assert os.getpid() == 1
    own = {1, *spared}
    for _ in range(100):
        others = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        others = [pid for pid in others if pid not in own and not _is_dead(pid)]
        if not others:
            break
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) not in own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(int(name), 0)


def leave_mounts() -> None:
    """Move this process into a new mount namespace; earlier children stay in the old one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise RuntimeError(f"unshare: {os.strerror(ctypes.get_errno())}")


def _is_dead(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def call(*words: str) -> None:
    """Run a system program; raises `RuntimeError` with its message if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise RuntimeError(f"{words[0]}: {said or f'status {done.returncode}'}")


def copy(source: Path, target: Path) -> None:
    """Copy a sparse file; zeroes take no space."""
    call("cp", "--sparse=always", str(source), str(target))


def said_by(words: Sequence[str]) -> str:
    """Output of a system program."""
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
