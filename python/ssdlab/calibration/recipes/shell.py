"""Shell code shared by the scripts of all recipes."""

from __future__ import annotations

from pathlib import Path


def text(name: str) -> str:
    """The text of a file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


#: Head of each script: changes to its directory and adapts the job file for an NBD server.
HEAD = text("head.sh")
GUARD = """\
[ "${2:-}" = erase ] || { echo "$0: all data on $TARGET will be lost; say: $0 $TARGET erase" >&2
  exit 2; }
"""
#: Head of each job file.
GLOBAL = """\
; Written by ssdlab calibrate --recipe {name}; {name}.sh runs its sections one by one.
[global]
filename=${{TARGET}}
ioengine=libaio
direct=1
per_job_logs=1
"""


def script(name: str, usage: str, body: str, *, erases: bool) -> str:
    """A shell script; with `erases` it requires the argument `erase`."""
    guard, words = (GUARD, " erase") if erases else ("", "")
    return HEAD.format(name=name, usage=usage, guard=guard, words=words) + body


def jobs(name: str, body: str) -> str:
    """A job file."""
    return GLOBAL.format(name=name) + body
