"""Where a number does not mean what it seems to, every place that shows it says so."""

import csv
import io
import json

import pytest

import ssdlab
from ssdlab.comparison import display as comparison
from ssdlab.reports import page
from ssdlab.results import display
from ssdlab.sweeps import display as sweeps

#: A drive of a package that a few thousand writes go around.
DRIVE = {
    "device.channels": 1,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 256,
    "workload.kind": "closed",
    "workload.outstanding": 4,
    "workload.read_share": 0.0,
}
FEW = {**DRIVE, "workload.requests": 500}
SETTLED = {**DRIVE, "workload.requests": 20_000, "run.precondition": "random:3"}


def options(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def test_a_run_says_it_under_its_table_and_in_its_results(ssdlab, tmp_path):
    done = ssdlab("run", *options(FEW))
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nWarning: nothing_cleaned: no block was cleaned" in done.stdout
    assert "run.precondition=steady" in done.stdout.replace("\n", " ")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    done = ssdlab("run", *options(FEW), "--json", "-")
    [warning] = json.loads(done.stdout)["warnings"]
    assert warning["name"] == "nothing_cleaned"
    assert 0 < warning["figures"]["written_share_of_spare"] < 1
    assert "Warning" not in ssdlab("run", *options(SETTLED)).stdout


def test_the_table_has_the_spare_space_that_is_in_effect(ssdlab):
    out = ssdlab("run", *options(SETTLED)).stdout
    assert "effective spare" in out
    results = ssdlab_run(SETTLED)
    spare = results.flash.spare
    assert spare.nominal == pytest.approx(0.15, abs=0.001)
    assert spare.effective == pytest.approx(spare.nominal - (12 + 1) / 256)
    assert f"{100 * spare.effective:.1f}%" in out


def ssdlab_run(settings):
    return ssdlab.run(set=settings)


def test_a_warning_about_a_trace_replaces_its_note():
    results = ssdlab.Results.from_json(ssdlab_run(FEW).to_json()).to_dict()
    results["workload"]["notices"] = {"wrapped_requests": 3, "backward_steps": 2}
    wrapped = {"name": "wrapped", "message": "3 requests", "figures": {"wrapped_requests": 3}}
    results["warnings"] = [wrapped]
    text = display.results_table(ssdlab.Results(results), io.StringIO())
    assert "Note: the workload had 2 backward_steps\n" in text
    assert "Warning: wrapped: 3 requests\n" in text


def test_a_sweep_carries_it_for_each_point(ssdlab, tmp_path):
    out = tmp_path / "sweep.csv"
    vary = ["--vary", "workload.requests=500,20000"]
    done = ssdlab("sweep", *options(DRIVE), *vary, "--out", out)
    assert done.returncode == 0, done.stderr
    head, _, *rest = done.stdout.partition("\n! 1  nothing_cleaned, 1 of 2 points: ")
    assert rest and "\n! 2  transient, 1 of 2 points: " in done.stdout
    assert " !" in head
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["warnings"] for row in rows] == ["nothing_cleaned", "transient"]
    # The page of the sweep, from what was kept of it.
    text = page(out.with_suffix(".jsonl"))
    assert "nothing_cleaned, 1 of 2 points" in text
    assert ">transient<" in text


def test_the_column_is_a_text_in_parquet_even_if_nothing_is_said():
    pytest.importorskip("pyarrow")
    sweep = ssdlab.sweep(set=SETTLED, vary={"run.seed": [1, 2]}, workers=1)
    assert sweep.to_arrow()["warnings"].to_pylist() == ["", ""]
    assert sweep.warning_marks() == {}
    assert "!" not in sweeps.sweep_table(sweep, io.StringIO())


def test_comparisons_and_reports_show_it():
    few, settled = ssdlab_run(FEW), ssdlab_run(SETTLED)
    found = ssdlab.compare(few, settled)
    assert [said.split(":")[0] for said in found.warnings["A"]] == ["nothing_cleaned"]
    assert found.to_dict()["warnings"]["B"] == []
    assert "Warning: A nothing_cleaned" in comparison.compare_table(found, io.StringIO())
    assert "Warning: A nothing_cleaned" in found._repr_html_()
    text = page([few, settled])
    assert text.count('<ul class="warnings">') == 1
    assert "nothing_cleaned: no block was cleaned" in text
    assert "Warning: nothing_cleaned" in few._repr_html_()
    assert "Warning" not in settled._repr_html_()
    repeated = ssdlab.compare(
        ssdlab.Experiment(set=FEW), ssdlab.Experiment(set=SETTLED), repeat=2, workers=1
    )
    assert repeated.warnings["A"][0].endswith("(in 2 of 2 runs)")


def test_every_warning_is_listed():
    listed = ssdlab.list("warnings")
    assert {"nothing_cleaned", "transient", "overloaded", "effective_spare"} <= set(listed)


def test_a_clock_that_would_stop_is_an_error(ssdlab):
    settings = {
        "workload.kind": "closed",
        "workload.outstanding": 1,
        "workload.think_time": "9000000000s",
        "workload.requests": 300,
    }
    done = ssdlab("run", *options(settings))
    assert done.returncode == 2
    assert "request 2 would arrive after more than 500 years" in done.stderr
