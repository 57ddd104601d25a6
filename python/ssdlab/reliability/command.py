"""`ssdlab reliability`: expected data losses of an array over years."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import delivery, forms, layers, terminal
from ssdlab.cli.options import QUIET, ExamplesFirst, device_argument, one_device
from ssdlab.device.units import SIZE
from ssdlab.reliability import LIFE, REPAIR, Times, outlook, read


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("an array, with failure times from a data sheet", "ssdlab reliability "
        "examples/raid5.toml"),
        ("members that age, and repairs with a spread",
         "ssdlab reliability examples/raid5.toml --life 'weibull(461386h, 1.12)' "
         "--repair 'weibull(12h, 2, 6h)'"),
        ("latent sector errors, scrubbed about once a week",
         "ssdlab reliability examples/raid5.toml --defects 9259h --scrub 'weibull(168h, 3, 6h)'"),
        ("the same array with double parity",
         "ssdlab reliability examples/raid5.toml --set device.redundancy=double-parity"),
    ],
)  # fmt: skip
@device_argument("ARRAY")
@click.option(
    "--years", metavar="NUMBER", type=float, default=10.0, show_default=True, help="Mission time."
)
@click.option(
    "--groups",
    metavar="N",
    type=int,
    default=100_000,
    show_default=True,
    help="Number of arrays to simulate.",
)
@click.option(
    "--life",
    metavar="TIME",
    default=LIFE,
    show_default=True,
    help="Distribution of the lifetime of a member.",
)
@click.option(
    "--repair",
    metavar="TIME",
    help="Time until a failed member is replaced and rebuilt. Default: by device.rebuild.rate, or "
    f"{REPAIR} if it is unlimited.",
)
@click.option(
    "--repairs-together",
    is_flag=True,
    help="Repair several failed members in parallel instead of one after the other.",
)
@click.option(
    "--defects",
    metavar="TIME",
    help="Distribution of the time between latent sector errors of a member.",
)
@click.option(
    "--scrub",
    metavar="TIME",
    help="Distribution of the time until a scrub finds an error. [default: never]",
)
@click.option(
    "--defect-size",
    metavar="SIZE",
    default="4KiB",
    show_default=True,
    help="Data lost by one latent sector error.",
)
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change one key of the array, such as device.redundancy=mirror; repeatable.",
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=42, show_default=True, help="Seed."
)
@click.option(
    "--json", "json_path", metavar="FILE|-", help="Write all numbers as JSON; - prints them."
)
@QUIET
def reliability(
    positional: str | None,
    named: str | None,
    years: float,
    groups: int,
    life: str,
    repair: str | None,
    repairs_together: bool,
    defects: str | None,
    scrub: str | None,
    defect_size: str,
    assignments: tuple[str, ...],
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Estimate the data losses of ARRAY (a preset or a TOML file) over years of operation.

    Redundancy and members are as in the array; failures and repairs are simulated, no
    requests. A TIME is "exponential(MEAN)", "weibull(SCALE, SHAPE)",
    "weibull(SCALE, SHAPE, LOCATION)", "constant(12h)", or a mean alone, in h, d or y.
    """
    array = one_device(positional, named, "ARRAY")
    json_file = None if json_path in (None, "-") else Path(str(json_path))
    if json_file is not None:
        delivery.refuse(json_file, forms.RELIABILITY)
    if groups < 1:
        raise click.UsageError(f"--groups {groups}: at least 1")
    found_array = read(array, layers.from_options(assignments))
    if repair is None:
        hours = found_array.rebuild_hours
        repair = REPAIR if hours is None else f"constant({hours:.6f}h)"
    size = round(SIZE.parse("--defect-size", defect_size))
    times = Times(life, repair, repairs_together, defects, scrub, size)
    with terminal.steps(sys.stderr, "living", quiet) as progress:
        found = outlook(found_array, times, years, groups, seed, progress)
    text = json.dumps(found.to_dict(), indent=2) + "\n"
    if json_file is not None:
        delivery.write(json_file, text, forms.RELIABILITY)
    if json_path == "-":
        click.echo(text, nl=False)
    elif not quiet:
        from ssdlab.reliability import display

        click.echo(display.table(found, sys.stdout), nl=False)
