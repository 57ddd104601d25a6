"""`ssdlab endurance`: TBW and DWPD of a drive."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ssdlab import forms, layers, terminal
from ssdlab.cli import options
from ssdlab.cli.options import PATH
from ssdlab.cli.outputs import Outputs
from ssdlab.rating import CLASSES, CYCLES, FAILURES, load_of, rate
from ssdlab.units import SIZE


@click.command(
    cls=options.ExamplesFirst,
    examples=[
        ("an enterprise drive under the JESD219 workload",
         "ssdlab endurance samsung-pm9a3 --class enterprise"),
        ("does it reach its rated TBW?",
         "ssdlab endurance samsung-pm9a3 --class enterprise --tbw 1752TB"),
        ("a client drive under your trace, replayed in a loop",
         "ssdlab endurance tlc-client --class client --trace FILE --set workload.beyond=scale"),
        ("with retention: which of both decides",
         "ssdlab endurance tlc-client --class client --workload zipf-mixed "
         "--set device.media.model=tlc-3d --set device.media.spread_errors=0.3"),
        ("more drives, with blocks that differ in rated P/E cycles",
         "ssdlab endurance tlc-enterprise --class enterprise --drives 34 --set wear.spread=0.05"),
    ],
)  # fmt: skip
@options.device_argument()
@click.option(
    "--class", "of", required=True, type=click.Choice([*CLASSES]), help="JESD218 application class."
)
@click.option(
    "--tbw", metavar="SIZE", help="Test this TBW, such as 600TB; exit status 1 if it fails."
)
@click.option(
    "--drives",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help=f"Number of drives, one seed each; {FAILURES:.0%} may fail.",
)
@click.option(
    "--trace",
    metavar="FILE",
    type=PATH,
    help="The workload: this trace, replayed in a loop.",
)
@click.option("--workload", metavar="NAME|FILE", help="The workload: a preset or a TOML file.")
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change one key, such as device.wear.rated_cycles=1500; repeatable.",
)
@click.option(
    "--cycles",
    metavar="N",
    type=int,
    default=CYCLES,
    show_default=True,
    help="Simulate at most N P/E cycles of the rating; the rest is extrapolated.",
)
@click.option(
    "--seed", metavar="N", type=int, help="Seed of the first drive; the others count up from it."
)
@options.ALLOW_CODE
@options.JSON
@options.no_cache
@options.QUIET
def endurance(
    positional: str | None,
    named: str | None,
    of: str,
    tbw: str | None,
    drives: int,
    trace: Path | None,
    workload: str | None,
    assignments: tuple[str, ...],
    cycles: int,
    seed: int | None,
    allow_code: bool,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Write drives to end of life, and report the TBW of DEVICE (a preset or a TOML file).

    The terabytes written (TBW) of JESD218, as limited by wear and retained capacity, beside the
    closed form. UBER and retention are tested where data age (device.media.model). The workload of
    class enterprise is JESD219's; that of class client is a recorded trace (--trace).
    """
    device = options.one_device(positional, named)
    tried = None if tbw is None else SIZE.parse("--tbw", tbw)
    outputs = Outputs(json_path, quiet, forms.ENDURANCE)
    load = load_of(of, trace, workload, layers.keys_of(assignments))
    changes = layers.from_options(assignments)
    with terminal.steps(sys.stderr, "writing until end of life", quiet) as bar:
        found = rate(
            device,
            of,
            load,
            changes,
            allow_code=allow_code,
            drives=drives,
            cycles=cycles,
            seed=seed,
            progress=bar,
        )
    from ssdlab.rating import display

    outputs.json(found.to_dict(tried))
    outputs.table(lambda: display.rating(found, tried, sys.stdout))
    if tried is not None and not found.passes(tried):
        sys.exit(1)
