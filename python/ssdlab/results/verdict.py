"""The verdict of a run: its bottleneck, with numbers.

A rule maps the facts of a run to a verdict or None; the first of `RULES` with a verdict decides.
Rules use the components of the mean latency and the utilisation of units. A verdict names a cause
and changes that may help; `advice.py` tries them before any is advised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ssdlab import readable
from ssdlab.charts.style import part_role
from ssdlab.results import Results
from ssdlab.results.facts import Facts, tail
from ssdlab.results.records import part_labels
from ssdlab.units import plural

#: Minimum share of a significant component of the mean.
MATTERS = 0.3
#: Share of a component above which "most" is omitted.
HALF = 0.5
#: Utilisation above which units are at their limit.
FULL = 0.85
#: Utilisation below which units have spare capacity.
IDLE = 0.6
#: Minimum share of waiting for a bottleneck.
LITTLE_WAITING = 0.25
#: Ratio of the busiest unit's to the mean utilisation above which load is uneven.
UNEVEN = 1.3

WAITING = ("host_queue", "buffer", "unit", "cleaning", "suspend")


class Verdict(NamedTuple):
    """Bottleneck of a run."""

    #: A name in `RULES`.
    name: str
    #: The verdict's sentence.
    sentence: str
    #: The evidence, and other checks.
    why: str
    #: Assignments to try.
    changes: tuple[str, ...] = ()


Rule = Callable[[Facts], "Verdict | None"]


def verdict(results: Results) -> Verdict:
    """The verdict on one run."""
    facts = Facts(results)
    for rule in RULES:
        if found := rule(facts):
            return found
    return _largest(facts)


def _no_requests(facts: Facts) -> Verdict | None:
    if facts.all.requests:
        return None
    return Verdict("nothing_ran", "No request completed: there is no bottleneck to find.", "")


def _no_latency(facts: Facts) -> Verdict | None:
    if facts.mean > 0:
        return None
    return Verdict(
        "no_time",
        "This device has zero latency: it is no bottleneck.",
        "Every request completed at once.",
    )


def _cleaning(facts: Facts) -> Verdict | None:
    """Requests wait for cleaning units, or for a buffer that garbage collection keeps full."""
    waiting = facts.share("cleaning")
    behind = facts.share("unit", "buffer", "suspend", "host_queue", "cleaning")
    busy = facts.busy or 0.0
    mostly = busy > FULL and facts.cleaning > 0.5 * busy and behind > MATTERS
    if waiting < MATTERS and not mostly:
        return None
    flash = facts.results.get("flash") or {}
    block_us = (flash.get("cleaning") or {}).get("mean_block_us")
    if waiting >= MATTERS:
        by = f"{readable.about(waiting)} of the mean latency ({readable.time(facts.mean)})"
        most = "limits" if waiting >= HALF else "is the main limit of"
        sentence = f"Cleaning {most} this drive: {by} is waiting for a cleaning {facts.unit}."
    else:
        by = f"{readable.about(facts.cleaning / busy)} of the busy time of the {facts.unit}s"
        sentence = f"Cleaning limits this drive: it is {by}, which are always busy."
    why = []
    if block_us:
        why.append(f"Cleaning one block takes {readable.time(block_us)}")
    amplification = flash.get("write_amplification_bytes")
    if amplification:
        programs = f"write amplification is {readable.grouped(amplification)}"
        why.append(programs if why else programs.capitalize())
    text = ", and ".join(why) + ". " if why else ""
    text += f"{facts.load().capitalize()}." if facts.load() else ""
    return Verdict("cleaning", sentence, text, _gentler_cleaning(facts))


def _gentler_cleaning(facts: Facts) -> tuple[str, ...]:
    """Paced or yielding garbage collection, and more spare space."""
    cleaning = f"{facts.drive}.cleaning"
    found = []
    if facts.setting(f"{cleaning}.pace") not in (None, "token") and facts.buffered:
        found.append(f"{cleaning}.pace=token")
    if facts.setting(f"{cleaning}.time") == "blocking":
        found.append(f"{cleaning}.time=interleaved")
    return _known(*found, _more_spare(facts))


def _known(*changes: str | None) -> tuple[str, ...]:
    return tuple(change for change in changes if change)


def _more_spare(facts: Facts) -> str:
    drive = facts.drive
    if facts.setting(f"{drive}.capacity") not in (None, "default"):
        return facts.times(f"{drive}.capacity", 0.9) or ""
    spare = facts.setting(f"{drive}.spare_factor")
    more = min(float(spare) + 0.1, 0.5) if isinstance(spare, int | float) else None
    return f"{drive}.spare_factor={more:.3g}" if more else ""


def _host_link(facts: Facts) -> Verdict | None:
    share = facts.share("host_link")
    full = facts.link is not None and facts.link > FULL
    if share < MATTERS or (facts.largest != "host_link" and not full):
        return None
    by = f"{readable.about(share)} of the mean latency ({readable.time(facts.mean)})"
    rate = f"it carried {readable.throughput(facts.all.mb_per_s)}"
    bandwidth = facts.bandwidth
    of = f" of its {readable.throughput(bandwidth)}" if bandwidth else ""
    return Verdict(
        "host_link",
        f"The host link limits this drive: {by} is on the link or waiting for it.",
        f"{rate[0].upper()}{rate[1:]}{of}. {facts.load().capitalize()}.",
        ("device.host_link.bandwidth=unlimited",),
    )


def _host_queue(facts: Facts) -> Verdict | None:
    """Requests wait in the host while units are idle."""
    share = facts.share("host_queue")
    depth = facts.setting("device.host_link.queue_depth")
    busy = facts.busy
    if share < MATTERS or depth in (None, "unlimited") or (busy is not None and busy > IDLE):
        return None
    by = f"{readable.about(share)} of the mean latency ({readable.time(facts.mean)})"
    return Verdict(
        "host_queue",
        f"The queue depth of {depth} limits this drive: {by} is waiting for a free slot.",
        f"Meanwhile {facts.load()}.",
        ("device.host_link.queue_depth=unlimited",),
    )


def _outstanding(facts: Facts) -> Verdict | None:
    """A closed loop with too low a queue depth."""
    asked = facts.outstanding
    if asked is None or facts.busy is None or facts.busy > IDLE:
        return None
    if facts.share(*WAITING) > LITTLE_WAITING or facts.share("host_link") > MATTERS:
        return None
    few = "one request" if asked == 1 else f"{asked} requests"
    threads = facts.setting("workload.threads") or 1
    number = max(1, round(4 * asked / int(threads)))
    units, idle = plural(facts.unit), readable.about(1 - facts.busy)
    return Verdict(
        "outstanding",
        f"The host limits this drive: with {few} outstanding its {units} are {idle} idle.",
        f"A request takes {readable.time(facts.mean)}, {_waits(facts)} of it waiting.",
        (f"workload.outstanding={number}",),
    )


def _buffer(facts: Facts) -> Verdict | None:
    full = (facts.busy or 0.0) > FULL
    if facts.share("buffer") < MATTERS or not (full or facts.largest == "buffer"):
        return None
    share = readable.about(facts.share("buffer"))
    by = f"{share} of the mean latency ({readable.time(facts.mean)})"
    return Verdict(
        "buffer",
        f"The write buffer limits this drive: {by} is waiting for room in it.",
        f"The host writes faster than the flash programs: {facts.load()}.",
        _known(facts.times(f"{facts.drive}.dies_per_package", 2), *_gentler_cleaning(facts)),
    )


def _busy_units(facts: Facts) -> Verdict | None:
    share = facts.share("unit", "suspend", "host_queue")
    if share < MATTERS or share < facts.share("bus", "cell") / 2:
        return None
    unit, busy = facts.unit, facts.busy
    units = plural(unit)
    by = f"{readable.about(share)} of the mean latency ({readable.time(facts.mean)})"
    asked = facts.outstanding
    wait = f"{by} is waiting for a busy {unit}"
    if unit == "disk":
        why = f"The heads are {readable.about(busy or 0.0)} busy."
        return Verdict("busy_units", f"The disk limits this run: {wait}.", why)
    if busy is None:
        why = "This device serves a fixed number of requests at a time."
        return Verdict("busy_units", f"The device limits this run: {wait}.", why)
    uneven = facts.busiest > UNEVEN * busy
    if busy > FULL:
        sentence = (
            f"The {units} limit this drive: they are {readable.about(busy)} busy, and {wait}."
        )
    elif uneven:
        most = (
            f"the busiest is {readable.about(facts.busiest)} busy, the mean {readable.about(busy)}"
        )
        sentence = f"The {units} are unevenly loaded: {most}, and {wait}."
    else:
        sentence = f"Requests compete for the same {units}, which are not always busy: {wait}."
    why = f"{facts.load().capitalize()}." if facts.load() else ""
    if asked and len(facts.units):
        why += f" {asked} requests are outstanding over {len(facts.units)} {units}."
    elif facts.overloaded:
        why += " The offered load exceeded the throughput, so requests queued up."
    return Verdict(
        "busy_units",
        sentence,
        why,
        _known(facts.times(f"{facts.drive}.channels", 2)),
    )


def _buses(facts: Facts) -> Verdict | None:
    share = facts.share("bus")
    if facts.largest != "bus" or share < MATTERS:
        return None
    by = f"{readable.about(share)} of the mean latency ({readable.time(facts.mean)})"
    full = facts.buses is not None and facts.buses > IDLE
    sentence = (
        f"The buses limit this drive: {by} is on a bus or waiting for one."
        if full
        else f"Transfers are the largest part of a request: {by} is spent on the bus between "
        f"controller and flash."
    )
    timing = f"{facts.drive}.timing"
    faster = facts.times(f"{timing}.bus_rate", 2) or facts.times(f"{timing}.bus_per_byte", 0.5)
    why = f"{facts.load().capitalize()}." if facts.load() else ""
    return Verdict("buses", sentence, why, _known(faster))


def _cells(facts: Facts) -> Verdict | None:
    share = facts.share("cell")
    if facts.largest != "cell" or share < MATTERS or not facts.results.get("flash"):
        return None
    reads = (facts.results.host.read.requests or 0) >= facts.all.requests / 2
    what = "reading" if reads else "programming"
    by = f"{readable.about(share)} of the mean latency ({readable.time(facts.mean)})"
    key = "read" if reads else "program"
    change = facts.times(f"{facts.drive}.timing.{key}", 0.5)
    return Verdict(
        "cells",
        f"The flash cells are the bottleneck: {by} is {what} them.",
        f"{facts.load().capitalize()}; {_waits(facts)} of the time is waiting.",
        _known(change),
    )


def _below_saturation(facts: Facts) -> Verdict | None:
    """The drive meets the load, with little waiting."""
    if facts.overloaded or facts.outstanding is not None:
        return None
    if facts.share(*WAITING) > LITTLE_WAITING or facts.busiest > FULL:
        return None
    ratio = facts.mean / facts.fastest if facts.fastest else 0.0
    beside = f", {readable.grouped(ratio)} times the minimum" if ratio else ""
    load = f" {facts.load().capitalize()}." if facts.load() else ""
    slowest = re.sub(r"(?<=\d) ", readable.THIN, f" {tail(facts.results) or ''}").rstrip()
    return Verdict(
        "nothing",
        f"Below saturation: the mean latency is {readable.time(facts.mean)}{beside}.{slowest}",
        f"{_waits(facts)[0].upper()}{_waits(facts)[1:]} of the mean is waiting.{load}",
    )


def _largest(facts: Facts) -> Verdict:
    """Fallback: names the largest component."""
    part = facts.largest
    by = f"{readable.about(facts.shares[part])} of the mean latency ({readable.time(facts.mean)})"
    load = f"{facts.load().capitalize()}." if facts.load() else ""
    change = None
    if part == "firmware":
        change = facts.times(f"{facts.drive}.firmware.cores", 2)
    return Verdict(
        part,
        f"The largest part of a request is {_label(part, facts)}: {by}.",
        load,
        _known(change),
    )


def _label(role: str, facts: Facts) -> str:
    labels = part_labels([facts.results])
    return next(label for part, label in labels.items() if part_role(part) == role)


def _waits(facts: Facts) -> str:
    share = facts.share(*WAITING)
    return readable.about(share) if share >= 0.0005 else "none"


#: Rules in order: a cause before its consequences.
RULES: tuple[Rule, ...] = (
    _no_requests,
    _no_latency,
    _cleaning,
    _host_link,
    _host_queue,
    _outstanding,
    _buffer,
    _busy_units,
    _below_saturation,
    _buses,
    _cells,
)
