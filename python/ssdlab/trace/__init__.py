"""Traces as such, without a device: `info`, `head` and `convert`.

>>> import ssdlab.trace
>>> ssdlab.trace.info("some.trace").footprint_bytes  # doctest: +SKIP

A path is a file, plain or compressed, or "-" for standard input. Further arguments are keys of the
workload kind `trace` that say how the file is read: `format`, `time_unit`, `columns`, `layout`,
`event`, `read_share`, `skip_bad`, `devices`, `requests`, `duration`. The user's mistakes raise
`InputError`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ssdlab import _core
from ssdlab.results import Record

Path: TypeAlias = str | os.PathLike[str]


class Progress(NamedTuple):
    """How far a trace has been read; what `progress` is called with, about ten times a second."""

    requests: int
    """Requests read."""
    bytes: int
    """Bytes read of the file, compressed if it is."""
    expected_bytes: int | None
    """The size of the file, where that is known."""


Report: TypeAlias = Callable[[Progress], object]


def info(path: Path, *, progress: Report | None = None, **options: Any) -> Record:
    """What the trace holds: requests, sizes, places, times and oddities.

    Sizes are in bytes and times in seconds. The footprint counts pages of 4 KiB of each device;
    `working_set` is an estimate within 1 %; all else is exact. The option `capacity` ("27GiB") is
    that of a device: `oddities.beyond_device` counts the requests that it has no room for.
    """
    text = _core.trace_info(os.fspath(path), _json(options), _report(progress))
    return Record(json.loads(text))


def head(path: Path, count: int = 10, **options: Any) -> Record:
    """The first `count` requests, each with the number and text of the line it was read from."""
    return Record(json.loads(_core.trace_head(os.fspath(path), _json(options), count)))


def convert(
    source: Path,
    target: Path,
    to: str | None = None,
    *,
    progress: Report | None = None,
    **options: Any,
) -> Record:
    """Write the trace in the format `to`, or in that which the extension of `target` names.

    A further extension `.gz` or `.zst` compresses it. Returns how many requests were written, and
    as `lost` how often the format could not carry something. The target is complete or not there;
    raises `OSError` if it cannot be written.
    """
    paths = os.fspath(source), os.fspath(target)
    return Record(json.loads(_core.trace_convert(*paths, to, _json(options), _report(progress))))


def _json(options: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in options.items() if value is not None})


def _report(progress: Report | None) -> Callable[[int, int, int | None], object] | None:
    if progress is None:
        return None
    return lambda *now: progress(Progress(*now))
