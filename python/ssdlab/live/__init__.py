"""The live device: a simulated device that any program can use as a block device, over NBD or
NVMe/TCP, as a file or in a virtual machine.

`serve` starts it, and is in `ssdlab` itself; the device then answers its clients on separate
threads until `LiveDevice.stop`. `watch` serves a page about the device, to this machine only. The
page sends queries, which are not recorded, and orders, which need its key. The device keeps
counters since its start and no state for viewers; `looker` samples them at one interval for all
pages. So watching changes no result.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ssdlab.live import exports
from ssdlab.live.device import LOOPBACK, LiveDevice, Status, serve_layers
from ssdlab.running import Part, layers_of

__all__ = ["LOOPBACK", "LiveDevice", "Status", "serve", "serve_layers"]


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
    overhead: str | os.PathLike[str] | None = None,
    read_only: bool = False,
    mount: str | os.PathLike[str] | None = None,
    vhost_user: str | os.PathLike[str] | None = None,
    nvme: str | None = None,
    namespaces: str | None = None,
    tls_certificates: str | os.PathLike[str] | None = None,
    tls: str | None = None,
    tls_verify_peer: bool = False,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    allow_code: bool = False,
) -> LiveDevice:
    """Serve a simulated device as a block device, and return the running `LiveDevice`.

    - `device`, `seed`, `set`, `allow_code`: as for `ssdlab.run`;
    - `socket`: the path of the Unix socket to create; or `port`: the TCP port of `host`, 0 for any
      free port. Another host than this machine needs `allow_remote`; NBD has no passwords;
    - `mount`: an empty directory, in which the device appears as the file `disk`;
    - `vhost_user`: the path of the Unix socket for a hypervisor, which attaches it as a guest's
      disk (`vhost-user-blk`);
    - `namespaces`: division into NVMe/TCP namespaces 1, 2, ..., in order, such as "50%, 1GiB thin
      100MiB, 1GiB lba 4KiB"; otherwise one of all;
    - `nvme`: the address for NVMe/TCP hosts, such as "tcp://127.0.0.1:4420". At least one of these
      five is required;
    - `size`: the size seen by clients, such as "1GiB", at most the device's capacity;
    - `backing`: the file with the data, created if missing; without it data is in memory and lost
      at the end;
    - `record`: the trace to write at the end, in the format of its extension;
    - `time_scale`: wall-clock seconds per simulated second;
    - `realtime`: run at real-time priority, if the system allows it;
    - `control`: the path of the control socket (`ssdlab.control.order`);
    - `overhead`: the file with the transport latency, as `ssdlab serve overhead` measures it;
    - `read_only`: reject writes of clients;
    - `tls_certificates`: the directory with `server-cert.pem` and `server-key.pem`. Clients must
      use TLS, may with `tls` "on", and cannot with "off". With `tls_verify_peer` they need a
      certificate signed by `ca-cert.pem` there.

    With `backing` the drive's state is saved beside the data, in a file with the extension
    `.drive`, and restored at the next start, wear included.

    Raises `InputError` for wrong input and on systems other than Linux, and `OSError` for system
    errors.
    """
    stack = layers_of(device=device, seed=seed, set=set, allow_code=allow_code)
    position: dict[str, Any] = {
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
        "overhead": overhead,
        "read_only": read_only,
        "mount": mount,
        "vhost_user": vhost_user,
        "namespaces": namespaces,
    }
    secure = exports.tls_of(tls_certificates, tls, tls_verify_peer)
    if secure is None:
        return serve_layers(stack, nvme=nvme, **position, **settings)
    room = exports.Room("", exports.describe(device), stack, settings)
    served = exports.serve_rooms([room], tls=secure, nvme=nvme, **position)
    served[""].stop_with(served)
    return served[""]
