"""`ssdlab pts`: SNIA's tests on a small drive, its rule of steady state, and fio beside it."""

import json
import os
import shutil
import subprocess

import pytest
from browser import BROWSER, Browser

from ssdlab import Experiment, InputError, layers, run
from ssdlab.charts import matplotlib
from ssdlab.pts import Report, chosen, figures, jobs, measured, plan, report, sentences, simulate
from ssdlab.pts import run as run_tests
from ssdlab.pts.outcome import Measure, Outcome
from ssdlab.pts.steady import Window, windows

#: A part of the PM9A3 of 16 blocks a plane: 74,000 pages, overwritten in a moment.
SMALL = {"device.blocks_per_plane": 16, "device.capacity": "15GB"}
SETS = [f"--set={key}={value}" for key, value in SMALL.items()]
MINUTE = 4e-3


def report_of(words, minute=MINUTE, **how):
    """The tests of these words on the small drive."""
    found = Report("samsung-pm9a3", chosen(words))
    for _ in run_tests(found, layers.from_assignments(SMALL), minute=minute, **how):
        pass
    return found


@pytest.fixture(scope="module")
def found():
    return report_of(None, most_rounds=5)


@pytest.mark.parametrize(
    ("values", "excursion", "slope", "is_steady"),
    [
        # Means of 100. Slopes are the sum of (-2, -1, 0, 1, 2) x values / 10, over four rounds.
        ((100, 110, 90, 100, 100), 0.20, 0.04, True),
        ((100, 111, 89, 100, 100), 0.22, 0.044, False),
        ((97, 98, 100, 102, 103), 0.06, 0.064, True),
        ((94, 97, 100, 103, 106), 0.12, 0.12, False),
        ((106, 103, 100, 97, 94), 0.12, 0.12, False),
    ],
)
def test_the_rule_is_that_of_the_specification(values, excursion, slope, is_steady):
    window = Window(3, values)
    assert (window.excursion, window.slope) == pytest.approx((excursion, slope))
    assert (window.is_steady, window.last) == (is_steady, 7)


def test_four_rounds_are_no_window():
    assert not Window(1, (100, 100, 100, 100)).is_steady


def test_all_figures_must_be_steady_in_one_window():
    falling = [900, 500, 300, 110, 105, 100, 100, 98, 99]
    level = [7.0] * 9
    both = windows({"a": falling, "b": level})
    # From the fourth round on the line falls by 11.6 of 102.6.
    assert (both["a"].first, both["b"].first) == (5, 5)
    assert windows({"b": level}, skipped=2)["b"].first == 3
    # None is steady: the last is reported.
    assert windows({"a": falling[:6]})["a"].first == 2


def test_the_table_has_the_loads_of_the_specification():
    tests = plan.TESTS
    assert len(tests["iops"].round) == 56
    assert {it.mix for it in tests["latency"].round} == {"100/0", "65/35", "0/100"}
    assert {(it.size, it.is_random) for it in tests["throughput"].round} == {
        ("128 KiB", False),
        ("1 MiB", False),
    }
    assert all(it.outstanding == 1 for it in tests["latency"].round)
    assert sum(it.reads > 0 for it in tests["dirth"].round) == 49
    assert [it.rest for it in tests["hir"].after if it.rest] == [5, 10, 15, 25, 50]
    for test in tests.values():
        names = [it.name for it in (*test.round, *test.after)]
        assert len(set(names)) == len(names)
        assert {*test.tracked} <= {*names}


def test_a_purged_array_has_no_data_on_its_members():
    keys = {"kind": "array", "member": {"kind": "ssd", "wear": {}}, "spare": {"kind": "disk"}}
    assert simulate._purged(keys) == {"member": {"fill": "empty"}}


def test_small_blocks_and_reads_have_more_requests(found):
    iops = found.simulated["iops"]
    assert len(iops.rounds) == 5
    by_size = [iops.mean(f"rw100-bs{plan.size_word(it)}", "iops") for it in plan.BLOCKS[:-1]]
    assert by_size == sorted(by_size)
    by_mix = [iops.mean(f"rw{it}-bs4k", "iops") for it in plan.MIXES]
    assert by_mix == sorted(by_mix, reverse=True)


def test_throughput_is_that_of_the_sheet(found):
    outcome = found.simulated["throughput"]
    assert outcome.mean("read-bs128k", "mb_per_s") == pytest.approx(6500, rel=0.1)
    assert outcome.mean("write-bs1m", "mb_per_s") == pytest.approx(1500, rel=0.3)


