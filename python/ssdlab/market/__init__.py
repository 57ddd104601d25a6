"""Commercial data of drives: price, watts and rated writes, with their dates and sources.

The shipped table is `catalogue.toml`; a user's table has the same form, and its rows replace
shipped ones. Prices age: every answer that uses them states their dates.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import _core, layers, toml
from ssdlab._core import InputError
from ssdlab.layers import Layer

#: Prefix of the source of an unpublished figure.
ASSUMED = "assumed"
#: Between a model and its capacity in a name, such as samsung-pm9a3@1920GB.
AT = "@"
HEAD = "# A catalogue for --catalogue of ssdlab choose and ask."


@dataclass(frozen=True)
class Rated:
    """Commercial data of one drive."""

    name: str
    price: float | None = None
    """Dollars of one drive."""
    priced: str = ""
    """Year, month or day of the price."""
    price_source: str = ""
    idle_watts: float | None = None
    """Idle power, awake."""
    active_watts: float | None = None
    watts_source: str = ""
    dwpd: float | None = None
    """Drive writes per day (DWPD) over five years."""
    device: str | None = None
    """Device file of a drive without a preset."""
    changes: Sequence[str] = ()
    """Assignments by which a larger capacity differs from its model."""

    @property
    def is_assumed(self) -> bool:
        """True if the price is an assumption."""
        return self.price_source.startswith(ASSUMED)

    def watts(self, busy: float) -> float | None:
        """Power at a die utilisation; None if unknown."""
        if self.idle_watts is None or self.active_watts is None:
            return None
        return self.idle_watts + min(busy, 1.0) * (self.active_watts - self.idle_watts)

    @property
    def said(self) -> str:
        """Date and kind of the price, for messages."""
        return f"{'an assumption ' if self.is_assumed else ''}of {self.priced}"

    @property
    def model(self) -> str:
        """The name without a capacity."""
        return self.name.partition(AT)[0]

    @property
    def drive(self) -> str:
        """The drive as a value of `--device`."""
        return self.device or self.name

    def toml(self) -> str:
        """The row as a table of a catalogue."""
        keys = dataclasses.asdict(self)
        name = keys.pop("name")
        given = {key: value for key, value in keys.items() if value not in (None, "", ())}
        lines = [f"{key} = {_value(value)}" for key, value in given.items()]
        return "\n".join([f"[drive.{_value(name)}]", *lines])


#: Numeric keys of a row, none negative; the others are text.
NUMBERS = ("price", "idle_watts", "active_watts", "dwpd")
KEYS = tuple(it.name for it in dataclasses.fields(Rated) if it.name != "name")


@functools.cache
def shipped() -> Mapping[str, Rated]:
    """Rows of the shipped catalogue, by preset."""
    data = pkgutil.get_data("ssdlab.market", "catalogue.toml")
    return parse("the catalogue", (data or b"").decode())


def of_title(title: str) -> Rated | None:
    """The row of the drive in the title of an experiment, such as "samsung-pm9a3 under mixed"."""
    return shipped().get(title.partition(" under ")[0])


def with_own(path: Path | None) -> Mapping[str, Rated]:
    """The catalogue, overlaid by a file's rows, by value of `--device`.

    Device files of the rows are relative to the catalogue. Raises `InputError`.
    """
    return dict(shipped()) if path is None else {**shipped(), **read(path)}


def read(path: Path) -> dict[str, Rated]:
    """The rows of a catalogue, by value of `--device`. Raises `InputError`."""
    found = {}
    for row in parse(str(path), layers.from_file(path).text).values():
        if row.device is not None:
            row = dataclasses.replace(row, device=str(path.parent / row.device))
        found[row.drive] = row
    return found


def parse(source: str, text: str) -> dict[str, Rated]:
    """The rows of a text by name. Raises `InputError`, which names `source`."""
    tables = toml.parse(source, text)
    if unknown := [key for key in tables if key != "drive"]:
        raise InputError(f'{source}: unknown table "{unknown[0]}"; a catalogue has [drive.NAME]')
    rows = tables.get("drive", {})
    if not isinstance(rows, dict) or not all(isinstance(it, dict) for it in rows.values()):
        raise InputError(f"{source}: drive: expected tables such as [drive.samsung-pm9a3]")
    found = {}
    for name, keys in rows.items():
        larger = keys.pop("capacity", {})
        row = found[name] = _row(f"{source}: drive.{name}", name, keys)
        for capacity, own in larger.items():
            full = f"{name}{AT}{capacity}"
            found[full] = _row(f"{source}: drive.{full}", full, _of_model(row) | own)
    return found


def _of_model(row: Rated) -> dict[str, Any]:
    """Keys that a capacity shares with its model: all but the price."""
    keys = {key: it for key, it in dataclasses.asdict(row).items() if it not in (None, "", ())}
    return {key: keys[key] for key in keys if key not in ("name", "price")}


def models(name: str) -> list[Rated]:
    """The shipped rows of a model: its own, and the larger capacities."""
    return [it for it in shipped().values() if it.model == name]


def layer(name: str, source: str = "the catalogue") -> Layer:
    """The layer of a preset, also in another capacity of the shipped catalogue.

    Raises `InputError`, which names `source`, for a capacity that it lacks.
    """
    model, is_larger, _ = name.partition(AT)
    row = shipped().get(name) if is_larger else Rated(name)
    if row is None:
        known = ", ".join(it.name for it in models(model)) or "ssdlab catalogue show lists them"
        raise InputError(f"{source}: the catalogue has no such capacity; it has {known}")
    changes = [_core.set_layer(it)[1] for it in row.changes]
    return Layer(source, "\n".join([(_core.preset_layer("device", model) or "  ")[1], *changes]))


def _row(where: str, name: str, keys: Mapping[str, Any]) -> Rated:
    for key, value in keys.items():
        if key not in KEYS:
            raise InputError(f'{where}: unknown key "{key}"; keys are {", ".join(KEYS)}')
        if key in NUMBERS:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or value < 0:
                what = "dollars" if key == "price" else "a number"
                raise InputError(f"{where}.{key} = {value!r}: expected {what}, 0 or more")
        elif key == "changes":
            if not isinstance(value, list) or not all(isinstance(it, str) for it in value):
                raise InputError(f"{where}.changes: expected a list of KEY=VALUE")
        elif not isinstance(value, str):
            raise InputError(f"{where}.{key} = {value!r}: expected a string")
    if "price" in keys and not keys.get("priced"):
        raise InputError(f'{where}: price without priced: say when, such as priced = "2026-11"')
    watts = [keys.get(key) for key in ("idle_watts", "active_watts")]
    if (watts[0] is None) != (watts[1] is None):
        raise InputError(f"{where}: idle_watts and active_watts go together")
    return Rated(name, **{**keys, "changes": tuple(keys.get("changes", ()))})


def _value(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
