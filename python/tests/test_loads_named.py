"""No command runs a load that nobody has named without saying so."""

import json

import pytest

import ssdlab as package

SMALL = [
    "--set", "device.blocks_per_plane=32", "--set", "workload.requests=200",
    "--set", "run.precondition=none",
]  # fmt: skip
DRIVE = '[device]\npreset = "samsung-pm9a3"\n'
LOADED = DRIVE + '[workload]\npreset = "random-read"\nrequests = 300\n'
FIO = {
    "fio version": "fio-3.33",
    "jobs": [
        {
            "jobname": "a", "groupid": 0, "error": 0,
            "job options": {"rw": "randread", "bs": "4k", "iodepth": "2", "size": "1m"},
            "read": {"total_ios": 10, "iops": 20000.0, "bw_bytes": 81920000,
                     "lat_ns": {"mean": 100000.0, "max": 300000, "min": 1},
                     "clat_ns": {"mean": 99000.0, "max": 300000}},
        }
    ],
}  # fmt: skip
SAID = "Note: no load was named, so the default one ran, mixed; --workload names another\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drive.toml").write_text(DRIVE)
    (tmp_path / "loaded.toml").write_text(LOADED)
    (tmp_path / "fio.json").write_text(json.dumps(FIO))
    (tmp_path / "job.fio").write_text("[a]\nrw=randread\nbs=4k\nsize=1m\n")
    return tmp_path


COMMANDS = {
    "run": ["run"],
    "run of a drive": ["run", "drive.toml", "--set", "workload.requests=100"],
    "sweep": ["sweep", "--vary", "device.channels=4,8"],
    "compare": ["compare", "agrawal2008", "agrawal2008"],
    "compare keys": [
        "compare", "device.channels=4", "device.channels=8", "--repeat", 2, "--minimize", "p99",
    ],
    "why": ["why", "--among", "load", "--requests", 200],
    "view": ["view", "--device", "agrawal2008", "--record", "it.html", "--frames", 10],
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_the_default_load_is_said(ssdlab, files, name):
    words = [*COMMANDS[name], *([] if "drive.toml" in COMMANDS[name] else SMALL)]
    done = ssdlab(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(SAID) == 1 and done.stdout.endswith(SAID)
    if name != "view":
        assert SAID not in ssdlab(*words, "--workload", "random-read").stdout
    assert SAID not in ssdlab(*words, "--quiet", "--workload", "mixed").stdout


def test_a_load_that_varies_is_named(ssdlab, files):
    for axis in ("workload=random-read,mixed", "workload.read_share=0,1"):
        assert SAID not in ssdlab("sweep", "--vary", axis, *SMALL).stdout


SIDES = {
    "a job of fio and a drive": ("job.fio", "drive.toml", 256),
    "fio and a file": ("fio.json", "drive.toml", 256),
    "a file and fio": ("drive.toml", "fio.json", 256),
    "fio and a preset": ("fio.json", "samsung-pm9a3", 256),
    "a load and a file": ("loaded.toml", "drive.toml", 300),
    "a file and a load": ("drive.toml", "loaded.toml", 300),
    "a load and a preset": ("loaded.toml", "tlc-enterprise", 300),
}


@pytest.mark.parametrize("name", SIDES)
def test_a_side_without_a_load_runs_that_of_the_other(ssdlab, files, name):
    a, b, requests = SIDES[name]
    done = ssdlab("compare", a, b, "--json", "-")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    row = rows["host.read.requests"]
    sides = [row[side] for side, of in (("a", a), ("b", b)) if of != "fio.json"]
    assert sides == [requests] * len(sides)
    assert SAID not in done.stdout


def test_results_give_their_load_too(ssdlab, files):
    assert ssdlab("run", "loaded.toml", "--out", "out").returncode == 0
    done = ssdlab("compare", "out", "drive.toml", "--json", "-")
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["host.read.requests"]["b"] == 300 and rows["host.read.requests"]["b_margin"] is None
    found = package.compare(files / "out", package.Experiment(device="samsung-pm9a3"))
    assert found["host.read.requests"].b == 300


def test_each_cell_of_a_grid_has_one_load(ssdlab, files):
    done = ssdlab(
        "compare", "loaded.toml", "drive.toml", "--minimize", "host.read.requests",
        "--repeat", 2, "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cell = json.loads(done.stdout)["cells"][0]
    assert cell["a"]["mean"] == cell["b"]["mean"] == 300


def test_a_measurement_without_its_jobs_needs_a_load(refused, files):
    jobs = [{**FIO["jobs"][0]}]
    del jobs[0]["job options"]
    (files / "fio.json").write_text(json.dumps(FIO | {"jobs": jobs}))
    said = refused("compare", "fio.json", "drive.toml")
    assert "fio.json: fio has not written the options of its jobs" in said
    assert "--workload names one" in said
