import json
import re

import pytest

import ssdlab
from ssdlab.comparison import Row
from ssdlab.confidence import margin, student_quantile


@pytest.fixture
def experiments(small):
    """A drive, and the same with half its packages."""
    return [ssdlab.Experiment(set=small | {"device.channels": channels}) for channels in (8, 4)]


# Abramowitz and Stegun, Table 26.10.
@pytest.mark.parametrize(
    ("probability", "freedom", "t"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 9, 2.262),
        (0.995, 5, 4.032),
        (0.95, 60, 1.671),
    ],
)
def test_student_quantiles(probability, freedom, t):
    assert student_quantile(probability, freedom) == pytest.approx(t, abs=6e-4)


def test_the_margin_is_that_of_the_mean():
    assert margin([5.0]) is None
    assert margin([1.0, 2.0, 3.0, 4.0]) == pytest.approx(3.1824 * 1.29099 / 2, rel=1e-4)
    assert Row("x", 10.0, 12.0, 1, 1, 1.5).significant is True
    assert Row("x", 10.0, 12.0, 1, 1, 2.5).significant is False


def test_two_results_are_compared_figure_by_figure(experiments):
    a, b = (experiment.run() for experiment in experiments)
    found = ssdlab.compare(a, b)
    assert found.changed == {"device.channels": (8, 4)}
    row = found["mean_us"]
    assert (row.a, row.b) == (a.host.all.mean_us, b.host.all.mean_us)
    assert row.difference_percent == pytest.approx(100 * (b.host.all.mean_us / row.a - 1))
    assert row.significant is None
    assert found.to_pandas().loc["host.all.mean_us", "b"] == row.b


def test_repeated_with_seeds(experiments, workers):
    found = ssdlab.compare(*experiments, repeat=3, workers=2)
    runs = [[e.changed(seed=42 + i).run().host.all.mean_us for i in range(3)] for e in experiments]
    row = found["mean_us"]
    assert row.a == pytest.approx(sum(runs[0]) / 3)
    pairs = [y - x for x, y in zip(*runs, strict=True)]
    assert row.difference_margin == pytest.approx(margin(pairs))
    assert row.significant is True  # half the packages under the same load


def test_an_experiment_against_itself_differs_nowhere(experiments):
    found = ssdlab.compare(experiments[0], experiments[0], repeat=2, workers=1)
    assert found.changed == {}
    assert not any(row.significant for row in found.rows)
    assert all(row.difference == 0 for row in found.rows)


def test_the_command(ssdlab, small_options, tmp_path):
    for name, channels in (("a", 8), ("b", 4)):
        options = [*small_options, "--set", f"device.channels={channels}", "--quiet"]
        assert ssdlab("run", *options, "--out", name).returncode == 0
    done = ssdlab("compare", "a", "b/results.json")
    assert done.returncode == 0, done.stderr
    assert "device.channels  8  4" in done.stdout
    assert any(re.match(r"all\.mean +[\d.]+(µs|us) ", line) for line in done.stdout.splitlines())
    done = ssdlab("compare", "a/experiment.toml", "b", "--repeat", 2, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["repeat"], found["changed"]) == (2, {"device.channels": [8, 4]})
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["host.all.iops"]["difference_margin"] > 0


def test_devices_by_name_under_one_workload_and_drawn(ssdlab, tmp_path):
    asked = ["--workload", "random-read", "--set", "workload.requests=300"]
    done = ssdlab("compare", "sata-2008", "agrawal2008", *asked, "--plot", "both.png")
    assert done.returncode == 0, done.stderr
    assert "sata-2008 under random-read" in done.stdout
    assert "device.kind" in done.stdout
    assert "device.channels" not in done.stdout, "keys of one kind alone"
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(ssdlab("compare", "sata-2008", "agrawal2008", *asked, "--json", "-").stdout)
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["host.read.mean_us"]["a"] > 20 * rows["host.read.mean_us"]["b"]


def test_wrong_comparisons_are_refused(refused, tmp_path):
    assert "cannot be read" in refused("compare", "no", "no")
    (tmp_path / "a.json").write_text("{}")
    assert "not results" in refused("compare", "a.json", "a.json")
    (tmp_path / "a.json").write_text('{"schema": 7, "host": {}}')
    assert "results of schema 7; this version reads 1" in refused("compare", "a.json", "a.json")
    assert "were run already" in refused("compare", "agrawal2008", "a.json", "--workload", "mixed")
    named = refused("compare", "agrawal2008", "null", "--device", "null")
    assert "agrawal2008 is the preset of a device itself" in named
    (tmp_path / "a.toml").write_text("version = 1")
    assert "from 2 to" in refused("compare", "a.toml", "a.toml", "--repeat", 1)
