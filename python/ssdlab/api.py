"""`run`: puts a workload on a device from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ssdlab import _core, layers
from ssdlab.results import Results

Part: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]


class Progress(NamedTuple):
    """How far a run has come; what `progress` is called with, about ten times a second."""

    phase: str
    """What is being done, such as filling the drive or measuring."""
    done: int
    """Requests (or, while a drive is prepared, steps) completed in this phase."""
    expected: int | None
    """The number at which the phase ends, where it is known."""
    simulated_seconds: float
    """The simulated time."""


def run(
    experiment: Part | None = None,
    *,
    device: Part | None = None,
    trace: str | os.PathLike[str] | None = None,
    workload: Part | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    check: bool = False,
    requests: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    **sections: Mapping[str, Any],
) -> Results:
    """Simulate an experiment and return its `Results`.

    Everything is optional, and each argument overrides those before it in this list:

    - `experiment`: the path of a TOML file, or its content as a dict;
    - `device`, `workload`: the name of a preset, the path of a TOML file, or the section's keys as
      a dict, such as `device={"preset": "agrawal2008", "channels": 4}`; a preset goes before a file
      of the same name, which `./name` selects;
    - `trace`: the path of a trace file to replay, in place of a `workload`;
    - other sections by name, such as `run={"until": "60s"}`;
    - `set`: single keys, such as `{"device.timing.read": "30us"}`;
    - `seed`: of the random generator.

    Dimensioned values are texts with units ("25us", "4KiB"). `check` audits the whole state of the
    device after the run. `requests` names a Parquet file that gets a row for each request, in
    order of arrival: what was asked, when it came, left the host and was answered, and where its
    time went; it can be replayed as a trace. The simulation runs outside the interpreter's lock:
    other threads go on meanwhile, and several may run at once.

    Raises `InputError` for wrong input and `CheckError` for a failed audit. Ctrl-C, and whatever
    `progress` raises, ends the run and is passed on with an attribute `requests`: the number of
    requests completed so far.
    """
    if trace is not None and workload is not None:
        raise _core.InputError("trace and workload exclude each other: a trace is a workload")
    stack: list[layers.Layer] = []
    if experiment is not None:
        stack += _file_or_mapping("argument experiment", experiment)
    if device is not None:
        stack += _section("device", device)
    if workload is not None:
        stack += _section("workload", workload)
    if trace is not None:
        stack += layers.from_trace("argument trace", trace)
    for name, keys in sections.items():
        stack += layers.from_mapping(f"argument {name}", {name: keys})
    for key, value in (set or {}).items():
        stack.append(layers.from_assignment(key, value))
    if seed is not None:
        stack += layers.from_seed("argument seed", seed)
    return run_layers(stack, check=check, requests=requests, progress=progress)


def run_layers(
    stack: list[layers.Layer],
    *,
    check: bool = False,
    requests: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Results:
    """Simulate the experiment made of `stack`; otherwise as `run`."""
    report = None
    if progress is not None:

        def report(phase: str, done: int, expected: int | None, simulated_ns: int) -> None:
            progress(Progress(phase, done, expected, simulated_ns / 1e9))

    record = None if requests is None else os.fspath(requests)
    return Results.from_json(_core.run(stack, check, report, record))


def _file_or_mapping(source: str, part: Part) -> list[layers.Layer]:
    if isinstance(part, Mapping):
        return layers.from_mapping(source, part)
    return [layers.from_file(part)]


def _section(section: str, part: Part) -> list[layers.Layer]:
    if isinstance(part, Mapping):
        return layers.from_mapping(f"argument {section}", {section: part})
    return [layers.from_name(section, part)]
