"""Other systems than Linux: what they lack is taken away, and the rest goes on without it.

`support/elsewhere/sitecustomize.py` takes it from every process that a test starts here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ssdlab

HERE = Path(__file__).parent / "support" / "elsewhere"
PACKAGE = Path(ssdlab.__file__).parents[1]
SYSTEMS = ["macos", "windows"]
LIVE = ["serve", "serve ctl", "crash", "serve overhead"]
SWEEP = ["--vary", "device.channels=2,4", "--set", "workload.requests=2000", "--quiet"]


def python(system, *words, cwd):
    """Python, run with these arguments, without the functions that the other system lacks."""
    environment = os.environ | {
        "PYTHONPATH": f"{HERE}{os.pathsep}{PACKAGE}",
        "ELSEWHERE": system,
        "PYTHONWARNDEFAULTENCODING": "1",
    }
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        timeout=120,
    )


def command(system, *words, cwd):
    return python(system, "-m", "ssdlab", *words, cwd=cwd)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_sweep_goes_to_its_end_and_has_the_same_results(ssdlab, tmp_path, system):
    done = command(system, "sweep", *SWEEP, "--out", "there.csv", "--workers", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ssdlab("sweep", *SWEEP, "--out", "here.csv", "--workers", "1")
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


@pytest.mark.parametrize("system", SYSTEMS)
def test_only_one_sweep_writes_a_journal(tmp_path, system):
    says = """
from pathlib import Path
from ssdlab import InputError
from ssdlab.sweeps.journal import Journal
from ssdlab.sweeps.plan import Point
point = Point({"a": 1}, [], "0" * 32)
first = Journal(Path("sweep.jsonl"))
first.add(point, ('{"schema": 0}', None))
import subprocess, sys
again = "from pathlib import Path; from ssdlab.sweeps.journal import Journal; "
again += "Journal(Path('sweep.jsonl'))"
second = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True)
print(second.stderr.splitlines()[-1])
first.finish([point])
print(first.results(point.key))
first.close()
third = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True)
print(third.returncode)
"""
    done = python(system, "-c", says, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "ssdlab.InputError: sweep.jsonl: another sweep is writing it",
        "{'schema': 0}",
        "0",
    ], done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_commands_without_the_live_device_work(tmp_path, system):
    """One process runs them all: what a system lacks is lacking from its start to its end."""
    small = ["--set", "workload.requests=200"]
    every = [
        ["run", *small, "--out", "out", "--threads", "auto"],
        ["run", "--quiet", *small, "--requests", "requests.parquet", "--json", "results.json"],
        ["report", "out", "--out", "report.html"],
        ["trace", "convert", "requests.parquet", "my.trace.gz", "--to", "disksim"],
        ["trace", "info", "my.trace.gz"],
        ["run", "--quiet", "--trace", "my.trace.gz"],
        ["compare", "out/experiment.toml", "out/experiment.toml", "--repeat", "2"],
        ["list", "devices"],
    ]
    says = (
        f"from ssdlab.cli import main\nfor words in {every!r}:\n    assert not main(words), words"
    )
    done = python(system, "-c", says, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote report.html" in done.stdout + done.stderr
    assert "samsung-pm9a3" in done.stdout


@pytest.mark.parametrize("words", ["crash", "serve ctl x stats", "serve overhead x", "serve"])
def test_what_needs_the_live_device_says_so(tmp_path, words):
    done = command("macos", *words.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ssdlab: the live device needs Linux\n"
    assert not list(tmp_path.iterdir())


def test_help_says_what_needs_linux(tmp_path):
    said = command("windows", "--help-all", cwd=tmp_path).stdout
    marked = [line.split("  ")[1] for line in said.splitlines() if "(needs Linux)" in line]
    assert sorted(marked) == sorted(LIVE)
    assert command("windows", "serve", "--help", cwd=tmp_path).returncode == 0


def test_from_python_the_live_device_is_refused_too(tmp_path):
    done = python("macos", "-c", "import ssdlab; ssdlab.serve(port=0)", cwd=tmp_path)
    assert done.stderr.endswith("InputError: the live device needs Linux\n")


def test_every_module_can_be_imported_elsewhere(tmp_path):
    examples = PACKAGE / "ssdlab" / "catalogue" / "examples"
    names = sorted(
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.glob("ssdlab/**/*.py")
        if path.name not in ("__init__.py", "__main__.py") and examples not in path.parents
    )
    says = f"from importlib import import_module\nfor name in {names!r}:\n    import_module(name)"
    done = python("windows", "-c", says, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_measuring_says_what_the_system_lacks(tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(1 << 16))
    done = command("macos", "calibrate", "file", cwd=tmp_path)
    assert done.returncode == 2 and "has no O_DIRECT" in done.stderr
