"""Memory that is not there is refused in words, and never taken unasked."""

import os
import random
import re
import subprocess

import pytest
from house import key_reference

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(not os.path.exists("/proc/self/limits"), reason="needs Linux"),
]
GIB = 1 << 30
SOON = ("--set", "run.until=1us", "--set", "run.precondition=none", "--quiet")
#: A device of each kind, for its keys.
DEVICES = {
    "ssd": ["--device", "agrawal2008"],
    "buffered": ["--device", "samsung-pm9a3"],
    "array": ["--device", "agrawal2008-array-6"],
    "disk": ["--device", "cheetah9lp"],
    "zoned": ["--set", "device.kind=zoned", "--set", "workload.preset=random-write"],
    "cache": ["--set", "device.kind=cache"],
}
VALUES = {
    "number": ["0", "1000000", "4294967295", "18446744073709551615"],
    "size": ["1GiB", "1TiB", "16000000TiB"],
    "share": ["1e-12", "1"],
}
LIMITED = 8


def run(command, *words, limit=None, timeout=120):
    """A run in a process of its own, which may have so many bytes of addresses."""
    shell = f'ulimit -v {"unlimited" if limit is None else limit >> 10}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", shell, "-", *map(str, command), "run", *map(str, words)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def judged(done):
    """A run, or exit status 2 with one line."""
    assert done.returncode in (0, 2), done
    assert "panicked" not in done.stderr and "Traceback" not in done.stderr, done
    if done.returncode == 2:
        said = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
        assert len(said) == 1 and said[0].startswith("ssdlab: "), done
    return done.returncode == 2


def refused_for_memory(done):
    assert judged(done), done
    assert re.search(r"[0-9.]+ [GM]iB", done.stderr), done.stderr
    return done.stderr


def test_a_drive_that_does_not_go_into_memory_is_refused_with_its_key(command):
    words = ["--device", "samsung-pm1743", "--set", "device.scale=1", *SOON]
    said = refused_for_memory(run(command, *words, limit=2 * GIB))
    assert "device.scale" in said and "are left under the limits of the process" in said
    # Empty it takes little but addresses.
    assert not judged(run(command, *words, "--set", "device.fill=empty"))


def available():
    """What this machine has left."""
    with open("/proc/meminfo") as file:
        (line,) = [line for line in file if line.startswith("MemAvailable")]
    return int(line.split()[1]) << 10


@pytest.mark.skipif(available() > 25 * GIB, reason="it goes into the memory of this machine")
def test_a_preparation_that_does_not_go_into_memory_is_refused(command):
    words = ["--device", "samsung-pm1743", "--set", "device.scale=1", "--set", "device.fill=empty"]
    words += ["--set", "run.until=1us", "--set", "run.precondition=sequential"]
    assert "precondition" in refused_for_memory(run(command, *words))


@pytest.mark.parametrize("planes", ["1000000", "4000000"])
def test_many_planes_are_refused(command, planes):
    words = ["--device", "agrawal2008", "--set", f"device.planes_per_die={planes}", *SOON]
    assert judged(run(command, *words, limit=GIB))


def test_a_cache_takes_memory_for_what_it_holds(command, tmp_path):
    """It took 3.7 GB for its first request, 60 bytes for each line that there is room for."""
    (tmp_path / "it.toml").write_text(
        '[device]\nkind = "cache"\n[device.fast]\npreset = "sata-2008"\n'
        '[device.backing]\npreset = "sata-2008"\n[workload]\nrequests = 100\n'
    )
    assert not judged(run(command, tmp_path / "it.toml", "--quiet", limit=GIB + GIB // 4))


def sized():
    """The keys of devices that take a number, a size or a share, in the reference."""
    row = r"^- `(device\.[a-z_.]+)` \((\w+)"
    rows = re.findall(row, key_reference(), re.M)
    found = sorted({(key, kind) for key, kind in rows if kind in VALUES})
    assert len(found) > 60, len(found)
    return found


def extreme(command, seeds):
    keys, refused = sized(), 0
    for seed in seeds:
        draw = random.Random(seed)
        words = [*draw.choice(list(DEVICES.values()))]
        for key, kind in draw.sample(keys, draw.choice((1, 1, 2))):
            words += ["--set", f"{key}={draw.choice(VALUES[kind])}"]
        try:
            refused += judged(run(command, *words, *SOON, limit=GIB))
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"seed {seed}: {words}") from error
    return refused


def test_extreme_values_are_refused_or_run(command):
    assert 0 < extreme(command, range(LIMITED)) <= LIMITED


@pytest.mark.nightly
def test_many_extreme_values_are_refused_or_run(command):
    assert extreme(command, [*range(LIMITED, 24), *range(1000, 1600)]) > 0


def sized_of_loads():
    """The keys of each kind of workload that take a number, a size or a share."""
    text = key_reference()
    for kind, rows in re.findall(r"^## workload, kind (\w+)$(.*?)(?=^## |\Z)", text, re.M | re.S):
        row = r"^- `(workload\.[a-z_.]+)` \((\w+)"
        for key, what in re.findall(row, rows, re.M):
            of = "number" if what == "integer" else what
            if of in VALUES and key != "workload.requests":
                yield kind, key, of


def extreme_loads(command, seeds):
    keys, refused = sorted(sized_of_loads()), 0
    assert len(keys) > 60
    for seed in seeds:
        draw = random.Random(seed)
        kind, key, what = draw.choice(keys)
        words = ["--set", f"workload.kind={kind}", "--set", f"{key}={draw.choice(VALUES[what])}"]
        try:
            refused += judged(run(command, *words, *SOON, limit=GIB))
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"seed {seed}: {words}") from error
    return refused


def test_extreme_values_of_loads_are_refused_or_run(command):
    assert 0 < extreme_loads(command, range(4)) <= 4


@pytest.mark.nightly
def test_many_extreme_values_of_loads_are_refused_or_run(command):
    assert extreme_loads(command, [*range(4, 8), *range(1000, 1200)]) > 0
