"""Terminal output for the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ssdlab.catalogue import glossary
from ssdlab.catalogue.devices import GROUPS, Device
from ssdlab.catalogue.search import USES, Found, synonym
from ssdlab.catalogue.search import keys as find_keys
from ssdlab.terminal import Columns, console_for, rendered
from ssdlab.units import decimal_size


def catalogue_table(catalogue: Mapping[str, Mapping[str, str]], file: IO[str]) -> str:
    """A table of names and summaries per category, as text for `file`."""
    sections: list[RenderableType] = []
    console, _ = console_for(file)
    for category, entries in catalogue.items():
        sections.append(Group(Text(category, style="bold"), _entries(entries, console.width)))
    return rendered(console, sections)


def devices(rows: Sequence[Device], kinds: Mapping[str, str], file: IO[str]) -> str:
    """Devices in groups, with the kinds of devices, as text for `file`."""
    console, _ = console_for(file)
    sections: list[RenderableType] = []
    for group in GROUPS:
        own = [row for row in rows if row.group == group]
        if not own:
            continue
        table = Columns(
            ["device", "capacity", "interface", "cells", "DWPD", "figures"], keys=1, left=["device"]
        )
        for row in own:
            capacity = row.capacity_bytes
            table.add_row(
                Text(row.name, style="cyan"),
                "any" if capacity is None else decimal_size(capacity),
                row.interface,
                row.cells,
                "" if row.dwpd is None else f"{row.dwpd:g}",
                row.checked,
            )
        sections.append(Group(Text(group, style="bold"), table))
    if kinds:
        head = Text("kinds of devices, for your own", style="bold")
        sections.append(Group(head, _entries(kinds, console.width)))
    sections.append(Text(OF_DEVICES, style="dim"))
    return rendered(console, sections)


OF_DEVICES = (
    "DWPD: rated drive writes per day over five years. figures: compared with measurements or a "
    "paper, or only made to meet the data sheet; a generic drive has neither. ssdlab show NAME has "
    "all keys, ssdlab device check NAME simulates the sheet."
)
#: Maximum width of the column of names, to leave room for descriptions.
WIDEST = 0.45


def _entries(entries: Mapping[str, str], width: int) -> RenderableType:
    """Names with their summaries beside them, or below long names."""
    if max(map(len, entries), default=0) > WIDEST * width:
        lines = Text()
        for name, summary in entries.items():
            lines.append(f"{name}\n", style="cyan")
            lines.append(f"{summary}\n")
        return lines
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for name, summary in entries.items():
        table.add_row(Text(name), Text(summary))
    return Padding(table, (0, 0, 0, 2))


def overview(catalogue: Mapping[str, Mapping[str, str]], file: IO[str]) -> str:
    """Two lines per category: the number of its names, and the first of them."""
    console, _ = console_for(file)
    lines = []
    for category, entries in catalogue.items():
        head = Text(category, style="bold").append(f" {len(entries)}", style="not bold dim")
        names = list(entries)
        if category == "keys":
            names = list(dict.fromkeys(section for section, _ in _by_section(names)))
        said = ""
        for place, name in enumerate(names):
            more = f" and {len(names) - place} more"
            if len(f"  {said}, {name}") + len(more) > console.width:
                said += more
                break
            said += f", {name}" if said else name
        lines.append(Group(head, Text(f"  {said}", style="cyan")))
    hint = Text("ssdlab list KIND, ssdlab show NAME, ssdlab keys SEARCH", style="dim")
    return rendered(console, [Group(*lines), hint])


def _by_section(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(".".join(name.split(".")[:-1][:2]), name) for name in names]


def sections(names: Sequence[str], file: IO[str]) -> str:
    """The sections, with their number of keys."""
    console, _ = console_for(file)
    counts = Counter(section for section, _ in _by_section(names))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(justify="right")
    for section, count in sorted(counts.items()):
        table.add_row(section, f"{count}")
    hint = Text("ssdlab keys SECTION has them, ssdlab keys WORD finds them", style="dim")
    return rendered(console, [Text(f"{len(names)} keys", style="bold"), table, hint])


def keys(wanted: str, found: Sequence[Found], file: IO[str]) -> str:
    """The keys found, with the names used here for the search words."""
    console, _ = console_for(file)
    parts: list[RenderableType] = []
    row = synonym(wanted)
    if row is not None:
        parts.append(Text(f"{wanted}: {row.said}", style="bold"))
    parts.append(_entries({it.name: it.summary for it in found}, console.width))
    if row is not None and row.note:
        parts.append(Text(f"See also: {row.note}", style="dim"))
    return rendered(console, parts)


def details(found: Sequence[Found], texts: Sequence[str | None], file: IO[str]) -> str:
    """Details of all matches."""
    console, _ = console_for(file)
    parts: list[RenderableType] = []
    for it, text in zip(found, texts, strict=True):
        head = Text(it.name, style="bold cyan").append(f"  {it.category}", style="not bold dim")
        lines: list[RenderableType] = [head, Text(it.summary)]
        if it.category == "cleaners":
            own = f"cleaning.{it.name.replace('-', '_')}."
            parameters = {key.name: key.summary for key in find_keys(own)}
            if parameters:
                lines += [Text(), _entries(parameters, console.width)]
        if it.category == "terms" and (term := glossary.find(it.name)) is not None:
            page = Text(f"ssdlab docs {term.page.removesuffix('.md')}", style="dim")
            lines += [Text(), *map(Text, term.lines), page]
        if it.category in USES:
            lines += [Text(), Text(USES[it.category].format(it.name), style="green")]
        if it.category == "warnings":
            lines += [Text(), Text("ssdlab docs warnings says what to do", style="dim")]
        parts.append(Group(*lines))
        if text is not None:
            parts.append(Text(text.rstrip(), no_wrap=True, overflow="ignore"))
    return rendered(console, parts)
