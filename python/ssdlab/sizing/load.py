"""What is asked of the drives: a trace, a job file, or a load described by keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import layers, sources
from ssdlab.layers import Layer


@dataclass(frozen=True)
class Load:
    """A load that drives are compared under; one of `trace`, `job` and `keys` says it."""

    name: str
    """What messages and tables call it."""
    trace: Path | None = None
    columns: str | None = None
    """What the columns of the trace are."""
    job: Path | None = None
    """A file that `ssdlab run` takes, such as a job of fio."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of a workload and their values, as `--set` has them."""
    touches_bytes: float | None = None
    """The part of the drives that a described load touches; None for all of it."""

    @classmethod
    def of(cls, trace: str | Path, columns: str | None = None) -> Load:
        """The load of a trace."""
        return cls(Path(trace).name, Path(trace), columns)

    @property
    def source(self) -> str:
        """What a message about it begins with."""
        return f"--trace {self.trace}" if self.trace is not None else self.name

    def layers(self, changed: Sequence[str] = ()) -> list[Layer]:
        """The layers of the workload; `changed` are the assignments that lie above."""
        if self.trace is not None:
            keys = layers.keys_of(changed)
            return layers.from_trace(self.source, self.trace, self.columns, keys)
        if self.job is not None:
            return sources.from_experiment(self.job)
        return layers.from_options([f"{key}={value}" for key, value in self.keys.items()])

    def words(self) -> list[str]:
        """What `ssdlab run` is told of it, beside the keys."""
        if self.trace is not None:
            mapped = [] if self.columns is None else ["--columns", self.columns]
            return ["--trace", str(self.trace), *mapped]
        return [] if self.job is None else [str(self.job)]

    def share(self, all_bytes: float) -> dict[str, Any]:
        """The footprint of a described load on drives that export so much together."""
        if self.touches_bytes is None:
            return {}
        return {"footprint": f"{min(self.touches_bytes / all_bytes, 1.0):.6g}"}
