"""The smallest drive for a trace: what is found, that a plain run confirms it, what is refused."""

import doctest
import json
import random
import shlex
from pathlib import Path

import pytest

import ssdlab
from ssdlab import sizing
from ssdlab.charts import svg
from ssdlab.sizing import figures
from ssdlab.sizing.trial import Goal

#: A drive of 270 MB with a modern write path; its 512 superblocks are enough to tell evenness.
DRIVE = """
[device]
preset = "tlc-enterprise"
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 512
pages_per_block = 18
scale = 1
spare_factor = 0.12
cleaning.min_free = 0.02
"""


def recorded(path, touched=40_000, far=8 * 10**8, requests=50_000, gap_ns=200_000, reads=0.3):
    draw = random.Random(1)
    ssdlab.trace.write(
        path,
        at_ns=[n * gap_ns for n in range(requests)],
        op=["read" if draw.random() < reads else "write" for _ in range(requests)],
        sector=[8 * draw.randrange(touched) + far * (n % 9 == 0) for n in range(requests)],
        sectors=[8] * requests,
    )
    return path


@pytest.fixture
def given(tmp_path):
    (tmp_path / "drive.toml").write_text(DRIVE)
    return {"device": str(tmp_path / "drive.toml"), "trace": recorded(tmp_path / "it.parquet")}


def test_the_smallest_is_found_and_a_plain_run_confirms_it(given, ssdlab, tmp_path):
    words = ["--trace", given["trace"], "--device", given["device"], "--years", "0.0008"]
    done = ssdlab("size", *words, "--p99", "2ms", "--json", "it.json", "--out", "best.toml")
    assert done.returncode == 0, done.stderr
    assert "Addresses: scaled in chunks to drives of " in done.stdout
    assert "A sample: it hardly comes back" in done.stdout and "Not looped: " in done.stdout
    assert "Smallest: 1 drive with " in done.stdout and "Next best: 2 drives" in done.stdout
    found = json.loads((tmp_path / "it.json").read_text())
    best = found["best"]
    assert len(best["seeds"]) >= 3 and best["p99_us"]["mean"] <= 2000 and best["years"] >= 0.0008
    less = [it for it in found["tried"] if it["flash_bytes"] < best["flash_bytes"]]
    assert less and not any(it["meets"] for it in less), "it is the smallest"
    # One of its runs, by the command that is printed and by the file.
    assert found["command"] in done.stdout
    printed = shlex.split(found["command"])[1:]
    runs = [json.loads(ssdlab(*it, "--json", "-").stdout) for it in (printed, ["run", "best.toml"])]
    assert runs[0]["host"] == runs[1]["host"]
    p99, around = runs[0]["host"]["all"]["percentiles_us"]["99"], best["p99_us"]
    assert p99 == pytest.approx(around["mean"], rel=0.2)
    assert runs[0]["capacity_bytes"] == best["capacity_bytes"]


def test_each_goal_decides(given):
    def least(**goals):
        best = sizing.size(drives=1, **given, **goals).best
        return best and best.flash_bytes

    easy = least(years=0.0002)
    assert easy < least(years=0.0008)
    assert least(years=0.0002, p99="1us") is None
    assert least(years=0.0002, p999="1us") is None
    assert least(years=0.0002, capacity="500MB") > easy


def test_when_no_drive_suffices_the_reasons_are_given(given, ssdlab, tmp_path):
    words = ["size", "--trace", given["trace"], "--device", given["device"], "--drives", 1]
    done = ssdlab(*words, "--p99", "1us", "--years", 1)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "No design meets the goals: at its best (1 drive with " in said
    assert "p99 is " in said and ", not 1.00µs and lifetime is" in said and ", not 1 years" in said


@pytest.mark.parametrize("op", ["read", "trim"])
def test_a_drive_that_is_never_written_lasts_for_ever(given, ssdlab, tmp_path, op):
    n, quiet = 200, tmp_path / "quiet.parquet"
    import ssdlab as package

    package.trace.write(
        quiet, at_ns=[10**6 * i for i in range(n)], op=[op] * n, sector=[8 * i for i in range(n)],
        sectors=[8] * n,
    )  # fmt: skip
    asked = ["--device", given["device"], "--p99", "1s", "--drives", 1]
    done = ssdlab("size", "--trace", quiet, *asked)
    assert done.returncode == 0, done.stderr
    assert "lifetime unlimited under this trace" in " ".join(done.stdout.split())


def test_a_limit_is_kept_by_what_lasts_for_ever():
    forever = [float("inf")] * 3
    assert Goal("years", 5.0, at_least=True).kept(forever) is True
    assert Goal("p99_us", 5.0).kept(forever) is False


def test_writes_at_one_instant_have_no_rate(given, tmp_path):
    for requests, why in ((1, "it has one request"), (9, "requests arrive at the same instant")):
        path = recorded(tmp_path / f"{requests}.parquet", requests=requests, gap_ns=0, reads=0.0)
        with pytest.raises(ssdlab.InputError, match=f"{why}, so that it has no write"):
            sizing.size(path, device=given["device"], years=1.0)


