"""Recipes of `ssdlab calibrate`: scripts for fio, and what is found of drives that are known.

What fio would have written is made of runs of the simulator. A served device is measured by fio
itself with the very scripts in the nightly tests.
"""

import json
import math
import random
import shutil
import subprocess

import fio_logs as fake
import pytest

import ssdlab as package
from ssdlab import InputError
from ssdlab.calibration import recipes
from ssdlab.calibration.recipes import numbers, span

#: A drive of 15.6 GB with a cache; its blocks are whole, so that times are its own.
CACHE, FOLD, BITS = 1_765_000_000, 1500e6, 3


@pytest.fixture(scope="module")
def cliff(tmp_path_factory):
    """A drive with an SLC cache, measured, and what the engine says of it."""
    directory = tmp_path_factory.mktemp("cliff")
    fake.cliff(directory, "samsung-980pro", {}, [0.3, 0.45, 0.6, 0.75, 0.9], CACHE, window_ms=20)
    found, notes, keys = fake.found("cliff", directory)
    return directory, found, notes, keys


def holds(quantity, value, rel=0.1):
    """Whether a quantity is as it should be, and says so of itself."""
    near = quantity["value"] == pytest.approx(value, rel=rel)
    return near and quantity["low"] <= quantity["value"] <= quantity["high"]


def test_the_cache_and_the_rates_of_a_known_drive_are_found(cliff):
    _, found, notes, keys = cliff
    # As long as folds go on beside the writes of the host.
    told = package.cliff("samsung-980pro", "300GB")
    fast, direct = told.phases[:2]
    assert holds(found["cache"], CACHE), found["cache"]
    assert holds(found["fast"], fast.bytes_per_s, 0.03), found["fast"]
    assert holds(found["direct"], direct.bytes_per_s, 0.05), found["direct"]
    assert holds(found["fold"], FOLD), (found["fold"], notes)
    assert keys["device.slc_cache.fold_rate"].endswith("MB/s")


def test_intervals_are_neither_empty_nor_wide(cliff):
    _, found, _, _ = cliff
    for name in ("cache", "direct", "fold"):
        width = (found[name]["high"] - found[name]["low"]) / found[name]["value"]
        assert 0 < width < 0.3, (name, found[name])


def test_a_drive_of_another_cache_and_fold_rate_is_found_too(tmp_path):
    keys = {
        "device.slc_cache.limit": "50GB",
        "device.slc_cache.fold_rate": "700MB/s",
        "device.slc_cache.fold_share": 0.0,
    }
    fake.cliff(
        tmp_path, "samsung-980pro", keys, [0.3, 0.45, 0.6, 0.75, 0.9], 50e9 / 64, window_ms=20
    )
    found, notes, _ = fake.found("cliff", tmp_path)
    assert holds(found["cache"], 50e9 / 64), found["cache"]
    assert holds(found["fold"], 700e6), (found["fold"], notes)
    assert holds(found["direct"], 2.0e9), found["direct"]


def test_a_drive_without_a_cache_has_no_cliff(tmp_path):
    fake.cliff(tmp_path, "samsung-980pro", {"device.slc_cache.dynamic": 0}, [], CACHE, window_ms=20)
    with pytest.raises(InputError, match="no SLC cache is seen"):
        fake.found("cliff", tmp_path)


