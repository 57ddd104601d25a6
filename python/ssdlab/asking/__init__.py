"""Which drive for what I have? A trace, results of fio or iostat, or a load in words.

`ask` derives a load and needs from its input, states its assumptions, and passes both to the engine
of `ssdlab choose`. Rows appear as drives are tried.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import choosing, layers, market, sizing, sources
from ssdlab._core import InputError
from ssdlab.asking import health, words
from ssdlab.asking import what as things
from ssdlab.asking.described import Asked
from ssdlab.asking.health import Health
from ssdlab.choosing import Choice, trace
from ssdlab.choosing.hunt import Told
from ssdlab.costing.need import Need
from ssdlab.running import run_layers
from ssdlab.sizing.fit import BRIEF, NoRoomError
from ssdlab.sizing.trial import Goal

__all__ = ["Answer", "Health", "Question", "ask"]

MAX_DRIVES = 8


@dataclass(frozen=True)
class Question:
    """A question: the load with its assumptions, the needs, and the drives to compare."""

    asked: Asked
    needs: Mapping[str, float | str]
    goals: Sequence[Goal]
    drives: Sequence[str]
    most: int
    assignments: Sequence[str]
    terms: choosing.Terms
    seed: int


@dataclass(frozen=True)
class Answer:
    """The drives under the load, with data and assumptions."""

    question: Question
    choice: Choice

    def to_dict(self) -> dict[str, Any]:
        """The answer in the form of `ssdlab ask --json`."""
        asked = self.question.asked
        said = {"read": [*asked.read], "assumed": [*asked.assumed], "surer": [*asked.surer]}
        return {**said, **self.choice.to_dict()}


def question(
    what: str | None = None,
    *,
    load: str | None = None,
    need: str | None = None,
    device: str | Sequence[str] = (),
    drives: int = MAX_DRIVES,
    prices: Mapping[str, float] | None = None,
    catalogue: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
    columns: str | None = None,
    volume: str | None = None,
    seed: int = 42,
) -> Question:
    """The question that these words stand for. Raises `InputError` for unknown words."""
    needs = {} if need is None else words.need(need)
    assignments = layers.assigned(set)
    asked = things.of(what, load, columns, volume, assignments)
    rows = market.with_own(None if catalogue is None else Path(catalogue))
    chosen = choosing.named([device] if isinstance(device, str) else device, rows)
    names = chosen or choosing.offered(rows)
    _refuse_unserved(asked, needs)
    _try_out(asked, names if chosen else names[:1], drives, assignments)
    goals = [Goal(_figure(it), float(limit)) for it, limit in needs.items() if it not in AMOUNTS]
    years = needs.get("years")
    # A closed-loop load writes as fast as the drive allows: no drive lasts years.
    if years is not None or asked.is_paced:
        limit = float(years or sizing.YEARS)
        goals.append(Goal("years", limit, at_least=True, if_known=years is None))
    terms = choosing.terms_of(float(years or sizing.YEARS), prices or {}, None, chosen, rows)
    return Question(asked, needs, goals, names, drives, assignments, terms, seed)


def _try_out(asked: Asked, names: Sequence[str], most: int, assignments: Sequence[str]) -> None:
    """Raise `InputError` for input that the first run would reject, before any output."""
    for name in names:
        with contextlib.suppress(NoRoomError):  # a row says so
            sizing.Search(asked.load, name, None, assignments, most, BRIEF)
    if asked.load.job is not None:  # it is read when it is run
        below = [*asked.load.layers(), sources.from_name("device", names[0], "--device")]
        run_layers([*below, *layers.from_options(["workload.requests=1", *assignments])])


def _refuse_unserved(asked: Asked, needs: Mapping[str, float | str]) -> None:
    """Raise `InputError` for a latency of requests that the load does not have."""
    for kind, share in (("read", 0.0), ("write", 1.0)):
        needed = next((name for name in needs if name.startswith(f"{kind}.")), None)
        if needed is not None and asked.read_share == share:
            raise InputError(f"--need {needed}: {asked.load.name} has no {kind}s; leave it out")


#: Needs that a run does not measure.
AMOUNTS = ("gb", "years")


def _figure(name: str) -> str:
    """Name of a latency in trials."""
    return {"p99": "p99_us", "p99.9": "p999_us"}.get(name, name)


def answer(question: Question, told: Told | None = None) -> Answer:
    """The drives under the load; `told` gets each row as it comes.

    Raises `InterruptedChoice`, with the rows so far, at Ctrl-C.
    """
    gigabytes = float(question.needs.get("gb", 0.0))
    asked = choosing.Asked(
        question.asked.load,
        question.goals,
        question.terms,
        gigabytes,
        question.most,
        question.assignments,
        question.seed,
    )
    notes = trace.notes(question.asked.load, question.assignments)
    need = Need({"gb": gigabytes} if gigabytes else {}, {})
    return Answer(question, choosing.among(question.drives, asked, need, notes, told))


def ask(
    what: str | None = None,
    *,
    rated: str | None = None,
    flash: str | None = None,
    **given: Any,
) -> Answer | Health:
    """Find the drive that serves a load, or the remaining life of a drive; as the command `ssdlab
    ask`.

    `what` is a file; `load` and `need` are words, `device` presets or files for the catalogue's,
    `drives` how many of one kind may be striped, `set` keys of all runs. For a file of smartctl or
    nvme smart-log, `rated` is the rated writes (TBW), `flash` the raw flash size. Raises
    `InputError`, and `InterruptedChoice` at Ctrl-C.

    >>> import ssdlab
    >>> found = ssdlab.ask(load="70/30 8K random, 20 K IOPS", need="p99=2ms")  # doctest: +SKIP
    >>> found.choice.best.drive  # doctest: +SKIP
    """
    device = given.get("device", ())
    names = (device,) if isinstance(device, str) else tuple(device)
    found = health.of(what, flash, rated, names)
    return answer(question(what, **given)) if found is None else found
