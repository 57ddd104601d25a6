"""`sweep`: a grid, a list of experiments or a search, from Python values to a table."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssdlab import _core, delivery, files, portable, running
from ssdlab._core import InputError
from ssdlab.sweeps import backends, halving, packing, plan, search, space, table
from ssdlab.sweeps.backends import Crew
from ssdlab.sweeps.journal import Journal
from ssdlab.sweeps.plan import Base, Point
from ssdlab.sweeps.result import FORMS, Sweep, extension
from ssdlab.sweeps.space import Axis
from ssdlab.sweeps.table import Goals
from ssdlab.sweeps.work import Outcome

#: Maximum number of points without confirmation.
MAX_POINTS = 100_000
#: Maximum number of seeds per point.
MAX_REPEATS = 1000
#: Keys of a minimal run, to find the metrics in results.
PROBE = {"run.until": "1us", "run.precondition": "none", "run.warm_up": "0s"}
#: Maximum number of points tried to find the metrics.
MAX_SAMPLES = 10


def sweep(
    experiment: running.Part | Sequence[running.Part] | None = None,
    *,
    vary: Mapping[str, Any] | None = None,
    repeat: int | None = None,
    skip: bool = False,
    search: int | None = None,
    halve: bool = False,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    constraints: str | Iterable[str] = (),
    workers: int | None = None,
    executor: Any = None,
    out: str | os.PathLike[str] | None = None,
    check: bool = False,
    force: bool = False,
    progress: Callable[[int, int], object] | None = None,
    **overrides: Any,
) -> Sweep:
    """Simulate many experiments and return them as a `Sweep`.

    - `experiment` and further arguments are as for `ssdlab.run`; `experiment` may be a list.
    - `vary`: parameters and their values, by key (or `device`, `workload`, `trace`): a list of
      values, or a text such as "4,8,16", "1..8", "0.05..0.3:0.05" (a step), "4KiB..1MiB:*2" (a
      factor); the grid is every combination. "footprint*0.5" is half of the footprint of the trace;
      for `device.blocks_per_plane`, the blocks for that capacity.
    - `repeat`: run every point with this many seeds, its own and the following ones; `means()` has
      the means with their 95 % confidence intervals.
    - `skip`: omit points that cannot be built, which are errors otherwise.
    - `search`: run only this many points of that space, chosen by Optuna for the objectives.
    - `halve`: run all points briefly, then fewer of them for longer, and the best in full: a tenth
      of the grid's requests. For one objective.
    - `minimize`, `maximize`: objectives: columns of the table, such as "p99", "read.p99.9",
      "write_amplification_bytes"; `constraints` such as "p99<=500" (times in microseconds).
    - `workers`: worker processes; by default one per core. `executor` instead is an executor of
      `concurrent.futures`, a `dask.distributed.Client` or a Dask scheduler's address.
    - `out`: the table's file (.parquet or .csv); beside it, as .jsonl, the full results of each
      point, from which the same sweep resumes, also with more values. Files of another sweep or
      program are refused unless `force` is given.
    - `progress` is called with the points done and their total.

    Every point runs with the seed of its experiment: all designs serve the same requests, and a
    point is bit-identical wherever it ran. A point that fails is a row with its error.

    >>> import ssdlab
    >>> drive = {"device.blocks_per_plane": 64, "workload.requests": 200}
    >>> s = ssdlab.sweep(vary={"device.channels": [2, 8]}, set=drive, minimize="p99", workers=1)
    >>> s.pareto[0].parameters["device.channels"]  # the one with the lowest p99
    8

    Raises `InputError` for wrong input before anything runs, and `RuntimeError` if all workers are
    lost. Finished points are always kept in `out`.
    """
    bases = [Base(**parts) for parts in _bases(experiment, overrides)]
    axes = space.from_mapping(vary or {}, search is not None)
    if executor is not None and workers is not None:
        raise InputError("workers and executor exclude each other")
    return run(
        bases,
        axes,
        repeat=repeat,
        skip=skip,
        trials=search,
        halve=halve,
        minimize=_listed(minimize),
        maximize=_listed(maximize),
        constraints=_listed(constraints),
        workers=workers,
        executor=executor,
        out=None if out is None else Path(out),
        check=check,
        progress=progress,
        many=True,
        force=force,
    )


def _listed(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _bases(experiment: Any, overrides: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The layers of each experiment; single keys are peers of what varies."""
    several = isinstance(experiment, Sequence) and not isinstance(experiment, str)
    peers, seed = overrides.pop("set", None), overrides.pop("seed", None)
    for position, part in enumerate(experiment if several else [experiment]):
        parameters = {}
        if several:
            named = isinstance(part, str | os.PathLike)
            parameters = {"experiment": os.fspath(part) if named else position}
        below = running.layers_of(part, **overrides)
        yield {
            "below": below,
            "peers": running.layers_of(set=peers),
            "above": running.layers_of(seed=seed),
            "parameters": parameters,
            "allow_code": overrides.get("allow_code", False),
        }


