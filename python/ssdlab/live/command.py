"""`ssdlab serve`: a simulated device as a block device, until it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from ssdlab import delivery, forms, layers, sources
from ssdlab.cli import completion
from ssdlab.cli.options import ALLOW_CODE, JSON, PATH, ExamplesFirst
from ssdlab.interruption import SigtermInterrupts
from ssdlab.live import LOOPBACK, LiveDevice, roles, serve_layers
from ssdlab.live.exports import LiveExports, Room, describe, serve_rooms, tls_of
from ssdlab.running.stack import above

if TYPE_CHECKING:
    from ssdlab.live.watch import Watch
    from ssdlab.results import Results

LOOK_SECONDS = 0.1
STATUS_SECONDS = 1.0


@click.command(
    cls=ExamplesFirst,
    needs_live_device=True,
    examples=[
        (
            "a device that QEMU, nbdcopy, nbdfuse, fio and others can use",
            "ssdlab serve agrawal2008 --size 1GiB --socket /tmp/ssd",
        ),
        (
            "for the time of one command",
            "ssdlab serve --device agrawal2008 --run 'qemu-img bench -f raw -t none $uri'",
        ),
        (
            "a file, /tmp/ssd/disk, that can be used without NBD",
            "ssdlab serve --device agrawal2008 --size 1GiB --mount /tmp/ssd  # an empty directory",
        ),
        (
            "a live page, with buttons for faults",
            "ssdlab serve --device agrawal2008 --size 1GiB --socket /tmp/ssd --watch 8080",
        ),
        (
            "a drive for nvme-cli and the kernel's nvme-tcp: a zoned namespace",
            "ssdlab serve wd-zn540 --nvme tcp://127.0.0.1:4420",
        ),
        (
            "record an application, to simulate it again",
            "ssdlab serve --socket /tmp/ssd --record app.parquet  # and then:\n\n"
            "ssdlab run --trace app.parquet",
        ),
        (
            "several drives at one socket, each with its name",
            "ssdlab serve --export fast=zeus-linear --export old=agrawal2008,size=1GiB "
            "--socket /tmp/ssd",
        ),
    ],
)
@click.argument(
    "positional",
    required=False,
    metavar="[DEVICE]",
    shell_complete=completion.names("devices", True),
)
@click.option(
    "--device",
    metavar="PRESET|FILE",
    shell_complete=completion.names("devices", file=True),
    help="The device: a preset or a TOML file; DEVICE says the same.",
)
@click.option(
    "exports",
    "--export",
    metavar="NAME=DEVICE[,KEY=VALUE]...",
    multiple=True,
    help="Serve this device under a name; may be repeated. Its keys are size, backing, record, "
    "control, script, overhead, seed, description, read-only, and keys as for --set.",
)
@click.option(
    "--size", metavar="SIZE", help="Size of the block device, such as 1GiB. [default: all]"
)
@click.option("--socket", metavar="PATH", type=PATH, help="Listen on this Unix socket.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Listen on this TCP port of 127.0.0.1; 0: any free port.",
)
@click.option(
    "--mount",
    metavar="DIR",
    type=PATH,
    help="Show the device as the file DIR/disk (FUSE); DIR is an empty directory.",
)
@click.option(
    "--vhost-user",
    metavar="SOCKET",
    type=PATH,
    help="Unix socket for a hypervisor, which gives the device to its guest as a disk "
    "(vhost-user-blk).",
)
@click.option(
    "--nvme",
    metavar="URI",
    help="Serve as an NVMe/TCP target at tcp://ADDRESS:PORT or unix:///PATH; exports are its "
    "namespaces.",
)
@click.option(
    "--namespaces",
    metavar="SIZES",
    help='Namespaces of --nvme, such as "50%, 1GiB thin 100MiB, 1GiB lba 4KiB".',
)
@click.option("--host", metavar="ADDRESS", default=LOOPBACK, help="Another address for --port.")
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Let --host and --nvme be reached by other machines. There are no passwords.",
)
@click.option(
    "--tls-certificates",
    metavar="DIR",
    type=PATH,
    help="Clients must use TLS; DIR has server-cert.pem, server-key.pem and ca-cert.pem.",
)
@click.option(
    "--tls",
    type=click.Choice(["require", "on", "off"]),
    help="With certificates: clients must, may, or cannot use TLS; by default they must.",
)
@click.option(
    "--tls-verify-peer",
    is_flag=True,
    help="Clients must show a certificate that ca-cert.pem has signed.",
)
@click.option(
    "--backing",
    metavar="FILE",
    type=PATH,
    help="Backing file for the data, created if missing. [default: in memory]",
)
@click.option(
    "--record",
    metavar="TRACE",
    help="Write the requests as a trace, which `ssdlab run --trace` replays; "
    "the extension names the format: .parquet, .iolog, ...",
)
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completion.assignment,
    help="Change one key, such as device.timing.read=30us; repeatable, in any order.",
)
@click.option("--seed", metavar="N", type=int, help="Seed of the random generator.")
@ALLOW_CODE
@click.option(
    "--time-scale",
    metavar="X",
    type=float,
    default=1.0,
    help="Time dilation: 1 s of device time takes X s.",
)
@click.option(
    "--control",
    metavar="PATH",
    type=PATH,
    help="Control socket (Unix) for `ssdlab serve ctl PATH`.",
)
@click.option(
    "--script",
    metavar="FILE",
    type=PATH,
    help="Fault injection script; each line a time and an order such as `fail flush 1`.",
)
@click.option(
    "--overhead",
    metavar="FILE",
    type=PATH,
    help="Transport latency, as measured by `ssdlab serve overhead FILE`.",
)
@click.option(
    "--watch",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Show the device on a page at this port of 127.0.0.1, with /metrics for Prometheus; 0: "
    "any free port.",
)
@click.option("--read-only", is_flag=True, help="Read-only export.")
@click.option("--realtime", is_flag=True, help="Run at real-time priority (needs privileges).")
@click.option(
    "run_command",
    "--run",
    metavar="COMMAND",
    help="Run a shell command with the device at $uri (and $disk with --mount), and stop when it "
    "ends.",
)
@JSON
@click.option("--quiet", is_flag=True, help="No status line and no table.")
def serve(
    positional: str | None,
    device: str | None,
    exports: tuple[str, ...],
    size: str | None,
    socket: Path | None,
    port: int | None,
    mount: Path | None,
    vhost_user: Path | None,
    namespaces: str | None,
    nvme: str | None,
    host: str,
    allow_remote: bool,
    tls_certificates: Path | None,
    tls: str | None,
    tls_verify_peer: bool,
    backing: Path | None,
    record: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    time_scale: float,
    realtime: bool,
    control: Path | None,
    script: Path | None,
    overhead: Path | None,
    watch: int | None,
    read_only: bool,
    run_command: str | None,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Serve the simulated DEVICE, a preset or a TOML file, as a block device, with the latencies of
    its model.

    Programs find it over NBD (--socket, --port) or NVMe/TCP (--nvme), as a file (--mount) or in a
    virtual machine (--vhost-user), or all of these at once.

    It ends with Ctrl-C or SIGTERM, answers all requests received and prints the results, as after a
    simulation of the same requests, and whether they were answered in time.

    `ssdlab serve ctl SOCKET ORDER` sends it an order, and `ssdlab serve overhead FILE` measures the
    transport latency. `ssdlab docs live` has databases, file systems and swap on it, step by step.
    """
    if socket is not None and port is not None:
        raise click.UsageError("--socket and --port exclude each other")
    if positional is not None and device is not None:
        raise click.UsageError(
            f"DEVICE and --device say the same: {positional} and {device}; give one of them"
        )
    device = device if positional is None else positional
    nowhere = all(it is None for it in (socket, port, mount, vhost_user, nvme))
    if nowhere and run_command is None:
        raise click.UsageError(
            "--socket PATH, --port N, --mount DIR, --vhost-user SOCKET, --nvme URI or "
            "--run COMMAND is needed"
        )
    if port is None and (host != LOOPBACK or allow_remote and nvme is None):
        raise click.UsageError("--host and --allow-remote belong to --port")
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        delivery.refuse(json_file, forms.RESULTS)
    if watch is not None:
        from ssdlab.loopback import refuse_taken

        refuse_taken(watch)
    roles.refuse_record(record)
    named = {"backing": backing, "record": record, "control": control, "overhead": overhead}
    others = [("--script", script), ("--json", json_file)]
    roles.refuse_shared([*roles.of_device(named, "--"), *others])
    secure = tls_of(tls_certificates, tls, tls_verify_peer)
    of_one = {
        "--device": device,
        "--backing": backing,
        "--record": record,
        "--control": control,
        "--script": script,
        "--mount": mount,
        "--vhost-user": vhost_user,
        "--namespaces": namespaces,
        "--watch": watch,
    }
    given = [name for name, value in of_one.items() if value is not None]
    if exports and given:
        raise click.UsageError(
            f"{given[0]} and --export exclude each other: write "
            + ("NAME=DEVICE" if device else f"NAME=DEVICE,{given[0][2:]}=VALUE")
            if given[0] not in ("--mount", "--vhost-user", "--watch")
            else f"{given[0]} and --export exclude each other: it shows one device"
        )
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
    stack: list[layers.Layer] = []
    rooms: list[Room] = []
    if exports:
        from ssdlab.live.export_option import room_of

        rooms = [room_of(it, assignments, seed, settings, allow_code) for it in exports]
    else:
        if device is not None:
            stack.append(sources.from_name("device", device))
        stack += above(assignments, seed)
        if script is not None:
            stack.extend(layers.from_mapping("--script", {"run": {"faults": os.fspath(script)}}))
        if allow_code:
            stack = layers.permitting(stack)
        if secure is not None:
            rooms = [Room("", describe(device), stack, settings)]

    # The listener of exports is at a socket or a port.
    has_place = not rooms or socket is not None or port is not None
    # Before serving, SIGTERM interrupts like Ctrl-C.
    with SigtermInterrupts(), tempfile.TemporaryDirectory(prefix="ssdlab-") as directory:
        position: dict[str, Any] = {
            "socket": Path(directory, "socket") if nowhere or not has_place else socket,
            "port": port,
            "host": host,
            "allow_remote": allow_remote,
        }
        live: LiveDevice | LiveExports
        try:
            if rooms:
                live = serve_rooms(rooms, tls=secure, nvme=nvme, **position)
            else:
                live = serve_layers(stack, nvme=nvme, **position, **settings)
        except OSError as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; nothing was written") from None
        for warning in live.warnings:
            click.echo(f"ssdlab: warning: {warning}", err=True)
        try:
            with _page_of(live, watch) as page:
                status = _attend(live, run_command, quiet, vhost_user, page)
        finally:
            results = _stopped(live)
    text = _as_json(results)
    if json_file is not None:
        delivery.write(json_file, text, forms.RESULTS)
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.results import display

        for name, result in results.items():
            click.echo(f"Export {name}\n" if name else "", nl=False)
            click.echo(display.results_table(result, sys.stdout), nl=False)
    if status:
        raise click.ClickException(f"the command ended with status {status}: {run_command}")
    return 0


