"""SLC caches of client drives: where a long copy slows down, as reviews have measured it.

Reviews write the whole drive in sequence. Two rules have no free number:
nothing is folded while the cache fills, so that a cache without a limit holds the free space over
the bits of a cell; and what is forced in the end follows from the two rates before it. The rate of
folding is a limit of the firmware and is fitted to each drive.

All drives are one, `samsung-980pro`, with the capacity, the rates and the cache of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Reviews of client drives: where a long copy slows down (SLC caches)"

DEVICE, SCALE = "samsung-980pro", 192
GB = 1e9
#: Bytes that are programmed at once on all dies of the drive, with one bit a cell and with three.
SLC_STRIPE = 16 * 4 * 16384
NATIVE_STRIPE = 3 * SLC_STRIPE


@dataclass(frozen=True)
class Drive:
    """A drive as a review found it: bytes, and bytes a second."""

    name: str
    cache: float | None
    """What its cache holds; None: all free cells."""
    fast: float
    native: float
    fold: float | None
    """Folding, fitted."""
    mean: float | None
    second: float | None = None
    """What was written when the last rate began."""
    forced: float | None = None
    share: float = 0.0
    """The share of the dies that folds beside the host, fitted."""
    falls_at: float = 0.0
    """Where the first rate ended."""
    tolerance: float = 12.0


DRIVES = (
    Drive("980 PRO 1 TB", 113 * GB, 4.0e9, 2.0e9, None, 1.9e9, share=0.25, falls_at=113 * GB),
    Drive("SN580 1 TB", None, 4.0e9, 0.9e9, 0.45e9, 0.596e9, falls_at=341 * GB),
    Drive("Atom 50 1 TB", 280 * GB, 4.5e9, 2.0e9, 0.33e9, 0.80e9, 500 * GB, 0.5e9, 0.0, 280 * GB),
)


def run(study: Study) -> Item:
    """Each drive written once from its beginning to its end."""
    scale = 4 * SCALE // 2 if study.quick else SCALE
    found = study.measure({it.name: _copy(it, scale) for it in DRIVES})
    rows = [row for it in DRIVES for row in _rows(it, found[it.name], scale)]
    remarks = [
        f"simulated is {DEVICE} with the capacity, the rates and the cache of each drive",
        "the rate in the cache and that of native cells are given, the rate of folding is fitted",
    ]
    return Item("cliff", "SLC caches", rows, [_figure(found, scale)], remarks)


def _copy(drive: Drive, scale: int) -> dict[str, Any]:
    slc: dict[str, Any] = {"program": f"{SLC_STRIPE / drive.fast * 1e9:.0f}ns"}
    slc["limit"] = f"{drive.cache:.0f}B" if drive.cache else "1TB"
    slc["fold_share"] = drive.share
    slc["fold_rate"] = f"{drive.fold:.0f}B/s" if drive.fold else "unlimited"
    return {
        "device": {
            "preset": DEVICE,
            "scale": scale,
            "slc_cache": slc,
            "timing": {"program": f"{NATIVE_STRIPE / drive.native * 1e9:.0f}ns"},
        },
        "workload": {
            "kind": "closed",
            "read_share": 0.0,
            "random_share": 0.0,
            "outstanding": 32,
            "block_size": "128KiB",
            "requests": int(1e12 / scale / 131072),
        },
    }


def _rows(drive: Drive, results: Results, scale: int) -> list[Row]:
    slc = results.to_dict()["slc_cache"]
    simulated = slc["cliff_at_bytes"]
    at = None if simulated is None else simulated * scale / GB
    exact = "" if drive.cache is None else "given; that it is kept means that nothing is folded"
    rows = [
        Row(f"{drive.name}: written when it slows down, GB", drive.falls_at / GB, at, 5.0, exact)
    ]
    if drive.second is not None:
        before = [it for it in slc["phases"] if it["state"] in ("fast", "direct")]
        second = sum(it["written_bytes"] for it in before) * scale / GB
        name = f"{drive.name}: written when it slows down again, GB"
        rows.append(Row(name, drive.second / GB, second, drive.tolerance))
    if drive.mean is not None:
        mean = results.host.write.bytes / results.simulated_seconds / GB
        rows.append(Row(f"{drive.name}: mean rate, GB/s", drive.mean / GB, mean, drive.tolerance))
    return rows


def _figure(found: Mapping[str, Results], scale: int) -> Figure:
    series = []
    for name, results in found.items():
        written, x, y = 0.0, [], []
        for it in results.to_dict()["slc_cache"]["phases"]:
            if it["written_bytes"]:
                size = it["written_bytes"] * scale / GB
                x += [written, written + size]
                y += [it["written_bytes"] / it["seconds"] / GB] * 2
                written += size
        series.append(Series(name, x, y))
    return Figure(
        "Rate of one copy over all of the drive", Axis("GB written"), Axis("GB/s"), series
    )
