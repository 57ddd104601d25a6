"""A drive stepped by another program: `Drive` submits timed requests and advances simulated time.

The simulation runs in the engine; this module converts arguments. Times are in seconds, or in
nanoseconds if a name ends in `_ns`: the engine counts whole nanoseconds, to which seconds are
rounded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.arguments import public
from ssdlab.optional import required
from ssdlab.results import Results
from ssdlab.running import Part, layers_of, thread_count

#: Words of `prepared`; any other text is the path of a saved drive.
PREPARED = ("none", "sequential", "steady")


class Drive:
    """A simulated drive that your program steps.

    - `device`, `seed`, `set`, `allow_code`, `threads`: as for `ssdlab.run`;
    - `prepared`: the state before the first request: "steady" (random writes until write
      amplification has settled), "sequential", "random:N" (N overwrites of the drive), or the path
      of a drive that `save` or `run.save_drive` has written.

    The drive begins at time 0. Steps of any length give the answers of `ssdlab.run` with the same
    requests, bit for bit.

    >>> import ssdlab
    >>> drive = ssdlab.Drive("tlc-client", prepared="sequential")
    >>> tag = drive.submit(op="read", offset=4096, bytes=4096)
    >>> [(done.tag == tag, done.status) for done in drive.advance()]
    [(True, 'ok')]

    Raises `InputError` for wrong input, requests and times; the drive is then unchanged. A drive
    has one owner: use by two threads at a time is an `InputError` too.
    """

    __slots__ = ("_drive",)

    @public
    def __init__(
        self,
        device: Part | None = None,
        *,
        prepared: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        set: Mapping[str, Any] | None = None,
        allow_code: bool = False,
        threads: int | str = 1,
    ) -> None:
        stack = layers_of(device=device, seed=seed, set=set, allow_code=allow_code)
        if prepared is not None:
            stack += layers.from_assignments(_preparation(prepared))
        self._drive = _core.DriveHandle(stack, thread_count(threads))

    @property
    def capacity_bytes(self) -> int:
        """Exported bytes."""
        return self._drive.capacity_bytes

    @property
    def now(self) -> float:
        """Current simulated time, s."""
        return self._drive.now_ns / 1e9

    @property
    def now_ns(self) -> int:
        """Current simulated time, ns."""
        return self._drive.now_ns

    @property
    def outstanding(self) -> int:
        """Number of outstanding requests."""
        return self._drive.outstanding

    def submit(
        self,
        at: float | None = None,
        op: str = "read",
        offset: int = 0,
        bytes: int = 4096,
        handle: int | None = None,
        queue: int = 0,
        *,
        fua: bool = False,
        at_ns: int | None = None,
    ) -> int:
        """Submit a request and return its tag: 0, 1, ... in the order of the calls.

        - `at`: arrival time, s, or `at_ns`, ns; by default now. It may be in the future, not in the
          past;
        - `op`: "read", "write", "trim" or "flush"; on a drive of zones also "append", "open",
          "close", "finish", "reset" and the other operations of `Results`;
        - `offset`, `bytes`: the range, in multiples of 512;
        - `handle`: the placement handle of a write, 0 to 254;
        - `queue`: the submission queue, 0 to 65,535;
        - `fua`: forced unit access: the write is durable at completion.

        Raises `InputError` for a time in the past, a range beyond the drive, or an unknown
        operation.
        """
        if at is not None:
            at_ns = _ns("at", at)
        try:
            return self._drive.submit(at_ns, op, offset, bytes, handle, queue, fua)
        except OverflowError:
            raise _out_of_range(
                at_ns=at_ns, offset=offset, bytes=bytes, handle=handle, queue=queue
            ) from None

    def submit_many(
        self,
        at: Any = None,
        op: Any = "read",
        offset: Any = 0,
        bytes: Any = 4096,
        handle: Any = None,
        queue: Any = 0,
        *,
        at_ns: Any = None,
    ) -> range:
        """Submit many requests, all or none, and return their tags.

        Each argument is as for `submit`, or an array of such values (NumPy, Arrow, a list); in
        `handle` 255 is none. The arrays have one length, and their times may be in any order.

        Raises `InputError` as `submit` does, with the number of the request, and without NumPy.
        """
        numpy = required("numpy", "Drive.submit_many")
        given = {"at": at, "at_ns": at_ns, "op": op, "offset": offset, "bytes": bytes}
        given |= {"handle": handle, "queue": queue}
        columns = {name: numpy.asarray(it) for name, it in given.items() if it is not None}
        lengths = {name: len(it) for name, it in columns.items() if it.ndim}
        if len(frozenset(lengths.values())) > 1 or any(it.ndim > 1 for it in columns.values()):
            raise InputError(f"submit_many: the columns have other lengths: {lengths}")
        count = max(lengths.values(), default=1)
        if "at" in columns:
            with numpy.errstate(invalid="ignore"):
                columns["at_ns"] = numpy.rint(columns["at"] * 1e9)
        ops, positions = numpy.unique(columns["op"], return_inverse=True)
        if len(ops) > 255:
            raise InputError(f"submit_many: {len(ops)} names of operations are too many")
        columns["op"] = positions.reshape(columns["op"].shape)

        def column(name: str, kind: str, default: int) -> Any:
            values = columns.get(name, numpy.asarray(default))
            wanted = numpy.iinfo(kind)
            if values.dtype.kind not in "iuf" or values.dtype.kind == "f" and name != "at_ns":
                raise InputError(f"submit_many: {name} has {values.dtype}, not whole numbers")
            if values.size and not (values.min() >= 0 and values.max() <= wanted.max):
                raise InputError(f"submit_many: {name} has values beyond 0 to {wanted.max}")
            return numpy.ascontiguousarray(numpy.broadcast_to(values.astype(kind), count)).tobytes()

        first = self._drive.submit_many(
            column("at_ns", "uint64", self._drive.now_ns),
            [str(it) for it in ops],
            column("op", "uint8", 0),
            column("offset", "uint64", 0),
            column("bytes", "uint64", 0),
            column("handle", "uint8", 255),
            column("queue", "uint16", 0),
        )
        return range(first, first + count)

    def next_event(self) -> float | None:
        """Time of the next event, s: an arrival, or an internal event of the drive.

        An event need not be a completion, as in garbage collection. None if the drive only waits
        for requests.
        """
        at = self._drive.next_event()
        return None if at is None else at / 1e9

    def next_event_ns(self) -> int | None:
        """Time of the next event, ns, as `next_event`."""
        return self._drive.next_event()

    def advance(
        self, to: float | None = None, *, to_ns: int | None = None
    ) -> list[_core.DriveAnswer]:
        """Advance time to `to`, s, or `to_ns`, and return the completions until then, in order.

        Without either, time advances until all requests have completed. A completion has `tag`,
        `at` and `latency` (s), `at_ns` and `latency_ns`, `status` ("ok" or an error), `op`,
        `offset` and `bytes`, and the latency breakdown `parts_ns`.

        Raises `InputError` for a time in the past. Ctrl-C ends the step: the next step returns its
        completions.
        """
        if to is not None:
            to_ns = _ns("to", to)
        try:
            return self._drive.advance(to_ns)
        except OverflowError:
            raise _out_of_range(to_ns=to_ns) from None

    def advance_to_answer(
        self, to: float | None = None, *, to_ns: int | None = None
    ) -> list[_core.DriveAnswer]:
        """`advance` that ends at the next completion, and returns it.

        Steps are fewer and longer than from event to event, as a program needs that submits a
        request at a completion. Further completions of the same instant may be left to the next
        step; the list is empty if there is none until `to`. Raises `InputError` as `advance` does.
        """
        if to is not None:
            to_ns = _ns("to", to)
        try:
            return self._drive.advance_to_answer(to_ns)
        except OverflowError:
            raise _out_of_range(to_ns=to_ns) from None

    def advance_table(self, to: float | None = None, *, to_ns: int | None = None) -> Any:
        """`advance` with the completions as a `pyarrow.Table`, one row each.

        The columns are `tag`, `arrival_ns`, `op`, `offset_bytes`, `size_bytes`, `end_ns`, a column
        `NAME_ns` for each latency component, and `status`, as in a run's record of requests. Raises
        `InputError` also without pyarrow.
        """
        pa = required("pyarrow", "Drive.advance_table")
        if to is not None:
            to_ns = _ns("to", to)
        try:
            columns = self._drive.advance_columns(to_ns)
        except OverflowError:
            raise _out_of_range(to_ns=to_ns) from None

        def array(values: Any, words: list[str] | None) -> Any:
            kind = pa.uint64() if words is None else pa.uint8()
            count = len(values) * 8 // kind.bit_width
            numbers = pa.Array.from_buffers(kind, count, [None, pa.py_buffer(values)])
            return numbers if words is None else pa.DictionaryArray.from_arrays(numbers, words)

        return pa.table({name: array(values, words) for name, values, words in columns})

    def report(self) -> Results:
        """The `Results` so far, as of a run; their experiment has no workload."""
        return Results.from_json(self._drive.report())

    def shut_down(self) -> None:
        """Write the buffers to the flash, and clean half-cleaned blocks: the host shuts it down.

        The drive has events until it rests. The next request turns it on: it begins with an empty
        map cache and without a measured load. Raises `InputError` while requests are not answered.
        """
        self._drive.shut_down()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drive to the file `path` atomically.

        Any drive of these options begins with it (`prepared=path`, `run.load_drive`), and gives the
        answers that this one will give. Raises `InputError` while the drive is at work or was not
        shut down (see `shut_down`), or if a file would not keep its whole state, and `OSError` for
        an error of the system.
        """
        self._drive.save(os.fspath(path))

    def clone(self) -> Drive:
        """An independent copy of the drive, with its report, at any time.

        Raises `InputError` for a drive with a Python cleaning policy, and without enough memory.
        """
        other = Drive.__new__(Drive)
        other._drive = self._drive.clone()
        return other

    def __copy__(self) -> Drive:
        return self.clone()

    def __deepcopy__(self, memo: object) -> Drive:
        return self.clone()

    def __repr__(self) -> str:
        return (
            f"<Drive: {self.capacity_bytes} bytes, {self.outstanding} outstanding at {self.now} s>"
        )


def _preparation(prepared: str | os.PathLike[str]) -> dict[str, str]:
    """The key equivalent to `prepared`."""
    named = os.fspath(prepared)
    is_word = isinstance(prepared, str) and (named in PREPARED or named.startswith("random:"))
    return {"run.precondition" if is_word else "run.load_drive": named}


def _ns(name: str, seconds: float) -> int:
    """The nanoseconds of an argument in seconds."""
    try:
        return round(seconds * 1e9)
    except (OverflowError, ValueError):  # infinite or NaN
        raise InputError(f"argument {name}: {seconds} s is no time") from None


def _out_of_range(**given: int | None) -> InputError:
    """The error for a number beyond the range of the engine's field."""
    shown = ", ".join(f"{name} {it}" for name, it in given.items() if it is not None)
    return InputError(
        f"{shown}: numbers from 0 on are expected; handle up to 254, queue up to 65535"
    )