def test_a_trace_of_two_requests_is_answered_and_said_to_be_short(given, tmp_path):
    """It takes longer to begin a trace than to send two requests: it is not begun for ever."""
    two = recorded(tmp_path / "two.parquet", requests=2, reads=0.0)
    found = sizing.size(two, device=given["device"], p99="1s", drives=1)
    assert found.best is not None and found.fit.loops <= 10_000
    words = " ".join(found.fit.words)
    assert "Short: the trace has 2 requests" in words and "overwritten twice at random" in words
    assert "Not judged: the lifetime" in words and [it.figure for it in found.goals] == ["p99_us"]
    long = sizing.size(given["trace"], device=given["device"], p99="1s", drives=1).fit.words
    assert not any(it.startswith("Short") for it in long)


def test_more_drives_where_one_has_no_room(given, tmp_path):
    wide = tmp_path / "wide.parquet"
    ssdlab.trace.write(
        wide, at_ns=[0, 10**9, 2 * 10**9], op=["write"] * 3, sector=[0, 10**6, 2 * 10**6],
        sectors=[200_000] * 3,
    )  # fmt: skip
    found = sizing.size(wide, device=given["device"], years=0.0002)
    assert found.fit.fewest_drives == 2 and found.best.design.drives == 2
    assert "device.kind=array" not in (found.command or "")  # of a file only --out can say it
    with pytest.raises(ssdlab.InputError, match=r"1 drives have .*: --capacity 1GB has room"):
        sizing.size(wide, device=given["device"], drives=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--p99", "2"], "--p99"),
        (["--p99", "2ms", "--drives", 0], "--drives 0: from 1 to 64"),
        (["--p99", "2ms", "--device", "null"], "kind law, not ssd"),
        (["--p99", "2ms", "--years", 0], "--years 0: more than 0"),
        (["--p99", "2ms", "--set", "device.over_provisioning=0.3"], "over_provisioning"),
    ],
)
def test_wrong_input_is_refused(refused, tmp_path, words, message):
    recorded(tmp_path / "it.parquet", requests=20)
    assert message in refused("size", "--trace", "it.parquet", *words)


def test_what_a_trace_leaves_open_is_asked_with_the_option(refused, tmp_path):
    (tmp_path / "it.trace").write_text("100 0 8 8 0\n200 0 16 8 1\n" * 20)
    said = refused("size", "--trace", "it.trace", "--p99", "2ms", "--set", "workload.format=mqsim")
    assert "add --set workload.time_unit=ns" in said


def test_what_cannot_be_told_is_not_said_to_be_kept():
    goal = Goal("p99_us", 100.0)
    assert goal.kept([50.0]) and goal.kept([200.0]) is False
    assert goal.kept([99.0]) is None, "a single seed near the limit"
    assert goal.kept([98.0, 102.0, 99.0]) is None
    assert goal.kept([98.0, 98.1, 98.2]) is True
    assert Goal("years", 5.0, at_least=True).kept([4.0, 4.0, 4.0]) is False


def test_a_lifetime_that_is_not_told_does_not_meet_what_another_design_misses(given, monkeypatch):
    own = sizing.Search.trial

    def trial(search, design):
        found = own(search, design)
        found.least_evenness = 0.0 if design.over_provisioning is None else 2.0
        return found

    monkeypatch.setattr(sizing.Search, "trial", trial)
    found = sizing.size(drives=1, **given)
    known = {it.mean("years") is not None for it in found.trials}
    assert known == {True, False} and found.best is None
    assert "(1 drive with 1" in found.because() and ", not 5 years" in found.because()


def test_the_figure_has_a_line_for_each_number_of_drives_and_the_goal(given):
    found = sizing.size(years=0.0001, p99="100ms", **given)
    drawn = figures.over_flash(found, "p99_us")
    assert [line.name for line in drawn.lines()] == ["1 drive", "2 drives", "goal"]
    assert svg.figure(drawn)


def test_examples_of_the_docs():
    for module in (sizing, ssdlab.units):
        found = doctest.testmod(module)
        assert found.attempted and not found.failed


def test_a_sample_of_a_wide_load_is_not_taken_for_a_small_one(given, tmp_path):
    """Five seconds of writes all over 4 TB, which touch 80 MB: cleaning is that of the load."""
    draw, n = random.Random(2), 20_000
    wide = tmp_path / "wide.parquet"
    ssdlab.trace.write(
        wide, at_ns=[i * 250_000 for i in range(n)], op=["write"] * n, sectors=[8] * n,
        sector=[8 * draw.randrange(10**9) for _ in range(n)],
    )  # fmt: skip

    def first(*assignments):
        asked = {"trace": wide, "drives": 1, "p99": "1s", "set": assignments}
        found = sizing.size(device=given["device"], **asked)
        return found.trials[0].known("amplification"), " ".join(found.fit.words)

    amplification, words = first()
    assert amplification > 2 and "A sample: " in words
    assert "touched of a span of 3.7" in words and "which are smaller" in words
    dense, words = first("workload.beyond=dense")
    assert dense < amplification and "workload.beyond=dense, as given" in words


@pytest.mark.shared("traces/msr_hm_0_sample1000.csv.zst")
def test_a_recorded_trace(given):
    trace = Path(__file__).resolve().parents[3] / "shared/traces/msr_hm_0_sample1000.csv.zst"
    small = given["device"]
    found = sizing.size(trace, p99="20ms", years=0.1, drives=1, device=small)
    assert found.best is not None and found.best.mean("years") > 0.1
