"""Terminal output for crash tests."""

from __future__ import annotations

import shlex
from typing import IO, TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ssdlab.crashes import BROKEN, LOST, OK
from ssdlab.crashes.controls import Outcome
from ssdlab.crashes.run import Findings, worth_keeping
from ssdlab.terminal import console_for, fact_table, rendered, warning_lines

if TYPE_CHECKING:
    from ssdlab.crashes.damage import Damage

DAMAGED = {"noticed": "yellow", "refused": "yellow", "silent": "bold red", "repaired": "green"}
STYLE = {OK: "green", LOST: "yellow", BROKEN: "bold red"}


def findings_text(found: Findings, file: IO[str]) -> str:
    """The results of a crash test, as text for `file`."""
    console, _ = console_for(file)
    recorded, planned = found.recorded, found.plan
    asked = [f"{count:,} {what}" for what, count in found.asked.items() if count]
    cache = "a volatile buffer" if recorded.promise.volatile else "answered writes are durable"
    facts = [
        ("Device", recorded.device),
        ("It promises", f"{cache}; atoms of {_size(recorded.promise.atom)}"),
        ("Recorded", f"{', '.join(asked) or 'nothing'}; {len(recorded.lines):,} lines"),
        ("Crash points", f"{planned.points:,}, at most {planned.most_open:,} writes open"),
        ("Images", f"{planned.made:,}"),
        ("duplicates, left out", f"{planned.made - len(planned.images):,}"),
        ("judged", f"{len(found.verdicts):,} in {found.seconds['judge']:,.1f} s"),
        *((verdict, f"{count:,}") for verdict, count in found.counts.items()),
    ]
    sections: list[RenderableType] = [fact_table("Crash test", facts)]
    warned = warning_lines(found.warnings)
    if warned is not None:
        sections.append(warned)
    if found.failed:
        sections.append(_failures(found))
    return rendered(console, sections) + _repeat_commands(found)


def damage_text(found: Damage, file: IO[str]) -> str:
    """Outcome of an application on lost data, as text for `file`."""
    from ssdlab.crashes.damage import OUTCOMES

    console, _ = console_for(file)
    drives = found.drives
    title = Text(f"{found.recorded.app or found.recorded.check}", style="bold")
    title.append(
        f"  {len(drives):,} drives ({found.recorded.device}), {100 * found.share:.3g} % of the "
        "pages unreadable",
        style="not bold dim",
    )
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("outcome", no_wrap=True)
    table.add_column("drives", justify="right", header_style="dim")
    table.add_column("what happened", header_style="dim")
    table.add_column("an example", header_style="dim")
    for outcome, subject in OUTCOMES.items():
        some = [it for it in drives if it.outcome == outcome]
        stated = next((it.reason for it in some if it.reason), "")
        style = DAMAGED.get(outcome, "") if some else "dim"
        table.add_row(Text(outcome, style=style), f"{len(some):,}", subject, stated)
    failed = sum(it.unreadable for it in drives)
    healed = sum(it.healed for it in drives)
    facts = Text(f"{failed:,} reads failed; {healed:,} lost pages were written anew.", style="dim")
    return rendered(console, [title, table, facts])


def _repeat_commands(found: Findings) -> str:
    """Commands that repeat failures; not wrapped, to copy them."""
    if not found.failed:
        return ""
    again = found.again(worth_keeping(found.failed)[0])
    if again is None:
        return "\nWith --keep DIR the recording and these images are kept, to judge them again.\n"
    return f"\nKept in {shlex.quote(str(found.kept))}. To judge again:\n{again}\n"


def _size(size: int) -> str:
    return f"{size >> 10} KiB" if size >= 1024 else f"{size} B"


def _failures(found: Findings) -> RenderableType:
    shown = worth_keeping(found.failed)
    text = Text(f"{len(found.failed):,} images failed", style="bold")
    text.append(f"; {len(shown)} of them:" if len(found.failed) > len(shown) else ":")
    for it in shown:
        text.append(f"\n{it.image.name}  ", style="not bold")
        text.append(f"{it.verdict}: ", style=STYLE[it.verdict])
        text.append(it.reason, style="not bold")
    return text


def outcome_line(outcome: Outcome) -> str:
    """Result line of a control run."""
    if outcome.findings is None:
        return f"{outcome.control.name}: skipped: {outcome.skipped}"
    counts = ", ".join(f"{count:,} {it}" for it, count in outcome.findings.counts.items())
    verdict = "as expected" if outcome.as_expected else "NOT AS EXPECTED"
    return f"{outcome.control.name}: {counts}: {verdict}"


def controls_table(outcomes: list[Outcome], file: IO[str]) -> str:
    """The table of controls, as text for `file`."""
    console, _ = console_for(file)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("control", no_wrap=True)
    for name in "points", "images", OK, LOST, BROKEN:
        table.add_column(name, justify="right", header_style="dim", no_wrap=True)
    table.add_column("expected")
    table.add_column("", no_wrap=True)
    table.add_column("time", justify="right", header_style="dim", no_wrap=True)
    for outcome in outcomes:
        found = outcome.findings
        if found is None:
            table.add_row(outcome.control.name, "", "", "", "", "", Text(str(outcome.skipped)))
            continue
        verdict = Text("as expected") if outcome.as_expected else Text("wrong", style="bold red")
        table.add_row(
            outcome.control.name,
            f"{found.plan.points:,}",
            f"{len(found.verdicts):,}",
            *(f"{count:,}" for count in found.counts.values()),
            outcome.control.expected,
            verdict,
            f"{sum(found.seconds.values()):,.0f} s",
        )
    sections: list[RenderableType] = [table]
    stated = [
        f"{outcome.control.name}: {it}"
        for outcome in outcomes
        if outcome.findings is not None
        for it in outcome.findings.warnings
    ]
    warned = warning_lines(stated)
    if warned is not None:
        sections.append(warned)
    again = ""
    for outcome in outcomes:
        found = outcome.findings
        if not outcome.as_expected and found is not None and found.failed:
            sections += [Text(outcome.control.name, style="bold"), _failures(found)]
            again += _repeat_commands(found)
    return rendered(console, sections) + again
