"""The metric to improve: the requested one, or the worst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ssdlab import lifetime, market, readable, under_load
from ssdlab._core import InputError
from ssdlab.costing import bill, of_results
from ssdlab.costing.need import Need
from ssdlab.costing.prices import Prices
from ssdlab.results import Results
from ssdlab.results.facts import Facts
from ssdlab.sweeps import table
from ssdlab.units import plural

#: The words of `--for`, besides names of metrics.
WORDS = ("p99", "mean", "throughput", "tbw", "cost", "watts")
#: Minimum number of requests of a kind for a p99.
FEWEST = 200
#: Ratio of p99 to the fastest request above which p99 is the goal.
SLOW = 3.0
#: Utilisation above which units are at their limit.
FULL = 0.85


@dataclass(frozen=True)
class Metric:
    """A metric of results, and True if more is better.

    `column` names it for `ssdlab compare`, None if that lacks it; `why` has the reason for an
    automatic choice.
    """

    name: str
    column: str | None
    maximize: bool
    value: Callable[[Results], float | None]
    said: Callable[[float], str]
    why: str = ""


def of_word(word: str, base: Results) -> Metric:
    """The metric of `--for`: a word, or a metric as for `ssdlab sweep --minimize`.

    Raises `InputError` if the results lack it.
    """
    kind = slowest(base)
    if word in ("p99", "mean"):
        ending = "percentiles_us.99" if word == "p99" else "mean_us"
        return figure(f"host.{kind}.{ending}")
    if word == "throughput":
        return figure("host.all.iops", maximize=True)
    if word == "tbw":
        found = lifetime.of(base)
        if found is None or not found.known:
            reason = "this device does not wear" if found is None else found.why_not
            raise InputError(
                f"--for tbw: the lifetime is unknown in this run: {reason}; a longer run tells it, "
                "or --for write_amplification_bytes"
            )
        return Metric("TBW", "wear.lifetime.host_bytes", True, _life, readable.traffic)
    if word == "watts":
        return _power(base)
    if word == "cost":
        return _cost(base)
    known = table.flat(base.to_dict())
    numbers = [name for name, value in known.items() if isinstance(value, int | float)]
    try:
        column = table.find(word, numbers, f"--for {word}")
    except InputError as error:
        raise InputError(f"{error}; or one of {', '.join(WORDS)}") from None
    return figure(column, maximize=_is_better_large(column))


def _power(base: Results) -> Metric:
    """Power by the energy model, else by the catalogue and die utilisation."""
    if (base.get("energy") or {}).get("mean_watts"):
        power = figure("energy.mean_watts").value
        return Metric("power", "energy.mean_watts", False, power, readable.watts)

    row = market.of_title(str(base.experiment.get("title")))
    found = under_load.watts([base], row)
    if found.value is None:
        raise InputError(f"--for watts: {found.origin}; give keys of device.energy")

    def by_catalogue(results: Results) -> float | None:
        return under_load.watts([results], row).value

    why = f"by the catalogue: {found.origin}"
    return Metric("power", None, False, by_catalogue, readable.watts, why)


def worst(base: Results) -> Metric:
    """The worst metric of a run: throughput, the p99 of a kind of request, or lifetime."""
    facts = Facts(base)
    if facts.overloaded:
        stated = "requests arrive faster than the drive answers"
        return _because(figure("host.all.iops", maximize=True), stated)
    busy = max(facts.busiest, facts.link or 0.0)
    kind = slowest(base)
    times = tail(base, kind)
    if facts.outstanding is not None and busy > FULL:
        stated = f"the host waits for the drive, which is {readable.about(busy)} busy"
        return _because(figure("host.all.iops", maximize=True), stated)
    of_kind = "all requests" if kind == "all" else plural(kind)
    stated = f"{readable.grouped(times)} times the fastest of the {of_kind}"
    stated += ": nothing hurts much" if times < SLOW else ""
    return _because(figure(f"host.{kind}.percentiles_us.99"), stated)


def slowest(base: Results) -> str:
    """The kind of request whose p99 is furthest above its fastest request."""
    kinds = [it for it in ("read", "write") if (base.host[it].requests or 0) >= FEWEST]
    return max(kinds, key=lambda kind: tail(base, kind), default="all")


def tail(base: Results, kind: str) -> float:
    """p99 of a kind of request, over its fastest request."""
    host = base.host[kind]
    p99 = (host.percentiles_us or {}).get("99")
    return float(p99) / max(float(host.min_us), 1e-3) if p99 and host.min_us is not None else 1.0


def figure(column: str, maximize: bool = False) -> Metric:
    """The metric of a column of the results, named as in a sweep's table."""

    def value(results: Results) -> float | None:
        found = table.flat(results.to_dict()).get(column)
        return float(found) if isinstance(found, int | float) else None

    def said(number: float) -> str:
        if table.is_time(column):
            return readable.time(number)
        return readable.rate(number) if column.endswith("iops") else readable.grouped(number)

    return Metric(spoken(column), column, maximize, value, said)


def spoken(column: str) -> str:
    """Display name of a column.

    >>> spoken("host.read.percentiles_us.99"), spoken("host.all.iops")
    ('p99 of reads', 'throughput')
    """
    if column == "host.all.iops":
        return "throughput"
    parts = column.split(".", 2)
    if parts[0] == "host" and len(parts) == 3:
        said = parts[2].replace("percentiles_us.", "p").removesuffix("_us")
        return f"{said} of {'all requests' if parts[1] == 'all' else parts[1] + 's'}"
    return table.spoken(column)


def _is_better_large(column: str) -> bool:
    return column.endswith(("iops", "mb_per_s", "efficiency", "requests", "host_bytes"))


def _because(metric: Metric, why: str) -> Metric:
    return Metric(metric.name, metric.column, metric.maximize, metric.value, metric.said, why)


def _life(results: Results) -> float | None:
    found = under_load.writable([results])
    return found.value if found.kind == under_load.SIMULATED else None


def _cost(base: Results) -> Metric:
    """Cost of the drives for the throughput of one drive in `base`."""
    design = of_results("the experiment", base.to_dict(), Prices())
    need = Need({"iops": design.iops, "gb": design.gigabytes}, {})
    try:
        bill(design, need)
    except InputError as error:
        missing = str(error).partition(". Give")[0].partition(": ")[2]
        row = market.of_title(design.title)
        key = "capacity_dollars_per_gb=0.1"
        if row is not None and row.price is not None:
            key = f"device_dollars={row.price:g}, the catalogue's price, {row.said}"
        raise InputError(
            f"--for cost: {missing}; give [cost] in the experiment, such as --set cost.{key}"
        ) from None

    def dollars(results: Results) -> float | None:
        one = of_results("the experiment", results.to_dict(), design.prices)
        drives = max(design.iops / one.iops, design.gigabytes / one.gigabytes)
        return bill(one, need).dollars / bill(one, need).drives * drives

    why = "; ".join(design.by_catalogue)
    return Metric("cost", None, False, dollars, lambda it: f"${readable.grouped(it)}", why)
