"""What the tests share: the command line as a function, and a device small enough to be quick.

Tests marked `shared` need data that is not part of the project and lies in `../shared`, beside the
checkout: those named by the mark. Where it is absent they are skipped with the reason; with
`--demand-shared` one that is skipped, for whatever reason, has failed.
"""

import os
import shutil
import signal
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import inside
import pytest

PROGRAM = [sys.executable, "-m", "ssdlab"]
# Tests that run at night alone, with what a commit runs in their place.
NIGHTLY = Path(__file__).parent / "nightly.tsv"
BESIDE = Path(__file__).resolve().parents[3] / "shared"

# 512 blocks of 64 pages of 4 KiB in each of 8 packages, and a few thousand requests.
SMALL = {
    "device.blocks_per_plane": 64,
    "workload.requests": 2000,
}
# One package of 128 small blocks.
TINY = {
    "device.channels": 1,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 17,
    "workload.requests": 500,
    "workload.read_share": 0.3,
    "run.precondition": "random:2",
}
# Hours of work: for tests that must end before the simulation does.
ENDLESS = {"workload.requests": 10**12}


def pytest_addoption(parser):
    parser.addoption(
        "--demand-shared", action="store_true", help="tests that need ../shared must not be skipped"
    )


def pytest_configure():
    # No test finds what another has prepared; test_cache.py has caches of its own.
    os.environ["SSDLAB_CACHE"] = "off"
    os.environ.pop("SSDLAB_CACHE_SIZE", None)
    # What a shell starts in the background ignores Ctrl-C, and so does all that it starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Marks the tests of `nightly.tsv`; a row must name a test where all are collected."""
    rows = [line.split("\t") for line in NIGHTLY.read_text().splitlines()[1:]]
    used = set()
    for item in items:
        name = item.nodeid.removeprefix("python/tests/")
        # Brackets hold parameters here; to fnmatch they are choices of letters.
        for pattern, *_ in rows:
            if fnmatchcase(name, pattern.replace("[", "[[]")):
                used.add(pattern)
                item.add_marker("nightly")
    unused = [pattern for pattern, *_ in rows if pattern not in used]
    if unused and config.args == config.getini("testpaths"):
        raise pytest.UsageError(f"{NIGHTLY.name}: no test is named {', '.join(unused)}")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("shared"):
        for path in mark.args:
            if not (BESIDE / path).exists():
                pytest.skip(f"../shared/{path} is not there")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    demanded = item.config.getoption("--demand-shared") and item.get_closest_marker("shared")
    if report.skipped and demanded:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} must not be skipped: {report.longrepr[-1]}"
    return report


def set_options(assignments):
    return [word for key, value in assignments.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture
def small():
    """The overrides that make a run quick, for `ssdlab.run(set=...)`."""
    return dict(SMALL)


@pytest.fixture
def tiny():
    """The overrides that make a drive small and cleaning soon, for `ssdlab.run(set=...)`."""
    return dict(TINY)


@pytest.fixture
def small_options():
    """The overrides that make a run quick, for the command line."""
    return set_options(SMALL)


@pytest.fixture
def endless_options():
    """The overrides that make a run endless, for the command line."""
    return set_options(ENDLESS)


@pytest.fixture
def command():
    """The words that start the command line."""
    return [*PROGRAM]


@pytest.fixture
def held_by_modes(command):
    """Modes of files hold for the command line, also where root runs the tests."""
    if os.geteuid() != 0:
        return
    rights = "-dac_override,-dac_read_search"
    without = ["setpriv", "--bounding-set", rights, "--inh-caps", rights]
    if shutil.which("setpriv") is None or subprocess.run([*without, "true"]).returncode:
        pytest.skip("root may read and write anything, and setpriv cannot take that from it")
    command[:0] = without


@pytest.fixture
def program(command, tmp_path):
    """The command line as a function of its arguments, run as a process in an empty directory."""

    def call(*arguments, **options):
        options = {"capture_output": True, "text": True, "timeout": 120, "cwd": tmp_path} | options
        return subprocess.run([*command, *map(str, arguments)], **options)

    return call


@pytest.fixture
def processes():
    """For tests of what a process imports, holds open or leaves behind: each call is one."""


@pytest.fixture
def ssdlab(request, program, command, tmp_path):
    """The same without a process, but for what needs one: other streams, another user's rights."""
    alone = "processes" in request.fixturenames

    def call(*arguments, **options):
        if not alone and command == PROGRAM and inside.can(**options):
            return inside.run([*map(str, arguments)], **{"timeout": 120, "cwd": tmp_path} | options)
        return program(*arguments, **options)

    return call


@pytest.fixture
def interrupted():
    """Ctrl-C for a process that was started; what it has printed. It has ended, whatever it did."""

    def call(process):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=60)
        finally:
            process.kill()

    return call


@pytest.fixture
def refused(ssdlab):
    """Asserts that the command line refuses its arguments as wrong input; the message."""

    def call(*arguments, **options):
        done = ssdlab(*arguments, **options)
        assert done.returncode == 2, done
        assert done.stdout == ""
        assert done.stderr.startswith("ssdlab: ")
        assert done.stderr.count("ssdlab: ") == 1
        assert "Traceback" not in done.stderr
        return done.stderr

    return call
