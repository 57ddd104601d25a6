"""The options that `ask`, `choose` and `size` share: drives, prices, seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from ssdlab._core import InputError
from ssdlab.cli import completion
from ssdlab.cli.options import PATH, no_cache

COMMAND = TypeVar("COMMAND", bound=Callable[..., Any])

#: Some drives of the catalogue.
ONLY = click.option(
    "drives",
    "--device",
    metavar="PRESET|FILE",
    multiple=True,
    shell_complete=completion.names("devices", file=True),
    help="Only these drives; repeatable. [default: all that can be bought]",
)
LOAD = click.option(
    "--load",
    metavar="TEXT",
    help="The load in words and numbers, a preset of a workload, or a file of fio or iostat.",
)
PRICES = click.option(
    "prices",
    "--price",
    metavar="DRIVE=DOLLARS",
    multiple=True,
    help="Price of a drive, such as samsung-pm9a3=140; repeatable.",
)
POWER = click.option(
    "--power-dollars-per-kwh",
    metavar="NUMBER",
    type=float,
    help="Price of electricity per kWh; adds the power over the years to the cost.",
)
#: Rows that replace or add to the shipped catalogue.
CATALOGUE = click.option(
    "own_catalogue",
    "--catalogue",
    metavar="FILE.toml",
    type=PATH,
    help="Your own drives and prices, as `ssdlab catalogue add` writes them.",
)


def most(option: str, default: int) -> Callable[[COMMAND], COMMAND]:
    """The option `--drives`, with `option` as the name of its value."""
    return click.option(
        option,
        "--drives",
        metavar="N",
        type=int,
        default=default,
        show_default=True,
        help="Maximum number of drives of a kind, striped.",
    )


_RUNS = (
    click.option(
        "assignments",
        "--set",
        metavar="KEY=VALUE",
        multiple=True,
        shell_complete=completion.assignment,
        help="Change one key of all runs; repeatable.",
    ),
    click.option(
        "--seed",
        metavar="N",
        type=int,
        default=42,
        help="The first seed; further runs count up from it.",
    ),
)
_NUMBERS = (
    click.option("--json", "json_path", metavar="FILE|-", help="Write all numbers as JSON."),
    no_cache,
)


def runs(command: COMMAND) -> COMMAND:
    """Add the options of all runs."""
    return _added(command, _RUNS)


def numbers(command: COMMAND) -> COMMAND:
    """Add the options of the results and of prepared drives."""
    return _added(command, _NUMBERS)


def _added(command: COMMAND, options: Sequence[Callable[[COMMAND], COMMAND]]) -> COMMAND:
    for option in reversed(options):
        command = option(command)
    return command


_PRICE = re.compile(r"([^=]+)=\s*(\$?)\s*(-?[0-9][0-9,]*(?:\.[0-9]+)?)\s*([A-Za-z€£¥]*)")


def dollars(texts: Sequence[str]) -> dict[str, float]:
    """The prices in texts such as "samsung-pm9a3=140", by drive.

    Raises `InputError` for another currency.
    """
    found: dict[str, float] = {}
    for text in texts:
        match = _PRICE.fullmatch(text.strip())
        if match is None:
            raise InputError(f"--price {text}: expected DRIVE=DOLLARS, such as samsung-pm9a3=140")
        name, number, unit = match[1].strip(), match[3], match[4].upper()
        if unit not in ("", "USD", "DOLLARS", "DOLLAR"):
            raise InputError(
                f"--price {text}: prices here are dollars, as in the catalogue; "
                f"convert it: {name}=..."
            )
        if name in found:
            raise InputError(f"--price {name}: is given twice; keep one")
        found[name] = float(number.replace(",", ""))
    return found
