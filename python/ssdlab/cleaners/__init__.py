"""Cleaning policies written in Python: their parts, how they are found, and the conformance suite.

>>> import ssdlab
>>> class Greedy:
...     def step(self, view):
...         blocks = view.candidates
...         return ssdlab.Clean(blocks[view.valid[blocks].argmin()])
>>> print(ssdlab.check_cleaner(Greedy()))  # doctest: +SKIP

See docs/write-a-cleaner.md.
"""

from __future__ import annotations

import ast
import copy
import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

from ssdlab import _core
from ssdlab._core import (
    CLOSED,
    FILLING,
    FREE,
    OPEN,
    PASSED_OVER,
    RETIRED,
    VICTIM,
    Clean,
    InputError,
    PolicyError,
    Rest,
    View,
)

__all__ = [
    "CLOSED",
    "FILLING",
    "FREE",
    "OPEN",
    "PASSED_OVER",
    "RETIRED",
    "VICTIM",
    "Action",
    "Check",
    "CheckReport",
    "Clean",
    "Cleaner",
    "PolicyError",
    "Rest",
    "View",
    "check_cleaner",
    "load",
]

Action: TypeAlias = Clean | Rest

SHAPE = "expected module:Class or module:Class(parameter=value, ...), with literal values"


class Cleaner(Protocol):
    """A cleaning policy: any object with this method."""

    def step(self, view: View) -> Action:
        """Choose a block of the domain that `view` shows, or rest; called once per victim."""
        ...


class Check(NamedTuple):
    """One check of the conformance suite."""

    shows: str
    """What it shows, in a few words."""
    problem: str | None
    """What is wrong; None if nothing is."""


class CheckReport(NamedTuple):
    """What `check_cleaner` found; `print` it."""

    policy: str
    """The policy's class."""
    checks: tuple[Check, ...]
    """Every check, in order."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.problem is None for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{self.policy}: {'conforms' if self.passed else 'does not conform'}"]
        for shows, problem in self.checks:
            lines.append(f"  {'ok    ' if problem is None else 'FAILED'}  {shows}")
            lines += [f"            {line}" for line in (problem or "").splitlines()]
        return "\n".join(lines)


def check_cleaner(policy: Cleaner | type[Cleaner]) -> CheckReport:
    """Run the conformance suite on a cleaning policy and return its report.

    Every policy must choose closed blocks only, lose no data, make progress at the least spare
    space that a drive may have, and decide alike for a seed. Each run begins with a deep copy of
    `policy`, or with a new object if it is a class.

    Raises `PolicyError` if a check fails; its message is the report, its attribute `report` the
    `CheckReport`, its cause what the policy raised.
    """
    _require_step(policy, "argument policy")
    _require_numpy()
    make: Callable[[], Cleaner]
    if isinstance(policy, type):
        make, name = policy, policy.__qualname__
    else:
        make, name = partial(copy.deepcopy, policy), type(policy).__qualname__
    checks, raised = _core.check_cleaner(make)
    report = CheckReport(name, tuple(Check(*check) for check in checks))
    if not report.passed:
        error = PolicyError(str(report))
        error.report = report  # type: ignore[attr-defined]
        raise error from raised
    return report


def name_of(policy: Cleaner) -> str:
    """What a policy handed over as an object is called in an experiment."""
    if isinstance(policy, type):
        raise InputError(
            f"argument cleaner: {policy.__name__} is a class; make one: {policy.__name__}()"
        )
    _require_step(policy, "argument cleaner")
    _require_numpy()
    kind = type(policy)
    return f"{kind.__module__}:{kind.__qualname__}"


def load(name: str) -> Cleaner:
    """The policy `module:Class` or `module:Class(parameter=value, ...)`, values being literals.

    The module is looked up as `import` does, the current directory first, and imported: this runs
    its code, so a name from a file must be permitted before (`_core.permit_code`). Of what it holds
    only a class with a method `step` is called. Raises `InputError`.
    """
    _require_numpy()
    module_name, _, call = name.partition(":")
    class_name, arguments = _parse(call)
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise InputError(SHAPE)
    directory = os.getcwd()
    if directory not in sys.path and "" not in sys.path:
        sys.path.insert(0, directory)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module_name:
            problem = f"there is no module {module_name} in {directory} or on Python's path"
        else:
            problem = f"the module {module_name} cannot be imported: {_in_one_line(error)}"
        raise InputError(problem) from error
    try:
        kind: Any = module
        for part in class_name.split("."):
            kind = getattr(kind, part)
    except AttributeError as error:
        raise InputError(f"the module {module_name} has no {class_name}") from error
    if not isinstance(kind, type) or not callable(getattr(kind, "step", None)):
        raise InputError(
            f"{class_name}: a cleaning policy is a class with a method step(self, view), "
            f"and {kind!r} is none"
        )
    try:
        policy: Cleaner = kind(**arguments)
    except Exception as error:
        raise InputError(f"{class_name} cannot be made: {_in_one_line(error)}") from error
    return policy


def explain(error: PolicyError) -> str:
    """The message of an error and, before it, the traceback of what the policy raised."""
    cause = error.__cause__
    frames = "" if cause is None else "".join(traceback.format_exception(cause)).rstrip() + "\n"
    return f"{frames}{error}"


def _parse(call: str) -> tuple[str, dict[str, Any]]:
    try:
        tree = ast.parse(call.strip(), mode="eval").body
        arguments = {}
        if isinstance(tree, ast.Call):
            if tree.args or any(keyword.arg is None for keyword in tree.keywords):
                raise InputError(f"{SHAPE}, each with its name")
            arguments = {str(it.arg): ast.literal_eval(it.value) for it in tree.keywords}
            tree = tree.func
        name = ast.unparse(tree)
    except (SyntaxError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(SHAPE) from error
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError(SHAPE)
    return name, arguments


def _in_one_line(error: Exception) -> str:
    """What was raised, and the innermost line of the user's own where it was."""
    what = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return f"{what} ({error.filename}, line {error.lineno})"
    library = (sysconfig.get_path("stdlib"), __file__, "<")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(library)
    ]
    if not frames:
        return what
    return f"{what} ({frames[-1].filename}, line {frames[-1].lineno})"


def _require_step(policy: object, where: str) -> None:
    if not callable(getattr(policy, "step", None)):
        problem = (
            f"a cleaning policy is an object with a method step(view), and {policy!r} has none"
        )
        raise InputError(f"{where}: {problem}")


def _require_numpy() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise InputError(
            "a cleaning policy in Python sees NumPy arrays, and NumPy is not installed: "
            "pip install 'ssdlab[numpy]'"
        ) from error
