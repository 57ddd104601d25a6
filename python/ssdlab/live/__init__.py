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
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _core, layers, portable
from ssdlab.live import roles
from ssdlab.results import Results
from ssdlab.running import Part, layers_of

if TYPE_CHECKING:
    from ssdlab.live.exports import LiveExports
    from ssdlab.live.watch import Watch

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
        """The results; None until it has stopped."""
        self._door: LiveExports | None = None

    def stop_with(self, door: LiveExports) -> None:
        """The door ends when the device is stopped, because it has no other device."""
        self.warnings = door.warnings
        self._door = door

    def status(self) -> Status | None:
        """Counters so far; None when it has stopped."""
        now = self._core.status()
        if now is None:
            return None
        requests, size, latency_ns, amplification, late = now
        return Status(requests, size, latency_ns / 1e9, amplification, late)

    def say(self, line: str) -> dict[str, Any]:
        """Send an order, such as "slow 2", and return the answer, as `ssdlab.control.order` does.

        This needs no control socket. Raises `InputError` when the device has stopped.
        """
        from ssdlab.control import patiently

        return patiently(self._core.say, line)

    def watch(self, port: int = 0) -> Watch:
        """Show the device on a page, on this port of this machine; 0 takes any that is free.

        The page is at `url` of what is returned until its `close`, or the end of its `with`.
        """
        from ssdlab.live.watch import Watch

        return Watch(self._core.say, self.uri, self.size_bytes, port)

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
        if self._door is not None:
            door, self._door = self._door, None
            door.stop()
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
    tls_certificates: str | os.PathLike[str] | None = None,
    tls: str | None = None,
    tls_verify_peer: bool = False,
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
    - `time_scale`: 1 s of the model takes this many seconds on the clock;
    - `realtime`: run at real-time priority, where the system allows it;
    - `control`: the path of the socket at which orders are taken (`ssdlab.control.order`);
    - `floor`: the file with what the way to the client takes, as `ssdlab floor` measures it;
    - `read_only`: whether clients may change nothing;
    - `tls_certificates`: the directory with `server-cert.pem` and `server-key.pem`, with which
      clients must use TLS; may use it with `tls` "on", and cannot with "off". With
      `tls_verify_peer` they must show a certificate that `ca-cert.pem` there has signed.

    With `backing` a drive that has a state is kept beside the data, in a file with the same name
    and `.drive`, and taken up again: it stays as old as it is.

    Raises `InputError` for wrong input and on systems other than Linux, and `OSError` for what the
    system refuses.
    """
    stack = layers_of(device=device, seed=seed, set=set, allow_code=allow_code)
    place: dict[str, Any] = {
        "socket": socket,
        "port": port,
        "host": host,
        "allow_remote": allow_remote,
    }
    settings: dict[str, Any] = {
        "size": size,
        "backing": backing,
        "record": record,
        "time_scale": time_scale,
        "realtime": realtime,
        "control": control,
        "floor": floor,
        "read_only": read_only,
        "mount": mount,
        "vhost_user": vhost_user,
    }
    from ssdlab.live import exports

    secure = exports.tls_of(tls_certificates, tls, tls_verify_peer)
    if secure is None:
        return serve_layers(stack, **place, **settings)
    room = exports.Room("", exports.describe(device), stack, settings)
    served = exports.serve_rooms([room], tls=secure, **place)
    served[""].stop_with(served)
    return served[""]


def serve_layers(
    stack: list[layers.Layer],
    *,
    record: str | os.PathLike[str] | None,
    record_data: str | os.PathLike[str] | None = None,
    behind: tuple[_core.LiveEntry, str, str] | None = None,
    **settings: Any,
) -> LiveDevice:
    """Serve the device of the experiment made of `stack`; otherwise as `serve`.

    All that clients change is recorded with its data in the file `record_data`, for crash tests.
    A device `behind` a door, under a name and with a description, has no address of its own.
    """
    portable.refuse_without_live_device()
    roles.refuse_shared(roles.of_device(settings | {"record": record}))
    record = None if record is None else os.fspath(record)
    if behind is not None:
        settings |= {"socket": None, "port": None, "host": LOOPBACK, "allow_remote": False}
    core = _core.LiveDevice(
        stack, record=record, record_data=record_data, behind=behind, **settings
    )
    return LiveDevice(core)
