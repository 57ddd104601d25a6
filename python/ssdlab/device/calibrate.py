"""Simulates a solved drive and corrects its values until it meets its data sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ssdlab.datasheet import arithmetic
from ssdlab.datasheet.contradictions import link_rate
from ssdlab.datasheet.drive import Drive
from ssdlab.datasheet.given import LATENCIES, Given
from ssdlab.datasheet.nand import fastest_read
from ssdlab.datasheet.solve import BUS_RATES, LEAST_FIRMWARE
from ssdlab.device.check import Outcome, measure
from ssdlab.device.measurements import LEAST_RATE, MEASUREMENTS
from ssdlab.device.sheet import Cell
from ssdlab.units import size_text

#: A cell within this error is no longer corrected.
CLOSE = 0.01
#: Maximum rounds for measurements of a fresh drive, and of the slower ones in steady state.
ROUNDS, STEADY_ROUNDS = 4, 3
#: Tolerance of a given cell: 5 %, latencies 10 %.
TOLERANCE, LATENCY_TOLERANCE = 0.05, 0.10
STEADY = ("rand_write_iops", "write_amplification")
#: Keys that determine the spare space: with one, the random-write rate is a lower bound.
FLASH_KNOWN = ("raw_capacity", "write_amplification")
#: Firmware utilisation above which it limits random reads; below, dies and buses do.
BUSY = 0.98

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Fitted:
    """A solved sheet: the drive, its simulated sheet, and missing figures."""

    given: Given
    drive: Drive
    outcomes: Sequence[Outcome]
    predictions: Sequence[Outcome]
    notes: Sequence[str]


def cells(given: Given) -> list[Cell]:
    """Measurable figures of the sheet, marked if the solver uses them.

    With known flash, random writes are a lower bound: drives exceed their sheets. Assumed latencies
    are measured too, and marked as guesses.
    """
    found = []
    for key, name in (
        ("seq_read", "seq_read"),
        ("seq_write", "seq_write"),
        ("rand_read", "rand_read_iops"),
        ("fresh_write", "fresh_write_iops"),
        ("rand_write", "rand_write_iops"),
        ("read_latency", "read_latency"),
        ("write_latency", "write_latency"),
        ("write_amplification", "write_amplification"),
    ):
        assumed = key in LATENCIES and key not in given
        if key not in given and not assumed:
            continue
        row = MEASUREMENTS[name]
        requested = {}
        if key.startswith(("rand", "fresh")):
            requested["depth"] = given[f"{key}_depth"]
        if key == "rand_write":
            requested["block"] = size_text(given["rand_write_block"])
        elif key in ("write_latency", "fresh_write", "write_amplification"):
            requested["block"] = _unit(given)
        latency = key.endswith("latency")
        bound = key == "rand_write" and any(it in given for it in FLASH_KNOWN)
        found.append(
            Cell(
                measure=name,
                value=given[key],
                source="guess" if assumed else "sheet",
                tolerance=LATENCY_TOLERANCE if latency else TOLERANCE,
                fitted=not (bound or assumed),
                parameters=row.read_parameters(given.source, requested),
                bound=bound,
                assumed=assumed,
            )
        )
    return found


def _unit(given: Given) -> str:
    """Size of a write: smaller ones would need a read-modify-write, unlike the sheet's."""
    return size_text(max(arithmetic.BLOCK, given["mapping_unit"]))


def calibrate(given: Given, drive: Drive, progress: Progress | None = None) -> Fitted:
    """`drive` after correction, with its simulated sheet and predictions."""
    wanted = cells(given)
    fresh = [cell for cell in wanted if cell.measure not in STEADY]
    steady = [cell for cell in wanted if cell.measure in STEADY]
    if "write_amplification" not in given and "rand_write" in given:
        # A prediction from the same run.
        steady.append(prediction("steady_amplification", dict(steady[0].parameters)))
    steps = _Steps(ROUNDS * len(fresh) + STEADY_ROUNDS * len(steady) + 2, progress)
    outcomes = _rounds(given, drive, fresh, ROUNDS, steps)
    settled = _rounds(given, drive, steady, STEADY_ROUNDS, steps) if steady else []
    known = [cell.measure for cell in wanted]
    outcomes = [it for it in [*outcomes, *settled] if it.cell.measure in known]
    outcomes.sort(key=lambda it: known.index(it.cell.measure))
    predictions, notes = _predict(given, drive, settled, steps)
    steps.finish()
    return Fitted(given, drive, outcomes, predictions, notes)


class _Steps:
    """Counts simulations over several calls of `measure`."""

    def __init__(self, expected: int, progress: Progress | None) -> None:
        self.before, self.expected, self.progress = 0, expected, progress

    def measure(self, drive: Drive, wanted: Sequence[Cell]) -> list[Outcome]:
        found = measure(drive.keys(), wanted, progress=self._tell)
        self.before += len(wanted)
        return found

    def finish(self) -> None:
        self.before = self.expected
        self._tell(0, 0)

    def _tell(self, done: int, _: int) -> None:
        if self.progress is not None:
            self.progress(min(self.before + done, self.expected), self.expected)


def _rounds(
    given: Given, drive: Drive, wanted: Sequence[Cell], rounds: int, steps: _Steps
) -> list[Outcome]:
    """The cells as last simulated, after the necessary corrections."""
    for number in range(rounds):
        found = steps.measure(drive, wanted)
        far = [it for it in found if it.cell.fitted and abs(it.error) > CLOSE]
        if not far or number == rounds - 1:
            steps.before += (rounds - 1 - number) * len(wanted)
            break
        for it in far:
            CORRECTIONS[it.cell.measure](given, drive, it)
    return found


