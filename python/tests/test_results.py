"""Schema 1 of the results: the names that scripts depend on."""

import pytest

import ssdlab

KINDS = ("read", "write", "trim", "flush", "all")
LATENCY = {
    "requests", "bytes", "mean_us", "std_us", "min_us", "max_us", "iops", "mb_per_s",
    "percentiles_us", "breakdown_us",
}  # fmt: skip
PERCENTILES = ["50", "90", "95", "99", "99.9", "99.99", "99.999"]
BREAKDOWN = {"host_queue", "host_link", "unit_wait", "cleaning_wait", "bus", "cell"}


@pytest.fixture(scope="module")
def results():
    return ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "workload.requests": 20_000,
            "workload.read_share": 0.5,
            "run.precondition": "random:1",
        }
    )


def test_top_level_keys(results):
    assert set(results) >= {
        "schema", "version", "experiment", "capacity_bytes", "simulated_seconds", "elapsed", "host",
        "flash", "wear", "health", "workload", "units", "time_series",
    }  # fmt: skip
    assert results.schema == 1
    assert results.capacity_bytes % 4096 == 0 < results.capacity_bytes
    assert results.version == ssdlab.__version__
    assert set(results.elapsed) >= {
        "wall_seconds",
        "requests_per_second",
        "page_operations_per_second",
    }


def test_host_keys(results):
    assert set(results.host) >= set(KINDS)
    for kind in KINDS:
        assert set(results.host[kind]) >= LATENCY
        assert list(results.host[kind].percentiles_us) == PERCENTILES
        assert set(results.host[kind].breakdown_us) >= BREAKDOWN


def test_classes_keys(results):
    assert "classes" not in results
    load = ssdlab.run(
        workload="ssdiq-load",
        set={
            "device.blocks_per_plane": 64,
            "workload.requests": 2000,
            "workload.rate": 6000,
            "workload.classes.measured.rate": 1000,
        },
    )
    assert list(load.classes) == ["measured", "others"]
    for host in load.classes.values():
        assert set(host) >= set(KINDS)
        assert all(set(host[kind]) >= LATENCY for kind in KINDS)
    measured = load.classes.measured.all
    assert measured.requests + load.classes.others.all.requests == load.host.all.requests
    assert measured.iops == pytest.approx(1000, rel=0.1)


def test_flash_and_wear_keys(results):
    assert set(results.flash) >= {
        "page_reads", "page_programs", "block_erases", "copy_backs", "pages_moved",
        "pages_migrated", "host_pages_read", "host_pages_written", "host_bytes_written",
        "bytes_programmed", "write_amplification", "write_amplification_bytes", "cleaning",
    }  # fmt: skip
    assert set(results.flash.cleaning) >= {
        "blocks_cleaned",
        "efficiency",
        "mean_block_us",
        "busy_us",
    }
    assert set(results.wear) >= {
        "mean_erases", "std_erases", "max_erases", "mean_remaining", "std_remaining",
        "expired_blocks",
    }  # fmt: skip


def test_health_has_the_words_of_the_log(results):
    assert results.health.to_dict() == {
        "critical_warning": 0,
        "critical_warnings": [],
        "available_spare": 100,
        "spare_threshold": 10,
        "percentage_used": 0,
        "data_units_read": -(-results.host.read.bytes // 512_000),
        # The state before the run was written as well.
        "data_units_written": -(-(results.capacity_bytes + results.host.write.bytes) // 512_000),
        "unsafe_shutdowns": 0,
    }


def test_health_counts_power_cuts():
    results = ssdlab.run(
        set={
            "device.blocks_per_plane": 16,
            "device.persistence.recovery": "summary",
            "run.power_cut": "every 20ms",
            "workload.requests": 3_000,
        }
    )
    cuts = results.to_dict()["power"]["cuts"]
    assert results.health.to_dict()["unsafe_shutdowns"] == cuts > 0


def test_health_of_a_drive_that_has_ended():
    results = ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "device.wear.rated_cycles": 3,
            "workload.requests": 10**9,
            "workload.read_share": 0,
            "run.timed": False,
        }
    )
    assert results.wear.ended
    health = results.health
    assert (health.critical_warning, health.available_spare) == (9, 0)
    assert list(health.critical_warnings) == ["spare below threshold", "read only"]
    assert health.percentage_used == int(100 * results.wear.mean_erases / 3)


def test_devices_without_flash_have_no_health():
    results = ssdlab.run(device="zeus-linear", set={"workload.requests": 10})
    assert "health" not in results


def test_bands_by_rank_add_up_to_the_breakdown(results):
    shares = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]
    for kind in ("read", "write", "all"):
        host = results.host[kind]
        assert [it.from_share for it in host.bands] == shares[:-1]
        assert [it.to_share for it in host.bands] == shares[1:]
        assert sum(it.requests for it in host.bands) == host.requests
        assert host.bands[0].from_us == host.min_us and host.bands[-1].to_us == host.max_us
        assert host.bands[0].to_us == host.percentiles_us[50] == host.bands[1].from_us
        for part, mean in host.breakdown_us.items():
            together = sum(it.requests * it.breakdown_us[part] for it in host.bands)
            assert together / host.requests == pytest.approx(mean, abs=1e-6)
        for band in host.bands:
            assert sum(band.breakdown_us.values()) == pytest.approx(band.mean_us)
            # A bin of latencies is at most an eighth wide.
            assert 0.87 * band.from_us <= band.mean_us <= 1.15 * band.to_us
    slow, fast = results.host.all.bands[3], results.host.all.bands[0]
    assert slow.breakdown_us.cleaning_wait > fast.breakdown_us.cleaning_wait
    assert results.host.flush.bands == []


