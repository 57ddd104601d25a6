"""SLC caches of client drives: where a long copy slows down, as measured by reviews.

Reviews write the whole drive sequentially. Two rules have no free parameter: nothing is folded
while the cache fills, so that an unlimited cache holds the free space divided by the bits per cell;
and the two earlier rates determine the final, forced rate. The fold rate is a firmware limit,
fitted to each drive's last rate if published, otherwise to the mean, which then proves nothing. All
drives are `samsung-980pro` with their own capacity, rates and cache. Drives with too little memory
for their map follow: only the size of that memory determines how much slower they read over a
larger span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Reviews of client drives: where a long copy slows down (SLC caches)"

DEVICE = "samsung-980pro"
GB = 1e9
#: Bytes programmed at once on all dies of the drive, with one bit per cell.
SLC_STRIPE = 16 * 4 * 16384
#: Pages of a TLC and of a QLC block: whole word lines of each in a fraction of a block.
PAGES_PER_BLOCK = {3: 1152, 4: 1536}
BLOCKS = {3: 910, 4: 683}
#: Scale of a block by bits per cell: folded word lines fill whole ones. Also for a quick study, in
#: which forced folds are some per cent too fast.
SCALES, QUICK = {3: 32, 4: 32}, {3: 128, 4: 96}

#: The flash exceeds the capacity by a tenth. Garbage collection keeps most of that, so that a copy
#: can use the capacity, as in the rules.
KEPT_ERASED = 0.07

#: Drives with a map larger than their memory, and the simulated preset.
MAPPED = "wd-sn580"
MAPPED_SCALE = 128


@dataclass(frozen=True)
class Drive:
    """A reviewed drive, in bytes and bytes per second."""

    name: str
    cache: float | None
    """Cache size; None for all free cells."""
    fast: float
    native: float
    fold: float | None
    """Fitted fold rate."""
    mean: float | None
    second: float | None = None
    """Bytes written at the start of the last rate."""
    forced: float | None = None
    """The last rate, if published; the fold rate is fitted to it."""
    share: float = 0.0
    """Fitted share of the dies that fold while the host writes."""
    falls_at: float = 0.0
    """Bytes written at the end of the first rate."""
    tolerance: float = 12.0
    mean_tolerance: float = 12.0
    capacity: float = 1e12
    bits: int = 3
    when_full: str = "direct"
    note: str = ""
    missed: str = ""
    """Explanation of the second drop."""


DRIVES = (
    Drive(
        "980 PRO 1 TB",
        113 * GB,
        4.0e9,
        2.0e9,
        None,
        1.9e9,
        share=0.25,
        falls_at=113 * GB,
        mean_tolerance=7.0,
    ),
    Drive("SN580 1 TB", None, 4.0e9, 0.9e9, 0.3e9, 0.596e9, falls_at=341 * GB),
    Drive(
        "Atom 50 1 TB",
        280 * GB,
        4.5e9,
        2.0e9,
        0.33e9,
        0.80e9,
        500 * GB,
        0.5e9,
        falls_at=280 * GB,
        mean_tolerance=10.0,
    ),
    Drive(
        "Spatium M480 Play 2 TB",
        200 * GB,
        5.0e9,
        3.5e9,
        1.29e9,
        3.1e9,
        1600 * GB,
        1.5e9,
        falls_at=200 * GB,
        capacity=2e12,
        mean_tolerance=10.0,
    ),
    Drive(
        "NM800 Pro 2 TB",
        592 * GB,
        5.0e9,
        2.2e9,
        0.92e9,
        1.514e9,
        falls_at=592 * GB,
        capacity=2e12,
        note="its rate in the cache is not published: taken for 5.0 GB/s",
    ),
    Drive("NV2 1 TB", 88 * GB, 2.8e9, 0.6e9, 0.6e9, None, 800 * GB, 0.4e9, falls_at=88 * GB),
    Drive(
        "A2000 1 TB",
        150 * GB,
        2.0e9,
        0.5e9,
        1.0e9,
        0.48e9,
        600 * GB,
        0.4e9,
        falls_at=150 * GB,
        note="its rate in the cache is not published: taken for 2.0 GB/s",
        missed="native cells are free until the capacity less twice the cache, 700 GB, is "
        "written; why this drive folds sooner is not known",
    ),
    Drive(
        "Rocket Q 1 TB, four bits a cell",
        None,
        1.7e9,
        0.6e9,
        0.0667e9,
        None,
        falls_at=250 * GB,
        bits=4,
        note="native cells taken for 0.6 GB/s",
    ),
    Drive(
        "Crucial P1 1 TB, four bits a cell",
        140 * GB,
        1.6e9,
        0.6e9,
        0.1655e9,
        None,
        falls_at=140 * GB,
        bits=4,
        when_full="fold",
        tolerance=10.0,
    ),
)


def run(study: Study) -> Item:
    """Each drive, written once from beginning to end."""
    scales = QUICK if study.quick else SCALES
    found = study.measure({it.name: _copy(it, scales[it.bits]) for it in DRIVES})
    rows = [row for it in DRIVES for row in _rows(it, found[it.name], scales[it.bits])]
    shrinking = study.measure({fill: _filled(fill, scales[4]) for fill in INTEL_660P})
    rows += [_shrinking(fill, results, scales[4]) for fill, results in shrinking.items()]
    spans = study.measure({f"map {key}": _span(*key, study.quick) for key in SPANS})
    rows += _mapped({key: _latency(spans[f"map {key}"]) for key in SPANS})
    remarks = [
        f"simulated is {DEVICE} with the capacity, the rates and the cache of each drive",
        "the rate in the cache and that of native cells are given, folding is fitted",
    ]
    title = "SLC caches, and maps that do not fit"
    return Item("cliff", title, rows, [_figure(found, scales)], remarks)


def _copy(drive: Drive, scale: int) -> dict[str, Any]:
    slc: dict[str, Any] = {"program": f"{SLC_STRIPE / drive.fast * 1e9:.0f}ns"}
    slc["limit"] = f"{drive.cache:.0f}B" if drive.cache else "2TB"
    slc["fold_rate"] = f"{drive.fold:.0f}B/s" if drive.fold else "unlimited"
    if drive.when_full == "fold":
        slc["when_full"] = "fold"
    else:
        slc["fold_share"] = drive.share
    native = drive.bits * SLC_STRIPE
    return {
        "device": {
            "preset": DEVICE,
            "scale": scale,
            "capacity": f"{drive.capacity:.0f}B",
            "blocks_per_plane": int(BLOCKS[drive.bits] * drive.capacity / 1e12),
            "pages_per_block": PAGES_PER_BLOCK[drive.bits],
            "cell": {"bits": drive.bits},
            "slc_cache": slc,
            "cleaning": {"min_free": KEPT_ERASED},
            "timing": {"program": f"{native / drive.native * 1e9:.0f}ns"},
        },
        "workload": _writes(drive.capacity / scale),
    }


def _writes(size: float) -> dict[str, Any]:
    return {
        "kind": "closed",
        "read_share": 0.0,
        "random_share": 0.0,
        "outstanding": 32,
        "block_size": "128KiB",
        "requests": int(size / 131072),
    }


def _rows(drive: Drive, results: Results, scale: int) -> list[Row]:
    slc = results.to_dict()["slc_cache"]
    simulated = slc["cliff_at_bytes"]
    at = None if simulated is None else simulated * scale / GB
    exact = "" if drive.cache is None else "given; that it is kept means that nothing is folded"
    note = "; ".join(part for part in (exact, drive.note) if part)
    rows = [
        Row(f"{drive.name}: written when it slows down, GB", drive.falls_at / GB, at, 5.0, note)
    ]
    if drive.when_full == "fold":
        direct = slc["direct_bytes"] * scale / GB
        claim = "one rate behind the cache: all that is written goes through it"
        name = f"{drive.name}: written past the cache, GB"
        rows.append(Row(name, None, direct, note=claim, most=0.0))
    if drive.second is not None:
        before = [it for it in slc["phases"] if it["state"] in ("fast", "direct")]
        second = sum(it["written_bytes"] for it in before) * scale / GB
        name = f"{drive.name}: written when it slows down again, GB"
        rows.append(Row(name, drive.second / GB, second, drive.tolerance, missed=drive.missed))
    if drive.mean is not None:
        mean = results.host.write.bytes / results.simulated_seconds / GB
        name = f"{drive.name}: mean rate, GB/s"
        fitted = drive.forced is None
        rows.append(Row(name, drive.mean / GB, mean, drive.mean_tolerance, fitted=fitted))
    return rows


#: Intel 660p, 1 TB: cache size in GB, by share of the drive that holds data.
INTEL_660P = {0.0: 140.0, 0.75: 12.0}
#: Blocks per plane of its static cache of 12 GB, at four times the bytes.
STATIC_BLOCKS = 30


def _filled(fill: float, scale: int) -> dict[str, Any]:
    """The 660p, filled in part, then written until the cache is full."""
    slc = {"static": "12GB", "limit": "128GB", "gone_at": 0.75, "program": "617us"}
    return {
        "device": {
            "preset": DEVICE,
            "scale": scale,
            "fill": fill,
            # The static cache is in addition to the flash for the capacity.
            "blocks_per_plane": BLOCKS[4] + STATIC_BLOCKS,
            "pages_per_block": PAGES_PER_BLOCK[4],
            "cell": {"bits": 4},
            "slc_cache": slc,
            "timing": {"program": "7ms"},
        },
        "workload": {"kind": "fio", "job": _behind(fill * 1e12 / scale, 180e9 / scale)},
    }


def _behind(begin: float, size: float) -> str:
    """A copy to the range after the drive's data, as a fio job."""
    offset, length = (int(it) // 131072 * 131072 for it in (begin, size))
    words = ("rw=write", "bs=131072", "iodepth=32", f"offset={offset}", f"size={length}")
    return "\n".join(("[copy]", *words)) + "\n"


def _shrinking(fill: float, results: Results, scale: int) -> Row:
    simulated = results.to_dict()["slc_cache"]["cliff_at_bytes"]
    at = None if simulated is None else simulated * scale / GB
    name = f"660p 1 TB, {fill:.0%} full: written when it slows down, GB"
    return Row(name, INTEL_660P[fill], at, 10.0, "the line between both is a guess")


#: Map memory, host memory in front of it, and read span, GB.
RC100, SN500 = ("38MiB", "0B"), ("8MiB", "4MiB")
ALL, NONE = ("all", "0B"), ("1MiB", "0B")
SPANS = [(RC100, 16), (RC100, 64), (SN500, 3), (SN500, 6), (SN500, 64), (ALL, 64), (NONE, 64)]


def _span(memory: tuple[str, str], span: int, quick: bool) -> dict[str, Any]:
    """4 KiB reads at QD1 over a part of the drive."""
    size, sram = memory
    keys: dict[str, Any] = {"memory": size, "place": "host", "sram": sram}
    if size == "all":
        # Memory in the controller.
        keys = {"memory": size, "place": "sram"}
    return {
        "device": {"preset": MAPPED, "scale": MAPPED_SCALE, "fill": "full", "map": keys},
        "workload": {
            "kind": "closed",
            "read_share": 1.0,
            "outstanding": 1,
            "block_size": "4KiB",
            # Relative to 1 TB.
            "footprint": span / 1000,
            "requests": 20_000 if quick else 100_000,
        },
        "run": {"warm_up": "200ms"},
    }


def _latency(results: Results) -> float:
    return float(results.host.read.mean_us)


def _mapped(us: Mapping[tuple[tuple[str, str], int], float]) -> list[Row]:
    slower = 100 * (1 - us[RC100, 16] / us[RC100, 64])
    gain = 100 * (us[NONE, 64] / us[ALL, 64] - 1)
    knees = [us[SN500, span] for span in (3, 6, 64)]
    return [
        Row(
            "RC100, 38 MiB of the host: reads over 64 GB slower than over 16 GB, %",
            None,
            slower,
            note="fast over 16 GB, last of its class over 64 GB: by a tenth at least",
            least=10.0,
            most=40.0,
        ),
        Row(
            "SN500, 4 and 8 MiB: latency over 64 GB beyond that over 3 GB, %",
            None,
            100 * (knees[2] / knees[0] - 1),
        ),
        Row(
            "SN500, 4 and 8 MiB: latency over 3, 6 and 64 GB, each / the one before, at least",
            None,
            min(after / before for before, after in zip(knees, knees[1:], strict=False)),
            note="a knee at 4 GB and one at 8 GB: each span is slower than the one before",
            least=1.0,
            most=WIDEST,
        ),
        Row(
            "map in memory of the host (HPB): all of it against none, reads gain, %",
            None,
            gain,
            note="58 to 67 in a phone: a read of the map is shorter than one of data",
            least=30.0,
            most=100.0,
        ),
    ]


def _figure(found: Mapping[str, Results], scales: Mapping[int, int]) -> Figure:
    series = []
    bits = {it.name: it.bits for it in DRIVES}
    for name, results in found.items():
        written, x, y, scale = 0.0, [], [], scales[bits[name]]
        for it in results.to_dict()["slc_cache"]["phases"]:
            if it["written_bytes"] and it["seconds"]:
                size = it["written_bytes"] * scale / GB
                x += [written, written + size]
                y += [it["written_bytes"] / it["seconds"] / GB] * 2
                written += size
        series.append(Series(name, x, y))
    return Figure(
        "Rate of one copy over all of the drive", Axis("GB written"), Axis("GB/s"), series
    )
