"""Compares two results: differences of the experiments, and of every metric.

One run of each shows the differences; repetitions with other seeds show their significance. Both
sides use the same seeds, hence the same requests, and differences are paired.
"""

from __future__ import annotations

import contextlib
import html
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ssdlab import _core, arrow, layers, portable, reading, running, sources
from ssdlab._core import InputError
from ssdlab.comparison import load, measured
from ssdlab.confidence import CONFIDENCE, margin
from ssdlab.layers import Layer
from ssdlab.results import SCHEMA, Results
from ssdlab.running import Experiment
from ssdlab.settings import changed
from ssdlab.sweeps import backends, table
from ssdlab.sweeps.plan import Point
from ssdlab.units import cell_text

if TYPE_CHECKING:
    from ssdlab.comparison.plots import Plots

Side: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Results | Experiment"

MAX_REPEATS = 1000


@dataclass(frozen=True)
class Row:
    """A metric of both sides: means over the repetitions.

    `*_margin` is the half-width of the mean's confidence interval, None for single runs.
    `difference` is B less A, and its margin that of the mean paired difference.
    """

    name: str
    a: float
    b: float
    a_margin: float | None = None
    b_margin: float | None = None
    difference_margin: float | None = None

    @property
    def difference(self) -> float:
        """B less A."""
        return self.b - self.a

    @property
    def difference_percent(self) -> float | None:
        """The difference in percent of A."""
        return 100 * self.difference / abs(self.a) if self.a else None

    @property
    def significant(self) -> bool | None:
        """True if the confidence interval of the difference excludes zero; None for single runs."""
        if self.difference_margin is None:
            return None
        return abs(self.difference) > self.difference_margin

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `ssdlab compare --json`."""
        return {
            "name": self.name,
            "a": self.a,
            "b": self.b,
            "difference": self.difference,
            "difference_percent": self.difference_percent,
            "a_margin": self.a_margin,
            "b_margin": self.b_margin,
            "difference_margin": self.difference_margin,
            "significant": self.significant,
        }


@dataclass(frozen=True, repr=False)
class Comparison(arrow.Table):
    """Two experiments and their common metrics.

    `changed` has the keys that differ, with their values in A and in B (None if absent); `repeat`
    is the number of runs of each.
    """

    a: str
    b: str
    repeat: int
    changed: dict[str, tuple[Any, Any]]
    rows: Sequence[Row]
    #: Warnings of A and of B, without repetition.
    warnings: dict[str, list[str]] = field(default_factory=dict)
    #: The first results of A and of B.
    results: Sequence[Results] = field(default=(), repr=False, compare=False)

    def __getitem__(self, name: str) -> Row:
        """The row of a metric by its path, the end of a path, or a name such as p99."""
        names = [row.name for row in self.rows]
        return self.rows[names.index(table.find(name, names, name))]

    def to_dict(self) -> dict[str, Any]:
        """The comparison in the form of `ssdlab compare --json`."""
        return {
            "a": self.a,
            "b": self.b,
            "repeat": self.repeat,
            "confidence": CONFIDENCE,
            "changed": {key: list(values) for key, values in self.changed.items()},
            "warnings": self.warnings,
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame` by name. Raises `InputError` without pandas."""
        return super().to_pandas().set_index("name")

    def table_rows(self) -> list[dict[str, Any]]:
        """The rows, each with its metric's name and unit."""
        return [row.to_dict() | {"unit": arrow.unit(row.name)} for row in self.rows]

    @property
    def plot(self) -> Plots:
        """Figures: `plot.differences()` and `plot.latency()`."""
        from ssdlab.comparison.plots import Plots

        return Plots(self)

    def __repr__(self) -> str:
        parts = []
        for row in self.shown():
            percent = row.difference_percent
            parts.append(
                f", {row.name} {cell_text(row.a)} to {cell_text(row.b)}"
                + ("" if percent is None else f" ({percent:+.2f} %)")
            )
        return f"<Comparison: {self.a}, {self.b}{''.join(parts)}>"

    def shown(self) -> list[Row]:
        """The rows for display: the main metrics, where present."""
        whole = [row for row in self.rows if row.name in _shown() and (row.a or row.b)]
        return whole or [row for row in self.rows if _is_of_class(row.name) and (row.a or row.b)]

    def _repr_html_(self) -> str:
        body = ""
        for row in self.shown():
            percent = row.difference_percent
            cells = [row.name, cell_text(row.a), cell_text(row.b)]
            cells += ["" if percent is None else f"{percent:+.2f} %"]
            cells += ["yes" if row.significant else ""] if self.repeat > 1 else []
            body += f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
        head = ["", "A", "B", "difference"] + ["significant"] * (self.repeat > 1)
        return (
            f"<table><caption>{html.escape(self.a)}, {html.escape(self.b)}</caption><thead><tr>"
            f"{''.join(f'<th>{name}</th>' for name in head)}</tr></thead><tbody>{body}</tbody>"
            "</table>"
            + "".join(
                f"<p>Warning: {html.escape(f'{side} {message}')}</p>"
                for side, messages in self.warnings.items()
                for message in messages
            )
        )


