"""Finding keys and names by the words that people of the field use for them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ssdlab import catalogue
from ssdlab._core import InputError

#: What others call it: the words by which it is found here.
SYNONYMS: Mapping[str, Sequence[str]] = {
    "bs": ("block_size",),
    "discard": ("trim",),
    "dwpd": ("rated_cycles", "service_years"),
    "garbage collection": ("cleaning",),
    "gc": ("cleaning",),
    "invalid": ("superseded",),
    "iodepth": ("queue_depth", "outstanding", "classes.*.depth"),
    "ncq": ("queue_depth",),
    "numjobs": ("workload.threads", "classes.*.threads"),
    "op": ("over_provisioning", "spare_factor", "spare_blocks_per_plane", "device.capacity"),
    "overprovisioning": ("over_provisioning", "spare_factor"),
    "p/e cycles": ("rated_cycles",),
    "pe cycles": ("rated_cycles",),
    "plp": ("power_loss_protected",),
    "qd": ("queue_depth", "outstanding", "classes.*.depth"),
    "ramp_time": ("run.warm_up",),
    "runtime": ("run.until",),
    "rwmixread": ("read_share",),
    "skew": ("locality",),
    "stale": ("superseded",),
    "tbw": ("rated_cycles", "service_years"),
    "theta": ("locality",),
    "unmap": ("trim",),
    "wear leveling": ("levelling",),
    "write cache": ("device.buffer", "write_cache"),
    "zipf": ("locality",),
}
#: Commands that answer what a word asks.
COMMANDS: Mapping[str, str] = {
    "dwpd": "ssdlab endurance DEVICE, ssdlab size --trace FILE --years 5",
    "gc": "ssdlab list cleaners",
    "garbage collection": "ssdlab list cleaners",
    "tbw": "ssdlab endurance DEVICE, ssdlab size --trace FILE --years 5",
}
#: How a name of each category is used.
USES: Mapping[str, str] = {
    "devices": "ssdlab run --device {}",
    "cleaners": "ssdlab run --set cleaning.policy={}",
    "workloads": "ssdlab run --workload {}",
    "formats": "ssdlab run --trace FILE --set workload.format={}",
    "links": "ssdlab run --set device.host_link.bandwidth={}",
    "cells": "ssdlab run --device tlc-enterprise --set device.cell.preset={}",
    "keys": "ssdlab run --set {}=VALUE",
    "figures": "ssdlab paper {}",
}


class Found(NamedTuple):
    """A name in a category, with its summary."""

    category: str
    name: str
    summary: str


def terms(search: str) -> Sequence[str]:
    """The words by which `search` is found here; itself where it is no synonym."""
    return SYNONYMS.get(search.strip().lower(), (search.strip(),))


def keys(search: str) -> list[Found]:
    """The keys that `search` is about: first those whose names say so, then those that mention it.

    >>> [found.name for found in keys("bs")][0]
    'workload.block_size'
    """
    every = catalogue.list("keys")
    words = [term.lower() for term in terms(search)]
    named = [name for name in every if any(word in name.lower() for word in words)]
    if (wanted := search.strip().lower()) not in SYNONYMS:
        parts = wanted.split()
        said = [
            name
            for name, summary in every.items()
            if all(part in f"{name} {summary}".lower() for part in parts)
        ]
        named = sorted(named, key=lambda name: not name.lower().endswith(wanted))
    else:
        said = [name for name, it in every.items() if any(word in it.lower() for word in words)]
    return [Found("keys", name, every[name]) for name in dict.fromkeys([*named, *said])]


def named(name: str) -> list[Found]:
    """What is called `name`, in every category; a key by its end as well.

    Raises `InputError`, with what is near or what it is called here, where nothing is.
    """
    found = []
    for category in catalogue.categories():
        entries = catalogue.list(category)
        for each, summary in entries.items():
            if each == name or (category == "keys" and each.endswith(f".{name}")):
                found.append(Found(category, each, summary))
    if found:
        return found
    lower = name.strip().lower()
    if lower in SYNONYMS:
        hint = f"called {', '.join(SYNONYMS[lower])} here: ssdlab keys {lower!r}"
        if lower in COMMANDS:
            hint += f"; {COMMANDS[lower]}"
        raise InputError(f'nothing is called "{name}"; it is {hint}')
    every = [each for category in catalogue.categories() for each in catalogue.list(category)]
    near = difflib.get_close_matches(name, every, n=3, cutoff=0.6)
    near += [key for key in every if key.rpartition(".")[2] == name]
    hint = f"; did you mean {', '.join(near)}?" if near else "; ssdlab list has the names"
    raise InputError(f'nothing is called "{name}"{hint}')
