"""Records of results: objects of the JSON of results schema 1, with attribute access."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ssdlab import _core

if TYPE_CHECKING:
    from ssdlab.results import Results

#: Labels of latency components by key, in request order.
PARTS = {row["key"]: row["label"] for row in _core.latency_parts()}
#: Label of the last component for a device without flash.
HEADS, MEDIUM = "in the mechanics", "in the medium"
#: Kinds of request in display order.
KINDS = (*_core.request_kinds(), "all")


#: A float; None without data.
Measured: TypeAlias = Any


class Part(Mapping[str, Any]):
    """A read-only JSON object: `part.key` and `part["key"]` are the same.

    A number is a key too: `percentiles_us[99.9]` is `percentiles_us["99.9"]`. Times are in
    microseconds (`_us`) unless the name says otherwise.

    >>> part = Part({"mean_us": 131.0, "percentiles_us": {"99": 250.5}})
    >>> part.mean_us, part["percentiles_us"][99]
    (131.0, 250.5)
    """

    __slots__ = ("_data",)
    #: Classes of nested objects by key; other keys use `_other`.
    _parts: ClassVar[Mapping[str, type[Part]]] = {}
    _other: ClassVar[type[Part]]

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str | float) -> Any:
        name = key if isinstance(key, str) else f"{key:.10g}"
        return _wrapped(self._data[name], self._parts.get(name, self._other))

    if not TYPE_CHECKING:  # type checkers must find misspelt names

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # never data; also `_data` itself while unpickling
                raise AttributeError(name)
            try:
                return self[name]
            except KeyError:
                raise AttributeError(
                    f"no {name!r} here; fields: {', '.join(map(str, self._data))}"
                ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_valued, self._data.items()))})"

    def to_dict(self) -> dict[str, Any]:
        """A deep copy in plain dicts and lists."""
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy


def _valued(field: tuple[str, Any]) -> str:
    """A field with its value, or its length for an object or a list."""
    key, value = field
    if isinstance(value, Mapping | list):
        return f"{key}=<{len(value)}>"
    return f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value!r}"


class Record(Part):
    """A `Part` whose fields depend on the data."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


Part._other = Record


class Percentiles(Part):
    """Latencies in us: 99.9 % of the requests took at most `percentiles_us[99.9]`."""

    __slots__ = ()


class Kind(Part):
    """Requests of one kind (read, write, trim, flush), or all: counts, rates, latencies in us.

    `iops` and `mb_per_s` (MB of 10^6 bytes) are per second of simulated time.
    """

    __slots__ = ()
    requests: int
    bytes: int
    iops: Measured
    mb_per_s: Measured
    mean_us: float
    std_us: float
    min_us: float
    max_us: float
    percentiles_us: Percentiles
    breakdown_us: Record
    #: Shares of requests without waiting, and of requests that waited for a cleaning unit.
    no_wait_share: Measured
    met_cleaning_share: Measured
    bands: list[Record]
    histogram: Record
    failed: int
    failed_bytes: int
    failures: Record
    _parts = {"percentiles_us": Percentiles}


class Host(Part):
    """Host requests by kind; `all` combines them."""

    __slots__ = ()
    read: Kind
    write: Kind
    trim: Kind
    flush: Kind
    all: Kind
    _other = Kind


class Cleaning(Part):
    """Garbage collection: blocks, moved pages, time in us, and the reclaimed share of a victim."""

    __slots__ = ()
    blocks_cleaned: int
    blocks_migrated: int
    victim_pages: int
    victim_pages_moved: int
    efficiency: Measured
    busy_us: float
    mean_block_us: Measured


class Flash(Part):
    """Flash activity: counts of pages and blocks, bytes, and write amplification."""

    __slots__ = ()
    write_amplification: Measured
    write_amplification_bytes: Measured
    host_bytes_written: int
    host_pages_read: int
    host_pages_written: int
    bytes_programmed: int
    page_reads: int
    page_programs: int
    pages_moved: int
    pages_migrated: int
    pages_trimmed: int
    unmapped_pages_read: int
    summary_programs: int
    merge_reads: int
    copy_backs: int
    block_erases: int
    cleaning: Cleaning
    spare: Record
    media_bytes: Record
    _parts = {"cleaning": Cleaning}


class Wear(Part):
    """Erases of blocks: counted, remaining of the rating, and host bytes until end of life."""

    __slots__ = ()
    mean_erases: float
    std_erases: float
    max_erases: int
    blocks_by_erases: Record
    mean_remaining: float
    std_remaining: float
    remaining: Record
    expired_blocks: int
    retired_blocks: int
    spare_blocks: int
    refused_pages: int
    refused_bytes: int
    ended: bool
    lifetime: Record
    map: list[Record]


class Elapsed(Part):
    """Wall-clock time of the run in seconds, and rates per wall-clock second."""

    __slots__ = ()
    wall_seconds: float
    requests_per_second: float
    page_operations_per_second: float
    threads: Record


def _wrapped(value: Any, part: type[Part]) -> Any:
    if isinstance(value, dict):
        return part(value)
    if isinstance(value, list):
        return [_wrapped(item, part) for item in value]
    return value


def part_labels(results: Sequence[Results]) -> dict[str, str]:
    """Labels of latency components, also for devices without flash."""
    cells = {
        PARTS["cell"] if it.get("flash") else HEADS if it.get("disk") else MEDIUM for it in results
    }
    stated = cells.pop() if len(cells) == 1 else f"{PARTS['cell']} or the medium"
    return PARTS | {"cell": stated}
