"""Ageing of data: temperature, retries and losses, simulated and published.

One activation energy determines the acceleration of retention. Level drift was fitted to four
conditions of one chip, so these rows prove nothing; the significant rows compare the simulation
with the integral over pages, or test claims with a mechanism disabled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ssdlab import _core
from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.reliability import drives
from ssdlab.results import Results
from ssdlab.running import Experiment

SUMMARY = "Ageing of data: JESD218, retries of aged pages, losses, and what parity saves"

#: JESD218: weeks of retention by temperature, for a drive with 52 weeks at 30 C.
WEEKS = {25: 105, 35: 26, 40: 14, 45: 7, 50: 4, 55: 2}
#: Bakes equivalent to retention: hours, temperature, and retention.
BAKES = {"96 h at 66 C": ("96h at 66C", "3mo at 40C"), "500 h at 52 C": ("500h at 52C", "1y")}
#: Days until the first retry of 72-layer TLC by cycles, of the published law at a limit of 8.8e-3.
FIRST_RETRY_DAYS = {1: 279, 500: 54, 1000: 40, 2000: 19, 3000: 3}
#: Relative distance from that day at which drives are tested.
FIRST_SURE, FIRST_WORDS = 0.02, ("before", "after")
#: The hottest row of the table, and a drive insensitive to temperature.
HOT, NO_ARRHENIUS = "1y at 55C", "1y at 55C, and no temperature matters"
PARK = "Park et al., ASPLOS 2021, as remembered; the drift was fitted to it"
#: Cycles and months at 30 C.
AGED = {
    "0 cycles, 3 months": (0, 3),
    "0 cycles, 6 months": (0, 6),
    "1,000 cycles, 3 months": (1000, 3),
    "2,000 cycles, 1 year": (2000, 12),
}
#: Months after which the read speed is drawn.
MONTHS = (0, 1, 3, 6, 12, 36)
#: A drive beyond its rating: cycles, months, spread of its errors, and groups per stripe.
WORN = (2800, 12, 0.3)
STRIPE = 16
#: The drive for counting losses: an eighth of each block, and fewer blocks. A 64th has six word
#: lines, too few for the tails of their variation.
TALL = {"scale": 8, "blocks_per_plane": 32, "capacity": "31331450880B"}
#: Fleets of Schroeder et al., FAST 2016: blocks per chip, share of failing blocks, and defects per
#: drive and year, with the range of shapes of its distribution.
FLASH = "Schroeder et al., FAST 2016"
FLEET_YEARS = 4.0
CHIP = {
    "device.channels": 1,
    "device.packages_per_channel": 1,
    "device.dies_per_package": 1,
    "device.planes_per_die": 2,
    "device.blocks_per_plane": 2048,
    "device.capacity": "60GB",
    "device.parity.of": 0,
}
SICK, DEFECTS, SHAPES = 0.06, 1.46, (0.05, 0.3)
#: Reason why the more uneven fleet repeats errors too often.
TOO_FEW = "so uneven a fleet has its errors on few drives, and these have them again and again"
#: Times of Park's chip, us: a sense, a transfer, a decoding.
SENSE, TRANSFER = "90us", "1024MT/s"


def run(study: Study) -> Item:
    """Reads of data of all ages."""
    aged = {name: _read(study, cycles, months) for name, (cycles, months) in AGED.items()}
    curve = {f"after {months}": _read(study, 1000, months) for months in MONTHS}
    forms = json.loads(_core.media_forms())
    first = dict(forms["first_retry_days"])
    found = study.measure(aged | curve | _worn(study) | _clocks() | _steps() | _fixed(first))
    rows = [*_clock(found), *_retries(study, aged, found), *_losses(study, found)]
    speeds = [found[f"after {months}"].host.read.mb_per_s for months in MONTHS]
    rows.append(
        Row(
            "read speed at an age / at the one before, at most",
            None,
            max(after / before for before, after in zip(speeds, speeds[1:], strict=False)),
            note="aged data read more slowly, the longer the more",
            least=0.25,
            most=1,
        )
    )
    slowest = "read speed of a drive aged for 3 years at 30 C / new"
    rows.append(Row(slowest, None, speeds[-1] / speeds[0]))
    rows += [
        Row(f"fixed references, {cycles:,} cycles: days to the first retry",
            FIRST_RETRY_DAYS[cycles], days, 5 if FIRST_RETRY_DAYS[cycles] > 10 else 15,
            arithmetic=True, note="published in whole days")
        for cycles, days in first.items()
    ]  # fmt: skip
    rows += [_first_retry(cycles, found) for cycles in first]
    rows += _fleets(study)
    figure = Figure(
        title="Read speed by age, 1,000 cycles",
        x=Axis("Months at 30 °C"),
        y=Axis("Sequential read, MB/s"),
        series=[Series("tlc-enterprise", list(MONTHS), speeds)],
    )
    return Item("media", "Ageing of data", rows, figures=[figure])


def _clocks() -> dict[str, dict[str, Any]]:
    """Unpowered drives, by time and temperature."""
    ages = [f"1y at {celsius}C" for celsius in WEEKS]
    ages += [age for pair in BAKES.values() for age in pair]
    device = _device(0, None)
    load = {"kind": "closed", "read_share": 1.0, "requests": 1}
    cases = {age: {"device": device, "workload": load, "run": {"age": age}} for age in ages}
    indifferent = device | {"media": device["media"] | {"activation": 0.0}}
    return cases | {NO_ARRHENIUS: cases[HOT] | {"device": indifferent}}


def _fixed(first: Mapping[int, float]) -> dict[str, dict[str, Any]]:
    """Drives with fixed reference voltages, shortly before and after the first retry."""
    load = {"kind": "closed", "read_share": 1.0, "requests": 100}
    cases = {}
    for cycles, days in first.items():
        device = _device(cycles, 0.0)
        device["media"] |= {"model": "tlc-72l"}
        for word, share in (("before", 1 - FIRST_SURE), ("after", 1 + FIRST_SURE)):
            run = {"age": f"{round(24 * 60 * share * days)}min at 30C"}
            cases[f"{cycles} {word}"] = {"device": device, "workload": load, "run": run}
    return cases


def _first_retry(cycles: int, found: Mapping[str, Results]) -> Row:
    soft = [found[f"{cycles} {word}"].to_dict()["media"]["soft_reads"] for word in FIRST_WORDS]
    return Row(
        f"fixed references, {cycles:,} cycles: of reads decoded again, not before that day, %",
        None,
        100 * (soft[1] - soft[0]) / max(soft[1], 1),
        note=f"the drive {FIRST_SURE:.0%} before and after that day: before it none",
        least=99,
        most=100,
    )


def _clock(found: Mapping[str, Results]) -> list[Row]:
    def days(age: str) -> float:
        return float(found[age].to_dict()["media"]["clock_days"])

    year = days("1y")
    rows = [
        Row(f"JESD218 client: weeks at {celsius} C", weeks, 52 * year / days(f"1y at {celsius}C"),
            6, note="the table is rounded")
        for celsius, weeks in WEEKS.items()
    ]  # fmt: skip
    alike = 52 * year / days(NO_ARRHENIUS)
    rows.append(
        Row("weeks at 55 C if temperature did not matter", 52, alike, 0.2,
            "an activation energy of 0: 52 weeks everywhere")
    )  # fmt: skip
    for bake, (short, long) in BAKES.items():
        rows.append(Row(f"JESD218: {bake} / {long}", 1, days(short) / days(long), 2))
    return rows


def _retries(study: Study, aged: Mapping[str, Any], found: Mapping[str, Results]) -> list[Row]:
    claims = {
        "0 cycles, 3 months": ("more than 3", 3),
        "1,000 cycles, 3 months": ("at least 8", 8),
    }
    rows, means = [], {}
    for name, case in aged.items():
        media = found[name].to_dict()["media"]
        means[name] = media["mean_retries"]
        form = study.figures(name, _form(case))["kept"]
        note = "pages of the drive beside the integral over all pages"
        ratio = means[name] / form["mean_retries"]
        rows.append(Row(f"{name}: retries, simulated / integral", 1, ratio, 10, note=note))
        if name in claims:
            claim, minimum = claims[name]
            rows.append(
                Row(f"{name}: mean retries", None, means[name], note=f"{PARK}: {claim}",
                    least=minimum, most=2 * minimum)
            )  # fmt: skip
    retries = found["0 cycles, 6 months"].to_dict()["media"]["retries"]
    share = 100 * sum(retries[7:]) / sum(retries)
    worn = means["2,000 cycles, 1 year"]
    unworn = found["0 cycles, 1 year"].to_dict()["media"]["mean_retries"]
    retry = {name: found[name].host.read.to_dict()["breakdown_us"]["retry"] for name in _steps()}
    shorter = 100 * (1 - retry["pipelined"] / retry["one by one"])
    return [
        *rows,
        Row("0 cycles, 6 months: 7 retries and more, %", 54, share, 15, note=PARK, fitted=True),
        Row("2,000 cycles, 1 year: mean retries", 19.9, worn, 10, note=PARK, fitted=True),
        Row("2,000 cycles, 1 year: retries, if wear did not count / with it", None, unworn / worn,
            note="wear doubles the drift in 1,780 cycles", least=0.15, most=0.6),
        Row("a retry that is pipelined: shorter by, %", 28.5, shorter, 2),
    ]  # fmt: skip


def _losses(study: Study, found: Mapping[str, Results]) -> list[Row]:
    def media(name: str) -> dict[str, Any]:
        return dict(found[name].to_dict()["media"])

    def lost(name: str) -> float:
        """Share of flash pages that could not be read, even with parity."""
        it = media(name)
        return float(it["uncorrectable"] - it["rebuilt"]) / float(it["page_reads"])

    form = study.figures("worn", _form(_worn(study)["alone"]))["kept"]["page_lost"]
    alone, staggered, along = lost("alone"), lost("staggered"), lost("along word lines")
    two = (STRIPE - 1) * alone**2
    return [
        Row("pages beyond correction, simulated / integral", 1, alone / form, 15,
            note="2,800 cycles and a year"),
        Row("pages beyond correction, if all were alike", None, lost("alike"),
            note="the spread between pages is what loses data"),
        Row("pages lost with staggered parity / (k - 1) p^2", None, staggered / two,
            note="no more than of independent pages: a stripe has good word lines and bad ones",
            least=0.35, most=1.4),
        Row("pages lost with parity along word lines / staggered", None, along / staggered,
            note="LI-RAID: pages of a word line fail together"),
    ]  # fmt: skip


def _fleets(study: Study) -> list[Row]:
    """Drives over years, without requests: published figures of large fleets."""
    count = 10_000 if study.quick else 50_000

    def fleet(name: str, bad_blocks: float = 0.0, **keys: float) -> dict[str, Any]:
        changes = CHIP | {f"device.spares.{key}": value for key, value in keys.items()}
        found = drives.fleet("tlc-enterprise", count, FLEET_YEARS, bad_blocks=bad_blocks,
                             set=changes, seed=1)  # fmt: skip
        figures: dict[str, Any] = study.figures(name, found.to_dict())
        return figures

    def within(
        name: str, found: float, low: float, high: float, note: str, missed: str = ""
    ) -> Row:
        return Row(name, None, found, note=note,
                   least=low, most=high, missed=missed)  # fmt: skip

    blocks = fleet("bad blocks", 0.5, sick_dies=SICK)["bad_blocks"]
    alone = fleet("bad blocks without sick dies", 0.5)["bad_blocks"]
    even = fleet("defects without frailty", defects=DEFECTS, defects_shape=1e4)["media_errors"]
    rows = [
        within("drives with bad blocks, %", 100 * blocks["drives_with"], 30, 80, FLASH),
        within("bad blocks of drives that have any, median", blocks["median"], 2, 3, FLASH),
        within("bad blocks of drives that have any, mean", blocks["mean"], 312, 772, FLASH),
        within("drives with 3 bad blocks of which hundreds follow, %",
               100 * blocks["hundreds_after_three"], 40, 60, f"{FLASH}, about half"),
        Row("bad blocks of drives that have any, mean, without sick dies", None, alone["mean"],
            note="isolated bad blocks alone are one or two", least=1, most=3),
    ]  # fmt: skip
    for shape in SHAPES:
        errors = fleet(f"defects, shape {shape}", defects=DEFECTS, defects_shape=shape)
        found = errors["media_errors"]
        rows += [
            within(f"drives with uncorrectable errors, shape {shape}, %",
                   100 * found["drives_with"], 20, 63, FLASH),
            within(f"uncorrectable errors again next month, shape {shape}, %",
                   100 * found["next_month"], 15, 45, f"{FLASH}, 30 published",
                   TOO_FEW if shape == SHAPES[0] else ""),
            within(f"uncorrectable errors in 1,000 drive days, shape {shape}",
                   found["per_thousand_days"], 2, 6, FLASH),
        ]  # fmt: skip
    rows.append(
        Row("drives with uncorrectable errors if all were alike, %", None,
            100 * even["drives_with"], note="without frailty nearly every drive has some",
            least=95, most=100)
    )  # fmt: skip
    return rows


def _form(case: Mapping[str, Any]) -> dict[str, Any]:
    """The closed form for an experiment's drive and age."""
    layers = Experiment(**{key: case[key] for key in ("device", "workload")}).layers
    cycles = case["device"]["media"]["cycles"]
    return dict(json.loads(_core.keep(layers, case["run"]["age"], cycles, 10**9)))


