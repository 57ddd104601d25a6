"""Built-in applications for crash tests: a file each, and a row of `APPS`.

`python -m ssdlab.crashes.apps setup|run NAME[:KEY=VALUE,...]` is the stage's command, on the place
in `$dir`, `$dev` and `$tmp`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ssdlab._core import InputError
from ssdlab.crashes import EXT4, LOST_STATUS

APPS = ("btrfs", "copy", "direct", "postgres", "sqlite")

Settings = Mapping[str, str]


class Place(NamedTuple):
    """Working place of an application."""

    dir: Path
    """Directory of the file system, if any."""
    dev: Path
    """The block device, or its image."""
    tmp: Path
    """A directory outside the device, unaffected by power cuts."""


class Lost(Exception):
    """Acknowledged data is missing; all other data is correct."""


class Wrong(ValueError):
    """Wrong data without an error."""


class Refused(Exception):
    """The application no longer starts, so that no data can be read."""


@dataclass(frozen=True)
class App:
    """An application and its checker."""

    summary: str
    settings: Mapping[str, tuple[str, ...]]
    """Values of each setting, the default first; a lone number stands for any whole number."""
    run: Callable[[Place, Settings], None]
    """Prints a line for each item acknowledged as durable."""
    check: Callable[[Place, Settings, Sequence[str]], None]
    """Checks these lines. Raises `Lost`, or another exception for worse damage."""
    setup: Callable[[Place, Settings], None] | None = None
    place: str = EXT4
    size: str = "32MiB"
    programs: Sequence[str] = ()
    unavailable: Callable[[], str | None] = lambda: None
    """Reason why it cannot run here, besides missing programs; None if it can."""


def load(spec: str) -> tuple[App, dict[str, str]]:
    """The application named by `NAME[:KEY=VALUE,...]`, and its settings."""
    name, _, remainder = spec.partition(":")
    if name not in APPS:
        raise InputError(f'--app {spec}: no "{name}"; there are {", ".join(APPS)}')
    app: App = import_module(f"ssdlab.crashes.apps.{name}").APP
    settings = {key: values[0] for key, values in app.settings.items()}
    for word in filter(None, remainder.split(",")):
        key, _, value = word.partition("=")
        if key not in settings:
            raise InputError(f'--app {spec}: no setting "{key}"; there are {", ".join(settings)}')
        values = app.settings[key]
        number = len(values) == 1
        if number and not (value.isdecimal() and int(value)):
            raise InputError(f'--app {spec}: {key} is "{value}"; it must be a whole number above 0')
        if not number and value not in values:
            raise InputError(f'--app {spec}: {key} is "{value}"; it can be {", ".join(values)}')
        settings[key] = value
    return app, settings


#: Exit statuses of a check of damaged data, by outcome; any other status: the application noticed.
RIGHT, SILENT, REFUSED, NOTICED = 0, LOST_STATUS, 4, 1


def check_damaged(spec: str, place: Place, lines: Sequence[str]) -> int:
    """Check data that is partly unreadable; returns the outcome as an exit status."""
    app, settings = load(spec)
    try:
        app.check(place, settings, lines)
    except (Lost, Wrong) as error:
        print(error)
        return SILENT
    except Refused as error:
        print(" ".join(str(error).split()))
        return REFUSED
    except Exception as error:
        print(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        return NOTICED
    return RIGHT


def check(spec: str, place: Place, lines: Sequence[str]) -> int:
    """Run an application's checker; returns its exit status."""
    app, settings = load(spec)
    try:
        app.check(place, settings, lines)
    except Lost as error:
        print(error)
        return LOST_STATUS
    except Exception as error:
        print(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        return 1
    return 0
