"""Figure 2 of Gray and Fitzgerald's article, for two write-gathering drives of the time, and the
article's conclusions: the mix of TPC-C, the write cache, and "a little intelligence".

Their curves are a picture; the claims of the text are judged on whole curves of `samsung-2007` and
`mtron`, at QD1 and QD4. The better drive follows the design that the article cites (Birrell et al.
2005): a page map in non-volatile memory, and a block buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.derived import MTRON, SAMSUNG_2007
from ssdlab.paper.gray import ENGINEERED, FILE, USED, harmonic_mean
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Gray and Fitzgerald 2008, Figure 2: curves of two drives, the mix, a better controller"

DRIVES = ("samsung-2007", "mtron")
PATTERNS = {
    "sequential read": (1.0, 0.0),
    "random read": (1.0, 1.0),
    "sequential write": (0.0, 0.0),
    "random write": (0.0, 1.0),
}
BLOCK_BYTES = [512 << power for power in range(12)]
DEPTHS = (1, 4)
#: Sizes in the table; the figures have all.
SHOWN = (512, 8192, 131_072, 1_048_576)
#: "Sequential throughput plateaus": maximum speed ratio of larger requests.
PLATEAU, BEYOND = 131_072, 1.08
#: Tolerance of the simulated drive's rates against the article's, percent.
FIT = 15.0
#: Tolerance of the gain by queue depth, which is 5 %.
DEPTH, ONE_AT_A_TIME = 2.0, "samsung-2007 takes one request at a time, whatever is outstanding"
#: A buffer at least as large as the overwritten range takes all writes.
FITS = "4MiB"
#: Flash, link and firmware of `samsung-2007`, with a non-volatile page map.
BETTER: dict[str, Any] = {
    "preset": "agrawal2008",
    "blocks_per_plane": 1024,
    "summary_page": False,
    "spare_factor": 0.05,
    "timing": {"bus_per_byte": "10ns", "program": "430us", "erase": "2ms"},
    "firmware": {"read": "144us", "write": "600us"},
    "host_link": {"bandwidth": "56MB/s", "queue_depth": 1},
    "cleaning": {"time": "interleaved", "min_free": 0.01},
    "block_buffer": {
        "size": "8MiB",
        "block": "256KiB",
        "read_ahead": "1MiB",
        "page_padding": False,
        "flushes": 1,
    },
    "persistence": {"recovery": "nvram", "map_write": "2us"},
}

Point = tuple[str, str, int, int]


def run(study: Study) -> Item:
    """The curves of both drives, and the drives that the article proposes."""
    points = [
        (drive, pattern, depth, size)
        for drive in DRIVES
        for pattern in PATTERNS
        for depth in DEPTHS
        for size in BLOCK_BYTES
    ]
    found = study.measure({point: _experiment(study, *point) for point in points})
    others = study.measure(_others(study))
    rates = {point: results.host.all.iops for point, results in found.items()}
    rows = [row for drive in DRIVES for row in _shape(drive, rates)]
    rows += [*_chain(rates, others), *_cache(rates, others), *_better(others)]
    for drive in DRIVES:
        rows += _table(drive, rates)
    remarks = [
        "the picture has no numbers; the rows above compare the numbers of its text, and ssdlab "
        "paper gray all others of the article.",
        "the better drive has the cells, link and firmware of samsung-2007; only map and buffer "
        "differ.",
    ]
    title = "Gray and Fitzgerald 2008, Figure 2: curves of two drives, and better ones"
    figures = [_figure(drive, rates) for drive in DRIVES]
    return Item("flashdisk", title, rows, figures, remarks, (SAMSUNG_2007, MTRON))


def _shape(drive: str, rates: Mapping[Point, float]) -> list[Row]:
    """Claims of the text about the curves."""
    rows = []
    for pattern in ("sequential read", "sequential write"):
        at = {size: rates[drive, pattern, 4, size] * size for size in BLOCK_BYTES}
        beyond = max(at[it] for it in BLOCK_BYTES if it >= PLATEAU) / at[PLATEAU]
        note = '"plateaus beyond 128-KB requests"'
        name = f"{drive}: {pattern}s, the fastest from 128 KiB on / those of 128 KiB"
        rows.append(Row(name, None, beyond, note=note, least=1, most=BEYOND))
    reads, writes = (rates[drive, pattern, 4, 8192] for pattern in ("random read", "random write"))
    note = '"spectacular" reads and "disappointing" writes: 2,804 and 27'
    name = f"{drive}: random reads / random writes of 8 KiB"
    rows.append(Row(name, None, reads / writes, note=note, least=40, most=40 * WIDEST))
    ordered, random = (
        rates[drive, pattern, 4, 8192] for pattern in ("sequential write", "random write")
    )
    note = "1,233 and 27: writes in sequence gather"
    name = f"{drive}: writes in sequence / random writes of 8 KiB"
    rows.append(Row(name, None, ordered / random, note=note, least=25, most=25 * WIDEST))
    return rows


def _chain(rates: Mapping[Point, float], others: Mapping[str, Results]) -> list[Row]:
    """The mix of TPC-C, computed from the simulated drive's rates as in the article."""
    rows, mixes = [], {}
    for depth, published, fit in ((4, 1_713, FIT), (1, 1_624, None)):
        reads = rates["samsung-2007", "random read", depth, 8192]
        writes = rates["samsung-2007", "sequential write", depth, 8192]
        note = f"of {reads:,.0f} random reads and {writes:,.0f} writes in sequence, both simulated"
        name = f"mix of TPC-C by harmonic mean, {depth} deep, requests/s"
        mixes[depth] = harmonic_mean(reads, writes)
        rows.append(Row(name, published, mixes[depth], fit, note))
    name = "the same, 1 deep / 4 deep"
    rows.append(Row(name, 1_624 / 1_713, mixes[1] / mixes[4], DEPTH, missed=ONE_AT_A_TIME))
    mixed = others["mix of both"].host.all.iops
    note = "reads at random and writes in sequence in turn, on one drive"
    rows.append(Row("mix of TPC-C, both at once, requests/s", 1_713, mixed, FIT, note))
    return rows