def _page_of(live: LiveDevice | LiveExports, watch: int | None) -> AbstractContextManager[Any]:
    """The page of the device, if requested."""
    if watch is None:
        return nullcontext()
    device = next(iter(live.devices.values())) if isinstance(live, LiveExports) else live
    return device.watch(watch)


def _stopped(live: LiveDevice | LiveExports) -> dict[str, Results]:
    """The results by export, and the warnings from serving."""
    try:
        ended = live.stop()
    except OSError as error:
        # The record or drive is unwritable, but the results exist.
        if live.results is None:
            raise click.ClickException(str(error)) from None
        delivery.failed(f"{error}; the results are not lost")
        ended = live.results
    results = ended if isinstance(ended, dict) else {"": ended}
    for result in results.values():
        for warning in result.live.warnings:
            if not any(it.endswith(warning) for it in live.warnings):
                click.echo(f"ssdlab: warning: {warning}", err=True)
    return results


def _as_json(results: dict[str, Results]) -> str:
    """The results of the only device, or of all exports by name."""
    if list(results) == [""]:
        return results[""].to_json()
    every = {name: json.loads(result.to_json()) for name, result in results.items()}
    return json.dumps({"exports": every}, indent=2) + "\n"


def _attend(
    live: LiveDevice | LiveExports,
    run_command: str | None,
    quiet: bool,
    vhost_user: Path | None,
    page: Watch | None,
) -> int:
    """Wait for a signal or the end of the command; returns the command's status."""
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    child = None
    devices = live.devices if isinstance(live, LiveExports) else {"": live}
    try:
        if run_command is not None:
            from ssdlab.live.export_option import variable

            first = next(iter(devices.values()))
            environment = os.environ | {"uri": first.uri or "", "nvme": first.nvme}
            environment |= {variable(name): it.uri or "" for name, it in devices.items() if name}
            if first.file is not None:
                environment["disk"] = os.fspath(first.file)
            child = subprocess.Popen(run_command, shell=True, env=environment)
        elif not quiet:
            for it in devices.values():
                ways = (it.uri, it.nvme, it.file, vhost_user)
                places = [os.fspath(position) for position in ways if position]
                click.echo(
                    f"ssdlab: serving {it.size_bytes} bytes at {' and '.join(places)}", err=True
                )
        if page is not None:
            click.echo(f"ssdlab: watch it at {page.url_with_key}", err=True)
        show = _status_line(live, quiet)
        while not stopped and (child is None or child.poll() is None):
            show()
            time.sleep(LOOK_SECONDS)
        if child is None:
            return 0
        if child.poll() is None:
            child.terminate()
            child.wait()
            return 0
        return child.returncode if child.returncode >= 0 else 128 - child.returncode
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        show(last=True)


def _status_line(live: LiveDevice | LiveExports, quiet: bool) -> Callable[..., None]:
    """A function that updates a terminal's status line once a second, and finally clears it."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return lambda last=False: None
    from ssdlab.live import display

    return display.StatusLine(live, STATUS_SECONDS).show
