"""`run` and `Experiment`: run a workload on a device from Python.

Strips over simulated time are rows of `over_time.STRIPS`, rules of the verdict (terminal and
report) rows of `verdict.RULES`. `advice` tries the changes that a verdict names before it
recommends one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ssdlab import _core, delivery, forms, layers, sources
from ssdlab.arguments import public
from ssdlab.layers import Layer
from ssdlab.results import Results

if TYPE_CHECKING:
    from ssdlab import cleaners
    from ssdlab.sweeps import Sweep

#: Maximum number of threads: each needs a copy of the drive's state.
MOST_THREADS = 1024

Part: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Experiment"


class Progress(NamedTuple):
    """The progress of a run, passed to `progress` about ten times a second."""

    phase: str
    """Current phase, such as filling the drive or measuring."""
    done: int
    """Requests (or, while a drive is prepared, steps) completed in this phase."""
    expected: int | None
    """Total for this phase, if known."""
    simulated_seconds: float
    """The simulated time."""


def run(
    experiment: Part | None = None,
    *,
    device: Part | None = None,
    trace: Any = None,
    workload: Part | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    allow_code: bool = False,
    cleaner: cleaners.Cleaner | None = None,
    check: bool = False,
    requests: str | os.PathLike[str] | None = None,
    threads: int | str = 1,
    progress: Callable[[Progress], object] | None = None,
    **sections: Mapping[str, Any],
) -> Results:
    """Simulate an experiment and return its `Results`.

    All arguments are optional; each overrides its predecessors in this list:

    - `experiment`: the path of a TOML file, its content as a dict, or an `Experiment`; also results
      or their directory, a fio job (.fio), command lines of DiskSpd (.cmd) or a file of MQSim
      (.xml) or DiskSim (.parv);
    - `device`, `workload`: the name of a preset, the path of a TOML file, or the section's keys as
      a dict, such as `device={"preset": "agrawal2008", "channels": 4}`; a preset takes precedence
      over a file of the same name, which `./name` selects;
    - `trace`: a trace to replay, in place of a `workload`: the path of a file, a pattern of paths,
      or a table of pandas, Polars or Arrow;
    - other sections by name, such as `run={"until": "60s"}`;
    - `set`: single keys, such as `{"device.timing.read": "30us"}`, in any order;
    - `seed`: seed of the random generator;
    - `cleaner`: a cleaning policy of your own, see `ssdlab.cleaners`; by name it is written
      `set={"cleaning.policy": "module:Class(parameter=value)"}`. A name in a file or dict is
      rejected unless `allow_code` permits running its code.

    Quantities are strings with units ("25us", "4KiB"). `check` checks the consistency of the whole
    state of the device after the run. `requests` names a Parquet file with a row per request, in
    order of arrival: its kind, address range, times and latency breakdown; it can be replayed as a
    trace. `threads` is the number of threads that precondition the drive, or "auto" for one per
    core: results are bit-identical, and `results.elapsed.threads` has the threads used. Each
    needs a copy of the drive's state. The simulation releases the GIL: other threads continue, and
    several simulations may run at once.

    >>> import ssdlab
    >>> r = ssdlab.run(workload="random-read", set={"workload.requests": 1000})
    >>> r.host.read.requests, r.host.read.mean_us > 25  # the latency is in microseconds
    (1000, True)

    Raises `InputError` for wrong input, `CheckError` for a failed audit, and `PolicyError` if a
    cleaning policy of your own breaks a rule or raises an exception, which is then the cause.
    `OSError` says that the record of requests or the drive could not be written; its attribute
    `results` has the results.
    Ctrl-C, and any exception of `progress`, ends the run and is passed on, with an attribute
    `requests`, the number of requests completed so far.
    """
    stack = layers_of(
        experiment,
        device=device,
        trace=trace,
        workload=workload,
        seed=seed,
        set=set,
        allow_code=allow_code,
        **sections,
    )
    if cleaner is not None:
        from ssdlab import cleaners

        policy = {"cleaning": {"policy": cleaners.name_of(cleaner)}}
        stack += layers.from_mapping("argument cleaner", {"device": policy})
    return run_layers(
        stack,
        cleaner=cleaner,
        check=check,
        requests=requests,
        threads=threads,
        progress=progress,
    )


def run_layers(
    stack: Sequence[Layer],
    *,
    cleaner: cleaners.Cleaner | None = None,
    check: bool = False,
    requests: str | os.PathLike[str] | None = None,
    threads: int | str = 1,
    progress: Callable[[Progress], object] | None = None,
) -> Results:
    """Simulate the experiment made of `stack`; otherwise as `run`."""
    report = None
    if progress is not None:

        def report(phase: str, done: int, expected: int | None, simulated_ns: int) -> None:
            progress(Progress(phase, done, expected, simulated_ns / 1e9))

    if isinstance(requests, int):
        raise _core.InputError(
            f"argument requests: {requests} is no file for a record of every request; write "
            f'set={{"workload.requests": {requests}}} instead'
        )
    record = None if requests is None else os.fspath(requests)
    count = thread_count(threads)
    try:
        return Results.from_json(_core.run(stack, check, report, record, cleaner, count))
    except _core.InputError as error:
        raise _core.InputError(layers.named(str(error))) from None
    except OSError as error:
        # The record or saved drive is unwritable, but the run is complete.
        if isinstance(text := getattr(error, "results", None), str):
            error.results = Results.from_json(text)  # type: ignore[attr-defined]
        raise


def thread_count(threads: int | str) -> int:
    """The number of threads for the argument `threads`."""
    if threads == "auto":
        from ssdlab import portable

        return portable.cores()
    try:
        count = int(threads)
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise _core.InputError(
            f'threads {threads}: expected "auto" or a number from 1 to {MOST_THREADS}'
        )
    return count


def layers_of(
    experiment: Part | None = None,
    *,
    device: Part | None = None,
    trace: Any = None,
    workload: Part | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    allow_code: bool = False,
    **sections: Mapping[str, Any],
) -> list[Layer]:
    """The layers of the arguments of `run`, from lowest to highest priority."""
    if trace is not None and workload is not None:
        raise _core.InputError("trace and workload exclude each other: a trace is a workload")
    stack: list[Layer] = []
    if experiment is not None:
        is_other = trace is not None or _is_load(workload) or _is_load(_load_in(set or {}))
        stack += _file_or_mapping("argument experiment", experiment, is_other)
    if device is not None:
        stack += _section("device", device)
    if workload is not None:
        stack += _section("workload", workload)
    if trace is not None:
        stack += layers.from_trace("argument trace", trace, changed=set or {})
        from ssdlab import foreign

        for described in (experiment, device):
            if isinstance(described, str | os.PathLike):
                stack += foreign.of_trace(described)
    for name, keys in sections.items():
        _refuse_key(name, keys)
        stack += layers.from_mapping(f"argument {name}", {name: keys})
    stack += layers.from_assignments(set or {})
    if seed is not None:
        stack += layers.from_seed("argument seed", seed)
    return layers.permitting(stack) if allow_code else stack


def _is_load(workload: Part | None) -> bool:
    """True for a complete workload, as opposed to keys that refine another."""
    if isinstance(workload, Mapping):
        return not workload.keys().isdisjoint(("kind", "preset", "path"))
    return workload is not None


def _load_in(assigned: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `workload` among single keys."""
    return {key.removeprefix("workload."): it for key, it in assigned.items() if "workload." in key}


