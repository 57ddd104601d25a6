"""The files of a live device, which must be distinct to avoid overwriting."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ssdlab import delivery, forms
from ssdlab._core import InputError

#: Settings that name a written file, and extensions of files beside it.
WRITTEN = {"backing": (".drive",), "record": (".faults",), "control": ()}
READ = ("overhead",)

#: Purpose and path of a file.
Role = tuple[str, "str | os.PathLike[str] | None"]


def of_device(settings: Mapping[str, Any], prefix: str = "") -> Iterable[Role]:
    """All files named by settings of a served device; the first names are options."""
    for key, neighbours in WRITTEN.items():
        path = settings.get(key)
        if path is not None and os.fspath(path) != "-":
            yield f"{prefix}{key}", path
            for ending in neighbours:
                yield f"{prefix}{key} ({ending})", os.fspath(path) + ending
    for key in READ:
        yield f"{prefix}{key}", settings.get(key)


def refuse_record(record: str | os.PathLike[str] | None) -> None:
    """Raise `InputError` if a recorded trace, or its orders, would replace a file.

    Only Parquet traces identify ssdlab as their writer.
    """
    if record is None or os.fspath(record) == "-":
        return
    delivery.refuse(Path(record), forms.TRACE)
    orders = Path(f"{os.fspath(record)}.faults")
    if orders.exists():
        delivery.refuse(orders)


def refuse_shared(roles: Iterable[Role]) -> None:
    """Raise `InputError` if two settings name the same file."""
    found: dict[str, str] = {}
    for role, path in roles:
        if path is None:
            continue
        position = os.path.realpath(path)
        other = found.setdefault(position, role)
        if other != role and not (_reads(role) and _reads(other)):
            raise InputError(
                f"{role}: {os.fspath(path)} is what {other} names already; give each its own file"
            )


def _reads(role: str) -> bool:
    return role.split()[-1].lstrip("-") in (*READ, "script")
