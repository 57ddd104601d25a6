"""Points of a sweep: every experiment with every combination of the axes' values.

A point is a stack of layers like any run's. It has its experiment's seed, so that all designs serve
the same requests, and equals `ssdlab run` with the same settings. Its key is a digest of all
inputs.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ssdlab import _core, layers, sources
from ssdlab import trace as traces
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.sweeps.space import NAMES, Axis, Share, text_of

#: The key whose `footprint` values mean the resulting capacity.
BLOCKS = "device.blocks_per_plane"
#: Maximum number of unusable values in a message.
MOST_SHOWN = 8


@dataclass(frozen=True)
class Base:
    """Common part of all points.

    `below` has the layers below the varied keys, `peers` the assignments beside them, `above` the
    layers above. `allow_code` permits varied files to name code; layers have their own permission.
    """

    below: Sequence[Layer]
    peers: Sequence[Layer] = ()
    above: Sequence[Layer] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    allow_code: bool = False


@dataclass(frozen=True)
class Point:
    """A resolved experiment of a sweep, or its error."""

    parameters: dict[str, Any]
    layers: Sequence[Layer]
    key: str
    error: str | None = None


def size(bases: Sequence[Base], axes: Sequence[Axis]) -> int:
    """Number of points of a grid."""
    return len(bases) * math.prod(len(axis.values) for axis in axes)


def grid(bases: Sequence[Base], axes: Sequence[Axis], check: bool) -> list[Point]:
    """Every point of the grid; the last axis varies fastest.

    Raises `InputError` for duplicate axes and for unusable values: each point is resolved, and its
    drive's geometry derived, before the first run.
    """
    _refuse_twice(axes)
    footprints = Footprints()
    points: list[Point] = []
    usable: set[tuple[int, int]] = set()
    refused: dict[tuple[int, int], str] = {}
    for base in bases:
        ranges = [range(len(axis.values)) for axis in axes]
        for choice in itertools.product(*ranges):
            values = [axis.values[index] for axis, index in zip(axes, choice, strict=True)]
            point = make(base, axes, values, check, footprints)
            points.append(point)
            if point.error is None:
                usable.update(enumerate(choice))
            else:
                refused.update(dict.fromkeys(enumerate(choice), point.error))
    useless = list(
        dict.fromkeys(why for position, why in refused.items() if position not in usable)
    )
    if useless:
        more = [f"and {len(useless) - MOST_SHOWN} more"] if len(useless) > MOST_SHOWN else []
        raise InputError("\n".join([*useless[:MOST_SHOWN], *more]))
    if all(point.error for point in points):
        raise InputError(next(point.error for point in points if point.error))
    return points


def choices(axes: Sequence[Axis]) -> list[tuple[Any, ...]]:
    """Every combination of the axes' values; the last axis varies fastest."""
    _refuse_twice(axes)
    return list(itertools.product(*(axis.values for axis in axes)))


def _refuse_twice(axes: Sequence[Axis]) -> None:
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{axes[0].source} {name}: given twice; write its values in one list")


def make(
    base: Base, axes: Sequence[Axis], values: Sequence[Any], check: bool, footprints: Footprints
) -> Point:
    """The point with these values of the axes."""
    parameters: dict[str, Any] = dict(base.parameters)
    below, relative = list(base.below), []
    peers = list(base.peers)
    stack = below
    try:
        for axis, value in zip(axes, values, strict=True):
            if isinstance(value, Share):
                relative.append((axis, value))
                continue
            parameters[axis.name] = value
            if axis.name in NAMES:
                named = _layers(axis, value)
                below += layers.permitting(named) if base.allow_code else named
            else:
                peers += _layers(axis, value)
        stack = [*below, *layers.peers(peers), *base.above]
        for axis, value in relative:
            text = footprints.resolve(stack, axis, value)
            parameters[axis.name] = text
            parameters[f"{axis.name}.footprint_share"] = value.share
            peers += _layers(axis, text)
            stack = [*below, *layers.peers(peers), *base.above]
        resolved = _core.resolve_json(stack)
        _core.permit_code(stack)
        _core.check_device(stack)
    except InputError as error:
        seen = {axis.name: text_of(v) for axis, v in zip(axes, values, strict=True)}
        return Point(parameters | seen, stack, _key([json.dumps(seen)]), str(error))
    return Point(parameters, stack, digest(resolved, check))


