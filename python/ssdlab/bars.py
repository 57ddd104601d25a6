"""Progress bars on a terminal; imported only to draw one, with the part of rich it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text


@contextmanager
def steps(file: IO[str], what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal `file`; the result is called with the steps done and the total."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), Share())
    with Bars(*columns, TimeRemainingColumn(), console=Console(file=file), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, expected: bars.update(task, completed=done, total=expected)


class Share(ProgressColumn):
    """The share done, or the count if the end is unknown."""

    def render(self, task: Task) -> Text:
        """The share of `task`."""
        if task.total is None:
            return Text(f"{task.completed:,.0f}")
        return Text(f"{task.percentage:3.0f}%")
