"""Cleaning policies in Python: objects with a method `step`."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from ssdlab._core import Clean, InputError, Rest, View

Action: TypeAlias = Clean | Rest


class Cleaner(Protocol):
    """A cleaning policy: any object with this method."""

    def step(self, view: View) -> Action:
        """Choose a block of the domain that `view` shows, or rest; called once per victim."""
        ...


def require_step(policy: object, where: str) -> None:
    """Raise `InputError` if there is no method `step`; `where` names the policy."""
    if not callable(getattr(policy, "step", None)):
        problem = (
            f"a cleaning policy is an object with a method step(view), and {policy!r} has none"
        )
        raise InputError(f"{where}: {problem}")


def require_numpy() -> None:
    """Raise `InputError` with the install command if NumPy is missing."""
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise InputError(
            "a cleaning policy in Python sees NumPy arrays, and NumPy is not installed: "
            "pip install 'ssdlab[numpy]'"
        ) from error
