import csv
import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import ssdlab
from ssdlab.sweeps import backends, run, space, table
from ssdlab.sweeps.space import Share

GRID = {"device.channels": "4,8", "run.seed": "1..3"}
# A tenth of a second or so for each point.
SLOW = {"device.blocks_per_plane": 64, "workload.requests": 100_000}


def threads():
    return ThreadPoolExecutor(2)


def bits(sweep):
    """The results of every point, without what a run took."""
    return [
        json.dumps(point.results.to_dict() | {"elapsed": None}, sort_keys=True) for point in sweep
    ]


@pytest.fixture
def quick(small):
    """A sweep in threads, which need no start."""

    def call(experiment=None, **arguments):
        arguments = {"set": small, "executor": threads()} | arguments
        return ssdlab.sweep(experiment, **arguments)

    return call


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("4,8,16", [4, 8, 16]),
        ("1..4", [1, 2, 3, 4]),
        ("2..16:*2", [2, 4, 8, 16]),
        ("1..8:3", [1, 4, 7]),
        ("0.05..0.2:0.05", [0.05, 0.1, 0.15, 0.2]),
        ("4KiB..32KiB:*2", ["4KiB", "8KiB", "16KiB", "32KiB"]),
        ("512B..2KiB:*2", ["512B", "1024B", "2048B"]),
        ("25us..0.1ms:25us", ["25us", "50us", "75us", "100us"]),
        ("0.5us..1.5us:0.5us", ["0.5us", "1us", "1.5us"]),
        ("1,4..6,true,die", [1, 4, 5, 6, True, "die"]),
        ("zipf(0.9),hot-cold(0.8, 0.2)", ["zipf(0.9)", "hot-cold(0.8, 0.2)"]),
        ('"4",4', ["4", 4]),
        ("footprint*0.5", [Share(0.5)]),
        ("footprint*0.5..1.5:0.5", [Share(0.5), Share(1.0), Share(1.5)]),
    ],
)
def test_values_and_ranges(spec, values):
    axis = space.from_option(f"device.channels={spec}")
    assert axis.values == values
    assert [type(value) for value in axis.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("device.chanels=4", ["unknown key", "did you mean device.channels?"]),
        ("device.channels", ["expected KEY=A,B,C"]),
        ("device.channels=", ["empty"]),
        ("device.channels=4,,8", ["empty"]),
        ("device.channels=8..1", ["8..1 is empty"]),
        ("device.channels=1..8:0", ["never reaches its end"]),
        ("device.channels=1..8:*1", ["never reaches its end"]),
        ("device.channels=1..x", ["1..x is no range", "a factor"]),
        ("cleaning.min_free=0.1..0.3", ["needs a step, such as 0.1..0.3:0.05"]),
        ("cleaning.min_free=5%..12%", ["needs a step, such as 5%..12%:1.75"]),
        ("device.timing.read=1us..4KiB", ["different things"]),
        ("kind=ssd,linear", ["could be device.ecc.kind, device.kind, workload.kind"]),
        ("device.channels=footprint*x", ["a share is a positive number"]),
    ],
)
def test_refused_axes(refused, option, words):
    message = refused("sweep", "--vary", option)
    assert all(word in message for word in [f"--vary {option.partition('=')[0]}", *words]), message


def test_refused_sweeps(refused, tmp_path):
    assert "nothing varies" in refused("sweep")
    assert "200,000 points are many; --yes" in refused("sweep", "--vary", "run.seed=1..200000")
    twice = ("--vary", "run.seed=1", "--vary", "run.seed=2")
    assert "given twice" in refused("sweep", *twice)
    axis = ("--vary", "device.channels=4,8")
    assert "--workers 0" in refused("sweep", *axis, "--workers", 0)
    assert ".parquet or .csv" in refused("sweep", *axis, "--out", "a.txt")
    assert "does not exist" in refused("sweep", *axis, "--out", "no/a.csv")
    assert "the percentiles are 50, 90" in refused("sweep", *axis, "--minimize", "p98")
    nearest = refused("sweep", *axis, "--minimize", "write_amplifcation")
    assert "did you mean flash.write_amplification?" in nearest
    assert "NAME<=NUMBER" in refused("sweep", *axis, "--constrain", "p99=5")
    assert "needs an objective" in refused("sweep", *axis, "--search", 3)
    assert "needs --vary" in refused("sweep", "--search", 3, "--minimize", "p99")
    value = refused("sweep", "--vary", "device.channels=4,x")
    assert value.startswith("ssdlab: --vary device.channels=x: ")
    assert "only a trace has a footprint" in refused("sweep", "--vary", "device.size=footprint*2")
    assert not list(tmp_path.iterdir())


