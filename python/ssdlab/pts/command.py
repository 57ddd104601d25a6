"""`ssdlab pts`: SNIA's Performance Test Specification on a simulated drive."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ssdlab import delivery, forms, interruption, layers, terminal
from ssdlab.cli import options
from ssdlab.cli.options import PATH
from ssdlab.cli.outputs import Outputs
from ssdlab.pts import Report, chosen, run
from ssdlab.pts import jobs as of_fio
from ssdlab.pts import measured as of_drive
from ssdlab.pts.plan import TESTS
from ssdlab.units import TIME


@click.command(
    cls=options.ExamplesFirst,
    examples=[
        ("the industry's test of a drive, as a page", "ssdlab pts samsung-pm9a3 --out pts.html"),
        ("two of its tests", "ssdlab pts samsung-pm9a3 --only throughput,latency"),
        ("the same tests for a real drive, and their results beside the simulated ones",
         "ssdlab pts --jobs DIR; ssdlab pts samsung-pm9a3 --measured DIR"),
    ],
)  # fmt: skip
@options.device_argument()
@click.option("--only", metavar="TEST,...", help=f"Only these tests, of {', '.join(TESTS)}.")
@click.option(
    "--jobs",
    metavar="DIR",
    type=PATH,
    help="Write the tests as fio jobs for a real drive, with a script; nothing is simulated.",
)
@click.option(
    "--measured",
    metavar="DIR",
    type=PATH,
    help="Compare with what that script measured in DIR, cell by cell.",
)
@click.option(
    "--rounds", metavar="N", type=click.IntRange(1), help="Maximum rounds of a test. [default: 25]"
)
@click.option(
    "--minute",
    metavar="TIME",
    help="Simulated time that stands for a minute of the specification; more is surer.",
)
@click.option(
    "assignments",
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change one key, such as device.scale=16; repeatable.",
)
@click.option("--seed", metavar="N", type=int, help="Seed of the random generator.")
@options.ALLOW_CODE
@click.option("--out", metavar="FILE.html", type=PATH, help="Write the tests as a web page.")
@options.JSON
@options.no_cache
@options.QUIET
def pts(
    positional: str | None,
    named: str | None,
    only: str | None,
    jobs: Path | None,
    measured: Path | None,
    rounds: int | None,
    minute: str | None,
    assignments: tuple[str, ...],
    seed: int | None,
    allow_code: bool,
    out: Path | None,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Run the tests of SNIA's Performance Test Specification on DEVICE (a preset or a TOML file).

    Rounds of loads are repeated until they are steady by its rule. At Ctrl-C the tests that have
    ended are kept.
    """
    tests = chosen(only)
    if jobs is not None:
        of_a_run = (
            positional or named,
            measured,
            rounds,
            minute,
            *assignments,
            seed,
            out,
            json_path,
        )
        if any(it is not None for it in of_a_run):
            raise click.UsageError("--jobs writes the tests of any drive; it takes --only alone")
        click.echo("\n".join(map(str, of_fio.write(jobs, tests))))
        return
    device = options.one_device(positional, named)
    outputs = Outputs(json_path, quiet, forms.PTS)
    if out is not None:
        delivery.refuse(out, forms.PTS_PAGE)
    report = Report(device, tests)
    if measured is not None:
        report.measured, report.source = of_drive.load(measured), str(measured)
        words = [it.word for it in tests] if only else []
        report.tests = of_drive.only(report.measured, words, measured)
    printed = _Printed(report, not outputs.has_table)
    interrupted: KeyboardInterrupt | None = None
    with terminal.steps(sys.stderr, "testing", quiet) as bar:
        try:
            outcomes = run(
                report,
                layers.from_options(assignments),
                minute=None if minute is None else TIME.parse("--minute", minute),
                most_rounds=rounds,
                seed=seed,
                allow_code=allow_code,
            )
            for _ in outcomes:
                if bar is not None:
                    bar(len(report.simulated), len(report.tests))
                printed.up_to_the_first_missing()
        except KeyboardInterrupt as error:
            interrupted = error
    printed.all()
    _deliver(report, outputs, out)
    if interrupted is not None:
        count = f"{len(report.simulated)} of {len(report.tests)} tests have ended"
        raise interruption.Interrupted(
            f"interrupted; {count}, the report is partial"
        ) from interrupted


class _Printed:
    """Prints tests in order, each once it and its predecessors have ended."""

    def __init__(self, report: Report, is_silent: bool) -> None:
        self._report = report
        self._waiting = [] if is_silent else [it.word for it in report.tests]

    def up_to_the_first_missing(self) -> None:
        """Print the next completed ones."""
        while self._waiting and self._waiting[0] in self._report.simulated:
            self._print(self._waiting.pop(0))

    def all(self) -> None:
        """Print all remaining completed tests."""
        for word in self._waiting:
            if word in self._report.simulated:
                self._print(word)

    def _print(self, word: str) -> None:
        from ssdlab.pts import display

        neighbours = self._report.measured.get(word)
        click.echo(display.test(self._report.simulated[word], neighbours, sys.stdout))


def _deliver(report: Report, outputs: Outputs, out: Path | None) -> None:
    """Write the outputs, if a test has ended."""
    if not report.simulated:
        return
    outputs.json(report.to_dict())
    if out is not None:
        from ssdlab.pts.report import page

        delivery.write(out, page(report), forms.PTS_PAGE)
