"""What a data sheet hides: ranges that hold every plausible value, and shrink by measurements."""

import json

import pytest

from ssdlab import layers
from ssdlab.calibration import jobs
from ssdlab.datasheet import given, solve
from ssdlab.device import ranges

SHEET = """
name = "Small"
capacity = "24GB"
interface = "pcie4-x4"
seq_read = "3000MB/s"
seq_write = "800MB/s"
raw_capacity = "32GB"
dies = 8
"""


@pytest.fixture(scope="module")
def sheet():
    return given.parse("sheet", SHEET)


@pytest.fixture(scope="module")
def found(sheet):
    return ranges.of_drive(sheet, solve.solve(sheet))


@pytest.mark.nightly
def test_every_figure_lies_in_its_range_and_says_what_decides_it(found):
    assert {row.load.name for row in found.rows} == {load.name for load in ranges.LOADS}
    assert all(row.low <= row.assumed <= row.high for row in found.rows)
    wide = [row for row in found.rows if not row.is_number]
    assert wide and all(row.decided_by.keys for row in wide)
    keys = {row.decided_by.key for row in wide}
    assert "suspend.program" in keys or "cleaning.pace" in keys
    assert found.best is None and not found.dropped


@pytest.mark.nightly
def test_a_measurement_narrows_them_and_finds_the_value(sheet, found, tmp_path):
    drive = solve.solve(sheet)
    hidden = ["device.suspend.program=none", "device.suspend.erase=none"]
    stack = [*layers.from_mapping("d", {"device": drive.keys()}), *layers.from_options(hidden)]
    mixed = next(load for load in ranges.LOADS if load.name == "mixed")
    truth = jobs.simulated(stack, jobs.Job("mixed", mixed.workload("4096B"), {}), 99, 20_000)
    job = jobs.Job("mixed", mixed.workload("4096B"), truth)
    narrow = ranges.of_drive(sheet, drive, [job])
    assert narrow.best is not None and narrow.best.key == "suspend.program"
    assert narrow.dropped
    before = {(row.load.name, row.figure): row for row in found.rows}
    for row in narrow.rows:
        assert row.low >= before[row.load.name, row.figure].low
        assert row.high <= before[row.load.name, row.figure].high
    drive.chosen = dict(narrow.best.keys)
    assert drive.keys()["suspend"]["program"] == "none"
    assert "to what was measured by fio" in drive.file([])


def test_latencies_that_are_missing_are_assumed_and_marked(sheet):
    drive = solve.solve(sheet)
    assert any(it.startswith("read_latency, assumed as 80us") for it in drive.assumptions)
    assert any(it.startswith("write_latency, assumed as 15us") for it in drive.assumptions)
    assert drive.origins["firmware.write"][0] == "guess"
    # Never longer than the rates of the sheet allow.
    quick = given.parse("s", SHEET + 'rand_read = "1M/s"\nrand_read_depth = 32\nbits = 1\n')
    assert quick["read_latency"] == pytest.approx(20e-6)
    slow = given.parse("s", SHEET + 'rand_read = "1M/s"\nrand_read_depth = 32\nbits = 3\n')
    assert slow["read_latency"] == pytest.approx(32e-6)


def test_what_was_measured_must_be_a_job_that_settles_something(refused, tmp_path):
    (tmp_path / "sheet.toml").write_text(SHEET)
    job = {"jobname": "a", "job options": {"rw": "randread", "bs": "4k"}}
    job["read"] = {"total_ios": 10, "iops": 5, "lat_ns": {"mean": 1000}}
    (tmp_path / "f.json").write_text(json.dumps({"fio version": "fio-3.36", "jobs": [job]}))
    words = ("device", "from-datasheet", "sheet.toml", "--quiet", "--measured")
    assert "no job of it is one of those that settle a figure" in refused(*words, "f.json")
    assert "nowhere.json" in refused(*words, "nowhere.json")
    (tmp_path / "g.json").write_text("{}")
    assert 'there is no "fio version"' in refused(*words, "g.json")


def test_a_latency_that_rests_on_an_assumed_one_says_so(sheet):
    (light,) = (load for load in ranges.LOADS if load.name == "light")
    assumed = ranges.Choice("as assumed", "")
    for us, guess in ((15.0, "write_latency"), (7_000.0, None)):
        values = {assumed: {("write", "p99"): us}}
        row = ranges._range(sheet, light, ("write", "p99"), values, assumed, {})
        assert row.guess == guess
    values = {assumed: {("write", "iops"): 15.0}}
    assert ranges._range(sheet, light, ("write", "iops"), values, assumed, {}).guess is None
