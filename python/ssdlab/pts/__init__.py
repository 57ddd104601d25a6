"""SNIA's Performance Test Specification for drives, simulated or measured. `plan` has the tests as
a table; `jobs` turns them into fio job files for simulated (`simulate`) and real drives; `measured`
reads a real drive's results.

`steady` is the specification's steady-state rule, `outcome` the derived figures, `report` the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.pts import simulate
from ssdlab.pts.outcome import Outcome
from ssdlab.pts.plan import TESTS, Test


@dataclass
class Report:
    """The tests run on a drive, with measurements of a real one."""

    device: str
    tests: Sequence[Test]
    simulated: dict[str, Outcome] = field(default_factory=dict)
    measured: Mapping[str, Outcome] = field(default_factory=dict)
    source: str = ""
    """Directory of the measurements."""

    @property
    def is_whole(self) -> bool:
        """True if every test was run."""
        return all(it.word in self.simulated for it in self.tests)

    def pairs(self) -> Iterator[tuple[Test, Outcome, Outcome | None]]:
        """The tests run, in the order of the specification, with their measurements."""
        for test in self.tests:
            if test.word in self.simulated:
                yield test, self.simulated[test.word], self.measured.get(test.word)

    def to_dict(self) -> dict[str, Any]:
        """The report in the form of `ssdlab pts --json`."""
        return {
            "specification": "SNIA SSS PTS 2.0.2",
            "device": self.device,
            "partial": not self.is_whole,
            "tests": {it.test.word: it.to_dict() for _, it, _ in self.pairs()},
            "measured": {
                word: it.to_dict() for word, it in self.measured.items() if word in self.simulated
            },
        }


def chosen(words: str | None) -> list[Test]:
    """The tests named in a list, in report order; all without one.

    Raises `InputError` for unknown names.
    """
    if words is None:
        return [*TESTS.values()]
    requested = [it.strip() for it in words.split(",")]
    for word in requested:
        if word not in TESTS:
            raise InputError(f'--only "{word}": there is no such test; tests: {", ".join(TESTS)}')
    return [test for word, test in TESTS.items() if word in requested]


def run(
    report: Report,
    changes: Sequence[Layer] = (),
    *,
    minute: float | None = None,
    most_rounds: int | None = None,
    seed: int | None = None,
    allow_code: bool = False,
) -> Iterator[Outcome]:
    """Run the tests of a report on its drive in parallel, yielding each at its end.

    `changes` are layers above the drive, `minute` is the simulated duration of the specification's
    minute in seconds, and `most_rounds` bounds the rounds per test. Raises `InputError`.
    """
    with simulate.prepared(
        report.device, changes, report.tests, seed=seed, allow_code=allow_code
    ) as drive:
        for outcome in simulate.Crew(drive, minute, most_rounds).run(report.tests):
            report.simulated[outcome.test.word] = outcome
            yield outcome
