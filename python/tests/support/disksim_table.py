"""DiskSim's own files: what their authors state, and what comes out here.

`python python/tests/support/disksim_table.py [DIR]` prints the table; DIR is `../shared`.
"""

from __future__ import annotations

import csv
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ssdlab
from ssdlab._core import InputError
from ssdlab.paper import disks

SHARED = Path(__file__).resolve().parents[4] / "shared"


class Row(NamedTuple):
    """A file, its trace if it has one, the measure, and the figure of its authors."""

    file: str
    trace: Path | None
    measure: str
    stated: float | None

    def ours(self, shared: Path = SHARED) -> float:
        """The figure here, ms. Raises `InputError` for a file that is refused."""
        path = shared / "disksim" / self.file
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "requests.parquet"
            is_demerit = self.measure.startswith("demerit")
            found = ssdlab.run(path, trace=self.trace, requests=record if is_demerit else None)
            if is_demerit:
                assert self.trace is not None
                return disks.demerit(disks._times_ms(self.trace), disks._times_ms(record))
        all_ = found.host.all
        # The driver's queue is before the device.
        before = all_.breakdown_us.host_queue if "device" in self.measure else 0.0
        return (all_.mean_us - before) / 1000


def rows(shared: Path = SHARED) -> Iterator[Row]:
    """The rows of EXPECTED.tsv."""
    with (shared / "disksim" / "EXPECTED.tsv").open(encoding="utf-8") as file:
        for file_, with_, measure, expected, _ in list(csv.reader(file, delimiter="\t"))[1:]:
            number = re.match(r"[\d.]+", expected)
            trace = None if with_ == "its own load" else shared / "disksim" / file_
            if trace is not None:
                trace = trace.parent / with_.removeprefix("../")
                near = shared / with_.removeprefix("../")
                trace = near if near.is_file() else trace
            yield Row(file_, trace, measure, float(number[0]) if number else None)


def main() -> None:
    """Print the table."""
    shared = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    for row in rows(shared):
        try:
            ours = f"{row.ours(shared):.6g}"
        except InputError as refused:
            ours = f"refused: {str(refused).replace(str(shared), '')}"
        print(f"{row.file:30} {row.measure[:28]:28} {row.stated or '':>9} {ours}", flush=True)


if __name__ == "__main__":
    main()
