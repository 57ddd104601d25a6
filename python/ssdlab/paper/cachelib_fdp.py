"""FDP drives under CacheLib (Allison et al., EuroSys 2025) and under one stream (WARP, FAST 2026).

All figures use the untimed model of `ssdlab placement`: pages, reclaim units, handles and greedy
garbage collection. One constant per drive, the share of its flash that holds data, is fitted to the
mean of its one-stream passes. The shape of these passes and CacheLib's cache are tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab import _core
from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.derived import FDP_USED
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "CacheLib on FDP drives: write amplification with placement and without"

#: Share of the flash that holds data: of the 7.68 TB drives (and CacheLib's 1.88 TB drive), and of
#: 3.84 TB.
LARGE, SMALL = 0.845, 0.92
#: Pages per reclaim unit: with fewer than 500 requests per unit, write amplification is too low.
UNITS, UNIT_PAGES = 600, 512
#: Measured on the 7.68 TB drive, by tenth of a pass.
TENTHS = (1.00, 2.10, 3.86, 2.82, 2.24, 2.30, 1.93, 1.63, 1.38, 1.11)
RMS = 0.25
#: Shares of small objects in written bytes, and in the cache.
SHARE, SOC = 0.82, 0.04
SEED = 1

RANDOM_MAP = "without norandommap fio writes every block once a pass"


def run(study: Study) -> Item:
    """The passes of one stream, and the cache; `quick` writes the drives less often."""
    passes = 5 if study.quick else 8
    writes = (6.0, 2.0) if study.quick else (10.0, 4.0)
    large, tenths = study.figures("large", _passes(LARGE, passes))
    small, _ = study.figures("small", _passes(SMALL, passes))
    rows = [
        Row("one stream, 7.68 TB, mean of a pass", 2.035, _settled(large), 3, RANDOM_MAP),
        Row("one stream, 3.84 TB, mean of a pass", 3.60, _settled(small), 4, RANDOM_MAP),
        _shape(tenths),
    ]
    rows += _cache(study, writes)
    remarks = [
        "both published values of the full cache without FDP, 3.22 (documentation) and 3.5 "
        "(paper), lie on one transient: write amplification still rises after six drive writes.",
    ]
    title = "CacheLib on FDP drives"
    figure = Figure(
        "Write amplification within a pass, 7.68 TB",
        Axis("share of a pass written, %", zero=False),
        Axis("write amplification"),
        [
            Series("measured", [5 + 10 * at for at in range(10)], TENTHS, mark="dots"),
            Series("simulated", [5 + 10 * at for at in range(10)], tenths),
        ],
    )
    return Item("cachelib-fdp", title, rows, [figure], remarks, (FDP_USED,))


def _passes(use: float, passes: int) -> list[list[float]]:
    return [*map(list, _core.permutation_passes(use, UNIT_PAGES, UNITS, passes, SEED))]


def _settled(passes: Sequence[float]) -> float:
    """The mean of the passes after the first three."""
    return sum(passes[3:]) / len(passes[3:])


def _shape(tenths: Sequence[float]) -> Row:
    squares = sum((a - b) ** 2 for a, b in zip(tenths, TENTHS, strict=True))
    off = (squares / len(tenths)) ** 0.5
    note = f"at most {RMS}: 1.00 at the start of a pass, 3.86 in its third tenth"
    return Row("one stream, 7.68 TB, tenths of a pass, rms off", None, off, note=note, most=RMS)


def _cache(study: Study, writes: tuple[float, float]) -> list[Row]:
    def dlwa(utilisation: float, soc: float, share: float, placed: bool) -> float:
        load = (LARGE, utilisation, soc, share, *writes)
        found, _ = _core.cache_amplification(load, placed, UNIT_PAGES, UNITS, SEED)
        return float(study.figures(f"{utilisation} {soc} {placed}", found))

    greedy = "3.22 in the documentation, after fewer drive writes"
    rows = [
        Row("50 % full, FDP", 1.03, dlwa(0.5, SOC, SHARE, True), 4, "random writes 82 % of bytes"),
        Row("50 % full, without", 1.22, dlwa(0.5, SOC, SHARE, False), 4, "1.3 in the paper"),
        Row("100 % full, FDP", 1.03, dlwa(1.0, SOC, SHARE, True), 4),
        Row("100 % full, without", 3.5, dlwa(1.0, SOC, SHARE, False), 8, greedy),
        Row("100 % full, small objects on 64 %, FDP", 2.5, dlwa(1.0, 0.64, 0.95, True), 10),
    ]
    note = "FDP gains little where small objects take most of the drive"
    gain = dlwa(1.0, 0.64, 0.95, False) / (rows[-1].simulated or 1.0)
    rows.append(Row("the same, without / with", None, gain, note=note, least=1, most=2))
    return rows
