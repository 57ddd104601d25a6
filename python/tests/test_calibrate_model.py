"""`ssdlab calibrate --fit model`: known keys are found again in what fio would say of them."""

import json

import pytest

import ssdlab
from ssdlab.results import outputs

pytest.importorskip("scipy")

SMALL = {"device.blocks_per_plane": 64, "device.over_provisioning": 0.2}
#: Depth, share of reads, whether at random, and size of each job.
JOBS = {
    "lone-reads": (1, 1.0, 1.0, "4KiB"),
    "reads": (64, 1.0, 1.0, "4KiB"),
    "stream": (8, 0.0, 0.0, "128KiB"),
    "lone-writes": (1, 0.0, 1.0, "4KiB"),
    "writes": (32, 0.0, 1.0, "4KiB"),
    "mixed": (16, 0.7, 1.0, "4KiB"),
}


def measured(tmp_path, keys, jobs=JOBS, requests=40_000):
    """What fio says of a drive with these keys, with another seed than that of the search."""
    found = []
    for name, (depth, reads, random, size) in jobs.items():
        workload = {
            "kind": "closed",
            "outstanding": depth,
            "read_share": reads,
            "random_share": random,
            "block_size": size,
            "requests": requests,
        }
        used = "random:1" if random and reads < 1 else "none"
        results = ssdlab.run(
            device="tlc-enterprise",
            workload=workload,
            set=SMALL | keys,
            seed=777,
            run={"precondition": used},
        )
        text = json.loads(outputs.fio(results))
        text["jobs"][0]["jobname"] = name
        found += text["jobs"]
    file = tmp_path / "fio.json"
    file.write_text(json.dumps({"fio version": text["fio version"], "jobs": found}))
    (tmp_path / "drive.toml").write_text(
        '[device]\npreset = "tlc-enterprise"\nblocks_per_plane = 64\nover_provisioning = 0.2\n'
    )
    return file


def number(text):
    return float("".join(it for it in text if it.isdigit() or it == "."))


@pytest.mark.nightly
def test_reads_tell_the_sensing_time(tmp_path):
    jobs = {name: JOBS[name] for name in ("lone-reads", "reads")}
    file = measured(tmp_path, {"device.timing.read": "75us"}, jobs, 3000)
    found = ssdlab.calibrate(file, device=str(tmp_path / "drive.toml"), fit=["model"])
    fit = found["fit"]
    total = number(fit["parameters"]["device.timing.read"])
    assert total == pytest.approx(75, rel=0.1)
    assert fit["errors_percent"]["p99"]["after"] < fit["errors_percent"]["p99"]["before"] / 2
    # Jobs that only read say nothing of programs, and the notes name them.
    assert any("device.timing.program" in note for note in found["notes"])
    again = ssdlab.calibrate(file, device=str(tmp_path / "drive.toml"), fit=["model"])
    assert again["fit"]["parameters"] == fit["parameters"]
    found.save(tmp_path / "mine.toml")
    ssdlab.Experiment(device=str(tmp_path / "mine.toml"))


@pytest.mark.nightly
def test_known_keys_are_found_within_a_tenth(tmp_path):
    true = {
        "device.timing.read": "70us",
        "device.timing.program": "2.2ms",
        "device.over_provisioning": 0.3,
        "device.suspend.program": "none",
        "device.suspend.erase": "none",
    }
    file = measured(tmp_path, true)
    found = ssdlab.calibrate(file, device=str(tmp_path / "drive.toml"), fit=["model"])["fit"]
    values = found["parameters"]
    assert values["device.suspend.program"] == "none"
    assert number(values["device.timing.read"]) == pytest.approx(70, rel=0.1)
    assert number(values["device.timing.program"]) == pytest.approx(2.2, rel=0.1)
    # A little less spare with a little shorter programs fits nearly as well.
    assert number(values["device.over_provisioning"]) == pytest.approx(0.3, rel=0.1)
    assert found["errors_percent"]["iops"]["after"] < 3
    assert found["errors_percent"]["p99"]["after"] < 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--fit model: --device names the drive to begin with"),
        (["--device", "agrawal2008"], "must be a drive of today, with a write buffer"),
        (["--device", "sata-2008"], "must be a drive of today, with a write buffer"),
        (["--device", "tlc-enterprise", "--fit", "timing.read=1us..2us"], "give no other --fit"),
        (["--device", "tlc-enterprise", "--plot", "x.png"], "--fit model has none"),
        (["--device", "tlc-enterprise", "--allow-code"], "--allow-code has no effect here"),
    ],
)
def test_what_cannot_be_fitted_is_refused(refused, tmp_path, words, said):
    job = {"jobname": "a", "job options": {"rw": "randread", "bs": "4k"}}
    job["read"] = {"total_ios": 10, "iops": 5, "io_bytes": 40960, "lat_ns": {"mean": 1000}}
    (tmp_path / "f.json").write_text(json.dumps({"fio version": "fio-3.36", "jobs": [job]}))
    assert said in refused("calibrate", "f.json", "--fit", "model", *words)


def test_a_job_that_is_no_pattern_is_refused(refused, tmp_path):
    job = {"jobname": "a", "job options": {"rw": "trim", "bs": "4k"}}
    (tmp_path / "f.json").write_text(json.dumps({"fio version": "fio-3.36", "jobs": [job]}))
    said = refused("calibrate", "f.json", "--device", "tlc-enterprise", "--fit", "model")
    assert 'job "a": rw=trim: a job of the model is one of read' in said
