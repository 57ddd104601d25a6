"""Micro-benchmarks of an NBD server, made by fio, which speaks the protocol."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import time
from typing import Any

from ssdlab._core import InputError
from ssdlab.calibration import fio
from ssdlab.calibration.measure import Plan
from ssdlab.calibration.points import Measured, Steps

#: What a measurement may take beyond its own time: to start fio, to connect, the last request.
PATIENCE_SECONDS = 60


def measure(uri: str, plan: Plan, progress: Steps | None = None) -> Measured:
    """Measure the server at `uri`, in one zone: the whole of it."""
    plan.check()
    tool = shutil.which("fio")
    if tool is None:
        raise InputError(f"{uri}: measuring an NBD server takes fio, which is not installed")
    words = {pattern: word for word, (_, pattern) in fio.PATTERNS.items()}
    cells = list(itertools.product(plan.patterns(), plan.block_bytes, plan.outstanding))
    random.Random(plan.seed).shuffle(cells)
    points: list[Any] = []
    for done, (pattern, size, outstanding) in enumerate(cells):
        if progress is not None:
            progress(done, len(cells))
        job = {
            "name": f"{words[pattern]}-{size}-{outstanding}",
            "ioengine": "nbd",
            "uri": uri,
            "rw": words[pattern],
            "bs": str(size),
            "iodepth": str(outstanding),
            "runtime": f"{max(1, round(plan.seconds * 1000))}ms",
            "randseed": str(plan.seed),
        }
        arguments = [f"--{key}={value}" for key, value in job.items()]
        command = [tool, "--output-format=json", *arguments, "--time_based", "--norandommap"]
        points += _points(uri, command, plan.seconds + PATIENCE_SECONDS, plan.statistic)
    conditions = {
        "tool": "fio",
        "engine": "nbd",
        "zones": 1,
        "seconds_per_point": plan.seconds,
        "seed": plan.seed,
        "statistic": plan.statistic,
        "writes": plan.write,
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return Measured(uri, points, conditions)


def _points(uri: str, command: list[str], patience: float, statistic: str) -> list[Any]:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        raise InputError(f"{uri}: fio did not end within {patience:.0f} s") from None
    if ran.returncode:
        lines = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
        why = next((line for line in lines if "nbd" in line or "error" in line), "no reason given")
        raise InputError(f"{uri}: fio cannot measure it: {why}")
    result = json.loads(ran.stdout[ran.stdout.index("{") :])
    return fio.points_of(uri, result, statistic)
