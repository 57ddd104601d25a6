"""A live device while it is being served."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _core, layers, portable
from ssdlab.live import roles
from ssdlab.results import Results

if TYPE_CHECKING:
    from ssdlab.live.exports import LiveExports
    from ssdlab.live.watch import Watch

LOOPBACK = "127.0.0.1"


class Status(NamedTuple):
    """Counters since the start of serving."""

    requests: int
    """Requests answered."""
    bytes: int
    """Bytes read, written and trimmed by them."""
    latency_seconds: float
    """Sum of their simulated latencies."""
    write_amplification: float | None
    """Write amplification so far, if defined; updated about once a second."""
    late_share: float
    """Share of late requests; updated about once a second."""


class LiveDevice:
    """A served device; made by `ssdlab.serve`.

    As a context manager it stops at the end of the block; `results` then has its results.
    """

    def __init__(self, core: _core.LiveDevice) -> None:
        self._core = core
        self.uri: str = core.uri or ""
        """Address for NBD clients, such as `nbd+unix:///?socket=/ssd`, or empty."""
        self.nvme: str = core.nvme or ""
        """Address for NVMe/TCP hosts, such as `tcp://127.0.0.1:4420`, or empty."""
        self.file: Path | None = None if core.file is None else Path(core.file)
        """The file of the device, such as `/tmp/ssd/disk`; None if not mounted."""
        self.size_bytes: int = core.size_bytes
        """Size of the device for its clients."""
        self.warnings: list[str] = core.warnings
        """Warnings."""
        self.results: Results | None = None
        """The results; None before it has stopped."""
        self._door: LiveExports | None = None

    def stop_with(self, door: LiveExports) -> None:
        """Stop the listener with the device, as it has no other device."""
        self.warnings = door.warnings
        self._door = door

    def status(self) -> Status | None:
        """Counters so far; None after it has stopped."""
        now = self._core.status()
        if now is None:
            return None
        requests, size, latency_ns, amplification, late = now
        return Status(requests, size, latency_ns / 1e9, amplification, late)

    def say(self, line: str) -> dict[str, Any]:
        """Send an order, such as "slow 2", and return the answer, as `ssdlab.control.order` does.

        This needs no control socket. Raises `InputError` after the device has stopped.
        """
        from ssdlab.control import patiently

        return patiently(self._core.say, line)

    def watch(self, port: int = 0) -> Watch:
        """Serve a page about the device, on this port of this machine; 0 for any free port.

        The page is at the result's `url` until its `close` or the end of its `with`.
        """
        from ssdlab.live.watch import Watch

        return Watch(self._core.say, self.uri, self.size_bytes, port)

    def events(self) -> int | None:
        """Number of events recorded with data; None without recording.

        An event is the submission or completion of a write, trim or flush.
        """
        return self._core.events()

    def stop(self) -> Results:
        """Complete outstanding requests, stop, and return the `Results`, in a simulation's form,
        with a section `live` on timing.

        Raises `OSError`, with the attribute `results`, if the recorded trace or the drive cannot be
        written.
        """
        if self._door is not None:
            door, self._door = self._door, None
            door.stop()
        try:
            text = self._core.stop()
        except OSError as error:
            # The record or drive is unwritable, but the results exist.
            if isinstance(found := getattr(error, "results", None), str):
                self.results = Results.from_json(found)
                error.results = self.results  # type: ignore[attr-defined]
            raise
        if text is not None:
            self.results = Results.from_json(text)
        if self.results is None:
            raise RuntimeError("the device did not end well when it was stopped before")
        return self.results

    def __enter__(self) -> LiveDevice:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def serve_layers(
    stack: list[layers.Layer],
    *,
    record: str | os.PathLike[str] | None,
    record_data: str | os.PathLike[str] | None = None,
    behind: tuple[_core.LiveEntry, str, str] | None = None,
    **settings: Any,
) -> LiveDevice:
    """Serve the device of the experiment made of `stack`; otherwise as `serve`.

    The file `record_data` records all changes of clients with their data, for crash tests. A device
    `behind` a shared listener, with a name and a description, has no separate address.
    """
    portable.refuse_without_live_device()
    roles.refuse_shared(roles.of_device(settings | {"record": record}))
    record = None if record is None else os.fspath(record)
    if behind is not None:
        settings = {"allow_remote": False} | settings
        settings |= {"socket": None, "port": None, "host": LOOPBACK}
    core = _core.LiveDevice(
        stack, record=record, record_data=record_data, behind=behind, **settings
    )
    return LiveDevice(core)