def _refuse_key(name: str, value: Any) -> None:
    """Raise `InputError`, with the correct form, for a key instead of a section."""
    if isinstance(value, Mapping):
        return
    ends = [key for key, _ in _core.list("keys") or () if key.endswith(f".{name}")]
    if ends:
        shown = repr(value) if not hasattr(value, "item") else repr(value.item())
        ways = " or ".join(f'set={{"{key}": {shown}}}' for key in ends[:3])
        raise _core.InputError(f"argument {name}: a key, not a section; write {ways}")


class Experiment:
    """A validated experiment: device, workload and run settings.

    The arguments are as for `run`. Raises `InputError` for wrong input.

    >>> import ssdlab
    >>> e = ssdlab.Experiment(device="agrawal2008", set={"workload.requests": 1000})
    >>> e.changed(seed=7).to_dict()["run"]["seed"]
    7
    """

    @public
    def __init__(
        self,
        experiment: Part | None = None,
        *,
        device: Part | None = None,
        trace: Any = None,
        workload: Part | None = None,
        seed: int | None = None,
        set: Mapping[str, Any] | None = None,
        allow_code: bool = False,
        **sections: Mapping[str, Any],
    ) -> None:
        self.layers: tuple[Layer, ...] = tuple(
            layers_of(
                experiment,
                device=device,
                trace=trace,
                workload=workload,
                seed=seed,
                set=set,
                allow_code=allow_code,
                **sections,
            )
        )
        self._toml = _core.resolve(self.layers)

    @classmethod
    def _from_layers(cls, stack: Sequence[Layer]) -> Experiment:
        experiment = cls.__new__(cls)
        experiment.layers = tuple(stack)
        experiment._toml = _core.resolve(experiment.layers)
        return experiment

    def changed(self, **arguments: Any) -> Experiment:
        """A copy of this experiment with some settings changed; the arguments are as for
        `run`."""
        return Experiment(self, **arguments)

    @public
    def run(
        self,
        *,
        check: bool = False,
        requests: str | os.PathLike[str] | None = None,
        threads: int | str = 1,
        progress: Callable[[Progress], object] | None = None,
    ) -> Results:
        """Simulate it; arguments and exceptions are as for `ssdlab.run`."""
        return run_layers(
            self.layers, check=check, requests=requests, threads=threads, progress=progress
        )

    def sweep(self, vary: Mapping[str, Any] | None = None, **arguments: Any) -> Sweep:
        """Simulate a sweep; the arguments are as for `ssdlab.sweep`."""
        import ssdlab

        return ssdlab.sweep(self, vary=vary, **arguments)

    def to_toml(self) -> str:
        """Every key with its value, as a file that reproduces the experiment."""
        return self._toml

    def to_dict(self) -> dict[str, Any]:
        """Every key with its value: title and version, and the sections device, workload, run."""
        resolved: dict[str, Any] = json.loads(_core.resolve_json(self.layers))
        return resolved

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the experiment to the TOML file `path` atomically.

        Raises `OSError`, also for an existing foreign file, unless `force` is given.
        """
        from pathlib import Path

        delivery.write(Path(path), self._toml, forms.EXPERIMENT, force=force)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self._toml == other._toml

    def __hash__(self) -> int:
        return hash(self._toml)

    def __repr__(self) -> str:
        return f"<Experiment: {self.to_dict()['title']}>"

    def _repr_html_(self) -> str:
        import html

        title = html.escape(self.to_dict()["title"])
        return f"<details><summary>{title}</summary><pre>{html.escape(self._toml)}</pre></details>"


def _file_or_mapping(source: str, part: Part, has_other_load: bool) -> list[layers.Layer]:
    if isinstance(part, Experiment):
        return list(part.layers)
    if isinstance(part, Mapping):
        return layers.from_mapping(source, part)
    return sources.from_experiment(part, has_other_load=has_other_load)


def _section(section: str, part: Part) -> list[layers.Layer]:
    if isinstance(part, Experiment):
        raise _core.InputError(f"argument {section}: expected a section, not an experiment")
    if isinstance(part, Mapping):
        return layers.from_mapping(f"argument {section}", {section: part})
    return [sources.from_name(section, part)]
