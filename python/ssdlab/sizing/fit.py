"""Fits a load to a drive other than the recorded one. A drive is simulated at a scale
(`device.scale`), and a recorded volume rarely has its size.

The output explains the treatment of both.
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
from ssdlab.trace import READING
from ssdlab.trace.samples import is_sample, is_wide, written_bytes
from ssdlab.units import size

#: Blocks overwritten by the measured loops: enough erases for a lifetime, with a margin for
#: overwrites in the buffer.
ERASES = 150
#: Cost of starting a replay, in requests: 0.15 ms equal 200; traces with a small footprint settle
#: after ten times the minimum rounds.
A_PASS = 2000
#: Maximum number of replays per run: two seconds of start-up.
MAX_LOOPS = 10_000
#: Number of requests below which a trace gets a note: ten are slower than p99.
FEW = 1000


class Effort(NamedTuple):
    """Bounds on the run of a trial."""

    requests: int
    """Maximum requests of all loops together."""
    bytes: float
    """Maximum bytes read and written."""
    repeated: int
    """Maximum repeated requests (0.7 us each) for the minimum rounds of preconditioning; with 0 the
    drive is overwritten once at random.
    """
    cut: int | None
    """Maximum number of requests of a trace, from its beginning; None for all."""


#: A few seconds per run, and up to 15 s for preconditioning: with two writes in 680 requests a 350
#: MB drive would take 73 million repeated ones.
WHOLE = Effort(300_000, 15e9, 20_000_000, None)
#: Enough to confirm a drive after the comparison.
CONFIRMED = Effort(80_000, 5e9, 1_000_000, 500_000)
#: A fraction of a second per drive: enough for a p99, and to exclude hopeless designs.
BRIEF = Effort(30_000, 2e9, 0, 30_000)


class NoRoomError(InputError):
    """The drives together are too small for the trace's footprint."""

    @property
    def why(self) -> str:
        """The reason without advice."""
        return str(self).partition(": ")[2].partition(": --capacity")[0]


@dataclass(frozen=True)
class Fit:
    """Adaptations of the trace to the drive, with reasons."""

    workload: Mapping[str, Any]
    """Keys of the workload to set."""
    fewest_drives: int
    """Minimum number of drives for the trace's footprint."""
    loops: int
    writes: bool
    """True if the load writes anything."""
    precondition: str
    """Preconditioning of each drive."""
    warm_up: str
    """Warm-up: all loops before the measured ones."""
    words: Sequence[str]
    """Sentences on the adaptations."""


def read(load: Load, resolved: dict[str, Any], capacity_bytes: int) -> Record:
    """Content of the trace, as read by the experiment.

    Raises `InputError`, with the needed option, if the file is ambiguous.
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

    Raises `InputError`, with the needed option, if even the maximum number is too small.
    """
    resolved = Experiment._from_layers(stack).to_dict()
    workload, drive = resolved["workload"], resolved["device"]
    capacity = _core.capacity_bytes(stack)
    if load.trace is None:
        whole = capacity * int(drive.get("scale", 1))
        return _described(load, workload, effort, whole, most_drives)
    path = load.trace
    found = read(load, workload, capacity)
    if not found.requests:
        raise InputError(f"--trace {path}: no requests")
    if written_bytes(found) and not found.duration_seconds:
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
    writes = written_bytes(found) > 0
    return Fit(keys, drives, loops, writes, precondition, warm_up, words)


#: Sentences on a wide trace.
SAMPLE = (
    "A sample: it hardly comes back to its pages. Each replay goes to other places of the "
    "span (workload.loop_places=moved), as the load itself would."
)
RETURNING = (
    "Returning: it comes back to its pages, so that replays go to the same places; the rest "
    "of the drive holds data that are never written."
)


def _addresses(found: Record, beyond: str, scale: int, room: float) -> str:
    """Sentence on addresses, for drives with a total of `room` bytes."""
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


def _described(
    load: Load, workload: Mapping[str, Any], effort: Effort, whole: float, most_drives: int
) -> Fit:
    """Description of an endless load, or of its requests, on drives of `whole` bytes.

    Raises `NoRoomError` if even the maximum number of drives is too small.
    """
    drives = max(math.ceil(load.needed_bytes / whole), 1)
    if drives > most_drives:
        raise NoRoomError(
            f"{load.name}: reaches {size(load.needed_bytes)}, and {most_drives} drives have "
            f"{size(most_drives * whole)}: --capacity {math.ceil(load.needed_bytes / 1e9)}GB "
            "has room"
        )
    streams: Sequence[Mapping[str, Any]] = workload.get("streams") or []
    classes: Mapping[str, Mapping[str, Any]] = workload.get("classes") or {}
    shares = [it.get("read_share") for it in (*streams, *classes.values()) or (workload,)]
    writes = any(it is None or float(it) < 1 for it in shares)
    way = "random:2" if effort.repeated else "random:1"
    stated = "Preconditioned: full, then overwritten twice at random." if effort.repeated else ONCE
    keys = {"requests": effort.requests}
    return Fit(keys, drives, 1, writes, way, "0ns", [stated])


def _preconditioned(
    found: Record, steady: Mapping[str, Any], room: float, effort: Effort
) -> tuple[str, str]:
    """Preconditioning of the drives, with a description.

    The trace is repeated, unless it writes too little.
    """
    if not effort.repeated:
        return "random:1", ONCE
    least = steady["window"] * steady["round_writes"] * room
    written = written_bytes(found)
    requests = (found.requests + A_PASS) * least / written if written else 0.0
    if requests <= effort.repeated:
        return "steady", "Preconditioned: full, then repeated until write amplification settled."
    return "random:2", (
        "Preconditioned: full, then overwritten twice at random. The trace writes too little to be "
        f"repeated until write amplification settles: {least / written:,.0f} times."
    )


def _loops(found: Record, enough: float, effort: Effort, moves: bool) -> tuple[int, int]:
    """Numbers of replays to overwrite the footprint, and to measure.

    The measurement writes `enough` bytes, within the limits of a run. With `moves`, replays use
    other addresses, and overwrite preconditioned data from the first request.
    """
    if not found.duration_seconds:
        return 1, 1
    written = written_bytes(found)
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
