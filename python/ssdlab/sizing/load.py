"""Load of the drives: a trace, a job file, or a load described by keys."""

from __future__ import annotations

import json
import math
import re
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ssdlab import layers, sources
from ssdlab import trace as traces
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.results.records import Record

#: Keys of a workload that are rates.
RATES = ("on_rate", "off_rate", "rate")
_RATE = re.compile(rf"((?:{'|'.join(RATES)}) = )([0-9.eE+-]+)")


#: Extensions of jobs of fio, and their lines with a place or a size in bytes.
FIO = (".fio", ".job", ".ini")
_PLACE = re.compile(r"(?mi)^(\s*(?:size|offset)\s*=\s*)(\d+)\s*([kmgtp]?)i?b?\s*$")


def _bytes(number: str, power: str) -> float:
    return float(number) * 1024.0 ** " kmgtp".index((power or " ").lower())


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
    is_paced: bool = True
    """True if arrival times are given, so that a lifetime follows; False for a queue depth."""
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
            found = layers.from_trace(self.source, self.trace, self.columns, keys) + part
            return found + self._own()
        if self.job is not None:
            return sources.from_experiment(self.job)
        return self._own()

    def _own(self) -> list[Layer]:
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

    def faster(self, factor: float) -> Load:
        """The load with `factor` times the requests a second.

        Raises `InputError` for a load without a pace, such as a queue depth.
        """
        if factor == 1:
            return self
        if not self.is_paced or (self.trace is None and not self._has_rate):
            raise InputError(
                f"{self.name}: has no rate that could grow; say one, such as "
                '"70/30 8K random, 20 K IOPS", or give a trace'
            )
        keys = dict(self.keys)
        if self.trace is not None or "workload.preset" in keys:
            scale = float(keys.get("workload.time_scale", "1")) / factor
            return replace(self, keys={**keys, "workload.time_scale": f"{scale:.10g}"})
        for key, value in keys.items():
            if key.rpartition(".")[2] in RATES:
                keys[key] = f"{float(value) * factor:.10g}"
            elif key == "workload.streams":
                keys[key] = _RATE.sub(lambda it: f"{it[1]}{float(it[2]) * factor:.10g}", value)
        return replace(self, keys=keys)

    @property
    def _has_rate(self) -> bool:
        names = {key.rpartition(".")[2] for key in self.keys}
        return bool(names & {*RATES, "preset", "streams"})

    @property
    def needed_bytes(self) -> float:
        """Bytes of the drives that a described load or a job of fio reaches; 0 if they are any."""
        if self.touches_bytes is not None:
            return self.touches_bytes
        if self.job is None or self.job.suffix not in FIO:
            return 0.0
        text = self.job.read_text(encoding="utf-8", errors="replace")
        return max([0.0, *(_bytes(it[2], it[3]) for it in _PLACE.finditer(text))])

    def share(self, all_bytes: float) -> dict[str, Any]:
        """Footprint of a described load, as a share of the drives' total capacity.

        A drive may be simulated in part: sizes in a job of fio become shares.
        """
        if self.job is not None and self.needed_bytes:
            text = self.job.read_text(encoding="utf-8", errors="replace")

            def percent(found: re.Match[str]) -> str:
                part = 100 * _bytes(found[2], found[3]) / all_bytes
                return f"{found[1]}{max(math.floor(part), 1)}%"

            lines = [_PLACE.sub(percent, line) for line in text.splitlines()]
            return {"path": "", "job": "\n".join(lines)}
        if self.touches_bytes is None:
            return {}
        return {"footprint": f"{min(self.touches_bytes / all_bytes, 1.0):.6g}"}

    def edited(self, job: str) -> str:
        """Words of a shell for the job with other sizes: an edit of its file."""
        assert self.job is not None
        lines = self.job.read_text(encoding="utf-8", errors="replace").splitlines()
        pairs = dict.fromkeys(zip(lines, job.splitlines(), strict=True))
        edits = ";".join(f"s/^{old}$/{new}/" for old, new in pairs if old != new)
        return f'"workload.job=$(sed {shlex.quote(edits)} {shlex.quote(str(self.job))})"'
