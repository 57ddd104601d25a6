"""Size of the simulations, and their runs: in parallel, each with a seed of its own."""

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
from ssdlab.layers import Layer
from ssdlab.results import Results
from ssdlab.results.facts import Facts
from ssdlab.running import Progress, run_layers, stack
from ssdlab.running.advice import preparation
from ssdlab.why.changes import Change

#: Requests of a trial at most: enough for a p99, in most loads for a p99.9.
MOST_REQUESTS = 300_000
#: Requests of a trial at least, and above a percentile that is to be improved.
FEWEST, ABOVE = 2000, 50
#: Seconds of one processor for all trials together, by the constants below: counts of the run
#: decide, not a clock, so that a run gets the same answer on every machine.
SECONDS = 20.0
#: Seconds that a request, an operation of a page, a page that fills a drive and one that overwrites
#: it take: about the most that `tlc-enterprise`, `tlc-client`, `qlc-enterprise`, `samsung-pm9a3`,
#: `agrawal2008` and `sata-2008` took under five loads on one processor of 2023.
PER_REQUEST, PER_OPERATION = 0.4e-6, 0.12e-6
PER_FILLED_PAGE, PER_OVERWRITTEN_PAGE = 0.02e-6, 0.12e-6
#: Minimum ratio of measured to preparation time: of a large drive the preparation alone may take
#: all of `SECONDS`, and a few requests after it would decide nothing.
MEASURED = 0.2
#: Simulations that a change takes on average until it is decided: many are dropped at the first.
ON_AVERAGE = 3


@dataclass(frozen=True)
class Plan:
    """The size of a trial."""

    #: Settings of all simulations.
    assignments: tuple[str, ...]
    #: Requests of a simulation; None where the load itself ends them.
    requests: int | None
    #: Seconds that a simulation takes, about.
    seconds: float
    #: Preparation of the drive, if shorter than the experiment's.
    prepared: str | None


def plan(
    results: Results, changes: int, requests: int | None = None, column: str | None = None
) -> Plan:
    """The size of a trial on the experiment of `results`, so that all fit in `SECONDS`.

    As far as the run has them, `ABOVE` requests lie above a percentile that is to be improved.
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
    """Requests of which `ABOVE` lie above the percentile of a column; 0 of another figure."""
    kind, is_tail, percentile = (column or "").removeprefix("host.").partition(".percentiles_us.")
    share = 1 - float(percentile) / 100 if is_tail else 0.0
    some = results.host[kind].requests if is_tail else 0
    return math.ceil(ABOVE / share * results.host.all.requests / some) if share and some else 0


def seconds_each(results: Results) -> float:
    """The seconds that a request of a run takes to simulate, about."""
    flash = results.get("flash") or {}
    operations = sum(flash.get(key) or 0 for key in ("page_reads", "page_programs"))
    return PER_REQUEST + PER_OPERATION * operations / max(results.host.all.requests, 1)


def rounded(number: int) -> int:
    """A number that people read: its first two digits.

    >>> rounded(123456), rounded(7)
    (120000, 7)
    """
    step: int = 10 ** max(len(str(number)) - 2, 0)
    return number - number % step


#: A simulation: the change, None for the experiment as it is, and the place of its seed.
Key: TypeAlias = "tuple[Change | None, int]"


class Crew:
    """Runs simulations on every core; refusals are outcomes, too."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._stopped = threading.Event()
        self._running: dict[Future[Results | str], Key] = {}

    def start(self, key: Key, stack_: Sequence[Layer], seed: int) -> None:
        """Begin a simulation, which `outcomes` calls `key`."""
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

    Their prepared drives are not kept: each is used once, and would displace reusable ones.
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
    """Results of an experiment that was not run yet, with `MOST_REQUESTS` requests at most."""
    requested = json.loads(_core.resolve_json(below)).get("workload", {}).get("requests")
    is_short = isinstance(requested, int) and requested <= MOST_REQUESTS
    less = () if is_short else (f"workload.requests={MOST_REQUESTS}",)
    return run_layers([*below, *stack.above(less, None)], progress=progress)
