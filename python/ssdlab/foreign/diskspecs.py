"""A disk of DiskSim (`disksim_disk`, with its model and its seek curve) as keys of `device`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ssdlab._core import InputError
from ssdlab.foreign.given import LARGEST, SECTOR, Given
from ssdlab.foreign.parv import Block, Value

#: Maximum number of lines in a seek curve.
MOST_POINTS = 100_000
#: Parameters without effect at this value, by value.
NEUTRAL = {
    "0": (
        "Per-request overhead time", "Allow almost read hits", "Allow sneaky full read hits",
        "Allow sneaky partial read hits", "Allow sneaky intermediate read hits",
        "Allow write prebuffering", "Preseeking level", "Never disconnect",
        "Hold bus entire read xfer", "Hold bus entire write xfer",
        "Data preparation overhead", "First reselect overhead", "Other reselect overhead",
        "Read disconnect afterread", "Read disconnect afterwrite", "Write disconnect overhead",
        "Extradisc command overhead", "Extradisc disconnect overhead",
        "Extradisc inter-disconnect delay", "Extradisc 2nd disconnect overhead",
        "Extradisc seek delta", "Minimum seek delay", "Minimum read-ahead (blks)",
        "Disconnect write if seek", "Immediate buffer read", "Immediate buffer write",
        "Stop prefetch in sector", "Read-ahead over requested", "Use separate write segment",
    ),
    "1": (
        "Time scale for overheads", "Set watermark by reqsize", "Calc sector by sector",
        "Combine seq writes", "Write hit stop prefetch", "Read directly to buffer",
        "Immed transfer partial hit", "Allow read hits on write data",
    ),
}  # fmt: skip
#: The sparing scheme that counts spare tracks, and tracks with common spare sectors by scheme.
TRACKS, PER = 1, {2: " per 1 cylinders", 3: " per track", 4: " per 1 cylinders"}
OVERHEADS = {
    "read_hit": "Read hit over. after read", "read_hit_after_write": "Read hit over. after write",
    "read_miss": "Read miss over. after read",
    "read_miss_after_write": "Read miss over. after write",
    "read_completion": "Read completion overhead",
    "write_completion": "Write completion overhead",
}  # fmt: skip


def keys(block: Block, bus_ms: float) -> tuple[dict[str, Any], list[str]]:
    """Keys of a disk behind a bus of `bus_ms` per sector, and unsupported parameters."""
    given = Given(block)
    model = given.inner("Model")
    if model is None:
        stated = given.left.get("Model")
        value = Value("nothing", block.line) if stated is None else stated
        raise given.wrong("Model", value, "the file of the model is not there, or has no dm_disk")
    device: dict[str, Any] = {"kind": "disk"}
    geometry, notes = _geometry(model)
    device |= geometry
    given.refuse("Enable caching in buffer", "a disk without a buffer is not modelled", "1", "2")
    is_cached = given.word("Fast write level", {"0": False, "1": True, "2": True}) or False
    device["write_cache"] = "run" if is_cached else "off"
    sector_ms = max(given.number("Bulk sector transfer time") or 0.0, bus_ms)
    device["bus_per_sector"] = _ms(sector_ms)
    device["overhead"] = _overhead(given, is_cached)
    device["buffer"] = _buffer(given, is_cached)
    _queue(given)
    for fine, names in NEUTRAL.items():
        given.neutral(*names, fine=(fine,))
    given.left.pop("Avg sectors per cylinder", None)
    return device, [*notes, *given.rest()]


def simple_keys(given: Given, bus_ms: float) -> dict[str, Any]:
    """Keys of a disk with a constant time of each request, behind a bus of `bus_ms` per sector.

    The order of its queue has no effect on the mean response where all times are equal.
    """
    names = ("Access time", "Constant access time", "Command overhead", "Bus transaction latency")
    fixed_ms = sum(given.number(name) or 0.0 for name in names)
    sector_ms = max(given.number("Bulk sector transfer time") or 0.0, bus_ms)
    law = f"{_ms(fixed_ms)} + {_ms(sector_ms * 2)}/KiB"
    patterns = ("sequential_read", "random_read", "sequential_write", "random_write")
    size = f"{_needed(given, 'Block count') * SECTOR}B"
    _queue(given)
    given.neutral("Never disconnect")
    return {"kind": "law", "size": size} | dict.fromkeys(patterns, law)


def _ms(ms: float) -> str:
    return f"{round(ms * 1e6)}ns"


def _overhead(given: Given, is_cached: bool) -> dict[str, str]:
    kind, unused = ("hit", "miss") if is_cached else ("miss", "hit")
    names = OVERHEADS | {
        "write": f"Write {kind} over. after read",
        "write_after_write": f"Write {kind} over. after write",
    }
    for after in ("read", "write"):
        given.left.pop(f"Write {unused} over. after {after}", None)
    times = {key: given.number(name) for key, name in names.items()}
    if given.word("Extra write disconnect", {"0": False, "1": True}):
        # A write after a write gives the bus back before its data, and its heads leave after these.
        names_before = ("Extradisc command overhead", "Extradisc seek delta")
        times["write_after_write"] = sum(given.number(it) or 0.0 for it in names_before)
    if not is_cached and not given.whole("Never disconnect", least=0):
        # It is answered after the bus is had again.
        again = given.number("First reselect overhead") or 0.0
        times["write_completion"] = (times["write_completion"] or 0.0) + again
    return {key: _ms(ms) for key, ms in times.items() if ms is not None}


def _buffer(given: Given, is_cached: bool) -> dict[str, Any]:
    def size(name: str) -> str | None:
        sectors = given.whole(name, least=0)
        return None if sectors is None else f"{sectors * SECTOR}B"

    ahead = given.word("Buffer continuous read", {"0": None, "1": "own-track", "2": "limit",
                                                  "3": "limit", "4": "track"})  # fmt: skip
    maximum = size("Maximum read-ahead (blks)")
    segments = given.whole("Number of buffer segments") or 1
    is_apart = given.word("Use separate write segment", {"0": False, "1": True})
    if is_apart and not is_cached:
        # Reads never have the one of writes.
        segments = max(segments - 1, 1)
    high, low = given.number("High (read) water mark", 1), given.number("Low (write) water mark", 1)
    if low and low != high:
        given.notes.append(f"not modelled: Low (write) water mark = {low:g}")
    found = {
        "segments": segments,
        "segment": size("Segment size (in blks)"),
        "write_segments": min(
            segments, given.whole("Maximum number of write segments") or segments
        ),
        "keep_writes": True if not is_cached and not is_apart else None,
        "read_ahead": "0B" if ahead is None else maximum,
        "read_ahead_to": ahead,
        "read_ahead_on_hit": given.word("Read-ahead on idle hit", {"0": False, "1": True}),
        "read_on_arrival": given.word("Read any free blocks", {"0": False, "1": True}),
        "send_at": high,
    }
    return {key: value for key, value in found.items() if value is not None}


def _queue(given: Given) -> None:
    """Queues of the disk itself: requests are ordered once, by the driver."""
    if (depth := given.whole("Max queue length")) is not None and depth > 1:
        given.notes.append(f"Max queue length = {depth}: the driver orders all requests")
    given.left.pop("Scheduler", None)


def _geometry(model: Given) -> tuple[dict[str, Any], list[str]]:
    """Layout of sectors, and head movement."""
    layout, mechanics = model.inner("Layout Model"), model.inner("Mechanical Model")
    for inner, kind in ((layout, "dm_layout_g1"), (mechanics, "dm_mech_g1")):
        if inner is None or inner.block.type != kind:
            at = model.block if inner is None else inner.block
            raise InputError(f"{at.path}:{at.line}: {at.type}: a disk of DiskSim needs a {kind}")
    assert layout is not None and mechanics is not None
    cylinders = _needed(model, "Number of cylinders")
    sectors = _needed(model, "Block count")
    rpm = mechanics.number("Rotation speed (in rpms)")
    mechanics.refuse(
        "Access time type", "only an access after seek and rotation is modelled",
        "trackSwitchPlusRotation",
    )  # fmt: skip
    mechanics.neutral("Percent error in rpms")
    seek = _seek(mechanics, cylinders)
    device = {
        "capacity": f"{sectors * SECTOR}B",
        "rpm": round(rpm) if rpm else None,
        # As in the original, which draws no angle.
        "angle": 0.0,
        "cylinders": cylinders,
        "surfaces": _needed(model, "Number of data surfaces"),
        "zones": _zones(layout),
        "seek": seek,
    }
    layout.neutral("LBN-to-PBN mapping scheme")
    notes = [*model.rest(), *mechanics.rest(), *layout.rest()]
    return {key: value for key, value in device.items() if value is not None}, notes


def _needed(given: Given, name: str) -> int:
    number = given.whole(name)
    if number is None:
        raise InputError(f"{given.block.path}:{given.block.line}: {given.block.type} has no {name}")
    return number


def _zones(layout: Given) -> str:
    listed = layout.left.pop("Zones", None)
    values = listed.said if listed is not None and isinstance(listed.said, list) else []
    zones = [Given(it.said) for it in values if isinstance(it.said, Block)]
    scheme = layout.whole("Sparing scheme used", least=0) or 0
    cylinders = layout.whole("Rangesize for sparing") or 1
    per = PER | {8: f" per {cylinders} cylinders"}
    if not zones:
        raise InputError(f"{layout.block.path}:{layout.block.line}: a layout without Zones")
    written, left_out = [], 0
    for zone in zones:
        first = zone.whole("First cylinder number", least=0) or 0
        last, track = zone.whole("Last cylinder number", least=0), _needed(zone, "Blocks per track")
        skews = [zone.number(f"Skew for {it} switch") or 0.0 for it in ("track", "cylinder")]
        text = f"{first}-{last}: {track} skew {round(skews[0])} {round(skews[1])}"
        if spare := zone.whole("Number of spares", least=0):
            spare *= track if scheme == TRACKS else 1
            text += f" spare {spare}{per.get(scheme, '')}"
        if empty := zone.whole("Empty space at zone front", least=0):
            text += f" empty {empty}"
        if angle := zone.number("Offset of first block"):
            text += f" at {round(angle) % track}"
        written.append(text)
        for name in ("slips", "defects"):
            listed = zone.left.pop(name, None)
            left_out += len(listed.said) if listed and isinstance(listed.said, list) else 0
    if left_out:
        layout.notes.append(f"not modelled: {left_out} slipped and defective sectors")
    return ", ".join(written)


def _seek(mechanics: Given, cylinders: int) -> dict[str, str]:
    """Seek times. With a negative settling delay of writes, reads settle later than writes."""
    points = _seek_points(mechanics, cylinders)
    switch = mechanics.number("Head switch time")
    settle = mechanics.number("Add. write settling delay", least=-LARGEST) or 0.0
    earlier = max(0.0, -settle)
    if earlier > min([ms for _, ms in points] + ([] if switch is None else [switch])):
        value = Value(f"{settle:g}", mechanics.block.line)
        problem = "no seek and no head switch can be shorter than 0"
        raise mechanics.wrong("Add. write settling delay", value, problem)
    seek = {
        "table": ", ".join(f"{distance}: {_ms(ms - earlier)}" for distance, ms in points),
        "write_settle": _ms(max(0.0, settle)),
    }
    if switch is not None:
        seek["head_switch"] = _ms(switch - earlier)
    return seek | ({"read_settle": _ms(earlier)} if earlier else {})


def _seek_points(mechanics: Given, cylinders: int) -> list[tuple[int, float]]:
    """Seek times by distance, ms."""
    kind = mechanics.left.pop("Seek type", None)
    used = {
        "extracted": lambda: _curve(mechanics),
        "hpl": lambda: _equation(mechanics, cylinders, 0),
        "hplplus10": lambda: _equation(mechanics, cylinders, 10),
    }
    if kind is None or str(kind) not in used:
        value = Value("nothing", mechanics.block.line) if kind is None else kind
        raise mechanics.wrong("Seek type", value, f"choose from {', '.join(used)}")
    points = list(used[str(kind)]())
    for name in (
        "Single cylinder seek time", "Average seek time", "Full strobe seek time",
        "Full seek curve", "HPL seek equation values", "First ten seek times",
    ):  # fmt: skip
        mechanics.left.pop(name, None)
    return points


def _curve(mechanics: Given) -> Iterator[tuple[int, float]]:
    """The lines `distance, ms` of a file, after the line with their number."""
    value = mechanics.left.get("Full seek curve")
    if value is None:
        raise InputError(
            f"{mechanics.block.path}:{mechanics.block.line}: Seek type = extracted without a "
            "Full seek curve"
        )
    path = mechanics.block.path.parent / str(value)
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(MOST_POINTS * 32).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text"
        problem = f"the seek curve cannot be read: {reason}"
        raise mechanics.wrong("Full seek curve", value, problem) from None
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            distance, ms = line.split(",")
            yield int(distance), float(ms)
        except ValueError:
            raise mechanics.wrong(
                "Full seek curve", value, f"its line {number} is not a distance, a comma and ms"
            ) from None


def _equation(mechanics: Given, cylinders: int, first: int) -> Iterator[tuple[int, float]]:
    """Seek times after Ruemmler and Wilkes (1994): a square root, then a line. `first` is given."""

    def numbers(name: str, count: int) -> list[float]:
        value = mechanics.left.get(name, Value("nothing", mechanics.block.line))
        words = value.said if isinstance(value.said, list) else []
        try:
            found = [float(str(word)) for word in words]
        except ValueError:
            found = []
        if len(found) != count:
            raise mechanics.wrong(name, value, f"expected {count} numbers")
        return found

    until, base, root, line, slope, single = numbers("HPL seek equation values", 6)
    given = numbers("First ten seek times", first) if first else []
    distance = 1
    while distance < cylinders:
        if distance <= len(given):
            ms = given[distance - 1]
        elif distance == 1 and single >= 0:
            ms = single
        elif distance < until:
            ms = base + root * math.sqrt(distance)
        else:
            ms = line + slope * distance
        yield distance, ms
        # The square root needs many points, the line two.
        step = max(1, distance // 16) if distance < until else cylinders
        further = distance + step
        if distance < until < further:
            further = math.ceil(until)
        distance = further if distance == cylinders - 1 else min(further, cylinders - 1)
