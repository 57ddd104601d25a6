"""Elements of a run's table, drawn without rich where possible.

The import of rich takes longer than a short run. So the table is made of the few parts below. For a
pipe or a file they are drawn here, with the characters that rich would draw; on a terminal, and
where something does not fit its width, rich draws them: each part becomes one of its renderables
(`__rich__`), and may stand among them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any, Protocol

from ssdlab.widths import ASCII, GAP, MAX_WIDTH

#: Width without a terminal.
USUAL_WIDTH = 80
#: Blanks between columns.
BETWEEN = 2

#: Variables that change rich's drawing outside terminals.
FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "JUPYTER_COLUMNS")
#: Characters that take one cell: western scripts, signs, and elements of bars.
NARROW = re.compile(
    "[\x20-\x7e\n\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027\u202f-\u205e\u2500-\u25fc]*"
)

_WORD = re.compile(r"\s*\S+\s*")


class Unfit(Exception):
    """Rich must draw it: it is too wide, or its letters are."""


class Part(Protocol):
    """A part of a table."""

    def __rich__(self) -> Any:
        """The canvas, for rich."""

    def lines(self, width: int) -> list[str]:
        """Lines without colour; raises `Unfit` where rich has to draw it."""


class Text:
    """Words, each with a style of rich."""

    def __init__(self, words: str = "", style: str = "") -> None:
        self._style = style
        self._parts = [(words, "")]

    def append(self, words: str, style: str = "") -> Text:
        """Add words, and return the text."""
        self._parts.append((words, style))
        return self

    @property
    def plain(self) -> str:
        """The words."""
        return "".join(words for words, _ in self._parts)

    def __len__(self) -> int:
        return len(self.plain)

    def __rich__(self) -> Any:
        from rich import text

        (words, _), *more = self._parts
        found = text.Text(words, style=self._style)
        for words, style in more:
            found.append(words, style=style or None)
        return found

    def lines(self, width: int) -> list[str]:
        """Lines, broken between words."""
        return [part for line in self.plain.split("\n") for part in _wrapped(line, width)]


class Group:
    """Parts below each other."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def __rich__(self) -> Any:
        from rich.console import Group as Parts

        return Parts(*self.parts)

    def lines(self, width: int) -> list[str]:
        """The lines of all parts."""
        return [line for part in self.parts for line in part.lines(width)]


