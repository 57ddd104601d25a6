"""Loads a cleaning policy by name, and reports its failures."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Any

from ssdlab._core import InputError, PolicyError
from ssdlab.cleaners.policy import Cleaner, require_numpy, require_step

SHAPE = "expected module:Class or module:Class(parameter=value, ...), with literal values"


def name_of(policy: Cleaner) -> str:
    """Name, in an experiment, of a policy given as an object."""
    if isinstance(policy, type):
        raise InputError(
            f"argument cleaner: {policy.__name__} is a class; make one: {policy.__name__}()"
        )
    require_step(policy, "argument cleaner")
    require_numpy()
    kind = type(policy)
    return f"{kind.__module__}:{kind.__qualname__}"


def load(name: str) -> Cleaner:
    """The policy `module:Class` or `module:Class(parameter=value, ...)`, values being literals.

    The module is imported, from the current directory first. The import runs its code, so a name
    from a file needs permission (`_core.permit_code`). Only a class with a method `step` is called.
    Raises `InputError`.
    """
    require_numpy()
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
    """The message of an error, preceded by the policy's traceback."""
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
    """The exception, with the innermost line of the user's code that raised it."""
    what = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return f"{what} ({error.filename}, line {error.lineno})"
    library = (sysconfig.get_path("stdlib"), str(Path(__file__).parent), "<")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(library)
    ]
    if not frames:
        return what
    return f"{what} ({frames[-1].filename}, line {frames[-1].lineno})"
