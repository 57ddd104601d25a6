"""Terminals of 60 and 40 columns: nothing is cut, and every number keeps its unit."""

import doctest
import io
import os

import pytest
from rich.console import Console

import ssdlab as package
from ssdlab import layers, sources
from ssdlab.comparison import display as comparison_display
from ssdlab.rating import display as endurance_display
from ssdlab.rating import rate
from ssdlab.results import display as run_display
from ssdlab.sweeps import display as sweep_display
from ssdlab.terminal import Columns, console_for, fact_table, rendered, side_by_side

SMALL = {"device.blocks_per_plane": 64, "workload.requests": 400}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What commands show, as functions of a file."""
    aged = SMALL | {"run.precondition": "random:1", "workload.read_share": 0.5}
    run = package.run(device="tlc-enterprise", set={"workload.requests": 2000})
    old = package.run(set=aged)
    sweep = package.sweep(set=SMALL, vary={"device.channels": [2, 8], "run.seed": [1, 2, 3]})
    keys = ["device.cleaning.policy", "device.cleaning.min_free"]
    long = package.sweep(
        set=SMALL, vary={keys[0]: ["greedy", "windowed-greedy"], keys[1]: [0.01, 0.05]}
    )
    quick = {"device.channels": 1, "device.blocks_per_plane": 64, "device.wear.rated_cycles": 40}
    rated = rate(
        "enterprise-ssd", "client", [sources.from_name("workload", "random-write")],
        layers.from_assignments(quick | {"device.pages_per_block": 16}),
    )  # fmt: skip
    faster = package.Experiment(set=aged | {"device.cleaning.time": "interleaved"})
    compared = package.compare(package.Experiment(set=aged), faster)
    return {
        "run": lambda file: run_display.results_table(run, file),
        "cleaned": lambda file: run_display.results_table(old, file),
        "sweep": lambda file: sweep_display.sweep_table(sweep, file),
        "long": lambda file: sweep_display.sweep_table(long, file),
        "comparison": lambda file: comparison_display.compare_table(compared, file),
        "endurance": lambda file: endurance_display.rating(rated, 1e12, file),
    }


@pytest.mark.parametrize("width", [60, 40])
@pytest.mark.parametrize("what", ["run", "cleaned", "sweep", "long", "comparison", "endurance"])
def test_no_word_is_cut_in_a_narrow_terminal(shown, what, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    # Beside the bars of units there are words that go where there is no room for them.
    whole = shown[what](io.StringIO()).partition("nits (of")[0].split()
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = shown[what](io.StringIO())
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= width
    numbers = [word for word in whole if word[0].isdigit() and word[-1].isalnum()]
    kept = set(narrow.split())
    assert not [word for word in numbers if word not in kept]


def test_columns_that_do_not_fit_follow_below():
    table = Columns(["name", "a", "b"], keys=1)
    table.add_row("x", "1234567", "7654321")
    console = Console(file=io.StringIO(), width=16)
    console.print(table)
    lines = [line.split() for line in console.file.getvalue().splitlines() if line.strip()]
    assert lines == [["name", "a"], ["x", "1234567"], ["name", "b"], ["x", "7654321"]]


def test_a_long_name_goes_on_below_its_number_stays(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    console, _ = console_for(io.StringIO())
    facts = fact_table("T", [("a name of many words", "123,456 pages")])
    text = rendered(console, [side_by_side(facts, facts)])
    assert text.count("123,456 pages") == 2 and "…" not in text


def test_columns_of_a_sweep_are_told_apart():
    found = doctest.testmod(sweep_display)
    assert found.attempted and not found.failed
    names = ["device.read.size", "workload.read.size", "device.size", "host.read.percentiles_us.99"]
    heads = sweep_display.heads([*names, "host.all.percentiles_us.99"])
    assert len(set(heads)) == 5 and heads[3:] == ["read.p99", "p99"]


def test_a_point_that_is_given_twice_stands_once():
    sweep = package.sweep(set=SMALL, vary={"device.channels": [2, 8, 2]})
    assert len(sweep) == 3 and len(sweep.shown()[1]) == 2


def test_means_over_seeds():
    sweep = package.sweep(set=SMALL, vary={"device.channels": [2, 8], "run.seed": "1..3"})
    means = sweep.means()
    assert [it.parameters for it in means] == [{"device.channels": 2}, {"device.channels": 8}]
    column = sweep.columns["host.all.mean_us"][:3]
    assert means[0].figures["host.all.mean_us"].mean == pytest.approx(sum(column) / 3)
    assert means[0].figures["host.all.mean_us"].margin > 0
    assert package.sweep(set=SMALL, vary={"device.channels": [2, 8]}).means() == []
    assert os.environ.get("COLUMNS") != "40"
