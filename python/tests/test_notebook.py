"""What a notebook uses: experiments, frames and figures."""

import sys
from pathlib import Path

import pytest

import ssdlab
from ssdlab.results.records import PARTS

SQLITE = Path(__file__).parents[2] / "examples" / "traces" / "sqlite.parquet"
#: Answers with rows, from results.
ANSWERS = {
    "costs": lambda results: ssdlab.cost(results, device_dollars=400),
    "cliff": lambda _: ssdlab.cliff("samsung-980pro", set={"device.scale": 64}),
    "placed": lambda _: ssdlab.placement(SQLITE),
}


@pytest.fixture(scope="module")
def results():
    overrides = {
        "device.blocks_per_plane": 64,
        "workload.requests": 5000,
        "workload.read_share": 0.5,
        "run.precondition": "random:1",
    }
    return ssdlab.run(set=overrides)


def test_an_experiment_is_checked_when_it_is_made(tmp_path):
    with pytest.raises(ssdlab.InputError, match="did you mean device.channels"):
        ssdlab.Experiment(set={"device.chanels": 4})
    experiment = ssdlab.Experiment({"device": {"channels": 4}}, seed=7)
    assert experiment.to_dict()["device"]["channels"] == 4
    experiment.save(tmp_path / "e.toml")
    again = ssdlab.Experiment(tmp_path / "e.toml")
    assert again == experiment != experiment.changed(seed=8)
    assert experiment.changed(seed=8).to_dict()["run"]["seed"] == 8
    assert "agrawal2008 under mixed" in experiment._repr_html_()


def test_an_experiment_runs_as_its_arguments_do(small):
    arguments = {"workload": {"preset": "mixed", "read_share": 0.5}, "set": small, "seed": 3}
    by_experiment = ssdlab.Experiment(**arguments).run()
    assert by_experiment.host.to_dict() == ssdlab.run(**arguments).host.to_dict()
    assert ssdlab.run(ssdlab.Experiment(**arguments)).host.to_dict() == by_experiment.host.to_dict()


def test_frames_have_the_figures_of_the_results(results):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = results.to_pandas()
    assert list(frame.index) == list(results.host)
    assert frame.loc["read", "mean_us"] == results.host.read.mean_us
    assert frame.loc["write", "percentiles_us.99"] == results.host.write.percentiles_us[99]
    table = results.to_arrow()
    assert table.column("kind").to_pylist() == list(results.host)
    assert table.column("breakdown_us.cell")[0].as_py() == results.host.all.breakdown_us.cell


def test_figures_show_the_results(results):
    pytest.importorskip("matplotlib")
    axes = results.plot.latency().axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines)[:2] == ["read", "write"]
    # A curve ends where ten requests are slower.
    assert lines["read"].get_xdata()[-1] == pytest.approx(1 - 10 / results.host.read.requests)
    assert lines["read"].get_ydata()[-1] <= results.host.read.max_us
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["0", "50", "90"]
    axes = results.plot.breakdown().axes[0]
    lengths = [sum(bars[kind].get_width() for bars in axes.containers) for kind in range(3)]
    means = [results.host[kind].mean_us for kind in ("read", "write", "all")]
    assert lengths == pytest.approx(means)
    above, below, *_ = results.plot.over_time().axes
    rates = [rate for rate in above.get_lines()[0].get_ydata() if rate == rate]
    counts = results.time_series.requests[:-1]
    assert sum(rates) * results.time_series.bin_seconds == pytest.approx(sum(counts))
    assert max(below.get_lines()[1].get_ydata()) == results.host.all.max_us
    axes = results.plot.units().axes[0]
    tops = [bar.get_y() + bar.get_height() for bar in axes.containers[1]]
    assert tops == pytest.approx([100 * unit.busy for unit in results.units])
    assert results.plot.units()._repr_png_().startswith(b"\x89PNG")  # what a notebook shows
    with pytest.raises(ssdlab.InputError, match="nothing was recorded"):
        results.plot.timeline()
    recorded = ssdlab.run(set={"workload.requests": 500, "run.timeline": "1ms..3ms"})
    axes = recorded.plot.timeline().axes[0]
    operations = recorded.timeline.operations
    assert sum(len(bars.get_paths()) for bars in axes.collections) == len(operations.kind) > 10
    assert {bars.get_label() for bars in axes.collections} >= set(operations.kind)
    assert [label.get_text() for label in axes.get_yticklabels()] == recorded.timeline.lanes
    assert set(PARTS) >= set(results.host.all.breakdown_us)


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("pandas", lambda results: results.to_pandas(), "pandas"),
        ("pyarrow", lambda results: results.to_arrow(), "arrow"),
        ("matplotlib.figure", lambda results: results.plot.latency(), "plot"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(results, monkeypatch, library, call, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ssdlab.InputError, match=rf"pip install 'ssdlab\[{extra}\]'"):
        call(results)


def columns(count=100):
    """A trace of writes, one each millisecond, as plain lists."""
    return {
        "at_ns": [1_000_000 * n for n in range(count)],
        "op": ["write"] * count,
        "sector": [8 * n for n in range(count)],
        "sectors": [8] * count,
    }


def arrow(lists):
    pyarrow = pytest.importorskip("pyarrow")
    return {name: pyarrow.array(values) for name, values in lists.items()}


def numpy(lists):
    array = pytest.importorskip("numpy").array
    return {name: array(values) for name, values in lists.items()}


@pytest.mark.parametrize("kind", [dict, numpy, arrow])
def test_arrays_are_a_trace(tmp_path, kind):
    path = tmp_path / "a.parquet"
    ssdlab.trace.write(path, **kind(columns()))
    info = ssdlab.trace.info(path)
    assert (info.requests, info.writes, info.footprint_bytes) == (100, 100, 409_600)
    results = ssdlab.run(trace=path)
    assert results.host.write.requests == 100
    assert results.host.write.mean_us == pytest.approx(305.6, rel=0.1)  # 105.6 us bus, 200 us cell


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": ["erase"] * 100}, r"op\[0\] is 'erase'; the operations are read, write"),
        ({"sector": [-1] * 100}, r"sector\[0\] is -1, not a whole number"),
        ({"at_ns": [0.5] * 100}, r"at_ns\[0\] is 0.5, not a whole number"),
        ({"sectors": [8] * 99}, "column sectors has 99 rows, others 100"),
    ],
)
def test_arrays_that_are_no_trace(tmp_path, change, message):
    with pytest.raises(ssdlab.InputError, match=message):
        ssdlab.trace.write(tmp_path / "a.parquet", **(columns() | change))
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    return ssdlab.sweep(
        vary={"device.channels": [2, 4], "workload.read_share": [0.5, 1.0]},
        set={"device.blocks_per_plane": 64, "workload.requests": 300},
        minimize=["p99"],
        maximize=["iops"],
    )


