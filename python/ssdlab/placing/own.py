"""Placement policies written in Python: their interface, and the conformance suite."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError, PolicyError
from ssdlab.cleaners.conformance import CheckReport, checked
from ssdlab.placing.drive import Drive

PAGE = 4096
#: Number of requests fetched from the engine at once.
BATCH = 1 << 16
#: Weight of the last lifetime in the moving average of lifetimes.
LAST = 0.25


class WriteRequest(NamedTuple):
    """A write of the trace, in whole pages of 4 KiB."""

    offset: int
    """Byte offset on its device."""
    bytes: int
    device: int
    """Number of the device in the trace."""
    fua: bool
    """True for forced unit access (FUA)."""
    number: int
    """Index among the writes and trims of the trace."""


class View:
    """State visible to a policy; `now` counts bytes written by the host so far."""

    def __init__(self, handles: int, unit_bytes: int, future: Sequence[int]) -> None:
        self.handles = handles
        """Number of placement handles."""
        self.unit_bytes = unit_bytes
        """Bytes of a reclaim unit."""
        self.now = 0
        self._last: dict[tuple[int, int], int] = {}
        self._mean: dict[tuple[int, int], float] = {}
        self._future = future

    def last_write(self, offset: int, device: int = 0) -> int | None:
        """`now` at the page's last write, None without one."""
        return self._last.get((device, offset // PAGE))

    def expected_lifetime(self, offset: int, device: int = 0) -> float | None:
        """Mean bytes written between past overwrites of the page; None without any."""
        return self._mean.get((device, offset // PAGE))

    def next_overwrite(self, request: WriteRequest) -> int | None:
        """Bytes written until the next overwrite of the pages: only for a clairvoyant bound."""
        found = self._future[request.number]
        return None if found < 0 else found

    def _written(self, request: WriteRequest) -> None:
        first = request.offset // PAGE
        for page in range(first, first + request.bytes // PAGE):
            key = request.device, page
            last = self._last.get(key)
            if last is not None:
                lifetime = self.now - last
                mean = self._mean.get(key, lifetime)
                self._mean[key] = mean + LAST * (lifetime - mean)
            self._last[key] = self.now
        self.now += request.bytes


class Placement:
    """The base of a policy: `place` returns the handle of a write.

    >>> class BySize(Placement):
    ...     def place(self, request, view):
    ...         return 1 if request.bytes > 65536 else 0
    >>> check_placement(BySize).passed
    True
    """

    def place(self, request: WriteRequest, view: View) -> int:
        """The handle, 0 to `view.handles - 1`."""
        raise NotImplementedError


def _requests(loaded: _core.PlacementTrace) -> Iterator[tuple[WriteRequest | None, int]]:
    """Writes in order, None for a trim."""
    for start in range(0, len(loaded), BATCH):
        rows = loaded.requests(start, BATCH)
        for number, (offset, length, device, fua) in enumerate(rows, start):
            if length < 0:
                yield None, number
            else:
                yield WriteRequest(offset, length, device, fua, number), number


def handles_of(policy: Any, loaded: _core.PlacementTrace, handles: int, drive: Drive) -> bytes:
    """The policy's handle for each write; 0 for trims.

    Raises `PolicyError` with the request if the policy raises or returns no handle.
    """
    if isinstance(policy, type) or not callable(getattr(policy, "place", None)):
        raise InputError(
            f"argument policy: {policy!r} is no object with a method place(request, view); "
            "see ssdlab.Placement"
        )
    unit = max(int(_footprint(loaded) * (1 + drive.spare) / drive.units), PAGE)
    view = View(handles, unit, loaded.next_overwrites())
    found = bytearray()
    for request, number in _requests(loaded):
        if request is None:
            found.append(0)
            continue
        found.append(_asked(policy, request, view, number))
        view._written(request)
    return bytes(found)


def _footprint(loaded: _core.PlacementTrace) -> int:
    import json

    return int(json.loads(loaded.facts())["footprint_bytes"])


def _asked(policy: Any, request: WriteRequest, view: View, number: int) -> int:
    where = f"write {number} ({request.bytes} bytes at {request.offset})"
    name = type(policy).__qualname__
    try:
        handle = policy.place(request, view)
    except Exception as error:
        raise PolicyError(f"{name} raised at {where}: {type(error).__name__}: {error}") from error
    try:
        number_of = handle.__index__()
    except AttributeError:
        raise PolicyError(f"{name} returned {handle!r} at {where}, not a handle") from None
    if not 0 <= number_of < view.handles:
        raise PolicyError(
            f"{name} returned handle {number_of} at {where}; there are 0 to {view.handles - 1}"
        )
    return int(number_of)


def check_placement(policy: Any) -> CheckReport:
    """Run the conformance suite on a placement policy, an object or a class; returns its report.

    It must give each write one of the handles, use only two if there are two, and be deterministic.
    Raises `PolicyError` if a check fails; its message is the report.

    >>> class Forced(Placement):
    ...     def place(self, request, view):
    ...         return int(request.fua)
    >>> print(check_placement(Forced))
    Forced: conforms
      ok      every write gets a handle of the drive
      ok      two handles are enough
      ok      the same trace gets the same handles
    """
    made = policy() if isinstance(policy, type) else policy
    if not callable(getattr(made, "place", None)):
        raise InputError(
            f"argument policy: {policy!r} has no method place(request, view); see ssdlab.Placement"
        )
    return checked(
        made,
        {
            "every write gets a handle of the drive": _some,
            "two handles are enough": _two,
            "the same trace gets the same handles": _reproducible,
        },
    )


def _tried(policy: Any, handles: int) -> list[int]:
    """The handles of a short load: pages, large requests, FUA, two devices, overwrites."""
    view = View(handles, 1 << 20, [4096 * (1 + number % 37) for number in range(400)])
    own = copy.deepcopy(policy)
    found = []
    for number in range(400):
        offset = (number * 7919 % 61) * PAGE
        length = PAGE * (1, 1, 4, 64)[number % 4]
        request = WriteRequest(offset, length, number % 2, number % 5 == 0, number)
        found.append(_asked(own, request, view, number))
        view._written(request)
    return found


def _some(policy: Any) -> str | None:
    _tried(policy, 8)
    return None


def _two(policy: Any) -> str | None:
    _tried(policy, 2)
    return None


def _reproducible(policy: Any) -> str | None:
    return None if _tried(policy, 8) == _tried(policy, 8) else "another run gave other handles"
