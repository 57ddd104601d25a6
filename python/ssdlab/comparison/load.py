"""The load of a comparison: a side without a load runs under the other's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab import layers
from ssdlab._core import InputError
from ssdlab.comparison.measured import Measured
from ssdlab.layers import Layer
from ssdlab.running import Experiment


def of_jobs(found: Measured) -> list[Layer]:
    """The jobs that fio measured. Raises `InputError` if its JSON lacks their options."""
    if found.job_file is None:
        raise InputError(
            f"{found.path}: fio has not written the options of its jobs, and the other side names "
            "no load: --workload names one, such as the file of the jobs"
        )
    return _layers(found.path, {"kind": "fio", "job": found.job_file})


def of_experiment(experiment: Experiment) -> list[Layer] | None:
    """The load that an experiment names; None if it names none."""
    if not layers.names_load(experiment.layers):
        return None
    resolved = experiment.to_dict()
    return _layers(f"the load of {resolved['title']}", resolved["workload"])


def shared(one: Experiment, other: Experiment) -> tuple[Experiment, Experiment]:
    """Both experiments, with a shared load if only one names it."""
    loads = of_experiment(one), of_experiment(other)
    if loads[0] is None and loads[1] is not None:
        return under(one, loads[1]), other
    if loads[1] is None and loads[0] is not None:
        return one, under(other, loads[0])
    return one, other


def of_both(
    stacks: Sequence[tuple[list[Layer], list[Layer]]],
) -> list[tuple[list[Layer], list[Layer]]]:
    """Both sides' layers below and beside the varied keys, with a load that only one names used for
    both.
    """
    loads = [of_experiment(Experiment._from_layers([*low, *peers])) for low, peers in stacks]
    named = next((it for it in loads if it is not None), [])
    return [
        (low if own is not None else [*named, *low], peers)
        for own, (low, peers) in zip(loads, stacks, strict=True)
    ]


def under(experiment: Experiment, load: list[Layer]) -> Experiment:
    """The experiment under a load that may override its keys."""
    return Experiment._from_layers([*load, *experiment.layers])


def _layers(source: str, workload: Mapping[str, Any]) -> list[Layer]:
    return layers.from_mapping(source, {"workload": workload})
