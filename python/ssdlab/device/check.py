"""The data sheet of a drive, published and simulated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any

from ssdlab.device.measurements import experiment
from ssdlab.device.sheet import Cell, Verdict
from ssdlab.results import Results
from ssdlab.running import run

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Outcome:
    """A cell with its simulated value, in the base unit."""

    cell: Cell
    simulated: float

    @property
    def error(self) -> float:
        """Relative error of the simulated figure."""
        return self.cell.error(self.simulated)

    @property
    def verdict(self) -> Verdict:
        """Agreement of the figures."""
        return self.cell.verdict(self.simulated)

    def to_dict(self) -> dict[str, Any]:
        """The form of `ssdlab device check --json`: seconds, bytes or requests a second."""
        cell = self.cell
        tolerance = 100 * cell.tolerance
        return {
            "measure": cell.measure,
            **cell.parameters,
            "published": cell.value,
            "simulated": self.simulated,
            "error_percent": 100 * self.error,
            "tolerance_percent": tolerance if tolerance < float("inf") else None,
            "fitted": cell.fitted,
            "verdict": self.verdict,
            "source": cell.source,
            "note": cell.note,
        }


class Cancelled(Exception):
    """Another simulation has failed, or the user has interrupted."""


def simulate(
    experiments: Sequence[Mapping[str, Any]], progress: Progress | None = None
) -> list[Results]:
    """Results of experiments (arguments of `ssdlab.run`), with one thread per processor.

    Equal experiments are simulated once. Re-raises the first failure.
    """
    keys = [json.dumps(each, sort_keys=True, default=str) for each in experiments]
    wanted = dict(zip(keys, experiments, strict=True))
    cancelled = Event()
    done = 0

    def watch(_: object) -> None:
        if cancelled.is_set():
            raise Cancelled

    def one(arguments: Mapping[str, Any]) -> Results:
        nonlocal done
        found = run(**arguments, progress=watch)
        done += 1
        if progress is not None:
            progress(done, len(wanted))
        return found

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = {key: pool.submit(one, arguments) for key, arguments in wanted.items()}
        try:
            finished, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
            for future in finished:
                future.result()
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [futures[key].result() for key in keys]


def measure(
    device: Any, cells: Sequence[Cell], *, quick: bool = False, progress: Progress | None = None
) -> list[Outcome]:
    """Every cell, simulated on `device` (a preset's name, a file, or its keys)."""
    experiments = [experiment(cell.measure, cell.parameters, device, quick) for cell in cells]
    found = simulate(experiments, progress)
    return [
        Outcome(cell, cell.measurement.value(results, cell.parameters))
        for cell, results in zip(cells, found, strict=True)
    ]
