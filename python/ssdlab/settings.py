"""Settings of an experiment by full key, and differences of two experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Parts of an experiment other than settings.
NONE = ("title", "version")


def settings(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an experiment by full key.

    >>> settings({"title": "mine", "device": {"channels": 4, "timing": {"read": "25us"}}})
    {'device.channels': 4, 'device.timing.read': '25us'}
    """
    found: dict[str, Any] = {}

    def visit(path: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                visit(f"{path}.{key}" if path else key, inner)
        else:
            found[path] = value

    visit("", {key: value for key, value in experiment.items() if key not in NONE})
    return found


def changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The keys whose values differ between two experiments, with both values.

    >>> changed({"run": {"seed": 1, "until": "end"}}, {"run": {"seed": 2, "until": "end"}})
    {'run.seed': (1, 2)}
    """
    left, right = settings(a), settings(b)
    keys = dict.fromkeys([*left, *right])
    return {k: (left.get(k), right.get(k)) for k in keys if left.get(k) != right.get(k)}
