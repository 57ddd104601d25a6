"""SIGTERM for commands that clean up: like Ctrl-C, with an exit status of its own."""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # that of typing, which is not needed here
if TYPE_CHECKING:
    from types import FrameType, TracebackType

#: As in shells: 128 and the number of the signal.
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the progress of the interrupted work."""


def told(error: BaseException) -> int:
    """Reports that an interruption ended the command; the exit status."""
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
        except ValueError:  # a thread gets no signals
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
    """The exit status of what ended because of a signal; None if that was not the reason."""
    reason: BaseException | None = error
    found = None
    while reason is not None:
        if isinstance(reason, KeyboardInterrupt):
            found = TERMINATED if isinstance(reason, Terminated) else found or INTERRUPTED
        reason = reason.__cause__ or reason.__context__
    return found