def _cache(rates: Mapping[Point, float], others: Mapping[str, Results]) -> list[Row]:
    """The write cache: useless for random writes unless their range fits into it."""
    off = rates["samsung-2007", "random write", 4, 8192]
    large, fits = (others[it].host.all.iops for it in ("larger cache", "writes that fit"))
    never = '"I could never get good write performance": a cache only delays the rewriting'
    return [
        Row(
            "random writes, a cache of 64 MiB / of 8 MiB",
            None,
            large / off,
            note=never,
            least=0.5,
            most=2,
        ),
        Row(
            f"random writes within {FITS} / within the file",
            None,
            fits / off,
            note="data overwritten in the cache are not programmed",
        ),
    ]


def _better(others: Mapping[str, Results]) -> list[Row]:
    """A little intelligence: the article's expectations of reengineering, simulated."""
    reads, writes = (others[it].host.all.iops for it in ("better reads", "better writes"))
    ordered = others["better writes in sequence"].host.all.iops
    design = "a map of pages in non-volatile memory, and a block buffer"
    like = '"performance comparable to ... sequential writes"'
    return [
        Row("better controller: random reads/s", ENGINEERED[0], reads, FIT, "about 3,000"),
        Row(
            "better controller: random writes/s",
            ENGINEERED[1],
            writes,
            FIT,
            design,
            missed="as fast as the drive's link and firmware take writes in sequence; the article "
            "estimates less",
        ),
        Row(
            "better controller: random writes / writes in sequence",
            None,
            writes / ordered,
            note=like,
            least=0.7,
            most=1 / 0.7,
        ),
        Row(
            "better controller: mix by harmonic mean, requests/s",
            harmonic_mean(*ENGINEERED),
            harmonic_mean(reads, writes),
            FIT,
            "published: of 3,000 and 1,100",
        ),
    ]


def _table(drive: str, rates: Mapping[Point, float]) -> list[Row]:
    """Points of the curves, four deep."""
    return [
        Row(
            f"{drive}: {pattern}s of {_named(size)}, requests/s",
            None,
            rates[drive, pattern, 4, size],
        )
        for pattern in PATTERNS
        for size in SHOWN
    ]


def _named(size: int) -> str:
    return f"{size} B" if size < 1024 else f"{size // 1024} KiB"


def _figure(drive: str, rates: Mapping[Point, float]) -> Figure:
    sizes = [size / 1024 for size in BLOCK_BYTES]
    series = [
        Series(
            f"{pattern}, {depth} deep",
            sizes,
            [rates[drive, pattern, depth, size] * size / 1e6 for size in BLOCK_BYTES],
        )
        for pattern in PATTERNS
        for depth in DEPTHS
    ]
    axes = Axis("request, KiB", log=2), Axis("MB/s", log=10)
    return Figure(f"{drive}: throughput by size of a request", *axes, series)


def _experiment(study: Study, drive: str, pattern: str, depth: int, size: int) -> dict[str, Any]:
    """A point: enough bytes to fill the buffer several times, and a minimum number of requests."""
    read_share, random_share = PATTERNS[pattern]
    slow = pattern == "random write"
    # A random write takes 30 ms or more, whatever its size.
    wanted = 1_000 if slow else max(600, min(20_000, (64 << 20) // size))
    return _load(
        {"preset": drive},
        read_share,
        random_share,
        f"{size}B",
        depth,
        max(200, wanted // 3) if study.quick else wanted,
    )


def _load(
    device: Mapping[str, Any],
    read_share: float,
    random_share: float,
    size: str,
    depth: int,
    requests: int,
    footprint: str = FILE,
) -> dict[str, Any]:
    workload = {
        "kind": "closed",
        "read_share": read_share,
        "random_share": random_share,
        "block_size": size,
        "outstanding": depth,
        "requests": requests,
        "footprint": footprint,
    }
    return {"device": dict(device), "workload": workload, "run": USED}


def _others(study: Study) -> dict[str, dict[str, Any]]:
    """The mix, the caches and the better drive."""
    part = 4 if study.quick else 1
    samsung = {"preset": "samsung-2007"}
    large = {**samsung, "block_buffer": {"size": "64MiB"}}
    streams = [
        {
            "kind": "closed",
            "read_share": share,
            "random_share": share,
            "block_size": "8KiB",
            "outstanding": 2,
            "requests": 10_000 // part,
            "footprint": FILE,
        }
        for share in (1.0, 0.0)
    ]
    mix = {"kind": "mix", "streams": streams}
    return {
        "mix of both": {"device": samsung, "workload": mix, "run": USED},
        "larger cache": _load(large, 0.0, 1.0, "8KiB", 4, 4_000),
        "writes that fit": _load(samsung, 0.0, 1.0, "8KiB", 4, 4_000, FITS),
        "better reads": _load(BETTER, 1.0, 1.0, "8KiB", 4, 8_000 // part),
        "better writes": _load(BETTER, 0.0, 1.0, "8KiB", 4, 30_000),
        "better writes in sequence": _load(BETTER, 0.0, 0.0, "8KiB", 4, 20_000 // part),
    }
