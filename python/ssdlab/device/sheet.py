"""The data sheet of a preset: published figures of the drive, a cell per number.

    device = "samsung-pm9a3"
    title = "Samsung PM9A3 960 GB"
    [sources]
    DS = "Samsung PM9A3 product brief"
    [[cell]]
    measure = "rand_read_iops"   # a row of the table of measurements
    value = "580K/s"
    source = "DS"
    depth = 256                  # a parameter of the measurement
    tolerance = "5%"             # by default the measurement's; "none" shows the cell unjudged
    fitted = true                # used to find the preset's values: judged too, and marked

Omitted parameters take the measurement's defaults. `solved = true`: `ssdlab device from-datasheet`
made the preset from all cells, so they are judged but are not predictions.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any, Literal, get_args

from ssdlab import toml
from ssdlab._core import InputError
from ssdlab.device.measurements import MEASUREMENTS, Measurement
from ssdlab.units import text as text_of

_OWN = ("measure", "value", "source", "tolerance", "fitted", "note")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")

Verdict = Literal["pass", "fail", "kept", "assumed", "info"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Cell:
    """A published number: seconds, bytes or requests a second, or a ratio."""

    measure: str
    value: float
    source: str
    tolerance: float
    fitted: bool = False
    note: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    bound: bool = False
    """True for a lower bound: higher values meet it too."""
    assumed: bool = False
    """True for a guess, absent from the sheet."""

    @property
    def measurement(self) -> Measurement:
        """The measurement of the cell."""
        return MEASUREMENTS[self.measure]

    @property
    def name(self) -> str:
        """Label: the measurement with its parameters."""
        return self.measurement.label(self.parameters)

    @property
    def text(self) -> str:
        """The number with its unit."""
        return self.show(self.value)

    def show(self, value: float) -> str:
        """`value` in the unit of the cell."""
        return text_of(self.measurement.unit, value)

    def error(self, simulated: float) -> float:
        """Relative error of the simulated figure."""
        return simulated / self.value - 1

    def verdict(self, simulated: float) -> Verdict:
        """Agreement of the figures; guesses and cells without tolerance are not judged.

        The larger may exceed the smaller by the tolerance: 1 is a factor of two up or down. Values
        above a lower bound pass.
        """
        if self.assumed:
            return "assumed"
        if math.isinf(self.tolerance):
            return "info"
        maximum = 1 + self.tolerance
        if simulated / self.value < 1 / maximum:
            return "fail"
        if self.bound:
            return "kept"
        return "pass" if simulated / self.value <= maximum else "fail"

    def said(self, simulated: float) -> str:
        """The verdict as text, marked if the cell was used in the fit.

        >>> Cell("seq_read", 100.0, "A", 0.02, fitted=True).said(90.0)
        'fitted, fail'
        """
        verdict = self.verdict(simulated)
        return f"fitted, {verdict}" if self.fitted else verdict


@dataclass(frozen=True)
class Sheet:
    """Published figures of a drive."""

    name: str
    device: str
    title: str
    sources: Mapping[str, str]
    cells: tuple[Cell, ...]
    unknown: tuple[str, ...] = ()
    solved: bool = False
    """True if the preset was made from these cells, so that they are not predictions."""

    @cached_property
    def unfitted(self) -> tuple[Cell, ...]:
        """The cells not used to fit the preset."""
        return tuple(cell for cell in self.cells if not cell.fitted)


def names() -> list[str]:
    """The drives with a sheet."""
    files = resources.files("ssdlab.device") / "sheets"
    found = (file.name for file in files.iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def load(name: str) -> Sheet:
    """The sheet of the drive `name`. Raises `InputError`, which lists all sheets."""
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f" (did you mean {near[0]}?)" if near else f"; sheets: {', '.join(names())}"
        raise InputError(f'there is no data sheet "{name}"{hint}')
    file = resources.files("ssdlab.device") / "sheets" / f"{name}.toml"
    return parse(name, f"sheet {name}", file.read_text(encoding="utf-8"))


def parse(name: str, source: str, text: str) -> Sheet:
    """The sheet in `text`; `source` names it in messages.

    Raises `InputError` for an unknown key, measurement, unit or source.
    """
    table = toml.parse(source, text)
    _refuse_unknown(source, table, ("device", "title", "sources", "unknown", "solved", "cell"))
    sources = table.get("sources", {})
    cells = table.get("cell", [])
    if not cells:
        raise InputError(f"{source}: there is no [[cell]]")
    return Sheet(
        name=name,
        device=str(table.get("device", name)),
        title=str(table.get("title", name)),
        sources=sources,
        cells=tuple(
            _cell(f"{source}, cell {number}", keys, sources)
            for number, keys in enumerate(cells, start=1)
        ),
        unknown=tuple(table.get("unknown", ())),
        solved=bool(table.get("solved", False)),
    )


def _cell(where: str, keys: Mapping[str, Any], sources: Mapping[str, str]) -> Cell:
    for key in ("measure", "value", "source"):
        if key not in keys:
            raise InputError(f'{where}: the key "{key}" is missing')
    measure = keys["measure"]
    if measure not in MEASUREMENTS:
        raise InputError(
            f'{where}: there is no measurement "{measure}"; there are {", ".join(MEASUREMENTS)}'
        )
    row = MEASUREMENTS[measure]
    where = f"{where} ({measure})"
    _refuse_unknown(where, keys, (*_OWN, *row.parameters))
    if keys["source"] not in sources:
        known = ", ".join(sources) or "none"
        raise InputError(f'{where}: source "{keys["source"]}" is not in [sources]: {known}')
    parameters = row.read_parameters(where, keys)
    return Cell(
        measure=measure,
        value=row.unit.parse(f"{where}, value", keys["value"]),
        source=keys["source"],
        tolerance=_tolerance(where, keys.get("tolerance"), row.tolerance_of(parameters)),
        fitted=bool(keys.get("fitted", False)),
        note=str(keys.get("note", "")),
        parameters=parameters,
    )


def _tolerance(where: str, given: Any, default: float) -> float:
    if given is None:
        return default
    if given == "none":
        return math.inf
    found = _PERCENT.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise InputError(
            f'{where}, tolerance = {given!r}: expected a share such as "5%", or "none"'
        )
    return float(found.group(1)) / 100


def _refuse_unknown(where: str, keys: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in keys:
        if key not in known:
            raise InputError(f'{where}: there is no key "{key}"; keys: {", ".join(known)}')
