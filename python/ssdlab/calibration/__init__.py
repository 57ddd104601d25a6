"""From measurements to a device: `ssdlab.calibrate`.

The function `calibrate` would hide a package of its name. Modules for measuring, reading and
fitting are imported on demand.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssdlab import _core, delivery, forms
from ssdlab._core import InputError
from ssdlab.calibration.regression import Weights
from ssdlab.results.records import Record
from ssdlab.running import Part

__all__ = ["Calibration", "calibrate"]

#: Value of `fit` for the keys of a current drive, instead of keys with bounds.
MODEL = "model"
SOURCES = ("device", "fio", "trace")
REMOTE = ("nbd://", "nbd+unix://")
#: Magic bytes of compressed files (gzip, bzip2, xz, zstd), and JSON.
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


class Calibration(Record):
    """Result of a calibration: `c.patterns.rand_read.a_us`, `c.notes`, `c.points`, ..."""

    __slots__ = ()

    def toml(self) -> str:
        """The device file, which `ssdlab run --device` takes."""
        from ssdlab.calibration import device_file

        if "recipe" in self._data:
            raise InputError(f"--fit {self._data['kind']} finds keys of a device, and no device")
        return device_file.text(self._data)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the device file atomically.

        Raises `OSError`, also for an existing file that this method did not write, unless `force`
        is given.
        """
        delivery.write(Path(path), self.toml(), forms.CALIBRATED, force=force)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plot the measurements and the fit into an image file. Needs matplotlib."""
        from ssdlab.calibration import figures
        from ssdlab.charts import matplotlib

        rows = figures.rows(self._data)
        size = (max(4.2 * len(rows[0]), 6), 6.4)
        title = f"{self._data['source']}: the line with 1 outstanding"
        heights = (3, 1.2)
        sheet = matplotlib.sheet(
            rows, "--plot", title=title, size=size, heights=heights, share_x=True
        )
        matplotlib.save(Path(path), sheet)

    def __repr__(self) -> str:
        parts = [
            f"{name} {it['a_us']:.4g} us + {it['b_us_per_kib']:.4g} us/KiB"
            for name, it in self._data["patterns"].items()
        ]
        return f"<Calibration: {'; '.join(parts)}>"


def calibrate(
    target: str | os.PathLike[str],
    *,
    source: str | None = None,
    kind: str = "linear",
    weights: Weights = "relative",
    block_sizes: Sequence[int] | None = None,
    outstanding: Sequence[int] = (1, 2, 4),
    zones: int = 5,
    seconds: float = 0.5,
    write: bool = False,
    statistic: str = "mean",
    subtract_way: str | None = None,
    seed: int = 42,
    device: Part | None = None,
    fit: Sequence[str] = (),
    allow_code: bool = False,
    time_scale: float = 1.0,
    reading: dict[str, Any] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Calibration:
    """Fit the linear model, or parameters of any device, to measurements.

    `target` is measured if it is a block device, an `nbd+unix://` address or a file of data.
    Results of fio (a JSON file, a directory or a tar of them) and traces with service times are
    read. The content tells which, unless `source` does: "device", "fio" or "trace".

    - `statistic`: of a point's times: "mean", or on a busy machine, whose outliers shift the mean,
      "median" or "low" (20th percentile); traces give means only;
    - `subtract_way`: for an NBD server, subtract the round trip, measured on a reference server in
      alternation: "ssdlab" if the target is served by ssdlab, which replies earlier by its estimate
      of the round trip, else "other";
    - `kind`: of the law that is made: "linear" (A + n B), "piecewise" (times by size) or "parallel"
      (A + n B by number outstanding);
    - `weights`: "relative" (1/time^2) or "equal" (ordinary least squares);
    - subject of the measurement: `block_sizes` in bytes (by default 512 B to 1 MiB), numbers
      `outstanding`, an odd number of `zones`, `seconds` for each point, and with `write` also
      writes, which overwrite the target;
    - `fit`: keys with bounds, such as "timing.read=10us..100us", of `device`, a preset, file or
      dict as `ssdlab.run` takes it, that are searched by simulation (needs scipy); a cleaning
      policy in Python that the file names is loaded only with `allow_code`. "model" fits the keys
      of a current drive that no data sheet states to fio's results, percentiles included; "cliff",
      "span", "age" and "layout" read a directory with the results of that recipe's scripts, and
      return `recipe`;
    - `time_scale`: the value of a measured live device (`ssdlab serve --time-scale`): all times are
      divided by it;
    - `reading`: how a trace is read, as for `ssdlab.trace.info`;
    - `progress` is called with the steps done and the total.

    Raises `InputError` for a target that cannot be read, measured or fitted.
    """
    from ssdlab.calibration import recipes
    from ssdlab.calibration.fit import KINDS, fitted

    for name, value, choices in (
        ("kind", kind, KINDS),
        ("weights", weights, ("relative", "equal")),
        ("statistic", statistic, ("mean", "median", "low")),
        ("subtract_way", subtract_way, (None, "ssdlab", "other")),
        ("source", source, (None, *SOURCES)),
    ):
        if value not in choices:
            known = ", ".join(choice for choice in choices if choice)
            raise InputError(f"{name} {value}: expected one of {known}")
    if device is not None and not fit:
        raise InputError("--device is what --fit changes; there is no --fit")
    if any(map(recipes.is_fit, fit)):
        if len(fit) > 1:
            raise InputError(f"--fit {fit[0]} stands alone; give no other --fit")
        return Calibration(recipes.fit(fit[0], Path(target), time_scale))
    if MODEL in fit:
        return _model(target, source, list(fit), device, allow_code, reading or {}, progress)
    if fit:
        from ssdlab.calibration import search

        # Wrong bounds are rejected before the measurement.
        parameters = [search.parameter(assignment) for assignment in fit]
        search.Search(device, parameters, [], None, allow_code)
    source = source or _source(target, reading or {})
    if write and source != "device":
        raise InputError(f"--write: {target} is read as {source}; nothing is measured")
    if subtract_way is not None and source != "device":
        raise InputError(f"--subtract-way: {target} is read as {source}; nothing is measured")
    if source == "device":
        from ssdlab.calibration.measure import Plan, measure
        from ssdlab.calibration.remote import measure as measure_remote

        sizes = tuple(block_sizes) if block_sizes is not None else Plan().block_bytes
        plan = Plan(sizes, tuple(outstanding), zones, seconds, write, seed, statistic, subtract_way)
        if str(target).startswith(REMOTE):
            measured = measure_remote(str(target), plan, progress)
        else:
            measured = measure(Path(target), plan, progress)
    elif source == "fio":
        from ssdlab.calibration import fio

        measured = fio.read(Path(target), statistic)
    else:
        from ssdlab.calibration import traced

        if statistic != "mean":
            raise InputError(f"--statistic {statistic}: a trace is read for its means")
        measured = traced.read(Path(target), reading or {}, _bytes_read(progress))
    if not 0 < time_scale < float("inf"):
        raise InputError(f"time scale {time_scale:g}: expected a number above 0")
    if time_scale != 1.0:
        measured.points[:] = [
            replace(point, mean_us=point.mean_us / time_scale) for point in measured.points
        ]
        measured.conditions["time_scale"] = time_scale
    found = fitted(measured, kind, weights, required=not fit)
    if fit:
        found["fit"] = search.fit(device, list(fit), measured.points, progress, allow_code)
        found["notes"] += found["fit"].pop("notes")
    return Calibration(found)


def _model(
    target: str | os.PathLike[str],
    source: str | None,
    fit: Sequence[str],
    device: Part | None,
    allow_code: bool,
    reading: dict[str, Any],
    progress: Callable[[int, int], object] | None,
) -> Calibration:
    """The model of a current drive, fitted to fio's results."""
    from ssdlab.calibration import jobs, model

    if device is None:
        raise InputError(f"--fit {MODEL}: --device names the drive to begin with")
    if list(fit) != [MODEL]:
        raise InputError(f"--fit {MODEL} searches keys of its own; give no other --fit")
    if allow_code:
        raise InputError(f"--fit {MODEL}: --allow-code has no effect here")
    read_as = source or _source(target, reading)
    if read_as != "fio":
        raise InputError(f"--fit {MODEL}: {target} is read as {read_as}; results of fio are needed")
    wanted = jobs.read(Path(target))
    found = model.fit(device, wanted, progress)
    notes = found.pop("notes")
    conditions = {"tool": "fio", "jobs": len(wanted)}
    return Calibration(
        {
            "version": _core.version,
            "kind": MODEL,
            "source": str(target),
            "patterns": {},
            "conditions": conditions,
            "notes": notes,
            "points": [],
            "fit": found,
        }
    )


def _is_text(head: bytes) -> bool:
    """True if bytes may begin a text: one file in 256 of random data begins with a given byte."""
    return not any(byte < 32 and byte not in b"\t\n\r" for byte in head)


def _source(target: str | os.PathLike[str], reading: dict[str, Any]) -> str:
    """Kind of the target, by its content."""
    if str(target).startswith(REMOTE):
        return "device"
    path = Path(target)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return "fio"
        if not stat.S_ISREG(mode):
            return "device"
        with path.open("rb") as file:
            head = file.read(512)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{target}: cannot be read: {reason}") from None
    if any(value is not None for value in reading.values()):
        return "trace"
    if head.lstrip().startswith(b"{") and _is_text(head):
        return "fio"
    packed = head.startswith(COMPRESSED) or head[257:262] == b"ustar"
    try:
        _core.trace_head(str(target), "{}", 1)
    except InputError:
        return "fio" if packed else "device"
    return "trace"


def _bytes_read(
    progress: Callable[[int, int], object] | None,
) -> Callable[[int, int, int | None], object] | None:
    if progress is None:
        return None
    return lambda _, done, expected: progress(done, expected) if expected else None
