"""Commands of NVMe and namespaces through Python, and what is refused in words."""

import pytest

import ssdlab


def written(tmp_path, rows):
    """A Parquet trace of rows (op, sector, sectors), a millisecond apart."""
    path = tmp_path / "commands.parquet"
    op, sector, sectors = zip(*rows, strict=True)
    at_ns = [1_000_000 * at for at in range(len(rows))]
    ssdlab.trace.write(path, at_ns=at_ns, op=op, sector=sector, sectors=sectors)
    return path


def replay(path, **changes):
    """A run of it on a part of the drive, which takes a tenth of the time of the whole."""
    part = {"device.scale": 64, "workload.beyond": "error"}
    changes = part | {"workload.commands": True} | changes
    return ssdlab.run(device="tlc-enterprise", trace=path, set=changes, check=True)


ROWS = [
    ("write", 0, 64),
    ("zeroes", 0, 8),
    ("compare", 8, 8),
    ("miscompare", 8, 8),
    ("compare_write", 16, 8),
    ("range", 0, 16),
    ("range", 32, 16),
    ("copy", 1024, 32),
    ("verify", 1024, 32),
    ("uncorrectable", 1024, 8),
    ("read", 1024, 8),
]


def test_a_trace_that_python_writes_has_commands(tmp_path):
    run = replay(written(tmp_path, ROWS))
    host = run.host
    for kind in ("zeroes", "compare", "compare_write", "copy", "verify", "uncorrectable"):
        assert host[kind].requests == 1 and host[kind].failed == 0, kind
    assert host.miscompare.failures.compare_failure == 1
    assert host.read.failures.unreadable == 1
    assert dict(run.commands.statuses) == {"2/85h": 1}
    assert run.commands.copy.bytes == 32 * 512 and run.commands.ranges == 2
    assert run.workload.asked == len(ROWS) - 2
    # Eight pages, one that a pair writes, and four that are copied.
    assert run.flash.host_pages_written == 8 + 1 + 4


def test_timed_and_untimed_runs_of_commands_write_alike(tmp_path):
    path = written(tmp_path, ROWS * 50)
    timed, untimed = (replay(path, **{"run.timed": it}) for it in (True, False))
    assert timed.commands == untimed.commands
    assert timed.flash.host_pages_written == untimed.flash.host_pages_written


def test_commands_are_refused_in_words(tmp_path):
    path = written(tmp_path, ROWS)
    with pytest.raises(ssdlab.InputError, match=r"zeroes is a command .*workload.commands = true"):
        replay(path, **{"workload.commands": False})
    with pytest.raises(ssdlab.InputError, match="steady repeats the workload"):
        replay(path, **{"run.precondition": "steady"})
    with pytest.raises(ssdlab.InputError, match=r"run.namespaces.*no size in whole units"):
        replay(path, **{"run.namespaces": "much"})
    with pytest.raises(ssdlab.InputError, match='"purge" is no operation|purge'):
        written(tmp_path / "no", [("purge", 0, 8)])


def test_namespaces_share_the_flash_and_map_what_they_may(tmp_path):
    path = written(tmp_path, [("write", 0, 16), ("write", 64, 8), ("trim", 0, 8), ("write", 64, 8)])
    run = replay(path, **{"run.namespaces": "50% thin 8KiB, 50%"})
    first, second = run.commands.namespaces
    assert first["mapped_bytes"] == 8192 and second["mapped_bytes"] is None
    assert dict(run.commands.statuses) == {"0/81h": 1}
    assert run.host.write.failures.capacity_exceeded == 1
