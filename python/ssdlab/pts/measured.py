"""fio's measurements of a real drive, from the script of `ssdlab pts --jobs`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ssdlab import reading
from ssdlab._core import InputError
from ssdlab.pts.outcome import Measure, Outcome, Round
from ssdlab.pts.plan import TESTS, Load, Test

#: A round of a test, or a load after its rounds.
FILE = re.compile(r"([a-z]+)-([0-9]+|[a-z]+[0-9]*)\.json")


def load(folder: Path) -> dict[str, Outcome]:
    """Measured tests by word. Raises `InputError`."""
    if not folder.is_dir():
        raise InputError(
            f"--measured {folder}: is no folder; expected the one of --jobs, with results"
        )
    rounds: dict[str, dict[int, Round]] = {}
    after: dict[str, dict[str, Sequence[Measure]]] = {}
    for path in sorted(folder.glob("*.json")):
        found = FILE.fullmatch(path.name)
        if found is None or found[1] not in TESTS:
            continue
        test = TESTS[found[1]]
        if not found[2].isdigit():
            after.setdefault(test.word, {}).update(_round(path, test.after))
        else:
            rounds.setdefault(test.word, {})[int(found[2])] = _round(path, test.round)
    if not rounds and not after:
        raise InputError(
            f"--measured {folder}: no result of a test is there, such as iops-01.json; "
            "run.sh of --jobs writes them"
        )
    return {
        word: Outcome(test, [it for _, it in sorted(rounds.get(word, {}).items())],
                      after.get(word, {}))
        for word, test in TESTS.items()
        if word in rounds or word in after
    }  # fmt: skip


def _round(path: Path, loads: Sequence[Load]) -> Round:
    """Figures of a file's jobs by load."""
    text = reading.text(path)
    found = reading.parsed(path, text[max(text.find("{"), 0) :])
    known = {it.name: it for it in loads}
    measured: dict[str, list[Measure]] = {}
    try:
        for job in found["jobs"]:
            name = str(job["jobname"]).partition(".")[0]
            if name not in known:
                words = ", ".join([*known][:3])
                raise InputError(
                    f'{path}: job "{name}" is not of this test, which has {words}, ...'
                )
            measured.setdefault(name, []).append(_measure(job))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        said = f"no {error}" if isinstance(error, KeyError) else f"{error}"
        raise InputError(f"{path}: is not JSON as fio writes it: {said}") from None
    return measured


def _measure(job: Mapping[str, Any]) -> Measure:
    """A job's reads and writes together. Raises `KeyError`, `TypeError` or `ValueError`."""
    if int(job.get("error", 0)):
        raise ValueError(f"job {job['jobname']} ended with error {job['error']}")
    sides = [it for word in ("read", "write") if (it := job[word]).get("total_ios", 0)]
    if not sides:
        raise ValueError(f"job {job['jobname']} has measured no request")
    counts = [float(it["total_ios"]) for it in sides]
    times = [it.get("lat_ns") or it["clat_ns"] for it in sides]
    means = [float(it["mean"]) for it in times]
    weighted = sum(n * mean for n, mean in zip(counts, means, strict=True))
    return Measure(
        requests=round(sum(counts)),
        iops=sum(float(it["iops"]) for it in sides),
        mb_per_s=sum(float(it["bw_bytes"]) for it in sides) / 1e6,
        mean_us=weighted / sum(counts) / 1e3,
        max_us=max(float(it["max"]) for it in times) / 1e3,
        written_bytes=float(job["write"]["io_bytes"]),
    )


def only(found: Mapping[str, Outcome], words: Sequence[str], folder: Path) -> list[Test]:
    """The tests to simulate beside measurements: the requested ones, or all measured ones."""
    for word in words:
        if word not in found:
            there = ", ".join(found)
            raise InputError(
                f"--only {word}: {folder} has no result of this test; there are {there}"
            )
    return [TESTS[it] for it in words or found]
