"""Control runs with known outcomes, with and without losses: they test the crash test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import sources
from ssdlab.crashes import BROKEN, LOST
from ssdlab.crashes.apps import load
from ssdlab.crashes.record import case_of_app, workplace
from ssdlab.crashes.run import (
    DEFAULT_DEVICE,
    Findings,
    Progress,
    Search,
    record_and_judge,
    unavailable,
)


class Control(NamedTuple):
    """A run with its expected outcome."""

    name: str
    app: str
    must: str | None = None
    """The required verdict."""
    may: tuple[str, ...] = ()
    """Further permitted verdicts."""
    device: str = DEFAULT_DEVICE
    cost: int = 1
    """Divisor of the number of points, for slow checkers."""

    @property
    def expected(self) -> str:
        """The expected outcome, in words."""
        if self.must is not None:
            also = f", perhaps {' and '.join(self.may)}" if self.may else ""
            return f"{self.must}{also}"
        return f"never {BROKEN}" if self.may == (LOST,) else "all ok"


CONTROLS = (
    Control("SQLite, WAL, FULL", "sqlite:journal=wal,synchronous=full"),
    Control("SQLite, DELETE, EXTRA", "sqlite:journal=delete,synchronous=extra"),
    Control("SQLite, WAL, NORMAL", "sqlite:journal=wal,synchronous=normal", LOST),
    Control("SQLite, DELETE, FULL", "sqlite:journal=delete,synchronous=full", may=(LOST,)),
    Control("SQLite, DELETE, OFF", "sqlite:journal=delete,synchronous=off", BROKEN, (LOST,)),
    Control(
        "SQLite, DELETE, OFF, no buffer",
        "sqlite:journal=delete,synchronous=off",
        BROKEN,
        (LOST,),
        "agrawal2008",
    ),
    Control("PostgreSQL, defaults", "postgres", cost=5),
    Control("PostgreSQL, fsync=off", "postgres:fsync=off", BROKEN, (LOST,), cost=5),
    Control("PostgreSQL, full_page_writes=off", "postgres:full_page_writes=off", BROKEN, cost=5),
    Control("Direct I/O, volatile buffer", "direct", LOST),
    Control("Direct I/O, flushed", "direct:flush=each"),
    Control("Direct I/O, no buffer", "direct", device="agrawal2008"),
    Control("Direct I/O, capacitors", "direct", device="tlc-enterprise"),
    Control("Copy", "copy", LOST, (BROKEN,)),
    Control("Copy, fsync", "copy:fsync=yes"),
)


@dataclass(frozen=True)
class Outcome:
    """The result of a control run."""

    control: Control
    findings: Findings | None
    skipped: str | None = None

    @property
    def as_expected(self) -> bool:
        """True if the required verdict was found, and only permitted ones."""
        if self.findings is None:
            return True
        counts = self.findings.counts
        allowed = {self.control.must, *self.control.may}
        found = {verdict for verdict in (LOST, BROKEN) if counts[verdict]}
        return found <= allowed and (self.control.must is None or self.control.must in found)

    def to_dict(self) -> dict[str, Any]:
        """The outcome for JSON."""
        return {
            "control": self.control.name,
            "app": self.control.app,
            "expected": self.control.expected,
            "as_expected": self.as_expected,
            "skipped": self.skipped,
            "findings": None if self.findings is None else self.findings.to_dict(),
        }


def named(word: str) -> list[Control]:
    """The controls whose name or application contains a word, or all."""
    wanted = word.lower()
    return [it for it in CONTROLS if wanted == "all" or wanted in f"{it.name} {it.app}".lower()]


def perform(
    controls: Iterable[Control],
    search: Search,
    keep: Path | None,
    progress: Progress,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Run the controls in turn; `tell` is called after each."""
    outcomes = []
    for control in controls:
        app, _ = load(control.app)
        problem = unavailable(app.place, control.app)
        if problem is not None:
            outcome = Outcome(control, None, problem)
        else:
            case = case_of_app(control.app, [sources.from_name("device", control.device)], None)
            one = replace(search, points=max(1, search.points // control.cost))
            position = (
                None if keep is None else keep / control.name.replace(", ", "-").replace(" ", "-")
            )
            with workplace() as work:
                found = record_and_judge(case, one, work, position, _under(control.name, progress))
                outcome = Outcome(control, found)
        outcomes.append(outcome)
        tell(outcome)
    return outcomes


def _under(name: str, progress: Progress) -> Progress:
    return lambda what, done, total: progress(f"{name}: {what}", done, total)
