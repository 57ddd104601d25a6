"""Ageing of data: JESD218's temperatures, retries and errors of published chips.

The clock, the spread and the first retries are arithmetic: no simulation contributes. What is
simulated is one read of a drive after the months of Park et al., with its cycles.
"""

from __future__ import annotations

import json
from typing import Any

from ssdlab import _core
from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Ageing of data: JESD218, retries of aged pages, and the spread that a rating allows"

#: JESD218: weeks of retention by temperature, where a drive has 52 at 30 C.
WEEKS = {25: 105, 35: 26, 40: 14, 45: 7, 50: 4, 55: 2}
#: Days until the first retry of 72-layer TLC by cycles, of the published law at a limit of 8.8e-3.
FIRST_RETRY_DAYS = {1: 279, 500: 54, 1000: 40, 2000: 19, 3000: 3}
#: The spread that a rating allows, alone and with one of 32 groups as parity.
SPREAD = {
    1000: (0.225, 0.297),
    1500: (0.193, 0.256),
    2000: (0.158, 0.208),
    3000: (0.087, 0.114),
}
PARK = "Park et al., ASPLOS 2021, as remembered; the drift was fitted to it"
#: Cycles, months at 30 C, and mean retries where one is published.
AGED = {"0 cycles, 3 months": (0, 3), "1,000 cycles, 3 months": (1000, 3),
        "2,000 cycles, 1 year": (2000, 12)}  # fmt: skip
#: Months after which the read speed is drawn.
MONTHS = (0, 1, 3, 6, 12, 36)


def run(study: Study) -> Item:
    """The closed forms, and simulated reads of aged drives."""
    forms = json.loads(_core.media_forms())
    rows = [*_clock(forms), *_errors(forms), *_retries(forms)]
    cases = {name: _read(study, *case) for name, case in AGED.items()}
    curve = {f"after {months}": _read(study, 1000, months) for months in MONTHS}
    found = study.measure(cases | curve)
    rows += _simulated(forms, {name: found[name].to_dict() for name in cases})
    speeds = [found[f"after {months}"].host.read.mb_per_s for months in MONTHS]
    rows.append(
        Row(
            "read speed of a drive aged for 3 years at 30 C / new",
            None,
            speeds[-1] / speeds[0],
            note="aged data read more slowly",
            holds=all(before > after for before, after in zip(speeds, speeds[1:], strict=False)),
        )
    )
    figure = Figure(
        title="Read speed by age, 1,000 cycles",
        x=Axis("Months at 30 C"),
        y=Axis("Sequential read, MB/s"),
        series=[Series("tlc-enterprise", list(MONTHS), speeds)],
    )
    return Item("media", "Ageing of data", rows, figures=[figure])


def _clock(forms: dict[str, Any]) -> list[Row]:
    rows = [
        Row(f"JESD218 client: weeks at {celsius} C", WEEKS[celsius], weeks, 10, arithmetic=True,
            note="the table is rounded")
        for celsius, weeks in forms["weeks"]
    ]  # fmt: skip
    return [
        *rows,
        Row("bake for 3 months at 40 C: hours at 66 C", 96, forms["bake_3_months"], 2,
            arithmetic=True),
        Row("bake for a year at 30 C: hours at 52 C", 500, forms["bake_1_year"], 2,
            arithmetic=True),
        Row("pipelined retry: shorter by, %", 28.5, 100 * forms["pipelined"], 1, arithmetic=True),
    ]  # fmt: skip


def _errors(forms: dict[str, Any]) -> list[Row]:
    rows = [
        Row(f"fixed references, {cycles:,} cycles: days to the first retry",
            FIRST_RETRY_DAYS[cycles], days, 5, arithmetic=True)
        for cycles, days in forms["first_retry_days"]
    ]  # fmt: skip
    for rated, alone, parity in forms["spread"]:
        for label, found, expected in (
            ("", alone, SPREAD[rated][0]),
            (", parity 1 of 32", parity, SPREAD[rated][1]),
        ):
            name = f"spread that {rated:,} rated cycles allow{label}"
            rows.append(Row(name, expected, found, 1, arithmetic=True))
    rows.append(
        Row(
            "pages lost after 2,000 cycles and a year, spread 0.19",
            None,
            forms["lost_with_spread"],
            note="without a spread between pages: none",
        )
    )
    return rows


def _retries(forms: dict[str, Any]) -> list[Row]:
    return [
        Row("0 cycles, 6 months: 7 retries and more, %", 54, 100 * forms["share_7_0_6"], 20,
            note=PARK, fitted=True),
        Row("2,000 cycles, 1 year, if wear did not count: mean retries", None,
            forms["retries_without_wear"], note="19.9 are published"),
    ]  # fmt: skip


def _simulated(forms: dict[str, Any], found: dict[str, Any]) -> list[Row]:
    closed = {
        "0 cycles, 3 months": forms["retries_0_3"],
        "1,000 cycles, 3 months": forms["retries_1000_3"],
        "2,000 cycles, 1 year": forms["retries_2000_12"],
    }
    claims = {
        "0 cycles, 3 months": ("more than 3", 3),
        "1,000 cycles, 3 months": ("at least 8", 8),
    }
    rows = []
    for name, results in found.items():
        mean = results["media"]["mean_retries"]
        rows.append(Row(f"{name}: simulated / integral over the pages", 1, mean / closed[name], 10))
        if name in claims:
            claim, least = claims[name]
            note = f"{PARK}: {claim}"
            rows.append(Row(f"{name}: mean retries", None, mean, note=note, holds=mean > least))
        else:
            rows.append(Row(f"{name}: mean retries", 19.9, mean, 10, note=PARK, fitted=True))
    return rows


def _read(study: Study, cycles: int, months: int) -> dict[str, Any]:
    device = {
        "preset": "tlc-enterprise",
        "capacity": "240049281024B",
        "blocks_per_plane": 228,
        "media": {"model": "tlc-3d", "cycles": cycles, "spread_errors": 0.19},
    }
    load = {
        "kind": "closed",
        "read_share": 1.0,
        "random_share": 0.0,
        "block_size": "128KiB",
        "outstanding": 32,
        "requests": 5_000 if study.quick else 25_000,
    }
    run = {"age": f"{months}mo at 30C"} if months else {}
    return {"device": device, "workload": load, "run": run}
