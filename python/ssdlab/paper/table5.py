"""Table 5 of the 2008 paper: number of blocks cleaned, time per block, and efficiency."""

from __future__ import annotations

from typing import Any

from ssdlab.paper.baseline import PACKAGES, load
from ssdlab.paper.derived import IOZONE, POSTMARK, TPCC_SKEWED
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Agrawal et al. 2008, Table 5: cleaning frequency and efficiency"

#: Blocks cleaned in a package, mean time to clean one in ms, cleaning efficiency in percent.
PUBLISHED = {
    "TPC-C, inter-plane": (114, 9.65, 70),
    "TPC-C, copy-back": (108, 5.85, 70),
    "IOzone": (101_170, 1.5, 100),
    "Postmark": (2_693, 1.5, 100),
}
#: Number of requests for IOzone to write 6.37 M pages per package beyond the spare ones.
IOZONE_REQUESTS = 588_800
#: Length of the paper's trace, in repetitions of the recorded 100,000 requests.
LOOPS = 6
#: Constants of generated workloads that a trace can replace.
GENERATED = {"iozone": IOZONE, "postmark": POSTMARK}
REPLAYED = f"the public trace, the first sixth of the paper's, {LOOPS} times"
CUT = "the trace is replayed once"
OWN_PLANES = "more, not fewer: each plane is kept 5 % free by itself, rounded down"


def run(study: Study) -> Item:
    """The four workloads that cause cleaning, and TPC-C with uniform requests."""
    full = {"preset": "agrawal2008"}
    skewed, uniform = study.workload("tpcc-skewed"), study.workload("tpcc")
    found = study.measure(
        {
            "TPC-C, inter-plane": {"device": full, "workload": skewed},
            "TPC-C, copy-back": {
                "device": full | {"cleaning": {"copy_back": True}},
                "workload": skewed,
            },
            "IOzone": _iozone(study),
            "Postmark": load(study, "postmark", whole=True),
            "uniform": {"device": full, "workload": uniform},
        }
    )
    recorded = study.has_trace("iozone")
    rows = []
    for name, (count, ms, percent) in PUBLISHED.items():
        cleaning = found[name].flash.cleaning
        scale, note = _scale(study, name)
        rows += [
            Row(
                f"{name}: blocks cleaned in a package",
                count,
                scale * cleaning.blocks_cleaned / PACKAGES,
                5,
                note,
                missed=OWN_PLANES if name == "TPC-C, copy-back" else "",
                unjudged=CUT if study.quick and name == "IOzone" and recorded else "",
            ),
            Row(f"{name}: time to clean a block, ms", ms, cleaning.mean_block_us / 1000, 2),
            Row(f"{name}: cleaning efficiency, %", percent, 100 * cleaning.efficiency, 2),
        ]
    saved = 1 - _ms(found["TPC-C, copy-back"]) / _ms(found["TPC-C, inter-plane"])
    rows.append(Row("TPC-C: cleaning time that copy-back saves, %", 40, 100 * saved, 5))
    even = found["uniform"].flash.cleaning
    rows += [
        Row("TPC-C with uniform requests: blocks cleaned", None, even.blocks_cleaned / PACKAGES),
        Row("TPC-C with uniform requests: ms to clean a block", None, even.mean_block_us / 1000),
        Row("TPC-C with uniform requests: efficiency, %", None, 100 * even.efficiency),
    ]
    remarks = [
        "the paper contradicts itself: slide 52 has TPC-C's requests uniform over the drive, which "
        "leaves a fifth of the first cleaned blocks superseded and not the 70 % of this table. The "
        "rows above are from a skewed workload (80 % of the requests to 11 % of the drive), chosen "
        "to meet 70 %; the number of blocks and the times follow.",
        "425 us for a page moved between planes counts 100 us for each transfer; with the spare "
        "area it is 436 us, and the summary page adds 3 us.",
    ]
    generated = [it for name, it in GENERATED.items() if not study.has_trace(name)]
    title = "Table 5: cleaning frequency and efficiency"
    derived = (TPCC_SKEWED, *generated)
    return Item("table5", title, rows, remarks=remarks, derived=derived)


def _iozone(study: Study) -> dict[str, Any]:
    """IOzone at the paper's length; in a quick study its recorded part."""
    experiment = load(study, "iozone", IOZONE_REQUESTS, whole=True)
    if study.has_trace("iozone") and not study.quick:
        experiment["workload"]["loops"] = LOOPS
    return experiment


def _ms(results: Results) -> float:
    return float(results.flash.cleaning.mean_block_us) / 1000


def _scale(study: Study, name: str) -> tuple[int, str]:
    """Factor of the blocks cleaned, and its reason."""
    if name == "IOzone" and study.has_trace("iozone"):
        return 1, REPLAYED
    if name == "Postmark" and study.has_trace("postmark"):
        return 1, ""
    if study.quick and not name.startswith("TPC-C"):
        return 8, "an eighth of the drive and of the requests, times eight"
    return 1, ""
