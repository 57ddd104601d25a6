"""Zoned drives through Python: jobs, tables of requests, and what is refused."""

import pytest

import ssdlab

SMALL = {
    "device.kind": "zoned",
    "device.zones.count": 16,
    "device.zones.size": "4MiB",
    "device.zones.capacity": "3MiB",
}
JOB = "[w]\nzonemode=zbd\nrw=randwrite\nbs=64k\niodepth=4\nsize=64m\nio_size=200m\n"
TABLE = "time=1:us,op=2,offset=3:bytes,size=4"


def replay(tmp_path, text, **changes):
    path = tmp_path / "zones.csv"
    path.write_text(text)
    workload = {"kind": "trace", "path": str(path), "columns": TABLE, "gaps": "answer"}
    return ssdlab.run(workload=workload, set=SMALL | changes, check=True)


def test_a_job_on_zones_writes_at_their_pointers_and_resets_them():
    run = ssdlab.run(workload={"kind": "fio", "job": JOB}, set=SMALL, check=True)
    assert run.host.write.failed == 0 and run.host.write.requests == 3200
    assert run.zones.resets == run.host["reset"].requests > 10
    # What was written is programmed once, but for what waits for its group.
    assert 0 <= run.zones.host_bytes - run.zones.data_bytes < 16 * 1024 * 1024


def test_commands_of_zones_come_from_a_table(tmp_path):
    text = "0,open,0,512\n0,append,0,65536\n0,append,0,65536\n0,finish,0,512\n0,reset,0,0\n"
    run = replay(tmp_path, text)
    assert [run.host[it].requests for it in ("open", "append", "finish", "reset")] == [1, 2, 1, 1]
    assert run.zones.states.empty == 16
    assert run.zones.padding_bytes == 3 * 1024 * 1024 - 2 * 65536


def test_what_zones_refuse_is_counted_by_name_and_code(tmp_path):
    run = replay(tmp_path, "0,open,0,512\n0,write,65536,4096\n0,append,4096,4096\n")
    assert dict(run.zones.refused) == {"invalid_field": 1, "invalid_write": 1}
    assert dict(run.zones.statuses) == {"0/02h": 1, "1/BCh": 1}
    assert run.host.write.failures.invalid_write == 1


@pytest.mark.parametrize("workload", ["random-write", "mixed"])
def test_a_workload_that_knows_no_zones_is_refused_in_words(workload):
    with pytest.raises(ssdlab.InputError, match='knows no zones; device.adapt = "log"'):
        ssdlab.run(workload=workload, set=SMALL | {"workload.requests": 500})


def test_a_log_of_the_host_serves_it_and_says_what_that_costs():
    changes = {"device.adapt": "log", "device.log.spare": 0.4, "workload.requests": 40_000}
    run = ssdlab.run(workload="random-write", set=SMALL | changes, check=True)
    log = run.zones.host_log
    assert run.host.all.failed == 0 and log.cleaned_zones > 10
    expected = 1 + log.moved_bytes / log.user_bytes
    assert log.write_amplification == pytest.approx(expected) and log.moved_bytes > 0


def test_zones_are_refused_where_there_are_none(tmp_path):
    with pytest.raises(ssdlab.InputError, match="this device has none"):
        path = tmp_path / "zones.csv"
        path.write_text("0,reset,0,512\n")
        trace = {"workload.path": str(path), "workload.columns": TABLE}
        ssdlab.run(set={"workload.kind": "trace"} | trace)
    with pytest.raises(ssdlab.InputError, match="zonemode=zbd needs a device of zones"):
        ssdlab.run(workload={"kind": "fio", "job": JOB})
    with pytest.raises(ssdlab.InputError, match="cleaning"):
        ssdlab.run(set=SMALL | {"device.cleaning.policy": "greedy"})
