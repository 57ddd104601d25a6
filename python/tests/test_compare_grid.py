"""One design against another under many conditions: cells, verdicts, and what is over all."""

import json
import statistics

import pytest

import ssdlab
from ssdlab.charts import svg
from ssdlab.comparison import figures, grid, margin
from ssdlab.comparison.grid import BETTER, UNKNOWN, WORSE, Cell, Grid
from ssdlab.sweeps.table import Objective

SETTINGS = {
    "device.blocks_per_plane": 64,
    "workload.requests": 1000,
    "run.precondition": "random:1",
}
SET = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
VARY = ["--vary", "workload=random-write,zipf-mixed"]


def test_a_cleaner_against_greedy_over_workloads(ssdlab, tmp_path):
    done = ssdlab("compare", "greedy", "random", *SET, *VARY, "--repeat", 3, "--json", "it.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "it.json").read_text())
    assert found["seeds"] == [42, 43, 44]
    figure = "flash.write_amplification_bytes"
    cells = [cell for cell in found["cells"] if cell["figure"] == figure]
    assert [cell["condition"] for cell in cells] == ["random-write", "zipf-mixed"]
    assert [cell["verdict"] for cell in cells] == [WORSE, WORSE], "victims by lot cost more"
    overall = next(it for it in found["overall"] if it["figure"] == figure)
    assert overall["verdict"] == WORSE and overall["worse"] == 2
    assert "overall" in done.stdout and "0 better, 2 worse, 0 cannot tell" in done.stdout
    # Each value is that of a plain run, and the interval that of the pairs.
    import ssdlab as package

    def run(policy, seed):
        own = SETTINGS | {"cleaning.policy": policy}
        flash = package.run(workload="zipf-mixed", set=own, seed=seed).flash
        return flash.write_amplification_bytes

    pairs = [(run("greedy", seed), run("random", seed)) for seed in (42, 43, 44)]
    assert cells[1]["a"]["values"] == [a for a, _ in pairs]
    half = margin([b - a for a, b in pairs]) / statistics.fmean(a for a, _ in pairs)
    assert cells[1]["margin_percent"] == pytest.approx(100 * half)


def test_a_key_against_another_value_of_it(ssdlab):
    words = ["compare", "device.channels=8", "device.channels=2", *SET, "--repeat", 2]
    done = ssdlab(*words, "--maximize", "iops", "--workload", "random-write")
    assert done.returncode == 0, done.stderr
    assert "iops  higher is better" in done.stdout and "worse" in done.stdout
    assert "overall" not in done.stdout, "one condition is all"
    narrow = ssdlab(*words, "--minimize", "p99", "--quiet", "--json", "-")
    assert {cell["figure"] for cell in json.loads(narrow.stdout)["cells"]} == {
        "host.all.percentiles_us.99"
    }


def test_against_itself_nothing_can_be_told(tmp_path):
    path = tmp_path / "it.toml"
    ssdlab.Experiment(set=SETTINGS | {"workload.requests": 300}).save(path)
    found = grid.compare_over(str(path), str(path), repeat=2)
    assert {cell.verdict for cell in found.cells} == {UNKNOWN}
    assert all(found.overall(it).verdict == UNKNOWN for it in found.objectives)


def test_verdicts():
    less, more = Objective("x_us", False), Objective("iops", True)
    cell = Cell("w", less, [10.0, 11.0, 12.0], [9.0, 10.0, 11.0])
    assert (cell.verdict, cell.margin_percent) == (BETTER, 0)
    assert Cell("w", more, cell.a, cell.b).verdict == WORSE
    assert Cell("w", less, [10.0, 11.0, 12.0], [9.0, 12.0, 11.0]).verdict == UNKNOWN
    assert Cell("w", less, [0.0, 0.0], [1.0, 2.0]).verdict == UNKNOWN
    worse = Cell("v", less, [10.0, 10.0, 10.0], [15.0, 15.1, 15.2])
    both = Grid("a", "b", [1, 2, 3], [less], [cell, worse])
    overall = both.overall(less)
    assert (overall.better, overall.worse, overall.unknown) == (1, 1, 0)
    assert overall.difference_percent == pytest.approx(100 * ((0.909 * 1.51) ** 0.5 - 1), rel=0.01)
    drawn = figures.differences(both)
    assert [*drawn.x.words] == ["w", "v"] and svg.figure(drawn)
    assert drawn.title == "b against a"
    assert drawn.series[0].ranges[1] == pytest.approx((48.52, 53.48), abs=0.01)


def test_a_comparison_of_policies_says_that_nothing_was_cleaned(ssdlab, tmp_path):
    done = ssdlab("compare", "greedy", "fifo", *SET[2:4], "--repeat", 2, "--json", "it.json")
    assert "Warning: B nothing_cleaned: " in done.stdout
    assert "(in 2 of 2 runs)" in " ".join(done.stdout.split())
    assert [*json.loads((tmp_path / "it.json").read_text())["warnings"]] == ["A", "B"]
    assert "but the JSON of ssdlab compare" in ssdlab("report", "it.json").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["greedy", "gready"],
            'B "gready": cannot be read, nor is it a device preset or a cleaning policy (greedy, ',
        ),
        (["greedy", "fifo", "--repeat", 1], "--repeat 1: from 2"),
        (["greedy", "fifo", "--minimize", "p98"], "the percentiles are"),
        (["greedy", "fifo", "--vary", "device.channels="], "an empty value"),
        (["greedy", "fifo", "--set", "cleaning.policy=cat"], "cleaning.policy"),
        (["a.toml", "b.toml", "--plot", "x.png"], "a.toml: cannot be read"),
    ],
)
def test_wrong_input_is_refused(refused, words, message):
    assert message in refused("compare", *words)
