"""Load of the drives: a trace, a job file, or a load described by keys."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import layers, sources
from ssdlab import trace as traces
from ssdlab.layers import Layer
from ssdlab.results.records import Record


class Facts:
    """Content of a trace, memoised because reading a large trace is slow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, list[tuple[int, Record]]] = {}

    def of(self, options: Mapping[str, Any], path: str, capacity_bytes: int) -> Record:
        """Content of the trace, with requests beyond a drive of that capacity.

        If none exceed a drive, none exceed a larger one; if some do, some exceed a smaller one.
        Their number does not matter.
        """
        with self._lock:
            known = self._known.setdefault(json.dumps([path, options]), [])
            for capacity, found in known:
                beyond = found.oddities.beyond_device
                if capacity >= capacity_bytes if beyond else capacity <= capacity_bytes:
                    return found
            found = traces.info(path, capacity=f"{capacity_bytes}B", **options)
            known.append((capacity_bytes, found))
            return found


@dataclass(frozen=True)
class Load:
    """The load of a comparison; one of `trace`, `job` and `keys` defines it."""

    name: str
    """Name in messages and tables."""
    trace: Path | None = None
    columns: str | None = None
    """Assignment of the trace's columns."""
    job: Path | None = None
    """A file for `ssdlab run`, such as a fio job."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of a workload and their values, in the syntax of `--set`."""
    touches_bytes: float | None = None
    """Bytes touched by a described load; None for the whole drive."""
    _facts: Facts = field(default_factory=lambda: Facts(), compare=False, repr=False)

    @classmethod
    def of(cls, trace: str | Path, columns: str | None = None) -> Load:
        """The load of a trace."""
        return cls(Path(trace).name, Path(trace), columns)

    @property
    def source(self) -> str:
        """Prefix of its messages."""
        return f"--trace {self.trace}" if self.trace is not None else self.name

    def layers(self, changed: Sequence[str] = ()) -> list[Layer]:
        """The layers of the workload; `changed` are assignments above them."""
        if self.trace is not None:
            keys = layers.keys_of(changed)
            # The drive is preconditioned, so a fraction of each block can be simulated.
            part = layers.from_mapping(self.source, {"run": {"precondition": "random:1"}})
            return layers.from_trace(self.source, self.trace, self.columns, keys) + part
        if self.job is not None:
            return sources.from_experiment(self.job)
        return layers.from_options([f"{key}={value}" for key, value in self.keys.items()])

    def words(self) -> list[str]:
        """Arguments of `ssdlab run` besides the keys."""
        if self.trace is not None:
            mapped = [] if self.columns is None else ["--columns", self.columns]
            return ["--trace", str(self.trace), *mapped]
        return [] if self.job is None else [str(self.job)]

    def facts(self, options: Mapping[str, Any], path: str, capacity_bytes: int) -> Record:
        """Content of the trace, read from `path`. Raises `InputError`."""
        return self._facts.of(options, path, capacity_bytes)

    def share(self, all_bytes: float) -> dict[str, Any]:
        """Footprint of a described load, as a share of the drives' total capacity."""
        if self.touches_bytes is None:
            return {}
        return {"footprint": f"{min(self.touches_bytes / all_bytes, 1.0):.6g}"}