def test_rests_that_say_nothing_are_named(cliff, tmp_path):
    directory, _, _, _ = cliff
    shutil.copytree(directory, tmp_path / "same")
    # As if each rest had been too short: the drive goes on where it was.
    for name in (f"again-{n}" for n in range(1, 6)):
        path = tmp_path / "same" / f"{name}_bw.1.log"
        lines = path.read_text().splitlines()
        tail = lines[len(lines) // 2].split(",")[1]
        ends = [line.split(",")[0] for line in lines]
        path.write_text("".join(f"{end},{tail}, 1, 0, 0\n" for end in ends))
        result = json.loads((tmp_path / "same" / f"{name}.json").read_text())
        amount = int(float(tail) * 1024 * float(ends[-1]) / 1000)
        result["jobs"][0]["write"]["io_bytes"] = amount
        (tmp_path / "same" / f"{name}.json").write_text(json.dumps(result))
    found, notes, keys = fake.found("cliff", tmp_path / "same")
    assert "fold" not in found and "cache" in found
    assert any("gave nothing back" in note for note in notes)
    assert any("Choose other PAUSES" in note for note in notes)
    assert "device.slc_cache.fold_rate" not in keys


@pytest.fixture(scope="module")
def aged(tmp_path_factory):
    """A drive whose data age, read at five ages."""
    directory = tmp_path_factory.mktemp("age")
    fake.age(directory, "tlc-client", {"device.media.model": "tlc-3d"}, [0, 7, 30, 90, 365])
    found, notes, _ = fake.found("age", directory)
    return directory, found, notes


@pytest.mark.nightly
def test_the_drift_of_a_known_drive_is_found(aged):
    _, found, notes = aged
    # 3.47 steps after a month at 30 C when new, with the power 0.4 of time.
    assert holds(found["drift_month"], 3.47), found["drift_month"]
    assert holds(found["power"], 0.4), found["power"]
    assert any("ssdlab retention" in note for note in notes)


def test_the_time_of_a_retry_is_found(aged):
    directory, found, _ = aged
    step = found["step"]["value"]
    # A sense, a transfer and a decoding of 20 us.
    assert step > 20
    latencies = [
        float(line.split(",")[1]) / 1000
        for line in (directory / "age-365d_lat.1.log").read_text().splitlines()
    ]
    # A closed form: mean = fresh + step x mean retries, which the engine knows.
    small = {"device.blocks_per_plane": 96, "device.capacity": "90GB"}
    on = small | {"device.media.model": "tlc-3d"}
    form = package.retention("tlc-client", "365d at 30C", set=on).form
    mean = sum(latencies) / len(latencies)
    expected = found["fresh"]["value"] + step * form["kept"]["mean_retries"]
    assert mean == pytest.approx(expected, rel=0.1)


def test_more_wear_is_seen_as_more_drift(tmp_path, aged):
    _, found, _ = aged
    keys = {"device.media.model": "tlc-3d", "device.media.cycles": 1500}
    fake.age(tmp_path, "tlc-client", keys, [0, 30, 90])
    worn, _, _ = fake.found("age", tmp_path)
    # k0 (1 + N / 1780)
    assert holds(worn["drift_month"], 3.47 * (1 + 1500 / 1780)), worn["drift_month"]
    assert worn["drift_month"]["low"] > found["drift_month"]["high"]


def spans(directory, mapped, hit_us=70.0, miss_us=45.0, scatter=0.01, sizes=None):
    """Results of random reads over spans, of a drive that maps so many bytes at once."""
    draw = random.Random(7)
    sizes = sizes or [64 << (20 + n) for n in range(10)]
    for size in sizes:
        mean = (hit_us + (1 - min(1, mapped / size)) * miss_us) * draw.gauss(1, scatter)
        latency = {"mean": mean * 1000, "stddev": 20e3, "N": 10_000}
        job = {"jobname": "span", "job options": {"rw": "randread", "size": f"{size >> 20}m"}}
        job |= {"job_runtime": 20_000, "read": {"lat_ns": latency}}
        result = {"fio version": "fio-3.33", "timestamp_ms": 10**12, "jobs": [job]}
        (directory / f"span-{size >> 20}m.json").write_text(json.dumps(result))


@pytest.mark.parametrize("mib", [150, 700, 2048, 9000])
def test_the_memory_for_the_map_is_found(tmp_path, mib):
    spans(tmp_path, mib << 20)
    found, _, keys = fake.found("span", tmp_path)
    assert holds(found["memory"], (mib << 20) / 1024), found["memory"]
    assert holds(found["hit"], 70.0, 0.03) and holds(found["miss"], 45.0)
    assert "device.map.memory" in keys


def test_settings_of_the_map_change_what_its_memory_is(tmp_path):
    spans(tmp_path, 1 << 30)
    plain, _, _ = fake.found("span", tmp_path)
    wide, _, _ = fake.found("span:entry=8,unit=16384", tmp_path)
    assert wide["memory"]["value"] == pytest.approx(plain["memory"]["value"] / 2)


def test_a_drive_with_all_of_its_map_has_no_knee(tmp_path):
    spans(tmp_path, 1 << 40, scatter=0.002)
    with pytest.raises(InputError, match="the whole map is in memory"):
        fake.found("span", tmp_path)


@pytest.mark.nightly
def test_a_slowed_clock_is_divided_out(tmp_path, aged):
    directory, found, _ = aged
    slowed, _, _ = fake.found("age", directory, time_scale=4.0)
    assert slowed["step"]["value"] == pytest.approx(found["step"]["value"] / 4)
    assert slowed["drift_month"]["value"] == pytest.approx(found["drift_month"]["value"])


# Arithmetic


def test_stretches_are_found_where_the_rate_changes():
    draw = random.Random(3)
    levels = [(40, 400.0), (90, 150.0), (70, 60.0)]
    samples = [
        (0.25, rate * 0.25 * draw.gauss(1, 0.1)) for count, rate in levels for _ in range(count)
    ]
    assert numbers.stretches(samples, 3, 1.2, 3) == [(0, 40), (40, 130), (130, 200)]
    # One level is one stretch, however many are allowed.
    assert numbers.stretches(samples[:40], 3, 1.2, 3) == [(0, 40)]


def test_the_slope_of_a_line_lies_in_its_interval():
    draw, within = random.Random(5), 0
    for _ in range(200):
        x = [1.0, 2.0, 3.0, 4.0, 5.0]
        y = [2 + 3 * it + draw.gauss(0, 1) for it in x]
        within += abs(numbers.line(x, y)[1] - 3) <= numbers.slope_interval(x, y)
    assert 180 <= within <= 200


# The command


def test_scripts_are_printed_and_written(ssdlab, tmp_path):
    for name in recipes.NAMES:
        printed = ssdlab("calibrate", "--recipe", name).stdout
        where = tmp_path / name
        ssdlab("calibrate", "--recipe", name, "--out", where)
        files = {path.name: path.read_text() for path in where.iterdir()}
        assert set(files) == {f"{name}.md", f"{name}.sh", f"{name}.fio"}
        for text in files.values():
            assert text in printed
        assert "LOST" in files[f"{name}.md"], "it says that data are lost"
        assert subprocess.run(["sh", "-n", where / f"{name}.sh"]).returncode == 0
        # Written again they replace themselves, and nothing of anybody else.
        ssdlab("calibrate", "--recipe", name, "--out", where)


def test_a_script_that_erases_wants_that_said(tmp_path):
    recipes.write("cliff", 10**12, tmp_path)
    words = ["sh", str(tmp_path / "cliff.sh")]
    assert subprocess.run(words, capture_output=True, text=True).returncode != 0
    asked = subprocess.run([*words, "/dev/null"], capture_output=True, text=True)
    assert asked.returncode == 2 and "all data on /dev/null will be lost" in asked.stderr


def test_fio_understands_the_scripts(tmp_path):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    target = tmp_path / "target"
    target.write_bytes(bytes(1 << 20))
    variables = {
        "TARGET": str(target),
        "STAGE": "x",
        "COPY": "99",
        "RAMP": "1s",
        "SECONDS_EACH": "1s",
        "OFFSET": "0",
        "SPACING": "1k",
        "SIZE": "1k",
        "BURST": "1m",
        "UNIT": "4k",
        "READS": "9",
        "WRITES": "9",
        "SPARE": "4%",
    }
    for name in recipes.NAMES:
        recipes.write(name, 4 * 10**9, tmp_path)
        words = ["fio", "--parse-only", str(tmp_path / f"{name}.fio")]
        done = subprocess.run(
            words, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **variables}
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_prints_what_was_found(ssdlab, cliff):
    directory, found, _, _ = cliff
    text = " ".join(ssdlab("calibrate", directory, "--fit", "cliff").stdout.split())
    assert "device.slc_cache.limit" in text and "cache" in text and "95 %" in text
    out = json.loads(ssdlab("calibrate", directory, "--fit", "cliff", "--json", "-").stdout)
    assert out["recipe"]["found"]["cache"] == found["cache"]
    assert out["kind"] == "cliff"


def test_it_is_found_from_python_too(cliff, tmp_path):
    directory, found, _, _ = cliff
    calibration = package.calibrate(directory, fit=["cliff"])
    assert calibration.recipe.found.cache.value == found["cache"]["value"]
    with pytest.raises(InputError, match="finds keys of a device, and no device"):
        calibration.save(tmp_path / "device.toml")
    with pytest.raises(InputError, match="stands alone"):
        package.calibrate(directory, fit=["cliff", "age"])


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--recipe", "slope"], "'slope' is not one of 'cliff', 'span', 'age', 'layout'"),
        (["here", "--recipe", "age"], "TARGET here has no effect with --recipe"),
        (["--recipe", "age", "--kind", "linear"], "--kind has no effect with --recipe"),
        (["--recipe", "span", "--capacity", "1"], "--capacity"),
        (["--recipe", "span", "--capacity", "100MB"], "too small for 6 spans"),
        (["--capacity", "1TB", "here"], "there is no --recipe"),
        ([], "TARGET is missing"),
        (["here", "--fit", "cliff"], "the directory in which its scripts were run"),
        (["here", "--fit", "cliff", "--out", "x.toml"], "--out has no effect with --fit cliff"),
        (["here", "--fit", "cliff", "--fit", "age"], "stands alone"),
        ([".", "--fit", "cliff:cells=3"], 'no setting "cells"; there are: bits'),
        ([".", "--fit", "cliff:bits=many"], 'bits is "many"; it must be a number above 0'),
        ([".", "--fit", "age:bits=3"], 'no setting "bits"; there are: none'),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_right(refused, words, part):
    assert part in refused("calibrate", *words)


@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        (lambda at: (at / "fill.json").unlink(), "fill.json: is not there"),
        (lambda at: (at / "fill_bw.1.log").unlink(), "there is no fill_bw.1.log"),
        (lambda at: (at / "fill_bw.1.log").write_text("250, many, 1\n"), "line 1: not a line"),
        (lambda at: (at / "fill_bw.1.log").write_text("250, 400, 1\n"), "1 samples, too few"),
        (lambda at: (at / "fill_bw.1.log").write_bytes(b"\xff\xfe"), "it is no text"),
        (lambda at: cut_in_half(at / "fill_bw.1.log"), "both files must be of the same run"),
        (lambda at: turned_back(at / "fill_bw.1.log"), "its times go back"),
    ],
)
def test_bad_files_are_refused(cliff, tmp_path, spoil, part):
    directory, _, _, _ = cliff
    shutil.copytree(directory, tmp_path / "bad")
    spoil(tmp_path / "bad")
    with pytest.raises(InputError, match=".*") as refusal:
        recipes.fit("cliff", tmp_path / "bad")
    assert part in str(refusal.value)


