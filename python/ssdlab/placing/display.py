"""Terminal output for placement: a table of policies, notes, and one sentence."""

from __future__ import annotations

from typing import IO

from rich.console import Group, RenderableType
from rich.text import Text

from ssdlab.placing.answer import Placed, Row
from ssdlab.terminal import Columns, console_for, fact_table, rendered, warning_lines
from ssdlab.units import count, percent, significant, size

ORDER = ("none", "address", "size", "hint", "column", "lifetime", "own", "clairvoyant")


def placed(found: Placed, file: IO[str]) -> str:
    """Findings as text for `file`: a table for each utilisation, and the answer last."""
    console, _ = console_for(file)
    sections: list[RenderableType] = [_head(found)]
    sections += [_table(found, level) for level in found.utilisations]
    sections.append(_rules(found))
    if (warned := warning_lines([text for _, text in found.warnings])) is not None:
        sections.append(warned)
    more = [text for text in (found.fuller, found.zones) if text is not None]
    answer = [found.sentence, *more]
    sections.append(Text("\n".join(answer), style="bold"))
    return rendered(console, sections)


def _head(found: Placed) -> RenderableType:
    facts, drive = found.facts, found.drive
    rows = [
        ("writes", count(facts["writes"])),
        ("bytes written", size(facts["written_bytes"])),
        ("data touched", size(facts["footprint_bytes"])),
    ]
    device = drive.name or "a drive"
    notes = f"{device}: {drive.units} reclaim units, {percent(drive.spare)} spare space"
    return Group(fact_table(found.trace, rows), Text(notes, style="dim"))


def _ordered(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (ORDER.index(row.policy), row.isolation))


def _table(found: Placed, level: float) -> RenderableType:
    rows = _ordered(found.at(level))
    both = len({row.isolation for row in rows}) > 1
    knows_years = any(found.years(row) is not None for row in rows)
    names = ["policy", *(["isolation"] if both else []), "handles", "WA", "gain"]
    names += [*(["years <="] if knows_years else []), "open units", "noisy handle"]
    table = Columns(names, keys=1, left=("policy", "isolation"))
    for row in rows:
        cells = [row.policy, *([row.isolation] if both else []), str(row.handles_used)]
        if row.dlwa is None:
            cells += ["-", "-", *(["-"] if knows_years else []), "too many", "-"]
            table.add_row(*cells)
            continue
        years = found.years(row)
        cells += [f"{row.dlwa:.3f}", _gain(row)]
        if knows_years:
            cells.append("-" if years is None else significant(years.value or 0.0, 3))
        noisy = row.noisy
        cells.append(percent(row.open_share))
        cells.append("-" if noisy is None else _noise(row, noisy))
        table.add_row(*cells)
    title = f"Write amplification, {level:.0%} full"
    return Group(Text(title, style="bold"), table)


def _gain(row: Row) -> str:
    if row.policy == "none" or row.gain is None:
        return "-"
    return f"{row.gain:.3f} ± {row.gain_error or 0.0:.3f}"


def _noise(row: Row, noisy: object) -> str:
    assert isinstance(noisy, dict)
    share = noisy["relocated_bytes"] / row.relocated_bytes
    return f"{noisy['handle']}: {percent(share)} of copies"


def _rules(found: Placed) -> RenderableType:
    level = max(found.utilisations)
    stated = {row.policy: row.said_rule for row in _ordered(found.at(level)) if row.rule}
    pasted = ("address", "size", "hint")
    lines = [
        f"{policy}: {'device.fdp.place = ' if policy in pasted else ''}{rule}"
        for policy, rule in stated.items()
    ]
    refused = {row.refused for row in found.rows if row.refused is not None}
    lines += [f"Not possible: {reason}." for reason in sorted(refused)]
    lines.append("open units: share of the spare space that they hold; gain: with 95 % interval.")
    if any(found.years(row) is not None for row in found.rows):
        lines.append("years: at most, with even wear; ssdlab ask simulates the life of a drive.")
    return Text("\n".join(lines), style="dim")
