"""`ssdlab list`, `show`, `keys` and `docs`: the catalogue of available names, and the docs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ssdlab import _core, catalogue
from ssdlab.catalogue import devices, glossary, pages, search
from ssdlab.cli import completion
from ssdlab.cli.options import QUIETLY, ExamplesFirst


@click.command(
    "list",
    cls=ExamplesFirst,
    examples=[
        ("all categories", "ssdlab list"),
        ("all of one category", "ssdlab list devices"),
        ("devices by a part of their names", "ssdlab list devices 7450"),
        ("one entry in detail", "ssdlab show samsung-pm9a3"),
        ("for a script", "ssdlab list cleaners --json"),
    ],
)
@click.argument(
    "what",
    required=False,
    metavar=f"[{'|'.join(catalogue.categories())}]",
    shell_complete=completion.categories,
)
@click.argument("words", nargs=-1, metavar="[SEARCH]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object of names by category.")
@QUIETLY
def list_command(what: str | None, words: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """List devices, workloads, policies and formats: an overview, or one category with a line for
    each entry; for devices also the matches of SEARCH.
    """
    chosen = catalogue.categories() if what is None else [what]
    everything = {category: catalogue.list(category) for category in chosen}
    if words and what != "devices":
        raise _core.InputError(
            f"{' '.join(words)}: only devices are searched here; ssdlab show NAME and ssdlab keys "
            "SEARCH find the rest"
        )
    if quiet:
        return
    if what == "devices" and not as_json:
        from ssdlab.catalogue import display

        rows = devices.about(" ".join(words))
        kinds = {} if words else devices.kinds()
        click.echo(display.devices(rows, kinds, sys.stdout), nl=False)
        return
    if words:
        found = {row.name for row in devices.about(" ".join(words))}
        everything = {"devices": {k: v for k, v in everything["devices"].items() if k in found}}
    if as_json:
        click.echo(json.dumps(everything, indent=2))
        return
    from ssdlab.catalogue import display

    if what is None:
        click.echo(display.overview(everything, sys.stdout), nl=False)
    else:
        click.echo(display.catalogue_table(everything, sys.stdout), nl=False)


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("a device, as TOML", "ssdlab show samsung-pm9a3"),
        ("a cleaning policy and its keys", "ssdlab show d-choices"),
        ("a key", "ssdlab show queue_depth"),
        ("a term of the glossary", "ssdlab show WAF"),
    ],
)
@click.argument("name", shell_complete=completion.every_name)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: a list of all entries with that name."
)
@QUIETLY
def show(name: str, as_json: bool, quiet: bool) -> None:
    """Show one entry in detail: a device, workload, policy, key, any name from ssdlab list, or a
    term of the glossary."""
    found = search.named(name)
    if quiet:
        return
    texts = [_core.preset_text(it.category.removesuffix("s"), it.name) for it in found]
    if as_json:
        rows = [
            it._asdict()
            | ({} if text is None else {"toml": text})
            | ({} if (term := _term(it)) is None else term._asdict())
            for it, text in zip(found, texts, strict=True)
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    from ssdlab.catalogue import display

    click.echo(display.details(found, texts, sys.stdout), nl=False)


def _term(found: search.Found) -> glossary.Term | None:
    return glossary.find(found.name) if found.category == "terms" else None


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("the sections, with their number of keys", "ssdlab keys"),
        ("keys about a subject", "ssdlab keys queue"),
        ("by the name in other programs", "ssdlab keys iodepth"),
        ("all keys of a section", "ssdlab keys device.cleaning"),
    ],
)
@click.argument("words", nargs=-1, metavar="[SEARCH]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object of keys.")
@QUIETLY
def keys(words: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Find configuration keys by name, meaning, or their name in other programs."""
    wanted = " ".join(words)
    found = search.keys(wanted)
    if not found:
        hint = "; ssdlab keys has the sections"
        if (row := search.synonym(wanted)) is not None:
            hint = f"; {row.said}"
        raise _core.InputError(f'no key matches "{wanted}"{hint}')
    if quiet:
        return
    if as_json:
        click.echo(json.dumps({it.name: it.summary for it in found}, indent=2))
        return
    from ssdlab.catalogue import display

    if not wanted:
        click.echo(display.sections([it.name for it in found], sys.stdout), nl=False)
    else:
        click.echo(display.keys(wanted, found, sys.stdout), nl=False)


@click.command(
    cls=ExamplesFirst,
    examples=[
        ("the pages", "ssdlab docs"),
        ("one page", "ssdlab docs drives"),
        ("the sections with all of these words", "ssdlab docs queue depth"),
        ("the examples and notebooks of the pages, into this folder", "ssdlab docs --examples ."),
    ],
)
@click.argument("words", nargs=-1, metavar="[PAGE | SEARCH]", shell_complete=completion.pages)
@click.option(
    "--examples",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Copy examples/ and notebooks/, which the pages name, into DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of pages or sections.")
@QUIETLY
def docs(words: tuple[str, ...], folder: Path | None, as_json: bool, quiet: bool) -> None:
    """Read the docs without a network: list the pages, print one, or search their sections."""
    if folder is not None:
        copied = pages.copy_examples(folder)
        if not quiet:
            click.echo("\n".join(map(str, copied)))
        return
    wanted, every = " ".join(words), pages.pages()
    name = wanted.removeprefix("docs/").removesuffix(".md")
    found = [] if name in every or not wanted else pages.search(wanted)
    if wanted and name not in every and not found:
        raise _core.InputError(
            f'no section of the docs has "{wanted}"; ssdlab docs lists the pages'
        )
    if quiet:
        return
    if as_json:
        chosen = [name] if name in every else [] if wanted else every
        rows = [{"page": it, "title": pages.title(every[it]), "text": every[it]} for it in chosen]
        click.echo(json.dumps([*rows, *(it._asdict() for it in found)], indent=2))
    elif name in every:
        show_text = click.echo_via_pager if sys.stdout.isatty() else click.echo
        show_text(every[name].rstrip())
    elif found:
        small = wanted.lower().split()
        for it in found:
            click.echo(f"ssdlab docs {it.page}: {it.heading}\n    {it.line(small)[:90]}")
    else:
        widest = max(map(len, every))
        for page, text in every.items():
            click.echo(f"{page.ljust(widest)}  {pages.title(text)}")
