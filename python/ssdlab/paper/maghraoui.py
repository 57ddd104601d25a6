"""El Maghraoui et al., *Modeling and Simulating Flash Based Solid-State Disks for Operating
Systems* (2010): a request of n bytes takes A + n B, with A and B of its access pattern.

Their method is applied twice. Their micro-benchmarks on the linear device with their coefficients
must recover these. Then, as they did with a real drive, micro-benchmarks of a simulated drive yield
coefficients of a linear device, and the throughput of both is compared. All in simulated time;
`--live` also serves the device and measures it in wall-clock time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab.calibration.regression import Line, Weights, line
from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.derived import ZEUS_LINEAR
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "El Maghraoui et al. 2010: the linear model, its coefficients recovered, its errors"

#: Pattern: read share, random share; A in us, B in us/KiB, r2; mean error of throughput, %.
PATTERNS = {
    "sequential read": ((1.0, 0.0), (127.5, 4.005, 0.999997), 5.31),
    "random read": ((1.0, 1.0), (230.6, 3.987, 0.999981), 4.6),
    "sequential write": ((0.0, 0.0), (2167.0, 4.96, 0.99932), 6.57),
    "random write": ((0.0, 1.0), (770.0, 5.382, 0.999722), 4.10),
}
SIZES = [512 << power for power in range(12)]
#: Their stated error of throughput, percent.
WITHIN = 7.0
SIZES_UNSAID = "least squares miss the small sizes; the averaged sizes are not stated"
PICTURES = "the slides have pictures and no numbers"
#: Tolerance of a recovered coefficient, percent.
FOUND, FOUND_LIVE = 0.5, 3.0
#: Stand-in for their drive, a Zeus: the Zeus of Table 2 of the 2008 paper.
DRIVE = "enterprise-ssd"
THEIRS, OURS = "least squares", "weighted by 1/time^2"

LIVE_SCALE, LIVE_SECONDS = 200, 1.5
LIVE_SIZES = [512, 64 << 10, 256 << 10, 1 << 20]
KEYS = {"sequential read": "seq_read", "random read": "rand_read"}


def run(study: Study) -> Item:
    """The coefficients from micro-benchmarks, and the error of the model against drives."""
    zeus = _measure(study, {"preset": "zeus-linear"})
    rows = []
    for pattern, (_, (a, b, r2), _) in PATTERNS.items():
        found = _fitted(zeus[pattern])
        rows += [
            Row(f"{pattern}: A, us", a, found.a, FOUND, "found again"),
            Row(f"{pattern}: B, us/KiB", b, found.b, FOUND),
            Row(f"{pattern}: r2", r2, found.r2, note="theirs of a real drive, ours of a line"),
        ]
    rows += _errors(study)
    rows += [
        Row("throughput and response time of their Zeus, points", None, None, note=PICTURES),
        Row("throughput of SPECjbb and DayTrader", None, None, note=PICTURES),
    ]
    if study.live:
        rows += _live()
    sizes = [size / 1024 for size in SIZES]
    figure = Figure(
        "Throughput of the Zeus by the linear model",
        Axis("request, KiB", log=2),
        Axis("MB/s", log=10),
        [Series(name, sizes, _throughput(times)) for name, times in zeus.items()],
    )
    remarks = [
        "their errors are of their simulator against the drive whose coefficients it had; "
        "ours are of a linear device against a simulated drive, made in the same way, at 512 "
        "B to 1 MiB. Least squares fit the largest requests and miss the small ones; the slides "
        "do not state the averaged sizes.",
        "the slides have bars for SPECjbb and DayTrader without numbers; they state that "
        "throughput is met within 7 %.",
    ]
    if not study.live:
        remarks.append("--live serves the linear device and measures it with fio, for a minute.")
    title = "The linear model (El Maghraoui et al. 2010)"
    return Item("maghraoui", title, rows, [figure], remarks, (ZEUS_LINEAR,))


def _measure(study: Study, device: Mapping[str, Any]) -> dict[str, list[float]]:
    """Mean times of a micro-benchmark of each pattern at QD1, by size, us."""
    found = study.measure(
        {
            (pattern, size): {
                "device": device,
                "workload": {
                    "kind": "closed",
                    "outstanding": 1,
                    "read_share": read_share,
                    "random_share": random_share,
                    "block_size": f"{size}B",
                    "requests": 200 if study.quick else 1_000,
                    "footprint": "1GiB",
                },
            }
            for pattern, ((read_share, random_share), _, _) in PATTERNS.items()
            for size in SIZES
        }
    )
    return {
        pattern: [float(found[pattern, size].host.all.mean_us) for size in SIZES]
        for pattern in PATTERNS
    }


def _fitted(times: list[float], weights: Weights = "equal") -> Line:
    """The line through the times of a pattern; ordinary least squares, as in the paper."""
    return line([size / 1024 for size in SIZES], times, weights)


def _throughput(times: list[float]) -> list[float]:
    return [size / time for size, time in zip(SIZES, times, strict=True)]


def _errors(study: Study) -> list[Row]:
    """Error of a linear device's throughput against the drive that gave its coefficients."""
    device = {"preset": DRIVE, "blocks_per_plane": 128 if study.quick else 512}
    real = _measure(study, device)
    rows = []
    ways: tuple[tuple[Weights, str], ...] = (("equal", THEIRS), ("relative", OURS))
    for weights, how in ways:
        model = _measure(study, _linear(real, weights))
        for pattern, (_, _, published) in PATTERNS.items():
            pairs = zip(_throughput(real[pattern]), _throughput(model[pattern]), strict=True)
            errors = [100 * abs(ours / drive - 1) for drive, ours in pairs]
            mean = sum(errors) / len(errors)
            name = f"{pattern}, {how}: mean error of throughput, %"
            note = f'"within 7 %" of their drive; ours of {DRIVE}, another one'
            maximum = WITHIN if how == THEIRS else None
            rows.append(Row(name, published, mean, note=note, most=maximum, missed=SIZES_UNSAID))
    return rows