def _layers(axis: Axis, value: Any) -> list[Layer]:
    """The layers of one value, named after the axis."""
    source = axis.assignment(value)
    if axis.name == "trace":
        return layers.from_trace(source, value)
    if axis.name in NAMES:
        return [sources.from_name(axis.name, value)]
    return [layers.from_assignment(axis.name, value)._replace(source=source)]


def digest(resolved: str, check: bool) -> str:
    """The key of a point: digest of its experiment, its files' state, and the version."""
    parts = [_core.version, str(check), resolved]
    experiment = json.loads(resolved)
    if (path := experiment.get("workload", {}).get("path")) is not None:
        parts.append(_state(path))
    if (path := experiment.get("run", {}).get("load_drive")) is not None:
        parts.append(_state(path))
    policy = experiment.get("device", {}).get("cleaning", {}).get("policy", "")
    if ":" in policy:  # a Python module
        parts.append(_state(policy.partition(":")[0].replace(".", os.sep) + ".py"))
    return _key(parts)


def _key(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _state(path: str) -> str:
    """State of a file, which changes with its content."""
    try:
        stat = os.stat(path)
    except OSError:
        return "elsewhere"
    return f"{stat.st_size} {stat.st_mtime_ns}"


class Footprints:
    """Sizes relative to the footprint of a trace, each trace read once."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._blocks: dict[tuple[str, int], int] = {}

    def resolve(self, stack: Sequence[Layer], axis: Axis, value: Share) -> Any:
        """The value of `axis`: a size, or the number of blocks for this capacity."""
        experiment = json.loads(_core.resolve_json(stack))
        workload = experiment["workload"]
        if workload.get("kind") != "trace":
            raise InputError(f"{axis.assignment(value)}: only a trace has a footprint")
        wanted = round(self._footprint(workload) * value.share)
        if axis.name != BLOCKS:
            return f"{max(wanted // 4096, 1) * 4096}B"
        key = json.dumps(experiment["device"]), wanted
        if key not in self._blocks:
            blocks = int(experiment["device"]["blocks_per_plane"])
            self._blocks[key] = blocks_for(stack, blocks, wanted)
        return self._blocks[key]

    def _footprint(self, workload: dict[str, Any]) -> int:
        options = {key: workload[key] for key in traces.READING if key in workload}
        key = json.dumps([workload["path"], options])
        if key not in self._bytes:
            self._bytes[key] = traces.info(workload["path"], **options).footprint_bytes
        return self._bytes[key]


def blocks_for(stack: Sequence[Layer], blocks: int, wanted: int) -> int:
    """Minimum number of blocks per plane for a capacity of at least `wanted` bytes."""

    def capacity(count: int) -> int:
        layer = layers.from_assignment(BLOCKS, count)
        try:
            return _core.capacity_bytes([*stack, layer])
        except InputError:
            if count < blocks:
                return 0  # too few blocks for a drive
            raise

    low, high = 0, max(math.ceil(blocks * wanted / max(capacity(blocks), 1)), 1)
    while capacity(high) < wanted:
        low, high = high, high * 2
    low = max(low, high - max(high // 8, 4)) if capacity(high - max(high // 8, 4)) < wanted else low
    while high - low > 1:
        middle = (low + high) // 2
        if capacity(middle) < wanted:
            low = middle
        else:
            high = middle
    return high


def numbered(points: Sequence[Point]) -> Iterator[tuple[int, Point]]:
    """Distinct valid points with their index."""
    seen: set[str] = set()
    for position, point in enumerate(points):
        if point.error is None and point.key not in seen:
            seen.add(point.key)
            yield position, point