def _device(cycles: int, spread: float | None, **more: Any) -> dict[str, Any]:
    """A drive with `cycles` P/E cycles."""
    media = {"model": "tlc-3d", "cycles": cycles}
    return {
        "preset": "tlc-enterprise",
        "capacity": "240049281024B",
        "blocks_per_plane": 228,
        "media": media if spread is None else media | {"spread_errors": spread},
        **more,
    }


def _read(
    study: Study, cycles: int, months: int, spread: float = 0.19, **more: Any
) -> dict[str, Any]:
    load = {
        "kind": "closed",
        "read_share": 1.0,
        "random_share": 0.0,
        "block_size": "128KiB",
        "outstanding": 32,
        "requests": 5_000 if study.quick else 25_000,
    }
    run = {"age": f"{months}mo at 30C"} if months else {}
    return {"device": _device(cycles, spread, **more), "workload": load, "run": run}


def _worn(study: Study) -> dict[str, dict[str, Any]]:
    """Drives beyond their rating; one without the effect of wear; and one with identical pages."""
    cycles, months, spread = WORN
    parity = [{"of": STRIPE, "stagger": stagger} for stagger in (False, True)]
    return {
        "0 cycles, 1 year": _read(study, 0, 12),
        "alone": _read(study, cycles, months, spread, **TALL, parity={"of": 0}),
        "along word lines": _read(study, cycles, months, spread, **TALL, parity=parity[0]),
        "staggered": _read(study, cycles, months, spread, **TALL, parity=parity[1]),
        "alike": _read(study, cycles, months, 0.0, **TALL, parity={"of": 0}),
    }


def _steps() -> dict[str, dict[str, Any]]:
    """Consecutive reads of aged data, by kind of retry."""
    load = {"kind": "closed", "read_share": 1.0, "requests": 500, "block_size": "4KiB"}
    timing = {"read": SENSE, "bus_rate": TRANSFER}
    return {
        name: {
            "device": _device(1000, 0.19, timing=timing, retry={"pipelined": pipelined}),
            "workload": load,
            "run": {"age": "3mo at 30C"},
        }
        for name, pipelined in (("one by one", False), ("pipelined", True))
    }
