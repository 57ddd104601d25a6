"""Fitting a load to a drive: a trace to another one than that it was recorded on.

A drive is simulated in part (`device.scale`), and a recorded volume rarely has its size. The output
explains the treatment of both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.readable import counted
from ssdlab.results.records import Record
from ssdlab.running import Experiment
from ssdlab.sizing.load import Load
from ssdlab.sweeps.plan import READING
from ssdlab.units import size

#: Blocks that the measured loops write over: erasures needed for a lifetime, with a margin for a
#: buffer that absorbs overwrites.
ERASES = 150
#: Cost of starting a replay, in requests: 0.15 ms are 200, and a trace that touches little settles
#: after ten times the fewest rounds.
A_PASS = 2000
#: Replays of a run, for the same reason: two seconds of beginnings.
MAX_LOOPS = 10_000
#: A wide trace spans more than this many times its footprint.
WIDE = 2
#: A trace returns to its pages if its parts touch this many times its footprint in sum. A uniform
#: load has one, a skewed load (Zipf, 0.99) over a large volume less than two.
RETURNS = 3
#: A trace with fewer requests gets a note: of its p99 ten requests are slower.
FEW = 1000


class Effort(NamedTuple):
    """Bounds on the run of a trial."""

    requests: int
    """Requests of all loops together."""
    bytes: float
    """Bytes read and written."""
    repeated: int
    """Requests that preconditioning may repeat to write its fewest rounds; 0: none, and the drive
    is overwritten once at random. One takes 0.7 us."""
    cut: int | None
    """Only the first so many requests of a longer trace are run; None: all."""


#: A few seconds a run, and up to a quarter of a minute for preconditioning: under two writes in 680
#: requests a drive of 350 MB would take 73 million repeated ones.
WHOLE = Effort(300_000, 15e9, 20_000_000, None)
#: Enough to confirm a drive after the comparison.
CONFIRMED = Effort(150_000, 8e9, 2_000_000, 1_000_000)
#: A fraction of a second a drive: enough for a p99, and for excluding hopeless designs.
BRIEF = Effort(30_000, 2e9, 0, 30_000)


class NoRoomError(InputError):
    """The drives together lack room for the trace's pages."""

    @property
    def why(self) -> str:
        """The reason without advice."""
        return str(self).partition(": ")[2].partition(": --capacity")[0]


@dataclass(frozen=True)
class Fit:
    """Changes so that the trace fits, and why."""

    workload: Mapping[str, Any]
    """The keys of the workload that are set."""
    fewest_drives: int
    """Fewer have no room for what the trace touches."""
    loops: int
    writes: bool
    """True if the load writes anything."""
    precondition: str
    """Preconditioning of each drive."""
    warm_up: str
    """Every loop before those that are measured."""
    words: Sequence[str]
    """Changes, a sentence each."""


def read(load: Load, resolved: dict[str, Any], capacity_bytes: int) -> Record:
    """Contents of the trace, as read by the experiment.

    Raises `InputError`, with the option that helps, where the file leaves something open.
    """
    path = load.trace
    if str(path) == "-":
        raise InputError("--trace -: the trace is run several times, so it must be a file")
    options = {key: resolved[key] for key in READING if key in resolved}
    try:
        return load.facts(options, resolved["path"], capacity_bytes)
    except InputError as error:
        message = str(error).removeprefix(f"trace {resolved['path']}: ")
        key = message.partition(":")[0]
        example = {"workload.time_unit": "ns", "workload.read_share": "0.7"}.get(key)
        hint = f"; add --set {key}={example}" if example else ""
        raise InputError(f"--trace {path}: {message}{hint}") from None


def fit(load: Load, stack: Sequence[Layer], most_drives: int, effort: Effort) -> Fit:
    """Fit of the experiment's load to its drive, or to several.

    Raises `InputError`, with the option that helps, where even all of them have no room.
    """
    resolved = Experiment._from_layers(stack).to_dict()
    workload, drive = resolved["workload"], resolved["device"]
    if load.trace is None:
        return _described(workload, effort)
    path = load.trace
    capacity = _core.capacity_bytes(stack)
    found = read(load, workload, capacity)
    if not found.requests:
        raise InputError(f"--trace {path}: no requests")
    if _written(found) and not found.duration_seconds:
        all_at_once = "all its requests arrive at the same instant"
        what = "it has one request" if found.requests == 1 else all_at_once
        raise InputError(
            f"--trace {path}: {what}, so that it has no write rate from which a lifetime follows; "
            "take a trace of a longer time"
        )
    words = []
    if found.requests < FEW:
        words.append(
            f"Short: the trace has {counted(found.requests, 'request')}, and the answer rests on "
            "no more than these."
        )
    scale = int(drive.get("scale", 1))
    whole = capacity * scale
    drives = math.ceil(found.footprint_bytes / whole)
    if drives > most_drives:
        raise NoRoomError(
            f"--trace {path}: touches {size(found.footprint_bytes)}, and {most_drives} drives have "
            f"{size(most_drives * whole)}: --capacity {math.ceil(found.footprint_bytes / 1e9)}GB "
            "has room for all of it"
        )
    keeps = workload["beyond"] == "span"
    words.append(_addresses(found, workload["beyond"], scale, drives * whole))
    keys: dict[str, Any] = {}
    moves = keeps and is_sample(found) and workload["loop_places"] == "same"
    if keeps and is_wide(found):
        words.append(SAMPLE if moves else RETURNING)
    if moves:
        keys["loop_places"] = "moved"
    block = capacity * drives / int(drive["blocks_per_plane"])
    loops, measured = _loops(found, block * ERASES, effort, moves)
    keys["loops"] = loops
    if effort.cut is not None and found.requests > effort.cut:
        keys["requests"] = effort.cut
        words.append(f"Cut: the first {effort.cut:,} of {found.requests:,} requests.")
    elif loops > 1:
        last = "one" if measured == 1 else f"{measured} of them"
        words.append(f"Looped: replayed {loops} times, the last {last} measured.")
    else:
        words.append("Not looped: long enough.")
    precondition, stated = _preconditioned(
        found, resolved["run"]["steady"], capacity * drives, effort
    )
    words.append(stated)
    warm_up = f"{round((loops - measured) * found.duration_seconds * 1e9)}ns"
    writes = _written(found) > 0
    return Fit(keys, drives, loops, writes, precondition, warm_up, words)


