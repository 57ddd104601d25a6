"""Writing results: all files of a run or none, and never half a file.

Each text goes to a temporary file beside its destination first; only when all of them are complete
do they take their names. Devices and pipes (`/dev/null`, a shell's `>(...)`) cannot be replaced and
are written to directly.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ssdlab import portable
from ssdlab._core import InputError

if TYPE_CHECKING:
    from pathlib import Path


class NotWrittenError(OSError):
    """A file could not be written; `filename` is its name, `strerror` the reason."""

    @classmethod
    def of(cls, path: Path, error: OSError) -> NotWrittenError:
        """The failure of writing `path`."""
        return cls(error.errno, error.strerror or str(error), str(path))


class Form(NamedTuple):
    """What is written to a file, where that is one thing whatever the file is called."""

    what: str
    endings: tuple[str, ...]
    """The extensions of these files."""
    instead: str = ""
    """What to do for another."""


PAGE = Form(
    "a web page", (".html", ".htm"), "for a PDF or a picture, open the page in a browser and print"
)
TOML = Form("TOML", (".toml",))
#: What a directory is not called, but a file that ssdlab writes or people expect of it.
_OF_FILES = (".csv", ".html", ".json", ".jsonl", ".parquet", ".pdf", ".png", ".svg", ".toml")


def refuse_other_ending(path: Path, form: Form) -> None:
    """Raise `InputError` if the name of `path` promises something else than `form`."""
    if path.suffix.lower() in form.endings or _is_special(path):
        return
    instead = f"; {form.instead}" if form.instead else ""
    raise InputError(
        f"{path}: {form.what} is written, so the name must end in "
        f"{' or '.join(form.endings)}{instead}"
    )


def refuse_unwritable(path: Path, form: Form | None = None) -> None:
    """Raise `InputError` if the file `path` could not be written in its existing directory.

    With `form`, also if its name is that of a file of another kind.
    """
    if form is not None and not path.is_dir():
        refuse_other_ending(path, form)
    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the directory {path.parent} does not exist")
    needed = [path] if path.exists() else []
    if not _is_special(path):
        needed.append(_target(path).parent)
    if not all(os.access(place, os.W_OK) for place in needed):
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


def write_bytes(path: Path, parts: Iterable[bytes]) -> None:
    """Write the parts to the file `path`, one after the other, whole or not at all.

    Raises `NotWrittenError`.
    """
    if _is_special(path):
        try:
            with path.open("wb") as file:
                file.writelines(parts)
        except OSError as error:
            raise NotWrittenError.of(path, error) from None
        return
    target = _target(path)
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        portable.sync_directory(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise NotWrittenError.of(path, error) from None
        raise


def write_together(texts: Mapping[Path, str]) -> None:
    """Write each text to its path, creating directories; on failure leave nothing behind.

    Raises `NotWrittenError`, whose `filename` is the path that could not be written.
    """
    created: list[Path] = []
    waiting: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            try:
                _create_directories(path.parent, created)
                if _is_special(path):
                    path.write_text(text, encoding="utf-8")
                else:
                    target = _target(path)
                    temporary = target.parent / f".{target.name}.{os.urandom(6).hex()}.tmp"
                    waiting[temporary] = target
                    _write_through(temporary, text)
            except OSError as error:
                raise NotWrittenError.of(path, error) from None
        for temporary, target in waiting.items():
            temporary.replace(target)
        for directory in {target.parent for target in waiting.values()} | {
            it.parent for it in created
        }:
            portable.sync_directory(directory)
    except BaseException:
        for temporary in waiting:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        for directory in reversed(created):
            with contextlib.suppress(OSError):
                directory.rmdir()
        raise


def _write_through(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _create_directories(path: Path, created: list[Path]) -> None:
    if path.is_dir():
        return
    _create_directories(path.parent, created)
    path.mkdir()
    created.append(path)


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _target(path: Path) -> Path:
    """The file behind `path`: a symbolic link stays, what it points to is replaced."""
    return type(path)(os.path.realpath(path))
