"""Execution of points: local processes, a Dask cluster, or any executor of `concurrent.futures`.

Each is a set of lanes for the loop `Crew.run`. A lane holds one point at a time.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from ssdlab import delivery, portable
from ssdlab._core import InputError
from ssdlab._core import version as __version__
from ssdlab.optional import required
from ssdlab.sweeps import work
from ssdlab.sweeps.plan import Point
from ssdlab.sweeps.work import Outcome

Done: TypeAlias = Callable[[Point, Outcome], None]

#: Number of worker deaths after which a point counts as failed.
MAX_DEATHS = 3
#: Points in flight for an executor of unknown size.
FOREIGN_LANES = 256
#: Points in flight per thread of a cluster, to hide network latency.
LANES_PER_THREAD = 3
CONNECT_SECONDS = 10
#: Time for a lost scheduler and its workers to return.
RETURN_SECONDS = 120


class Lost(RuntimeError):
    """All workers are lost; completed points are kept."""


class Lane(Protocol):
    """Runs one point at a time."""

    def submit(self, point: Point, check: bool) -> Future[Outcome]:
        """Begin a point."""

    def restart(self) -> bool:
        """Replace a dead worker; False for a foreign executor."""


#: Lanes that replace all lost ones. Raises `Lost` if there are none.
Renewed: TypeAlias = "Callable[[Lost], list[Lane]]"


class _Process:
    """A local worker process; one pool each, so that a death identifies its point."""

    def __init__(self, alive: Any) -> None:
        self._alive = alive
        self._pool: ProcessPoolExecutor | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if self._pool is None:
            # Spawned: a fork of a process with threads may hang.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, work.follow, (self._alive,))
        # Only the sweep reacts to Ctrl-C.
        with portable.interrupts_are_ours(), _without_main():
            return self._pool.submit(function, *arguments)

    def submit(self, point: Point, check: bool) -> Future[Outcome]:
        return self.call(work.run_point, point.layers, check)

    def restart(self) -> bool:
        self.stop()
        return True

    def stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        # A worker that dies while sending results leaves a partial message, and the reader waits as
        # long as the pipe has a writer: so this process closes its end.
        writer = getattr(getattr(pool, "_result_queue", None), "_writer", None)
        pool.shutdown(wait=False, cancel_futures=True)
        if writer is not None:
            writer.close()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Context in which spawned processes do not import the main module.

    Workers do not need it: they start faster, and scripts need no `if __name__ == "__main__":`.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _Foreign:
    """A lane in the caller's executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, point: Point, check: bool) -> Future[Outcome]:
        return self._executor.submit(work.run_point, point.layers, check)

    def restart(self) -> bool:
        return False


class Crew:
    """Lanes with the loop that feeds them."""

    def __init__(self, lanes: Iterable[Lane], name: str, renewed: Renewed | None = None) -> None:
        self._free = list(lanes)
        self._name = name
        self._renewed = renewed

    def run(self, points: Iterable[Point], check: bool, done: Done) -> None:
        """Run each point once and call `done` with its outcome, in order of completion.

        Raises `Lost` if no worker can be replaced.
        """
        left = {point.key: point for point in points}

        def finished(point: Point, outcome: Outcome) -> None:
            del left[point.key]
            done(point, outcome)

        while left:
            try:
                self._run([*left.values()], check, finished)
            except Lost as error:
                if self._renewed is None:
                    raise
                self._free = self._renewed(error)

    def _run(self, points: Iterable[Point], check: bool, done: Done) -> None:
        waiting = deque(points)
        deaths: dict[str, int] = {}
        running: dict[Future[Outcome], tuple[Point, Lane]] = {}
        try:
            while waiting or running:
                while waiting and self._free:
                    point, lane = waiting.popleft(), self._free.pop()
                    running[lane.submit(point, check)] = (point, lane)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    point, lane = running.pop(future)
                    outcome = self._outcome(future, point, lane, deaths)
                    self._free.append(lane)
                    if outcome is None:
                        waiting.appendleft(point)
                    else:
                        done(point, outcome)
        except Lost:
            raise
        except (BrokenExecutor, RuntimeError) as error:
            raise Lost(f"{self._name}: {error}") from error
        finally:
            for future in running:
                future.cancel()

    def _outcome(
        self, future: Future[Outcome], point: Point, lane: Lane, deaths: dict[str, int]
    ) -> Outcome | None:
        """Outcome of a point; None if it is to run again."""
        try:
            return future.result()
        except BrokenExecutor:
            if not lane.restart():
                raise
            deaths[point.key] = deaths.get(point.key, 0) + 1
            if deaths[point.key] < MAX_DEATHS:
                return None
            return None, f"its worker process died {MAX_DEATHS} times, as when memory runs out"
        except CancelledError as error:
            raise Lost(f"{self._name}: the workers are gone") from error
        except Exception as error:  # such as Dask's KilledWorker
            return None, f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def local(workers: int) -> Iterator[Crew]:
    """Worker processes on this machine; the context's end terminates them."""
    theirs, ours = multiprocessing.Pipe(duplex=False)
    lanes = [_Process(theirs) for _ in range(workers)]
    try:
        try:
            for started in [lane.call(work.version) for lane in lanes]:
                started.result()
        except BrokenExecutor:
            raise Lost("the worker processes cannot start") from None
        yield Crew(lanes, "the worker processes")
    finally:
        ours.close()
        for lane in lanes:
            lane.stop()
        theirs.close()


