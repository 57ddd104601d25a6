"""The cost of small writes on drives with mapping units above 4 KiB. A write below the mapping unit
(indirection unit, IU) is a read-modify-write of the whole unit.

So random 4 KiB writes program (unit / 4 KiB) times their bytes, on top of write amplification. QLC
data sheets show that twice: in the ratio of sequential to random write bandwidth, counted in units,
and in the drive writes per day for either. All sheets are compared with one drive,
`qlc-enterprise`, at their mapping units, but with its own spare space. Only the rating is fitted,
and no row judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Data sheets of QLC drives: small writes on large mapping units"

DEVICE = "qlc-enterprise"
KIB = 1024
#: Mapping units, and sizes of random writes on each, KiB.
UNITS = (4, 8, 16, 32, 64)
#: KiB overwritten in untimed runs: about one scaled drive.
OVERWRITTEN = 40_000
#: Tolerance of programmed bytes against proportionality to the unit, percent.
PROPORTIONAL = 2.0


@dataclass(frozen=True)
class Sheet:
    """A drive's data sheet; `unit` is stated, or derived from the sheet if `derived`."""

    name: str
    unit: int
    """Mapping unit, KiB."""
    sequential: float
    """Sequential writes, bytes a second."""
    random: float
    """Random writes, requests a second."""
    size: int = 4
    """Size of random writes, KiB."""
    tolerance: float | None = 12.0
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ratio of sequential to random bandwidth, with random writes counted as whole units."""
        return self.sequential / (self.random * self.unit * KIB)


UNCLEAR = "a third fewer writes than any unit explains: shown, not judged"
SHEETS = (
    Sheet("BM1743 61.44 TB", 4, 2.0e9, 110e3),
    Sheet("BM1743 122.88 TB", 16, 3.0e9, 45e3, size=16),
    Sheet("5210 ION 1.92 TB", 4, 260e6, 13e3),
    Sheet("5210 ION 3.84 TB", 8, 350e6, 6.5e3, tolerance=None, note=UNCLEAR),
    Sheet("5210 ION 7.68 TB", 16, 360e6, 4.5e3),
    Sheet("P5336 61.44 TB", 16, 3300e6, 38e3, tolerance=15.0, note="taken for writes of 4 KiB"),
)

#: Drive writes per day of the 5210 ION: sequential, and random 4 KiB by mapping unit. A reader's
#: note has the values for 4 and 16 KiB; the value between follows from them.
SEQUENTIAL_DWPD = 0.8
RANDOM_DWPD = {4: 0.2, 8: 0.1, 16: 0.05}
DWPD_TOLERANCE = 2.0


def run(study: Study) -> Item:
    """Programmed bytes by unit, the ratio of rates on each sheet, and drive writes per day."""
    sizes = {(unit, 4) for unit in UNITS} | {(it.unit, it.size) for it in SHEETS}
    rated = sorted({(it.unit, it.size) for it in SHEETS})
    requests = 100_000 if study.quick else 400_000
    random = study.measure({key: _random(*key, requests) for key in rated})
    untimed = study.measure({key: _untimed(*key) for key in sorted(sizes)})
    sequential = study.measure({unit: _sequential(unit, study.quick) for unit in (4, 8, 16)})
    found = {key: amplified(results) for key, results in untimed.items()}
    rows = [
        *_bytes(found),
        *(_ratio(it, sequential[it.unit], random[it.unit, it.size]) for it in SHEETS),
        *_dwpd(found, {unit: amplified(results) for unit, results in sequential.items()}),
    ]
    remarks = [
        f"simulated is {DEVICE} at each mapping unit, in steady state under uniform writes; the "
        "drives' own spare space is not published",
        "the mapping units of the 5210 ION follow from one size of DRAM for all its capacities",
    ]
    title = "Mapping units of QLC drives"
    return Item("qlc-iu", title, rows, [_figure(found)], remarks)


def amplified(results: Results) -> float:
    """Bytes programmed per host byte."""
    flash = results.flash
    return float(flash.bytes_programmed / flash.host_bytes_written)


def _device(unit: int) -> dict[str, Any]:
    return {"preset": DEVICE, "logical_page": f"{unit}KiB"}


def _random(unit: int, size: int, requests: int) -> dict[str, Any]:
    return {
        "device": _device(unit),
        "workload": {
            "kind": "closed",
            "read_share": 0.0,
            "outstanding": 64,
            "block_size": f"{size}KiB",
            "requests": requests,
        },
        "run": {"precondition": "random:3"},
    }


def _untimed(unit: int, size: int) -> dict[str, Any]:
    """Untimed run that overwrites the scaled drive once more."""
    experiment = _random(unit, size, OVERWRITTEN * KIB // unit)
    return {**experiment, "run": {"precondition": "random:3", "timed": False}}


def _sequential(unit: int, quick: bool) -> dict[str, Any]:
    return {
        "device": _device(unit),
        "workload": {
            "kind": "closed",
            "read_share": 0.0,
            "random_share": 0.0,
            "outstanding": 32,
            "block_size": "1MiB",
            "requests": 10_000 if quick else 40_000,
        },
    }


def _bytes(found: Mapping[tuple[int, int], float]) -> list[Row]:
    """Bytes programmed per byte of random writes, in proportion to the unit."""
    minimum = found[UNITS[0], 4]
    name = "random 4 KiB: bytes programmed for a byte"
    rows = [Row(f"{name}, unit of {UNITS[0]} KiB", None, minimum)]
    rows += [
        Row(
            f"{name}, unit of {unit} KiB / of {UNITS[0]} KiB",
            unit / UNITS[0],
            found[unit, 4] / minimum,
            PROPORTIONAL,
            note="in proportion to the unit",
        )
        for unit in UNITS[1:]
    ]
    name = "unit of 16 KiB: life under random 16 KiB over that under 4 KiB"
    life = found[16, 4] / found[16, 16]
    return [*rows, Row(name, 4.0, life, PROPORTIONAL, "sheets state both: 4 to 1")]


def _ratio(sheet: Sheet, sequential: Results, random: Results) -> Row:
    bandwidth = 1e6 * float(sequential.host.write.mb_per_s)
    units = float(random.host.write.iops) * sheet.unit * KIB
    return Row(
        f"{sheet.name}: sequential bandwidth over random {sheet.size} KiB, in units",
        sheet.ratio,
        bandwidth / units,
        sheet.tolerance,
        "; ".join(part for part in (f"unit of {sheet.unit} KiB", sheet.note) if part),
    )


def _dwpd(random: Mapping[tuple[int, int], float], sequential: Mapping[int, float]) -> list[Row]:
    """Drive writes per day under random 4 KiB, from the sheet's sequential value."""
    return [
        Row(
            f"5210 ION, unit of {unit} KiB: drive writes per day, random 4 KiB",
            published,
            SEQUENTIAL_DWPD * sequential[unit] / random[unit, 4],
            DWPD_TOLERANCE,
            f"sequential {SEQUENTIAL_DWPD:g} on the sheet",
        )
        for unit, published in RANDOM_DWPD.items()
    ]


def _figure(found: Mapping[tuple[int, int], float]) -> Figure:
    values = [found[unit, 4] for unit in UNITS]
    return Figure(
        "Random writes of 4 KiB by mapping unit",
        Axis("mapping unit, KiB"),
        Axis("bytes programmed for a byte"),
        [
            Series("in proportion", list(UNITS), [values[0] * it / UNITS[0] for it in UNITS]),
            Series("simulated", list(UNITS), values, mark="dots"),
        ],
    )
