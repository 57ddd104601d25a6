"""The results of a sweep: its points, and their table."""

from __future__ import annotations

import functools
import html
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import _core, arrow, delivery, forms
from ssdlab._core import InputError
from ssdlab.optional import required
from ssdlab.results import Results
from ssdlab.sweeps import seeds, store, table
from ssdlab.sweeps.journal import Journal
from ssdlab.sweeps.plan import Point
from ssdlab.sweeps.table import Goals
from ssdlab.units import cell_text

if TYPE_CHECKING:
    from ssdlab.sweeps.plots import Plots

#: Main metrics of a point, without goals.
SHOWN = (
    "host.all.iops",
    "host.all.mean_us",
    "host.all.percentiles_us.99",
    "flash.write_amplification_bytes",
)
SHOWN_ROWS = 30
#: The form of a table by its extension.
FORMS = {".csv": forms.TABLE_CSV, ".parquet": forms.TABLE_PARQUET}


class Finished:
    """A completed point: parameters, and results or error."""

    # Not a dataclass: table libraries deep-copy those, here with an open file.
    def __init__(
        self, parameters: Mapping[str, Any], error: str | None, key: str, journal: Journal
    ) -> None:
        self.parameters = parameters
        self.error = error
        self._key = key
        self._journal = journal

    @property
    def results(self) -> Results | None:
        """The full results, read on demand; None if the point failed."""
        results = self._journal.results(self._key)
        return None if results is None else Results(results)

    def to_dict(self) -> dict[str, Any]:
        """The point in the form of `ssdlab sweep --json`."""
        results = self._journal.results(self._key)
        point: dict[str, Any] = {"parameters": dict(self.parameters), "results": results}
        return point if self.error is None else point | {"error": self.error}