def test_latency_is_of_one_request_at_a_time(found):
    outcome = found.simulated["latency"]
    for load in outcome.test.round:
        for one in (it for each in outcome.rounds for it in each[load.name]):
            assert one.iops == pytest.approx(1e6 / one.mean_us, rel=0.1)
            assert one.max_us >= one.mean_us
    assert outcome.mean("rw100-bs8k", "mean_us") > outcome.mean("rw100-bs4k", "mean_us")
    # The rest of a page is read before a part of it is written.
    assert outcome.mean("rw0-bs512", "mean_us") > 2 * outcome.mean("rw0-bs4k", "mean_us")


def test_a_purged_drive_slows_down_as_it_is_written():
    curve = report_of("wsat", most_rounds=15).simulated["wsat"].curve()
    assert len(curve) in (50, 75)
    assert curve[24][0] == pytest.approx(15e9, rel=0.05), "bytes are of the whole drive"
    # It has no data: cleaning begins when as much is written as there is flash. The buffer takes
    # the first writes.
    fast, slow = curve[1:25], curve[29:]
    assert min(it[1] for it in fast) > 0.9 * max(it[1] for it in fast)
    assert max(it[1] for it in slow) < 0.7 * fast[0][1]


@pytest.mark.parametrize("test", plan.TESTS.values(), ids=plan.TESTS)
def test_as_many_rounds_as_are_simulated_go_into_a_workload(test):
    most = simulate.simulated_rounds(test)
    text = jobs.simulated(test, most, 0.02, [*test.round, *test.after])
    Experiment(device="samsung-pm9a3", workload={"kind": "fio", "job": text})
    assert most >= 5


def test_demand_brings_requests_until_the_knee(found):
    outcome = found.simulated["dirth"]
    points = outcome.points()
    most, knee = (outcome.mean(points[it].name, "iops") for it in ("most", "knee"))
    assert points["least"].outstanding == 1
    assert knee >= 0.9 * most
    assert points["knee"].outstanding <= points["most"].outstanding
    assert outcome.mean("t32-q32", "mean_us") > 10 * outcome.mean("t1-q1", "mean_us")


def test_recoveries_are_told(found):
    first, last, _ = found.simulated["xsr"].recovery("sequential")
    assert first == pytest.approx(last, rel=0.3)
    rested = found.simulated["hir"].rested()
    assert [it[0] for it in rested] == [5, 10, 15, 25, 50]
    assert all(bursts > 0 and later > 0 for _, bursts, later in rested)


def test_a_longer_minute_has_more_requests(found):
    longer = report_of("throughput", 2 * MINUTE, most_rounds=5).simulated["throughput"]
    shorter = found.simulated["throughput"]
    for name in ("read-bs128k", "write-bs128k"):
        both = (it.rounds[0][name][0].requests for it in (longer, shorter))
        assert next(both) > 1.5 * next(both)


def test_blocks_below_the_logical_block_are_named_and_not_run():
    found = Report("samsung-pm9a3", chosen("latency"))
    changes = layers.from_assignments(SMALL | {"run.namespaces": "100% lba 4KiB"})
    for outcome in run_tests(found, changes, minute=MINUTE, most_rounds=5):
        assert [*outcome.refused] == ["rw100-bs512", "rw65-bs512", "rw0-bs512"]
        assert "rw0-bs512 (the drive's logical block is 4 KiB)" in sentences.refused(outcome)
        assert outcome.mean("rw0-bs512", "iops") is None
        assert outcome.mean("rw0-bs4k", "iops") > 0
        assert "not run" in report.page(found)


def test_rounds_are_bounded_and_go_on_until_they_are_steady():
    few = report_of("throughput", most_rounds=3).simulated["throughput"]
    assert (len(few.rounds), few.is_steady) == (3, False)
    assert "Not steady in 3 rounds" in sentences.steady(few)
    # Of so short a time each round is another.
    noisy = report_of("hir", 1e-5, most_rounds=8, seed=3).simulated["hir"]
    assert len(noisy.rounds) > 5


