"""Calibration from results: known devices are found again, and wrong input is refused."""

import io
import json
import math
import tarfile
from pathlib import Path

import pytest

import ssdlab as package
from ssdlab.calibration import regression
from ssdlab.results import outputs

#: Results of fio on a real disk, which lie beside the repository where there are any.
ARCHIVE = Path(__file__).parents[3] / "shared/traces/fio_sweep_local_disk.json.tar.zst"
SIZES = [512 << power for power in range(12)]
PATTERNS = {
    "seq_read": (1.0, 0.0),
    "rand_read": (1.0, 1.0),
    "seq_write": (0.0, 0.0),
    "rand_write": (0.0, 1.0),
}
#: The Zeus drive of the paper: A in us, B in us/KiB.
ZEUS = {
    "seq_read": (127.5, 4.005),
    "rand_read": (230.6, 3.987),
    "seq_write": (2167, 4.96),
    "rand_write": (770, 5.382),
}


def simulated(device, pattern, size, outstanding=1, requests=300):
    read_share, random_share = PATTERNS[pattern]
    workload = {
        "kind": "closed",
        "requests": requests,
        "outstanding": outstanding,
        "read_share": read_share,
        "random_share": random_share,
        "block_size": f"{size}B",
    }
    return package.run(device=device, workload=workload)


def sweep(folder, device, outstanding=(1,), sizes=SIZES, patterns=PATTERNS):
    """fio's form of the results of closed loops on a device."""
    folder.mkdir()
    for pattern in patterns:
        for size in sizes:
            for number in outstanding:
                results = simulated(device, pattern, size, number)
                name = f"{pattern}-{size}-{number}.json"
                (folder / name).write_text(outputs.fio(results))
    return folder


@pytest.fixture(scope="module")
def zeus(tmp_path_factory):
    return sweep(tmp_path_factory.mktemp("zeus") / "fio", "zeus-linear")


def test_a_known_device_is_found_again(zeus):
    found = package.calibrate(zeus)
    assert set(found.patterns) == set(ZEUS)
    for name, (a, b) in ZEUS.items():
        it = found.patterns[name]
        assert it.a_us == pytest.approx(a, rel=0.02)
        assert it.b_us_per_kib == pytest.approx(b, rel=0.02)
        assert it.r2 > 0.999
        assert it.p_value < 1e-15
        assert it.max_error_percent < 2
        assert [row.bytes for row in it.sizes] == SIZES
    assert not found.notes


@pytest.mark.parametrize("kind", ["linear", "piecewise", "parallel"])
def test_the_device_file_answers_as_what_was_measured(zeus, tmp_path, kind):
    file = tmp_path / "device.toml"
    package.calibrate(zeus, kind=kind).save(file)
    for pattern in PATTERNS:
        for size in (512, 8192, 1 << 20):
            mine = simulated(file, pattern, size).host.all.mean_us
            theirs = simulated("zeus-linear", pattern, size).host.all.mean_us
            assert mine == pytest.approx(theirs, rel=0.01)


def test_a_parallel_device_is_recognised_and_found_again(tmp_path):
    laws = "1: 100us + 1us/KiB, 2: 110us + 1.5us/KiB, 4: 130us + 3us/KiB"
    device = {"kind": "law", "random_read": laws}
    folder = sweep(tmp_path / "fio", device, (1, 2, 4), SIZES, ["rand_read"])
    found = package.calibrate(folder)
    it = found.patterns.rand_read
    assert it.better == "parallel"
    assert it.models.linear > 30 > 1 > it.models.parallel
    assert "--kind parallel" in found.notes[0]
    for number, (a, b) in {"1": (100, 1), "2": (110, 1.5), "4": (130, 3)}.items():
        assert it.outstanding[number].a_us == pytest.approx(a, rel=0.02)
        assert it.outstanding[number].b_us_per_kib == pytest.approx(b, rel=0.02)
    assert "2: 1" in package.calibrate(folder, kind="parallel").toml()


