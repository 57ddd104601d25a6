"""`ssdlab serve`: a simulated device as a block device, until it is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import click

from ssdlab import files, layers
from ssdlab.cli.options import ALLOW_CODE, PATH, ExamplesFirst
from ssdlab.cli.stack import above
from ssdlab.live import LOOPBACK, LiveDevice, serve_layers

LOOK_SECONDS = 0.1
STATUS_SECONDS = 1.0


@click.command(
    cls=ExamplesFirst,
    examples=[
        (
            "a device that QEMU, nbdcopy, nbdfuse, fio and others can use",
            "ssdlab serve --device agrawal2008 --size 1GiB --socket /tmp/ssd",
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
            "what an application did, simulated once more",
            "ssdlab serve --socket /tmp/ssd --record app.parquet  # and then:\n\n"
            "ssdlab run --trace app.parquet",
        ),
    ],
)
@click.option("--device", metavar="PRESET|FILE", help="The device: a preset or a TOML file.")
@click.option(
    "--size", metavar="SIZE", help="How large it is for clients, such as 1GiB; by default, all."
)
@click.option("--socket", metavar="PATH", type=PATH, help="Listen on this Unix socket.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Listen on this TCP port of 127.0.0.1; 0 takes any that is free.",
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
    help="Wait at this Unix socket for a hypervisor, whose guest has the device as its disk "
    "(vhost-user-blk).",
)
@click.option("--host", metavar="ADDRESS", default=LOOPBACK, help="Another address for --port.")
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Let --host be reached by other machines. There are no passwords.",
)
@click.option(
    "--backing",
    metavar="FILE",
    type=PATH,
    help="Keep the data in FILE, which is made if there is none. By default they are in memory.",
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
    help="Change one key, such as device.timing.read=30us; may be repeated, in any order.",
)
@click.option("--seed", metavar="N", type=int, help="Seed of the random generator.")
@ALLOW_CODE
@click.option(
    "--time-scale",
    metavar="X",
    type=float,
    default=1.0,
    help="What takes the device 1 s takes X s: 10 is ten times slower.",
)
@click.option(
    "--control",
    metavar="PATH",
    type=PATH,
    help="Take orders at this Unix socket, from `ssdlab ctl PATH`.",
)
@click.option(
    "--script",
    metavar="FILE",
    type=PATH,
    help="What goes wrong, a line each: when, and an order such as `fail flush 1`.",
)
@click.option(
    "--floor",
    metavar="FILE",
    type=PATH,
    help="What the way to the client takes, as `ssdlab floor FILE` has measured it.",
)
@click.option("--read-only", is_flag=True, help="Clients may change nothing.")
@click.option("--realtime", is_flag=True, help="Go before all other programs, if allowed to.")
@click.option(
    "run_command",
    "--run",
    metavar="COMMAND",
    help="Run a shell command, to which $uri is the device, or with --mount $disk, and stop when "
    "it ends.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE|-",
    help="Write the results to FILE; - prints them, and nothing else, on standard output.",
)
@click.option("--quiet", is_flag=True, help="No status line and no table.")
def serve(
    device: str | None,
    size: str | None,
    socket: Path | None,
    port: int | None,
    mount: Path | None,
    vhost_user: Path | None,
    host: str,
    allow_remote: bool,
    backing: Path | None,
    record: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    time_scale: float,
    realtime: bool,
    control: Path | None,
    script: Path | None,
    floor: Path | None,
    read_only: bool,
    run_command: str | None,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Serve a simulated device as a block device, with the latencies of its model.

    Programs find it over NBD (--socket, --port), as a file (--mount) or in a virtual machine
    (--vhost-user), or all of these at once.

    It ends with Ctrl-C or SIGTERM, answers what was asked and prints the results: those of a
    simulation of the same requests, and whether they were answered in time. docs/live.md has
    databases, file systems and swap on it, step by step.
    """
    if socket is not None and port is not None:
        raise click.UsageError("--socket and --port exclude each other")
    nowhere = all(it is None for it in (socket, port, mount, vhost_user))
    if nowhere and run_command is None:
        raise click.UsageError(
            "--socket PATH, --port N, --mount DIR, --vhost-user SOCKET or --run COMMAND is needed"
        )
    if port is None and (host != LOOPBACK or allow_remote):
        raise click.UsageError("--host and --allow-remote belong to --port")
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        files.refuse_unwritable(json_file)
    if record is not None and record != "-":
        files.refuse_unwritable(Path(record))
    stack: list[layers.Layer] = []
    if device is not None:
        stack.append(layers.from_name("device", device))
    stack += above(assignments, seed)
    if script is not None:
        stack.extend(layers.from_mapping("--script", {"run": {"faults": os.fspath(script)}}))
    if allow_code:
        stack = layers.permitting(stack)

    # Until it serves, SIGTERM ends it as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="ssdlab-") as directory:
        try:
            live = serve_layers(
                stack,
                socket=Path(directory, "socket") if nowhere else socket,
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
        except OSError as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; nothing was written") from None
        for warning in live.warnings:
            click.echo(f"ssdlab: warning: {warning}", err=True)
        status = _attend(live, run_command, quiet, vhost_user)
        try:
            results = live.stop()
        except OSError as error:
            raise click.ClickException(str(error)) from None
    for warning in results.live.warnings[len(live.warnings) :]:
        click.echo(f"ssdlab: warning: {warning}", err=True)
    signal.signal(signal.SIGTERM, before)
    if json_file is not None:
        try:
            results.save(json_file)
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            raise click.ClickException(f"{json_file}: {reason}") from None
    if json_path == "-":
        click.echo(results.to_json(), nl=False)
    elif not quiet:
        from ssdlab.running import display

        click.echo(display.results_table(results, sys.stdout), nl=False)
    if status:
        raise click.ClickException(f"the command ended with status {status}: {run_command}")
    return 0


def _attend(live: LiveDevice, run_command: str | None, quiet: bool, vhost_user: Path | None) -> int:
    """Stay until a signal comes or the command ends; the command's status."""
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    child = None
    try:
        if run_command is not None:
            environment = os.environ | {"uri": live.uri}
            if live.file is not None:
                environment["disk"] = os.fspath(live.file)
            child = subprocess.Popen(run_command, shell=True, env=environment)
        elif not quiet:
            places = [os.fspath(it) for it in (live.uri, live.file, vhost_user) if it]
            click.echo(
                f"ssdlab: serving {live.size_bytes} bytes at {' and '.join(places)}", err=True
            )
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


def _status_line(live: LiveDevice, quiet: bool) -> Callable[..., None]:
    """A function that renews the line on a terminal once a second, and clears it at last."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return lambda last=False: None
    from ssdlab.live import display

    return display.StatusLine(live, STATUS_SECONDS).show
