"""Logs of fio beside its JSON: bandwidth and latency over time, a line for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.calibration import fio

#: Minimum and maximum number of bandwidth samples. A sample covers the time since its predecessor.
FEWEST_SAMPLES = 8
#: Maximum relative difference in bytes between log and JSON: samples of the log are means.
SAME = 0.25


@dataclass(frozen=True)
class Stage:
    """A job that ran alone, with its time."""

    name: str
    job: Mapping[str, Any]
    options: Mapping[str, Any]
    began_s: float
    ended_s: float

    def bytes(self, op: str) -> int:
        """Bytes transferred."""
        return int(self.job[op]["io_bytes"])


def stage(path: Path) -> Stage:
    """The only job of a JSON result."""
    if not path.is_file():
        raise InputError(f"{path}: is not there; it is written by the script of the recipe")
    name = str(path)
    result = fio._parsed(name, _core.read_decompressed(name))
    jobs = result["jobs"]
    if len(jobs) != 1:
        raise InputError(f"{name}: has {len(jobs)} jobs; the recipe runs one at a time (--section)")
    job = jobs[0]
    try:
        ended, took = float(result["timestamp_ms"]) / 1000, float(job["job_runtime"]) / 1000
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{name}: lacks {error}, which says when it was run") from None
    return Stage(path.stem, job, fio._options(name, job, result), ended - took, ended)


def _rows(path: Path) -> Iterator[tuple[float, float, str]]:
    """Milliseconds, value and remaining fields of each line."""
    try:
        text = _core.read_decompressed(str(path)).decode("ascii")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a log of fio: it is no text") from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            at, value, *more = line.split(",", 2)
            yield float(at), float(value), more[0] if more else ""
        except ValueError:
            raise InputError(
                f"{path}, line {number}: not a line of fio's log, such as 500, 409600, 1, 0, 0: "
                f"{line[:60]}"
            ) from None


def _log(directory: Path, name: str, kind: str) -> Path:
    for path in (directory / f"{name}_{kind}.1.log", directory / f"{name}_{kind}.log"):
        if path.is_file():
            return path
    raise InputError(f"{directory}: there is no {name}_{kind}.1.log, which the script writes")


def bandwidth(directory: Path, of: Stage, op: str) -> list[tuple[float, float]]:
    """Bandwidth of a stage: seconds and bytes of each sample."""
    path = _log(directory, of.name, "bw")
    samples, before = [], 0.0
    for at, value, _ in _rows(path):
        if at < before:
            raise InputError(f"{path}: its times go back; a log of one job is needed")
        if at > before:
            seconds = (at - before) / 1000
            samples.append((seconds, 1024 * value * seconds))
        before = at
    if len(samples) < FEWEST_SAMPLES:
        raise InputError(
            f"{path}: has {len(samples)} samples, too few to see a change in; at least "
            f"{FEWEST_SAMPLES} are needed: a shorter log_avg_msec, or more bytes"
        )
    total, known = sum(amount for _, amount in samples), of.bytes(op)
    # Only the last sample may be incomplete.
    if known <= 0 or not 1 - SAME <= total / known <= 1 + SAME:
        raise InputError(
            f"{path}: its samples come to {total / 1e6:.4g} MB, and {of.name}.json has "
            f"{known / 1e6:.4g} MB; write_bw_log needs log_avg_msec, and both files must be of the "
            "same run"
        )
    return samples


def latencies_us(directory: Path, name: str) -> list[float]:
    """The latency of each request of a stage."""
    path = _log(directory, name, "lat")
    return [value / 1000 for _, value, _ in _rows(path)]


@dataclass(frozen=True)
class Latency:
    """A request in a latency log: completion time, latency and size."""

    ms: float
    us: float
    size: int


def latencies(directory: Path, name: str) -> list[Latency]:
    """Requests of a stage in order of completion."""
    path = _log(directory, name, "lat")
    found = []
    for at, value, more in _rows(path):
        try:
            found.append(Latency(at, value / 1000, int(more.split(",")[1])))
        except (IndexError, ValueError):
            raise InputError(
                f"{path}: its lines have no sizes (time, latency, direction, size)"
            ) from None
    if not found:
        raise InputError(f"{path}: has no requests")
    return found
