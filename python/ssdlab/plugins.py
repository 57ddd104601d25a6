"""Names added by other installed packages: devices, cleaning policies, trace formats.

A package declares them as entry points, and needs only to be installed:

- `ssdlab.devices`: `name = "package.folder"`, with a file `name.toml` in that folder;
- `ssdlab.cleaners`: `name = "package.module:Class"`, as in `cleaning.policy`;
- `ssdlab.formats`: `ending = "package.module:read"`, a function of a path that returns a table
  (a data frame, or anything that streams Arrow) of the requests in a file `*.ending`.

A pace of cleaning has no interface in Python: a package that declares `ssdlab.paces` gets a
message.

Built-in names take precedence. Code of a package runs only if its name is given on the command line
or from Python, or a trace has its extension; experiment files cannot name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ssdlab import _core
from ssdlab._core import InputError

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = ("devices", "cleaners", "formats")


@cache
def found(group: str) -> Mapping[str, Any]:
    """The entry points of a group, by name; duplicates resolve to the first package in order of
    name.
    """
    from importlib.metadata import entry_points

    every = sorted(
        entry_points(group=f"ssdlab.{group}"), key=lambda it: it.dist.name if it.dist else ""
    )
    return {it.name: it for it in reversed(every)}


def device(name: str) -> Path | None:
    """The file of a package's device; None if no package declares it.

    Raises `InputError` if the declared file is missing.
    """
    entry = found("devices").get(name)
    if entry is None:
        return None
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec(entry.value)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / f"{name}.toml").is_file():
            return path
    raise InputError(
        f"--device {name}: the package {_package(entry)} declares it and has no {name}.toml in "
        f"{entry.value}"
    )


def cleaner(name: str) -> str | None:
    """The `module:Class` of a package's cleaning policy; None if no package declares it."""
    entry = found("cleaners").get(name)
    return None if entry is None else str(entry.value)


def refuse_pace(source: str, name: str) -> None:
    """Raise `InputError` for a cleaning pace that only a package or Python code could add."""
    known = dict(_core.list("keys") or ())["device.cleaning.pace"]
    words = known.rpartition("(")[2].partition(";")[0].replace(" | ", ", ")
    if name in words.split(", "):
        return
    entry = found("paces").get(name)
    if ":" in name or entry is not None:
        adds = "" if entry is None else f"; the package {_package(entry)} declares it in vain"
        raise InputError(
            f"{source}: a pace is built in (one of {words}); neither Python code nor a package can "
            f"add one, as they can a cleaning.policy{adds}"
        )


def table(path: Path) -> Any:
    """Table of a file, read by a package for its extension; None if no package reads it."""
    entry = found("formats").get(path.suffix.removeprefix("."))
    if entry is None:
        return None
    try:
        return entry.load()(path)
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"trace {path}: {_package(entry)} cannot read it: {type(error).__name__}: {said}"
        ) from error


def names(group: str) -> dict[str, str]:
    """The names of a group with the package that adds each."""
    return {name: f"of the package {_package(it)}" for name, it in found(group).items()}


def _package(entry: Any) -> str:
    return str(entry.dist.name) if entry.dist is not None else "?"
