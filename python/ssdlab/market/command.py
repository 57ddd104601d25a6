"""`ssdlab catalogue`: prices, watts and rated writes, and adding your own drives."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import re
import sys
from pathlib import Path

import click

from ssdlab import _core, delivery, forms, layers, market, toml
from ssdlab._core import InputError
from ssdlab.cli import drives
from ssdlab.cli.options import PATH, QUIETLY, ExamplesFirst, ExamplesFirstGroup
from ssdlab.datasheet import contradictions
from ssdlab.datasheet import given as sheets
from ssdlab.market import Rated
from ssdlab.under_load import RATED_YEARS

#: Default file of `add`.
FILE = Path("catalogue.toml")


@click.group(
    cls=ExamplesFirstGroup,
    examples=[
        ("prices, watts and rated writes, with their sources", "ssdlab catalogue show"),
        ("a drive of yours", "ssdlab catalogue add sheet.toml --price 412USD"),
        ("which drive, yours among them", "ssdlab choose --trace FILE --catalogue catalogue.toml"),
    ],
)
def catalogue() -> None:
    """Show prices, watts and rated writes of drives, or add yours."""


@catalogue.command(
    cls=ExamplesFirst,
    examples=[
        ("that which ships", "ssdlab catalogue show"),
        ("with your rows over it", "ssdlab catalogue show --catalogue catalogue.toml --json"),
    ],
)
@drives.CATALOGUE
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of all rows.")
@QUIETLY
def show(own_catalogue: Path | None, as_json: bool, quiet: bool) -> None:
    """Show price, watts and rated writes of each drive, with date and source."""
    rows = market.with_own(own_catalogue)
    if quiet:
        return
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(it) for it in rows.values()], indent=2))
        return
    from ssdlab.market import display

    click.echo(display.table(list(rows.values()), sys.stdout), nl=False)


@catalogue.command(
    cls=ExamplesFirst,
    examples=[
        ("from its data sheet", "ssdlab catalogue add sheet.toml --price 412USD"),
        ("a preset at your price", "ssdlab catalogue add samsung-pm9a3 --price 140USD"),
        ("with its rating", "ssdlab catalogue add my.toml --price 412USD --dwpd 1"),
    ],
)
@click.argument("what", metavar="SHEET.toml|DEVICE.toml|PRESET")
@click.option("--price", metavar="DOLLARS", required=True, help="Of one drive, such as 412USD.")
@click.option("--dwpd", type=float, metavar="NUMBER", help="Rated drive writes a day, five years.")
@click.option("--idle-watts", type=float, metavar="NUMBER", help="Awake, without requests.")
@click.option("--active-watts", type=float, metavar="NUMBER", help="Under load.")
@click.option("--source", metavar="TEXT", default="you", help="Source of the price.")
@click.option("--priced", metavar="DATE", help="When the price was asked. [default: today]")
@click.option(
    "--catalogue",
    "file",
    metavar="FILE.toml",
    type=PATH,
    default=FILE,
    show_default=True,
    help="The catalogue that gets the row.",
)
@QUIETLY
def add(
    what: str,
    price: str,
    dwpd: float | None,
    idle_watts: float | None,
    active_watts: float | None,
    source: str,
    priced: str | None,
    file: Path,
    quiet: bool,
) -> None:
    """Add a drive with its price to a catalogue of yours.

    Of a data sheet the drive is derived, and written as a device file beside the catalogue;
    ssdlab device from-datasheet says how well it fits.
    """
    delivery.refuse(file, forms.CATALOGUE)
    name, device, rated, text = _drive(what, file.parent)
    dollars = drives.dollars([f"{name}={price}"])[name]
    row = Rated(
        name,
        dollars,
        priced or datetime.date.today().isoformat(),
        source,
        idle_watts,
        active_watts,
        "" if idle_watts is None else source,
        rated if dwpd is None else dwpd,
        None if device is None else os.path.relpath(device, file.parent),
    )
    before = layers.from_file(file).text if file.is_file() else f"{market.HEAD}\n"
    if name in market.parse(str(file), before):
        raise InputError(f"{file} has drive.{name} already: change it there")
    after = f"{before.rstrip()}\n\n{row.toml()}\n"
    market.parse(str(file), after)
    if text is not None and device is not None:
        delivery.refuse(device, forms.FROM_SHEET)
        delivery.write(device, text, forms.FROM_SHEET)
    delivery.write(file, after, forms.CATALOGUE)
    if not quiet:
        click.echo(f"{file}: {name}, {dollars:,.0f} dollars of {row.priced}")
        click.echo(f"ssdlab choose --trace FILE --catalogue {file}")


def _drive(what: str, folder: Path) -> tuple[str, Path | None, float | None, str | None]:
    """The name of a drive, its device file and rated writes, and the file's text if it is new."""
    if _core.preset_layer("device", what) is not None:
        return what, None, market.shipped().get(what, Rated(what)).dwpd, None
    text = layers.from_file(Path(what)).text
    if "device" in toml.parse(what, text):
        _core.check_device([layers.from_file(Path(what))])
        return Path(what).stem, Path(what), None, None
    from ssdlab.datasheet.solve import solve

    given = sheets.parse(what, text)
    contradictions.refuse(given)
    drive = solve(given)
    name = re.sub(r"[^a-z0-9]+", "-", drive.name.lower()).strip("-")
    head = [f"{drive.name}, solved from its data sheet by ssdlab device from-datasheet."]
    return name, folder / f"{name}.toml", given.dwpd(RATED_YEARS), drive.file(head)