def test_the_grid_is_every_combination_and_a_point_is_a_run(quick, small):
    found = quick(vary=GRID)
    assert [dict(point.parameters) for point in found] == [
        {"device.channels": channels, "run.seed": seed} for channels in (4, 8) for seed in (1, 2, 3)
    ]
    alone = ssdlab.run(set=small | {"device.channels": 8, "run.seed": 2})
    point = found[4].results
    assert point.experiment.to_dict() == alone.experiment.to_dict()
    assert point.host.to_dict() == alone.host.to_dict()
    assert found.columns["host.all.mean_us"][4] == alone.host.all.mean_us
    assert found.columns["error"] == [None] * 6


def test_a_preset_that_varies_goes_below_single_keys(quick):
    found = quick(vary={"workload": ["mixed", "random-read"]})
    assert [p.results.host.all.requests for p in found] == [2000, 2000]
    assert [p.results.host.write.requests > 0 for p in found] == [True, False]


def test_a_list_of_experiments(quick, tmp_path):
    file = tmp_path / "writes.toml"
    file.write_text("version = 1\n[workload]\nread_share = 0\n")
    found = quick([file, {"workload": {"read_share": 1.0}}])
    assert [p.parameters["experiment"] for p in found] == [str(file), 1]
    assert [p.results.host.read.requests for p in found] == [0, 2000]


def test_local_threads_and_a_cluster_give_the_same_bits(small, workers):
    distributed = pytest.importorskip("distributed")
    arguments = {"vary": GRID, "set": small}
    local = ssdlab.sweep(**arguments, workers=2)
    alone = ssdlab.sweep(**arguments, workers=1)
    in_threads = ssdlab.sweep(**arguments, executor=threads())
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        by_client = ssdlab.sweep(**arguments, executor=client)
        by_address = ssdlab.sweep(**arguments, executor=cluster.scheduler_address)
    assert len(set(bits(local))) == len(local)  # else equality says little
    for other in (alone, in_threads, by_client, by_address):
        assert bits(other) == bits(local)
        assert table.parquet(other.columns) == table.parquet(local.columns)


def test_what_contradicts_itself_is_found_before_anything_runs(small, monkeypatch):
    """A value that no point can use ends the sweep before its first point, whatever shows it."""
    monkeypatch.setattr(run, "_crew", lambda *_: pytest.fail("something ran"))
    for key, values, words in [
        # The shape of the drive.
        ("device.logical_page", ["4KiB", "3KiB"], "device.logical_page"),
        ("device.over_provisioning", [0.1, 28], "28%"),
        # A key without effect, though it has its default.
        ("device.suspend.limit", [8], "no effect"),
    ]:
        with pytest.raises(ssdlab.InputError, match=words):
            ssdlab.sweep(vary={key: values}, set=small, workers=1)


def test_one_switch_turns_suspension_off(quick):
    """Whatever the preset has of it gives way, and both points run."""
    found = quick(
        device="tlc-enterprise",
        vary={"device.suspend.program": ["none", "35us"]},
        set={"device.blocks_per_plane": 32, "device.spare_factor": 0.3, "workload.requests": 500},
    )
    suspend = [point.results.to_dict()["experiment"]["device"]["suspend"] for point in found]
    assert ["step" in keys for keys in suspend] == [False, True]


# A drive that is built, and a load that only the larger one of the two holds.
FAILING = ("--vary", "device.channels=2,8", "--vary", "workload.footprint=0.5,700MiB")


