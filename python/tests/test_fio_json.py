"""fio: job files by other names, jobs that a stonewall keeps apart, and what fio measured."""

import json

import pytest

import ssdlab as package

JOB = """
[global]
bs=4k
iodepth=4
size=4m
[writes]
rw=randwrite
[reads]
stonewall
rw=randread
"""
DRIVE = ("--device", "samsung-pm9a3")


@pytest.fixture(params=[".fio", ".job", ".ini"])
def job(request, tmp_path):
    path = tmp_path / f"it{request.param}"
    path.write_text(JOB)
    return path


def jobs(ssdlab, path):
    done = ssdlab("run", path.name, *DRIVE, "--format", "fio")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["jobs"]


def test_stonewalled_jobs_stay_apart_in_their_order_and_rates(ssdlab, job, tmp_path):
    writes, reads = jobs(ssdlab, job)
    assert [it["jobname"] for it in (writes, reads)] == ["writes", "reads"]
    assert [it["groupid"] for it in (writes, reads)] == [0, 1]
    assert writes["write"]["total_ios"] == 1024 == reads["read"]["total_ios"]
    assert writes["read"]["total_ios"] == 0 == reads["write"]["total_ios"]
    # By itself a job has the same rate: the time of the other is not in it.
    alone = tmp_path / "alone.fio"
    alone.write_text(JOB.partition("[reads]")[0])
    (found,) = jobs(ssdlab, alone)
    assert writes["write"]["iops"] == pytest.approx(found["write"]["iops"], rel=0.01)
    # Little's law: four outstanding.
    busy = reads["read"]["iops"] * reads["read"]["lat_ns"]["mean"] / 1e9
    assert busy == pytest.approx(4, rel=0.02)


def test_jobs_without_a_stonewall_are_one(ssdlab, tmp_path):
    (tmp_path / "it.fio").write_text(JOB.replace("stonewall\n", ""))
    assert len(jobs(ssdlab, tmp_path / "it.fio")) == 1


def test_what_fio_measured_is_compared_with_a_drive_under_the_same_jobs(ssdlab, job, tmp_path):
    done = ssdlab("run", job.name, *DRIVE, "--format", "fio")
    (tmp_path / "fio.json").write_text(done.stdout)
    ssdlab("run", job.name, *DRIVE, "--out", "simulated")
    said = ssdlab("compare", "fio.json", "simulated", "--json", "-")
    assert said.returncode == 0, said.stderr
    rows = {row["name"]: row for row in json.loads(said.stdout)["rows"]}
    for name in ("classes.reads.read.iops", "classes.writes.write.percentiles_us.99"):
        assert rows[name]["difference_percent"] == pytest.approx(0, abs=0.1)
    slower = package.Experiment(job, device="samsung-pm9a3", set={"device.timing.read": "90us"})
    found = package.compare(tmp_path / "fio.json", slower)
    assert found["classes.reads.read.mean_us"].difference > 30
    assert "classes.reads.read.iops" in {row.name for row in found.shown()}


def test_what_a_run_wrote_as_fio_names_its_load(ssdlab, job, tmp_path):
    done = ssdlab("run", job.name, *DRIVE, "--format", "fio")
    first, second = json.loads(done.stdout)["jobs"]
    common = {"bs": "4k", "iodepth": "4", "size": "4m"}
    assert first["job options"] == common | {"rw": "randwrite"}
    assert second["job options"] == common | {"stonewall": "", "rw": "randread"}
    (tmp_path / "fio.json").write_text(done.stdout)
    job.unlink()
    said = ssdlab("compare", "fio.json", "samsung-pm9a3", "--json", "-")
    assert said.returncode == 0, said.stderr
    rows = {row["name"]: row for row in json.loads(said.stdout)["rows"]}
    for name in ("classes.reads.read.iops", "classes.writes.write.percentiles_us.99"):
        assert rows[name]["difference_percent"] == pytest.approx(0, abs=0.1)


MEASURED = {
    "fio version": "fio-3.33",
    "jobs": [
        {
            "jobname": "a", "groupid": 0, "error": 0,
            "job options": {"rw": "randread", "bs": "4k", "iodepth": "2", "size": "2m",
                            "filename": "/dev/nvme0n1", "direct": "1", "ramp_time": "1s"},
            "read": {"total_ios": 10, "iops": 20000.0, "bw_bytes": 81920000,
                     "lat_ns": {"mean": 100000.0, "max": 300000, "min": 1},
                     "clat_ns": {"mean": 99000.0, "max": 300000,
                                 "percentile": {"50.000000": 90000, "99.000000": 250000}}},
        }
    ],
}  # fmt: skip


def test_a_preset_runs_the_jobs_of_the_measurement(ssdlab, tmp_path):
    (tmp_path / "fio.json").write_text(json.dumps(MEASURED))
    done = ssdlab("compare", "fio.json", "samsung-pm9a3", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["host.read.mean_us"]["a"] == 100.0
    assert rows["host.read.percentiles_us.99"]["a"] == 250.0
    assert rows["host.read.requests"]["b"] == 512, "2 MiB in blocks of 4 KiB"
    assert found["warnings"]["A"] == ["options of fio that are not simulated: ramp_time"]


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ('{"fio version": "x", "jobs": []}', [], "fio has measured no job"),
        ('{"fio version": "x", "jobs": [{}]}', [], "is not JSON as fio writes it: no 'jobname'"),
        ('{"fio version": "x"', [], "fio.json: not JSON"),
        (json.dumps(MEASURED), ["--repeat", 3], "results of fio cannot be run again"),
        (json.dumps(MEASURED), ["--plot", "a.png"], "fio's JSON has no distribution to draw"),
        (json.dumps(MEASURED).replace('"error": 0', '"error": 5'), [], "job a ended with error 5"),
    ],
)
def test_wrong_files_are_refused(text, words, said, refused, tmp_path):
    (tmp_path / "fio.json").write_text(text)
    assert said in refused("compare", "fio.json", "samsung-pm9a3", *words)


@pytest.mark.parametrize("words", ["run", "why", "report", "view", "sweep", "run --workload"])
def test_commands_that_take_no_results_of_fio_name_those_that_do(words, refused, tmp_path):
    (tmp_path / "fio.json").write_text(json.dumps(MEASURED))
    assert "`ssdlab ask FILE`" in refused(*words.split(), "fio.json")