def cut_in_half(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))


def turned_back(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[::-1]))


def test_ages_without_retries_or_without_fresh_data_are_refused(aged, tmp_path):
    directory, _, _ = aged
    for kept, part in (("age-30d", "age-0d.json"), ("age-0d", "and an older one")):
        shutil.rmtree(tmp_path / "few", ignore_errors=True)
        (tmp_path / "few").mkdir()
        for path in directory.glob(f"{kept}*"):
            shutil.copy(path, tmp_path / "few")
        with pytest.raises(InputError) as refusal:
            recipes.fit("age", tmp_path / "few")
        assert part in str(refusal.value)
    for path in directory.glob("age-0d*"):
        shutil.copy(path, tmp_path / "few" / path.name.replace("0d", "9d"))
    with pytest.raises(InputError, match="no age shows retries"):
        recipes.fit("age", tmp_path / "few")


def test_the_spans_of_a_script_reach_from_the_smallest_to_all(tmp_path):
    text = span.scripts(10**12)["span.fio"]
    sizes = [
        int(line[5:-1])
        for line in text.partition("[span-")[2].splitlines()
        if line.startswith("size=")
    ]
    assert sizes[0] == 64 and sizes[-1] == 10**12 >> 20
    assert all(math.log2(b / a) <= 1.001 for a, b in zip(sizes, sizes[1:], strict=False))