def test_a_point_that_fails_is_a_row(ssdlab, small_options, tmp_path):
    done = ssdlab("sweep", *small_options, *FAILING, "--out", "t.parquet", "--json", "-")
    assert done.returncode == 1, done.stderr
    points = json.loads(done.stdout)["points"]
    assert [point["results"] is None for point in points] == [False, True, False, False]
    assert "700MiB is more than" in points[1]["error"]
    first, last = done.stderr.splitlines()[-2:]
    assert first == f"ssdlab: {points[1]['error']}"
    assert last == '1 of 4 points failed; the first is above; "error" in t.parquet says why'
    assert ssdlab("report", "t.jsonl", "--out", "t.html").returncode == 0
    assert "1 of 4 points failed.</h1>" in (tmp_path / "t.html").read_text()


# With so little spare space, there is no room for cleaning so early.
UNBUILT = ("--vary", "device.spare_factor=0.01,0.15", "--vary", "cleaning.min_free=0.0,0.05")


def test_points_that_cannot_be_built_are_refused_before_the_first_runs(
    ssdlab, refused, small_options, tmp_path
):
    said = refused("sweep", *small_options, *UNBUILT, "--out", "t.csv")
    assert "device.spare_factor = 0.01" in said
    assert "1 of 4 points cannot be built; --skip leaves them out" in said
    assert not (tmp_path / "t.csv").exists()
    done = ssdlab("sweep", *small_options, *UNBUILT, "--skip", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["points"]) == 3


def test_repeated_seeds_have_means_and_intervals(quick, ssdlab, small_options, tmp_path):
    found = quick(vary={"device.channels": [2, 8]}, repeat=3, seed=5)
    assert found.columns["run.seed"] == [5, 6, 7] * 2
    again = quick(vary={"device.channels": [2, 8], "run.seed": [5, 6, 7]})
    assert bits(found) == bits(again)
    means = found.means()
    assert [len(it.rows) for it in means] == [3, 3]
    p99 = [it.figures["host.all.percentiles_us.99"] for it in means]
    assert p99[0].mean > p99[1].mean and p99[0].margin > 0
    options = ("--vary", "cleaning.policy=greedy,fifo", "--repeat", "3")
    done = ssdlab("sweep", *small_options, *options, "--out", "t.csv")
    assert "2 designs: mean and interval of 95 % over seeds" in done.stdout
    ssdlab("report", "t.jsonl", "--out", "t.html")
    page = (tmp_path / "t.html").read_text()
    assert "Dot: mean over 3 seeds; bar: the 95 % confidence interval." in page
    assert 'class="line r-A"' in page and "±" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repeat", "1"], "--repeat 1: from 2 to 1000 seeds"),
        (["--repeat", "3", "--vary", "run.seed=1..3"], "--repeat and --vary run.seed exclude"),
        (["--repeat", "3", "--search", "4", "--minimize", "p99"], "--repeat and --search exclude"),
    ],
)
def test_seeds_are_repeated_in_one_way(refused, small_options, words, said):
    assert said in refused("sweep", *small_options, "--vary", "device.channels=2,4", *words)


def test_values_of_no_use_are_all_named_before_anything_runs(ssdlab, small_options):
    done = ssdlab("sweep", *small_options, "--vary", "device.spare_factor=0.01,0.02,0.15")
    assert done.returncode == 2
    assert "device.spare_factor=0.01: " in done.stderr
    assert "device.spare_factor=0.02: " in done.stderr