class Sweep(arrow.Table):
    """The points of a sweep in the order of its grid: `s[0].parameters`, `s[0].results.host`, ...

    Arrow consumers accept it as a table, such as `polars.DataFrame(sweep)`.

    `columns` is the tidy table: parameters, every scalar of the results by its path, `error` and,
    with objectives, `pareto`; with constraints, `keeps_constraints`. `unmet` is a sentence
    naming the nearest point if none satisfies the constraints; else None.
    """

    def __init__(
        self,
        points: Sequence[Point],
        rows: Iterable[Mapping[str, Any]],
        journal: Journal,
        goals: Goals,
    ) -> None:
        self._journal = journal
        self.goals = goals
        self.columns = store.columns(rows, len(points))
        self._points = [
            Finished(point.parameters, error, point.key, journal)
            for point, error in zip(points, self.columns.get("error", []), strict=True)
        ]
        self.parameters = list(dict.fromkeys(name for p in points for name in p.parameters))
        rows = self.rows(goals.names())
        if goals.objectives:
            self.columns["pareto"] = self._front(rows)
        if goals.constraints:
            self.columns["keeps_constraints"] = [*map(goals.kept, rows)]
        self.unmet = goals.unmet(rows, self.parameters)
        self._misses = [*map(goals.miss, rows)]

    def rows(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """A row for each point: its parameters, and the existing columns among `names`."""
        found = dict.fromkeys([*self.parameters, *names])
        columns = {name: self.columns[name] for name in found if name in self.columns}
        return [dict(zip(columns, it, strict=True)) for it in zip(*columns.values(), strict=True)]

    def _front(self, rows: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Points on the Pareto front; where seeds are repeated, the points of designs on it."""
        if not (designs := self.means(self.goals.names())):
            return self.goals.pareto(rows)
        best = [False] * len(rows)
        for design, is_best in zip(designs, self.goals.pareto(seeds.rows_of(designs)), strict=True):
            for position in design.rows:
                best[position] = is_best
        return best

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Sweep:
        """The sweep whose .jsonl file is `path`, or lies beside the table `path`.

        Raises `InputError` if it cannot be read.
        """
        file = Path(path).with_suffix(".jsonl")
        journal = Journal.read(file)
        rows = map(journal.row, journal.points)
        return cls(journal.points, rows, journal, Goals.from_dict(journal.asked))

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: Any) -> Any:
        return self._points[index]

    def __iter__(self) -> Iterator[Finished]:
        return iter(self._points)

    @property
    def errors(self) -> list[str]:
        """The error of each point that failed."""
        return [point.error for point in self._points if point.error is not None]

    def means(self, names: Iterable[str] | None = None) -> list[seeds.Design]:
        """For a sweep over `run.seed`: each design, with the means of its metrics over seeds.

        `sweep.means()[0].figures["host.all.iops"]` has a mean and its margin (95 % confidence
        interval). `names` are the columns with means, by default all.
        """
        return seeds.designs(self, names)

    def warned(self, row: int) -> list[str]:
        """The names of the warnings of a point."""
        return self._warned[row]

    @functools.cached_property
    def _warned(self) -> list[list[str]]:
        stated = self.columns.get("warnings", [None] * len(self))
        return [(it or "").split() for it in stated]

    def warning_marks(self) -> dict[str, tuple[int, int, str]]:
        """The warnings present: mark, number of points, and meaning."""
        counts = Counter(name for names in self._warned for name in names)
        known = dict(_core.list("warnings") or ())
        ordered = [name for name in known if name in counts]
        return {
            name: (mark, counts[name], known[name]) for mark, name in enumerate(ordered, start=1)
        }

    @property
    def pareto(self) -> list[Finished]:
        """The Pareto front of the points that satisfy the constraints.

        With one objective, the best points. Raises `InputError` without objectives.
        """
        if "pareto" not in self.columns:
            raise InputError("a Pareto front needs objectives: minimize=[...] or maximize=[...]")
        chosen = zip(self._points, self.columns["pareto"], strict=True)
        return [point for point, best in chosen if best]

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`. Raises `InputError` without pandas."""
        return required("pandas", "Sweep.to_pandas").DataFrame(dict(self.columns))

    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`, each unit in its column's metadata.

        Raises `InputError` without pyarrow.
        """
        pyarrow = required("pyarrow", "Sweep.to_arrow")
        buffer = pyarrow.BufferReader(table.parquet(self.columns))
        return arrow.with_units(required("pyarrow.parquet", "Sweep.to_arrow").read_table(buffer))

    @property
    def plot(self) -> Plots:
        """Figures: `plot.pareto()`, `by(parameter)` and `heat_map(down, across)`."""
        from ssdlab.sweeps.plots import Plots

        return Plots(self)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the table to `path`, whose extension is .parquet or .csv.

        Raises `OSError`, also for an existing foreign file, unless `force` is given.
        """
        ending = extension(Path(path))
        delivery.write(Path(path), table.WRITERS[ending](self.columns), FORMS[ending], force=force)

    def to_json(self) -> Iterator[str]:
        """The points with their full results, in parts, in the form of `ssdlab sweep --json`."""
        yield '{"points": ['
        for position, point in enumerate(self._points):
            yield (",\n" if position else "\n") + json.dumps(point.to_dict())
        yield "\n]}\n"

    def shown(self) -> tuple[list[str], list[int]]:
        """Columns and rows for display, the best first, limited to a screen."""
        wanted = [objective.column for objective in self.goals.objectives]
        wanted += [limit.column for limit in self.goals.constraints]
        names = list(dict.fromkeys([*wanted, *SHOWN]))
        names = [name for name in names if any(v is not None for v in self.columns.get(name, []))]
        # Duplicate points appear once.
        points = {json.dumps([it._key, dict(it.parameters)]): n for n, it in enumerate(self)}
        rows = sorted(points.values())
        best = self.columns.get("pareto")
        if best or self.goals.constraints:
            rows.sort(key=lambda row: (not (best and best[row]), max(self._misses[row], 0.0)))
        # An unmarked column is omitted.
        marked = [
            name for name in ("pareto", "keeps_constraints") if any(self.columns.get(name, []))
        ]
        if "pareto" in marked:
            marked = ["pareto"]
        last = marked + ["error"] * bool(self.errors)
        return [*self.parameters, *names, *last], rows[:SHOWN_ROWS]

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} failed" if self.errors else ""
        spans = []
        for name in self.shown()[0]:
            values = [it for it in self.columns.get(name, []) if isinstance(it, int | float)]
            if name in self.parameters or not values or name == "pareto":
                continue
            low, high = cell_text(min(values)), cell_text(max(values))
            spans.append(f", {name} {low if low == high else f'{low} to {high}'}")
        return (
            f"<Sweep: {len(self)} points of {', '.join(self.parameters)}{failed}{''.join(spans)}>"
        )

    def _repr_html_(self) -> str:
        names, rows = self.shown()
        marks = self.warning_marks()
        names += ["warnings"] if marks else []
        warned = "".join(
            f"<p>{name}, {points} of {len(self)} points: {html.escape(summary)}</p>"
            for name, (_, points, summary) in marks.items()
        )
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        columns = {name: self.columns[name] for name in names}
        body = ""
        for row in rows:
            cells = (columns[name][row] for name in names)
            body += f"<tr>{''.join(f'<td>{html.escape(cell_text(c))}</td>' for c in cells)}</tr>"
        caption = f"{len(self)} points" + (f", {len(rows)} shown" if len(rows) < len(self) else "")
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{warned}"
        )


def extension(path: Path) -> str:
    """The extension of a table's file. Raises `InputError` for an unsupported one."""
    if path.suffix not in table.WRITERS:
        raise InputError(f"{path}: a table is written as {' or '.join(table.WRITERS)}")
    return path.suffix
