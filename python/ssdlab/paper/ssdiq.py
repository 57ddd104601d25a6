"""*SSD-iq*: write amplification of current drives.

Haas, Lee, Bonnet and Leis (PVLDB 18(11), 2025) wrote 4 KiB pages uniformly over a part of several
drives until the drives' counters of flash writes settled. Greedy with two constants matches a
drive's whole curve: participating flash, and extra programs per page. `ssdiq_load` covers timing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper import greedy, ssdiq_load
from ssdlab.paper.derived import Derived
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Haas et al. 2025 (SSD-iq): write amplification and write rates of current drives"

#: Micron 7450 MAX 800 GB: written range in GiB (50 to 100 % of the drive), and write amplification.
CURVE = {372.6: 1.098, 447.1: 1.182, 521.6: 1.275, 596.0: 1.407, 670.6: 1.599, 745.0: 1.889}
#: Micron 7450 PRO 960 GB: same hardware with less spare space.
PRO_GIB, PRO = 894.0, 3.19
#: The whole Samsung PM9A3 960 GB; its flash is 1 TiB.
PM9A3_GIB, PM9A3, PM9A3_RAW_GIB = 894.07, 4.20, 1024.0

#: Two constants, fitted to the first and last point of the curve: participating flash, and extra
#: programs per page, equal to one parity page in 32.
SPACE_GIB = 1076.0
ADDED = 32 / 31
FITTED = (min(CURVE), max(CURVE))

#: Constants fitted to the published points, and the rates that follow by the law.
DERIVED = (
    Derived(
        "the space that takes part and what is added to every page",
        tuple(f"ssdiq: 7450 MAX, {gib:g} GiB: *" for gib in FITTED),
        follows=("ssdiq: 7450 MAX: writes in steady state by the law*",),
    ),
    Derived(
        "the PM9A3's space that takes part",
        ("ssdiq: PM9A3: write amplification with it",),
        follows=("ssdiq: PM9A3: writes in steady state by the law*",),
    ),
)

#: Tolerances in percent: of the curve's points, of the other drive, and of the simulated domain
#: against the limit of many blocks.
TOLERANCE, PRO_TOLERANCE, BIAS = 2.0, 3.0, 0.1

BLOCKS, PAGES = 1024, 512
#: Number of overwrites before and during the measurement of write amplification.
OVERWRITES = 4


def run(study: Study) -> Item:
    """The curve, the two other drives, and the rates that follow."""
    filled = {gib: gib / SPACE_GIB for gib in (*CURVE, PRO_GIB)}
    found = amplifications(study, filled)
    simulated = {gib: ADDED * amplification for gib, amplification in found.items()}
    bias = max(abs(found[gib] / greedy.limit(share, PAGES) - 1) for gib, share in filled.items())
    space = space_of(PM9A3_GIB, PM9A3)
    (pm9a3,) = amplifications(study, {PM9A3_GIB: PM9A3_GIB / space}).values()
    amplified = {
        "7450 MAX": simulated[max(CURVE)],
        "7450 PRO": simulated[PRO_GIB],
        "PM9A3": pm9a3,
    }
    rows = [
        *_curve(simulated),
        Row(
            "largest deviation from the limit of many blocks, %",
            None,
            100 * bias,
            note=f"below {BIAS:g}",
            most=BIAS,
        ),
        Row(
            "PM9A3: space that takes part, GiB",
            PM9A3_RAW_GIB,
            space,
            note="derived from its one write amplification; published is its raw flash",
        ),
        Row(
            "PM9A3: write amplification with it",
            PM9A3,
            pm9a3,
        ),
        *ssdiq_load.law_rows(amplified),
    ]
    remarks = [
        f"two constants are fitted: {SPACE_GIB:g} GiB of the 7450 take part, and it programs 32 "
        f"pages for 31. {free_fit()}",
        ssdiq_load.REMARK,
    ]
    title = "SSD-iq: write amplification"
    return Item("ssdiq", title, rows, [_figure(simulated)], remarks, DERIVED)


def _curve(simulated: Mapping[float, float]) -> list[Row]:
    """The points of the MAX, and the PRO."""
    rows = [
        Row(
            f"7450 MAX, {gib:g} GiB: write amplification",
            published,
            simulated[gib],
            TOLERANCE,
        )
        for gib, published in CURVE.items()
    ]
    name, note = f"7450 PRO, {PRO_GIB:g} GiB: write amplification", "with the constants of the MAX"
    return [*rows, Row(name, PRO, simulated[PRO_GIB], PRO_TOLERANCE, note)]


def amplifications(study: Study, filled: Mapping[float, float]) -> dict[float, float]:
    """Write amplification of greedy, by GiB written, as a share of the participating flash."""
    results = study.measure(
        {
            key: {
                "device": greedy.drive(BLOCKS, PAGES, share),
                "workload": greedy.writes(int(OVERWRITES * BLOCKS * PAGES * share)),
                "run": {"timed": False, "precondition": f"random:{OVERWRITES}"},
            }
            for key, share in filled.items()
        }
    )
    return {key: float(found.flash.write_amplification) for key, found in results.items()}


def space_of(gib: float, amplification: float) -> float:
    """The total space, GiB, at which this much written data has this write amplification."""
    return greedy.bisect(
        lambda space: greedy.limit(gib / space, PAGES) - amplification, 1.01 * gib, 4 * gib
    )


def free_fit() -> str:
    """Remark on the other points with constants that match the fitted points exactly."""
    first, last = FITTED
    ratio = CURVE[last] / CURVE[first]

    def excess(space: float) -> float:
        return greedy.limit(last / space, PAGES) / greedy.limit(first / space, PAGES) - ratio

    space = greedy.bisect(excess, 1.01 * last, 2 * last)
    added = CURVE[last] / greedy.limit(last / space, PAGES)

    def missed(gib: float, published: float) -> float:
        return abs(100 * (added * greedy.limit(gib / space, PAGES) / published - 1))

    most = max(missed(*point) for point in CURVE.items())
    return (
        f"Made to meet the first and the last point exactly they are {space:.0f} GiB and "
        f"{added:.3f}; the other points are then met within {most:.1f} %, the PRO within "
        f"{missed(PRO_GIB, PRO):.1f} %."
    )


def _figure(simulated: dict[float, float]) -> Figure:
    published = {**CURVE, PRO_GIB: PRO}
    return Figure(
        "Write amplification of the Micron 7450",
        Axis("GiB written all over", zero=False),
        Axis("write amplification"),
        [
            Series("published", list(published), list(published.values()), mark="dots"),
            Series("simulated", list(simulated), list(simulated.values())),
        ],
    )
