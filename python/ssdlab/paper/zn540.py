"""A zoned drive compared with measurements of writes, appends, reads, finishes and resets."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.derived import ZN540
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Zones: writes, appends, reads, finishes and resets of a ZN540 (Doekemeijer et al. 2023)"

PRESET = "wd-zn540"
KIB, MIB = 1 << 10, 1 << 20
ZONE = 2048 * MIB
CAPACITY = 1077 * MIB
SOURCE = "Doekemeijer et al., CLUSTER 2023; raw data of stonet-research/NVMeBenchmarks"

#: Zones, and thousands of writes of 4 KiB a second.
WRITES = {1: 85.1, 4: 180.1}
#: Queue depth of appends, and thousands of 4 KiB per second.
APPENDS = {1: 65.7, 4: 132.2}
#: Queue depth of reads, thousands of 4 KiB per second, and p99 in us.
READS = {
    1: (13.7, 81),
    4: (52.4, 129),
    16: (174, 196),
    64: (365, 553),
    256: (437, 1679),
}
#: Written part of a zone before a finish: name, bytes, and ms.
FINISHES = {
    "one page": (4 * KIB, 907.4),
    "half": (CAPACITY // 2, 456.7),
    "all but a page": (CAPACITY - 4 * KIB, 2.58),
}
#: Written part of an open zone before a reset: name, bytes, and ms.
RESETS = {
    "nothing": (0, 1.61),
    "a sixteenth": (CAPACITY // 16, 5.16),
    "a quarter": (CAPACITY // 4, 7.88),
    "half": (CAPACITY // 2, 11.3),
    "all": (CAPACITY, 15.8),
}
FINISHED_AT_HALF = 8.49
#: MiB/s of writes beside QD1 reads, and the reads' mean in us.
BESIDE = {0: 72.6, 100: 84.0, 500: 129.0}
#: Queue depth of reads from which p99 is not judged.
P99_BELOW = 128
#: Pause in which the write buffer empties before a zone is finished or reset, us.
PAUSE = 1_000_000
#: Number of zones for reads, all full.
READ_ZONES = 32


def run(study: Study) -> Item:
    """All measurements, repeated in simulation."""
    with tempfile.TemporaryDirectory() as directory:
        found = study.measure(_experiments(study, Path(directory)))
    rows = [*_writes(found), *_reads(found), *_finishes(found), *_resets(found), *_beside(found)]
    return Item("zn540", "A zoned drive: ZN540", rows, [_figure(found)], [], ZN540)


def _experiments(study: Study, directory: Path) -> dict[str, dict[str, Any]]:
    count = 20_000 if study.quick else 60_000
    experiments: dict[str, dict[str, Any]] = {}
    for zones in WRITES:
        job = f"[w]\nrw=write\nbs=4k\nnumjobs={zones}\nsize=40g\noffset_increment=40g\n"
        experiments[f"write {zones}"] = _fio(job, count)
    for depth in APPENDS:
        lines = [_line("append", 0, 4 * KIB)] * count
        trace = _trace(directory / f"append-{depth}.csv", lines, gaps="arrival")
        link = {"queue_depth": depth}
        device = {"preset": PRESET, "link": link}
        experiments[f"append {depth}"] = {"device": device, "workload": trace}
    for depth in READS:
        experiments[f"read {depth}"] = _fio(_read_job(depth), count, fill=True)
    for name, (size, _) in FINISHES.items():
        lines = [*_written(size), _line("finish", 0, 512, PAUSE)]
        experiments[f"finish {name}"] = _replayed(directory / f"finish-{size}.csv", lines)
    experiments["finish empty"] = _replayed(
        directory / "finish-empty.csv", [_line("finish", 0, 512)]
    )
    for name, (size, _) in RESETS.items():
        lines = [_line("open", 0, 512), *_written(size), _line("reset", 0, 512, PAUSE)]
        experiments[f"reset {name}"] = _replayed(directory / f"reset-{size}.csv", lines)
    finished = [_line("finish", 0, 512, PAUSE), _line("reset", 0, 512, 2 * PAUSE)]
    lines = [*_written(CAPACITY // 2), *finished]
    experiments["reset finished"] = _replayed(directory / "reset-finished.csv", lines)
    for rate in BESIDE:
        write = f"[w]\nrw=write\nbs=128k\niodepth=8\noffset=1000g\nsize=200g\nrate={rate}m\n"
        job = _read_job(1) + (write if rate else "")
        # Writes are in addition to the counted reads.
        requests = round(count * (1 + 72.6e-6 * rate * 8))
        experiments[f"beside {rate}"] = _fio(job, requests, fill=True)
    return experiments


def _fio(job: str, requests: int, fill: bool = False) -> dict[str, Any]:
    sections = job.replace("[", "\n[").replace("]\n", "]\nzonemode=zbd\n")
    device: dict[str, Any] = {"preset": PRESET}
    if fill:
        device["zones"] = {"fill": READ_ZONES / 904}
    return {
        "device": device,
        "workload": {"kind": "fio", "job": sections, "requests": requests},
    }


def _read_job(depth: int) -> str:
    return f"[r]\nrw=randread\nbs=4k\niodepth={depth}\nnorandommap\nsize={2 * READ_ZONES}g\n"


def _line(op: str, offset: int, size: int, at: int = 0) -> str:
    return f"{at},{op},{offset},{size}\n"


def _written(size: int) -> list[str]:
    """Writes of `size` bytes from the first zone on."""
    step = 128 * KIB
    return [_line("write", at, min(step, size - at)) for at in range(0, size, step)]


def _trace(path: Path, lines: Iterable[str], gaps: str) -> dict[str, Any]:
    path.write_text("".join(lines), encoding="utf-8")
    columns = "time=1:us,op=2,offset=3:bytes,size=4"
    return {"kind": "trace", "path": str(path), "columns": columns, "gaps": gaps}


def _replayed(path: Path, lines: Iterable[str]) -> dict[str, Any]:
    """Replays the lines at QD1."""
    return {"device": {"preset": PRESET}, "workload": _trace(path, lines, gaps="answer")}


def _kiops(results: Results, kind: str) -> float:
    return float(results["host"][kind]["iops"]) / 1e3


def _writes(found: dict[str, Results]) -> list[Row]:
    rows = [
        Row(f"write 4 KiB to {n} zones, K/s", rate, _kiops(found[f"write {n}"], "write"), 5, SOURCE)
        for n, rate in WRITES.items()
    ]
    rows += [
        Row(f"append 4 KiB, depth {n}, K/s", rate, _kiops(found[f"append {n}"], "append"), 5)
        for n, rate in APPENDS.items()
    ]
    return rows


def _reads(found: dict[str, Results]) -> list[Row]:
    rows = []
    for depth, (rate, p99) in READS.items():
        host = found[f"read {depth}"]["host"]["read"]
        name = f"read 4 KiB, depth {depth}, K/s"
        rows.append(Row(name, rate, host["iops"] / 1e3, 5))
        simulated = host["percentiles_us"]["99"]
        tolerance = 15 if depth < P99_BELOW else None
        rows.append(Row(f"read 4 KiB, depth {depth}, p99, us", p99, simulated, tolerance))
    return rows


def _ms(results: Results, what: str) -> float:
    return float(results["zones"][f"{what}_us"]["mean"]) / 1e3


def _finishes(found: dict[str, Results]) -> list[Row]:
    rows = [
        Row(f"finish, {name} written, ms", ms, _ms(found[f"finish {name}"], "finish"), 1)
        for name, (_, ms) in FINISHES.items()
    ]
    empty = _ms(found["finish empty"], "finish")
    rows.append(Row("finish of an empty zone, us", 13.5, 1e3 * empty, 5, "a change of state only"))
    return rows


def _resets(found: dict[str, Results]) -> list[Row]:
    rows = [
        Row(f"reset, open, {name} written, ms", ms, _ms(found[f"reset {name}"], "reset"), 3)
        for name, (_, ms) in RESETS.items()
    ]
    finished = _ms(found["reset finished"], "reset")
    note = "it is closed already, and padding is not mapped"
    rows.append(Row("reset, finished at half, ms", FINISHED_AT_HALF, finished, 3, note))
    return rows


def _beside(found: dict[str, Results]) -> list[Row]:
    return [
        Row(
            f"read 4 KiB beside writes of {rate} MiB/s, us",
            us,
            found[f"beside {rate}"]["host"]["read"]["mean_us"],
            3,
        )
        for rate, us in BESIDE.items()
    ]


def _figure(found: dict[str, Results]) -> Figure:
    shares = [size / CAPACITY for size, _ in RESETS.values()]
    measured = Series("measured", shares, [ms for _, ms in RESETS.values()])
    simulated = Series(
        "simulated", shares, [_ms(found[f"reset {name}"], "reset") for name in RESETS]
    )
    axes = Axis("share of the zone that is written"), Axis("time of a reset (ms)")
    return Figure("Resets of open zones", *axes, [measured, simulated])