def _is_of_class(name: str) -> bool:
    """True if it is one of the main metrics of a class of requests."""
    parts = name.split(".")
    ends = {f"host.{'.'.join(parts[n:])}" for n in range(2, len(parts))}
    return parts[0] == "classes" and bool(ends & _shown())


def _shown() -> set[str]:
    figures = ["iops", "mean_us", "max_us"]
    figures += [f"percentiles_us.{percent}" for percent in ("50", "99", "99.9")]
    flash = ("write_amplification_bytes", "pages_moved", "block_erases", "cleaning.efficiency")
    return {
        *(f"host.{op}.{figure}" for op in ("read", "write", "all") for figure in figures),
        *(f"flash.{figure}" for figure in flash),
        "wear.mean_erases",
        "wear.max_erases",
        "wear.lifetime.terabytes_written",
        "under_load.life_years",
        "under_load.watts",
        "under_load.dollars",
    }


def compare(
    a: Side,
    b: Side,
    *,
    repeat: int | None = None,
    allow_code: bool = False,
    workers: int | None = None,
    executor: Any = None,
    progress: Callable[[int, int], object] | None = None,
) -> Comparison:
    """Compare two results.

    A side may be the JSON that fio wrote: what a real drive did. Else it is `Results` or their
    file (or the directory of `ssdlab run --out`), or an experiment: an
    `Experiment`, a TOML file or a dict. Experiments are run; with `repeat`, the experiments of
    results are run again, `repeat` times each, with the seed of A's experiment and the
    following ones. Differences then have paired 95 % confidence intervals (Student's t).

    >>> import ssdlab
    >>> a = ssdlab.Experiment(set={"workload.requests": 200})
    >>> row = ssdlab.compare(a, a.changed(seed=7))["mean_us"]  # both in microseconds
    >>> row.difference == row.b - row.a
    True

    A cleaning policy in Python that files or results name is loaded only with `allow_code`.
    `workers`, `executor` and `progress` are as for `ssdlab.sweep`. Raises `InputError` for wrong
    input, and for results of another schema. A side without a load runs under the other's.
    """
    if measured.is_fio(a) or measured.is_fio(b):
        return _with_measured(a, b, repeat, allow_code)
    if repeat is not None and not 2 <= repeat <= MAX_REPEATS:
        raise InputError(f"repeat {repeat}: from 2 to {MAX_REPEATS} repetitions")
    named = [os.fspath(it) for it in (a, b) if isinstance(it, str | os.PathLike)]
    with reading.of_files(*named):
        return _compared(a, b, repeat, allow_code, workers, executor, progress)


def _compared(
    a: Side,
    b: Side,
    repeat: int | None,
    allow_code: bool,
    workers: int | None,
    executor: Any,
    progress: Callable[[int, int], object] | None,
) -> Comparison:
    sides = [_Side.of(name, side, allow_code) for name, side in (("A", a), ("B", b))]
    both = load.shared(sides[0].experiment, sides[1].experiment)
    sides = [replace(side, experiment=of) for side, of in zip(sides, both, strict=True)]
    experiments = [side.experiment.to_dict() for side in sides]
    if repeat is None:
        found = [[side.results] if side.results else [] for side in sides]
        seeds: list[int | None] = [None]
    else:
        found = [[], []]
        first = int(experiments[0]["run"]["seed"])
        seeds = [first + i for i in range(repeat)]
    todo = [side for side, results in zip(sides, found, strict=True) if not results]
    ran = iter(_run(todo, seeds, workers, executor, progress))
    runs = [results or [next(ran) for _ in seeds] for results in found]
    flat = [[table.flat(results.to_dict()) for results in results_] for results_ in runs]
    return Comparison(
        experiments[0]["title"],
        experiments[1]["title"],
        len(seeds),
        changed(*experiments),
        _rows(*flat),
        {name: distinct_warnings(results) for name, results in zip("AB", runs, strict=True)},
        [results[0] for results in runs],
    )


