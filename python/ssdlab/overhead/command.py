"""`ssdlab serve overhead`: the transport latency, measured by the client."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import delivery, forms, terminal
from ssdlab.cli.options import PATH, QUIET, ExamplesFirst
from ssdlab.overhead import measure


@click.command(
    cls=ExamplesFirst,
    writes=True,
    needs_live_device=True,
    examples=[
        (
            "measure it once, then serve so that fio sees the latencies of the model",
            "ssdlab serve overhead fio.json\n\n"
            "ssdlab serve --device agrawal2008 --socket /tmp/ssd --overhead fio.json",
        ),
    ],
)
@click.argument("file", type=PATH)
@click.option(
    "--seconds",
    metavar="S",
    type=float,
    default=0.5,
    help="Duration of each measurement. [default: 0.5]",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Measure over TCP, at this port of 127.0.0.1; 0: any free port.",
)
@click.option(
    "--realtime", is_flag=True, help="Run the server at real-time priority (needs privileges)."
)
@QUIET
def overhead(file: Path, seconds: float, port: int | None, realtime: bool, quiet: bool) -> None:
    """Measure the transport latency between fio and `ssdlab serve`, and write it to FILE.

    `ssdlab serve --overhead FILE` then answers earlier by it, for each direction and size.
    """
    delivery.refuse(file, forms.OVERHEAD)
    with terminal.steps(sys.stderr, "measuring", quiet or sys.stderr is None) as progress:
        found = measure(seconds, port, realtime, progress)
    delivery.write(file, json.dumps(found, indent=1) + "\n", forms.OVERHEAD)
    if quiet:
        return
    click.echo(f"{'bytes':>9}  {'read, us':>9}  {'write, us':>9}")
    rows = found["overhead"]
    for read, write in zip(rows["read"], rows["write"], strict=True):
        times = f"{read['outside_us']:9.1f}  {write['outside_us']:9.1f}"
        click.echo(f"{read['bytes']:>9}  {times}")
