"""Writes files atomically, and never replaces foreign files.

Output goes to a temporary file beside its destination, which is renamed when complete. Devices and
pipes (`/dev/null`, a shell's `>(...)`) cannot be replaced and are written to directly. `delivery`
handles unwritable outputs of commands.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ssdlab import forms
from ssdlab._core import InputError
from ssdlab.forms import Form, is_special

if TYPE_CHECKING:
    from pathlib import Path


class NotWrittenError(OSError):
    """A file could not be written: `filename`, and the reason in `strerror`."""

    @classmethod
    def of(cls, path: Path, error: OSError) -> NotWrittenError:
        """The failure of writing `path`."""
        return cls(error.errno, error.strerror or str(error), str(path))


#: Extensions of files, not of directories.
_OF_FILES = (".csv", ".html", ".json", ".jsonl", ".parquet", ".pdf", ".png", ".svg", ".toml")


def refuse_other_ending(path: Path, *known: Form) -> None:
    """Raise `InputError` if the extension of `path` does not match the forms `known`."""
    form = known[0] if known else None
    if form is None or not form.endings or path.suffix.lower() in form.endings:
        return
    if is_special(path):
        return
    instead = f"; {form.instead}" if form.instead else ""
    what = "a web page" if form.instead else "TOML"
    raise InputError(
        f"{path}: {what} is written, so the name must end in {' or '.join(form.endings)}{instead}"
    )


def refuse_unwritable(path: Path, *known: Form) -> None:
    """Raise `InputError` if the file `path` could not be written in its existing directory.

    With `known` forms, also if its extension belongs to another kind.
    """
    if not path.is_dir():
        refuse_other_ending(path, *known)
    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the directory {path.parent} does not exist")
    needed = [path] if path.exists() else []
    if not is_special(path):
        needed.append(target(path).parent)
    if not all(os.access(position, os.W_OK) for position in needed):
        raise InputError(f"{path}: cannot be written: permission denied")


def refuse_unwritable_directory(path: Path, names: tuple[str, ...]) -> None:
    """Raise `InputError` if the files `names` could not be written in the directory `path`.

    The directory itself need not exist yet.
    """
    if os.path.lexists(path) and not path.is_dir():
        raise InputError(f"{path}: is a file, not a directory")
    if path.is_dir():
        for name in names:
            refuse_unwritable(path / name)
        return
    if path.suffix.lower() in _OF_FILES:
        raise InputError(
            f"{path}: a directory is written, and this is the name of a file; "
            "--json FILE writes the results alone"
        )
    ancestor = path.absolute().parent
    while not os.path.lexists(ancestor):
        ancestor = ancestor.parent
    if not ancestor.is_dir():
        raise InputError(f"{path}: cannot be created: {ancestor} is a file")
    if not os.access(ancestor, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot be created: permission denied in {ancestor}")


def write(path: Path, parts: Iterable[bytes], replaced: Sequence[Form] | None = None) -> None:
    """Write the parts to the file `path` in order, atomically.

    Missing directories are created. With `replaced` an existing file is replaced only if it is in
    one of these forms, even if it appeared after the check. Raises `NotWrittenError`.
    """
    created: list[Path] = []
    temporary = None
    try:
        _create_directories(path.parent, created)
        if is_special(path):
            with path.open("wb") as file:
                file.writelines(parts)
            return
        place = target(path)
        temporary = place.with_name(f".{place.name}.{os.urandom(6).hex()}.tmp")
        with temporary.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        _take_name(temporary, place, replaced)
        from ssdlab import portable

        for directory in {place.parent} | {it.parent for it in created}:
            portable.sync_directory(directory)
    except BaseException as error:
        with contextlib.suppress(OSError):
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            for directory in reversed(created):
                directory.rmdir()
        if isinstance(error, OSError):
            raise NotWrittenError.of(path, error) from None
        raise


def _take_name(temporary: Path, place: Path, replaced: Sequence[Form] | None) -> None:
    """Rename a complete file to its final name, replacing a permitted file."""
    if replaced is not None:
        with contextlib.suppress(FileExistsError):
            if _link(temporary, place):
                return
        if not forms.is_replaceable(place, replaced):
            raise FileExistsError(errno.EEXIST, f"it {forms.foreign(place)} (--force replaces it)")
    temporary.replace(place)


def _link(temporary: Path, place: Path) -> bool:
    """Link a file to an unused name, without a race.

    False if the file system has no hard links. Raises `FileExistsError`.
    """
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise
    except (OSError, AttributeError, NotImplementedError):
        return False
    temporary.unlink()
    return True


def _create_directories(path: Path, created: list[Path]) -> None:
    if path.is_dir():
        return
    _create_directories(path.parent, created)
    path.mkdir()
    created.append(path)


def target(path: Path) -> Path:
    """The file behind `path`: symbolic links stay, their targets are replaced."""
    return type(path)(os.path.realpath(path))