class Grid:
    """Rows of cells in columns."""

    def __init__(self, columns: str, gap: int = BETWEEN) -> None:
        """`columns` has a letter per column: its side, l or r, in capitals if cells may fold."""
        self.columns, self.gap = columns, gap
        self.rows: list[tuple[str | Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, a cell for each column."""
        self.rows.append(cells)

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table.grid(padding=(0, self.gap))
        for letter in self.columns:
            justify: Any = "right" if letter in "rR" else "left"
            table.add_column(justify=justify, no_wrap=letter.islower(), overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def lines(self, width: int) -> list[str]:
        """A line for each row."""
        sides = ["<" if it in "lL" else ">" for it in self.columns]
        return _columns(self.rows, sides, self.gap, width)


class Facts(Group):
    """A title, and below it names with their values."""

    def __init__(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        grid = Grid("Lr")
        for row in rows:
            grid.add_row(*row)
        super().__init__(Text(title, style="bold"), grid)


class Beside:
    """Parts beside each other where there is room, else below each other."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    @staticmethod
    def of(*parts: Part | None) -> Beside | None:
        """The parts that are not None, if there are any."""
        visible = [part for part in parts if part is not None]
        return Beside(*visible) if visible else None

    def __rich__(self) -> Any:
        from ssdlab.terminal import side_by_side

        return side_by_side(*self.parts)

    def lines(self, width: int) -> list[str]:
        """The lines of the parts beside each other, or of one after the other."""
        drawn = [part.lines(width) for part in self.parts]
        widths = [max(map(len, lines)) for lines in drawn]
        if sum(widths) + GAP * (len(widths) - 1) > width:
            below: list[str] = []
            for number, lines in enumerate(drawn):
                below += [*([""] if number else []), *lines]
            return below
        height = max(map(len, drawn))
        full = [lines + [""] * (height - len(lines)) for lines in drawn]
        between = " " * GAP
        return [
            between.join(line.ljust(size) for line, size in zip(row, widths, strict=True))
            for row in zip(*full, strict=True)
        ]


class Columns:
    """A table without cut numbers: columns that do not fit follow in a table below.

    The first `keys` columns say what a row is about, and are repeated in each part.
    """

    def __init__(self, names: Sequence[str], keys: int, left: Sequence[str] = ()) -> None:
        self.names, self.keys, self.left = names, keys, left
        self.rows: list[tuple[str | Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, a cell for each column."""
        self.rows.append(cells)

    def __rich__(self) -> Any:
        from ssdlab import terminal

        table = terminal.Columns(self.names, self.keys, self.left)
        for row in self.rows:
            table.add_row(*(it.__rich__() if isinstance(it, Text) else it for it in row))
        return table

    def lines(self, width: int) -> list[str]:
        """Names, and a line for each row, as often as there are parts."""
        rows = [self.names, *([_words(cell) for cell in row] for row in self.rows)]
        widths = [1 + max(map(len, column)) for column in zip(*rows, strict=True)]
        widest = max(widths[self.keys :], default=0)
        room = width - min(sum(widths[: self.keys]), width - widest)
        groups: list[list[int]] = [[]]
        for position in range(self.keys, len(self.names)):
            if groups[-1] and sum(widths[it] for it in groups[-1]) + widths[position] > room:
                groups.append([])
            groups[-1].append(position)
        drawn: list[str] = []
        for number, group in enumerate(groups):
            positions = [*range(self.keys), *group]
            sides = ["<" if self._is_left(position) else ">" for position in positions]
            part = [tuple(row[position] for position in positions) for row in rows]
            drawn += [*([""] if number else []), *_columns(part, sides, 1, width)]
        return drawn

    def _is_left(self, place: int) -> bool:
        name = self.names[place]
        return name in self.left or (place < self.keys and not name)


def _words(cell: str | Text) -> str:
    return cell.plain if isinstance(cell, Text) else cell


def _columns(
    rows: Sequence[Sequence[str | Text]], sides: Sequence[str], gap: int, width: int
) -> list[str]:
    """Rows in columns, each to its side."""
    cells = [[_words(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_wide = sum(widths) + gap * (len(widths) - 1) > width
    if is_wide or any("\n" in cell for row in cells for cell in row):
        raise Unfit
    each = [f"{{:{side}{size}}}" for side, size in zip(sides, widths, strict=True)]
    line = (" " * gap).join(each)
    return [line.format(*row) for row in cells]


def _wrapped(line: str, width: int) -> list[str]:
    """A line in several, where it is too long, as rich divides it."""
    if len(line) <= width:
        return [line]
    starts, used = [0], 0
    for found in _WORD.finditer(line):
        word = found.group()
        if len(word.rstrip()) > width:
            raise Unfit
        if used + len(word.rstrip()) > width and used:
            starts.append(found.start())
            used = len(word)
        else:
            used += len(word)
    return [line[a:b] for a, b in zip(starts, [*starts[1:], len(line)], strict=True)]


def continued(command: str, width: int) -> str:
    """A command in lines that fit, each but the last ending as a shell wants it."""
    lines = [""]
    for word in re.split(r" (?=--)", command):
        if not lines[-1]:
            lines[-1] = word
        elif len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"    {word}")
    return "\n".join(lines)


def warnings(messages: Sequence[str]) -> Text | None:
    """Warnings, one line each."""
    lines = "\n".join(f"Warning: {it}" for it in messages)
    return Text(lines, style="yellow") if messages else None


class Canvas:
    """Canvas: `width` cells, and whether they take only ASCII."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._console: Any = None
        if file.isatty() or any(name in os.environ for name in FORCING):
            from ssdlab.terminal import console_for

            self._console, self.plain = console_for(file)
            self.width: int = self._console.width
            return
        encoding = getattr(file, "encoding", None) or "utf-8"
        self.plain = not encoding.lower().startswith("utf")
        self.width = min(_width(), MAX_WIDTH)

    def draw(self, parts: Iterable[Part | None]) -> str:
        """The parts that are not None, with an empty line between them."""
        visible = [part for part in parts if part is not None]
        if self._console is None:
            try:
                return self._drawn(visible)
            except Unfit:
                pass
        from ssdlab.terminal import console_for, rendered

        console = self._console or console_for(self._file)[0]
        return rendered(console, [*visible])

    def _drawn(self, parts: Sequence[Part]) -> str:
        every = [part.lines(self.width) for part in parts]
        text = "\n".join("".join(f"{line.rstrip()}\n" for line in lines) for lines in every)
        if not NARROW.fullmatch(text):
            raise Unfit
        return text.translate(ASCII) if self.plain else text


def _width() -> int:
    """Width of the output, by rich's rules."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return int(columns)
    for descriptor in (0, 1, 2):
        try:
            return os.get_terminal_size(descriptor).columns or USUAL_WIDTH
        except (AttributeError, ValueError, OSError):
            continue
    return USUAL_WIDTH
