"""Equivalents of other programs' commands and options.

The error for an unknown command or option names its equivalent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import click

#: Commands of other programs, with their equivalents here.
COMMANDS: Mapping[str, str] = {
    "advise": "`ssdlab choose` compares drives; `ssdlab why` tries changes to one",
    "analyse": "`ssdlab run` shows where the time goes; `ssdlab trace info` describes a trace",
    "analyze": "`ssdlab run` shows where the time goes; `ssdlab trace info` describes a trace",
    "bench": "`ssdlab run` simulates a load; `ssdlab serve` is a block device for fio",
    "benchmark": "`ssdlab run` simulates a load; `ssdlab serve` is a block device for fio",
    "config": "`ssdlab run --show` prints a complete experiment; `ssdlab keys` finds a key",
    "convert": "`ssdlab trace convert FILE OUT`",
    "devices": "`ssdlab list devices`",
    "diff": "`ssdlab compare A B`",
    "doctor": "`ssdlab run --quiet --check` tries the installation; a command that needs an "
    "optional program or package names it",
    "drives": "`ssdlab list devices`",
    "examples": "the help of each command begins with examples: `ssdlab run --help`",
    "explain": "`ssdlab show NAME` explains a name or key; `ssdlab why` explains a result",
    "export": "`ssdlab run --json FILE` and `--requests FILE.parquet` write results, "
    "`ssdlab trace convert` a trace, `ssdlab report` a page",
    "find": "`ssdlab keys WORD` finds a key; `ssdlab list` has the names",
    "graph": "`ssdlab report RESULTS` draws a page; compare, size and trace info have --plot",
    "help": "`ssdlab --help`, or `--help` after a command",
    "import": "`ssdlab run` takes fio, DiskSpd, MQSim files; `ssdlab trace convert` takes traces",
    "info": "`ssdlab show NAME` shows a device or key; `ssdlab trace info FILE` a trace",
    "init": "`ssdlab run --show > experiment.toml` writes an experiment to start from",
    "mount": "`ssdlab serve --mount FILE`",
    "new": "`ssdlab run --show > experiment.toml` writes an experiment to start from",
    "optimize": "`ssdlab sweep --search N` searches designs; `ssdlab size` the smallest drive",
    "plot": "`ssdlab report RESULTS` draws a page; compare, size and trace info have --plot",
    "presets": "`ssdlab list devices` and `ssdlab list workloads`",
    "replay": "`ssdlab run --trace FILE`",
    "search": "`ssdlab keys WORD` finds a key; `ssdlab sweep --search N` searches designs",
    "sim": "`ssdlab run`",
    "simulate": "`ssdlab run`",
    "start": "`ssdlab serve` starts a live device; `ssdlab run` a simulation",
    "test": "`ssdlab run --check` checks a run; `ssdlab device check` a device against its sheet",
    "tune": "`ssdlab sweep --search N` searches designs; `ssdlab why` tries single changes",
    "validate": "`ssdlab run FILE --show` checks an experiment; `ssdlab trace info` a trace; "
    "`ssdlab device check` a device against its sheet",
    "version": "`ssdlab --version`",
    "workloads": "`ssdlab list workloads`",
}

#: Hint for the name of a file in the place of a command.
FILE = (
    "`ssdlab run FILE` runs an experiment or a job of fio, `ssdlab trace info FILE` describes a "
    "trace, `ssdlab ask FILE` finds a drive for a trace or results of fio"
)


def example(message: str) -> str:
    """The end of a message on a missing file, if it is one of the examples of the docs."""
    missing = re.search(r"\b(examples|notebooks)/\S+: .*No such file", message)
    return "; `ssdlab docs --examples .` writes the examples" if missing else ""


#: Options of other programs with their equivalents; the first that the command has is used. A text
#: without `--` is printed as is.
OPTIONS: Mapping[str, Sequence[str]] = {
    "-c": ("--set KEY=VALUE", "--experiment"),
    "-d": ("--device",),
    "-f": ("--format", "--force"),
    "-j": ("--workers", "--threads", "--json"),
    "-o": ("--out", "--json"),
    "-q": ("--quiet",),
    "-s": ("--set KEY=VALUE", "--seed"),
    "-t": ("--trace", "--threads"),
    "-v": ("progress is shown on a terminal; --version is an option of ssdlab itself",),
    "-w": ("--workload",),
    "--config": ("--set KEY=VALUE", "the file of an experiment is given without an option"),
    "--csv": ("--json has every number; `ssdlab sweep --out FILE.csv` writes a table",),
    "--debug": ("--show", "--check", "--json"),
    "--drive": ("--device",),
    "--dry-run": ("--show", "--check"),
    "--floor": ("--overhead",),
    "--force-overwrite": ("--force",),
    "--html": ("--report", "`ssdlab report RESULTS --out FILE.html` writes a page"),
    "--jobs": ("--workers", "--threads"),
    "--log": ("--json", "--requests"),
    "--model": ("--device",),
    "--output": ("--out", "--json"),
    "--overwrite": ("--force",),
    "--parallel": ("--workers", "--threads"),
    "--preset": ("--device", "--workload"),
    "--processes": ("--workers",),
    "--repeats": ("--repeat",),
    "--seeds": ("--repeat", "--drives", "--seed"),
    "--save": ("--out", "--json"),
    "--silent": ("--quiet",),
    "--ssd": ("--device",),
    "--verbose": ("progress is shown on a terminal; --json has every number", ),
    "--workers": ("--threads",),
}  # fmt: skip

#: Keys for options whose word matches several keys.
KEYS: Mapping[str, str] = {
    "duration": "run.until",
    "time": "run.until",
    "runtime": "run.until",
    "qd": "workload.outstanding",
    "iodepth": "workload.outstanding",
    "requests": "workload.requests",
}


def command(name: str) -> str | None:
    """Equivalent of the command `name` of other programs; None for unknown commands."""
    return COMMANDS.get(name.lower())


def option(word: str, asked: click.Command, ctx: click.Context) -> str | None:
    """Equivalent of the option `word` of other programs, if the command has one.

    For commands with --set, a word for a key yields that key.
    """
    had = {opt for param in asked.get_params(ctx) for opt in param.opts}
    for said in OPTIONS.get(word, ()):
        if not re.fullmatch(r"--[a-z]+( KEY=VALUE)?", said):
            return said
        if said.partition(" ")[0] in had:
            return f"use {said}"
    if "--set" not in had:
        return None
    from ssdlab import catalogue
    from ssdlab.catalogue import search

    name = word.lstrip("-").lower()
    for spelling in (name, name.replace("-", "_")):
        if (key := KEYS.get(spelling)) is not None:
            return f"use --set {key}=VALUE"
        row = search.synonym(spelling)
        if row is not None:
            found = [it.name for it in search.keys(spelling)]
            if not found:  # not a key, or the name of a result
                return row.said
            return f"use --set {_key(row.terms, found)}=VALUE (`ssdlab keys {spelling}` has all)"
    end = f".{name.replace('-', '_')}"
    ends = [key for key in catalogue.list("keys") if key.endswith(end)]
    return f"use --set {ends[0]}=VALUE" if ends else None


def _key(terms: Sequence[str], found: Sequence[str]) -> str:
    """Name of one key among several: the first term that ends one, or the key."""
    for term in terms:
        ending = [key for key in found if f".{key}".endswith(f".{term}")]
        if ending:
            return term if len(ending) == 1 else min(ending, key=len)
    return found[0]