def _linear(real: Mapping[str, list[float]], weights: Weights) -> dict[str, Any]:
    """The linear device fitted to the micro-benchmarks of a drive."""
    patterns = {}
    for pattern, times in real.items():
        found = _fitted(times, weights)
        patterns[pattern.replace(" ", "_")] = {
            "fixed": f"{round(1e3 * found.a)}ns",
            "per_kib": f"{round(1e3 * found.b)}ns",
        }
    return {"kind": "law", "size": "8GiB", **patterns}


def _live() -> list[Row]:
    """Coefficients of reads, measured by clients of the served device."""
    import ssdlab

    with tempfile.TemporaryDirectory() as directory:
        socket = Path(directory) / "socket"
        with ssdlab.serve(
            "zeus-linear", socket=socket, size="256MiB", time_scale=LIVE_SCALE, realtime=True
        ) as served:
            found = ssdlab.calibrate(
                served.uri,
                block_sizes=LIVE_SIZES,
                outstanding=[1],
                seconds=LIVE_SECONDS,
                statistic="median",
            )
        timing = None if served.results is None else served.results.live.timing
    rows = []
    for pattern, key in KEYS.items():
        _, (a, b, _), _ = PATTERNS[pattern]
        note = f"served {LIVE_SCALE} times as slow; the server calls its timing {timing}"
        mine = found.patterns[key]
        tolerance = FOUND_LIVE if timing == "valid" else None
        rows += [
            Row(f"live, {pattern}: A, us", a, mine.a_us / LIVE_SCALE, tolerance, note),
            Row(f"live, {pattern}: B, us/KiB", b, mine.b_us_per_kib / LIVE_SCALE, tolerance, note),
        ]
    return rows
