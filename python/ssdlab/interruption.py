"""SIGTERM for commands that clean up: like Ctrl-C, with a different exit status."""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # replaces `typing`, which is not needed here
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from threading import Event
    from types import FrameType, TracebackType
    from typing import TypeVar

    T = TypeVar("T")

#: As in shells: 128 plus the number of the signal.
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the progress of the interrupted work."""


def finished(
    futures: Iterable[Future[T]], ended: Iterable[Future[T]], cancelled: Event
) -> Iterator[T]:
    """The results of futures as they end; an interruption sets `cancelled` and ends the rest."""
    try:
        for future in ended:
            yield future.result()
    except BaseException:
        cancelled.set()
        raise
    finally:
        for future in futures:
            future.cancel()


def report_interruption(error: BaseException) -> int:
    """Report that an interruption ended the command; returns the exit status."""
    reason: BaseException | None = error
    while reason is not None and not isinstance(reason, Interrupted):
        reason = reason.__cause__ or reason.__context__
    message = "interrupted; nothing was written" if reason is None else str(reason)
    print(f"ssdlab: {message}", file=sys.stderr, flush=True)
    return status_of(error) or INTERRUPTED


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


class SigtermInterrupts:
    """Within the block SIGTERM interrupts like Ctrl-C."""

    def __enter__(self) -> None:
        try:
            self._before = signal.signal(signal.SIGTERM, _raise)
        except ValueError:  # only the main thread receives signals
            self._before = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)


def status_of(error: BaseException) -> int | None:
    """The exit status for an error caused by a signal; None for other errors."""
    reason: BaseException | None = error
    found = None
    while reason is not None:
        if isinstance(reason, KeyboardInterrupt):
            found = TERMINATED if isinstance(reason, Terminated) else found or INTERRUPTED
        reason = reason.__cause__ or reason.__context__
    return found
