"""`ssdlab run`: simulates an experiment, prints its results and keeps them."""

from __future__ import annotations

from typing import Any

import click

from ssdlab.cli.options import PATH, ExamplesFirst, override_options
from ssdlab.running import outputs, perform
from ssdlab.running.perform import EXPERIMENT_FILE, RESULTS_FILE


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("the default device under the default workload", "ssdlab run"),
        ("presets by name", "ssdlab run --device agrawal2008 --workload mixed"),
        ("single keys, changed", "ssdlab run --set device.channels=4 --set cleaning.policy=greedy"),
        (
            "your experiment; results.json and experiment.toml in ./out",
            "ssdlab run mine.toml --out out",
        ),
        (
            "the flash operations of two milliseconds, for the report and plot.timeline()",
            "ssdlab run --timeline 10ms..12ms --out out",
        ),
        (
            "a trace, the results to another program",
            "ssdlab run --trace FILE --json - | jq .host.all",
        ),
        ("again, what results are of", "ssdlab run out/results.json --set device.channels=4"),
        ("a job of fio on a drive", "ssdlab run job.fio --device samsung-pm9a3"),
        (
            "the files of MQSim, as an experiment and what of them is not modelled",
            "ssdlab run ssdconfig.xml --workload workload.xml --show",
        ),
    ],
)
@click.argument("experiment", required=False, metavar="[EXPERIMENT]", type=PATH)
@override_options
@click.option(
    "--out",
    metavar="DIR",
    type=PATH,
    help=f"Write {RESULTS_FILE} and the complete, re-runnable {EXPERIMENT_FILE} to DIR.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE|-",
    help="Write the results to FILE; - prints them, and nothing else, on standard output.",
)
@click.option(
    "--requests",
    metavar="FILE.parquet",
    type=PATH,
    help="Write every request, its times and where they went to FILE, which is also a trace.",
)
@click.option(
    "--timeline",
    metavar="FROM..TO",
    help="Record the flash operations of a window of simulated time, such as 10ms..12ms.",
)
@click.option(
    "--threads",
    metavar="N|auto",
    default="1",
    show_default=True,
    help="Threads for this run. Results are the same bits; each takes a copy of the drive's state.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(["table", *outputs.FORMS]),
    default="table",
    help="How the results are printed: as a table, as fio's JSON, or as DiskSpd's table.",
)
@click.option("--check", is_flag=True, help="Audit the device's whole state after the run.")
@click.option("--quiet", is_flag=True, help="No progress and no table.")
@click.option(
    "--show",
    is_flag=True,
    help="Print the experiment, every key with its value, and run nothing.",
)
def run(**arguments: Any) -> None:
    """Simulate an experiment and print what came of it.

    EXPERIMENT is a TOML file, results of ssdlab run or their directory, a job of fio (.fio), or a
    file of MQSim (.xml), which --device and --workload take as well.

    Later options override earlier ones in this order: the experiment file, --device, --workload or
    --trace, all --set together, --seed, --timeline. The order of several --set says nothing; one
    that names a kind or preset replaces what the file and --device or --workload say of that
    section. A preset goes before a file of the same name, which ./NAME selects.
    """
    perform.run(**arguments)
