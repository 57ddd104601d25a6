"""The conformance suite for a cleaning policy, and its report."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ssdlab import _core
from ssdlab._core import PolicyError
from ssdlab.cleaners.policy import Cleaner, require_numpy, require_step


class Check(NamedTuple):
    """A check of the conformance suite."""

    shows: str
    """Purpose, in a few words."""
    problem: str | None
    """The failure; None if the check passed."""


class CheckReport(NamedTuple):
    """Findings of `check_cleaner`; `print` it."""

    policy: str
    """The policy's class."""
    checks: tuple[Check, ...]
    """Every check, in order."""

    @property
    def passed(self) -> bool:
        """True without failed checks."""
        return all(check.problem is None for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{self.policy}: {'conforms' if self.passed else 'does not conform'}"]
        for shows, problem in self.checks:
            lines.append(f"  {'ok    ' if problem is None else 'FAILED'}  {shows}")
            lines += [f"            {line}" for line in (problem or "").splitlines()]
        return "\n".join(lines)


def check_cleaner(policy: Cleaner | type[Cleaner]) -> CheckReport:
    """Run the conformance suite on a cleaning policy and return its report.

    Every policy must choose only closed blocks, lose no data, make progress at minimum spare space,
    and be deterministic for a seed. Each run starts with a deep copy of `policy`, or with a new
    instance of a class.

    Raises `PolicyError` if a check fails; its message is the report, its attribute `report` the
    `CheckReport`, its cause the exception of the policy.

    >>> import ssdlab
    >>> class Emptiest(ssdlab.cleaners.Cleaner):
    ...     def step(self, view):
    ...         return ssdlab.Clean(view.emptiest)  # the block with the fewest valid pages
    >>> ssdlab.check_cleaner(Emptiest).passed
    True
    """
    require_step(policy, "argument policy")
    require_numpy()
    make: Callable[[], Cleaner]
    if isinstance(policy, type):
        make, name = policy, policy.__qualname__
    else:
        make, name = partial(copy.deepcopy, policy), type(policy).__qualname__
    checks, raised = _core.check_cleaner(make)
    return reported(name, [Check(*check) for check in checks], raised)


def checked(policy: Any, checks: Mapping[str, Callable[[Any], str | None]]) -> CheckReport:
    """The report on a policy; each check, by the words for it, returns its problem.

    Raises `PolicyError` if a check fails.
    """
    found, raised = [], None
    for shows, check in checks.items():
        try:
            problem = check(policy)
        except PolicyError as error:
            problem, raised = str(error), raised or error.__cause__
        found.append(Check(shows, problem))
    return reported(type(policy).__qualname__, found, raised)


def reported(name: str, checks: Sequence[Check], raised: BaseException | None) -> CheckReport:
    """The report of checks. Raises `PolicyError` with the report if one failed."""
    report = CheckReport(name, tuple(checks))
    if not report.passed:
        error = PolicyError(str(report))
        error.report = report  # type: ignore[attr-defined]
        raise error from raised
    return report
