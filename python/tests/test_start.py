"""The command starts fast: what it imports is counted, so that no test depends on a clock.

And the options that are read without click are those that click reads, to the same values.
"""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ssdlab
from ssdlab.cli import quick
from ssdlab.running.command import run as command

#: What a start has no need of; each takes as long as the start of Python, or a good part of that.
HEAVY = {
    "asyncio",
    "click",
    "dataclasses",
    "email",
    "html",
    "http",
    "inspect",
    "ipaddress",
    "jsonschema",
    "matplotlib",
    "multiprocessing",
    "numpy",
    "pathlib",
    "rich",
    "secrets",
    "ssl",
    "tempfile",
    "traceback",
    "urllib",
}
#: Modules beyond those that a bare Python has.
MOST = {"--version": 8, "run": 60, "table": 72}


def imported(words, cwd):
    """The modules that the command imports, without the modules of a bare Python."""
    said = "import sys; bare = {*sys.modules}\n"
    said += "from ssdlab.cli import main\n"
    said += f"status = main({[*map(str, words)]!r})\n"
    said += "print(status, *sorted({*sys.modules} - bare), sep='\\n', file=sys.stderr)"
    # -S and -E: what this machine's Python imports at its start says nothing.
    path = [str(Path(ssdlab.__file__).parents[1])]
    said = f"import sys; sys.path[:0] = {path!r}\n{said}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", said],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=60,
        check=True,
    )
    status, *modules = done.stderr.splitlines()
    assert status == "0", done.stderr
    return done.stdout, modules


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["run", "--quiet"],
        ["run", "--json", "-"],
        ["run"],
        ["run", "--device=agrawal2008", "--workload", "mixed", "--seed", "7", "--check", "--quiet"],
    ],
    ids=["version", "quiet", "json", "table", "presets"],
)
def test_a_start_imports_little(words, small_options, tmp_path):
    output, modules = imported([*words, *(small_options if "run" in words else [])], tmp_path)
    assert {it.partition(".")[0] for it in modules} & HEAVY == set()
    shows_table = words[0] == "run" and not {"--quiet", "-"} & {*words}
    assert len(modules) <= MOST["table" if shows_table else words[0]], modules
    assert output == "" or "--quiet" not in words
    assert ("Where the time goes" in output) == shows_table
    if "-" in words:
        assert json.loads(output)["schema"] == 1


def test_the_package_imports_what_is_asked_for():
    said = "import sys, ssdlab; print(*sys.modules); print({*ssdlab.__all__} - {*dir(ssdlab)})"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    modules, missing = done.stdout.splitlines()
    assert {it for it in modules.split() if it.startswith("ssdlab")} == {"ssdlab"}
    assert missing == "set()"
    assert sorted(ssdlab._PLACES) == sorted(ssdlab.__all__)
    for name in ssdlab.__all__:
        assert getattr(ssdlab, name) is not None
    for name in ("nonesuch", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(ssdlab, name)
    asked = "import ssdlab; print(ssdlab.catalogue.__name__)"  # a module that nothing else needs
    assert subprocess.check_output([sys.executable, "-c", asked]) == b"ssdlab.catalogue\n"


# Options without click


def test_the_tables_are_those_of_the_command():
    kinds = {}
    for option in command.params:
        if isinstance(option, click.Argument):
            assert (option.name, option.type.type) == ("experiment", Path)
            continue
        if option.is_flag:
            table = quick.FLAGS
        elif option.multiple:
            table = quick.REPEATED
        elif isinstance(option.type, click.Path):
            table = quick.PATHS
        else:
            table = quick.NUMBERS if option.type is click.INT else quick.TEXTS
        kinds[option.opts[0]] = option.name
        if option.name not in ("form", "advice"):
            assert table[option.opts[0]] == option.name
        assert len(option.opts) == 1
    tables = quick.TEXTS | quick.PATHS | quick.NUMBERS | quick.REPEATED | quick.FLAGS
    assert tables | {"--format": "form", "--advice": "advice"} == kinds


def by_click(words):
    context = command.make_context("run", [*words])
    return context.params


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["mine.toml"],
        ["--set", "a=1", "mine.toml", "--set=b=2", "--quiet"],
        ["--json", "-", "--seed", "7"],
        ["--quiet", "--check", "--quiet"],
        ["--device=x", "--workload", "y", "--out", "d", "--requests=r.parquet", "--check"],
        ["--trace", "some.trace", "--timeline", "1ms..2ms", "--allow-code"],
    ],
    ids=" ".join,
)
def test_plain_options_are_read_as_click_reads_them(words):
    assert quick.options_of(words) == by_click(words)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["-h"],
        ["--quie"],
        ["--quiet=1"],
        ["--set"],
        ["--set", ""],
        ["--set", "--quiet"],
        ["--seed", "7", "--seed", "8"],
        ["--device=x", "--device", "y"],
        ["--trace", "a", "--trace=a"],
        ["--seed", "-1"],
        ["--seed", "many"],
        ["--seed", "\N{ARABIC-INDIC DIGIT ONE}"],
        ["--format", "fio"],
        ["--", "mine.toml"],
        ["one.toml", "two.toml"],
        ["-"],
        ["--trace", "t", "--workload", "w"],
        ["--frobnicate"],
    ],
    ids=" ".join,
)
def test_whatever_is_not_plain_is_left_to_click(words):
    assert quick.options_of(words) is None
