"""Output files of a command: written separately, and none is lost.

If a file system is full, or another program has created the file, the output goes to a temporary
folder, or failing that to standard error. A message names the place, the command prints its table,
and its exit status is 1. From Python the error is raised instead: the results are still in memory.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from ssdlab import files

if TYPE_CHECKING:
    from pathlib import Path

    from ssdlab.forms import Form

#: Content of a file: text, bytes, or a function that produces its parts, possibly twice.
Content: TypeAlias = "str | bytes | Callable[[], Iterable[str | bytes]]"

FAILED = 1


class Command:
    """Outputs of a running command."""

    def __init__(self, force: bool) -> None:
        self.force = force
        """True if foreign files may be replaced."""
        self.status = 0
        """Exit status after output failures."""


_running: ContextVar[Command | None] = ContextVar("running", default=None)


@contextlib.contextmanager
def command(force: bool = False) -> Iterator[Command]:
    """Within the block unwritable outputs are saved elsewhere."""
    running = Command(force)
    before = _running.set(running)
    try:
        yield running
    finally:
        _running.reset(before)


def is_command() -> bool:
    """True if a command runs, so that outputs may be saved elsewhere."""
    return _running.get() is not None


def is_forced() -> bool:
    """True if the command may replace foreign files."""
    running = _running.get()
    return running is not None and running.force


def refuse(path: Path, *forms: Form, force: bool = False) -> None:
    """Raise `InputError` before the run if an output could not be written to `path`.

    Causes are a missing directory, an extension of another kind, and an existing file in none of
    the `forms`, unless it may be replaced.
    """
    files.refuse_unwritable(path, *forms)
    if not (force or is_forced()) and os.path.lexists(path):
        from ssdlab import forms as known

        known.refuse_foreign(path, *forms)


def write(path: Path, content: Content, *forms: Form, force: bool = False) -> None:
    """Write an output in the first form. Raises `NotWrittenError` outside a command."""
    running = _running.get()
    replaced = None if force or is_forced() else forms
    try:
        files.write(path, _parts(content), replaced)
    except files.NotWrittenError as error:
        if running is None:
            raise
        tell_lost(error, path.name, content)


def tell_lost(error: files.NotWrittenError, name: str, content: Content) -> None:
    """Save an unwritable output elsewhere, report the place, and note the failure."""
    said = f"{error.filename}: cannot be written: {error.strerror}"
    kept = elsewhere(name, content)
    if kept is not None:
        failed(f"{said}; it is in {kept} instead")
        return
    failed(f"{said}; there is no room for it elsewhere either")
    if not isinstance(content, bytes):
        for part in _parts(content):
            sys.stderr.write(part.decode())
        sys.stderr.flush()


def failed(message: str) -> None:
    """Report a misplaced output; the exit status of the command is 1."""
    running = _running.get()
    if running is not None:
        running.status = FAILED
    note(message)


def note(message: str) -> None:
    """Print a note on standard error."""
    print(f"ssdlab: {message}", file=sys.stderr, flush=True)


def elsewhere(name: str, content: Content) -> Path | None:
    """Write a file of that name into a new folder for temporary files; None if all are full."""
    import tempfile
    from pathlib import Path

    for position in dict.fromkeys([_temporary(), "/tmp", "/var/tmp", "/dev/shm"]):
        if position is None or not os.path.isdir(position):
            continue
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="ssdlab-", dir=position))
            files.write(folder / name, _parts(content), ())
        except OSError:
            if folder is not None:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            continue
        return folder / name
    return None


def _temporary() -> str | None:
    import tempfile

    try:
        return tempfile.gettempdir()
    except OSError:  # `gettempdir` tries to write there
        return None


def _parts(content: Content) -> Iterable[bytes]:
    if isinstance(content, bytes):
        return [content]
    if isinstance(content, str):
        return [content.encode()]
    return (part.encode() if isinstance(part, str) else part for part in content())
