"""Runs the tests on a simulated drive, each as one fio job file on a preconditioned drive.

A drive state (filled sequentially, overwritten at random) is prepared once, saved, and loaded by
each test that begins with it. Rounds follow each other within one run.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import interruption, layers, portable, running, sources
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.pts import jobs
from ssdlab.pts.outcome import Measure, Outcome, Round
from ssdlab.pts.plan import BLOCKS, Load, Test, size_text
from ssdlab.pts.steady import WINDOW
from ssdlab.results import Results
from ssdlab.running import Progress

#: Untimed writes of the IOPS test: equal bytes of each size, a share of the drive each.
MIXED = 4
#: Maximum number of job clones in a workload: each thread of each load and round is one.
MOST_CLONES = 4096
#: Stateless kinds of devices, which cannot be preconditioned.
WITHOUT_FLASH = ("disk", "law")
#: Minimum simulated duration of the whole drive's minute.
LEAST_MINUTE = 0.02


@dataclass(frozen=True)
class Drive:
    """A simulated drive: its layers, scale and states."""

    name: str
    stack: Sequence[Layer]
    scale: int
    capacity_bytes: int
    logical_block: int
    """Minimum request size (logical block), bytes."""
    purged: Mapping[str, Any]
    """Keys of its section that purge it."""
    states: Mapping[str, Path]

    def run(self, test: Test, text: str, told: Callable[[Progress], object]) -> Results:
        """Results of a job file, from the test's initial state."""
        table: dict[str, Any] = {"workload": {"kind": "fio", "job": text}}
        if test.start in self.states:
            table["run"] = {"load_drive": str(self.states[test.start])}
        else:
            table["device"] = self.purged
        stack = [*self.stack, *layers.from_mapping(f"the test {test.word}", table)]
        return running.run_layers(stack, progress=told)


class Crew:
    """Runs tests in parallel, with cancellation."""

    def __init__(self, drive: Drive, minute: float | None, most_rounds: int | None) -> None:
        self.drive = drive
        self._minute = minute
        self._most_rounds = most_rounds
        self._cancelled = threading.Event()

    def run(self, tests: Sequence[Test]) -> Iterator[Outcome]:
        """Yield each test at its end."""
        with ThreadPoolExecutor(min(portable.cores(), max(1, len(tests)))) as pool:
            futures = [pool.submit(self.test, it) for it in tests]
            yield from interruption.finished(futures, as_completed(futures), self._cancelled)

    def _interrupt_if_cancelled(self, _: Progress) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt

    def test(self, test: Test) -> Outcome:
        """Run a test: five rounds, and more until it is steady."""
        drive, most = self.drive, min(simulated_rounds(test), self._most_rounds or test.most_rounds)
        minute = self.minute(test)
        loads = [*test.round, *test.after]
        refused = {it.name: why for it in loads if (why := self._refusal(it)) is not None}
        able = [it for it in loads if it.name not in refused]
        rounds = min(test.skipped + WINDOW, most) if test.round else 0
        while True:
            text = jobs.simulated(test, rounds, minute, able)
            found = drive.run(test, text, self._interrupt_if_cancelled)
            measured, after = _split(found, rounds)
            outcome = Outcome(
                test,
                measured,
                after,
                refused,
                minute,
                drive.scale,
                drive.capacity_bytes * drive.scale,
            )
            if rounds >= most or not test.round or outcome.is_steady:
                return outcome
            # Repeat from the first round, with twice as many rounds.
            rounds = min(most, 2 * rounds)

    def minute(self, test: Test) -> float:
        """Simulated duration of the specification's minute."""
        if self._minute is not None:
            return self._minute
        return max(60.0 / self.drive.scale / test.shortened, LEAST_MINUTE)

    def _refusal(self, load: Load) -> str | None:
        """Reason why the drive cannot run a load, or None."""
        if load.block >= self.drive.logical_block:
            return None
        return f"the drive's logical block is {size_text(self.drive.logical_block)}"


