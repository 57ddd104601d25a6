"""`ssdlab trace`: inspects and converts traces, without simulation."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from ssdlab import _core, forms, sources
from ssdlab import trace as traces
from ssdlab._core import InputError
from ssdlab.cli.options import QUIET, ExamplesFirst, ExamplesFirstGroup
from ssdlab.cli.outputs import Outputs
from ssdlab.trace import figures

COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])

# Options for ambiguous files, and limits: keys of the workload kind `trace`.
OPTIONS = [
    click.option(
        "--format",
        metavar="NAME",
        help="The trace format. [default: detected from the start of the file]",
    ),
    click.option(
        "--time-unit", metavar="ns|us|ms|s", help="Unit of times, for formats that do not state it."
    ),
    click.option(
        "--columns",
        metavar="LIST",
        help="Columns of a table, by number or name: time=1:us,op=3,offset=4:bytes,size=5 or "
        "time=ts,offset=lba*512,size=len,op=rw",
    ),
    click.option(
        "--pattern",
        metavar="REGEX",
        help="The lines that are requests; groups are columns: (?<time_us>[0-9]+) (?<op>[RW]) ...",
    ),
    click.option("--layout", metavar="TEXT", help="The blkparse -f format string of the file."),
    click.option(
        "--event",
        metavar="queue|issue|complete",
        help="The event taken as the arrival, in Linux block-layer traces.",
    ),
    click.option(
        "--read-share",
        metavar="SHARE",
        type=float,
        help="Share of reads, for formats that do not record reads and writes.",
    ),
    click.option(
        "--skip-bad",
        metavar="N",
        type=click.IntRange(min=0),
        help="Skip at most N unreadable lines or records.",
    ),
    click.option(
        "--devices", metavar="LIST", help="Only these devices: 'first', or numbers such as 0,2."
    ),
    click.option(
        "--requests", metavar="N", type=click.IntRange(min=0), help="Only the first N requests."
    ),
    click.option(
        "--duration", metavar="TIME", help="Only the first part of the trace, such as 60s."
    ),
]


def reading_options(command: COMMAND) -> COMMAND:
    """Adds the options that control reading a trace."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.group(
    cls=ExamplesFirstGroup,
    examples=[
        ("statistics of a trace", "ssdlab trace info FILE"),
        ("the first requests, as parsed", "ssdlab trace head FILE"),
        ("convert to another format", "ssdlab trace convert FILE OUT.parquet"),
        ("a format without a time unit", "ssdlab trace info FILE --format mqsim --time-unit ns"),
    ],
)
def trace() -> None:
    """Look at a trace, or convert it.

    FILE may be compressed (gzip, bzip2, xz, zstd); - is standard input. `ssdlab list formats` shows
    the formats.
    """


