"""The command starts fast: its imports are counted, so that no test depends on a clock."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ssdlab

#: Modules that a start must not import: each takes as long as the start of Python, or nearly so.
HEAVY = {
    "asyncio", "email", "html", "http", "jsonschema", "matplotlib", "multiprocessing", "numpy",
    "secrets", "ssl", "tempfile", "traceback",
}  # fmt: skip
#: Draws tables, and takes as long as click.
RICH = "rich"
#: Modules beyond the modules of a bare Python.
MOST = {"--version": 12, "run": 130, "table": 210}


def imported(words, cwd):
    """The modules that the command imports, without the modules of a bare Python."""
    said = "import sys; bare = {*sys.modules}\n"
    said += "from ssdlab.cli import main\n"
    said += f"status = main({[*map(str, words)]!r})\n"
    said += "print(status, *sorted({*sys.modules} - bare), sep='\\n', file=sys.stderr)"
    # -S and -E: what this machine's Python imports at its start says nothing.
    path = [str(Path(it.__file__).parents[1]) for it in (ssdlab, click)]
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
    packages = {it.partition(".")[0] for it in modules}
    assert packages & HEAVY == set()
    shows_table = words[0] == "run" and not {"--quiet", "-"} & {*words}
    assert (RICH in packages) == shows_table
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