@contextlib.contextmanager
def on(executor: Any, source: str) -> Iterator[Crew]:
    """The crew of an executor, a Dask client or the address of a Dask scheduler.

    Raises `InputError` for anything else, an unreachable scheduler, or workers of another version
    of ssdlab.
    """
    if isinstance(executor, str):
        with _cluster(executor, source) as crew:
            yield crew
    elif isinstance(executor, Executor):
        lanes = getattr(executor, "_max_workers", FOREIGN_LANES)
        with contextlib.suppress(BrokenExecutor):
            _same_version({"a worker": executor.submit(work.version).result()}, source)
        yield Crew([_Foreign(executor) for _ in range(2 * lanes)], source)
    elif hasattr(executor, "get_executor") and hasattr(executor, "scheduler_info"):
        yield Crew(_dask(executor, source), source)
    else:
        raise InputError(
            f"{source}: expected an Executor, a dask.distributed.Client or the address of a Dask "
            f"scheduler, not {executor!r}"
        )


@contextlib.contextmanager
def _cluster(address: str, source: str) -> Iterator[Crew]:
    """The crew of a scheduler's address; a scheduler that returns after a loss is taken up."""
    distributed = required("distributed", source)
    # Errors get messages of ssdlab. Each module of Dask sets a level of its own.
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as clients:

        def connected() -> list[Lane]:
            try:
                client = distributed.Client(address, timeout=CONNECT_SECONDS)
            except Exception as error:
                reason = str(error).partition("\n")[0] or type(error).__name__
                raise InputError(f"{source}: the scheduler cannot be reached: {reason}") from None
            clients.callback(_closed, client)
            return _dask(client, source)

        def renewed(lost: Lost) -> list[Lane]:
            clients.close()
            wait_for = f"waiting {RETURN_SECONDS} s for the scheduler and its workers to return"
            delivery.note(f"{lost}; {wait_for}")
            until = time.monotonic() + RETURN_SECONDS
            while True:
                try:
                    return connected()
                except InputError:
                    if time.monotonic() > until:
                        raise lost from None
                    clients.close()
                    time.sleep(1)

        yield Crew(connected(), source, renewed)


def _closed(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=1)


def _dask(client: Any, source: str) -> list[Lane]:
    threads = sum(client.nthreads().values())
    if not threads:
        raise InputError(f"{source}: the cluster has no workers")
    try:
        versions = client.run(work.version)
    except Exception as error:
        raise InputError(f"{source}: a worker cannot load ssdlab: {error}") from None
    _same_version(versions, source)
    executor = client.get_executor(pure=False)
    return [_Foreign(executor) for _ in range(LANES_PER_THREAD * threads)]


def _same_version(versions: dict[str, str], source: str) -> None:
    for worker, version in versions.items():
        if version != __version__:
            raise InputError(
                f"{source}: {worker} has ssdlab {version}, this is {__version__}; "
                "the same version is needed everywhere"
            )