@trace.command(
    cls=ExamplesFirst,
    examples=[
        ("a table and figures", "ssdlab trace info FILE"),
        ("for scripts", "ssdlab trace info FILE --json - | jq .read_share"),
        (
            "does it fit the device; also as a figure",
            "ssdlab trace info FILE --device agrawal2008 --plot it.png",
        ),
        ("from a pipe", "zstdcat FILE.zst | ssdlab trace info -"),
    ],
)
@click.argument("file")
@reading_options
@click.option("--capacity", metavar="SIZE", help="Count requests beyond this capacity (27GiB).")
@click.option(
    "--device", metavar="PRESET|FILE", help="Count requests beyond the capacity of this device."
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write JSON to FILE; - prints it.")
@click.option(
    "--plot",
    metavar="FILE.png",
    type=click.Path(path_type=Path),
    help="Draw a figure to FILE (.png, .svg).",
)
@QUIET
def info(
    file: str,
    device: str | None,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Show statistics of a trace: requests, sizes, addresses, times, and anomalies."""
    outputs = Outputs(json_path, quiet, forms.TRACE_INFO, plot=plot)
    if device is not None:
        if options["capacity"] is not None:
            raise click.UsageError("--capacity and --device exclude each other")
        options["capacity"] = f"{_core.capacity_bytes([sources.from_name('device', device)])}B"
    with _errors(), _progress(quiet) as progress:
        found = traces.info(file, progress=progress, **options)
    from ssdlab.trace import display

    drawn = figures.density, figures.sizes, figures.working_set
    how: dict[str, Any] = {"title": Path(file).name, "size": (9, 10), "heights": (3, 2, 1)}
    outputs.json(found.to_dict())
    outputs.draw(lambda: [[figure(found)] for figure in drawn], **how)
    outputs.table(lambda: display.info(file, found, sys.stdout))


@trace.command(
    cls=ExamplesFirst,
    examples=[("the first three requests", "ssdlab trace head FILE -n 3")],
)
@click.argument("file")
@click.option(
    "-n",
    "count",
    metavar="N",
    type=click.IntRange(min=0),
    default=10,
    help="Number of requests. [default: 10]",
)
@reading_options
@click.option("--json", "json_path", metavar="FILE|-", help="Write JSON to FILE; - prints it.")
@QUIET
def head(file: str, count: int, json_path: str | None, quiet: bool, **options: Any) -> None:
    """Show the first requests of a trace beside the lines they were parsed from."""
    outputs = Outputs(json_path, quiet, forms.TRACE_HEAD)
    with _errors():
        found = traces.head(file, count, **options)
    from ssdlab.trace import display

    outputs.json(found.to_dict())
    outputs.table(lambda: display.head(found, sys.stdout))


@trace.command(
    cls=ExamplesFirst,
    writes=True,
    examples=[
        ("the compact format of ssdlab", "ssdlab trace convert FILE OUT.parquet"),
        ("for fio, compressed", "ssdlab trace convert FILE OUT.iolog.gz"),
        ("to a pipe", "ssdlab trace convert FILE - --to disksim"),
    ],
)
@click.argument("file")
@click.argument("out")
@click.option(
    "--to",
    metavar="FORMAT",
    help="disksim, msr, fio, mqsim or parquet; [default: the extension of OUT]",
)
@reading_options
@click.option("--quiet", is_flag=True, help="No progress bar and no summary.")
def convert(file: str, out: str, to: str | None, quiet: bool, **options: Any) -> None:
    """Convert a trace to another format and report what that format cannot represent.

    OUT is written completely or not at all. A further extension .gz or .zst compresses it; - is
    standard output.
    """
    try:
        with _errors(), _progress(quiet) as progress:
            done = traces.convert(file, out, to, progress=progress, **options)
    except OSError as error:
        if out == "-" and "Broken pipe" in str(
            error
        ):  # the reader has closed the pipe: end quietly
            sys.exit(1)
        said = "" if str(error).endswith("instead") else "; nothing was written"
        raise click.ClickException(f"{error}{said}") from None
    if quiet:
        return
    lines = [f"{out}: {done.requests:,} requests in format {done.to} (from {done['from']})"]
    for title, counts in (
        (f"not representable in {done.to}", done.lost),
        ("left out of the trace", done.skipped),
        ("changed in reading", done.changed),
    ):
        if counts:
            each = ", ".join(f"{count:,} {what}" for what, count in counts.items())
            lines.append(f"  {title}: {each}")
    click.echo("\n".join(lines), err=out == "-")


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Names the options instead of keys in errors, and reports interruptions."""
    try:
        yield
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; nothing was written") from None
    except InputError as error:
        params = click.get_current_context().command.params
        known = "|".join(str(param.name) for param in params if isinstance(param, click.Option))
        message = re.sub(
            rf"\bworkload\.({known})\b",
            lambda key: f"--{key[1].replace('_', '-')}",
            str(error),
        )
        raise InputError(message) from None


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[traces.Report | None]:
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from ssdlab.trace import display

    with display.progress_bar(sys.stderr) as move:
        yield move