def test_every_figure_and_the_page_can_be_drawn(found):
    page = report.page(found)
    for test in plan.TESTS.values():
        assert f'id="{test.word}"' in page
    assert "Steady in rounds 1 to 5" in page
    outcomes = found.simulated
    drawn = [
        figures.convergence(outcomes["iops"]),
        figures.cells(outcomes["iops"]),
        figures.by_size(outcomes["iops"]),
        figures.saturation([("it", outcomes["wsat"])]),
        figures.demand(outcomes["dirth"]),
        figures.stimulus(outcomes["xsr"]),
        figures.rest(outcomes["hir"]),
    ]
    assert not any(it.empty() for it in drawn)
    # Of the kinds of figure that the page's own back end has drawn, one by the other.
    assert matplotlib.sheet([[figures.demand(outcomes["dirth"])]], "a chart")._repr_png_()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_cells_fit_a_telephone(found, tmp_path):
    (tmp_path / "pts.html").write_text(report.page(found))
    with Browser(tmp_path / "profile", width=390) as browser:
        browser.open((tmp_path / "pts.html").as_uri())
        table = "document.querySelector('.map').parentElement"
        browser.until(f"document.readyState === 'complete' && {table}.scrollWidth > 300")
        assert browser.run(f"{table}.scrollWidth <= {table}.clientWidth")
        assert browser.run(f"{table}.innerText.includes('k')")


def test_the_command_prints_tables_and_writes_numbers(ssdlab, tmp_path):
    words = ("pts", "samsung-pm9a3", "--only", "throughput", "--minute", "1ms", *SETS)
    done = ssdlab(*words, "--json", "it.json", "--out", "it.html")
    assert done.returncode == 0 and "Throughput" in done.stdout
    kept = json.loads((tmp_path / "it.json").read_text())
    assert kept["partial"] is False and [*kept["tests"]] == ["throughput"]
    assert (tmp_path / "it.html").read_text().startswith("<!doctype html>")


