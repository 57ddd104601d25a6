"""The sliders and choices of a view: keys of the experiment to vary.

Each row has its key; a page shows it if the experiment has that key. The engine validates values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError

Experiment = Mapping[str, Any]


class Range(NamedTuple):
    """A slider."""

    least: float
    most: float
    step: float


class Knob(NamedTuple):
    """A control of the page."""

    name: str
    """Name in requests of a page."""
    label: str
    """Label."""
    of: str
    """`drive` if each drive has its own, `load` if all share it."""
    key: str
    """Its key."""
    value: float | str
    """Current value."""
    choices: Sequence[str] | Range
    """Possible values."""
    unit: str
    """Form of a value: `percent`, `skew`, `rate`, `count` or `word`."""

    def said(self) -> dict[str, Any]:
        """The knob in the form for a page."""
        found: dict[str, Any] = {
            it: getattr(self, it) for it in ("name", "label", "of", "value", "unit")
        }
        if isinstance(self.choices, Range):
            return found | {"range": list(self.choices)}
        return found | {"choices": list(self.choices)}

    def set_to(self, value: Any) -> Any:
        """Value of the key; raises `InputError` for an invalid value."""
        if not isinstance(self.choices, Range):
            if value not in self.choices:
                raise InputError(f"{self.label}: {value} is not one of {', '.join(self.choices)}")
            return value
        least, most, _ = self.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{self.label}: {value} is not a number")
        if not least <= value <= most:
            raise InputError(f"{self.label}: {value:g} is not within {least:g} and {most:g}")
        if self.unit == "skew":
            return _locality(value)
        return int(value) if self.unit == "count" else value


#: Percentage of requests to the remaining addresses: 50 is uniform.
_SKEW = re.compile(r"hot-cold\(([\d.]+), ([\d.]+)\)")


def _locality(percent: float) -> str:
    if percent <= 50:
        return "uniform"
    return f"hot-cold({percent / 100:g}, {1 - percent / 100:.4g})"


def _skew(locality: Any) -> float | None:
    """The percentage of a locality, if it has one."""
    if locality == "uniform":
        return 50.0
    found = _SKEW.fullmatch(str(locality))
    if found is None or abs(sum(map(float, found.groups())) - 1) > 1e-6:
        return None
    return round(100 * float(found[1]), 6)


def _percent(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _number(value: Any) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _slider_including(least: float, most: float, step: float) -> Callable[[float], Range]:
    """A slider from `least` to `most`, extended to the experiment's initial value."""
    return lambda value: Range(min(least, value), max(most, value), step)


def _slider_around(value: float) -> Range:
    """A slider from an eighth to twice the experiment's initial value, in 32 steps."""
    return Range(value / 8, 2 * value, value / 16)


#: Rows of sliders: name, label, scope, keys (the first existing one is used), a function that
#: reads the key's value, the range, the unit.
SLIDERS: Sequence[
    tuple[
        str,
        str,
        str,
        Sequence[str],
        Callable[[Any], float | None],
        Callable[[float], Range],
        str,
    ]
] = (
    ("spare", "Spare", "drive", ("device.spare_factor",), _percent,
     _slider_including(0.06, 0.4, 0.01), "percent"),
    ("skew", "Skew", "load", ("workload.locality", "workload.classes.*.locality"), _skew,
     _slider_including(50, 95, 5), "skew"),
    ("load", "Load", "load", ("workload.rate", "workload.classes.*.rate", "workload.on_rate"),
     _number, _slider_around, "rate"),
    ("outstanding", "Outstanding", "load", ("workload.outstanding",), _number,
     _slider_including(1, 128, 1), "count"),
    ("reads", "Reads", "load", ("workload.read_share", "workload.classes.*.read_share"), _percent,
     _slider_including(0, 1, 0.05), "percent"),
)  # fmt: skip


def _cleaners() -> list[str]:
    return [name for name, _ in _core.list("cleaners") or []]


#: Rows of choices: name, label, key, and its values.
CHOICES: Sequence[tuple[str, str, str, Callable[[], list[str]]]] = (
    ("policy", "Victim", "device.cleaning.policy", _cleaners),
    ("cleaning", "Cleaning", "device.cleaning.time", lambda: ["blocking", "interleaved"]),
    (
        "frontiers",
        "Frontiers",
        "device.cleaning.frontiers",
        lambda: ["auto", "single", "separate-moved", "hot-cold"],
    ),
)
#: Keys of drives without a write buffer.
_UNBUFFERED = {"device.cleaning.time"}


def of(base: Experiment, now: Experiment) -> list[Knob]:
    """Knobs of an experiment; `base` is the unchanged experiment."""
    found = []
    for name, label, whose, keys, read, span, unit in SLIDERS:
        key = next((it for it in map(_full_key_of(base), keys) if it is not None), None)
        value, first = (None, None) if key is None else (read(_at(now, key)), read(_at(base, key)))
        if key is not None and value is not None and first is not None:
            found.append(Knob(name, label, whose, key, value, span(first), unit))
    is_buffered = str(_at(base, "device.buffer.size") or "0B") != "0B"
    for name, label, key, choices in CHOICES:
        value = _at(now, key)
        if value is not None and not (is_buffered and key in _UNBUFFERED):
            words = choices()
            words = words if value in words else [value, *words]
            found.append(Knob(name, label, "drive", key, value, words, "word"))
    if _at(base, "device.capacity") is not None:
        # The spare space follows from the given capacity.
        found = [knob for knob in found if knob.name != "spare"]
    return found


def _full_key_of(experiment: Experiment) -> Callable[[str], str | None]:
    """A key, with its star replaced by the only class, if the experiment has it."""

    def spelled(key: str) -> str | None:
        if "*" in key:
            classes = _at(experiment, "workload.classes") or {}
            if len(classes) != 1:
                return None
            key = key.replace("*", next(iter(classes)))
        return None if _at(experiment, key) is None else key

    return spelled


def _at(experiment: Experiment, key: str) -> Any:
    at: Any = experiment
    for word in key.split("."):
        if not isinstance(at, Mapping) or word not in at:
            return None
        at = at[word]
    return at
