"""Runs a study's items: their experiments in parallel, each once.

An item requests several experiments at a time and waits. Simulations release the interpreter lock,
so one thread per processor suffices; equal experiments of several items are simulated once.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ssdlab._core import InputError
from ssdlab.paper.item import Item
from ssdlab.results import Results
from ssdlab.running import Part
from ssdlab.running import run as run_experiment

Key = TypeVar("Key", bound=Hashable)

#: The traces that replace generated workloads, in the directory of `--traces`.
TRACES = {
    "iozone": "disksim_iozone_aligned2_100K.trace.zst",
    "postmark": "disksim_postmark_aligned2.trace.zst",
}


class Study:
    """A call of `ssdlab paper`: its options and its pool of threads.

    - `quick`: items use smaller drives and fewer requests;
    - `traces`: the directory of the real traces; raises `InputError` if it is missing, or lacks one
      of `TRACES` with `replay`;
    - `device` and `inputs`: device and arithmetic of the DiskSpd study;
    - `live`: also serve devices and measure wall-clock time, in items that support it;
    - `mutate`: changes the arguments of every experiment (`mutations`);
    - `progress`: called with the numbers of completed and requested experiments.
    """

    def __init__(
        self,
        quick: bool = False,
        traces: Path | None = None,
        device: Part | None = None,
        inputs: Mapping[str, float] | None = None,
        progress: Callable[[int, int], object] | None = None,
        replay: bool = True,
        live: bool = False,
        mutate: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        self.quick = quick
        self.traces = traces
        self.device = device
        self.inputs = dict(inputs or {})
        self.live = live
        self._progress = progress
        self._mutate = mutate
        self._lock = threading.Lock()
        self._running: dict[str, Future[Results]] = {}
        self._done = 0
        self._cancelled = threading.Event()
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        if traces is not None:
            _refuse_missing(traces, TRACES.values() if replay else ())

    def measure(self, experiments: Mapping[Key, Mapping[str, Any]]) -> dict[Key, Results]:
        """The results of `experiments`, each the keyword arguments of `ssdlab.run`.

        Re-raises the first failure.
        """
        futures = {key: self._submit(arguments) for key, arguments in experiments.items()}
        return {key: future.result() for key, future in futures.items()}

    def figures(self, name: str, found: Any) -> Any:
        """Figures of a model outside the drive; tests replace them."""
        return found

    def has_trace(self, name: str) -> bool:
        """True if the workload `name` is replayed from a trace."""
        return self.traces is not None and name in TRACES

    def workload(self, name: str, **changes: Any) -> dict[str, Any]:
        """The paper's workload `name`: the preset with `changes`, or the trace as it is."""
        if self.traces is not None and name in TRACES:
            return {"kind": "trace", "path": str(self.traces / TRACES[name])}
        return {"preset": f"paper-{name}", **changes}

    def run(self, items: Mapping[str, ModuleType]) -> list[Item]:
        """Run `items` in parallel; re-raises the first failure."""
        with ThreadPoolExecutor(max(1, len(items))) as threads:
            try:
                futures = [threads.submit(module.run, self) for module in items.values()]
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                return [future.result() for future in futures]
            except BaseException:
                self.cancel()
                raise

    def cancel(self) -> None:
        """Stop all simulations."""
        self._cancelled.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, arguments: Mapping[str, Any]) -> Future[Results]:
        if self._mutate is not None:
            arguments = self._mutate(arguments)
        name = json.dumps(arguments, sort_keys=True, default=str)
        with self._lock:
            if self._cancelled.is_set():
                raise Cancelled
            future = self._running.get(name)
            if future is None:
                future = self._pool.submit(self._simulate, arguments)
                self._running[name] = future
        self._report()
        return future

    def _simulate(self, arguments: Mapping[str, Any]) -> Results:
        results = run_experiment(**arguments, progress=self._check)
        with self._lock:
            self._done += 1
        self._report()
        return results

    def _check(self, _: object) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, len(self._running))


class Cancelled(Exception):
    """The study has been cancelled."""


def _refuse_missing(traces: Path, wanted: Iterable[str]) -> None:
    if not traces.is_dir():
        problem = "is not a directory" if traces.exists() else "there is no such directory"
        raise InputError(f"--traces {traces}: {problem}")
    missing = [name for name in wanted if not (traces / name).is_file()]
    if missing:
        raise InputError(
            f"--traces {traces}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} "
            f"missing there; wanted are {', '.join(TRACES.values())}"
        )