#: The sentences about a wide trace.
SAMPLE = (
    "A sample: it hardly comes back to its pages. Each replay goes to other places of the "
    "span (workload.loop_places=moved), as the load itself would."
)
RETURNING = (
    "Returning: it comes back to its pages, so that replays go to the same places; the rest "
    "of the drive holds data that are never written."
)


def is_wide(found: Record) -> bool:
    """True if a trace touches less than half of its span."""
    return bool(found.span_bytes > WIDE * found.footprint_bytes)


def is_sample(found: Record) -> bool:
    """True if a trace touches little of its span, and mostly new pages.

    A longer trace of the same load would touch other pages then.
    """
    touched = sum(found.working_set.bytes)
    return is_wide(found) and touched < RETURNS * found.footprint_bytes


def _addresses(found: Record, beyond: str, scale: int, room: float) -> str:
    """The sentence about addresses, for drives of `room` bytes together."""
    if beyond != "span":
        return f"Addresses: workload.beyond={beyond}, as given."
    spans = f"{size(found.footprint_bytes)} touched of a span of {size(found.span_bytes)}"
    if found.span_bytes > room:
        how = f"scaled in chunks to drives of {size(room)}, which are smaller; a full volume of "
        how += f"that span takes --capacity or more drives; {spans}"
    elif scale > 1:
        how = f"scaled in chunks to 1/{scale} of each block, which is simulated, so that up to "
        how += f"{scale} chunks share a place; {spans}"
    else:
        how = f"as recorded; {spans}"
    return f"Addresses: {how}."


#: Description of a drive tested briefly.
ONCE = "Preconditioned: full, then overwritten once at random."


def _described(workload: Mapping[str, Any], effort: Effort) -> Fit:
    """Description of an endless load, or of its requests."""
    streams: Sequence[Mapping[str, Any]] = workload.get("streams") or []
    classes: Mapping[str, Mapping[str, Any]] = workload.get("classes") or {}
    shares = [it.get("read_share") for it in (*streams, *classes.values()) or (workload,)]
    writes = any(it is None or float(it) < 1 for it in shares)
    way = "random:2" if effort.repeated else "random:1"
    stated = "Preconditioned: full, then overwritten twice at random." if effort.repeated else ONCE
    keys = {"requests": effort.requests}
    return Fit(keys, 1, 1, writes, way, "0ns", [stated])


def _preconditioned(
    found: Record, steady: Mapping[str, Any], room: float, effort: Effort
) -> tuple[str, str]:
    """Preconditioning of the drives, with a description.

    The trace is repeated, unless it writes so little that this takes too many requests.
    """
    if not effort.repeated:
        return "random:1", ONCE
    least = steady["window"] * steady["round_writes"] * room
    written = _written(found)
    requests = (found.requests + A_PASS) * least / written if written else 0.0
    if requests <= effort.repeated:
        return "steady", "Preconditioned: full, then repeated until write amplification settled."
    return "random:2", (
        "Preconditioned: full, then overwritten twice at random. The trace writes too little to be "
        f"repeated until write amplification settles: {least / written:,.0f} times."
    )


def _written(found: Record) -> float:
    """The bytes that a trace writes; what neither reads nor writes has no share of reads."""
    reads = 1.0 if found.read_share is None else found.read_share
    return float(found.total_bytes * (1 - reads))


def _loops(found: Record, enough: float, effort: Effort, moves: bool) -> tuple[int, int]:
    """Replays for overwriting the footprint, and for the measurement.

    The measurement writes `enough` bytes, within the limits of a run. With `moves`, replays go to
    other places, and overwrite the data of the preparation from the first request.
    """
    if not found.duration_seconds:
        return 1, 1
    written = _written(found)
    maximum = min(
        MAX_LOOPS,
        effort.requests // found.requests,
        int(effort.bytes // max(found.total_bytes, 1)),
    )
    if not written:
        return 1, 1
    before = 0 if moves else math.ceil(found.footprint_bytes / max(written, 1.0))
    loops = max(min(before + math.ceil(enough / written), maximum), 1)
    return int(loops), int(max(loops - before, 1))
