"""All figures of a run, or of several side by side.

A function takes results by name ("" for a single one) and returns a figure, which is empty without
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ssdlab import readable
from ssdlab._core import operations
from ssdlab.charts import Axis, Cells, Figure, Level, Series, Spans
from ssdlab.charts.style import ROLES, RUNS, part_role
from ssdlab.results.records import PARTS, Kind, Record, part_labels
from ssdlab.units import duration

if TYPE_CHECKING:
    from ssdlab.results import Results

#: Results by name, such as "A cleaning.time=blocking".
Named: TypeAlias = "Sequence[tuple[str, Results]]"

#: Minimum start of a latency bin, relative to its end: eight bins of equal width per doubling
#: (`engine/src/stats.rs`).
BIN_START = 8 / 9
#: Minimum number of slower requests; a curve ends below it.
FEWEST_SLOWER = 10
#: Minimum number of requests for percentiles.
FEWEST_REQUESTS = 20
#: Maximum ratio of latencies in a flat curve.
FLAT = 1.25
#: Gap to other curves, as a ratio of latencies, beyond which a flat curve is omitted.
MAX_GAP = 3.0
#: Maximum number of operations with labels.
MAX_TOLD = 2_000
#: Colours of flash operations; other operations have the colour of a busy unit.
OPERATIONS = {
    "read": "bus",
    "program": "cell",
    "merge": "read",
    "move": "cleaning",
    "migrate": "suspend",
    "stream": "buffer",
    "erase": "host_link",
}


def kinds(results: Results) -> list[tuple[str, Kind | Record]]:
    """The kinds of request that occurred, then all of them if there are several."""
    found = results._kinds()
    return found[:1] if len(found) == 2 else found


def letter(name: str) -> str:
    """Short name of a result."""
    return name.partition(" ")[0].rstrip(":")


def run_role(place: int) -> str:
    """Colour of a run, by its position."""
    return RUNS[place] if place < len(RUNS) else "context"


def each(named: Named) -> list[tuple[str, str, Kind | Record]]:
    """Every kind of request of every result: result name, kind, figures."""
    return [(letter(name), kind, host) for name, it in named for kind, host in kinds(it)]


def of_classes(named: Named) -> list[tuple[str, str, Kind | Record]]:
    """Every kind of request of every class of a workload, as `each` for all classes together."""
    return [
        (letter(name), f"{of} {kind}", host)
        for name, it in named
        for of, answers in (it.get("classes") or {}).items()
        for kind, host in answers.items()
        if kind != "all" and host.requests
    ]


def latency(named: Named) -> Figure:
    """Latency by percentile: of each kind of request, or of all requests of several results."""
    if len(named) == 1:
        told = flat(named[0][1])
        visible = [(kind, kind, host) for kind, host in kinds(named[0][1]) if kind not in told]
        # A line per kind; the line of all requests would lie between them.
        visible = visible[:-1] if len(visible) + len(told) > 1 else visible
    else:
        runs = [(name, run_role(n), it) for n, (name, it) in enumerate(named)]
        visible = [(name, role, kinds(it)[-1][1]) for name, role, it in runs if kinds(it)]
    curves = [
        _curve(name, role, host)
        for name, role, host in visible
        # A logarithmic axis excludes zero components.
        if host.requests >= FEWEST_REQUESTS and host.max_us > 0 and "histogram" in host
    ]
    cleaned = [_cleaned(it) for _, it in named]
    levels = [
        Level(f"cleaning one block takes {readable.time(us)}", us) for us in cleaned[:1] if us
    ]
    return Figure(
        "",
        Axis("percentile", percentile=True),
        Axis("latency", log=10, unit="us"),
        [*curves, *levels] if curves else [],
    )


def flat(it: Results) -> dict[str, str]:
    """Kinds of requests with a flat curve far below the others, with a sentence that replaces it.

    The curve would take a large part of the plot.
    """
    found = [(kind, host) for kind, host in kinds(it) if kind != "all" and host.requests]
    found = [(kind, host) for kind, host in found if host.min_us > 0]
    flat_ones = [(kind, host) for kind, host in found if host.max_us < FLAT * host.min_us]
    lowest = min((host.min_us for kind, host in found if (kind, host) not in flat_ones), default=0)
    return {
        kind: f"{kind}: {readable.time(host.min_us)} to {readable.time(host.max_us)}, not drawn"
        for kind, host in flat_ones
        if MAX_GAP * host.max_us < lowest
    }


def _cleaned(it: Results) -> float | None:
    """Time to clean a block, if within the scale of the requests."""
    us: float | None = ((it.get("flash") or {}).get("cleaning") or {}).get("mean_block_us")
    total = it.host.all
    return us if us and total.requests and total.min_us <= us <= 3 * total.max_us else None


def _curve(name: str, role: str, host: Kind | Record) -> Series:
    """Latency by percentile, in ascending order."""
    shares, below, done = [0.0], [host.min_us], 0
    for bound, number in zip(host.histogram.below_us, host.histogram.requests, strict=True):
        # The histogram omits empty bins: over them the curve is vertical.
        if bound * BIN_START > below[-1]:
            below.append(bound * BIN_START)
            shares.append(done / host.requests)
        done += number
        # The maximum latency bounds the last bin.
        below.append(min(bound, host.max_us))
        shares.append(done / host.requests)
    end = 1 - FEWEST_SLOWER / host.requests
    stored = [n for n, share in enumerate(shares) if share <= end and below[n] > 0]
    after = next((n for n, share in enumerate(shares) if share > end), None)
    x, y = [shares[n] for n in stored], [below[n] for n in stored]
    if after is not None and below[after] > 0:
        part = (end - shares[after - 1]) / (shares[after] - shares[after - 1])
        x.append(end)
        y.append(below[after - 1] + part * (below[after] - below[after - 1]))
    return Series(name, x, y, role=role if role in ROLES else "")


def breakdown(named: Named) -> Figure:
    """Mean latency by component: of each kind of request, or of all of several results."""
    found = [
        (f"{name} {kind}".strip() if len(named) == 1 else letter(name), host)
        for name, it in named
        for kind, host in (kinds(it) if len(named) == 1 else kinds(it)[-1:])
        if host.requests
    ]
    words = [word for word, _ in found]
    return Figure(
        "",
        Axis(words=words, notes=[readable.time(host.mean_us) for _, host in found]),
        Axis("mean latency, us"),
        _parts(
            words, [host.breakdown_us for _, host in found], part_labels([it for _, it in named])
        ),
        stacked=True,
        horizontal=True,
    )


def _parts(words: Sequence[str], rows: Sequence[Record], labels: Mapping[str, str]) -> list[Series]:
    """Latency components as stacked bars."""
    return [
        Series(label, words, [row.get(part) or 0.0 for row in rows], "bars", role=part_role(part))
        for part, label in labels.items()
        if words
    ]


#: Names of the bands of requests, by first rank.
BANDS = {
    0.0: "up to p50",
    0.5: "p50 to p90",
    0.9: "p90 to p99",
    0.99: "p99 to p99.9",
    0.999: "above p99.9",
}


def band_name(row: Record) -> str:
    """Name of a band of requests by rank."""
    return BANDS.get(row.from_share, f"from {row.from_share:.4g}")


def bands(host: Kind | Record, name: str = "", labels: Mapping[str, str] | None = None) -> Figure:
    """Time by component and rank of the request, each band as 100 %; needs `host.bands`.

    Empty for few requests.
    """
    many = host.requests >= FEWEST_REQUESTS
    rows = [row for row in host.get("bands") or [] if row.requests and many]
    words = [*map(band_name, rows)]
    shares = [
        Record({part: 100 * us / (row.mean_us or 1) for part, us in row.breakdown_us.items()})
        for row in rows
    ]
    return Figure(
        name,
        Axis(
            words=words,
            # A band within one histogram bin has the bin's mean.
            notes=[readable.time(min(max(r.mean_us, r.from_us), r.to_us)) for r in rows],
            below=[f"{readable.time(row.from_us)} to {readable.time(row.to_us)}" for row in rows],
        ),
        Axis("share of the mean latency, %", low=0, high=100),
        _parts(words, shares, labels or PARTS),
        stacked=True,
        horizontal=True,
    )


def units(results: Results, most: int | None = None) -> Figure:
    """Share of time that each unit serves requests and cleans, for the `most` busiest units."""
    visible = [*(results.get("units") or [])]
    if most is not None and len(visible) > most:
        visible = sorted(visible, key=lambda unit: -unit.busy)[:most]
    names, notes = [unit.name for unit in visible], []
    cleaning = [100 * (unit.get("cleaning") or 0.0) for unit in visible]
    serving = [max(100 * u.busy - share, 0.0) for u, share in zip(visible, cleaning, strict=True)]
    idle = [max(100 * (1 - unit.busy), 0.0) for unit in visible]
    for unit in visible:
        queue = unit.get("queue_mean")
        notes.append(readable.ABSENT if queue is None else f"queue {readable.grouped(queue)}")
    bars = [
        Series("cleaning", names, cleaning, "bars", role="cleaning"),
        Series("serving requests", names, serving, "bars", role="cell"),
        Series("idle", names, idle, "bars", role="idle"),
    ]
    return Figure(
        "",
        Axis(words=names, notes=notes),
        Axis("busy, %", low=0, high=100),
        bars if visible else [],
        stacked=True,
    )


def timeline(results: Results, lanes: int | None = None, most: int | None = None) -> Figure:
    """Recorded flash operations, on the busiest lanes, up to a limit."""
    recorded = results.timeline.to_dict()
    found = recorded["operations"]
    columns = (found[key] for key in ("lane", "kind", "start_ns", "end_ns", "bus_ns"))
    every = [*zip(*columns, strict=True)]
    names = recorded["lanes"]
    stored = _busiest(every, len(names), len(names) if lanes is None else lanes)
    position = {lane: row for row, lane in enumerate(stored)}
    visible = [operation for operation in every if operation[0] in position][:most]
    begin = recorded["from_ns"]
    last = max((operation[3] for operation in visible), default=recorded["to_ns"])
    end = max(min(recorded["to_ns"], last), begin + 1)
    spans = []
    for kind in operations():
        mine = [operation for operation in visible if operation[1] == kind]
        if not mine:
            continue
        message = (
            [_tooltip(names[lane], *remainder) for lane, *remainder in mine]
            if len(visible) <= MAX_TOLD
            else []
        )
        spans.append(
            Spans(
                kind,
                [position[lane] for lane, *_ in mine],
                [start / 1e3 for _, _, start, _, _ in mine],
                [stop / 1e3 for _, _, _, stop, _ in mine],
                message,
                role=OPERATIONS.get(kind, "unit"),
            )
        )
    return Figure(
        "Flash operations over simulated time",
        Axis("simulated time, us", low=begin / 1e3, high=end / 1e3),
        Axis(words=[names[lane] for lane in stored]),
        spans,
    )


def _busiest(every: Sequence[tuple[Any, ...]], lanes: int, most: int) -> list[int]:
    """The lanes with the most operations, in lane order."""
    counts = [0] * lanes
    for operation in every:
        counts[operation[0]] += 1
    return sorted(sorted(range(lanes), key=lambda lane: -counts[lane])[:most])


def _tooltip(lane: str, kind: str, start: int, stop: int, bus: int) -> str:
    took = f"{duration((stop - start) / 1e3, 4)}, {duration(bus / 1e3, 4)} for the bus"
    return f"{kind}, {lane}, at {start / 1e3:,.10g} us: {took}"


def wear(name: str, results: Results) -> Figure:
    """Erase counts of the blocks, by position."""
    rows = [row.to_dict() for row in (results.get("wear") or {}).get("map") or []]
    worn = any(mean for row in rows for mean in row["mean_erases"])
    blocks = rows[0]["blocks_per_cell"] if rows else 1
    a_cell = "a block" if blocks == 1 else f"mean of {blocks} consecutive blocks"
    cells = Cells("erases", [row["mean_erases"] for row in rows], caption=f"{a_cell} a cell")
    return Figure(
        f"Erase count by position{f', {name}' if name else ''}",
        Axis("place"),
        Axis(words=[row["name"] for row in rows]),
        [cells] if worn else [],
    )


def erasures(results: Results) -> Figure:
    """Histogram of blocks by erase count; needs `wear.blocks_by_erases`."""
    found = (results.get("wear") or {}).get("blocks_by_erases")
    if not found or len(found["blocks"]) < 2:
        return Figure("", Axis(), Axis())
    words = [f"{low}" if low == high else f"{low}-{high}" for low, high in found["erases"]]
    return Figure(
        "",
        Axis("erase count of a block", words=words),
        Axis(unit="count"),
        [Series("", words, [float(blocks) for blocks in found["blocks"]], "bars", role="cell")],
    )


def placement(results: Results) -> Figure:
    """Write amplification over host bytes written, for a drive with placement handles."""
    curve = (results.get("fdp") or {}).get("write_amplification_curve") or []
    if len(curve) < 2:
        return Figure("", Axis(), Axis())
    at = [point["capacities"] for point in curve]
    line = Series("", at, [point["write_amplification"] for point in curve], role="cell")
    return Figure("", Axis("capacities written"), Axis("write amplification"), [line])
