"""Converts arguments to layers: source and TOML text, from lowest to highest priority.

A layer's source is its name in error messages: a path, a preset, an option or an argument of
`ssdlab.run`. The engine interprets the text; this module knows no keys or defaults. A layer may
have permission to load code, false by default.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import _core
from ssdlab._core import InputError


class Layer(NamedTuple):
    """Part of an experiment, from one source."""

    source: str
    """Its name in error messages."""
    text: str
    """Its content, as TOML."""
    code: bool = False
    """True if it may name Python code to load."""


def permitting(stack: Iterable[Layer]) -> list[Layer]:
    """The layers, permitted to load code."""
    return [layer._replace(code=True) for layer in stack]


def from_file(path: str | os.PathLike[str]) -> Layer:
    """The layer in the TOML file `path`. Raises `InputError` if it cannot be read as text."""
    try:
        os.fspath(path).encode()
        return Layer(os.fspath(path), _text(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (at byte {error.start})") from None
    except UnicodeEncodeError:
        raise InputError(f"{os.fspath(path)!r}: not UTF-8 text") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None


def _text(path: str | os.PathLike[str]) -> str:
    from ssdlab import reading

    with reading.opened(path) as file:
        return file.read().decode("utf-8").replace("\r\n", "\n")


def from_mapping(source: str, table: Mapping[str, Any]) -> list[Layer]:
    """The layers of a nested dict, one per section.

    Raises `InputError` for values that TOML cannot represent.
    """
    return [
        Layer(source, f"{_inline(source, key)} = {_inline(f'{source}, {key}', value)}")
        for key, value in table.items()
    ]


def from_assignment(key: str, value: Any) -> Layer:
    """The layer of one override: `key` is a dotted path, `value` a Python value.

    Text is parsed as by `--set`: "30us" is a duration, "5" a number.
    """
    return Layer(*_core.set_layer(_assignment(key, value)))


def from_assignments(table: Mapping[str, Any]) -> list[Layer]:
    """The layer of several overrides, in any order; empty without overrides."""
    return from_options([_assignment(key, value) for key, value in table.items()])


def from_options(assignments: Sequence[str]) -> list[Layer]:
    """The layer of several `--set KEY=VALUE`, in any order; empty without any.

    Raises `InputError` for a key with two values.
    """
    if not assignments:
        return []
    return [Layer(*_core.set_layers([_with_plugin(it) for it in assignments]))]


def _with_plugin(assignment: str) -> str:
    """The assignment, with a plugin's policy name replaced by its class."""
    key, _, name = assignment.partition("=")
    of = key.strip().rpartition("cleaning.")[2]
    if of == "pace":
        from ssdlab import plugins

        plugins.refuse_pace(f"--set {assignment}", name)
    if of != "policy" or not name.replace("-", "").isidentifier():
        return assignment
    if name in dict(_core.list("cleaners") or ()):
        return assignment
    from ssdlab import plugins

    return f"{key}={plugins.cleaner(name) or name}"


def assigned(set: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Keys with their values, or assignments, as assignments."""
    if not isinstance(set, Mapping):
        return [*set]
    return [f"{key}={it if isinstance(it, str) else _inline(key, it)}" for key, it in set.items()]


def peers(stack: Sequence[Layer]) -> list[Layer]:
    """Merge layers from assignments into one: their order is irrelevant."""
    return [Layer(*_core.peers(stack))] if stack else []


def as_mapping(assignments: Sequence[str]) -> dict[str, str]:
    """The values of several `KEY=VALUE` by key, without quotes. Raises `InputError`."""
    from_options(assignments)
    pairs = (it.split("=", 1) for it in assignments)
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def _assignment(key: str, value: Any) -> str:
    return f"{key}={value if isinstance(value, str) else _inline(f'set {key}', value)}"


def keys_of(assignments: Iterable[str]) -> list[str]:
    """The keys of several `KEY=VALUE`."""
    return [it.partition("=")[0].strip() for it in assignments]


def names_load(stack: Iterable[Layer]) -> bool:
    """True if a layer defines the load, apart from a number of requests."""
    for layer in stack:
        lines = [line for line in layer.text.splitlines() if "workload" in line]
        if all(line.startswith("workload.requests ") for line in lines):
            continue
        from ssdlab import toml

        try:
            stated = toml.parse(layer.source, layer.text).get("workload", {})
        except InputError:
            return True  # the engine reports the error
        if not isinstance(stated, Mapping) or set(stated) - {"requests"}:
            return True
    return False


#: Extensions of other programs' files, whose conversion leaves notes.
CONVERTED = (".cfg", ".h", ".parv", ".sh", ".xml")

#: Keys that control the engine's trace readers.
READ_AS = ("workload.format", "workload.columns", "workload.pattern")


def from_trace(
    source: str,
    trace: Any,
    columns: str | None = None,
    changed: Iterable[str] = (),
    pattern: str | None = None,
) -> list[Layer]:
    """The layers that replay a trace: a file, a pattern of files, or a table in memory.

    `columns` assigns the columns of a table, by name or by number; `pattern` matches the request
    lines of a text. `changed` are the keys set by other layers: keys that control reading apply to
    the file.
    """
    from ssdlab import tables

    is_declared = pattern is not None or any(key in READ_AS for key in changed)
    is_declared = is_declared and not tables.is_object(trace)
    path = trace if is_declared else tables.as_trace(trace, columns, source)
    keys = {"kind": "trace", "path": path}
    if columns is not None and path is trace:
        keys["columns"] = columns
    if pattern is not None:
        keys["pattern"] = pattern
    return permitting(from_mapping(source, {"workload": keys}))


def named(message: str) -> str:
    """An engine message, in terms of the user's table if the trace was made from one."""
    tables = sys.modules.get("ssdlab.tables")
    return message if tables is None else str(tables.named(message))


def from_seed(source: str, seed: int) -> list[Layer]:
    """The layers that seed the random generator."""
    return from_mapping(source, {"run": {"seed": seed}})


def _inline(where: str, value: Any) -> str:
    """`value` in TOML on a single line, as line numbers mean nothing to the user.

    `where` names it in errors.
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, Mapping):
        items = (
            f"{_inline(where, key)} = {_inline(f'{where}, {key}', item)}"
            for key, item in value.items()
        )
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_inline(where, item) for item in value)}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    shown = "null" if value is None else repr(value)
    raise InputError(
        f"{where}: a value is a string, a number, a boolean, a list or a dict, not {shown}"
    )
