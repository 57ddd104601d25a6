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
    """Content of a trace, read as rarely as possible: a large one takes long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, list[tuple[int, Record]]] = {}

    def of(self, options: Mapping[str, Any], path: str, capacity_bytes: int) -> Record:
        """Contents of the trace, with requests beyond a drive of that capacity.

        an empty excess stays empty on larger drives; where some do, they do on a smaller one. How
        many does not matter.
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
    """A load that drives are compared under; one of `trace`, `job` and `keys` says it."""

    name: str
    """Name in messages and tables."""
    trace: Path | None = None
    columns: str | None = None
    """What the columns of the trace are."""
    job: Path | None = None
    """A file that `ssdlab run` takes, such as a job of fio."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of a workload and their values, as `--set` has them."""
    touches_bytes: float | None = None
    """The part of the drives that a described load touches; None for all of it."""
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
        """The layers of the workload; `changed` are the assignments that lie above."""
        if self.trace is not None:
            keys = layers.keys_of(changed)
            # Every drive is prepared, so that a part of each block is simulated.
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
        """Content of the trace; `path` is the file that is read for it. Raises `InputError`."""
        return self._facts.of(options, path, capacity_bytes)

    def share(self, all_bytes: float) -> dict[str, Any]:
        """The footprint of a described load on drives that export so much together."""
        if self.touches_bytes is None:
            return {}
        return {"footprint": f"{min(self.touches_bytes / all_bytes, 1.0):.6g}"}
