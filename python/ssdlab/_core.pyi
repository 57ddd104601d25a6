"""The engine. The public functions around it are in `ssdlab`; see there for their meaning."""

import builtins
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

from numpy import int64, uint8, uint32, uint64
from numpy.typing import NDArray

from ssdlab.cleaners import Cleaner

#: Source, TOML text and, if it is said, whether the layer may name code.
Layers: TypeAlias = Sequence[tuple[str, str] | tuple[str, str, bool]]

version: str

SCHEMA: int

class InputError(ValueError): ...
class CheckError(RuntimeError): ...
class PolicyError(RuntimeError): ...
class InternalError(RuntimeError): ...

FREE: int
OPEN: int
CLOSED: int
VICTIM: int
FILLING: int
RETIRED: int
PASSED_OVER: int

class Clean:
    """The answer that cleans a block."""

    @property
    def block(self) -> int:
        """The block, counted from the first of the domain."""
    def __init__(self, block: SupportsIndex) -> None: ...

class Rest:
    """The answer that cleans nothing now."""

    def __init__(self) -> None: ...

class View:
    """What a cleaning policy sees of the domain in which it must choose a block.

    It can be used until `step` returns; `len` is the number of blocks. The arrays have an element
    for each block, at the number that `Clean` takes. The first four are the drive's own memory,
    read-only and not copied; one that is kept stays as it was.
    """

    @property
    def domain(self) -> int:
        """Number of the domain on the drive."""
    @property
    def pages(self) -> int:
        """Data pages of a block."""
    @property
    def free(self) -> int:
        """Erased blocks of the domain."""
    @property
    def urgent(self) -> bool:
        """Whether no room is left: some block must be cleaned now, and resting is an error."""
    @property
    def clock(self) -> int:
        """Blocks opened so far on the drive: the clock of `opened`."""
    @property
    def random(self) -> float:
        """A number from 0 to below 1, drawn for this step from the run's seed."""
    @property
    def valid(self) -> NDArray[uint32]:
        """Valid pages of each block."""
    @property
    def erases(self) -> NDArray[uint32]:
        """Erasures of each block."""
    @property
    def opened(self) -> NDArray[uint64]:
        """When each block was opened, by the `clock`; 0 for an erased one."""
    @property
    def states(self) -> NDArray[uint8]:
        """What each block is used for: `ssdlab.cleaners.CLOSED` and the other constants there."""
    @property
    def ages(self) -> NDArray[int64]:
        """Blocks opened since each block was, itself counted; made for this step."""
    @property
    def candidates(self) -> NDArray[int64]:
        """The closed blocks that have superseded pages, never none; made for this step."""
    @property
    def emptiest(self) -> int:
        """The candidate with the fewest valid pages, of equals the lowest number."""
    def emptiest_first(self, count: int) -> NDArray[int64]:
        """At most `count` candidates, the fewest valid pages first; made for this step."""
    def oldest_first(self, count: int) -> NDArray[int64]:
        """At most `count` candidates, those filled longest ago first; made for this step."""
    def __len__(self) -> int: ...

