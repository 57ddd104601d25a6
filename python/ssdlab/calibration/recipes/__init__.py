"""Recipes: fio scripts that measure quantities no data sheet states, and fits of their output.

A recipe is a module with a `RECIPE`, and its word in `NAMES`. Its scripts run on any drive; its
`fit` reads the directory in which they were run. The fit returns quantities with intervals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ssdlab import _core, delivery, forms
from ssdlab._core import InputError

NAMES = ("cliff", "span", "age", "layout")


@dataclass(frozen=True)
class Quantity:
    """A fitted quantity: value and 95 % confidence interval."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    what: str

    def to_dict(self) -> dict[str, Any]:
        """The form of `--json`."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "unit": self.unit,
            "what": self.what,
        }


@dataclass
class Found:
    """Result of a recipe: quantities, keys with these values, and notes."""

    quantities: list[Quantity] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, value: tuple[float, float, float], unit: str, what: str) -> None:
        """Add a quantity with its confidence interval."""
        self.quantities.append(Quantity(name, *value, unit, what))


@dataclass(frozen=True)
class Recipe:
    """A recipe: its purpose, its scripts for a drive of a given size, and its fit."""

    summary: str
    scripts: Callable[[int], Mapping[str, str]]
    """The files by name; the first is the instructions."""
    fit: Callable[[Path, Mapping[str, float], float], Found]
    """Arguments: the directory, the settings and the time scale of the drive."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Settings of the fit, with their defaults."""


def load(name: str) -> Recipe:
    """The recipe of a name."""
    if name not in NAMES:
        raise InputError(f"--recipe {name}: expected one of {', '.join(NAMES)}")
    found: Recipe = import_module(f"ssdlab.calibration.recipes.{name}").RECIPE
    return found


def is_fit(word: str) -> bool:
    """True if the value of `--fit` names a recipe."""
    return word.partition(":")[0] in NAMES


def scripts(name: str, capacity_bytes: int) -> dict[str, str]:
    """Files of a recipe for a drive of `capacity_bytes`."""
    return dict(load(name).scripts(capacity_bytes))


def write(name: str, capacity_bytes: int, directory: Path) -> list[Path]:
    """Write the files of a recipe into a directory, which is created if absent."""
    texts = scripts(name, capacity_bytes)
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out {directory}: not a directory; --recipe {name} writes some files")
    paths = [directory / file for file in texts]
    for path in paths:
        if path.parent.is_dir():
            delivery.refuse(path, forms.RECIPE)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {directory}: cannot be made: {error.strerror}") from None
    for path, text in zip(paths, texts.values(), strict=True):
        delivery.write(path, text, forms.RECIPE)
    return paths


def fit(word: str, target: Path, time_scale: float = 1.0) -> dict[str, Any]:
    """Result of the recipe of `--fit NAME[:KEY=NUMBER,...]` in a directory, as a calibration."""
    name, _, remainder = word.partition(":")
    recipe = load(name)
    settings = dict(recipe.settings)
    for part in filter(None, remainder.split(",")):
        key, _, text = part.partition("=")
        known = ", ".join(settings) or "none"
        if key not in settings:
            raise InputError(f'--fit {word}: no setting "{key}"; there are: {known}')
        if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
            raise InputError(f'--fit {word}: {key} is "{text}"; it must be a number above 0')
        settings[key] = float(text)
    if not target.is_dir():
        raise InputError(
            f"{target}: --fit {name} reads the directory in which its scripts were run"
        )
    if not 0 < time_scale < float("inf"):
        raise InputError(f"time scale {time_scale:g}: expected a number above 0")
    found = recipe.fit(target, settings, time_scale)
    return {
        "version": _core.version,
        "kind": name,
        "source": str(target),
        "weights": "relative",
        "patterns": {},
        "conditions": {"tool": "fio", "time_scale": time_scale, **settings},
        "notes": found.notes,
        "points": [],
        "recipe": {
            "found": {it.name: it.to_dict() for it in found.quantities},
            "keys": found.keys,
        },
    }
