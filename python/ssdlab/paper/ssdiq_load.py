"""*SSD-iq*, timed: latency by load, and the law of the sustained rate.

One thread sends a request every 100 us, half of them reads, and only its latencies count; six
others supply the rate, 99 % writes. `law` computes the rate without simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ssdlab.charts import Axis, Figure, Series
from ssdlab.device.measurements import experiment as measurement
from ssdlab.device.measurements import figure_of, measured_thread
from ssdlab.device.sheet import Sheet
from ssdlab.paper import cells
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.running import Part

SUMMARY = "Haas et al. 2025 (SSD-iq): latencies of current drives by load, and their maximum load"

#: Measured steady-state writes per second, in thousands, uniform over the whole drive: the 7450
#: without reads, the PM9A3 beside 5,000 reads/s.
ALONE = {"7450 MAX": 159.6, "7450 PRO": 93.6, "PM9A3": 76.5}
ALONE_TOLERANCE = 5.0
REMARK = (
    "nothing in the law is fitted to these rates: it takes the published sequential rate and "
    "assumes 16 dies of four planes and 45 us for a read. The PM9A3's rate was measured beside "
    "5,000 reads a second."
)

#: Loads without a data sheet cell, used in no fit: thousands of requests per second, statistic of
#: the measured thread, and its latency in us.
HELD_OUT: Mapping[str, tuple[tuple[int, str, float], ...]] = {
    "samsung-pm9a3": (
        (30, "read mean", 95),
        (30, "read p99", 317),
        (60, "read mean", 127),
        (60, "read p99", 388),
    ),
}
MEAN_TOLERANCE, P99_TOLERANCE = 10.0, 15.0

#: Names of the data sheet cells measured under this load.
MEASURES = ("load_read", "load_write", "saturated_writes", "saturated_read", "saturated_write")
#: Loads of the curves, in thousands per second; a quick study has every other one.
CURVES: Mapping[str, tuple[int, ...]] = {
    "samsung-pm9a3": (10, 20, 30, 40, 60, 70),
    "micron-7450-pro": (10, 20, 30, 40, 50, 60),
    "micron-7450-max": (10, 30, 60, 80, 100),
}


@dataclass(frozen=True)
class Flash:
    """Flash of a drive for the law: 16 dies of four planes, 4 KiB units in 16 KiB pages."""

    sequential_bytes_s: float
    """Published rate of sequential writes, at which all dies program continuously."""
    dies: int = 16
    planes: int = 4
    page_bytes: int = 16_384
    unit_bytes: int = 4_096
    sense_us: float = 45.0
    bus_bytes_us: float = 1_200.0

    def read_us(self) -> float:
        """Read time of a page on every plane: one sensing, and a transfer each."""
        return self.sense_us + self.planes * self.page_bytes / self.bus_bytes_us


FLASH = {"7450 MAX": Flash(1454e6), "7450 PRO": Flash(1454e6), "PM9A3": Flash(1500e6)}


def law(amplification: float, flash: Flash) -> float:
    """Steady-state writes of a mapping unit per second with fully busy dies.

    Per host unit A units are programmed, and A units of victims are examined, each valid with
    probability 1 - 1/A. Pages of all planes are read together, unless none is valid.
    """
    program_us = 1e6 * amplification * flash.dies * flash.unit_bytes / flash.sequential_bytes_s
    units = flash.planes * flash.page_bytes // flash.unit_bytes
    read = 1 - amplification**-units
    read_us = amplification / units * read * flash.read_us()
    return 1e6 * flash.dies / (program_us + read_us)


def simulate(study: Study, device: Part, rate: float | None) -> dict[str, float]:
    """Latencies of the measured thread on `device` at `rate` requests per second; no rate means
    saturation.

    Latencies in us by operation and figure ("read mean", "write p99.9"), and the writes a second of
    all threads.
    """
    measure, given = ("saturated_read", {}) if rate is None else ("load_read", {"rate": rate})
    (found,) = study.measure({0: measurement(measure, given, device, study.quick)}).values()
    thread = measured_thread(found)
    latencies = {
        f"{operation} {figure}": 1e6 * figure_of(thread[operation], figure)
        for operation in ("read", "write")
        for figure in ("mean", "p50", "p99", "p99.9")
    }
    return latencies | {"writes/s": float(found.host.write.iops)}


def run(study: Study) -> Item:
    """All loads of all drives, from data sheets and beyond."""
    found, lines = [], []
    for sheet in _sheets():
        of_load = [cell for cell in sheet.cells if cell.measure in MEASURES]
        found += cells.rows(
            study, sheet.title, of_load, cells.simulate(study, sheet.device, of_load)
        )
        for rate, what, published in HELD_OUT.get(sheet.device, ()):
            simulated = simulate(study, sheet.device, 1e3 * rate)[what]
            tolerance = MEAN_TOLERANCE if what.endswith("mean") else P99_TOLERANCE
            title = f"{sheet.title}: {what} at {rate}K/s, us"
            unjudged = cells.SHORTER if study.quick else ""
            note = "on no data sheet"
            found.append(Row(title, published, simulated, tolerance, note, unjudged=unjudged))
        lines += _curves(study, sheet)
    x, y = Axis("thousand requests a second"), Axis("mean latency of reads, us", log=10)
    figure = Figure("Latency of reads by load", x, y, lines)
    return Item("ssdiq-load", "SSD-iq: latency against load", found, [figure])


def law_rows(amplifications: Mapping[str, float]) -> list[Row]:
    """The law at `amplifications` by drive, against measured rates."""
    found = []
    for name, amplification in amplifications.items():
        written = law(amplification, FLASH[name]) / 1e3
        title = f"{name}: writes in steady state by the law, K/s"
        note = "from the published sequential rate and the write amplification above"
        found.append(Row(title, ALONE[name], written, ALONE_TOLERANCE, note))
    return found


def _curves(study: Study, sheet: Sheet) -> list[Series]:
    """Mean read latency by load, simulated and published."""
    rates = CURVES[sheet.device][:: 2 if study.quick else 1]
    curve = [simulate(study, sheet.device, 1e3 * rate)["read mean"] for rate in rates]
    measured = {
        round(cell.parameters["rate"] / 1e3): 1e6 * cell.value
        for cell in sheet.cells
        if cell.measure == "load_read" and cell.parameters["figure"] == "mean"
    }
    for rate, subject, published in HELD_OUT.get(sheet.device, ()):
        if subject == "read mean":
            measured[rate] = published
    x = sorted(measured)
    return [
        Series(f"{sheet.title}, simulated", rates, curve),
        Series(f"{sheet.title}, published", x, [measured[rate] for rate in x], mark="dots"),
    ]


def _sheets() -> list[Sheet]:
    """The sheets of the drives that SSD-iq measured."""
    return [sheet for sheet in cells.sheets() if sheet.device in CURVES]
