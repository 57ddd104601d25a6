"""`ssdlab run`: simulates an experiment, prints its results and keeps them."""

from __future__ import annotations

from typing import Any

import click

from ssdlab.cli.options import PATH, QUIET, ExamplesFirst, override_options
from ssdlab.running import outputs, perform
from ssdlab.running.perform import EXPERIMENT_FILE, RESULTS_FILE


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("start here: a current drive in steady state", "ssdlab run"),
        ("built-in presets", "ssdlab run --device samsung-pm9a3 --workload mixed"),
        ("change single keys", "ssdlab run --set device.channels=4 --set cleaning.policy=greedy"),
        (
            "your experiment; results.json and experiment.toml in ./out",
            "ssdlab run mine.toml --out out",
        ),
        (
            "record the flash operations of 2 ms, for the report and plot.timeline()",
            "ssdlab run --timeline 10ms..12ms --out out",
        ),
        (
            "replay a trace, pipe the results to another program",
            "ssdlab run --trace FILE --json - | jq .host.all",
        ),
        ("repeat the experiment of results", "ssdlab run out/results.json --set device.channels=4"),
        ("a fio job on a drive", "ssdlab run job.fio --device samsung-pm9a3"),
        (
            "command lines of DiskSpd, and its table",
            "ssdlab run --workload load.cmd --format diskspd",
        ),
        (
            "MQSim's files as an experiment, and which settings are not modelled",
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
    help="Write the results to FILE; - prints them, and nothing else, to standard output.",
)
@click.option(
    "--requests",
    metavar="FILE.parquet",
    type=PATH,
    help="Write every request with its times and latency breakdown to FILE, which can be "
    "replayed as a trace.",
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
    help="Threads that precondition the drive. Results are bit-identical; each needs a copy "
    "of its state.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(["table", *outputs.FORMS]),
    default="table",
    help="Output format: a table, fio's JSON, or DiskSpd's table.",
)
@click.option(
    "--check", is_flag=True, help="Check the consistency of the device's whole state after the run."
)
@click.option(
    "--advice/--no-advice",
    default=None,
    help="Try changes against the bottleneck in short simulations, 5 s at most, and show one that "
    "helps. Default: where the table goes to a terminal.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Prepare the drive anew, and do not keep it prepared (ssdlab cache shows those kept).",
)
@click.option(
    "--pattern",
    metavar="REGEX",
    help="The lines of --trace that are requests; groups such as (?<time_us>...) are columns.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Then try 8 to 16 changes and rank them, as ssdlab why does: about a minute.",
)
@QUIET
@click.option(
    "--show",
    is_flag=True,
    help="Print the complete experiment with every key, and do not run it.",
)
def run(**arguments: Any) -> None:
    """Simulate an experiment and print the results.

    EXPERIMENT is a TOML file, results of ssdlab run or their directory, a fio job (.fio), command
    lines of DiskSpd (.cmd), or a file of MQSim (.xml) or DiskSim
    (.parv), which --device and --workload take as well.

    Without a device, a workload and --set, a current drive runs in steady state.

    Later options override earlier ones in this order: the experiment file, --device, --workload or
    --trace, all --set together, --seed, --timeline. The order of several --set does not matter;
    one that names a kind or preset resets that section. A preset takes precedence over a file
    of the same name; ./NAME selects the file.
    """
    perform.run(**arguments)