@pytest.mark.nightly
def test_the_whole_test_of_a_current_drive_is_steady_and_meets_its_sheet():
    found = Report("samsung-pm9a3", chosen(None))
    outcomes = {it.test.word: it for it in run_tests(found)}
    # Random writes leave places without data for more than four drive writes.
    assert all(
        it.is_steady or it.test.word == "wsat" for it in outcomes.values() if it.test.tracked
    )
    iops = outcomes["iops"]
    assert iops.mean("rw100-bs4k", "iops") == pytest.approx(580e3, rel=0.05)
    # SSD-iq measured 76.5 K/s beside reads.
    assert iops.mean("rw0-bs4k", "iops") == pytest.approx(76.5e3, rel=0.05)
    assert outcomes["throughput"].mean("read-bs128k", "mb_per_s") == pytest.approx(6500, rel=0.02)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The job files of all tests."""
    place = tmp_path_factory.mktemp("pts") / "jobs"
    jobs.write(place, [*plan.TESTS.values()])
    return place


def test_our_own_reader_takes_the_jobs(folder):
    for path in folder.glob("*.fio"):
        load = {"kind": "fio", "path": str(path), "requests": 3}
        results = run(device="null", workload=load, set={"device.size": "1GB"})
        assert results.host.all.requests == 3, path
        assert f"[{next(iter(results.classes))}]" in path.read_text()


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_takes_the_jobs(folder):
    for name in ("iops", "wsat", "xsr-sequential", "hir-rest50"):
        path = folder / f"{name}.fio"
        words = ["fio", "--parse-only", str(path)]
        done = subprocess.run(
            words, env={**os.environ, "DEVICE": "/dev/null"}, capture_output=True, timeout=60
        )
        assert done.returncode == 0, (path, done)


def test_the_script_is_one_of_a_shell(folder):
    assert subprocess.run(["sh", "-n", folder / "run.sh"], timeout=60).returncode == 0


def of_fio(test, factor):
    """What fio would write of a round: each load `factor` times as fast as 1,000 requests/s."""
    listed = []
    for load, _, name in plan.places(test.round, test, True):
        sides = {}
        for word, share in (("read", load.reads / 100), ("write", 1 - load.reads / 100)):
            iops = 1000 * factor * share
            sides[word] = {
                "total_ios": round(60 * iops),
                "io_bytes": round(60 * iops) * load.block,
                "iops": iops,
                "bw_bytes": iops * load.block,
                "lat_ns": {"mean": 1e6 / factor, "max": 2e6 / factor},
            }
        listed.append({"jobname": name, "error": 0, **sides})
    return json.dumps({"fio version": "fio-3.33", "jobs": listed})


def test_what_fio_measured_is_read_back_cell_by_cell(tmp_path, ssdlab):
    test = plan.TESTS["throughput"]
    for number in (1, 2, 3, 4, 5):
        name = f"throughput-{number:02}.json"
        (tmp_path / name).write_text(of_fio(test, 2 if number < 5 else 3))
    outcome = measured.load(tmp_path)["throughput"]
    mean = (4 * 2000 + 3000) / 5 * 131072 / 1e6
    assert outcome.mean("read-bs128k", "mb_per_s") == pytest.approx(mean)
    assert outcome.windows["read-bs128k"].excursion == pytest.approx(1000 / 2200)
    assert not outcome.is_steady
    words = ("pts", "samsung-pm9a3", "--minute", "1ms", *SETS, "--measured", tmp_path)
    done = ssdlab(*words, "--out", "it.html", "--json", "it.json")
    assert done.returncode == 0 and "measured" in done.stdout
    kept = json.loads((tmp_path / "it.json").read_text())
    assert [*kept["tests"]] == [*kept["measured"]] == ["throughput"]
    assert "cell by cell" in (tmp_path / "it.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("samsung-pm9a3", "--only", "iops,nothing"), "there is no such test; tests: iops"),
        (("no-such-drive",), "no-such-drive"),
        (("wd-zn540",), "zones are written in order"),
        (("samsung-pm9a3", "--minute", "5"), "unit"),
        (("samsung-pm9a3", "--measured", "."), "no result of a test"),
        (("samsung-pm9a3", "--measured", "absent"), "is no folder"),
        (("--jobs", "it", "--out", "it.html"), "takes --only alone"),
        (("--jobs", "it", "--set", "device.scale=8"), "takes --only alone"),
        (("scsi-15k",), "the tests are of solid-state drives"),
        (("null",), "the tests are of solid-state drives"),
        (("samsung-pm9a3", "--set", "device.no_key=1"), "no_key"),
        ((), "missing DEVICE"),
    ],
)
def test_bad_input_is_one_message(refused, arguments, message):
    assert message in refused("pts", *arguments)


def test_a_job_file_of_somebody_else_is_kept(ssdlab, refused, tmp_path):
    words = ("pts", "--jobs", "jobs", "--only", "latency")
    assert ssdlab(*words).stdout.split() == ["jobs/latency.fio", "jobs/run.sh"]
    assert ssdlab(*words).returncode == 0, "its own are replaced"
    mine = tmp_path / "jobs" / "run.sh"
    mine.write_text("mine")
    assert "run.sh: is there already" in refused(*words)
    assert mine.read_text() == "mine"


def test_results_that_are_not_of_the_test_are_refused(tmp_path):
    path = tmp_path / "latency-01.json"
    path.write_text(of_fio(plan.TESTS["throughput"], 1))
    with pytest.raises(InputError, match='job "read-bs128k" is not of this test'):
        measured.load(tmp_path)
    path.write_text(path.read_text().replace('"iops"', '"none"').replace("read-bs128k", "rw0-bs4k"))
    with pytest.raises(InputError, match="is not JSON as fio writes it: no 'iops'"):
        measured.load(tmp_path)


def test_points_need_an_answer_in_time():
    slow = Measure(10, 5.0, 1.0, 1e6, 2e6, 0.0)
    outcome = Outcome(plan.TESTS["dirth"], [{it.name: [slow] for it in plan.TESTS["dirth"].round}])
    assert outcome.points() == {}
    assert sentences.of(outcome)[0] == "No load was answered within 5.00ms in the mean."


def test_an_interruption_keeps_the_tests_that_have_ended(ssdlab, monkeypatch, tmp_path):
    inner = simulate.Crew.run

    def interrupting(self, tests):
        yield from inner(self, tests[1:])
        raise KeyboardInterrupt

    monkeypatch.setattr(simulate.Crew, "run", interrupting)
    words = ("pts", "samsung-pm9a3", "--only", "iops,throughput", "--minute", "1ms", *SETS)
    done = ssdlab(*words, "--json", "it.json", "--out", "it.html")
    assert done.returncode == 130
    assert "1 of 2 tests have ended, the report is partial" in done.stderr
    assert "MB/s" in done.stdout
    kept = json.loads((tmp_path / "it.json").read_text())
    assert (kept["partial"], [*kept["tests"]]) == (True, ["throughput"])
    assert "It is partial" in (tmp_path / "it.html").read_text()


def test_tests_that_run_end_at_an_interruption(command, busy, interrupted, tmp_path):
    words = ["pts", "samsung-pm9a3", "--only", "iops", "--minute", "60s", *SETS]
    process = subprocess.Popen(
        [*command, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    busy(process)
    out, said = interrupted(process)
    assert (process.returncode, out) == (130, ""), said
    assert "interrupted; " in said
