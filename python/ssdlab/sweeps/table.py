"""A sweep as a tidy table: one row per point with parameters, results and error.

A results column is named by its path, such as `host.read.percentiles_us.99`. Wall-clock times are
omitted, so that a sweep gives the same table everywhere.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ssdlab import _core, delivery, under_load
from ssdlab._core import InputError
from ssdlab.sweeps import store
from ssdlab.units import cell_text, duration

#: Parts of the results excluded from the table.
LEFT_OUT = {
    "schema",
    "version",
    "experiment",
    "elapsed",
    "time_series",
    "timeline",
    "units",
    "buses",
}
_PERCENTILE = re.compile(r"(?:(read|write|trim|flush|all)[._])?p(\d+(?:\.\d+)?)")
_CONSTRAINT = re.compile(
    r"\s*(.+?)\s*(<=|>=)\s*([-+]?[.\d][-+._\deE]*)\s*(ns|us|ms|s|%|k|K|M|G)?\s*"
)
#: Microseconds of each unit of time.
_UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
#: Suffixes of numbers without a unit.
_PLAIN = {"%": 1e-2, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}

Columns = Mapping[str, list[Any]]


def flat(results: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars of results by their paths; with a price also life, watts and dollars."""
    scalars: dict[str, Any] = {}

    def visit(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(f"{path}.{key}", inner)
        elif not isinstance(value, list):
            scalars[path] = value

    for key, value in results.items():
        if key not in LEFT_OUT:
            visit(key, value)
    if "warnings" in results:
        scalars["warnings"] = " ".join(warning["name"] for warning in results["warnings"])
    if "title" in results.get("experiment", {}):
        scalars |= under_load.columns(results)
    return scalars


def parquet(table: Columns) -> bytes:
    """The table as a Parquet file; a column is read when it is written."""
    kinds = {name: _kind(name, table[name]) for name in table}
    as_kind: dict[str, Callable[[Any], Any]] = {"float": float, "str": _text}

    def values(name: str) -> Sequence[Any]:
        change = as_kind.get(kinds[name])
        found = table[name]
        return found if change is None else [None if v is None else change(v) for v in found]

    return _core.to_parquet([(it, kind, partial(values, it)) for it, kind in kinds.items()])


def _kind(name: str, values: Sequence[Any]) -> str:
    """The type of a column: of text for errors, numeric for other empty ones."""
    kinds = {type(value) for value in values if value is not None}
    if name == "error":
        return "str"
    if kinds <= {int, float} and kinds != {int}:
        return "float"
    return kinds.pop().__name__ if len(kinds) == 1 and kinds <= {int, bool} else "str"


def comma_separated(table: Columns) -> Callable[[], Iterator[bytes]]:
    """The table as CSV, in parts; None is an empty cell."""

    def parts() -> Iterator[bytes]:
        yield _lines([[*table]])
        for columns in store.pieces(table):
            cells = zip(*columns, strict=True)
            yield _lines(["" if it is None else _text(it) for it in row] for row in cells)

    return parts


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


#: Writer of a table, by the extension of its file.
WRITERS: Mapping[str, Callable[[Columns], delivery.Content]] = {
    ".parquet": parquet,
    ".csv": comma_separated,
}


def find(name: str, known: Iterable[str], source: str) -> str:
    """The column for `name`: a path, the end of a path, or a name such as p99.

    An ambiguous name means the metric of all requests, never a class's. Raises `InputError` with
    the nearest.
    """
    known = list(known)
    if name in known:
        return name
    if percentile := _PERCENTILE.fullmatch(name):
        percent = percentile[2]
        if len(percent) > 2 and percent.isdigit() and percent != "100":  # p999 is p99.9
            percent = f"{percent[:2]}.{percent[2:]}"
        path = f"host.{percentile[1] or 'all'}.percentiles_us.{percent}"
        if path in known:
            return path
        paths = [column.partition("host.all.percentiles_us.")[2] for column in known]
        there = [percent for percent in paths if percent]
        raise InputError(f"{source}: the percentiles are {', '.join(there)}")
    found = [column for column in known if column.endswith(f".{name}")]
    found = [column for column in found if column.startswith("host.all.")] or found
    found = [column for column in found if not column.startswith("classes.")] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{source}: could be {', '.join(found)}; write it in full")
    ends = {column.rpartition(".")[2]: column for column in known}
    near = difflib.get_close_matches(name, [*known, *ends], n=1, cutoff=0.5)
    hint = f" (did you mean {ends.get(near[0], near[0])}?)" if near else ""
    raise InputError(f'{source}: the results have no "{name}"{hint}')


def is_time(column: str) -> bool:
    """True if a column is a time in microseconds."""
    return column.endswith("_us") or "_us." in column


def spoken(column: str) -> str:
    """Short name of a column that `find` accepts.

    >>> spoken("host.read.percentiles_us.99.9"), spoken("host.all.iops"), spoken("wear.max_erases")
    ('read.p99.9', 'iops', 'wear.max_erases')
    """
    name = column.replace("percentiles_us.", "p").removeprefix("host.").removeprefix("all.")
    return name.removeprefix("flash.").removeprefix("device.")


def said(column: str, value: Any) -> str:
    """A value of a column with its unit."""
    if is_time(column) and isinstance(value, int | float):
        return duration(value)
    return cell_text(value) or "0"


@dataclass(frozen=True)
class Objective:
    """A column, and True if more is better."""

    column: str
    maximize: bool


@dataclass(frozen=True)
class Constraint:
    """A column must be at most (or at least) a limit."""

    column: str
    at_least: bool
    limit: float

    def excess(self, row: Mapping[str, Any]) -> float:
        """Amount by which a row violates it; zero or less if it does not."""
        value = row.get(self.column)
        if not isinstance(value, int | float):
            return float("inf")
        return self.limit - value if self.at_least else value - self.limit

    def words(self) -> str:
        """Display form of the constraint.

        >>> Constraint("host.all.percentiles_us.99", False, 2000.0).words()
        'p99 <= 2.00ms'
        """
        return f"{spoken(self.column)} {self.sign} {said(self.column, self.limit)}"

    @property
    def sign(self) -> str:
        """Relation of the column to the limit."""
        return ">=" if self.at_least else "<="


def margin_of(figure: str) -> str:
    """The column with half of the confidence interval of a figure's mean over seeds."""
    return f"{figure} \u00b1"


@dataclass(frozen=True)
class Goals:
    """Goals of a sweep: objectives, and constraints on its points."""

    objectives: Sequence[Objective] = ()
    constraints: Sequence[Constraint] = ()

    def names(self) -> list[str]:
        """The columns of all goals."""
        return [*(it.column for it in self.objectives), *(it.column for it in self.constraints)]

    def values(self, row: Mapping[str, Any]) -> list[float] | None:
        """The objectives of a row, negated if more is better; None if it lacks one."""
        found = [row.get(objective.column) for objective in self.objectives]
        if any(value is None for value in found):
            return None
        signs = [-1.0 if objective.maximize else 1.0 for objective in self.objectives]
        return [sign * float(value or 0) for sign, value in zip(signs, found, strict=True)]

    def kept(self, row: Mapping[str, Any]) -> bool:
        """True if a row satisfies all constraints."""
        return all(constraint.excess(row) <= 0 for constraint in self.constraints)

    def miss(self, row: Mapping[str, Any]) -> float:
        """Largest excess of a row over a constraint, relative to its limit."""
        parts = [(c.excess(row), abs(c.limit)) for c in self.constraints]
        return max((excess / (limit or 1.0) for excess, limit in parts), default=0.0)

    def unmet(self, rows: Sequence[Mapping[str, Any]], parameters: Sequence[str]) -> str | None:
        """The sentence for a sweep without a point that satisfies the constraints, or None."""
        if not self.constraints or any(map(self.kept, rows)):
            return None
        wanted = " and ".join(constraint.words() for constraint in self.constraints)
        having = [row for row in rows if self.miss(row) < float("inf")]
        if not having:
            return f"No point satisfies {wanted}: none has these figures."
        row = min(having, key=self.miss)
        at = ", ".join(f"{name}={cell_text(row.get(name)) or '0'}" for name in parameters)
        has = ", ".join(
            f"{spoken(it.column)} {said(it.column, row[it.column])}" for it in self.constraints
        )
        return f"No point satisfies {wanted}; the nearest, {at}, has {has}."

    def to_dict(self) -> dict[str, Any]:
        """The goals in the form of the .jsonl file's lines."""
        return {
            "minimize": [it.column for it in self.objectives if not it.maximize],
            "maximize": [it.column for it in self.objectives if it.maximize],
            "constraints": [[it.column, it.sign, it.limit] for it in self.constraints],
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Goals:
        """The goals that `to_dict` wrote; empty without any."""
        words = (("minimize", False), ("maximize", True))
        objectives = [Objective(name, more) for word, more in words for name in table.get(word, ())]
        limits = [
            Constraint(name, sign == ">=", x) for name, sign, x in table.get("constraints", ())
        ]
        return cls(objectives, limits)

    def pareto(self, rows: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Undominated rows that satisfy the constraints.

        Means over seeds (`margin_of`) whose intervals overlap are equal here: a row leaves the
        front if another is better beyond both margins in one objective, and worse in none.
        """
        stored = []
        for position, row in enumerate(rows):
            values = self.values(row)
            if values is not None and self.kept(row):
                stored.append((values, position))
        stored.sort()
        front: list[tuple[list[float], int]] = []
        for values, position in stored:  # in this order, a row is beaten by earlier ones alone
            if not any(
                other != values and all(a <= b for a, b in zip(other, values, strict=True))
                for other, _ in front
            ):
                front.append((values, position))
        best = [False] * len(rows)
        left = [position for _, position in front]
        for _, position in front:
            if any(self._beats(rows[other], rows[position]) for other in left if other != position):
                left.remove(position)
        for position in left:
            best[position] = True
        return best

    def _beats(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """True if `one` is better than `other` beyond their margins, and in no objective worse."""
        gains = []
        for objective in self.objectives:
            gain = float(one[objective.column]) - float(other[objective.column])
            halves = [row.get(margin_of(objective.column)) or 0.0 for row in (one, other)]
            gain = gain if objective.maximize else -gain
            gains.append(0.0 if abs(gain) <= math.hypot(*halves) else gain)
        return max(gains) > 0 and min(gains) >= 0


def goals(
    minimize: Iterable[str],
    maximize: Iterable[str],
    constraints: Iterable[str],
    known: Sequence[str],
    option: str = "--",
) -> Goals:
    """Goals from their texts, checked against the known columns."""
    objectives = [
        Objective(find(name, known, f"{option}{word} {name}"), word == "maximize")
        for word, names in (("minimize", minimize), ("maximize", maximize))
        for name in names
    ]
    objectives = [*dict.fromkeys(objectives)]
    for position, one in enumerate(objectives):
        if one.column in {other.column for other in objectives[:position]}:
            raise InputError(
                f"{option}maximize {one.column}: it is also to be minimised; keep one of the two"
            )
    limits = []
    for text in constraints:
        source = f"{option}constrain {text}"
        parts = _CONSTRAINT.fullmatch(text)
        try:
            limit = float(parts[3]) if parts else None
        except ValueError:
            limit = None
        if parts is None or limit is None:
            raise InputError(
                f"{source}: expected NAME<=NUMBER or NAME>=NUMBER, such as p99<=500 or p99<=2ms"
            )
        column = find(parts[1], known, source)
        if parts[4] in _PLAIN:
            if is_time(column):
                raise InputError(f"{source}: {column} is a time; its units are {', '.join(_UNITS)}")
            limit *= _PLAIN[parts[4]]
        elif parts[4] is not None:
            if not is_time(column):
                raise InputError(f"{source}: {column} is no time; leave {parts[4]} out")
            limit *= _UNITS[parts[4]]
        limits.append(Constraint(column, parts[2] == ">=", limit))
    return Goals(objectives, limits)
