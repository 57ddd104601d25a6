"""A trace drawn with matplotlib: address over time, sizes, and the working set over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ssdlab import files
from ssdlab._core import InputError
from ssdlab.numbers import size
from ssdlab.results import Record

READ, OTHER = "tab:blue", "tab:orange"


def prepare(path: Path) -> None:
    """Raise `InputError` before anything is read if `path` could not be drawn to."""
    files.refuse_unwritable(path)
    pyplot = _matplotlib()
    sheet = pyplot.figure()
    known = sheet.canvas.get_supported_filetypes()
    pyplot.close(sheet)
    if path.suffix[1:].lower() not in known:
        raise InputError(f"--plot {path}: the extension must be one of {', '.join(sorted(known))}")


def draw(name: str, found: Record, path: Path) -> None:
    """Draw what `trace.info` found to the picture `path`."""
    pyplot = _matplotlib()
    sheet, (places, sizes, pages) = pyplot.subplots(
        3, 1, figsize=(9, 10), height_ratios=(3, 2, 1), layout="constrained"
    )
    sheet.suptitle(Path(name).name)
    try:
        _density(sheet, places, found)
        _sizes(sizes, found)
        _working_set(pages, found)
        sheet.savefig(path, dpi=110)
    finally:
        pyplot.close(sheet)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise InputError("--plot needs matplotlib: pip install 'ssdlab[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _density(sheet: Any, axis: Any, found: Record) -> None:
    axis.set(title="Address over time", xlabel="time, s", ylabel="address, GiB")
    density = found.density
    if density is None:
        return
    from matplotlib.colors import LogNorm

    both = [
        [read + other or float("nan") for read, other in zip(*lines, strict=True)]
        for lines in zip(density.reads, density.others, strict=True)
    ]
    bottom = density.start_bytes / 2**30
    right = density.column_seconds * len(both[0])
    top = bottom + density.row_bytes * len(both) / 2**30
    most = max(cell for line in both for cell in line if cell == cell)
    picture = axis.imshow(
        both,
        origin="lower",
        aspect="auto",
        extent=(0, right, bottom, top),
        norm=LogNorm(1, max(most, 2)),
        interpolation="nearest",
        cmap="viridis_r",
    )
    sheet.colorbar(picture, ax=axis, label="requests")


def _sizes(axis: Any, found: Record) -> None:
    labels = [size(row["up_to_bytes"]) for row in found.sizes]
    reads = [row["reads"] for row in found.sizes]
    others = [row["writes"] + row["trims"] for row in found.sizes]
    axis.bar(labels, reads, color=READ, label="reads")
    axis.bar(labels, others, bottom=reads, color=OTHER, label="writes and trims")
    axis.set(title="Sizes up to", ylabel="requests")
    axis.legend()


def _working_set(axis: Any, found: Record) -> None:
    width = found.working_set.bucket_seconds
    heights = [each / 2**20 for each in found.working_set.bytes]
    axis.bar([width * n for n in range(len(heights))], heights, width=width, align="edge")
    axis.margins(x=0)
    axis.set(title=f"Working set of every {width:.4g} s", xlabel="time, s", ylabel="MiB")
