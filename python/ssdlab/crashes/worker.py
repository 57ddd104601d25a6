"""A process that judges images: `python -m ssdlab.crashes.worker JSON`, in namespaces.

Each input line is an image as JSON, in order of instants; each output line its verdict.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from ssdlab.crashes import BROKEN, EXT4, LOST, LOST_STATUS, NBD, OK, apps, namespace
from ssdlab.crashes.content import Content, Promise, chosen
from ssdlab.crashes.plan import Image
from ssdlab.crashes.recording import Recording

MOST_REASON = 300
MOST_OUTPUT = 64 << 10


class Judge:
    """Makes images, mounts them and runs the checker."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.work = Path(task["work"])
        self.place, self.image = self.work / "dir", self.work / "image"
        self.acked = self.work / "acked"
        self.place.mkdir(parents=True, exist_ok=True)
        self.alone = task["place"] != NBD
        recording = Recording(Path(task["recording"]))
        self.content = Content(recording, Path(task["initial"]), Promise(*task["promise"]))

    def judge(self, image: Image, verbose: bool = False) -> tuple[str, str]:
        """The verdict on an image, with its reason."""
        self.content.advance(image.event)
        open = list(self.content.open.values())
        seed, atom = self.task["seed"], self.content.promise.atom
        pieces = chosen(open, atom, image.choice, seed, image.event)
        self.content.write(self.image, self.content.above(pieces))
        self.acked.write_text("".join(f"{line}\n" for line in self.task["lines"][: image.acked]))
        if self.task["place"] != EXT4:
            return self._check(verbose)
        try:
            namespace.call("mount", "-t", "ext4", "-o", "loop", str(self.image), str(self.place))
        except RuntimeError as error:
            return BROKEN, f"the file system cannot be mounted: {error}"
        try:
            return self._check(verbose)
        finally:
            namespace.call("umount", str(self.place))

    def _check(self, verbose: bool) -> tuple[str, str]:
        """Run the checker in a separate process, and end all its children."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._in_child(writer)
        os.close(writer)
        stated, late = self._listen(child, reader)
        # Ends its process group and, in a separate PID namespace, all other children.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if self.alone:
            namespace.kill_others()
        text = stated.decode(errors="replace").strip()
        if verbose and text:
            print(text, file=sys.stderr)
        if late:
            return BROKEN, f"the checker did not end within {self.task['timeout']:g} s"
        code = os.waitstatus_to_exitcode(status)
        verdict = {0: OK, LOST_STATUS: LOST}.get(code, BROKEN)
        reason = text.splitlines()[-1] if text else f"the checker ended with status {code}"
        return verdict, reason[:MOST_REASON] if verdict != OK else ""

    def _listen(self, child: int, reader: int) -> tuple[bytes, bool]:
        """Output of the checker until its end, and True if it timed out."""
        stated = b""
        until = time.monotonic() + self.task["timeout"]
        ended = os.pidfd_open(child)
        watched = [reader, ended, 0]
        try:
            while True:
                left = max(0.0, until - time.monotonic())
                ready, _, _ = select.select(watched, [], [], left)
                if 0 in ready:  # input before the verdict can only be its end: the parent has died
                    os.killpg(child, signal.SIGKILL)
                    os._exit(1)
                if reader in ready:
                    piece = os.read(reader, MOST_OUTPUT)
                    stated = (stated + piece)[-MOST_OUTPUT:]
                    if not piece:
                        watched.remove(reader)
                elif ended in ready:
                    return stated, False
                elif not ready:
                    return stated, True
        finally:
            os.close(ended)
            os.close(reader)

    def _in_child(self, output: int) -> NoReturn:
        status = 1
        try:
            os.setsid()
            os.dup2(output, 1)
            os.dup2(output, 2)
            variables = {"dir": str(self.place), "dev": str(self.image), "acked": str(self.acked)}
            variables["tmp"] = str(self.work)
            environment = namespace.environment(**variables)
            os.chdir(self.place if self.task["place"] == EXT4 else self.work)
            app = self.task["app"]
            if app is None:
                words = ["/bin/sh", "-c", self.task["check"]]
                os.execve(words[0], words, environment)
            where = apps.Place(self.place, self.image, self.work)
            lines = self.task["lines"][: self.acked_count()]
            status = apps.check(app, where, lines)
        except BaseException:
            traceback.print_exc(limit=-1)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def acked_count(self) -> int:
        """Number of lines printed by the application before the image's instant."""
        return self.acked.read_text().count("\n")


def main(words: list[str]) -> int:
    """Judge the images on standard input."""
    judge = Judge(json.loads(words[0] if words else sys.stdin.readline()))
    verbose = judge.task["verbose"]
    print("ready", flush=True)
    for line in sys.stdin:
        image = Image(*json.loads(line))
        try:
            verdict, reason = judge.judge(image, verbose)
        except RuntimeError as error:
            print(json.dumps(["failed", str(error)]), flush=True)
            return 1
        print(json.dumps([verdict, reason]), flush=True)
    return 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
