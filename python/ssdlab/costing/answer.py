"""Costs of several designs for one need: the answer of `ssdlab cost`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import arrow
from ssdlab._core import InputError
from ssdlab.costing import Bill, Design, bill, cheapest, front, of_results, refuse_unknown
from ssdlab.costing import need as needs
from ssdlab.costing.need import Need
from ssdlab.costing.prices import KEYS, Prices, from_options
from ssdlab.results import FILE, Results
from ssdlab.sweeps.result import Sweep

#: Extensions of sweep files and tables.
OF_SWEEPS = (".jsonl", ".parquet", ".csv")
Source = Results | Sweep | str | os.PathLike[str]


@dataclass(frozen=True)
class Costs(arrow.Table):
    """Costs of each design, in the order given."""

    ROWS = "designs"

    need: Need
    bills: Sequence[Bill]
    against: str
    """The latency of the Pareto front."""
    on_front: Sequence[bool]
    """True for bills on the Pareto front of dollars and that latency."""

    @property
    def cheapest(self) -> Bill | None:
        """The cheapest bill that meets the need; None if none does."""
        return cheapest(self.bills, self.against)

    @property
    def pareto(self) -> list[Bill]:
        """The bills on the front."""
        return [it for it, is_on in zip(self.bills, self.on_front, strict=True) if is_on]

    def __repr__(self) -> str:
        best = self.cheapest
        said = "none meets the need" if best is None else f"{best.design.name} ${best.dollars:,.0f}"
        return f"<Costs: {len(self.bills)} designs, cheapest {said}>"

    def to_dict(self) -> dict[str, Any]:
        """The costs in the form of `ssdlab cost --json`."""
        minimum = self.cheapest
        rows = zip(self.bills, self.on_front, strict=True)
        return {
            "need": self.need.to_dict(),
            "designs": [it.to_dict() | {"pareto": is_on} for it, is_on in rows],
            "cheapest": None if minimum is None else minimum.design.name,
            "pareto": [it.design.name for it in self.pareto],
        }


def cost(
    results: Source | Sequence[Source],
    need: str | Mapping[str, float | str] = "",
    *,
    against: str | None = None,
    memory_dollars_per_gib: float | None = None,
    **prices: float,
) -> Costs:
    """Calculate the cost of meeting a need with the devices of results; nothing is simulated.

    `results` are `Results`, a `Sweep` or their files, one or several; each point of a sweep is a
    design. `need` is a text such as "iops=18000,p99=20ms" or a mapping of such names; without it
    one device is bought. `prices` are the keys of `[cost]` in an experiment, such as
    `device_dollars` and `years`, and override prices of the results. `against` is the latency of
    the Pareto front, by default the first one needed, or p99. With `memory_dollars_per_gib` each
    bill has the break-even interval of the five-minute rule. Raises `InputError` for wrong input
    and for a missing price.

    >>> costs = ssdlab.cost("out", "iops=50000", device_dollars=600)  # doctest: +SKIP
    >>> costs.cheapest.dollars  # doctest: +SKIP
    """
    texts: tuple[str, ...] = (need,) if isinstance(need, str) and need else ()
    if not isinstance(need, str):
        texts = tuple(f"{name}={value}" for name, value in need.items())
    if unknown := [key for key in prices if key not in KEYS]:
        raise InputError(f"{unknown[0]}: no price is called so; prices: {', '.join(KEYS)}")
    if isinstance(results, str | os.PathLike | Results | Sweep):
        results = [results]
    return calculate(results, needs.parse(texts), from_options(prices), against,
                     memory_dollars_per_gib)  # fmt: skip


def calculate(
    sources: Sequence[Source],
    need: Need,
    prices: Prices,
    against: str | None,
    memory_dollars_per_gib: float | None,
) -> Costs:
    """Costs for parsed values; errors name the options of the command."""
    dollars = memory_dollars_per_gib
    if dollars is not None and not 0 < dollars < float("inf"):
        raise InputError(f"--five-minute {dollars:g}: a price of memory is above 0")
    if against is not None and not needs.is_latency(against):
        raise InputError(f"--against {against}: the latencies are {', '.join(needs.LATENCIES)}")
    latency = against or next(iter(need.latencies_us), "p99")
    designs = [it for number, source in enumerate(sources) for it in _of(source, number, prices)]
    if not designs:
        raise InputError("there are no results to calculate with")
    bills = [bill(design, need, dollars) for design in designs]
    refuse_unknown(bills)
    return Costs(need, bills, latency, front(bills, latency))


def _of(source: Source, number: int, prices: Prices) -> list[Design]:
    """All designs of a source, with distinct names."""
    if isinstance(source, Results):
        return [of_results(f"results {number + 1}", source.to_dict(), prices)]
    if isinstance(source, Sweep):
        return _of_sweep(source, f"sweep {number + 1}", prices)
    path = Path(source)
    if path.suffix in OF_SWEEPS:
        return _of_sweep(Sweep.load(path), str(path), prices)
    name = str(path.parent if path.name == FILE and path.parent.name else path)
    return [of_results(name, Results.load(path).to_dict(), prices)]


def _of_sweep(sweep: Sweep, called: str, prices: Prices) -> list[Design]:
    designs = []
    for point in sweep:
        if (results := point.results) is None:
            continue
        pairs = (f"{key.rpartition('.')[2]}={value}" for key, value in point.parameters.items())
        designs.append(of_results(" ".join(pairs) or called, results.to_dict(), prices))
    if not designs:
        raise InputError(f"{called}: no point of this sweep has results")
    return designs
