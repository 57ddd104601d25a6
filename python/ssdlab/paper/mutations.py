"""Wrong devices, on which a study must fail: a test of its verdicts.

Each mutation changes every device of an experiment in one way that no drive of the studies has. A
row that passes on the correct and on the wrong device is insensitive to the change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ssdlab.running import Experiment

#: Function from a flash device with all its keys to the keys to change, without "device.".
Change: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]

_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns)?")


def _times(factor: float, *keys: str) -> Change:
    """Multiply cell times by `factor`, for all page types."""

    def change(device: Mapping[str, Any]) -> dict[str, Any]:
        timing = device["timing"]
        return {f"timing.{key}": _scaled(timing[key], factor) for key in keys if key in timing}

    return change


def _scaled(times: str, factor: float) -> str:
    """The times multiplied by `factor`, in whole nanoseconds."""
    return _TIME.sub(
        lambda it: f"{round(float(it[1]) * factor, 0 if it[2] else 3):.10g}{it[2] or ''}", times
    )


def _waits(device: Mapping[str, Any]) -> dict[str, Any]:
    """Reads wait for programs and erases; no change if they already do."""
    suspend = device.get("suspend", {})
    operations = [name for name in ("program", "erase") if suspend.get(name, "none") != "none"]
    return {f"suspend.{name}": "none" for name in operations}


def _at_random(device: Mapping[str, Any]) -> dict[str, Any]:
    return {"cleaning.policy": "random"}


def _other_way(device: Mapping[str, Any]) -> dict[str, Any]:
    """With a write buffer, or with pages streamed to other packages, there is no other choice."""
    cleaning = device["cleaning"]
    if "copy_back" not in cleaning or cleaning.get("stream", False):
        return {}
    return {"cleaning.copy_back": not cleaning["copy_back"]}


#: Mutations by name.
MUTATIONS: Mapping[str, Change] = {
    "tR x 2": _times(2, "read", "read_part"),
    "program x 1.5": _times(1.5, "program"),
    "cleaner random": _at_random,
    "suspend off": _waits,
    "copy-back toggled": _other_way,
}


def mutated(name: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """The mutation `name`, applied to the arguments of `ssdlab.run`, for `Study`."""
    change = MUTATIONS[name]

    def apply(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        sections = {key: value for key, value in arguments.items() if key != "requests"}
        device = Experiment(**sections).to_dict()["device"]
        where = "device."
        while "member" in device:
            device, where = device["member"], f"{where}member."
        if device["kind"] != "ssd":
            return arguments
        keys = {f"{where}{key}": value for key, value in change(device).items()}
        return {**arguments, "set": {**arguments.get("set", {}), **keys}}

    return apply