def run(
    bases: Sequence[Base],
    axes: Sequence[Axis],
    *,
    trials: int | None,
    minimize: Sequence[str],
    maximize: Sequence[str],
    constraints: Sequence[str],
    workers: int | None,
    executor: Any,
    out: Path | None,
    check: bool,
    progress: Callable[[int, int], object] | None,
    many: bool,
    option: str = "",
    repeat: int | None = None,
    skip: bool = False,
    halve: bool = False,
    force: bool = False,
) -> Sweep:
    """`sweep` with prepared arguments; `option` is the prefix of names in messages.

    `many` allows grids above `MAX_POINTS` points.
    """
    if out is not None:
        delivery.refuse(out, FORMS[extension(out)], force=force)
        files.refuse_unwritable(out.with_suffix(".jsonl"))
    if workers is not None and workers < 1:
        raise InputError(f"{option}workers {workers}: at least one is needed")
    if halve:
        _refuse_halving(bases, axes, [*minimize, *maximize], repeat or trials, option)
    if repeat is not None:
        bases, axes = _repeated(bases, axes, repeat, trials, option)
    if trials is not None:
        points: list[Point] = []
        _refuse_search(bases, axes, trials, [*minimize, *maximize], option)
        samples: Iterable[Point] = search.samples(bases[0], axes)
    else:
        count = plan.size(bases, axes)
        if not axes and len(bases) == 1:
            raise InputError(
                f"nothing varies: a sweep needs {option}vary KEY=A,B,C or several experiments"
            )
        if count > MAX_POINTS and not many:
            raise InputError(f"{count:,} points are many; {option}yes runs them all the same")
        points = _built(plan.grid(bases, axes, check), skip, option)
        samples = points
    goals = probed_goals(samples, minimize, maximize, constraints, option)

    packs = (trials or len(points)) > packing.FROM
    journal = Journal(None if out is None else out.with_suffix(".jsonl"), force, packs)
    space_of = {axis.name: axis.words() for axis in axes}
    journal.asked = {"vary": space_of, "search": trials, **goals.to_dict()}
    if halve:
        journal.asked["halve"] = True
    if trials is not None or halve:
        journal.asked["of"] = plan.make(bases[0], [], [], check, plan.Footprints()).key
    for line in journal.damaged:
        delivery.note(f"{line}; the line is dropped, and its point runs again")
    try:
        journal.refuse_another(None if halve or trials else points)
    except InputError:
        journal.close()
        raise
    crew: Crew | None = None
    known: set[str] = set()

    with contextlib.ExitStack() as stack:
        to_do = trials or len({point.key for point in points})
        to_do *= 2 if halve else 1  # at most

        def simulate(batch: Sequence[Point]) -> None:
            nonlocal crew
            waiting = [p for _, p in plan.numbered(batch) if p.key not in journal]
            if waiting and crew is None:
                crew = stack.enter_context(_crew(workers, executor, len(waiting), option))
            done = len(known) + len(batch) - len(waiting)
            known.update(point.key for point in batch)

            def finished(point: Point, outcome: Outcome) -> None:
                nonlocal done
                _refuse_other_version(outcome)
                journal.add(point, outcome)
                done += 1
                if progress is not None:
                    progress(min(done, to_do), to_do)

            if progress is not None:
                progress(min(done, to_do), to_do)
            if crew is not None:
                crew.run(waiting, check, finished)

        def evaluate(batch: Sequence[Point]) -> list[dict[str, Any]]:
            simulate(batch)
            return [*map(journal.row, batch)]

        if halve:
            points = halving.run(bases[0], axes, points, goals, check, evaluate)
            goals = replace(goals, constraints=[*goals.constraints, halving.in_full(points)])
        elif trials is None:
            simulate(points)
        else:
            points = search.run(bases[0], axes, trials, goals, check, evaluate)
            points = list({point.key: point for point in points}.values())
    journal.finish(points)
    found = Sweep(points, map(journal.row, points), journal, goals)
    if out is not None:
        found.save(out, force=force)
    return found


