"""Terminal output of `ssdlab retention`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rich.console import RenderableType
from rich.text import Text

from ssdlab.readable import throughput
from ssdlab.terminal import console_for, fact_table, rendered
from ssdlab.units import size
from ssdlab.unpowered import Kept

#: Losses below this count as none.
FEW = 1e-6
#: The answer in a sentence.
SAYS = {
    "kept": "No loss is expected, not even if losses are ten times as many.",
    "open": "Too close to call: the evidence does not carry an answer.",
    "lost": "Losses are expected, even if they are ten times as few.",
}


def table(found: Kept, file: IO[str]) -> str:
    """Losses of a drive, as text for `file`."""
    console, _ = console_for(file)
    form, kept = found.form, found.form["kept"]
    head = Text(f"{found.device}: {found.age}", style="bold")
    head.append(f"\n{found.wear}; {size(form['data_bytes'])} of data", style="dim")
    head.append(f"\n{SAYS[found.verdict]}")
    law = form["model"] + (" (assumed)" if found.assumed_model else "")
    requested = [
        ("law of ageing", law),
        ("the same at 30 C", f"{form['days_at_30C']:,.0f} days"),
        ("raw error rate", f"{kept['rber']:.2g}"),
    ]
    days = form["first_loss_days"]
    losses = [
        ("sectors' pages lost", _few(kept["pages_lost"])),
        ("chance of any loss", _chance(kept["chance_of_any"])),
        ("first loss, at 1 %", "after 1,000 years" if days is None else f"{days:,.0f} days"),
        ("JESD218 client, at its rating", _kept(form["jesd218"]["client"])),
        ("JESD218 enterprise, at its rating", _kept(form["jesd218"]["enterprise"])),
    ]
    simulated = [
        ("retries a page", f"{found.expected_retries:.2f}", f"{found.aged.mean_retries:.2f}"),
        ("pages lost", _expected(found), f"{found.aged.lost:,}"),
    ]
    both = [(name, f"{expected} expected, {seen} seen") for name, expected, seen in simulated]
    speed = [
        ("first read, new", throughput(found.new.mb_per_s)),
        ("first read, aged", throughput(found.aged.mb_per_s)),
    ]
    helps = [(it["what"], _help(it["found"])) for it in form["helps"]]
    lines = form["simulated"]["word_lines"]
    read = (
        f"One read of {found.aged.pages:,} pages, one part in {found.scale} of each block"
        if found.scale > 1
        else f"One read of {found.aged.pages:,} pages"
    )
    agree = "agree" if found.agrees else "DISAGREE: the closed form does not hold here"
    sections: list[RenderableType] = [
        head,
        fact_table("After that time", requested),
        fact_table("Losses", losses),
        fact_table(read, [*speed, *both]),
        fact_table("What would help", helps),
        Text(
            f"Closed form and simulation {agree}; expected is what {lines} word lines come to, as "
            f"many as a simulated block has. {found.evidence}",
            style="dim",
        ),
    ]
    return rendered(console, sections)


def _expected(found: Kept) -> str:
    if found.expected_lost < FEW:
        return "none"
    return f"{_few(found.expected_lost)} +- {_few(found.deviation_of_lost)}"


def _few(number: float) -> str:
    if number < FEW:
        return "none"
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def _chance(chance: float) -> str:
    if chance < FEW:
        return "below 1 in a million"
    return f"{chance:.1%}" if chance >= 1e-3 else f"{chance:.1e}"


def _kept(found: Mapping[str, Any]) -> str:
    return f"{'yes' if found['kept'] else 'no'} (UBER {found['uber']:.1e} of {found['most']:.0e})"


def _help(found: Mapping[str, Any]) -> str:
    return f"{_few(found['pages_lost'])} pages lost, {found['mean_retries']:.1f} retries a page"
