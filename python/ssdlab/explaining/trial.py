"""Size of the simulations, and their parallel runs, each with its own seed."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from ssdlab import _core, cache, layers, portable
from ssdlab._core import InputError, PolicyError
from ssdlab.explaining.changes import Change
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.results.facts import Facts
from ssdlab.running import Progress, run_layers, stack
from ssdlab.running.advice import preparation

#: Maximum number of requests of a trial: enough for a p99, in most loads for a p99.9.
MOST_REQUESTS = 300_000
#: Minimum number of requests of a trial, and above a percentile to improve.
FEWEST, ABOVE = 2000, 50
#: CPU seconds of all trials together, estimated by the constants below from counts of the run, so
#: that the answer is the same on every machine.
SECONDS = 20.0
#: Estimated seconds per request, page operation, page filled and page overwritten: about the
#: maximum for `tlc-enterprise`, `tlc-client`, `qlc-enterprise`, `samsung-pm9a3`, `agrawal2008` and
#: `sata-2008` under five loads on one core of 2023.
PER_REQUEST, PER_OPERATION = 0.4e-6, 0.12e-6
PER_FILLED_PAGE, PER_OVERWRITTEN_PAGE = 0.02e-6, 0.12e-6
#: Minimum ratio of measured to preparation time: preconditioning a large drive may take all of
#: `SECONDS`, and a few requests after it would be inconclusive.
MEASURED = 0.2
#: Mean number of simulations per change: many are dropped after the first.
ON_AVERAGE = 3


@dataclass(frozen=True)
class Plan:
    """The size of a trial."""

    #: Settings of all simulations.
    assignments: tuple[str, ...]
    #: Requests per simulation; None if the load ends by itself.
    requests: int | None
    #: Estimated seconds per simulation.
    seconds: float
    #: Preconditioning of the drive, if shorter than the experiment's.
    prepared: str | None


def plan(
    results: Results, changes: int, requests: int | None = None, column: str | None = None
) -> Plan:
    """The size of a trial on the experiment of `results`, so that all fit in `SECONDS`.

    If the run is long enough, `ABOVE` requests lie above a percentile to improve.
    """
    facts = Facts(results)
    shortened, prepared = preparation(facts, PER_FILLED_PAGE, PER_OVERWRITTEN_PAGE)
    each = seconds_each(results)
    requested = facts.setting("workload.requests")
    own = requested if isinstance(requested, int) else results.host.all.requests
    most = min(requests or MOST_REQUESTS, own)
    if requests is None:
        room = SECONDS / (ON_AVERAGE * (1 + changes)) - prepared
        room = max(room, MEASURED * prepared)
        minimum = min(max(FEWEST, above(results, column)), MOST_REQUESTS)
        most = min(most, max(rounded(int(room / each)), minimum))
    less = (f"workload.requests={most}",) if most < own or requested is None else ()
    state = ("run.save_drive=",) if facts.setting("run.save_drive") else ()
    series = ("run.timeline=none",) if facts.setting("run.timeline") not in (None, "none") else ()
    way = shortened[0].partition("=")[2] if shortened else None
    return Plan((*shortened, *less, *state, *series), most, prepared + each * most, way)


def above(results: Results, column: str | None) -> int:
    """Number of requests of which `ABOVE` lie above a column's percentile; 0 for other columns."""
    kind, is_tail, percentile = (column or "").removeprefix("host.").partition(".percentiles_us.")
    share = 1 - float(percentile) / 100 if is_tail else 0.0
    some = results.host[kind].requests if is_tail else 0
    return math.ceil(ABOVE / share * results.host.all.requests / some) if share and some else 0


def seconds_each(results: Results) -> float:
    """Estimated wall-clock seconds per request of a run."""
    flash = results.get("flash") or {}
    operations = sum(flash.get(key) or 0 for key in ("page_reads", "page_programs"))
    return PER_REQUEST + PER_OPERATION * operations / max(results.host.all.requests, 1)


def rounded(number: int) -> int:
    """A readable number, with two significant digits.

    >>> rounded(123456), rounded(7)
    (120000, 7)
    """
    step: int = 10 ** max(len(str(number)) - 2, 0)
    return number - number % step


#: A simulation: the change, None for the unchanged experiment, and the index of its seed.
Key: TypeAlias = "tuple[Change | None, int]"


class Crew:
    """Runs simulations on all cores; rejections are outcomes, too."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._stopped = threading.Event()
        self._running: dict[Future[Results | str], Key] = {}

    def start(self, key: Key, stack_: Sequence[Layer], seed: int) -> None:
        """Start a simulation, identified by `key` in `outcomes`."""
        own = [*stack_, *layers.from_seed(f"seed {seed}", seed)]
        self._running[self._pool.submit(self._one, own)] = key

    def outcomes(self) -> Iterator[tuple[Key, Results | str]]:
        """Yield simulations in order of completion, starting others meanwhile."""
        while self._running:
            for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                yield self._running.pop(future), future.result()

    def _one(self, own: Sequence[Layer]) -> Results | str:
        def move(_: Progress) -> None:
            if self._stopped.is_set():
                raise KeyboardInterrupt

        try:
            return run_layers(own, progress=move)
        except (InputError, PolicyError) as error:
            return str(error)

    def stop(self) -> None:
        """Stop all simulations."""
        self._stopped.set()
        for future in self._running:
            future.cancel()


@contextmanager
def crew(workers: int | None) -> Iterator[Crew]:
    """A crew, whose simulations end with the context.

    Their preconditioned drives are not cached: each is used once, and would displace reusable ones.
    """
    with cache.off(), ThreadPoolExecutor(workers or portable.cores()) as pool:
        found = Crew(pool)
        try:
            yield found
        finally:
            found.stop()


def first_run(
    below: Sequence[Layer], progress: Callable[[Progress], object] | None = None
) -> Results:
    """Results of an experiment that was not run yet, with at most `MOST_REQUESTS` requests."""
    requested = json.loads(_core.resolve_json(below)).get("workload", {}).get("requests")
    is_short = isinstance(requested, int) and requested <= MOST_REQUESTS
    less = () if is_short else (f"workload.requests={MOST_REQUESTS}",)
    return run_layers([*below, *stack.above(less, None)], progress=progress)
