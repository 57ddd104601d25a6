"""Judges images in parallel processes."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import click

from ssdlab.crashes import NBD, OK, namespace
from ssdlab.crashes.plan import Image
from ssdlab.crashes.record import INITIAL, RECORDING, Recorded


class Verdict(NamedTuple):
    """Verdict of the checker on an image."""

    image: Image
    verdict: str
    reason: str


def judge(
    recorded: Recorded,
    images: list[Image],
    work: Path,
    *,
    seed: int,
    workers: int | None = None,
    timeout: float = 60.0,
    verbose: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Verdict]:
    """The verdict on each image, in the order of the images."""
    count = min(workers or os.cpu_count() or 1, len(images)) or 1
    waiting: SimpleQueue[tuple[int, Image]] = SimpleQueue()
    done: SimpleQueue[tuple[int, str, str]] = SimpleQueue()
    for numbered in enumerate(images):
        waiting.put(numbered)
    alone = recorded.place != NBD
    processes: list[subprocess.Popen[str]] = []
    verdicts: list[Verdict | None] = [None] * len(images)
    try:
        for number in range(count):
            position = work / f"judge-{number}"
            position.mkdir(exist_ok=True)
            task = {
                "work": str(position),
                "recording": str(recorded.directory / RECORDING),
                "initial": str(recorded.directory / INITIAL),
                "promise": recorded.promise,
                "place": recorded.place,
                "check": recorded.check,
                "app": recorded.app,
                "lines": recorded.lines,
                "seed": seed,
                "timeout": timeout,
                "verbose": verbose,
            }
            process = namespace.start("ssdlab.crashes.worker", alone=alone)
            processes.append(process)
            assert process.stdin is not None
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            arguments = (process, waiting, done)
            threading.Thread(target=_attend, args=arguments, daemon=True).start()
        for count in range(len(images)):
            number, verdict, reason = done.get()
            if number < 0:
                raise click.ClickException(f"the checker process failed: {reason}")
            verdicts[number] = Verdict(images[number], verdict, reason)
            if progress is not None:
                progress(count + 1, len(images))
    finally:
        for process in processes:
            namespace.end(process)
    return [verdict for verdict in verdicts if verdict is not None]


def _attend(
    process: subprocess.Popen[str],
    waiting: SimpleQueue[tuple[int, Image]],
    done: SimpleQueue[tuple[int, str, str]],
) -> None:
    """Send images to a process, one at a time."""
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline() != "ready\n":
            done.put((-1, "", "it did not start"))
            return
        while True:
            try:
                number, image = waiting.get_nowait()
            except Empty:
                return
            process.stdin.write(json.dumps(image) + "\n")
            process.stdin.flush()
            verdict, reason = json.loads(process.stdout.readline() or '["failed", "it ended"]')
            done.put((number, verdict, reason) if verdict != "failed" else (-1, "", reason))
    except (OSError, ValueError) as error:
        done.put((-1, "", str(error)))


def failures(verdicts: list[Verdict]) -> list[Verdict]:
    """Failed verdicts."""
    return [it for it in verdicts if it.verdict != OK]