def _program(_: Given, drive: Drive, it: Outcome) -> None:
    factor = it.simulated / it.cell.value
    drive.flash = replace(drive.flash, program=drive.flash.program * factor)


def _link(given: Given, drive: Drive, it: Outcome) -> None:
    """Raise the link rate; at its maximum, use a faster bus."""
    rate, maximum = drive.link * it.cell.value / it.simulated, link_rate(given["interface"])
    quicker = [bus for bus in BUS_RATES if bus > drive.flash.bus]
    if rate > maximum and quicker:
        drive.flash = replace(drive.flash, bus=quicker[0])
    drive.link = min(rate, maximum)


def _sensing(drive: Drive, change: float) -> None:
    read = max(fastest_read(drive.flash.bits), drive.flash.read + change)
    drive.flash = replace(drive.flash, read=read)


def _read_firmware(given: Given, drive: Drive, it: Outcome) -> None:
    """Change the firmware's read rate; sensing compensates the latency.

    If firmware is idle, the queue depth is too low for the rate: dies sense too long (Little's
    law). Sensing is shortened, and firmware takes the rest of the latency, on more cores.
    """
    before = drive.firmware_read
    if it.simulated * before < BUSY * drive.cores:
        outstanding = given.depth("rand_read")
        waited = outstanding / it.simulated - outstanding / it.cell.value
        sensed = drive.flash.read
        _sensing(drive, -waited)
        drive.firmware_read = max(LEAST_FIRMWARE, before + sensed - drive.flash.read)
        drive.cores = math.ceil(drive.cores * max(1.0, drive.firmware_read / before))
        return
    drive.firmware_read = max(LEAST_FIRMWARE, before * it.simulated / it.cell.value)
    _sensing(drive, before - drive.firmware_read)


def _read_latency(given: Given, drive: Drive, it: Outcome) -> None:
    change = it.cell.value - it.simulated
    if "rand_read" in given:
        _sensing(drive, change)
    else:
        drive.firmware_read = max(LEAST_FIRMWARE, drive.firmware_read + change)


def _fewer_cores(drive: Drive) -> None:
    """Remove a core at equal rates: less time per request."""
    share = (drive.cores - 1) / drive.cores
    drive.cores -= 1
    drive.firmware_write *= share
    _sensing(drive, drive.firmware_read * (1 - share))
    drive.firmware_read *= share


def _write_latency(given: Given, drive: Drive, it: Outcome) -> None:
    change = it.cell.value - it.simulated
    if "fresh_write" in given:  # firmware takes the time for that rate; the link takes the rest
        shifted = max(-drive.link_latency, change)
        drive.link_latency += shifted
        _sensing(drive, -shifted)
        change -= shifted
        if change < -CLOSE * it.cell.value and drive.cores > 1:
            _fewer_cores(drive)
            return
    drive.firmware_write = max(LEAST_FIRMWARE, drive.firmware_write + change)


def _write_firmware(_: Given, drive: Drive, it: Outcome) -> None:
    """Change the firmware's write rate; link latency and sensing compensate."""
    before = drive.firmware_write
    wanted = max(LEAST_FIRMWARE, before * it.simulated / it.cell.value)
    change = max(-drive.link_latency, before - wanted)
    drive.link_latency += change
    drive.firmware_write = before - change
    _sensing(drive, -change)


def _spare(drive: Drive, factor: float) -> None:
    """Scale the write amplification by `factor`, through the spare space."""
    now = arithmetic.amplification(drive.capacity / drive.physical)
    wanted = max(1.001, now * factor)
    physical = drive.capacity / arithmetic.utilisation(wanted)
    plane = drive.word_lines * drive.flash.dies * drive.flash.group
    drive.blocks = max(8, round(physical / plane))


def _steady_rate(_: Given, drive: Drive, it: Outcome) -> None:
    _spare(drive, it.simulated / it.cell.value)


def _amplification(_: Given, drive: Drive, it: Outcome) -> None:
    _spare(drive, it.cell.value / it.simulated)


#: The key corrected for each measurement, in this order.
CORRECTIONS: Mapping[str, Callable[[Given, Drive, Outcome], None]] = {
    "seq_read": _link,
    "seq_write": _program,
    "rand_read_iops": _read_firmware,
    "fresh_write_iops": _write_firmware,
    "read_latency": _read_latency,
    "write_latency": _write_latency,
    "rand_write_iops": _steady_rate,
    "write_amplification": _amplification,
}


def _predict(
    given: Given, drive: Drive, settled: Sequence[Outcome], steps: _Steps
) -> tuple[list[Outcome], list[str]]:
    """Predict a missing steady write rate, its write amplification, and read latency at half the
    rate.
    """
    found = [it for it in settled if it.cell.measure == "steady_amplification"]
    rates = [it.simulated for it in settled if it.cell.measure == "rand_write_iops"]
    if not rates:
        unit = {"block": _unit(given)}
        requested = [prediction("rand_write_iops", unit)]
        if "write_amplification" not in given:
            requested.append(prediction("steady_amplification", unit))
        found = steps.measure(drive, requested)
        rates = [found[0].simulated]
    half = rates[0] / 2
    if half < LEAST_RATE:
        too_few = f"Reads under load are not predicted: half of {rates[0]:,.0f}/s is too little."
        return found, [too_few]
    requested = [
        prediction("load_read", {"rate": f"{half:.0f}/s", "figure": figure})
        for figure in ("mean", "p99")
    ]
    return [*found, *steps.measure(drive, requested)], []


def prediction(name: str, parameters: Mapping[str, object]) -> Cell:
    """A predicted cell."""
    given = MEASUREMENTS[name].read_parameters("prediction", parameters)
    return Cell(name, float("nan"), "", float("inf"), parameters=given)
