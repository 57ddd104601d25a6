"""Files copied as by `cp`, durable only with `fsync`."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from ssdlab.crashes.apps import App, Lost, Place, Settings, Wrong

FILE_BYTES = 200_000


def _content(number: int) -> bytes:
    return random.Random(number).randbytes(FILE_BYTES)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def run(place: Place, settings: Settings) -> None:
    """Copy files, and print each copied one."""
    source = place.tmp / "source"
    for number in range(int(settings["files"])):
        source.write_bytes(_content(number))
        target = place.dir / f"file-{number}"
        shutil.copyfile(source, target)
        if settings["fsync"] == "yes":
            _sync(target)
            _sync(place.dir)
        print(number, flush=True)


def check(place: Place, settings: Settings, lines: Sequence[str]) -> None:
    """Read all copied files."""
    missing = short = 0
    for number in map(int, lines):
        path = place.dir / f"file-{number}"
        if not path.exists():
            missing += 1
            continue
        found, content = path.read_bytes(), _content(number)
        if len(found) < len(content) and content.startswith(found):
            short += 1
        elif found != content:
            raise Wrong(f"{path.name} holds something else than what was copied")
    if missing or short:
        raise Lost(
            f"of {len(lines)} files that were copied {missing} are missing, {short} too short"
        )


APP = App(
    summary="Files copied, without fsync or with it",
    settings={"fsync": ("no", "yes"), "files": ("20",)},
    run=run,
    check=check,
)