def test_a_piecewise_device_is_recognised(tmp_path):
    steps = "512B: 300us, 4KiB: 100us, 64KiB: 110us, 128KiB: 900us, 1MiB: 1ms"
    device = {"kind": "law", "random_read": steps}
    folder = sweep(tmp_path / "fio", device, (1,), SIZES, ["rand_read"])
    found = package.calibrate(folder)
    assert found.patterns.rand_read.better == "piecewise"
    again = tmp_path / "device.toml"
    package.calibrate(folder, kind="piecewise").save(again)
    for size in SIZES:
        mine = simulated(again, "rand_read", size).host.all.mean_us
        assert mine == pytest.approx(simulated(device, "rand_read", size).host.all.mean_us)


@pytest.mark.shared(f"traces/{ARCHIVE.name}")
def test_weights_by_relative_error_fit_a_real_disk_better():
    weighted, plain = package.calibrate(ARCHIVE), package.calibrate(ARCHIVE, weights="equal")
    assert weighted.conditions.files >= 144
    for name in PATTERNS:
        mine, other = weighted.patterns[name], plain.patterns[name]
        assert len(mine.sizes) == 12
        assert mine.mean_error_percent < other.mean_error_percent
        assert mine.mean_error_percent < 16
        assert mine.mean_error_percent_of_other_weights == pytest.approx(other.mean_error_percent)
        assert mine.better == "parallel"


def test_access_patterns_that_were_not_measured_are_named(tmp_path):
    folder = sweep(tmp_path / "fio", "zeus-linear", patterns=["rand_read"])
    text = package.calibrate(folder).toml()
    assert "# sequential_read: not measured; taken to be random_read" in text
    assert "# Not measured: writes" in text
    assert text.count("230.6us") == 2


def test_p_values_are_the_papers():
    # r^2 and p of El Maghraoui et al., with eleven sizes; r^2 is printed to few digits.
    for r2, p in [(0.999981, 1.39e-22), (0.99932, 1.45e-15), (0.999722, 2.54e-17)]:
        assert regression.p_value(r2, 9) == pytest.approx(p, rel=0.06)
    # Tables of Student's t: 2.228 at 10 degrees of freedom is 5 %, 12.706 at 1 as well.
    for t, degrees in [(2.228139, 10), (12.706205, 1), (1.962339, 1000)]:
        r2 = t * t / (t * t + degrees)
        assert regression.p_value(r2, degrees) == pytest.approx(0.05, rel=1e-4)
    assert regression.p_value(0.5, 0) is None
    assert regression.p_value(1, 5) == 0


def test_negative_parts_of_a_line_are_held_at_zero():
    sinking = regression.line([1, 2, 3], [30, 20, 10], "equal")
    assert (sinking.a, sinking.b) == (20, 0)
    steep = regression.line([1, 2, 3], [1, 4, 9], "equal")
    assert (steep.a, steep.b) == (0, pytest.approx((1 + 8 + 27) / 14))
    assert math.isclose(regression.line([1, 2], [3, 5], "relative").at(10), 21)


def result(**changes):
    """A result of fio as its JSON has it, with one job."""
    job = {
        "jobname": "j",
        "job options": {"rw": "randread", "bs": "4k", "iodepth": "1"},
        "read": {"total_ios": 10, "io_bytes": 40960, "lat_ns": {"mean": 1000.0}},
    }
    return {"fio version": "fio-3.33", "jobs": [job | changes]}


def test_options_of_fio_are_read_in_all_their_forms(tmp_path):
    for number, (size, text) in enumerate(
        [(4096, "4k"), (8192, "8KiB"), (512, "512"), (1 << 20, "1M")]
    ):
        job = result(
            read={"total_ios": 2, "io_bytes": 2 * size, "clat_ns": {"mean": 1e5 + size}},
        )
        job["global options"] = {"readwrite": "randread", "blocksize": text}
        job["jobs"][0]["job options"] = {}
        # fio prints its complaints first.
        (tmp_path / f"{number}.json").write_text("fio: a warning\n" + json.dumps(job))
    found = package.calibrate(tmp_path)
    sizes = [row.bytes for row in found.patterns.rand_read.sizes]
    assert sizes == [512, 4096, 8192, 1 << 20]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "not JSON"),
        ("{}", 'there is no "fio version"'),
        ('{"fio version": "x"}', 'there are no "jobs"'),
        (result(**{"job options": None}), 'no "job options"'),
        (result(**{"job options": {"rw": "randrw"}}), "rw=randrw"),
        (result(**{"job options": {"rw": "randread", "bs": "4k-8k"}}), "bs=4k-8k"),
        (result(**{"job options": {"rw": "randread", "bs": "8k"}}), "not bs=8k"),
        (result(read={}), "lacks a number that is needed ('total_ios')"),
        (result(read={"total_ios": 10, "io_bytes": 40960}), "lat_ns"),
        (result(read={"total_ios": 0, "io_bytes": 0, "lat_ns": {"mean": 0}}), "no request"),
        (result(), "no pattern has 3 sizes measured with 1 outstanding"),
    ],
)
def test_wrong_results_of_fio_are_refused(tmp_path, content, expected):
    file = tmp_path / "r.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(package.InputError) as refusal:
        package.calibrate(file, source="fio")
    assert expected in str(refusal.value)
    assert str(file) in str(refusal.value)