def _with_measured(a: Side, b: Side, repeat: int | None, allow_code: bool) -> Comparison:
    """A comparison with fio's measurements; runs a simulated side if necessary."""
    if repeat is not None:
        raise InputError("--repeat: results of fio cannot be run again")
    titles: list[str] = []
    flats: list[dict[str, Any]] = []
    warnings: dict[str, list[str]] = {}
    for name, side in (("A", a), ("B", b)):
        if measured.is_fio(side):
            found = measured.load(side)
            titles.append(f"{found.path}, {found.version}")
            flats.append(dict(found.figures))
            stated = f"options of fio that are not simulated: {', '.join(found.left_out)}"
            warnings[name] = [stated] if found.left_out else []
            continue
        simulated = _Side.of(name, side, allow_code)
        experiment = simulated.experiment
        if not layers.names_load(experiment.layers):
            fio = next(measured.load(it) for it in (a, b) if measured.is_fio(it))
            experiment = load.under(experiment, load.of_jobs(fio))
        results = simulated.results or experiment.run()
        titles.append(str(experiment.to_dict()["title"]))
        flats.append(table.flat(results.to_dict()))
        warnings[name] = distinct_warnings([results])
    rows = _rows([flats[0]], [flats[1]])
    if not any(row.name in _shown() or _is_of_class(row.name) for row in rows):
        jobs = next(measured.load(it).jobs for it in (a, b) if measured.is_fio(it))
        raise InputError(
            f"fio has measured {len(jobs)} jobs ({', '.join(jobs)}), none of which is in the "
            "simulation; its workload would be the job file, with a stonewall between them"
        )
    return Comparison(titles[0], titles[1], 1, {}, rows, warnings)


@dataclass(frozen=True)
class _Side:
    experiment: Experiment
    results: Results | None

    @classmethod
    def of(cls, name: str, side: Side, allow_code: bool) -> _Side:
        if isinstance(side, str | os.PathLike) and not sources.is_experiment(side):
            side = Results.load(side)
        if isinstance(side, Results):
            schema = side.get("schema")
            if schema != SCHEMA:
                raise InputError(f"{name}: results of schema {schema}; this is {SCHEMA}")
            stack = layers.from_mapping(f"the experiment of {name}", side.experiment.to_dict())
            permitted = layers.permitting(stack) if allow_code else stack
            return cls(Experiment._from_layers(permitted), side)
        return cls(Experiment(side, allow_code=allow_code), None)


def _run(
    sides: Sequence[_Side],
    seeds: Sequence[int | None],
    workers: int | None,
    executor: Any,
    progress: Callable[[int, int], object] | None,
) -> list[Results]:
    """Runs each side with each seed."""
    points: list[Point] = []
    for side in sides:
        for seed in seeds:
            stack: list[Layer] = list(side.experiment.layers)
            if seed is not None:
                stack += running.layers_of(seed=seed)
            _core.permit_code(stack)
            points.append(Point({}, stack, str(len(points))))
    found = run_points(points, workers, executor, progress)
    return [found[point.key] for point in points]


def run_points(
    points: Sequence[Point],
    workers: int | None,
    executor: Any,
    progress: Callable[[int, int], object] | None,
) -> dict[str, Results]:
    """Results of all points by key; each key is run once. Raises `InputError`."""
    points = list({point.key: point for point in points}.values())
    found: dict[str, Results] = {}
    if not points:
        return found

    def done(point: Point, outcome: tuple[str | None, str | None]) -> None:
        text, error = outcome
        if text is None:
            raise InputError(error or "failed")
        found[point.key] = Results.from_json(text)
        if progress is not None:
            progress(len(found), len(points))

    with contextlib.ExitStack() as stack_:
        if executor is not None:
            crew = stack_.enter_context(backends.on(executor, "executor"))
        else:
            count = min(workers or portable.cores(), len(points))
            crew = stack_.enter_context(backends.local(count))
        crew.run(points, False, done)
    return found


def distinct_warnings(repeated: Sequence[Results]) -> list[str]:
    """Distinct warnings, with the number of runs that have each."""
    found: dict[str, str] = {}
    runs: dict[str, int] = {}
    for results in repeated:
        for name, message in zip(results.warning_names(), results.warning_messages(), strict=True):
            found.setdefault(name, message)
            runs[name] = runs.get(name, 0) + 1
    several = len(repeated) > 1
    return [
        f"{message} (in {runs[name]} of {len(repeated)} runs)" if several else message
        for name, message in found.items()
    ]


def _rows(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows = []
    for name in a[0]:
        values = [run.get(name) for run in (*a, *b)]
        if not all(isinstance(value, int | float) for value in values):
            continue
        left, right = ([float(run[name]) for run in side] for side in (a, b))
        pairs = [y - x for x, y in zip(left, right, strict=True)]
        margins = [margin(side) for side in (left, right, pairs)]
        rows.append(Row(name, statistics.fmean(left), statistics.fmean(right), *margins))
    return rows
