"""Figure 7 of the 2008 paper: gangs under shared control, asynchronous and synchronous."""

from __future__ import annotations

from typing import Any

from ssdlab.charts import Axis, Figure, Series
from ssdlab.paper.baseline import NO_NUMBERS, PACKAGES, TITLES, load
from ssdlab.paper.item import WIDEST, Item, Row
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "Agrawal et al. 2008, Figure 7: shared-control gangs, asynchronous and synchronous"

WIDTHS = (2, 4, 8)
#: Tolerance of "never beats": variations by the summary page and the stripe's start.
LEEWAY = 1.01
#: Ratio to the time without gangs above which a run could not keep up.
LATE = 1.05
#: Tolerance of a gang that shares only commands, against no gang: page placement differs.
NEARLY = 1.15
CLAIM = "synchronous ganging never beats asynchronous"
FAR = "a gang that falls behind makes requests wait the longer the more of them there are"
OWN = "each package with a data path of its own, as in section 3.3, unlike the original's code"


#: Asynchronous, with control pins held for commands only: "parallel operations" of section 3.3.
COMMANDS = "asynchronous, pins held for commands"
FREE = "section 3.3: packages need not wait for each other"


def gang(kind: str, width: int) -> dict[str, Any]:
    """The keys of a gang of `width` packages.

    With "in turn" a logical page has a page of each package, transferred one after the other, as in
    the original simulator's synchronous gangs.
    """
    keys: dict[str, Any] = {"channels": PACKAGES // width, "packages_per_channel": width}
    if kind == "in turn":
        return {**keys, "page_span": width, "logical_page": f"{4 * width}KiB"}
    if kind == COMMANDS:
        return {**keys, "gang": "shared-control-async", "control_line": "command"}
    word = {"asynchronous": "async", "synchronous": "sync"}[kind]
    return {**keys, "gang": f"shared-control-{word}"}


KINDS = ("asynchronous", "synchronous", "in turn")


def run(study: Study) -> Item:
    """Every workload without gangs, and with each kind of every width."""
    experiments: dict[Any, dict[str, Any]] = {(name,): load(study, name) for name in TITLES}
    for name in TITLES:
        for kind in KINDS:
            for width in WIDTHS:
                experiments[name, kind, width] = load(study, name, **gang(kind, width))
        experiments[name, COMMANDS, 8] = load(study, name, **gang(COMMANDS, 8))
    found = study.measure(experiments)
    rows, lines = [], []
    for name, title in TITLES.items():
        alone = found[name,]
        times = {
            kind: [_normalised(found[name, kind, width], alone) for width in WIDTHS]
            for kind in KINDS
        }
        slower = [slow / fast for fast, slow in zip(times[KINDS[0]], times[KINDS[2]], strict=True)]
        for width, ratio, fast, own in zip(
            WIDTHS, slower, *(times[it] for it in KINDS[:2]), strict=True
        ):
            prefix = f"{title}, {width} packages: synchronous"
            rows += [
                Row(f"{prefix}, transfers in turn / asynchronous", None, ratio, note=FAR),
                Row(f"{prefix} / asynchronous", None, own / fast, note=OWN),
            ]
        minimum = f"{title}: the same in turn, the least of all widths"
        widest = WIDEST / LEEWAY
        rows.append(Row(minimum, None, min(slower), note=CLAIM, least=1 / LEEWAY, most=widest))
        free = _normalised(found[name, COMMANDS, 8], alone)
        claim = f"{title}, 8 packages: {COMMANDS} / without gangs"
        rows.append(Row(claim, None, free, note=FREE, least=1 / NEARLY, most=NEARLY))
        lines += [Series(f"{title}, {kind}", WIDTHS, values) for kind, values in times.items()]
    rows += [_late(found, kind) for kind in KINDS[1:]]
    if study.has_trace("iozone"):
        rows.append(_without_erasing(study))
    rows.append(Row("heights of the bars", None, None, note=NO_NUMBERS))
    remarks = [
        "synchronous gangs underperform in the paper because the original simulator's code "
        "transfers the pages of a gang one after the other. With a data path for each package "
        "they do not: they erase all their blocks at once, where an asynchronous gang, of which "
        "all packages wait for the one that erases, does it one after the other.",
    ]
    figure = Figure(
        "Response time by width of the gang", Axis("packages"), Axis("time / without gangs"), lines
    )
    return Item("figure7", "Figure 7: shared-control ganging", rows, [figure], remarks)


def _late(found: dict[Any, Results], kind: str) -> Row:
    """True if a synchronous gang of eight keeps up with IOzone."""
    late = _duration(found, "iozone", kind, WIDTHS[-1])
    name = "IOzone, synchronous, 8 packages"
    if kind == "synchronous":
        return Row(f"{name}: duration / without gangs", None, late, note=OWN)
    claim = "could not keep up: the paper has no bar there"
    name = f"{name}, transfers in turn: duration"
    return Row(name, None, late, note=claim, least=LATE, most=2 * LATE)


def _duration(found: dict[Any, Results], name: str, kind: str, width: int) -> float:
    """Duration relative to no gangs; above 1 if a gang falls behind."""
    return float(found[name, kind, width].simulated_seconds / found[name,].simulated_seconds)


def _without_erasing(study: Study) -> Row:
    """The recorded IOzone on gangs of eight with near-zero erase time."""
    found = study.measure(
        {
            kind: load(study, "iozone", **gang(kind, WIDTHS[-1]), timing={"erase": "1us"})
            for kind in KINDS[:2]
        }
    )
    fast, own = (found[kind].host.all.mean_us for kind in KINDS[:2])
    note = "so what the asynchronous gang loses, it loses by erasing"
    name = "IOzone, 8 packages, erasures of 1 us: synchronous / asynchronous"
    return Row(name, None, own / fast, note=note, least=0.95, most=1.1)


def _normalised(results: Results, alone: Results) -> float:
    return float(results.host.all.mean_us / alone.host.all.mean_us)
