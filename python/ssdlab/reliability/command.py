"""`ssdlab reliability`: expected data losses of an array, and failures of drives, over years."""

from __future__ import annotations

import sys

import click

from ssdlab import forms, layers, terminal
from ssdlab.cli.options import JSON, QUIET, ExamplesFirst, device_argument, one_device
from ssdlab.cli.outputs import Outputs
from ssdlab.reliability import LIFE, REPAIR, Times, drives, outlook, read
from ssdlab.units import SIZE

#: Default number of simulated arrays.
GROUPS = 100_000


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
        ("a fleet of drives: dies that fail, bad blocks, defects and wear",
         "ssdlab reliability tlc-enterprise --drives 10000 --years 5 --set "
         "device.spares.sick_dies=0.001 --set device.spares.defects=1 --writes 1"),
    ],
)  # fmt: skip
@device_argument()
@click.option(
    "--years", metavar="NUMBER", type=float, help="Mission time. [default: 10; of drives 5]"
)
@click.option(
    "--groups",
    metavar="N",
    type=int,
    help=f"Number of arrays to simulate. [default: {GROUPS:,}]",
)
@click.option(
    "count",
    "--drives",
    metavar="N",
    type=int,
    help=f"Number of drives to simulate, of a single drive. [default: {drives.DRIVES:,}]",
)
@click.option(
    "--bad-blocks",
    metavar="NUMBER",
    type=float,
    help="Isolated bad blocks of a drive in its mission, a mean over drives. [default: 0]",
)
@click.option(
    "writes", "--writes", metavar="DWPD", type=float, help="Drive writes a day. [default: 0]"
)
@click.option(
    "--amplification",
    metavar="NUMBER",
    type=float,
    help="Factor of write amplification, for the wear of drives. [default: 1]",
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
@JSON
@QUIET
def reliability(
    positional: str | None,
    named: str | None,
    years: float | None,
    groups: int | None,
    count: int | None,
    bad_blocks: float | None,
    writes: float | None,
    amplification: float | None,
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
    """Estimate the data losses of an array, or the failures of drives, over years of operation.

    DEVICE is a preset or a TOML file. Of an array redundancy and members are its own; failures and
    repairs are simulated, no requests. Of a single drive a fleet is: dies that fail, bad blocks
    and defects (device.spares), and wear. A TIME is "exponential(MEAN)", "weibull(SCALE, SHAPE)",
    "weibull(SCALE, SHAPE, LOCATION)", "constant(12h)", or a mean alone, in h, d or y.
    """
    array = one_device(positional, named)
    outputs = Outputs(json_path, quiet, forms.RELIABILITY)
    of_drives = {"--drives": count, "--bad-blocks": bad_blocks, "--writes": writes,
                 "--amplification": amplification}  # fmt: skip
    if drives.is_drive(array):
        if groups is not None:
            raise click.UsageError(f"--groups {groups}: a single drive has --drives")
        return _fleet(array, of_drives, years, assignments, seed, outputs, quiet)
    for option, value in of_drives.items():
        if value is not None:
            raise click.UsageError(f"{option} {value:g}: only of a single drive, not of an array")
    years = 10.0 if years is None else years
    groups = GROUPS if groups is None else groups
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
    from ssdlab.reliability import display

    outputs.json(found.to_dict())
    outputs.table(lambda: display.table(found, sys.stdout))


def _fleet(
    device: str,
    asked: dict[str, float | None],
    years: float | None,
    assignments: tuple[str, ...],
    seed: int,
    outputs: Outputs,
    quiet: bool,
) -> None:
    count, bad, writes, amplification = asked.values()
    with terminal.steps(sys.stderr, "living", quiet) as progress:
        found = drives.fleet(
            device,
            drives.DRIVES if count is None else int(count),
            drives.YEARS if years is None else years,
            bad_blocks=0.0 if bad is None else bad,
            writes_per_day=0.0 if writes is None else writes,
            amplification=1.0 if amplification is None else amplification,
            set=layers.as_mapping(assignments),
            seed=seed,
            progress=progress,
        )
    from ssdlab.reliability import display

    outputs.json(found.to_dict())
    outputs.table(lambda: display.fleet(found, sys.stdout))
