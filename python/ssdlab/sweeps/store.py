"""Columns of a sweep: lists, or for a large sweep a temporary file that is read by column."""

from __future__ import annotations

import itertools
import marshal
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

#: Number of points of a sweep above which its columns are kept in a file.
FROM = 1_000
#: Rows written at a time.
ROWS = 256


def columns(rows: Iterable[Mapping[str, Any]], count: int) -> MutableMapping[str, list[Any]]:
    """`count` rows as columns of equal length, with None for missing values; each row is used once.

    >>> columns([{"a": 1}, {"a": 2, "b": 3}], 2)
    {'a': [1, 2], 'b': [None, 3]}
    """
    if count > FROM:
        return Stored(rows)
    kept = [*rows]
    names = dict.fromkeys(name for row in kept for name in row)
    return {name: [row.get(name) for row in kept] for name in names}


class Stored(MutableMapping[str, "list[Any]"]):
    """Columns in a temporary file; memory has their names and places alone."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._file = tempfile.TemporaryFile(prefix="ssdlab-sweep-")  # noqa: SIM115
        #: Of each piece: rows, the position of each column in it, and the offsets.
        self._pieces: list[tuple[int, dict[str, int], array[int]]] = []
        #: Names of the columns, with the values of later ones.
        self._names: dict[str, list[Any] | None] = {}
        orders: dict[tuple[str, ...], dict[str, int]] = {}
        left = iter(rows)
        while piece := [*itertools.islice(left, ROWS)]:
            names = (*dict.fromkeys(name for row in piece for name in row),)
            order = orders.setdefault(names, {name: n for n, name in enumerate(names)})
            self._names |= dict.fromkeys(order)
            offsets = array("Q", [self._file.tell()])
            for name in order:
                self._file.write(marshal.dumps([row.get(name) for row in piece]))
                offsets.append(self._file.tell())
            self._pieces.append((len(piece), order, offsets))

    def __getitem__(self, name: str) -> list[Any]:
        values = self._names[name]
        if values is not None:
            return values
        values = []
        for piece in self._pieces:
            values += self._part(name, piece)
        return values

    def _part(self, name: str, piece: tuple[int, dict[str, int], array[int]]) -> list[Any]:
        rows, order, offsets = piece
        if (position := order.get(name)) is None:
            return [None] * rows
        self._file.seek(offsets[position])
        found: list[Any] = marshal.loads(self._file.read(offsets[position + 1] - offsets[position]))
        return found

    def pieces(self) -> Iterator[list[list[Any]]]:
        """All columns, some rows at a time."""
        done = 0
        for piece in self._pieces:
            end = done + piece[0]
            yield [
                self._part(name, piece) if later is None else later[done:end]
                for name, later in self._names.items()
            ]
            done = end

    def __setitem__(self, name: str, values: list[Any]) -> None:
        self._names[name] = values

    def __delitem__(self, name: str) -> None:
        del self._names[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def pieces(columns: Mapping[str, list[Any]]) -> Iterator[list[list[Any]]]:
    """All columns, some rows at a time."""
    if not isinstance(columns, Stored):
        yield [*columns.values()]
        return
    # A column at a time would read each piece of the file once for every column.
    yield from columns.pieces()
