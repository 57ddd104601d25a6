"""Origin of each number in a device file, from comments beside the keys.

    program = "2.1ms"   # fitted: to 1500 MB/s of sequential writes
    # published: Samsung, PM9A3 product brief
    capacity = "960GB"

A comment at the end of the line or above it says `published: SOURCE`, `announced: SOURCE` of a
drive that was not measured, `fitted: TO WHAT` or `guess: WHY`; after a section's head it applies to
all keys without a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ssdlab import _core, toml
from ssdlab.sources import from_name

Kind = Literal["published", "announced", "fitted", "guess", ""]

_ORIGIN = re.compile(r"(published|announced|fitted|guess):\s*(.*)", re.DOTALL)
_HEAD = re.compile(r"\[+\s*([^\]]+?)\s*\]+")
_KEY = re.compile(r"([A-Za-z0-9_.-]+)\s*=")
#: Text before a line's comment; quoted text may contain `#`.
_CODE = re.compile(r"""(?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*""")


@dataclass(frozen=True)
class Row:
    """A key that a device file sets."""

    key: str
    value: Any
    origin: Kind
    """Kind of origin; empty if the file does not state it."""
    text: str
    """The source, the target of the fit, or the reason for a guess."""
    preset: str
    """The base preset that sets it; else empty."""


@dataclass(frozen=True)
class Device:
    """A device file with its base presets."""

    name: str
    summary: str
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """The form of `ssdlab device show --json`."""
        return {
            "device": self.name,
            "summary": self.summary,
            "keys": [asdict(row) for row in self.rows],
        }


def of(name: str) -> Device:
    """The device of a preset or a file. Raises `InputError` for anything else."""
    found = _core.preset_text("device", name)
    text = from_name("device", name, "device").text if found is None else found
    rows: dict[str, Row] = {}
    source = name if found is None else f"preset {name}"
    summary = " ".join(_summary(text))
    below = ""
    seen = {name}
    while True:
        table = toml.parse(source, text)
        origins = dict(_origins(text))
        sets = dict(_flat(table.get("device", {}), "device"))
        for key, value in sets.items():
            if key not in rows and key != "device.preset":
                kind, stated = origins.get(key, ("", ""))
                rows[key] = Row(key, value, kind, stated, below)
        parent = sets.get("device.preset")
        if not isinstance(parent, str) or parent in seen:
            return Device(Path(name).name, summary, tuple(rows.values()))
        text = _core.preset_text("device", parent) or ""
        source, below = f"preset {parent}", parent
        seen.add(parent)


def _summary(text: str) -> Iterator[str]:
    """The first paragraph of the comment at the head of the file."""
    for line in text.splitlines():
        stated = line.removeprefix("#").strip()
        if not line.startswith("#") or not stated or _origin(stated):
            return
        yield stated


def _flat(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Every key of nested tables with its dotted path."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.{key}")
        else:
            yield f"{path}.{key}", value


def _origins(text: str) -> Iterator[tuple[str, tuple[Kind, str]]]:
    """Origins stated in comments, by the key's dotted path."""
    section, of_section = "", None
    above: list[str] = []
    for line in text.splitlines():
        code = _CODE.match(line)
        end = code.end() if code else 0
        comment = line[end:].lstrip("#").strip()
        code_text = line[:end].strip()
        if not code_text:
            above = [*above, comment] if comment else []
            continue
        stated = _origin(comment) or _origin_above(above)
        above = []
        if head := _HEAD.fullmatch(code_text):
            section, of_section = head[1], stated
        elif key := _KEY.match(code_text):
            path = f"{section}.{key[1]}" if section else key[1]
            if found := stated or of_section:
                yield path, found


def _origin_above(comments: list[str]) -> tuple[Kind, str] | None:
    """The last origin in the lines above a key; it may span several lines."""
    for start in range(len(comments) - 1, -1, -1):
        if _ORIGIN.match(comments[start]):
            return _origin(" ".join(comments[start:]))
    return None


def _origin(comment: str) -> tuple[Kind, str] | None:
    found = _ORIGIN.match(comment)
    if found is None:
        return None
    kind: Any = found[1]
    return kind, " ".join(found[2].split())
