"""`ssdlab placement`: benefit of placement (FDP, streams) for a trace."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from ssdlab import forms
from ssdlab._core import InputError
from ssdlab.cli.options import QUIET, ExamplesFirst
from ssdlab.cli.outputs import Outputs
from ssdlab.placing import ISOLATIONS
from ssdlab.placing import placement as compared
from ssdlab.trace.command import _errors, _progress, reading_options


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("would FDP help this trace?", "ssdlab placement --trace FILE"),
        ("on a drive that you know, for its life in years",
         "ssdlab placement --trace FILE --device samsung-pm9a3"),
        ("how full may the drive be?", "ssdlab placement --trace FILE --utilisation 50..100"),
        ("with both kinds of isolation, two handles",
         "ssdlab placement --trace FILE --isolation both --handles 2"),
        ("would zones, with a log of the host?", "ssdlab placement --trace FILE --zones"),
    ],
)  # fmt: skip
@click.option(
    "--trace", "file", metavar="FILE", required=True, help="The trace; - is standard input."
)
@click.option(
    "--device",
    metavar="PRESET|FILE",
    help="The drive: its spare space, superblocks, capacity and rated P/E cycles. "
    "[default: 7 % spare space, 512 reclaim units]",
)
@click.option(
    "--handles", metavar="N", type=int, default=8, show_default=True, help="Placement handles."
)
@click.option(
    "--utilisation",
    metavar="PERCENT",
    default="100",
    show_default=True,
    help="How full the data of the trace make the drive: 80, 60,80, or 50..100 in steps of 10.",
)
@click.option(
    "--isolation",
    type=click.Choice([*ISOLATIONS, "both"]),
    default="initial",
    show_default=True,
    help="Whether copies of all handles share reclaim units, or each handle has its own.",
)
@click.option(
    "--zones", is_flag=True, help="Also try a host log on zones, each as large as a reclaim unit."
)
@click.option("--units", metavar="N", type=int, help="Reclaim units of the drive.")
@click.option(
    "--spare", metavar="SHARE", type=float, help="Flash beyond the capacity, as a share of it."
)
@reading_options
@click.option("--json", "json_path", metavar="FILE|-", help="Write JSON to FILE; - prints it.")
@click.option(
    "--plot",
    metavar="FILE.png",
    type=click.Path(path_type=Path),
    help="Draw a figure to FILE (.png, .svg).",
)
@QUIET
def placement(
    file: str,
    device: str | None,
    handles: int,
    utilisation: str,
    isolation: str,
    zones: bool,
    units: int | None,
    spare: float | None,
    json_path: str | None,
    plot: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Tell whether placement (FDP, streams) would help the writes of a trace.

    The trace is replayed without time until write amplification settles, with its writes placed by
    address, size, hint (device or FUA), and learned lifetime, beside no placement and the best that
    knowledge of the future allows. The exit status does not depend on the gain.
    """
    outputs = Outputs(json_path, quiet, forms.PLACEMENT, plot=plot)
    levels = _levels(utilisation)
    with _errors(), _progress(quiet) as reading:
        found = compared(
            file,
            device=device,
            handles=handles,
            utilisation=levels,
            isolation=ISOLATIONS if isolation == "both" else isolation,
            zones=zones,
            units=units,
            spare=spare,
            read_progress=reading,
            **options,
        )
    from ssdlab.placing import display, figures

    drawn = [figures.policies, figures.utilisation][: 2 if len(levels) > 1 else 1]
    outputs.json(found.to_dict())
    outputs.draw(
        lambda: [[figure(found)] for figure in drawn],
        title=Path(file).name,
        size=(9, 4.5 * len(drawn)),
    )
    outputs.table(lambda: display.placed(found, sys.stdout))


def _levels(text: str) -> list[float]:
    """Shares of a list of percents, or of a range in steps of ten.

    >>> _levels("80"), _levels("50..75"), _levels("60, 85%")
    ([0.8], [0.5, 0.6, 0.7, 0.75], [0.6, 0.85])
    """
    number = r"\s*(\d+(?:\.\d+)?)\s*%?\s*"
    if whole := re.fullmatch(rf"{number}\.\.{number}", text):
        low, high = float(whole[1]), float(whole[2])
        levels = [low + 10 * step for step in range(int((high - low) // 10) + 1)]
        if low < high and levels[-1] < high:
            levels.append(high)
    else:
        found = [re.fullmatch(number, part) for part in text.split(",")]
        levels = [float(it[1]) for it in found if it is not None]
        if len(levels) < len(found):
            levels = []
    if not levels or not all(1 <= level <= 100 for level in levels):
        raise InputError(
            f'--utilisation "{text}": give percents of 1 to 100, such as 80, 60,80 or 50..100'
        )
    return list(dict.fromkeys(level / 100 for level in levels))
