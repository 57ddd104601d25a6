"""A worker's job, local or remote: runs one point at a time, from layers to results.

An outcome is a pair of texts, one of them None: the results as JSON, or an error. A point's
exception is its outcome, and never ends the worker.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TypeAlias

from ssdlab import _core, portable
from ssdlab.layers import Layer

Outcome: TypeAlias = tuple[str | None, str | None]


def run_point(layers: Sequence[Layer], check: bool) -> Outcome:
    """Simulate one point; only permitted layers may load code."""
    try:
        return _core.run(layers, check), None
    except (_core.InputError, _core.CheckError, _core.InternalError) as error:
        return None, str(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a violated invariant raises a panic, which is not an Exception
        return None, f"{type(error).__name__}: {error}"


def version() -> str:
    """The worker's version of ssdlab."""
    return _core.version


def follow(parent: Connection) -> None:
    """End this process as soon as the other end of `parent` closes, even during a simulation, so
    that no worker outlives the sweep.
    """

    portable.ignore_interrupts()

    def wait() -> None:
        try:
            parent.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
