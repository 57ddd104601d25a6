"""`iostat -x`, as text (with -t, -k or -m) or with -o JSON, as a load of reads and writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab._core import InputError
from ssdlab.asking.described import Asked, Stream, of_streams, rate_text

#: Granularity of request sizes.
SECTOR, PAGE = 512, 4096


@dataclass(frozen=True)
class Sample:
    """One report of a device."""

    reads: float
    writes: float
    read_bytes: float
    write_bytes: float

    @property
    def iops(self) -> float:
        """Requests a second."""
        return self.reads + self.writes


def is_text(head: str) -> bool:
    """True if a file begins as a report of `iostat -x`."""
    return re.search(r"^\s*(?:Device:?\s.*\br/s\b|r/s\s.*\sDevice\s*$)", head, re.M) is not None


def is_json(found: Any) -> bool:
    """True for JSON of `iostat -x -o JSON`."""
    return isinstance(found, Mapping) and "sysstat" in found


def read(path: Path, text: str, volume: str | None) -> Asked:
    """The load of one device of the reports; the busiest, if none is named."""
    reports = _of_json(path, text) if text.lstrip().startswith("{") else _of_text(path, text)
    # One that was interrupted may end with a heading.
    reports = [report for report in reports if report]
    if not reports:
        raise InputError(f"{path}: no report of iostat -x in it: no line has r/s and w/s")
    first_is_boot = len(reports) > 1
    used = reports[1:] if first_is_boot else reports
    busy: dict[str, float] = {}
    for report in used:
        for name, it in report.items():
            busy[name] = busy.get(name, 0.0) + it.iops
    chosen = max(busy, key=lambda name: busy[name]) if volume is None else volume
    if chosen not in busy:
        raise InputError(f"{path}: no device {chosen} in it; there are {', '.join(busy)}")
    samples = [report[chosen] for report in used if chosen in report]
    mean = _mean(samples)
    if not mean.iops:
        raise InputError(f"{path}: {chosen} has no reads and no writes in these reports")
    return _asked(path, chosen, list(busy), samples, mean, first_is_boot)


def _asked(
    path: Path,
    chosen: str,
    names: Sequence[str],
    samples: Sequence[Sample],
    mean: Sample,
    first_is_boot: bool,
) -> Asked:
    streams = []
    for iops, moved, share in (
        (mean.reads, mean.read_bytes, 1.0),
        (mean.writes, mean.write_bytes, 0.0),
    ):
        if iops:
            unit = PAGE if moved / iops >= PAGE else SECTOR
            streams.append(Stream(iops, share, max(round(moved / iops / unit), 1) * unit))
    said = [
        f"{'reads' if it.read_share else 'writes'} {rate_text(it.iops, it.block_bytes)}"
        for it in streams
    ]
    peak = max(it.iops for it in samples) / mean.iops
    reports = f"the mean of {len(samples)} reports" if len(samples) > 1 else "of one report"
    read_ = [f"Device {chosen}: {', '.join(said)}; {reports}."]
    if len(names) > 1:
        others = ", ".join(name for name in names if name != chosen)
        read_.append(f"The busiest of {len(names)}; --volume chooses another: {others}.")
    if first_is_boot:
        read_.append("The first report is left out: it is the mean since the machine was started.")
    if peak > 1.2:
        read_.append(f"The busiest report has {peak:.1f} times the mean: its tail is longer.")
    assumed = [
        "random addresses, all places equally often: iostat does not say where requests go",
        "arrivals at random times",
        "each request of the mean size",
        "the whole drive is in use",
    ]
    surer = ["a trace: blktrace or bpftrace in the busiest hour; iostat has means alone"]
    if len(samples) == 1 and not first_is_boot:
        surer.append("several reports (iostat -xt 10 60): a lone one is the mean since the start")
    load = of_streams(f"{path.name}, {chosen}", streams)
    return Asked(load, read_, assumed, surer, mean.reads / mean.iops)


def _mean(samples: Sequence[Sample]) -> Sample:
    count = len(samples)
    return Sample(
        sum(it.reads for it in samples) / count,
        sum(it.writes for it in samples) / count,
        sum(it.read_bytes for it in samples) / count,
        sum(it.write_bytes for it in samples) / count,
    )


#: Columns of transfer rates, and their unit in bytes.
_MOVED = {"kB/s": 1024.0, "MB/s": 2.0**20, "sec/s": 512.0}


def _sample(row: Mapping[str, float]) -> Sample:
    moved = {}
    for kind in "rw":
        column = next((f"{kind}{unit}" for unit in _MOVED if f"{kind}{unit}" in row), None)
        rate = row[f"{kind}/s"]
        moved[kind] = row[column] * _MOVED[column[1:]] if column else PAGE * rate
        by_size = rate * row.get(f"{kind}areq-sz", 0.0) * 1024
        # Versions of sysstat print wrong MB/s in JSON, beside right sizes.
        if by_size and not 1 / APART < moved[kind] / by_size < APART:
            moved[kind] = by_size
    return Sample(row["r/s"], row["w/s"], moved["r"], moved["w"])


#: Ratio of two statements of one rate above which one is wrong, and not rounded.
APART = 2.0
#: Suffixes of --human, in kB.
_SUFFIXES = {"B": 1 / 1024, "k": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}


def _value(text: str) -> float:
    text = text.rstrip("%").replace(",", ".")
    if text[-1:] in _SUFFIXES:
        return float(text[:-1]) * _SUFFIXES[text[-1]]
    return float(text)


def _of_text(path: Path, text: str) -> list[dict[str, Sample]]:
    reports: list[dict[str, dict[str, float]]] = []
    columns: list[str] = []
    at = 0
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split()
        names = [it.rstrip(":") for it in parts]
        if "Device" in names and {"r/s", "w/s", "d/s", "f/s"} & {*names}:
            at = -1 if names[-1] == "Device" else 0
            columns = [it for it in names if it != "Device"]
            if "w/s" not in columns and at == 0:
                raise InputError(
                    f"{path}:{number}: the heading has r/s and no w/s; iostat -x prints both"
                )
            # --pretty has a table each for reads, writes and discards.
            if "r/s" in columns:
                reports.append({})
        elif not parts:
            columns = []
        elif columns and reports:
            device = parts.pop(at)
            try:
                row = dict(zip(columns, map(_value, parts), strict=True))
            except ValueError:
                raise InputError(
                    f"{path}:{number}: {len(columns)} columns of iostat were expected beside the "
                    f"name of the device, as its heading has them"
                ) from None
            reports[-1].setdefault(device, {}).update(row)
    whole = [{it: row for it, row in report.items() if "w/s" in row} for report in reports]
    return [{it: _sample(row) for it, row in report.items()} for report in whole]


#: A row of a device that is whole, in JSON that may be cut.
_ROW = re.compile(r'\{[^{}]*"disk_device"[^{}]*\}')


def _of_json(path: Path, text: str) -> list[dict[str, Sample]]:
    """The reports in JSON, which some versions write with a comma too many, or cut at Ctrl-C."""
    try:
        parts = text.split('"disk":')[1:]
        found = [[json.loads(row) for row in _ROW.findall(part)] for part in parts]
        samples = [{str(row["disk_device"]): _sample(row) for row in report} for report in found]
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{path}: JSON of sysstat without r/s and w/s of disks; iostat -x -o JSON has them"
        ) from None
    return [report for report in samples if report]
