"""`ssdlab run --requests`: a row for each request, all or none, and a trace again."""

import json
import subprocess

import pytest

import ssdlab as package

PARTS = ["host_queue_ns", "host_link_ns", "firmware_ns", "map_ns", "buffer_ns", "unit_wait_ns"]
PARTS += ["cleaning_wait_ns", "suspend_ns", "bus_ns", "cell_ns", "retry_ns", "rebuild_ns"]
PARTS += ["fast_device_ns", "backing_device_ns"]


def test_rows_say_what_the_results_say(tmp_path, small):
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "r.parquet"
    results = package.run(requests=file, set=small)
    rows = parquet.read_table(file).to_pylist()
    assert len(rows) == results.host.all.requests == 2000
    columns = ["arrival_ns", "op", "offset_bytes", "size_bytes", "start_ns", "end_ns", *PARTS]
    assert list(rows[0]) == [*columns, "status"]
    assert {row["status"] for row in rows} == {"ok"}
    latencies = [row["end_ns"] - row["arrival_ns"] for row in rows]
    assert latencies == [sum(row[part] for part in PARTS) for row in rows]
    assert abs(sum(latencies) / 2000 / 1000 - results.host.all.mean_us) < 1e-6
    assert sum(row["op"] == "read" for row in rows) == results.host.read.requests
    assert [row["arrival_ns"] for row in rows] == sorted(row["arrival_ns"] for row in rows)


def test_what_an_ended_drive_refused_has_its_status(tmp_path, small):
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "r.parquet"
    worn = small | {"device.wear.rated_cycles": 2, "run.precondition": "random:9"}
    host = package.run(requests=file, set=worn).host
    rows = parquet.read_table(file).to_pylist()
    refused = [row["op"] for row in rows if row["status"] == "read_only"]
    assert set(refused) == {"write"}
    assert (len(refused), len(rows) - len(refused)) == (host.all.failed, host.all.requests)


def test_the_record_is_a_trace(ssdlab, tmp_path, small_options):
    first = ssdlab("run", *small_options, "--requests", "r.parquet", "--json", "-")
    assert (first.returncode, first.stderr) == (0, "")
    device = small_options[:2]
    again = ssdlab("run", *device, "--trace", "r.parquet", "--json", "-")
    assert json.loads(first.stdout)["host"] == json.loads(again.stdout)["host"]


def test_what_cannot_be_written_is_refused_first(ssdlab, refused, tmp_path):
    assert "must end in .parquet" in refused("run", "--requests", "r.csv")
    assert "the directory" in refused("run", "--requests", "no/r.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_leaves_no_record(command, tmp_path, endless_options, busy, interrupted):
    words = [*command, "run", *endless_options, "--requests", "r.parquet", "--quiet"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        busy(process)
        assert list(tmp_path.iterdir())
        _, errors = interrupted(process)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert list(tmp_path.iterdir()) == []
