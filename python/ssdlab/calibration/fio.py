"""Points from results of fio, written with `--output-format=json`."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.calibration.points import Measured, Point

#: fio's names of the patterns that a law can be fitted to.
PATTERNS = {
    "read": ("read", "seq_read"),
    "randread": ("read", "rand_read"),
    "write": ("write", "seq_write"),
    "randwrite": ("write", "rand_write"),
}
#: fio's own defaults, from its HOWTO.
DEFAULTS = {"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1", "ioengine": "psync"}
#: fio's names of the percentiles that can represent a point.
PERCENTILES = {"median": "50.000000", "low": "20.000000"}
SUFFIXES = {"": 0, "k": 10, "m": 20, "g": 30}


def read(target: Path, statistic: str = "mean") -> Measured:
    """Points of a JSON file, a directory of them, or a tar, plain or compressed."""
    texts = list(_texts(target))
    points: list[Point] = []
    versions, engines = set(), set()
    for name, text in texts:
        result = _parsed(name, text)
        versions.add(result["fio version"])
        for job in result["jobs"]:
            engines.add(str(_options(name, job, result)["ioengine"]))
        points += points_of(name, result, statistic)
    conditions = {
        "tool": ", ".join(sorted(versions)),
        "engine": ", ".join(sorted(engines)),
        "files": len(texts),
        "statistic": statistic,
    }
    return Measured(str(target), points, conditions)


def points_of(name: str, result: Mapping[str, Any], statistic: str) -> list[Point]:
    """The points in one result; `name` appears in errors."""
    jobs = result["jobs"]
    return [_point(name, job, _options(name, job, result), statistic) for job in jobs]


def _texts(target: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the JSON files of `target`."""
    if target.is_dir():
        files = sorted(target.glob("*.json"))
        if not files:
            raise InputError(f"{target}: no file in this directory is named *.json")
        for file in files:
            yield str(file), _core.read_decompressed(str(file))
        return
    content = _core.read_decompressed(str(target))
    if content[257:262] != b"ustar":
        yield str(target), content
        return
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        members = [member for member in archive if member.name.endswith(".json")]
        if not members:
            raise InputError(f"{target}: no file in this archive is named *.json")
        for member in members:
            try:
                content_of = archive.extractfile(member)
                text = content_of.read() if content_of else b""
            except (tarfile.TarError, EOFError, OSError) as error:
                raise InputError(f"{target}, {member.name}: cannot be read: {error}") from None
            yield f"{target}, {member.name}", text


def _parsed(name: str, text: bytes) -> Any:
    """The JSON of fio's output, without the messages that precede it."""
    try:
        result = json.loads(text[max(text.find(b"{"), 0) :])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON: {error}") from None
    if not isinstance(result, dict) or not isinstance(result.get("fio version"), str):
        raise InputError(f'{name}: no result of fio: there is no "fio version"')
    jobs = result.get("jobs")
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) for job in jobs):
        raise InputError(f'{name}: no result of fio: there are no "jobs"')
    return result


def _options(name: str, job: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a job."""
    common, own = result.get("global options", {}), job.get("job options")
    if not isinstance(own, dict) or not isinstance(common, dict):
        raise InputError(
            f'{_where(name, job)}: there are no "job options", which say what was measured'
        )
    options = {**DEFAULTS, **common, **own}
    for long, short in (("readwrite", "rw"), ("blocksize", "bs")):
        options[short] = options.get(long, options[short])
    return options


def _where(name: str, job: Mapping[str, Any]) -> str:
    return f'{name}, job "{job.get("jobname", "without a name")}"'


def _point(name: str, job: Mapping[str, Any], options: Mapping[str, Any], statistic: str) -> Point:
    where = _where(name, job)
    word = str(options["rw"]).split(":")[0]
    if word not in PATTERNS:
        choices = ", ".join(PATTERNS)
        raise InputError(f"{where}: rw={word}: a law is fitted to one pattern: {choices}")
    direction, pattern = PATTERNS[word]
    size = _bytes(where, str(options["bs"]))
    try:
        outstanding = int(options["iodepth"]) * int(options["numjobs"])
        stats = job[direction]
        requests, total = int(stats["total_ios"]), int(stats["io_bytes"])
        latency = stats["lat_ns"] if "lat_ns" in stats else stats["clat_ns"]
        mean_us = float(latency["mean"]) / 1000
        if statistic in PERCENTILES:
            # By default fio reports percentiles for completion latency only, and means for
            # submission too.
            known = latency if "percentile" in latency else stats["clat_ns"]
            wanted = float(known["percentile"][PERCENTILES[statistic]])
            mean_us += (wanted - float(known["mean"])) / 1000
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: lacks a number that is needed ({error}); needed are iodepth, and of "
            f"{direction} total_ios, io_bytes and the mean of lat_ns"
        ) from None
    if requests < 1 or not mean_us > 0 or outstanding < 1:
        raise InputError(f"{where}: no request was measured, or none outstanding")
    if abs(total / requests / size - 1) > 0.01:
        mean = f"{total / requests:.0f} bytes"
        raise InputError(f"{where}: its requests have {mean} on average, not bs={options['bs']}")
    return Point(pattern, size, outstanding, mean_us, requests)


def _bytes(where: str, text: str) -> int:
    found = re.fullmatch(r"(\d+)([kmg]?)(?:i?b)?", text.lower())
    if not found or not int(found[1]):
        raise InputError(f"{where}: bs={text}: a law is fitted to requests of one size, such as 4k")
    return int(found[1]) << SUFFIXES[found[2]]