def test_median_and_p99_over_time(results):
    series, host = results.time_series, results.host.all
    for n, requests in enumerate(series.requests):
        if requests:
            assert series.p50_us[n] <= series.p99_us[n] <= series.max_us[n]
            assert host.min_us * 0.98 <= series.p50_us[n]
        else:
            assert series.p50_us[n] is None
    medians = sorted(it for it in series.p50_us if it is not None)
    assert 0.5 < medians[len(medians) // 2] / host.percentiles_us[50] < 2
    whole = ssdlab.run(set={"workload.requests": 200, "workload.interarrival": "constant(0.001)"})
    [bin_] = whole.time_series.p50_us[:1]
    done = whole.time_series.requests[0]
    if done == 200:
        assert bin_ == pytest.approx(whole.host.all.percentiles_us[50], rel=0.02)


def test_blocks_by_erases_and_the_load_that_was_offered(results):
    wear = results.wear
    ends, blocks = wear.blocks_by_erases.erases, wear.blocks_by_erases.blocks
    assert ends[-1][1] >= wear.max_erases >= ends[-1][0]
    middles = [(low + high) / 2 for low, high in ends]
    mean = sum(m * n for m, n in zip(middles, blocks, strict=True)) / sum(blocks)
    assert mean == pytest.approx(wear.mean_erases, abs=0.5)
    # A request each 0.125 ms on average, as many or fewer of which are answered.
    assert results.workload.offered_iops == pytest.approx(8000, rel=0.03)
    assert results.host.all.iops < 1.01 * results.workload.offered_iops
    rushed = {"workload.requests": 2000, "workload.time_scale": 0.1}
    found = ssdlab.run(set=rushed)
    assert found.workload.offered_iops > 1.2 * found.host.all.iops
    closed = ssdlab.run(workload={"kind": "closed", "requests": 200})
    assert "offered_iops" not in closed.workload


def test_units_and_time_series_keys(results):
    for unit in results.units:
        assert set(unit) >= {"name", "busy", "cleaning", "queue_mean"}
        assert 0 <= unit.cleaning <= unit.busy <= 1
    series = results.time_series
    assert series.bin_seconds > 0
    flash = ("host_pages_written", "pages_programmed", "blocks_erased", "free_blocks")
    keys = ("requests", "mb_per_s", "mean_us", "max_us", *flash)
    assert len({len(series[key]) for key in keys}) == 1
    assert sum(series.pages_programmed) == results.flash.page_programs
    assert sum(series.blocks_erased) == results.flash.block_erases
    assert sum(series.requests) == results.host.all.requests
    assert max(series.max_us) == pytest.approx(results.host.all.max_us)


def test_the_parts_add_up(results):
    host = results.host
    assert sum(host[kind].requests for kind in KINDS[:-1]) == host.all.requests == 20_000
    assert sum(host[kind].bytes for kind in KINDS[:-1]) == host.all.bytes
    for kind in ("read", "write", "all"):
        latency = host[kind]
        assert sum(latency.breakdown_us.values()) == pytest.approx(latency.mean_us, rel=1e-6)
        percentiles = [latency.percentiles_us[key] for key in PERCENTILES]
        assert percentiles == sorted(percentiles)
        assert latency.min_us <= percentiles[0]
        assert percentiles[-1] <= latency.max_us * 1.01  # a histogram's bin is up to 1 % wide


def test_write_amplification_is_pages_programmed_by_pages_written(results):
    flash = results.flash
    ratio = flash.page_programs / flash.host_pages_written
    assert flash.write_amplification == pytest.approx(ratio)
    assert flash.write_amplification > 1
    ratio = flash.bytes_programmed / flash.host_bytes_written
    assert flash.write_amplification_bytes == pytest.approx(ratio)


@pytest.mark.parametrize("timed", [True, False])
def test_small_writes_to_large_logical_pages_wear_by_the_bytes(timed):
    keys = {
        "device.blocks_per_plane": 64,
        "device.logical_page": "16KiB",
        "run.timed": timed,
        "workload.kind": "closed",
        "workload.requests": 3000,
        "workload.read_share": 0.0,
        "workload.block_size": "4KiB",
    }
    results = ssdlab.run(set=keys)
    flash = results.flash
    # Each write of one flash page programs the four of its logical page.
    assert flash.host_pages_written == 3000
    assert flash.host_bytes_written == 3000 * 4096
    assert flash.merge_reads == 3 * 3000
    assert flash.write_amplification == flash.write_amplification_bytes >= 4
    series = results.time_series
    assert sum(series.host_bytes_written) == flash.host_bytes_written
    assert sum(series.bytes_programmed) == flash.bytes_programmed


def test_small_writes_to_large_flash_pages_are_amplified_by_more_than_their_pages():
    keys = {
        "device.blocks_per_plane": 64,
        "device.page_size": "16KiB",
        "workload.kind": "closed",
        "workload.requests": 3000,
        "workload.read_share": 0.0,
        "workload.block_size": "4KiB",
    }
    results = ssdlab.run(set=keys)
    flash = results.flash
    assert flash.write_amplification_bytes == pytest.approx(4 * flash.write_amplification)
    assert f"write amplification {flash.write_amplification_bytes:.4g}" in repr(results)


def test_reading_alone_amplifies_nothing():
    results = ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "workload.requests": 1000,
            "workload.read_share": 1.0,
        }
    )
    assert results.flash.host_pages_written == 0
    assert results.flash.write_amplification is None
    assert results.host.write.requests == 0
