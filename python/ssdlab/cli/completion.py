"""Shell completion: presets, keys, policies and other names, beside options and files.

click generates the scripts for bash, zsh and fish; this module completes values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from ssdlab import catalogue

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: Choices of a key, at the end of its summary, separated by bars.
_CHOICES = re.compile(r"\(([\w-]+(?: \| [\w-]+)+)[^()]*\)$")


def _items(entries: dict[str, str], begun: str) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=summary)
        for name, summary in entries.items()
        if name.startswith(begun)
    ]


def names(category: str, file: bool = False) -> Complete:
    """Completes the names of a category and, with `file`, paths."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        found = _items(catalogue.list(category), begun)
        return [*found, CompletionItem(begun, type="file")] if file else found

    return complete


def categories(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes the kinds of names."""
    return [CompletionItem(it) for it in catalogue.categories() if it.startswith(begun)]


def every_name(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes the names of all categories."""
    found: dict[str, str] = {}
    for category in catalogue.categories():
        found |= catalogue.list(category)
    return _items(found, begun)


def pages(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes the pages of the docs."""
    from ssdlab.catalogue import pages

    return _items({name: pages.title(text) for name, text in pages.pages().items()}, begun)


def sides(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes a side of a comparison: policies, keys and files."""
    found = _items(catalogue.list("cleaners"), begun)
    return [*found, *_assignments(begun, False), CompletionItem(begun, type="file")]


def assignment(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes KEY=VALUE: keys by path, with or without `device.`, then their choices."""
    return _assignments(begun, False)


def axis(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completion of KEY=A,B,C, where a key may also be device, workload or trace."""
    return _assignments(begun, True)


def _assignments(begun: str, varied: bool) -> list[CompletionItem]:
    key, is_value, value = begun.partition("=")
    if is_value:
        done, comma, last = value.rpartition(",") if varied else ("", "", value)
        return [
            CompletionItem(f"{key}={done}{comma}{word}")
            for word in _values(key)
            if word.startswith(last)
        ]
    found: dict[str, str] = {}
    for name, summary in catalogue.list("keys").items():
        if "*" in name:
            continue
        found[f"{name}="] = summary
        if name.startswith("device.") and name.count(".") > 1:
            found[f"{name.removeprefix('device.')}="] = summary
    if varied:
        found = {"device=": "presets", "workload=": "presets", "trace=": "files"} | found
    return _items(found, begun)


def _values(key: str) -> Iterable[str]:
    if key in ("device", "workload"):
        return catalogue.list(f"{key}s")
    if key.endswith("cleaning.policy"):
        return catalogue.list("cleaners")
    if key.endswith("cell.preset"):
        return catalogue.list("cells")
    known = catalogue.list("keys")
    summary = known.get(key) or known.get(f"device.{key}", "")
    if summary.endswith((")",)) and "(true or false" in summary:
        return ("true", "false")
    choices = _CHOICES.search(summary)
    return choices[1].split(" | ") if choices else ()
