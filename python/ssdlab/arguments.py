"""Messages in the words of their reader: options at the command line, arguments in Python.

The code names options. The functions that the package hands out name their arguments instead:
`--p99 2: a time has a unit` becomes `p99=2: a time has a unit`.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from ssdlab import delivery
from ssdlab._core import InputError

P = ParamSpec("P")
T = TypeVar("T")

#: Arguments with another name than their option; the first that a function has.
NAMES: Mapping[str, Sequence[str]] = {
    "class": ("application_class",),
    "five-minute": ("memory_dollars_per_gib",),
    "for": ("age", "goal"),
    "out": ("out", "path"),
    "price": ("prices",),
    "try": ("own",),
}
#: Keys of a trace, which functions without the argument take in `set`.
KEYS = ("columns", "format", "layout", "pattern")

#: A key with its value: at the beginning of a message up to the colon, elsewhere one word.
_FIRST_KEY = re.compile(r"^--set ([\w.]+)=(.+?)(?=: | and (?:--|vary )| with )")
_KEY = re.compile(r"--set ([\w.]+)=([^\s,;`]+?)(?=[,;:)]*(?:\s|$))")
_FIRST = re.compile(r"^--([a-z][a-z0-9-]*) ((?:(?! and |= |--)[^`])+?)(?=: )")
_OPTION = re.compile(
    r"--([a-z][a-z0-9-]*)"
    r"(?:[ =](\"[^\"]*\"|'[^']*'|(?:\d|[A-Z]{2}|[\w.]+=)[^\s,;`]*?(?:,\w+=[^\s,;`]*?)*)"
    r"(?=[,;:)]*(?:\s|$)))?"
)


def public(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose errors name its arguments."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            if not delivery.is_command():
                error.args = (in_python(str(error), inspect.signature(function).parameters),)
            raise

    return call


def in_python(message: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The message with arguments instead of options; commands in backticks stay as they are.

    >>> def size(trace, *, p99=None, force: bool = False, set=None): ...
    >>> has = inspect.signature(size).parameters
    >>> in_python("--p99 2: a time has a unit; --force, or `ssdlab run --trace FILE`", has)
    'p99=2: a time has a unit; force=True, or `ssdlab run --trace FILE`'
    >>> in_python("--set device.channels=0: give --columns size=3 or --trace FILE", has)
    'set={"device.channels": "0"}: give set={"workload.columns": "size=3"} or trace=FILE'
    """

    def key(found: re.Match[str]) -> str:
        return f"set={{{_quoted(found[1])}: {_quoted(found[2])}}}"

    def option(found: re.Match[str]) -> str:
        names = NAMES.get(found[1], (found[1].replace("-", "_"),))
        name = next((it for it in names if it in parameters), names[0])
        has_set = "set" in parameters and name not in parameters
        if found[2] is None:
            kind = parameters[name].annotation if name in parameters else None
            is_flag = name == "allow_code" or kind in (bool, "bool")
            return f"{name}=True" if is_flag else name
        if has_set and name in KEYS:
            return f'set={{"workload.{name}": {_value(found[2])}}}'
        return f"{name}={_value(found[2])}"

    parts = re.split(r"(`[^`]*`)", message)
    parts[0] = _FIRST.sub(option, _FIRST_KEY.sub(key, parts[0]), count=1)
    parts[::2] = [_OPTION.sub(option, _KEY.sub(key, it)) for it in parts[::2]]
    return "".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(text.strip("\"'"), ensure_ascii=False)


def _value(text: str) -> str:
    """A value as written in Python: numbers and placeholders as they are, words in quotes."""
    is_plain = text[0] in "\"'" or re.fullmatch(r"[\d.]+|[A-Z]+", text)
    return text if is_plain else _quoted(text)
