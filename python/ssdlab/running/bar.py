"""The progress bar of a run."""

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

from ssdlab.bars import Share
from ssdlab.running import Progress
from ssdlab.units import count, duration


@contextmanager
def progress_bar(file: IO[str]) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on the terminal `file`; yields the function that updates it."""
    bars = Bars(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        Share(),
        _Rate(),
        TextColumn("{task.fields[simulated]}"),
        TimeRemainingColumn(compact=True),
        console=Console(file=file),
        transient=True,
    )
    task = None
    phase = None

    def move(now: Progress) -> None:
        nonlocal task, phase
        if task is None or now.phase != phase:
            if task is not None:
                bars.remove_task(task)
            task = bars.add_task(now.phase, total=now.expected, simulated="")
            phase = now.phase
        simulated = f"{duration(now.simulated_seconds * 1e6)} simulated"
        bars.update(task, completed=now.done, total=now.expected, simulated=simulated)

    with bars:
        yield move


class _Rate(ProgressColumn):
    """Requests per second of wall time."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{count(task.speed)}/s")
