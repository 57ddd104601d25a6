"""The forms of other tools say what the results say, in those tools' units."""

import json

import pytest

import ssdlab
from ssdlab.results import outputs


@pytest.fixture(scope="module")
def results():
    return ssdlab.run(workload="mixed", set={"workload.requests": 3000})


def test_fio_s_json_has_its_units(results):
    job = json.loads(outputs.fio(results))["jobs"][0]
    read, stats = job["read"], results.host.read
    assert job["jobname"] == "agrawal2008 under mixed"
    assert read["total_ios"] == stats.requests
    assert read["io_bytes"] == stats.requests * 4096
    assert read["iops"] == stats.iops
    assert read["bw"] == pytest.approx(stats.mb_per_s * 1e6 / 1024, abs=1)
    assert read["clat_ns"]["mean"] == pytest.approx(stats.mean_us * 1000)
    assert read["clat_ns"]["percentile"]["99.000000"] == round(stats.percentiles_us["99"] * 1000)
    assert read["runtime"] == round(results.simulated_seconds * 1000)
    assert job["trim"]["total_ios"] == 0
    assert "percentile" not in job["trim"]["clat_ns"]


def test_diskspd_s_table_has_its_rows(results):
    lines = outputs.diskspd(results).splitlines()
    assert [line for line in lines if line.endswith("IO")] == ["Total IO", "Read IO", "Write IO"]
    total = lines[3].split("|")
    assert int(total[0]) == results.host.all.bytes
    assert int(total[1]) == results.host.all.requests
    assert float(total[4]) == pytest.approx(results.host.all.mean_us / 1000, abs=0.001)
    worst = next(line for line in lines if line.strip().startswith("max"))
    assert float(worst.split("|")[3]) == pytest.approx(results.host.all.max_us / 1000, abs=0.001)


def test_without_writes_their_column_is_not_available():
    results = ssdlab.run(workload="random-read", set={"workload.requests": 100})
    median = next(line for line in outputs.diskspd(results).splitlines() if "50th" in line)
    assert [cell.strip() for cell in median.split("|")][2] == "N/A"


@pytest.mark.parametrize("form", outputs.FORMS)
def test_the_command_prints_them(ssdlab, form):
    done = ssdlab("run", "--set", "workload.requests=100", "--format", form)
    assert done.returncode == 0
    assert ("jobs" in done.stdout) == (form == "fio")


def test_json_on_standard_output_stands_alone(ssdlab):
    done = ssdlab("run", "--json", "-", "--format", "fio")
    assert done.returncode == 2
    assert "exclude each other" in done.stderr
