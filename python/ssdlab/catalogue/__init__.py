"""The catalogue of available names, and the warnings of results."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab import _core

#: The studies of `ssdlab paper`; the other categories come from the engine.
FIGURES = "figures"


def categories() -> Sequence[str]:
    """The categories of `list`, in display order."""
    return [*_core.list_categories(), FIGURES]


def list(category: str) -> dict[str, str]:
    """The names in a category, each with its one-line summary.

    `category` is one of "devices", "cleaners", "workloads", "formats", "links", "cells",
    "warnings", "keys", "figures". Raises `InputError`, with the valid categories, for any other.

    >>> import ssdlab
    >>> "agrawal2008" in ssdlab.list("devices")
    True
    """
    if category == FIGURES:
        from ssdlab.paper import ITEMS

        return {name: module.SUMMARY for name, module in ITEMS.items()}
    entries = _core.list(category)
    if entries is None:
        raise _core.InputError(
            f'"{category}" is not a category; choose from {", ".join(categories())}'
        )
    from ssdlab import plugins

    return plugins.names(category) | dict(entries) if category in plugins.GROUPS else dict(entries)
