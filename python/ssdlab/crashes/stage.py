"""The process in which an application runs: `python -m ssdlab.crashes.stage JSON`, in namespaces.

It mounts, prints `ready`, waits for a line, runs the command, prints `ran STATUS`, unmounts and
prints `done`. The command's output goes to an inherited descriptor. When its input closes, it ends
with all its children.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ssdlab.crashes import EXT4, LOOP, namespace

NBDFUSE_SECONDS = 20


def main(words: list[str]) -> int:
    """Run the application described by the JSON in `words`."""
    task: dict[str, Any] = json.loads(words[0])
    work = Path(task["work"])
    position, fuse = work / "dir", work / "fuse"
    position.mkdir(exist_ok=True)
    spared: tuple[int, ...] = ()
    try:
        source = Path(task["image"])
        if task["uri"] is not None:
            fuse.mkdir(exist_ok=True)
            process = _nbdfuse(fuse / "disk", task["uri"])
            spared = (process.pid,)
            source = fuse / "disk"
            # Otherwise a killed nbdfuse would hold the last reference to the file system above it,
            # and deadlock while the kernel unmounts that.
            namespace.leave_mounts()
        direct = "on" if task["uri"] is not None else "off"
        attach = ["losetup", f"--direct-io={direct}", "--find", "--show", str(source)]
        loop = namespace.said_by(attach)
        try:
            if task["place"] == EXT4:
                namespace.call("mount", "-t", "ext4", loop, str(position))
        finally:
            # The loop device detaches itself when unused.
            if task["place"] != LOOP:
                namespace.call("losetup", "--detach", loop)
        try:
            _say("ready")
            if not sys.stdin.readline():
                return 1
            threading.Thread(target=_end_with_input, daemon=True).start()
            environment = namespace.environment(
                dir=str(position), dev=loop, uri=task["uri"] or "", tmp=str(work)
            )
            done = subprocess.run(
                task["command"],
                shell=True,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=task["output"],
                cwd=position if task["place"] == EXT4 else work,
            )
            _say(f"ran {done.returncode}")
            namespace.kill_others(*spared)
            os.chdir("/")
            if task["place"] == EXT4:
                namespace.call("umount", str(position))
        finally:
            if task["place"] == LOOP:
                namespace.call("losetup", "--detach", loop)
    except RuntimeError as error:
        _say(f"failed {error}")
        return 1
    _say("done")
    return 0


def _say(line: str) -> None:
    print(" ".join(line.split()), flush=True)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


def _nbdfuse(path: Path, uri: str) -> subprocess.Popen[str]:
    words = ["nbdfuse", str(path), uri]
    process = subprocess.Popen(
        words, env=namespace.environment(), stdin=subprocess.DEVNULL, stdout=2, text=True
    )
    until = time.monotonic() + NBDFUSE_SECONDS
    while not path.exists():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("nbdfuse does not work here: its file did not appear")
        time.sleep(0.01)
    return process


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
