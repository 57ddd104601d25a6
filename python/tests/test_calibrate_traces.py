"""Calibration from traces that say how long their requests took."""

import pytest

import ssdlab as package

#: A random read of n KiB takes 100 us + 2 us/KiB, a sequential one 50 us + 1 us/KiB.
SIZES = [1, 4, 16, 64, 256]


def law(kib, sequential):
    return 50 + kib if sequential else 100 + 2 * kib


def requests():
    """Start in us, sector, KiB, service time in us: each size at random places and in sequence."""
    start, sector = 1000, 0
    for number in range(400):
        kib = SIZES[number % 5]
        sequential = number % 2 == 1
        sector = sector if sequential else (number * 7919 % 5000) * 4096
        time = law(kib, sequential)
        yield start, sector, kib, time
        sector += 2 * kib
        start += time + 300


def check(found):
    for name, (a, b) in {"rand_read": (100, 2), "seq_read": (50, 1)}.items():
        it = found.patterns[name]
        assert it.a_us == pytest.approx(a, rel=0.001)
        assert it.b_us_per_kib == pytest.approx(b, rel=0.001)
        assert it.r2 > 0.999
        assert [row.bytes for row in it.sizes] == [1024 * kib for kib in SIZES]


def test_service_times_come_from_response_columns(tmp_path):
    file = tmp_path / "msr.csv"
    base = 128_166_372_000_000_000
    lines = [
        f"{base + 10 * start},host,0,Read,{512 * sector},{1024 * kib},{10 * time}"
        for start, sector, kib, time in requests()
    ]
    file.write_text("\n".join(lines) + "\n")
    found = package.calibrate(file)
    check(found)
    assert found.conditions.format == "msr"
    assert found.conditions.requests == 400
    # What was read is a device.
    device = tmp_path / "device.toml"
    found.save(device)
    workload = {"kind": "closed", "requests": 10, "outstanding": 1, "block_size": "64KiB"}
    again = package.run(device=device, workload=workload)
    assert again.host.read.mean_us == pytest.approx(228, rel=0.001)


def blkparse(events):
    """Lines as blkparse prints them, of (us, action, sector, KiB)."""
    lines = [
        f"  8,0    0 {number:8d} {at // 10**6:5d}.{at % 10**6:06d}000   99  {action}   R "
        f"{sector} + {2 * kib} [x]"
        for number, (at, action, sector, kib) in enumerate(sorted(events), 1)
    ]
    return "\n".join(lines) + "\n"


def test_service_times_come_from_issues_and_completions(tmp_path):
    file = tmp_path / "blk.txt"
    events = []
    for start, sector, kib, time in requests():
        # Queueing before the issue is not service; an issue that is never answered is none.
        events += [(start - 250, "Q", sector, kib), (start, "D", sector, kib)]
        if start % 7 or kib != 64:
            events.append((start + time, "C", sector, kib))
    file.write_text(blkparse(events))
    found = package.calibrate(file)
    check(found)
    assert found.conditions.without_time > 0


def test_requests_that_overlap_count_as_several(tmp_path):
    file = tmp_path / "blk.txt"
    events = []
    for number in range(60):
        at, kib = 1 + number * 10_000, SIZES[number % 5]
        sectors = 4096 * (3 * number + 1), 4096 * (7 * number + 900)
        # The second is issued while the first is served, and is answered before it.
        events += [(at, "D", sectors[0], kib), (at + 10, "D", sectors[1], kib)]
        events += [(at + 90, "C", sectors[1], kib), (at + 100 + 2 * kib, "C", sectors[0], kib)]
    file.write_text(blkparse(events))
    it = package.calibrate(file).patterns.rand_read
    assert it.a_us == pytest.approx(100) and it.b_us_per_kib == pytest.approx(2)
    assert it.outstanding["2"].a_us == pytest.approx(80)


def test_traces_without_service_times_are_refused(tmp_path, refused):
    disksim = tmp_path / "t.disksim"
    disksim.write_text("0.5 0 0 8 1\n1.25 0 64 16 0\n")
    message = refused("calibrate", disksim)
    assert "format disksim has no service times; these have: " in message and "msr" in message
    unanswered = tmp_path / "t.csv"
    unanswered.write_text("128166372000000000,h,0,Read,0,512,0\n" * 3)
    assert "no read or write in it states how long it took" in refused("calibrate", unanswered)
    few = tmp_path / "few.csv"
    few.write_text("128166372000000000,h,0,Read,0,512,9\n" * 3)
    assert "no size has 5 requests that met the device idle" in refused("calibrate", few)
    message = refused("calibrate", tmp_path / "t.disksim", "--event", "issue")
    assert "--event" in message or "no service times" in message
    assert "--write" in refused("calibrate", unanswered, "--write")


def test_the_record_of_a_run_calibrates_its_device(tmp_path, ssdlab, refused):
    record = tmp_path / "requests.parquet"
    for size in (1, 8, 64, 512):
        package.run(
            device="zeus-linear",
            workload={
                "kind": "closed",
                "requests": 200,
                "outstanding": 1,
                "block_size": f"{size}KiB",
                "read_share": 0.5,
            },
            requests=tmp_path / f"{size}.parquet",
        )
    # A mixture of sizes in one run.
    job = tmp_path / "mixed.fio"
    job.write_text(
        "[global]\nsize=1g\nnumber_ios=600\niodepth=1\n"
        "[j]\nrw=randread\nbssplit=1k/25:8k/25:64k/25:512k/25\n"
    )
    package.run(device="zeus-linear", workload={"kind": "fio", "path": job}, requests=record)
    it = package.calibrate(record).patterns.rand_read
    assert it.a_us == pytest.approx(230.6, rel=0.001)
    assert it.b_us_per_kib == pytest.approx(3.987, rel=0.001)
    without = tmp_path / "without.parquet"
    package.trace.convert(record, without)
    assert "parquet with end_ns" in refused("calibrate", without)