@pytest.fixture(scope="module")
def compared(results):
    return ssdlab.compare(results, ssdlab.run(set={"workload.requests": 300}))


@pytest.mark.parametrize("answer", ["results", "swept", "compared", "costs", "cliff", "placed"])
def test_every_table_is_a_stream_of_arrow_that_polars_and_pandas_take(answer, request):
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    found = request.getfixturevalue("results" if answer in ANSWERS else answer)
    found = ANSWERS.get(answer, lambda it: it)(found)
    table = pyarrow.table(found)
    assert table.num_rows and table.equals(found.to_arrow())
    assert any(field.metadata for field in table.schema)
    assert isinstance(found.to_polars(), polars.DataFrame)
    assert len(found.to_polars()) == table.num_rows == len(found.to_pandas())


def test_columns_say_their_units(results, swept, compared):
    pytest.importorskip("pyarrow")
    schema = results.to_arrow().schema
    assert [schema.field(it).metadata for it in ("mean_us", "requests")] == [{b"unit": b"us"}, None]
    assert swept.to_arrow().schema.field("host.all.mean_us").metadata[b"unit"] == b"us"
    row = next(it for it in compared.to_arrow().to_pylist() if it["name"] == "host.all.mean_us")
    assert (row["unit"], row["a"]) == ("us", results.host.all.mean_us)


def test_sweeps_and_comparisons_have_figures(results, swept, compared):
    pytest.importorskip("matplotlib")
    assert [*swept.plot.by("device.channels").axes[0].get_lines()[0].get_xdata()] == [2, 4]
    assert swept.plot.heat_map("device.channels", "workload.read_share", "iops").axes
    assert "p99" in swept.plot.pareto().axes[0].get_xlabel()
    bars = compared.plot.differences().axes[0].patches
    assert compared["host.all.mean_us"].difference_percent in [bar.get_width() for bar in bars]
    lines = compared.plot.latency().axes[0].get_lines()[:2]
    assert [line.get_label()[0] for line in lines] == ["A", "B"]
    for words in (["device.channel"], ["device.channels", "x"]):
        with pytest.raises(ssdlab.InputError):
            swept.plot.by(*words)


def test_figures_are_drawn_onto_axes_of_the_caller(results, swept, compared):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    left, middle, right = figure.subplots(1, 3)
    assert results.plot.latency(ax=left, others=[results]) is figure
    assert [line.get_label()[0] for line in left.get_lines()[:2]] == ["A", "B"]
    swept.plot.by("device.channels", ax=middle)
    compared.plot.differences(ax=right)
    assert middle.get_lines() and right.patches


def test_representations_have_values(results, swept, compared):
    assert f"mean_us={results.host.read.mean_us:.6g}" in repr(results.host.read)
    assert "percentiles_us=<" in repr(results.host.read)
    assert repr(swept).startswith("<Sweep: 4 points of device.channels, workload.read_share, host.")
    assert f"({compared['host.all.mean_us'].difference_percent:+.2f} %)" in repr(compared)
    assert len(repr(compared)) < 2000
