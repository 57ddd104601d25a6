"""`ssdlab serve ctl`: orders to a live device while it is served."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ssdlab.cli.options import PATH, QUIETLY, ExamplesFirst
from ssdlab.control import order

#: Possible next words.
NEXT: Mapping[tuple[str, ...], str] = {
    (): "stats health counts map about save slow latency stall fail readonly end-of-life cut age "
    "placement next-unit reset",
    ("latency",): "add none",
    ("fail",): "read write trim flush",
    ("readonly",): "off",
    ("cut",): "off",
    ("age",): "steady",
}


def _next_word(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    stated = tuple(context.params.get("words") or ())
    return [CompletionItem(it) for it in NEXT.get(stated, "").split() if it.startswith(begun)]


@click.command(
    cls=ExamplesFirst,
    needs_live_device=True,
    context_settings={"ignore_unknown_options": True},
    examples=[
        ("its counters", "ssdlab serve ctl /tmp/ctl stats"),
        (
            "every answer 2 ms later, of one in a hundred",
            "ssdlab serve ctl /tmp/ctl latency add 2ms p=0.01",
        ),
        ("the next flush fails", "ssdlab serve ctl /tmp/ctl fail flush 1"),
        ("an old drive", "ssdlab serve ctl /tmp/ctl age steady"),
        ("no power for two seconds", "ssdlab serve ctl /tmp/ctl cut off 2s"),
    ],
)
@click.argument("socket", type=PATH)
@click.argument("words", nargs=-1, required=True, shell_complete=_next_word)
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="How long to wait for the drive to become idle, for orders that need it.",
)
@QUIETLY
def ctl(socket: Path, words: tuple[str, ...], wait: float, quiet: bool) -> int:
    """Send an order to the control SOCKET of `ssdlab serve --control SOCKET`.

    The answer is a line of JSON. To look: stats; health; about; counts; map; placement. To order:
    save; slow X; latency add TIME [p=SHARE]; latency none; stall TIME; fail read|write|trim|flush
    all|FIRST..END [COUNT|rate=SHARE]; readonly [off]; end-of-life; cut [off TIME]; age steady; age
    N writes; next-unit HANDLE; reset. `ssdlab docs live` says what each does.
    """
    answer = order(socket, " ".join(words), wait)
    if "error" in answer:
        raise click.UsageError(answer["error"])
    if not quiet:
        click.echo(json.dumps(answer))
    return 0
