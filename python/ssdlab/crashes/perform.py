"""`ssdlab.crash`: a crash test from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from ssdlab._core import InputError
from ssdlab.crashes import EXT4, PLACES, run
from ssdlab.crashes.record import Case, case_of_app, workplace
from ssdlab.crashes.run import Findings, Search
from ssdlab.portable import refuse_without_live_device
from ssdlab.running import Part, layers_of
from ssdlab.units import LONG_TIME

SIZE = "32MiB"


def crash(
    app: str | None = None,
    *,
    command: str | None = None,
    check: str | None = None,
    setup: str | None = None,
    on: str = EXT4,
    size: str | None = None,
    device: Part | None = None,
    recorded: str | os.PathLike[str] | None = None,
    points: int = 1000,
    draws: int = 4,
    seed: int = 1,
    workers: int | None = None,
    timeout: str = "60s",
    keep: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    allow_code: bool = False,
    progress: Callable[[str, int, int], object] | None = None,
) -> Findings:
    """Cut the power of a drive at many instants of one run, and check what an application recovers.

    Exactly one of these selects the test:

    - `app`: a built-in application, such as "sqlite:journal=delete,synchronous=off";
    - `command`: a shell command that prints a line for each durable item, with `check`, the command
      that judges each image, and optionally `setup`; `on` is its device: "ext4", a file system in
      `$dir`; "loop", a block device `$dev`; or "nbd", an address `$uri`;
    - `recorded`: the directory of a run saved by `keep`, to judge again, optionally with another
      `check`.

    The rest:

    - `device`, `set`, `allow_code`: as for `ssdlab.run`, the drive being "tlc-client" by default;
      `size`: the size of the device, such as "64MiB";
    - `points`: the number of power cuts; `draws`: torn images of each; `seed`: for their choice;
    - `workers`: worker processes, one per core by default; `timeout`: limit of a check;
    - `keep`: a new directory for the recording and the failed images;
    - `progress`: called with the phase, the steps done, and their total.

    Raises `InputError` for wrong input, without root or a needed program, and on systems other than
    Linux; `RuntimeError` if the application or its checker cannot be run.

    >>> import ssdlab
    >>> found = ssdlab.crash("sqlite:journal=wal", points=100)  # doctest: +SKIP
    >>> found.counts, [it.image.name for it in found.failed]  # doctest: +SKIP
    ({'ok': 112, 'lost': 0, 'broken': 0}, [])
    """
    refuse_without_live_device()
    _refuse(app, command, recorded, check, setup, on, size, device, set, keep)
    _refuse_numbers(points=points, draws=draws, workers=workers)
    search = Search(points, draws, seed, workers, LONG_TIME.parse("--timeout", timeout))
    stored = None if keep is None else Path(keep)
    if stored is not None:
        run.new_directory(stored, "keep")

    def tell(what: str, done: int, most: int) -> None:
        if progress is not None:
            progress(what, done, most)

    try:
        with workplace() as work:
            if recorded is not None:
                return run.judge_again(Path(recorded), check, search, work, tell)
            stack = layers_of(device=device or run.DEFAULT_DEVICE, set=set, allow_code=allow_code)
            if app is not None:
                case = case_of_app(app, stack, size)
            else:
                assert command is not None
                case = Case(stack, on, size or SIZE, command, check, setup)
            return run.record_and_judge(case, search, work, stored, tell)
    except click.ClickException as error:
        raise RuntimeError(error.format_message()) from None


def _refuse(
    app: str | None,
    command: str | None,
    recorded: object,
    check: str | None,
    setup: str | None,
    on: str,
    size: str | None,
    device: object,
    set: object,
    keep: object,
) -> None:
    """Refuse conflicting arguments."""
    named = {"app": app, "command": command, "recorded": recorded}
    kinds = [name for name, value in named.items() if value is not None]
    if len(kinds) != 1:
        raise InputError("crash: exactly one of app, command and recorded is needed")
    if on not in PLACES:
        raise InputError(f'crash: on="{on}": choose from {", ".join(PLACES)}')
    other = {"setup": setup, "on": None if on == EXT4 else on, "size": size, "device": device}
    strange = {
        "app": {"check": check, "setup": setup, "on": other["on"]},
        "command": {},
        "recorded": {**other, "set": set, "keep": keep},
    }[kinds[0]]
    for name, value in strange.items():
        if value is not None:
            raise InputError(f"crash: {name} has no effect with {kinds[0]}")
    if command is not None and check is None:
        raise InputError("crash: command needs check, the command that judges each image")


def _refuse_numbers(**numbers: float | None) -> None:
    """Refuse numbers that are too small."""
    for name, number in numbers.items():
        if number is None:
            continue
        least = 0 if name == "draws" else 1
        if number < least:
            raise InputError(f"crash: {name} is {number}; it must be at least {least}")


__all__ = ["Findings", "crash"]
