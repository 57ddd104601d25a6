"""The live device: a simulated device that any program can use as a block device, over NBD, as a
file or in a virtual machine.

`serve` begins, and is in `ssdlab` itself; the device then answers its clients on threads of its own
until `LiveDevice.stop`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ssdlab import _core, layers
from ssdlab.results import Results
from ssdlab.running import Part, layers_of

LOOPBACK = "127.0.0.1"


class Status(NamedTuple):
    """What has happened since a live device began to be served."""

    requests: int
    """Requests answered."""
    bytes: int
    """Bytes that they read, wrote and trimmed."""
    latency_seconds: float
    """The sum of their latencies, as the model says."""
    write_amplification: float | None
    """Of the drive so far, where it has one; renewed about once a second."""
    late_share: float
    """The share of requests that were late; renewed about once a second."""


class LiveDevice:
    """A device that is being served; made by `ssdlab.serve`.

    As a context manager it stops at the end of the block; its results are then in `results`.
    """

    def __init__(self, core: _core.LiveDevice) -> None:
        self._core = core
        self.uri: str = core.uri or ""
        """By what clients of NBD find the device, such as `nbd+unix:///?socket=/ssd`, or empty."""
        self.file: Path | None = None if core.file is None else Path(core.file)
        """The file that is the device, such as `/tmp/ssd/disk`; None if it is not mounted."""
        self.size_bytes: int = core.size_bytes
        """How large the device is for its clients."""
        self.warnings: list[str] = core.warnings
        """What the user should know."""
        self.results: Results | None = None
        """What came of it; None until it has stopped."""

    def status(self) -> Status | None:
        """What has happened so far; None when it has stopped."""
        now = self._core.status()
        if now is None:
            return None
        requests, size, latency_ns, amplification, late = now
        return Status(requests, size, latency_ns / 1e9, amplification, late)

    def events(self) -> int | None:
        """How many events were recorded with their data so far; None if they are not.

        An event is that a write, trim or flush was asked, or that one was answered.
        """
        return self._core.events()

    def stop(self) -> Results:
        """Answer what was asked, end, and return the `Results`.

        They are those of a simulation, with a section `live` about the timing. Raises `OSError` if
        the recorded trace cannot be written.
        """
        text = self._core.stop()
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


def serve(
    device: Part | None = None,
    *,
    socket: str | os.PathLike[str] | None = None,
    port: int | None = None,
    host: str = LOOPBACK,
    allow_remote: bool = False,
    size: str | None = None,
    backing: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
    time_scale: float = 1.0,
    realtime: bool = False,
    control: str | os.PathLike[str] | None = None,
    floor: str | os.PathLike[str] | None = None,
    read_only: bool = False,
    mount: str | os.PathLike[str] | None = None,
    vhost_user: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    allow_code: bool = False,
) -> LiveDevice:
    """Serve a simulated device as a block device, and return the running `LiveDevice`.

    - `device`, `seed`, `set`, `allow_code`: as for `ssdlab.run`;
    - `socket`: the path of the Unix socket to make; or `port`: the TCP port of `host`, 0 being any
      that is free. Another host than this machine needs `allow_remote`, and NBD knows no passwords;
    - `mount`: an empty directory, which shows the device as the file `disk` while it is served;
    - `vhost_user`: the path of the Unix socket at which a hypervisor finds it as the disk of its
      guest (`vhost-user-blk`). Of these four, one is needed;
    - `size`: how large the device is for its clients, such as "1GiB", at most what it has;
    - `backing`: the file with the data, which is made if there is none; without it they are in
      memory and end with the server;
    - `record`: the trace that is written at the end, in the format that its extension names;
    - `time_scale`: what takes the device 1 s takes so many on the clock;
    - `realtime`: go before all other programs, where the system allows it;
    - `control`: the path of the socket at which orders are taken (`ssdlab.control.order`);
    - `floor`: the file with what the way to the client takes, as `ssdlab floor` measures it;
    - `read_only`: whether clients may change nothing.

    With `backing` a drive that has a state is kept beside the data, in a file with the same name
    and `.drive`, and taken up again: it stays as old as it is.

    Raises `InputError` for wrong input and `OSError` for what the system refuses.
    """
    stack = layers_of(device=device, seed=seed, set=set, allow_code=allow_code)
    return serve_layers(
        stack,
        socket=socket,
        port=port,
        host=host,
        allow_remote=allow_remote,
        size=size,
        backing=backing,
        record=record,
        time_scale=time_scale,
        realtime=realtime,
        control=control,
        floor=floor,
        read_only=read_only,
        mount=mount,
        vhost_user=vhost_user,
    )


def serve_layers(
    stack: list[layers.Layer],
    *,
    record: str | os.PathLike[str] | None,
    record_data: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> LiveDevice:
    """Serve the device of the experiment made of `stack`; otherwise as `serve`.

    All that clients change is recorded with its data in the file `record_data`, for crash tests.
    """
    record = None if record is None else os.fspath(record)
    return LiveDevice(_core.LiveDevice(stack, record=record, record_data=record_data, **settings))