def test_the_table_is_read_by_table_tools(quick, tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "t.parquet"
    found = quick(vary=GRID | {"device.pool": "package,die"}, out=path)
    means = found.columns["host.all.mean_us"]
    frame = pandas.read_parquet(path)
    assert list(frame["host.all.mean_us"]) == means
    assert frame["device.channels"].dtype == "int64"
    assert list(frame["device.pool"]) == found.columns["device.pool"]
    assert polars.read_parquet(path)["host.all.mean_us"].to_list() == means
    column = duckdb.sql(f"select \"host.all.mean_us\" from '{path}'").fetchall()
    assert [value for (value,) in column] == means
    assert found.to_pandas().equals(frame.astype(found.to_pandas().dtypes))
    assert found.to_arrow().column("run.seed").to_pylist() == found.columns["run.seed"]
    found.save(tmp_path / "t.csv")
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert [float(row["host.all.mean_us"]) for row in rows] == means


def test_finished_points_are_not_run_again(quick, tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    quick(vary={"run.seed": "1..3"}, out=path)
    first = (tmp_path / "t.jsonl").read_text().splitlines()
    ran = []
    add = ssdlab.sweeps.journal.Journal.add
    monkeypatch.setattr(
        "ssdlab.sweeps.journal.Journal.add",
        lambda self, point, outcome: (ran.append(point.parameters), add(self, point, outcome)),
    )
    # A line cut short, as by a power cut, does not count.
    (tmp_path / "t.jsonl").write_text("\n".join(first[:2]) + "\n" + first[2][:100])
    more = quick(vary={"run.seed": "1..4"}, out=path)
    assert sorted(point["run.seed"] for point in ran) == [3, 4]
    assert bits(more)[:3] == [
        json.dumps(json.loads(line)["results"] | {"elapsed": None}, sort_keys=True)
        for line in first
    ]


def test_a_changed_trace_is_run_again(quick, tmp_path):
    trace, out = tmp_path / "a.csv", tmp_path / "t.csv"
    lines = ["128166372003061629,host,0,Write,0,4096,0", "128166372013061629,host,0,Read,0,4096,0"]
    arguments = {"trace": trace, "vary": {"device.channels": [2, 4]}, "out": out, "set": {}}
    for count in (1, 2):
        trace.write_text("\n".join(lines[:count]) + "\n")
        if count > 1:
            with pytest.raises(ssdlab.InputError, match="another trace"):
                quick(**arguments)
        found = quick(**arguments, force=count > 1)
        assert found.columns["host.all.requests"] == [count, count]


def test_sizes_relative_to_the_footprint(quick, tmp_path):
    trace = tmp_path / "a.csv"
    mib = 1 << 20  # 1,024 requests of 1 MiB, each somewhere else
    rows = (f"{128166372003061629 + i},host,0,Write,{i * mib},{mib},0" for i in range(1024))
    trace.write_text("\n".join(rows) + "\n")
    vary = {"device.blocks_per_plane": "footprint*1..2:0.5"}
    found = quick(trace=trace, vary=vary, set={})
    name = "device.blocks_per_plane"
    assert found.columns[f"{name}.footprint_share"] == [1.0, 1.5, 2.0]
    for blocks, share in zip(
        found.columns[name], found.columns[f"{name}.footprint_share"], strict=True
    ):
        capacity = [
            ssdlab._core.capacity_bytes(ssdlab.running.layers_of(set={name: blocks - less}))
            for less in (0, 1)
        ]
        assert capacity[0] >= share * 1024 * mib > capacity[1]


def children(process):
    """The worker processes of a sweep."""
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"], capture_output=True, text=True
    )
    return [int(pid) for pid in found.stdout.split()]


@pytest.fixture
def start(command, tmp_path):
    """Starts a sweep of 16 slow points in two processes."""

    def call(*arguments):
        words = [*command, "sweep", "--workers", "2", "--vary", "run.seed=1..16"]
        words += [word for k, v in SLOW.items() for word in ("--set", f"{k}={v}")]
        return subprocess.Popen(
            [*words, *arguments],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    return call


def wait_for_points(path, count):
    until = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_worker_that_is_killed_loses_nothing(start, tmp_path):
    process = start("--out", "t.parquet", "--json", "-")
    wait_for_points(tmp_path / "t.jsonl", 2)
    os.kill(children(process)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    points = json.loads(out)["points"]
    assert [point["results"]["host"]["all"]["requests"] for point in points] == [100_000] * 16


def test_an_interrupted_sweep_goes_on(start, tmp_path, interrupted):
    journal = tmp_path / "t.jsonl"
    process = start("--out", "t.parquet")
    wait_for_points(journal, 3)
    workers = children(process)
    _, err = interrupted(process)
    assert process.returncode == 130
    done = int(re.search(r"interrupted after (\d+) points; t.jsonl keeps them", err)[1])
    assert "Traceback" not in err
    finished = journal.read_text().splitlines()
    assert len(finished) == done < 16
    assert not (tmp_path / "t.parquet").exists()
    until = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in workers):
        assert time.monotonic() < until, "a worker outlives its sweep"
        time.sleep(0.05)
    process = start("--out", "t.parquet")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    lines = journal.read_text().splitlines()
    assert len(lines) == 16
    assert set(finished) <= set(lines)  # with their elapsed times: not run again


def test_a_point_that_kills_its_workers_is_a_row(small, workers):
    plan = ssdlab.sweeps.plan
    points = plan.grid([plan.Base([])], [space.from_option("run.seed=1..4")], False)
    outcomes = {}

    class Deadly(backends._Process):
        def submit(self, point, check):
            if point.parameters["run.seed"] == 2:
                return self.call(os._exit, 1)
            return self.call(ssdlab.sweeps.work.version)

    with backends.local(2) as crew:
        for lane in crew._free:
            lane.__class__ = Deadly
        crew.run(points, False, lambda p, o: outcomes.update({p.parameters["run.seed"]: o}))
    assert outcomes.pop(2) == (None, "its worker process died 3 times, as when memory runs out")
    assert set(outcomes.values()) == {ssdlab.__version__}


def test_the_pareto_front(quick):
    rows = [
        {"a": 1.0, "b": 5.0},
        {"a": 2.0, "b": 2.0},
        {"a": 3.0, "b": 3.0},  # beaten by the one before
        {"a": 5.0, "b": 1.0},
        {"a": 2.0, "b": 2.0},  # as good as the second
        {"a": 0.0, "b": None},
    ]
    goals = table.goals(["a", "b"], [], [], ["a", "b"])
    assert goals.pareto(rows) == [True, True, False, True, True, False]
    goals = table.goals(["b"], ["a"], ["a<=4"], ["a", "b"])
    assert goals.pareto(rows) == [False, True, True, False, True, False]
    found = quick(vary={"device.channels": [2, 8, 4]}, minimize="mean_us")
    assert found.columns["pareto"] == [False, True, False]
    assert [point.parameters["device.channels"] for point in found.pareto] == [8]


def test_the_front_has_no_design_that_wins_by_chance_alone(quick):
    """Means over seeds with overlapping intervals are equal: one of them stands for both."""
    goals = table.goals(["a", "b"], [], [], ["a", "b"])
    rows = [
        {"a": 1.0, "a \u00b1": 0.1, "b": 5.0, "b \u00b1": 0.1},
        {"a": 0.95, "a \u00b1": 0.1, "b": 9.0, "b \u00b1": 0.1},  # a is better by chance
        {"a": 4.0, "a \u00b1": 0.1, "b": 2.0, "b \u00b1": 0.1},
    ]
    assert goals.pareto(rows) == [True, False, True]
    exact = [{name: value for name, value in row.items() if len(name) == 1} for row in rows]
    assert goals.pareto(exact) == [True, True, True]
    # A design is on the front with all of its seeds, or with none.
    found = quick(vary={"device.channels": [2, 8]}, repeat=3, minimize="mean_us")
    assert found.columns["pareto"] == [False] * 3 + [True] * 3


def test_a_search_finds_the_best_and_the_same_again(quick):
    pytest.importorskip("optuna")
    arguments = {
        "vary": {"device.channels": "1..8", "device.timing.read": "10us..50us"},
        "search": 20,
        "minimize": ["read.mean_us"],
        "maximize": ["iops"],
        "constraints": ["device.channels<=6"],
    }
    first = quick(**arguments)
    again = quick(**arguments, executor=ThreadPoolExecutor(1))
    assert first.columns == again.columns
    best = first.pareto[0].parameters
    assert best["device.channels"] in (5, 6)
    assert float(best["device.timing.read"].removesuffix("us")) < 30
    outside = [c for c in first.columns["device.channels"] if c > 6]
    assert len(outside) < len(first) / 2


def test_without_optuna_the_message_says_how_to_install_it(quick, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ssdlab.InputError, match=r"needs optuna: pip install 'ssdlab\[search\]'"):
        quick(vary={"device.channels": "1..8"}, search=3, minimize="p99")


def test_the_table_on_the_terminal(ssdlab, small_options):
    done = ssdlab("sweep", *small_options, "--vary", "device.channels=2,8", "--minimize", "p99")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "2 points"
    assert lines[2].split()[:2] == ["channels", "p99"]
    # Among the best, and marked: so short a run cleans nothing.
    assert lines[3].split()[0] == "8" and lines[3].split()[-2:] == ["yes", "1"]
    assert lines[6].startswith("! 1  nothing_cleaned, 2 of 2 points")
    assert done.stderr == ""
