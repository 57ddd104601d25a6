"""Layers of the options of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab import _core, layers, sources

if TYPE_CHECKING:
    from pathlib import Path


#: The current drive of runs that name none.
CURRENT = "tlc-enterprise"


def below(
    experiment: Path | None,
    device: str | None,
    trace: Path | None,
    workload: str | None,
    columns: str | None = None,
    assignments: Sequence[str] = (),
) -> list[layers.Layer]:
    """The layers of an experiment's file and of options for whole sections.

    `assignments` are the values of `--set`: if they name a load, it replaces the file's.
    """
    if trace is not None and workload is not None:
        from click import UsageError

        raise UsageError("--trace and --workload exclude each other: a trace is a workload")
    stack: list[layers.Layer] = []
    if experiment is not None:
        _refuse_preset(experiment)
        is_other = trace is not None or workload is not None or _names_load(assignments)
        stack += sources.from_experiment(experiment, has_other_load=is_other)
    if device is not None:
        stack.append(sources.from_name("device", device))
    if workload is not None:
        stack.append(sources.from_name("workload", workload))
    if trace is not None:
        stack += layers.from_trace(f"--trace {trace}", trace, columns, layers.keys_of(assignments))
        from ssdlab import foreign

        for described in (experiment, device):
            if described is not None:
                stack += foreign.of_trace(described)
    elif columns is not None:
        raise _core.InputError(f"--columns {columns}: there is no --trace that it describes")
    return stack


def drive_of_trace(
    experiment: Path | None, trace: Path | None, assignments: Sequence[str]
) -> str | None:
    """The drive for a trace where nothing says of one: a current drive."""
    named = experiment is not None or any(
        key.partition(".")[0] == "device" for key in layers.keys_of(assignments)
    )
    return None if trace is None or named else CURRENT


def first_run() -> list[layers.Layer]:
    """The layers of `ssdlab run` without arguments: a current drive in steady state."""
    subject = {"device": {"preset": CURRENT}, "run": {"precondition": "steady"}}
    return layers.from_mapping("ssdlab run without arguments", subject)


def _refuse_preset(experiment: Path) -> None:
    """Raise `InputError` if a preset was given as the file of an experiment."""
    for section in ("device", "workload"):
        if not experiment.exists() and _core.preset_layer(section, str(experiment)) is not None:
            raise _core.InputError(
                f"{experiment}: there is no such file; the preset of a {section} is given as "
                f"--{section} {experiment}"
            )


def default_load(stack: Sequence[layers.Layer]) -> str:
    """Note for a table if the default load ran because none was named; else empty.

    >>> default_load(layers.from_options(["workload.read_share=1"]))
    ''
    """
    if layers.names_load(stack):
        return ""
    import json

    load = json.loads(_core.resolve_json(list(stack)))["title"].rpartition(" under ")[2]
    return f"Note: no load was named, so the default one ran, {load}; --workload names another\n"


def _names_load(assignments: Sequence[str]) -> bool:
    """True if single keys name a load of another kind."""
    named = ("workload", "workload.kind", "workload.path")
    return any(key in named for key in layers.keys_of(assignments))


def above(assignments: Sequence[str], seed: int | None) -> list[layers.Layer]:
    """The layers of options for single keys."""
    stack = layers.from_options(assignments)
    if seed is not None:
        stack += layers.from_seed(f"--seed {seed}", seed)
    return stack
