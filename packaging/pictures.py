"""Draws the pictures of docs/media.md, docs/retention.md, docs/calibrate.md and docs/pts.md that
come from the simulator alone: `make pictures`.

Each is a function with the name of its file, so that one of them can be drawn alone:
`python packaging/pictures.py cliff retention`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab import pts as of_pts
from ssdlab.charts import Axis, Figure, Series, matplotlib
from ssdlab.cliffs import figures as of_cliffs
from ssdlab.pts import figures as of_pts_figures
from ssdlab.unpowered import figures as of_retention

DOCS = Path(__file__).resolve().parents[1] / "docs"
LARGEST = 1_000_000
WIDE = (6.4, 3.6)
#: As fast as the whole drive, and read in a moment.
SMALL = {"device.blocks_per_plane": 96, "device.capacity": "90GB"}


def cliff() -> Any:
    """Copies that fill the drive: when it is empty, and when it is nearly full."""
    fills = (0.0, 0.8)
    lines = []
    for fill in fills:
        figure = of_cliffs.rates(ssdlab.cliff("samsung-980pro", fill=fill))
        rate = figure.lines()[0]
        lines.append(Series(f"{fill:.0%} full", rate.x, rate.y))
    title = "A copy that fills a drive of 1 TB"
    figure = Figure(title, Axis("GB written"), Axis("GB/s"), lines)
    return [[figure]], WIDE


def retention() -> Any:
    """Losses and retries over time of a client drive."""
    found = ssdlab.retention("tlc-client", "1y at 40C", worn=0.5)
    return [[of_retention.losses(found)], [of_retention.retries(found)]], (6.4, 5.4)


def of_drive(age: str, worn: float) -> Any:
    """Retention of the client drive, on a small part."""
    return ssdlab.retention("tlc-client", age, worn=worn, set=SMALL)


def read_by_age() -> Any:
    """The rate of the first read of old data."""
    ages = {"1d": 1, "1w": 7, "1mo": 30.4, "3mo": 91.3, "1y": 365.25, "3y": 1095.75}
    lines = []
    for worn in (0.0, 0.5, 1.0):
        found = [of_drive(f"{it} at 30C", worn) for it in ages]
        rates = [it.aged.mb_per_s / 1000 for it in found]
        lines.append(Series(f"{worn:.0%} worn", [*ages.values()], rates))
    days = Axis("Days at 30 °C without power", log=10)
    return [[Figure("First read of old data, in sequence", days, Axis("GB/s"), lines)]], WIDE


def losses_by_cycles() -> Any:
    """Pages that are lost over the cycles of the blocks, for several times."""
    cycles = [1000 + 125 * step for step in range(17)]
    forms = [of_drive("1y at 40C", it / 1500) for it in cycles]
    names = {0: "3 weeks", 4: "1 year", 8: "16 years"}
    lines = []
    for place, name in names.items():
        lost = [
            next(
                row["pages_lost"][place]
                for row in form.form["over_time"]["losses"]
                if abs(row["cycles"] - form.cycles) < 1
            )
            / form.form["data_bytes"]
            * 1e12
            for form in forms
        ]
        lines.append(Series(name, cycles, [max(it, of_retention.NONE) for it in lost]))
    title = "Pages lost of 1 TB at 40 °C, rated for 1,500 cycles"
    lost_pages = Axis(f"Pages lost, at least {of_retention.NONE:.0e}", log=10)
    return [[Figure(title, Axis("P/E cycles"), lost_pages, lines)]], WIDE


def pts() -> Any:
    """Write saturation and demand intensity of an enterprise drive."""
    report = of_pts.Report("samsung-pm9a3", of_pts.chosen("wsat,dirth"))
    found = {it.test.word: it for it in of_pts.run(report)}
    saturation = of_pts_figures.saturation([("simulated", found["wsat"])])
    return [[saturation], [of_pts_figures.demand(found["dirth"])]], (6.4, 5.4)


PICTURES = {
    "cliff": cliff,
    "pts": pts,
    "retention": retention,
    "read-by-age": read_by_age,
    "losses-by-cycles": losses_by_cycles,
}


def main(names: list[str]) -> int:
    """Draw the pictures with these names, or all."""
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        print(f"no picture {unknown[0]}; there are {', '.join(PICTURES)}", file=sys.stderr)
        return 2
    for name in names or PICTURES:
        rows, size = PICTURES[name]()
        path = DOCS / f"{name}.png"
        drawn = matplotlib.sheet(rows, "pictures.py", size=size)
        path.unlink(missing_ok=True)
        matplotlib.save(path, drawn)
        if path.stat().st_size > LARGEST:
            print(f"{path}: more than a megabyte", file=sys.stderr)
            return 1
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
