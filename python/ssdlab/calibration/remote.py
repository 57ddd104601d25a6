"""Micro-benchmarks of an NBD server by fio, which speaks the protocol.

Transport latency and noise of a busy machine can be subtracted: between turns of the target, the
same requests go to a reference server with known latency.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from ssdlab._core import InputError
from ssdlab.calibration import fio, known
from ssdlab.calibration.measure import Plan
from ssdlab.calibration.points import Measured, Point, Steps, size_text

#: Maximum overrun of a measurement: to start fio, to connect, the last request.
PATIENCE_SECONDS = 60
#: Turns of the target and of the reference server, per point.
TURNS = 5


@dataclass(frozen=True)
class Cell:
    """Requests that are measured together."""

    pattern: str
    bytes: int
    outstanding: int


def measure(uri: str, plan: Plan, progress: Steps | None = None) -> Measured:
    """Measure the server at `uri`, in one zone: the whole of it."""
    plan.check()
    tool = shutil.which("fio")
    if tool is None:
        raise InputError(f"{uri}: measuring an NBD server takes fio, which is not installed")
    cells = [
        Cell(*it) for it in itertools.product(plan.patterns(), plan.block_bytes, plan.outstanding)
    ]
    random.Random(plan.seed).shuffle(cells)
    points: list[Point] = []
    ways: list[float] = []
    notes: list[str] = []
    with _known(plan.subtract_way) as ours:
        for done, cell in enumerate(cells):
            if progress is not None:
                progress(done, len(cells))
            if ours is None:
                points += _points(tool, uri, cell, plan, plan.seconds)
                continue
            point, way = _subtracted(tool, uri, ours, cell, plan)
            ways.append(way)
            if point.mean_us <= 0:
                notes.append(
                    f"{cell.pattern} of {size_text(cell.bytes)}, {cell.outstanding} outstanding, "
                    "was left out: it took no longer than the round trip"
                )
                continue
            points.append(point)
    conditions: dict[str, Any] = {
        "tool": "fio",
        "engine": "nbd",
        "zones": 1,
        "seconds_per_point": plan.seconds,
        "seed": plan.seed,
        "statistic": plan.statistic,
        "writes": plan.write,
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    if ways:
        conditions["subtracted_way"] = plan.subtract_way
        conditions["subtracted_us"] = f"{min(ways):.1f} to {max(ways):.1f}"
    return Measured(uri, points, conditions, notes=notes)


def _known(subtract_way: str | None) -> contextlib.AbstractContextManager[str | None]:
    """A server with a device of known latency, if the round trip is to be subtracted."""
    if subtract_way is None:
        return contextlib.nullcontext()
    # A server of ssdlab replies earlier by its estimate of the transport; the reference does the
    # same.
    return known.served(early=subtract_way == "ssdlab")


def _subtracted(tool: str, uri: str, ours: str, cell: Cell, plan: Plan) -> tuple[Point, float]:
    """A point less the round trip, and the round trip."""
    seconds = plan.seconds / TURNS
    times, ways, requests = [], [], 0
    # Turns use the same statistic as requests: other load of the machine can only add time.
    typical = min if plan.statistic == "low" else statistics.median
    for _ in range(TURNS):
        # Alternating, because the machine's other load varies.
        (point,) = _points(tool, uri, cell, plan, seconds)
        (way,) = _points(tool, ours, cell, plan, seconds)
        requests += point.requests
        times.append(point.mean_us)
        ways.append(way.mean_us - cell.outstanding * known.SERVICE_US)
    less = typical(times) - typical(ways)
    point = Point(cell.pattern, cell.bytes, cell.outstanding, less, requests)
    return point, typical(ways)


def _points(tool: str, uri: str, cell: Cell, plan: Plan, seconds: float) -> list[Point]:
    """Points of a cell, measured by fio."""
    words = {pattern: word for word, (_, pattern) in fio.PATTERNS.items()}
    job = {
        "name": f"{words[cell.pattern]}-{cell.bytes}-{cell.outstanding}",
        "ioengine": "nbd",
        "uri": uri,
        "rw": words[cell.pattern],
        "bs": str(cell.bytes),
        "iodepth": str(cell.outstanding),
        "runtime": f"{max(1, round(seconds * 1000))}ms",
        "randseed": str(plan.seed),
        # Percentiles of the whole latency, not of the completion alone.
        "lat_percentiles": "1",
        "percentile_list": "20:50",
    }
    arguments = [f"--{key}={value}" for key, value in job.items()]
    command = [tool, "--output-format=json", *arguments, "--time_based", "--norandommap"]
    patience = seconds + PATIENCE_SECONDS
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        raise InputError(f"{uri}: fio did not end within {patience:.0f} s") from None
    if ran.returncode:
        lines = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
        why = next((line for line in lines if "nbd" in line or "error" in line), "no reason given")
        raise InputError(f"{uri}: fio cannot measure it: {why}")
    result = json.loads(ran.stdout[ran.stdout.index("{") :])
    return fio.points_of(uri, result, plan.statistic)
