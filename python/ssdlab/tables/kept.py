"""Tables converted into traces, in the cache folder and within its size limit."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ssdlab import _core

#: Folder within the cache, and the extension: the engine counts these files towards the bound
#: (`crates/lab/src/cache/shelf.rs`).
FOLDER, ENDING = "traces", ".parquet"
#: Maximum length of a table's name within the converted file's name.
LONGEST = 40


def file(key: str, table: str, make: Callable[[Path], object], elsewhere: Path) -> Path:
    """The converted file of a table, created if missing; in `elsewhere` if the cache is unusable.

    `key` identifies its content.
    """
    name = f"{_called(table)}-{key}{ENDING}"
    folder = _folder()
    if folder is None:
        return _made(elsewhere / name, make)
    target = folder / name
    try:
        os.utime(target)  # used files are evicted last
    except OSError:
        return _new(target, make, elsewhere / name)
    return target


def _new(target: Path, make: Callable[[Path], object], instead: Path) -> Path:
    """Create a missing file; files beyond the cache's limit become temporary."""
    own = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        make(own)
        if _core.cache_make_room(own.stat().st_size):
            os.replace(own, target)
            return target
        shutil.move(own, instead)
    except OSError:  # the cache folder is full or not writable
        return _made(instead, make)
    finally:
        own.unlink(missing_ok=True)
    return instead


def _made(target: Path, make: Callable[[Path], object]) -> Path:
    if not target.exists():
        make(target)
    return target


def _called(table: str) -> str:
    """A table's name as the beginning of a file name.

    >>> _called("/data/my trace (1).csv.gz"), _called("fleet/*.parquet")
    ('my-trace-1', 'table')
    """
    stem = os.path.basename(table).partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_]+", "-", stem)[:LONGEST].strip("-") or "table"


def _folder() -> Path | None:
    """Folder of converted files; None if caching is off or impossible."""
    base = _core.cache_folder()
    if base is None or _core.cache_bound() is None:
        return None
    try:
        (base / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return base / FOLDER


def entries(base: Path) -> list[dict[str, Any]]:
    """Converted traces in the cache folder, most recently used first."""
    found = []
    for path in (base / FOLDER).glob(f"*{ENDING}"):
        try:
            state = path.stat()
        except OSError:
            continue  # removed meanwhile
        name = path.name.removesuffix(ENDING)
        found.append(
            {
                "name": name,
                "table": name.rpartition("-")[0] or name,
                "bytes": state.st_size,
                "last_used": state.st_mtime,
            }
        )
    return sorted(found, key=lambda it: -it["last_used"])


def clear(base: Path) -> tuple[int, int]:
    """Remove all converted traces, and remains of killed conversions."""
    count = used = 0
    for path in (base / FOLDER).glob("*"):
        size = path.stat().st_size
        path.unlink(missing_ok=True)
        if path.suffix == ENDING:
            count, used = count + 1, used + size
    return count, used
