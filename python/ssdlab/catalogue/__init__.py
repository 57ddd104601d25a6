"""The catalogue of available names, and the warnings of results."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab import _core

#: The studies of `ssdlab paper`; the other categories come from the engine.
FIGURES = "figures"


def categories() -> Sequence[str]:
    """The categories of `list`, in display order."""
    return [*_core.list_categories(), FIGURES]


def list(what: str) -> dict[str, str]:
    """The names in the category `what`, each with its one-line summary.

    `what` is one of "devices", "cleaners", "workloads", "formats", "links", "cells", "warnings",
    "keys", "figures". Raises `InputError`, with the valid categories, for any other.

    >>> import ssdlab
    >>> "agrawal2008" in ssdlab.list("devices")
    True
    """
    if what == FIGURES:
        from ssdlab.paper import ITEMS

        return {name: module.SUMMARY for name, module in ITEMS.items()}
    entries = _core.list(what)
    if entries is None:
        raise _core.InputError(f'"{what}" is not a category; choose from {", ".join(categories())}')
    from ssdlab import plugins

    return plugins.names(what) | dict(entries) if what in plugins.GROUPS else dict(entries)