def run(
    layers: Layers,
    check: bool = False,
    progress: Callable[[str, int, int | None, int], object] | None = None,
    requests: str | None = None,
    cleaner: Cleaner | None = None,
    threads: int = 1,
) -> str: ...
def cache_folder() -> Path | None: ...
def cache_bound() -> int | None: ...
def cache_make_room(bytes: int) -> bool: ...
def cache_entries(folder: Path) -> str: ...
def cache_clear(folder: Path) -> tuple[int, int]: ...
def check_cleaner(
    make: Callable[[], Cleaner],
) -> tuple[builtins.list[tuple[str, str | None]], BaseException | None]: ...
def reliability(
    *,
    members: int,
    tolerated: int,
    member_bytes: int,
    life: str,
    repair: str,
    repairs_together: bool,
    defects: str | None,
    scrub: str | None,
    defect_bytes: int,
    years: float,
    groups: int,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> str: ...
def keep(layers: Layers, age: str, cycles: float, data_bytes: int) -> str: ...
def retention(layers: Layers, class_name: str) -> str: ...
def media_forms() -> str: ...
def fleet(
    layers: Layers,
    *,
    drives: int,
    years: float,
    bad_blocks: float,
    bad_blocks_shape: float,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> str: ...
def resolve(layers: Layers) -> str: ...
def resolve_json(layers: Layers) -> str: ...
def capacity_bytes(layers: Layers) -> int: ...
def to_parquet(
    columns: Sequence[tuple[str, str, Sequence[Any] | Callable[[], Sequence[Any]]]],
) -> bytes: ...
def check_device(layers: Layers) -> None: ...
def permit_code(layers: Layers) -> None: ...
def set_layer(assignment: str) -> tuple[str, str, bool]: ...
def set_layers(assignments: builtins.list[str]) -> tuple[str, str, bool]: ...
def peers(layers: Layers) -> tuple[str, str, bool]: ...
def preset_layer(section: str, name: str) -> tuple[str, str, bool] | None: ...
def preset_text(section: str, name: str) -> str | None: ...
def unknown_preset(section: str, name: str) -> str: ...
def counters() -> builtins.list[dict[str, Any]]: ...
def latency_parts() -> builtins.list[dict[str, str]]: ...
def list(what: str) -> builtins.list[tuple[str, str]] | None: ...
def list_categories() -> builtins.list[str]: ...
def experiment_schema() -> str: ...
def operations() -> builtins.list[str]: ...
def request_kinds() -> builtins.list[str]: ...
def panic(text: str) -> None: ...
def synonyms() -> builtins.list[tuple[str, builtins.list[str], str]]: ...
def synonym(word: str) -> tuple[str, builtins.list[str], str] | None: ...
def known_as(beginning: bytes) -> str | None: ...
def trace_info(
    path: str,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> str: ...
def trace_head(path: str, options: str, count: int) -> str: ...
def trace_services(
    path: str,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> str: ...
def trace_response_times(
    path: str,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> builtins.list[float]: ...

class PlacementTrace:
    def __init__(
        self,
        path: str,
        options: str,
        progress: Callable[[int, int, int | None], object] | None = None,
    ) -> None: ...
    def facts(self) -> str: ...
    def __len__(self) -> int: ...
    def requests(self, start: int, most: int) -> builtins.list[tuple[int, int, int, bool]]: ...
    def next_overwrites(self) -> builtins.list[int]: ...
    def study(
        self,
        settings: str,
        own: bytes | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> str: ...
    def study_log(
        self,
        settings: str,
        streams: bytes,
        victim: Callable[
            [builtins.list[int], builtins.list[int], builtins.list[int], int, int], int
        ],
    ) -> str: ...

def permutation_passes(
    use_of: float, unit_pages: int, units: int, passes: int, seed: int
) -> tuple[builtins.list[float], builtins.list[float]]: ...
def cache_amplification(
    load: tuple[float, float, float, float, float, float],
    placed: bool,
    unit_pages: int,
    units: int,
    seed: int,
) -> tuple[float, builtins.list[float]]: ...
def stream_amplification(
    load: tuple[float, float, float, float, float],
    over: str,
    given: str,
    unit_pages: int,
    units: int,
    seed: int,
) -> float: ...
def read_decompressed(path: str) -> bytes: ...
def trace_convert(
    source: str,
    target: str,
    format: str | None,
    options: str,
    progress: Callable[[int, int, int | None], object] | None = None,
) -> str: ...

class LiveEntry:
    warnings: builtins.list[str]

    def __init__(
        self,
        *,
        socket: str | os.PathLike[str] | None,
        port: int | None,
        host: str,
        allow_remote: bool,
        tls: tuple[str | os.PathLike[str], bool, bool] | None,
    ) -> None: ...
    def open(self) -> builtins.list[str]: ...
    def close(self) -> None: ...
    def finish(self) -> None: ...

class LiveNamespaces:
    warnings: builtins.list[str]

    def __init__(
        self,
        uri: str,
        allow_remote: bool,
        tls: tuple[str | os.PathLike[str], bool, bool] | None = None,
    ) -> None: ...
    def open(self) -> str: ...
    def close(self) -> None: ...

class LiveDevice:
    uri: str | None
    nvme: str | None
    file: os.PathLike[str] | None
    size_bytes: int
    warnings: builtins.list[str]

    def __init__(
        self,
        layers: Layers,
        *,
        socket: str | os.PathLike[str] | None,
        port: int | None,
        host: str,
        allow_remote: bool,
        size: str | None,
        backing: str | os.PathLike[str] | None,
        record: str | None,
        record_data: str | os.PathLike[str] | None,
        time_scale: float,
        realtime: bool,
        control: str | os.PathLike[str] | None = None,
        overhead: str | os.PathLike[str] | None = None,
        read_only: bool = False,
        mount: str | os.PathLike[str] | None = None,
        vhost_user: str | os.PathLike[str] | None = None,
        nvme: str | tuple[LiveNamespaces, str] | None = None,
        namespaces: str | None = None,
        behind: tuple[LiveEntry, str, str] | None = None,
    ) -> None: ...
    def status(self) -> tuple[int, int, int, float | None, float] | None: ...
    def events(self) -> int | None: ...
    def say(self, line: str) -> str | None: ...
    def stop(self) -> str | None: ...

class ViewedRun:
    def __init__(self, layers: Layers) -> None: ...
    def progress(self) -> tuple[str, int, int | None, int] | None: ...
    def advance(self, step_ns: int, frames: int) -> None: ...
    def seek_slow(self, limit_ns: int, requests: int) -> None: ...
    def frames(self, timeout_seconds: float) -> bytes | None: ...
    def finish(self) -> str | None: ...
    def stop(self) -> None: ...

class DriveAnswer:
    """The answer to a request of a `Drive`."""

    @property
    def tag(self) -> int: ...
    @property
    def at(self) -> float: ...
    @property
    def at_ns(self) -> int: ...
    @property
    def latency(self) -> float: ...
    @property
    def latency_ns(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def parts_ns(self) -> dict[str, int]: ...

class DriveHandle:
    def __init__(self, layers: Layers, threads: int) -> None: ...
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def outstanding(self) -> int: ...
    def submit(
        self,
        at_ns: int | None,
        op: str,
        offset: int,
        bytes: int,
        handle: int | None,
        queue: int,
        fua: bool,
    ) -> int: ...
    def submit_many(
        self,
        at_ns: bytes,
        ops: builtins.list[str],
        op: bytes,
        offset: bytes,
        bytes: bytes,
        handle: bytes,
        queue: bytes,
    ) -> int: ...
    def next_event(self) -> int | None: ...
    def advance(self, to_ns: int | None) -> builtins.list[DriveAnswer]: ...
    def advance_to_answer(self, to_ns: int | None) -> builtins.list[DriveAnswer]: ...
    def advance_columns(
        self, to_ns: int | None
    ) -> builtins.list[tuple[str, bytes, builtins.list[str] | None]]: ...
    def report(self) -> str: ...
    def shut_down(self) -> None: ...
    def save(self, path: str) -> None: ...
    def clone(self) -> DriveHandle: ...
