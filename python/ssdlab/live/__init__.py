"""The live device: a simulated device that any program can use as a block device, over NBD or
NVMe/TCP, as a file or in a virtual machine.

`serve` starts it, and is in `ssdlab` itself; the device then answers its clients on threads of its
own until `LiveDevice.stop`. The command shows it on a page (`watch`), on a server for this machine
alone: the page sends queries, which are not recorded, and orders, which need its key. The device
keeps counters since its start and no state for viewers; `looker` computes rates from them at one
interval, however many pages are open. So watching changes nothing.
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
    - `socket`: the path of the Unix socket to make; or `port`: the TCP port of `host`, 0 being any
      that is free. Another host than this machine needs `allow_remote`, and NBD knows no passwords;
    - `mount`: an empty directory, which shows the device as the file `disk` while it is served;
    - `vhost_user`: the path of the Unix socket at which a hypervisor finds it as the disk of its
      guest (`vhost-user-blk`);
    - `namespaces`: division into NVMe/TCP namespaces 1, 2, ..., in order, such as "50%, 1GiB thin
      100MiB, 1GiB lba 4KiB"; otherwise one of all;
    - `nvme`: the address at which hosts of NVMe/TCP find it, such as "tcp://127.0.0.1:4420". Of
      these five, one is needed;
    - `size`: how large the device is for its clients, such as "1GiB", at most what it has;
    - `backing`: the file with the data, which is made if there is none; without it they are in
      memory and end with the server;
    - `record`: the trace that is written at the end, in the format that its extension names;
    - `time_scale`: 1 s of the model takes this many seconds on the clock;
    - `realtime`: run at real-time priority, where the system allows it;
    - `control`: the path of the socket at which orders are taken (`ssdlab.control.order`);
    - `overhead`: the file with the transport latency, as `ssdlab serve overhead` measures it;
    - `read_only`: whether clients may change nothing;
    - `tls_certificates`: the directory with `server-cert.pem` and `server-key.pem`, with which
      clients must use TLS; may use it with `tls` "on", and cannot with "off". With
      `tls_verify_peer` they must show a certificate that `ca-cert.pem` there has signed.

    With `backing` a drive that has a state is kept beside the data, in a file with the same name
    and `.drive`, and restored at the next start: its wear stays.

    Raises `InputError` for wrong input and on systems other than Linux, and `OSError` for what the
    system refuses.
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
