"""Several live devices on one socket: exports by name, and TLS."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from ssdlab import _core
from ssdlab.layers import Layer
from ssdlab.live import roles
from ssdlab.live.device import LOOPBACK, LiveDevice, Status, serve_layers
from ssdlab.results import Results
from ssdlab.running import Part, layers_of

#: Options of one export; all others apply to the server.
LAYERS = ("device", "seed", "set", "allow_code")


class Room(NamedTuple):
    """A device behind a shared listener."""

    name: str
    """Export name."""
    description: str
    """Description."""
    stack: list[Layer]
    """The layers of its experiment."""
    settings: dict[str, Any]
    """Settings, as for `ssdlab.live.serve_layers`."""


class LiveExports:
    """Devices served behind one listener; made by `ssdlab.serve_exports`.

    As a context manager it stops at the end of the block; the results are then in `results`.
    """

    def __init__(
        self,
        door: _core.LiveEntry | None,
        devices: dict[str, LiveDevice],
        target: _core.LiveNamespaces | None = None,
    ) -> None:
        self._door = door
        self._target = target
        self.devices = devices
        """The devices by the names of their exports."""
        found = [it.warnings for it in (door, target) if it is not None]
        self.warnings: list[str] = list(itertools.chain.from_iterable(found))
        """Warnings."""
        for name, device in devices.items():
            prefix = f"export {name}: " if len(devices) > 1 else ""
            self.warnings += [f"{prefix}{warning}" for warning in device.warnings]
        self.results: dict[str, Results] | None = None
        """The results by export; None before they have stopped."""

    def __getitem__(self, name: str) -> LiveDevice:
        return self.devices[name]

    def status(self) -> Status | None:
        """Combined status of all; None after they have stopped.

        Several drives have no common write amplification; the late share is the largest.
        """
        each = [status for it in self.devices.values() if (status := it.status()) is not None]
        if not each:
            return None
        late = max(status.late_share for status in each)
        return Status(
            sum(status.requests for status in each),
            sum(status.bytes for status in each),
            sum(status.latency_seconds for status in each),
            each[0].write_amplification if len(each) == 1 else None,
            late,
        )

    def stop(self) -> dict[str, Results]:
        """Close the listener, finish all requests, stop, and return the results by name."""
        if self.results is None:
            if self._door is not None:
                self._door.close()
            try:
                self.results = _stop_all(self.devices)
            except OSError as error:
                self.results = getattr(error, "results", None)
                raise
            finally:
                if self._target is not None:
                    self._target.close()
                if self._door is not None:
                    self._door.finish()
        return self.results

    def __enter__(self) -> LiveExports:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def tls_of(
    certificates: str | os.PathLike[str] | None, mode: str | None, verify_peer: bool
) -> tuple[str | os.PathLike[str], bool, bool] | None:
    """TLS settings of the listener: directory, True if client certificates are required, True if
    TLS is required. Raises `InputError` for contradictions.
    """
    if mode not in (None, "require", "on", "off"):
        raise _core.InputError(f'tls: "{mode}" is none of require, on, off')
    if certificates is None:
        if mode in ("require", "on") or verify_peer:
            raise _core.InputError("tls: a directory with certificates is needed")
        return None
    if verify_peer and mode in ("on", "off"):
        raise _core.InputError(
            "tls: certificates of clients are verified only where TLS is required: "
            "who comes without it shows none"
        )
    return None if mode == "off" else (certificates, verify_peer, mode != "on")


def serve_rooms(
    rooms: Sequence[Room],
    *,
    socket: str | os.PathLike[str] | None,
    port: int | None,
    host: str,
    allow_remote: bool,
    tls: tuple[str | os.PathLike[str], bool, bool] | None,
    nvme: str | None = None,
) -> LiveExports:
    """Serve devices behind one listener, opened when all are ready.

    At the address `nvme` they are the namespaces of one subsystem, in order.
    """
    _refuse_shared_files(rooms)
    target = None if nvme is None else _core.LiveNamespaces(nvme, allow_remote, tls)
    door = None
    if target is None or socket is not None or port is not None:
        door = _core.LiveEntry(
            socket=socket, port=port, host=host, allow_remote=allow_remote, tls=tls
        )
    devices: dict[str, LiveDevice] = {}
    try:
        for room in rooms:
            behind = None if door is None else (door, room.name, room.description)
            ways: dict[str, Any] = {} if target is None else {"nvme": (target, room.name)}
            if door is None:
                ways |= {"socket": None, "port": None, "host": host, "allow_remote": False}
            try:
                devices[room.name] = serve_layers(room.stack, behind=behind, **room.settings | ways)
            except (_core.InputError, OSError) as error:
                if len(rooms) == 1:
                    raise
                raise type(error)(f"export {room.name}: {error}") from None
        address = "" if target is None else target.open()
        uris = [""] * len(devices) if door is None else door.open()
    except BaseException:
        _stop_all(devices)
        raise
    for device, uri in zip(devices.values(), uris, strict=True):
        device.uri, device.nvme = uri, address
    return LiveExports(door, devices, target)


def serve_exports(
    exports: Mapping[str, Part | Mapping[str, Any]],
    *,
    socket: str | os.PathLike[str] | None = None,
    port: int | None = None,
    host: str = LOOPBACK,
    allow_remote: bool = False,
    tls_certificates: str | os.PathLike[str] | None = None,
    tls: str | None = None,
    tls_verify_peer: bool = False,
    nvme: str | None = None,
) -> LiveExports:
    """Serve several simulated devices at one socket or port, each under its name.

    - `exports`: by name, a dict of the device arguments of `ssdlab.serve` (`device`, `size`,
      `backing`, `set`, ...) and a `description`, or only the device. The first is the default
      export. Each has its own time, data and results;
    - `socket`, `port`, `host`, `allow_remote`: as for `ssdlab.serve`;
    - `tls_certificates`, `tls`, `tls_verify_peer`: as for `ssdlab.serve`;
    - `nvme`: as for `ssdlab.serve`, within TLS too; the devices are the namespaces 1, 2, ... of one
      subsystem.

    Raises `InputError` for wrong input and `OSError` for system errors; then nothing is served.
    """
    rooms = [_room(name, stated) for name, stated in exports.items()]
    return serve_rooms(
        rooms,
        socket=socket,
        port=port,
        host=host,
        allow_remote=allow_remote,
        tls=tls_of(tls_certificates, tls, tls_verify_peer),
        nvme=nvme,
    )


def _room(name: str, said: Part | Mapping[str, Any]) -> Room:
    # A dict with a kind has keys of a device; any other has arguments.
    if not isinstance(said, Mapping) or "kind" in said:
        said = {"device": said}
    known = {*LAYERS, *SETTINGS, "description"}
    unknown = [key for key in said if key not in known]
    if unknown:
        raise _core.InputError(
            f"export {name}: there is no {unknown[0]} of an export; there are "
            f"{', '.join(sorted(known))}"
        )
    stack = layers_of(**{key: said[key] for key in LAYERS if key in said})
    settings = SETTINGS | {key: said[key] for key in SETTINGS if key in said}
    description = said.get("description") or describe(said.get("device"))
    return Room(name, str(description), stack, settings)


def describe(device: Any) -> str:
    """Default description of an export."""
    name = device if isinstance(device, (str, os.PathLike)) else "a device"
    return f"{os.path.basename(name)}, simulated by ssdlab"


#: Default options of a served device.
SETTINGS: dict[str, Any] = {
    "size": None,
    "backing": None,
    "record": None,
    "time_scale": 1.0,
    "realtime": False,
    "control": None,
    "overhead": None,
    "read_only": False,
    "mount": None,
    "vhost_user": None,
    "namespaces": None,
}


def _refuse_shared_files(rooms: Sequence[Room]) -> None:
    """Refuse a file written by two devices."""
    names: set[str] = set()
    for room in rooms:
        if room.name in names:
            raise _core.InputError(f"export {room.name}: this name is used twice")
        names.add(room.name)
    every = (
        roles.of_device(room.settings, f"export {room.name}: " if len(rooms) > 1 else "")
        for room in rooms
    )
    roles.refuse_shared(itertools.chain(*every))


def _stop_all(devices: dict[str, LiveDevice]) -> dict[str, Results]:
    """Stop all, continuing after errors; then raise the first error."""
    results: dict[str, Results] = {}
    problem: Exception | None = None
    for name, device in devices.items():
        try:
            results[name] = device.stop()
        except Exception as error:
            problem = problem or error
            if isinstance(error, OSError) and device.results is not None:
                results[name] = device.results
    if problem is not None:
        if isinstance(problem, OSError) and len(results) == len(devices):
            problem.results = results  # type: ignore[attr-defined]
        raise problem
    return results
