"""Terminal output for costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.costing import Bill, Need, cheapest
from ssdlab.terminal import console_for, fact_table, rendered, side_by_side, warning_lines
from ssdlab.units import count, dollars, duration, significant

#: Maximum number of designs shown, the cheapest first.
MOST_ROWS = 30
WORDS = {"iops": "IOPS", "gb": "GB", "mb_per_s": "MB/s", "dwpd": "DWPD"}


def shown(
    need: Need, bills: Sequence[Bill], best: Sequence[bool], against: str, file: IO[str]
) -> str:
    """The bill of one design, or a table of several with the cheapest one."""
    console, _ = console_for(file)
    head = Text(f"Needed: {_needed(need)}", style="bold")
    if len(bills) == 1:
        head = Text(f"{bills[0].design.name}: {bills[0].design.title}\n", style="bold") + head
    sections: list[RenderableType] = [head]
    prices = {tuple(it.design.prices.given().items()) for it in bills}
    if len(prices) == 1:
        sections.append(Text(f"Prices: {_prices(bills[0])}", style="dim"))
    if len(bills) == 1:
        sections += _one_bill(bills[0])
    else:
        sections.append(_table(bills, best, against))
    notes = list(dict.fromkeys(note for it in bills for note in it.notes))
    if notes:
        sections.append(Text("\n".join(f"Note: {note}" for note in notes), style="dim"))
    if (warned := warning_lines(_warnings(bills))) is not None:
        sections.append(warned)
    sections.append(_verdict(bills, against))
    return rendered(console, sections)


def _warnings(bills: Sequence[Bill]) -> list[str]:
    """Warnings of the results, without repetition."""
    names = dict.fromkeys(name for it in bills for name in it.design.warnings)
    stated = []
    for name in names:
        designs = [it.design.name for it in bills if name in it.design.warnings]
        of = f"{len(designs)} of {len(bills)} designs" if len(bills) > 1 else "the results"
        stated.append(f"{name}: {of} (`ssdlab docs warnings`)")
    return stated


def _needed(need: Need) -> str:
    parts = [f"{amount:,.10g} {WORDS[name]}" for name, amount in need.amounts.items()]
    parts += [f"{name} at most {duration(us)}" for name, us in need.latencies_us.items()]
    return ", ".join(parts) or "one device"


def _prices(it: Bill) -> str:
    given = it.design.prices.given().items()
    return ", ".join(f"{key} = {value:,.10g}" for key, value in given)


def _one_bill(it: Bill) -> list[RenderableType]:
    figures = it.to_dict()
    rows = [("drives", count(it.drives))]
    for name, many in it.drives_for.items():
        binds = " (binding)" if name == it.binds and len(it.drives_for) > 1 else ""
        rows.append((f"  for {WORDS[name]}{binds}", count(many)))
    if it.lifetime_years is not None:
        rows.append(("drive lifetime", f"{significant(it.lifetime_years, 3)} years"))
    elif it.least_years is not None:
        rows.append(("drive lifetime", f"at least {significant(it.least_years, 3)} years"))
    if it.times_bought > 1:
        rows.append(("each is bought", f"{it.times_bought} times"))
    if it.watts is not None:
        rows.append(("power", f"{significant(it.watts, 3)} W"))
    if it.five_minute_seconds is not None:
        rows.append(("break-even interval in memory", interval(it.five_minute_seconds)))
    years = "" if it.years is None else f", {it.years:g} years"
    money = [("drives", dollars(it.devices_dollars))]
    if it.power_dollars:
        money.append(("power", dollars(it.power_dollars)))
    if it.maintenance_dollars:
        money.append(("maintenance", dollars(it.maintenance_dollars)))
    money.append((f"total{years}", dollars(it.dollars)))
    ratios = [
        ("$/IOPS", dollars(figures["dollars_per_iops"])),
        ("$/GB", dollars(figures["dollars_per_gb"])),
    ]
    if figures["iops_per_watt"] is not None:
        ratios.append(("IOPS/W", count(figures["iops_per_watt"])))
    if figures["dollars_per_tb_written"] is not None:
        ratios.append(("$/TB written", dollars(figures["dollars_per_tb_written"])))
    left, right = fact_table("Delivered", rows), fact_table("Cost", money)
    tables = side_by_side(left, Group(right, Text(), fact_table("Ratios", ratios)))
    return [tables] if tables is not None else []


def _table(bills: Sequence[Bill], best: Sequence[bool], against: str) -> RenderableType:
    table = Table(box=None, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("", overflow="fold")
    rests = any(it.five_minute_seconds is not None for it in bills)
    columns = ["drives", "bound", "W", "total", "$/IOPS", "$/GB", against, "lasts"]
    for name in [*columns, *(["rests"] if rests else []), ""]:
        table.add_column(name, justify="right", header_style="dim", no_wrap=True)
    order = sorted(range(len(bills)), key=lambda n: (bool(bills[n].lacks), bills[n].dollars))
    for n in order[:MOST_ROWS]:
        it, figures = bills[n], bills[n].to_dict()
        latency = it.design.latencies_us.get(against)
        last = [""] if it.five_minute_seconds is None else [interval(it.five_minute_seconds)]
        table.add_row(
            Text(it.design.name, style="dim" if it.lacks else ""),
            count(it.drives),
            WORDS[it.binds] if it.binds else "",
            "" if it.watts is None else significant(it.watts, 3),
            dollars(it.dollars),
            dollars(figures["dollars_per_iops"]),
            dollars(figures["dollars_per_gb"]),
            "" if latency is None else duration(latency),
            "" if it.lifetime_years is None else f"{significant(it.lifetime_years, 2)} y",
            *(last if rests else []),
            "short" if it.lacks else "front" if best[n] else "",
        )
    if len(bills) > MOST_ROWS:
        table.caption = f"The first {MOST_ROWS} of {len(bills)} designs."
    return table


def interval(seconds: float) -> str:
    """Text of a time between accesses.

    >>> interval(204.8), interval(5264), interval(8.2)
    ('3.41 min', '1.46 h', '8.20 s')
    """
    units = {"s": 1.0, "min": 60.0, "h": 3600.0}
    unit = next((name for name, size in units.items() if seconds < 60 * size), "h")
    return f"{significant(seconds / units[unit], 3)} {unit}"


def _verdict(bills: Sequence[Bill], against: str) -> RenderableType:
    """The cheapest suitable design, or the reason why none is."""
    it = cheapest(bills, against)
    if it is not None and len(bills) > 1:
        many = f"{count(it.drives)} drive{'s' if it.drives > 1 else ''}"
        return Text(f"Cheapest: {it.design.name}, {many} for {dollars(it.dollars)}", style="bold")
    if it is not None:
        return Text("It meets the requirements.", style="bold")
    if len(bills) == 1:
        return Text(
            f"It does not meet the requirements: {'; '.join(bills[0].lacks)}", style="bold red"
        )
    reasons = "\n".join(f"  {it.design.name}: {'; '.join(it.lacks)}" for it in bills[:MOST_ROWS])
    return Text(f"None meets the requirements:\n{reasons}", style="bold red")
