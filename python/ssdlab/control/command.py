"""`ssdlab ctl`: orders to a live device while it is served."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ssdlab.cli.options import PATH, ExamplesFirst
from ssdlab.control import order


@click.command(
    cls=ExamplesFirst,
    needs_live_device=True,
    context_settings={"ignore_unknown_options": True},
    examples=[
        ("what it has done so far", "ssdlab ctl /tmp/ctl stats"),
        (
            "every answer 2 ms later, of one in a hundred",
            "ssdlab ctl /tmp/ctl latency add 2ms p=0.01",
        ),
        ("the next flush fails", "ssdlab ctl /tmp/ctl fail flush 1"),
        ("an old drive", "ssdlab ctl /tmp/ctl age steady"),
        ("no power for two seconds", "ssdlab ctl /tmp/ctl cut off 2s"),
    ],
)
@click.argument("socket", type=PATH)
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="How long to wait for the drive to rest, where an order needs that.",
)
def ctl(socket: Path, words: tuple[str, ...], wait: float) -> int:
    """Say an order at the control SOCKET of `ssdlab serve --control SOCKET`.

    The answer is a line of JSON. Orders are: stats; health; save; slow X; latency add TIME
    [p=SHARE]; latency none; stall TIME; fail read|write|trim|flush all|FIRST..END
    [COUNT|rate=SHARE]; readonly [off]; end-of-life; cut [off TIME]; age steady; age N writes;
    reset. docs/live.md says what each does.
    """
    answer = order(socket, " ".join(words), wait)
    if "error" in answer:
        raise click.UsageError(answer["error"])
    click.echo(json.dumps(answer))
    return 0