@contextmanager
def prepared(
    device: str,
    changes: Sequence[Layer],
    tests: Sequence[Test],
    *,
    allow_code: bool = False,
    seed: int | None = None,
) -> Iterator[Drive]:
    """The drive in the tests' initial states, saved until the context ends.

    Raises `InputError` for wrong input, and for devices without random writes.
    """
    stack = [sources.from_name("device", device, "DEVICE"), *changes]
    if seed is not None:
        stack += layers.from_seed("--seed", seed)
    if allow_code:
        stack = layers.permitting(stack)
    experiment = running.Experiment._from_layers(stack).to_dict()
    keys = experiment["device"]
    # Use the largest block of all namespaces: the tests cover all of them.
    namespaces = str(experiment["run"].get("namespaces", ""))
    logical_block = 4096 if re.search(r"lba\s+4\s*KiB", namespaces) else 512
    if keys.get("kind") in WITHOUT_FLASH:
        raise InputError(
            f'{device}: the tests are of solid-state drives, not of kind "{keys["kind"]}"'
        )
    if keys.get("kind") == "zoned":
        raise InputError(
            f"{device}: writes of the tests lie at random, and zones are written in order; "
            "PTS has no test of zoned drives"
        )
    with tempfile.TemporaryDirectory(prefix="ssdlab-pts-") as folder:
        states = {}
        for state in dict.fromkeys(it.start for it in tests):
            if state == "purged":
                continue
            path = Path(folder) / f"{state}.drive"
            table = _preparing(state)
            table["run"]["save_drive"] = os.fspath(path)
            running.run_layers([*stack, *layers.from_mapping(f"a {state} drive", table)])
            states[state] = path
        capacity = running.run_layers(
            [*stack, *layers.from_mapping("its size", {"workload": {"requests": 1}})]
        ).capacity_bytes
        scale = int(keys.get("scale", 1))
        yield Drive(device, stack, scale, capacity, logical_block, _purged(keys), states)


def simulated_rounds(test: Test) -> int:
    """Maximum number of rounds of a test that fit one workload, up to the table's."""
    each, after = (
        sum(load.threads * test.times(load, False) for load in loads)
        for loads in (test.round, test.after)
    )
    return min(test.most_rounds, (MOST_CLONES - after) // each) if each else test.most_rounds


def _purged(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a device that purge its drives, which presets fill."""
    parts = {name: _purged(it) for name, it in keys.items() if isinstance(it, Mapping)}
    own = {"fill": "empty"} if keys.get("kind") == "ssd" else {}
    return own | {name: it for name, it in parts.items() if it}


def _preparing(state: str) -> dict[str, dict[str, Any]]:
    """An untimed run that ends when the drive is in a state."""
    one = {"kind": "closed", "requests": 1, "read_share": 1.0}
    if state == "sequential":
        return {"workload": one, "run": {"precondition": "sequential"}}
    if state == "random":
        return {"workload": one, "run": {"precondition": "random:2"}}
    # The writes of a round, repeated until write amplification settles. Writes below the drive's
    # page size are omitted: they would be a third of all, and have the same effect as page writes.
    load = {"kind": "fio", "job": jobs.writes(BLOCKS[:-1], MIXED)}
    return {"workload": load, "run": {"precondition": "steady", "until": "1ns"}}


def _split(found: Results, rounds: int) -> tuple[list[Round], Round]:
    """Measures of each round, and of the following loads."""
    parts: dict[str, dict[str, list[Measure]]] = {}
    classes = found.to_dict()["classes"]
    for name in sorted(classes, key=lambda it: int(f"0{it.partition('.')[2].partition('.')[2]}")):
        part, _, job = name.partition(".")
        load = job.partition(".")[0]
        parts.setdefault(part, {}).setdefault(load, []).append(_measure(classes[name]))
    return [parts.get(str(it + 1), {}) for it in range(rounds)], parts.get(jobs.AFTER, {})


def _measure(of: Mapping[str, Any]) -> Measure:
    every = of["all"]
    return Measure(
        requests=every["requests"],
        iops=every["iops"] or 0.0,
        mb_per_s=every["mb_per_s"] or 0.0,
        mean_us=every["mean_us"] or 0.0,
        max_us=every["max_us"] or 0.0,
        written_bytes=float(of["write"]["bytes"]),
    )
