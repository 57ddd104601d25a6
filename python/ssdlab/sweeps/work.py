"""Work of a worker, in any place: one point at a time, from layers to results.

An outcome is a pair of texts, one of them None: the results as JSON, or what went wrong. Whatever
goes wrong inside a point is its outcome, never the end of the worker.
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
    """Simulate one point; only a layer that may name code does."""
    try:
        return _core.run(layers, check), None
    except (_core.InputError, _core.CheckError, _core.InternalError) as error:
        return None, str(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a broken invariant arrives as a panic, which is no Exception
        return None, f"{type(error).__name__}: {error}"


def version() -> str:
    """The version of ssdlab that this worker has."""
    return _core.version


def follow(parent: Connection) -> None:
    """End this process as soon as the other end of `parent` is closed, even in mid-simulation.

    So a worker never outlives the sweep, however that ends.
    """

    portable.ignore_interrupts()

    def wait() -> None:
        try:
            parent.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
