"""The cache: prepared drives, and tables converted into traces.

The engine keeps and finds the states (`crates/lab/src/cache`); this module lists and clears the
cache. `SSDLAB_CACHE` names their folder, or is `off`; `SSDLAB_CACHE_SIZE` is their bound.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from ssdlab import _core
from ssdlab.tables import kept

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VARIABLE = "SSDLAB_CACHE"


@contextlib.contextmanager
def off(without: bool = True) -> Iterator[None]:
    """Context in which this process and its children neither read nor write prepared drives."""
    if not without:
        yield
        return
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "off"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def folder() -> Path | None:
    """The cache folder, whether or not it is in use."""
    return _core.cache_folder()


def entries() -> list[dict[str, Any]]:
    """Cache entries, most recently used first."""
    import json

    position = folder()
    found: list[dict[str, Any]] = (
        [] if position is None else json.loads(_core.cache_entries(position))
    )
    for entry in found:
        if entry["decided_by"] is not None:
            entry["decided_by"] = json.loads(entry["decided_by"])
    return found


def traces() -> list[dict[str, Any]]:
    """Converted traces, most recently used first."""
    position = folder()
    return [] if position is None else kept.entries(position)


def clear() -> tuple[int, int, int]:
    """Remove all entries; returns the numbers of prepared drives and traces, and their bytes."""
    position = folder()
    if position is None:
        return 0, 0, 0
    drives, of_drives = _core.cache_clear(position)
    count, of_traces = kept.clear(position)
    return drives, count, of_drives + of_traces


def to_dict() -> dict[str, Any]:
    """The cache in the form of `ssdlab cache --json`."""
    drives, tables, position, bound = entries(), traces(), folder(), _core.cache_bound()
    return {
        "folder": None if position is None else str(position),
        "in_use": bound is not None,
        "bound_bytes": bound,
        "bytes": sum(entry["bytes"] for entry in (*drives, *tables)),
        "entries": drives,
        "traces": tables,
    }