def test_the_median_leaves_late_answers_out(tmp_path, refused):
    for number, size in enumerate((4096, 8192, 65536)):
        clat = {"mean": 5000.0 + size, "percentile": {"50.000000": 900 + size}}
        read = {"total_ios": 2, "io_bytes": 2 * size, "lat_ns": {"mean": 5100.0 + size}}
        options = {"rw": "randread", "bs": str(size), "iodepth": "1"}
        job = result(**{"job options": options, "read": {**read, "clat_ns": clat}})
        (tmp_path / f"{number}.json").write_text(json.dumps(job))
    found = package.calibrate(tmp_path, statistic="median")
    assert found.patterns.rand_read.a_us == pytest.approx(1)
    assert package.calibrate(tmp_path).patterns.rand_read.a_us == pytest.approx(5.1)
    read = {"total_ios": 2, "io_bytes": 8192, "lat_ns": {"mean": 1.0}}
    (tmp_path / "0.json").write_text(json.dumps(result(read=read)))
    assert "lacks a number" in refused("calibrate", tmp_path, "--statistic", "median")


def test_archives_without_results_are_refused(tmp_path):
    with pytest.raises(package.InputError, match=r"no file in this directory is named \*.json"):
        package.calibrate(tmp_path)
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo("readme"), io.BytesIO())
    with pytest.raises(package.InputError, match="no file in this archive"):
        package.calibrate(archive)


def test_the_command_writes_what_it_says(zeus, tmp_path, ssdlab):
    out, picture, everything = (tmp_path / name for name in ("d.toml", "p.png", "all.json"))
    ran = ssdlab("calibrate", zeus, "--out", out, "--plot", picture, "--json", everything)
    assert ran.returncode == 0, ran.stderr
    assert "rand_write" in ran.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(everything.read_text())["patterns"]["rand_read"]["a_us"] > 200
    ran = ssdlab("calibrate", zeus, "--json", "-")
    keys = {"a_us", "b_us_per_kib", "r2", "p_value", "mean_error_percent", "max_error_percent"}
    assert keys <= set(json.loads(ran.stdout)["patterns"]["seq_read"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["missing"], "missing: cannot be read: No such file or directory"),
        (["FIO", "--write"], "is read as fio; nothing is measured"),
        (["FIO", "--out", "no/where.toml"], "the directory no does not exist"),
        (["FIO", "--fit", "timing.read=5us"], "expected LOW..HIGH"),
        (["FIO", "--fit", "timing.read=50us..5us"], "the bounds are reversed"),
        (["FIO", "--fit", "timing.raed=5us..50us"], "did you mean"),
        (["FIO", "--fit", "timing.read=5us..1ms"], "both bounds in one unit"),
        (["FIO", "--fit", "timing.read=5B..10B"], "not a time"),
        (["FIO", "--fit", "device.interleave=none,dice"], "did you mean"),
        (["FIO", "--device", "agrawal2008"], "there is no --fit"),
        (["FIO", "--kind", "lineal"], "lineal"),
        (["FIO", "--block-sizes", "4k"], "--block-sizes 4k: a size is a multiple of 512B"),
        (["FIO", "--outstanding", "4,2"], "--outstanding 4,2: expected rising"),
        (["FIO", "--plot", "picture"], "the extension says"),
    ],
)
def test_wrong_arguments_are_refused(zeus, tmp_path, refused, arguments, expected):
    message = refused("calibrate", *(zeus if word == "FIO" else word for word in arguments))
    assert expected in message
    assert not list(tmp_path.iterdir())
