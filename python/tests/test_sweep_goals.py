"""What a sweep is after is kept with it, and said where no point reaches it."""

import doctest
import json

import pytest

import ssdlab
from ssdlab.sweeps import table

VARY = ["--vary", "device.channels=2,4,8", "--set", "workload.requests=500"]
SMALL = ["--set", "device.blocks_per_plane=64"]


def test_goals_stand_in_the_journal_and_the_report_obeys_them(ssdlab, tmp_path):
    goals = ["--minimize", "p99", "--constrain", "iops>=1", "--out", "it.csv", "--quiet"]
    assert ssdlab("sweep", *VARY, *SMALL, *goals).returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "it.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert line["sweep"]["minimize"] == ["host.all.percentiles_us.99"]
        assert line["sweep"]["constraints"] == [["host.all.iops", ">=", 1.0]]
        assert line["sweep"]["vary"] == {"device.channels": ["2", "4", "8"]}
    head = (tmp_path / "it.csv").read_text().splitlines()[0]
    assert "pareto" in head and "keeps_constraints" in head
    assert ssdlab("report", "it.jsonl", "--out", "it.html").returncode == 0
    assert "write amplification" not in (tmp_path / "it.html").read_text().partition("By para")[0]


def test_a_report_says_that_no_point_keeps_the_constraints(small, tmp_path):
    options = {"set": small, "vary": {"device.channels": [2, 8]}, "minimize": "iops"}
    none = ssdlab.sweep(constraints="p99<=0.001ms", **options)
    ssdlab.report(none, tmp_path / "none.html")
    page = (tmp_path / "none.html").read_text()
    head, best = page.partition("<h1>")[2].partition("</h1>")[::2]
    assert head.startswith("No point satisfies p99 &lt;= 1.00\u202fµs; the nearest, channels=")
    assert "The points nearest to what was asked" in best and "p99 &lt;= 1" in best
    # Of points that keep them the best is named, not the best of all.
    times = none.columns["host.all.percentiles_us.99"]
    some = ssdlab.sweep(constraints=f"p99<={min(times)}", **options)
    ssdlab.report(some, tmp_path / "some.html")
    head = (tmp_path / "some.html").read_text().partition("<h1>")[2].partition("</h1>")[0]
    kept = none.columns["device.channels"][times.index(min(times))]
    assert f"channels={kept}" in head and "No point" not in head


def test_a_figure_is_not_minimised_and_maximised():
    known = ["host.all.percentiles_us.99", "host.all.iops"]
    twice = table.goals(["p99", "host.all.percentiles_us.99"], ["iops"], [], known)
    assert [it.column for it in twice.objectives] == known
    with pytest.raises(ssdlab.InputError, match="it is also to be minimised; keep one of the two"):
        table.goals(["p99"], ["host.all.percentiles_us.99"], [], known)


def test_a_loaded_sweep_has_its_goals(small, tmp_path):
    options = {"set": small, "vary": {"device.channels": [2, 8]}, "out": tmp_path / "it.csv"}
    found = ssdlab.sweep(minimize="p99", constraints="iops>=1", **options)
    loaded = ssdlab.Sweep.load(tmp_path / "it.jsonl")
    assert loaded.goals == found.goals
    assert loaded.columns["pareto"] == found.columns["pareto"]
    # The same command goes on from the file, with other goals.
    again = ssdlab.sweep(maximize="iops", **options)
    assert ssdlab.Sweep.load(tmp_path / "it.jsonl").goals == again.goals


def test_no_point_keeps_the_limit(ssdlab):
    done = ssdlab("sweep", *VARY, *SMALL, "--minimize", "p99", "--constrain", "p99<=0.001ms")
    said = " ".join(done.stdout.split())
    assert "No point satisfies p99 <= 1.00µs; the nearest, device.channels=" in said
    assert "pareto" not in said and "keeps_constraints" not in said, "nothing is marked"


def test_limits_take_units(small):
    def limit(text):
        ends = ("percentiles_us.99", "percentiles_us.99.9", "iops", "no_wait_share")
        return table.goals([], [], [text], [f"host.all.{end}" for end in ends])

    assert limit("p99<=2ms").constraints[0].limit == 2000
    assert limit("p99<=2").constraints[0].limit == 2
    assert limit("p99>=1e-3s").constraints[0].limit == 1000
    assert limit("p999<=2ms").constraints == limit("p99.9<=2ms").constraints
    assert limit("iops>=100k").constraints[0].limit == 100_000
    assert limit("iops>=1_000").constraints[0].limit == 1000
    assert limit("no_wait_share>=28%").constraints[0].limit == pytest.approx(0.28)
    with pytest.raises(ssdlab.InputError, match="iops is no time; leave ms out"):
        limit("iops>=2ms")
    with pytest.raises(ssdlab.InputError, match="such as p99<=500"):
        limit("p99<=2parsecs")


def test_the_nearest_point_is_by_share_of_the_limit():
    limits = [table.Constraint("a_us", False, 10.0), table.Constraint("b", True, 100.0)]
    goals = table.Goals([], limits)
    rows = [{"n": 1, "a_us": 15.0, "b": 100}, {"n": 2, "a_us": 9.0, "b": 80}, {"n": 3}]
    assert [goals.kept(row) for row in rows] == [False] * 3
    assert "the nearest, n=2, has a_us 9.00µs, b 80." in goals.unmet(rows, ["n"])
    assert goals.unmet([{"a_us": 1.0, "b": 100}], []) is None
    assert "none has these figures" in goals.unmet([{"n": 3}], ["n"])
    assert table.Goals.from_dict(goals.to_dict()) == goals


def test_examples_of_the_docs():
    found = doctest.testmod(table)
    assert found.attempted and not found.failed


def test_dollars_watts_and_life_are_objectives():
    found = ssdlab.sweep(
        vary={"device": ["samsung-983zet", "samsung-pm9a3"]},
        workload="random-write",
        set={"workload.requests": 200, "device.scale": 64},
        minimize=["dollars", "write.p99"],
        constraints=["under_load.watts<=20"],
        workers=1,
    )
    assert [it.column for it in found.goals.objectives][0] == "under_load.dollars"
    assert found.columns["under_load.dollars"] == [1500, 170]
    assert found.columns["pareto"][1] and all(found.columns["keeps_constraints"])