def _built(points: Sequence[Point], skip: bool, option: str) -> list[Point]:
    """The points that can run. Raises `InputError` for others, unless `skip` is given."""
    broken = [point for point in points if point.error is not None]
    if not broken or skip:
        return [point for point in points if point.error is None]
    errors = list(dict.fromkeys(str(point.error) for point in broken))
    more = [f"and {len(errors) - plan.MOST_SHOWN} more"] if len(errors) > plan.MOST_SHOWN else []
    how = f"{option}skip" if option else "skip=True"
    raise InputError(
        "\n".join([*errors[: plan.MOST_SHOWN], *more])
        + f"\n{len(broken):,} of {len(points):,} points cannot be built; {how} leaves them out"
    )


def _repeated(
    bases: Sequence[Base], axes: Sequence[Axis], repeat: int, trials: int | None, option: str
) -> tuple[list[Base], list[Axis]]:
    """The bases and axes with an added axis of seeds, beginning with the first experiment's."""
    if trials is not None:
        raise InputError(f"{option}repeat and {option}search exclude each other")
    if not 2 <= repeat <= MAX_REPEATS:
        raise InputError(f"{option}repeat {repeat}: from 2 to {MAX_REPEATS} seeds")
    if any(axis.name in ("run.seed", "seed") for axis in axes):
        raise InputError(f"{option}repeat and {option}vary run.seed exclude each other")
    footprints = plan.Footprints()
    seed = 0
    for values in plan.choices(axes):
        point = plan.make(bases[0], axes, values, False, footprints)
        if point.error is None:
            seed = int(json.loads(_core.resolve_json(point.layers))["run"]["seed"])
            break
    seeds = space.from_mapping({"run.seed": [seed + n for n in range(repeat)]}, False)
    # Only the first seed comes from layers above, which would override the axis.
    return [replace(base, above=()) for base in bases], [*axes, *seeds]


def _refuse_halving(
    bases: Sequence[Base],
    axes: Sequence[Axis],
    objectives: Sequence[str],
    others: int | None,
    option: str,
) -> None:
    if others is not None:
        raise InputError(f"{option}halve excludes {option}search and {option}repeat")
    if len(objectives) != 1:
        raise InputError(f"{option}halve takes one objective: {option}minimize or {option}maximize")
    if len(bases) > 1:
        raise InputError(f"{option}halve takes one experiment, not {len(bases)}")
    if any(axis.name in (halving.LENGTH, "run.seed") for axis in axes):
        raise InputError(f"{option}halve chooses {halving.LENGTH} and run.seed; vary other keys")
    halving.of(bases[0])


def _refuse_search(
    bases: Sequence[Base], axes: Sequence[Axis], trials: int, objectives: Sequence[str], option: str
) -> None:
    if trials < 1:
        raise InputError(f"{option}search {trials}: at least one point is needed")
    if not axes:
        raise InputError(f"{option}search needs {option}vary KEY=SPEC: a space to search")
    if not objectives:
        raise InputError(f"{option}search needs an objective: {option}minimize or {option}maximize")
    if len(bases) > 1:
        raise InputError(f"{option}search takes one experiment, not {len(bases)}")
    search.require_optuna(f"{option}search")


def probed_goals(
    samples: Iterable[Point],
    minimize: Sequence[str],
    maximize: Sequence[str],
    constraints: Sequence[str],
    option: str,
) -> Goals:
    """The goals, checked against the metrics of a sample in a very short run."""
    if not (minimize or maximize or constraints):
        return Goals()
    problem = InputError("no point can be run")
    for point in itertools.islice(samples, MAX_SAMPLES):
        try:
            if point.error is not None:
                raise InputError(point.error)
            results = json.loads(_core.run([*point.layers, *running.layers_of(set=PROBE)]))
        except InputError as error:
            problem = error
            continue
        numbers = [name for name, value in point.parameters.items() if not isinstance(value, str)]
        known = [*table.flat(results), *numbers]
        return table.goals(minimize, maximize, constraints, known, option)
    raise problem


@contextlib.contextmanager
def _crew(workers: int | None, executor: Any, points: int, option: str) -> Iterator[Crew]:
    if executor is not None:
        source = f"{option}dask {executor}" if option else "executor"
        with backends.on(executor, source) as crew:
            yield crew
        return
    with backends.local(min(workers or portable.cores(), points)) as crew:
        yield crew


def _refuse_other_version(outcome: Outcome) -> None:
    """End the sweep if a worker of another version has joined: its results may differ."""
    text = outcome[0]
    if text is not None and f'"version":"{_core.version}"' not in text:
        raise backends.Lost("a worker with another version of ssdlab has joined")
