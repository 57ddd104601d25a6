"""What the tests share: the command line as a function, and a device small enough to be quick.

Tests marked `shared` need data that is not part of the project and lies in `../shared`, beside the
checkout: those named by the mark. Where it is absent they are skipped with the reason; with
`--demand-shared` one that is skipped, for whatever reason, has failed.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import inside
import pytest

from ssdlab.sweeps import backends, work

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


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Workers collect in turn: most of it is to compile the tests, and one does it for all."""
    with open(NIGHTLY) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Marks the tests of `nightly.tsv`; a row must name a test where all are collected."""
    rows = [line.partition("\t")[0] for line in NIGHTLY.read_text().splitlines()[1:]]
    exact, used = {it for it in rows if "*" not in it}, set()
    # Brackets hold parameters here; to fnmatch they are choices of letters.
    wide = {it: it.replace("[", "[[]") for it in rows if "*" in it}
    for item in items:
        name = item.nodeid.removeprefix("python/tests/")
        found = {name} & exact | {it for it, glob in wide.items() if fnmatchcase(name, glob)}
        if found:
            used |= found
            item.add_marker("nightly")
    unused = [it for it in rows if it not in used]
    if unused and config.args == config.getini("testpaths"):
        raise pytest.UsageError(f"{NIGHTLY.name}: no test is named {', '.join(unused)}")


class Here:
    """A lane of a sweep without a process of its own, which takes longer to start than most points
    of tests take to run.
    """

    wanted = True

    def submit(self, point, check):
        future = Future()
        future.set_result(work.run_point(point.layers, check))
        return future

    @classmethod
    @contextmanager
    def crew(cls, workers, *, processes=backends.local):
        if cls.wanted:
            yield backends.Crew([cls()], "this process")
        else:
            with processes(workers) as crew:
                yield crew


backends.local = Here.crew


def pytest_runtest_setup(item):
    Here.wanted = not {"processes", "workers"} & {*item.fixturenames}
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
        options = {"capture_output": True, "text": True, "timeout": 600, "cwd": tmp_path} | options
        return subprocess.run([*command, *map(str, arguments)], **options)

    return call


@pytest.fixture
def processes():
    """For tests of what a process imports, holds open or leaves behind: each call is one."""


@pytest.fixture
def workers():
    """For tests of worker processes: sweeps and comparisons start them."""


@pytest.fixture
def ssdlab(request, program, command, tmp_path):
    """The same without a process, but for what needs one: other streams, another user's rights."""
    alone = "processes" in request.fixturenames

    def call(*arguments, **options):
        if not alone and command == PROGRAM and inside.can(**options):
            return inside.run([*map(str, arguments)], **{"timeout": 600, "cwd": tmp_path} | options)
        return program(*arguments, **options)

    return call


def _worked(pid):
    """Seconds of processor time of a process and of all that it has started."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        started = [it.read_text() for it in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0
    own = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_worked(it) for it in " ".join(started).split())


@pytest.fixture
def busy():
    """Waits until a process has worked for a second of processor time: it does what was asked, as
    its start takes a part of that on any machine, however much else is running there.
    """

    def call(process, seconds=1.0):
        until = time.monotonic() + 120
        while _worked(process.pid) < seconds:
            assert process.poll() is None, "it has ended"
            assert time.monotonic() < until, "it rests"
            time.sleep(0.02)

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
