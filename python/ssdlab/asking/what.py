"""Kinds of input: a trace, results or a job of fio, iostat, SMART, or words."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssdlab import _core, layers, sources
from ssdlab._core import InputError
from ssdlab.asking import described, fio, iostat
from ssdlab.asking.described import Asked
from ssdlab.foreign import fio_command
from ssdlab.running import Experiment
from ssdlab.sizing.load import Load

#: Bytes read to detect the kind of a file.
HEAD = 65_536
#: Kinds of workloads whose requests follow answers, without arrival times.
CLOSED = ("closed", "jesd219", "jobs")
#: Endings of files that describe a load, of others than fio.
DESCRIBED = tuple(it for it in sources.OTHERS if it not in (".fio", ".job", ".ini"))
#: Larger texts are traces.
MOST_TEXT = 64 * 2**20


def of(
    what: str | None,
    text: str | None,
    columns: str | None = None,
    volume: str | None = None,
    assignments: Sequence[str] = (),
) -> Asked:
    """The load that WHAT or `--load` stands for. Raises `InputError`."""
    if what is not None and text is not None:
        raise InputError(f"{what} and --load {text}: both say a load; keep one")
    if text is not None:
        return of_text(text)
    if what is None:
        raise InputError(
            "no load: name a trace, results of fio, iostat -x or smartctl -j, or describe "
            'a load: --load "70/30 8K random, 20 K IOPS"'
        )
    path = Path(what)
    refuse_folder(path)
    if not path.exists():
        return _words(what)
    if path.stat().st_size == 0 and path.is_file():
        raise InputError(
            f"{what}: the file is empty; record it again, or describe the load by --load"
        )
    if path.suffix in sources.OTHERS:
        return _job(path)
    head = begin(path)
    if '"fio version"' in head and (results := fio.last(_whole(path))) is not None:
        return fio.read(path, results)
    if '"sysstat"' in head and '"disk_device"' in head:
        return iostat.read(path, _whole(path), volume)
    if fio_command.is_one(head):
        return _job(path)
    if head.lstrip()[:1] in ("{", "["):
        found = parsed(path)
        if iostat.is_json(found):
            return iostat.read(path, _whole(path), volume)
    if sources.is_sheet(head):
        raise InputError(f"{what}: a data sheet; --device {what} tries its drive, --load is a load")
    if iostat.is_text(head):
        return iostat.read(path, _whole(path), volume)
    return _trace(path, columns, assignments)


def of_text(text: str) -> Asked:
    """The load of `--load`: words and numbers, a preset of a workload, or a file of a load.

    Raises `InputError`.
    """
    if text in {name for name, _ in _core.list("workloads") or ()}:
        return _preset(text)
    if os.path.isfile(text):
        return of(text, None)
    return described.of_words(text)


def load_of(
    trace: Path | None, text: str | None, columns: str | None, assignments: Sequence[str] = ()
) -> Load:
    """The load of `--trace` or `--load`. Raises `InputError` for both and for none."""
    if (trace is None) == (text is None):
        given = "both say a load; keep one" if text else "none is given; one of them says the load"
        raise InputError(f"--trace and --load: {given}")
    if trace is None:
        return of(None, text, None, None, assignments).load
    if trace.suffix in sources.OTHERS:
        return _job(trace).load
    return Load.of(trace, columns)


def tenant(text: str) -> Load:
    """A load among several: a trace or another file, a preset, or words. Raises `InputError`."""
    if os.path.isfile(text):
        return of(text, None).load
    return of_text(text).load


def _preset(name: str) -> Asked:
    keys = {"workload.preset": name}
    stack = layers.from_options([f"workload.preset={name}"])
    kind = Experiment._from_layers(stack).to_dict()["workload"]["kind"]
    load = Load(name, keys=keys, is_paced=kind not in CLOSED)
    read = [f"Load: {name}, a preset of a workload (`ssdlab show {name}`)."]
    surer = ["a trace of your load: blktrace or bpftrace for ten minutes of the busiest hour"]
    return Asked(load, read, ["the preset as it is"], surer)


def refuse_folder(path: Path) -> None:
    """Raise `InputError` for a folder."""
    if not path.is_dir():
        return
    if (path / "results.json").exists():
        raise InputError(
            f"{path}: a folder of ssdlab run; `ssdlab why {path}` says what would help it"
        )
    files = sorted(os.listdir(path))
    one = f", such as {path / files[0]}" if files else ""
    raise InputError(f"{path}: is a folder; name one file in it{one}")


def begin(path: Path) -> str:
    """The beginning of a file as text; empty for compressed or binary files."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD).decode("utf-8", "ignore") if path.is_file() else ""
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def parsed(path: Path) -> Any:
    """The JSON of a file; None if it is not a single value."""
    if path.stat().st_size > MOST_TEXT:
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return None


def _whole(path: Path) -> str:
    if path.stat().st_size > MOST_TEXT:
        raise InputError(f"{path}: more than 64 MiB of results; take their busiest hour")
    return path.read_text(encoding="utf-8", errors="replace")


def _words(what: str) -> Asked:
    try:
        return described.of_words(what)
    except InputError:
        if " " in what:
            raise
        raise InputError(
            f"{what}: there is no such file; a load in words is given as "
            '--load "70/30 8K random, 20 K IOPS"'
        ) from None


def _job(path: Path) -> Asked:
    kind = "a description of a load" if path.suffix in DESCRIBED else "a job of fio"
    read = [f"Load: {path.name}, {kind}, as ssdlab run takes it."]
    assumed = ["the job as it is, cut after its first requests where it is longer"]
    surer = ["the results of this job on a drive of yours (fio --output-format=json)"]
    return Asked(Load(path.name, job=path, is_paced=False), read, assumed, surer)


def _trace(path: Path, columns: str | None, assignments: Sequence[str]) -> Asked:
    from ssdlab.choosing.trace import SHORT_SECONDS, facts
    from ssdlab.units import size

    load = Load.of(path, columns)
    try:
        found, asked = facts(load, assignments)
    except InputError as error:
        raise InputError(str(error).removeprefix("--trace ")) from None
    reads = found.read_share
    share = "" if reads is None else f", {100 * reads:.3g} % reads"
    read = [
        f"Trace: {found.requests:,} requests in {found.duration_seconds:.3g} s{share}, "
        f"{size(found.footprint_bytes)} touched of a span of {size(found.span_bytes)}."
    ]
    assumed = [f"format {found.get('format') or asked.get('format') or 'as detected'}"]
    unit = asked.get("time_unit")
    if unit not in (None, "own"):
        assumed.append(f"times in {unit}")
    devices = found.get("devices")
    if devices is not None and devices > 1:
        assumed.append(
            f"its {devices} volumes lie over each other on one drive (--set workload.devices=first "
            "takes one)"
        )
    assumed.append("every hour is like this one, for the lifetime")
    surer = []
    if found.duration_seconds < SHORT_SECONDS:
        surer.append("a longer trace: ten minutes at least, of the busiest hour")
    surer.append("how much the drives hold (--need 4TB): a trace shows only what it touches")
    surer.append("a measured drive: ssdlab calibrate fits a preset to measurements of yours")
    return Asked(load, read, assumed, surer, reads)
