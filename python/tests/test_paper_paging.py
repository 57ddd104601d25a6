"""Programs that page: the load on known devices, the study, and a real program that swaps."""

import pytest

import ssdlab
from ssdlab.paper import Study, paging, swapping
from ssdlab.paper.swapping import Ran

LOAD = {
    "kind": "paging",
    "threads": 1,
    "working_set": "64MiB",
    "memory": "16MiB",
    "touches": 20_000,
    "compute": "3us",
    "read_ahead": 1,
    "load": False,
}


def counts(results):
    return results.to_dict()["workload"]["notices"]


def test_a_program_takes_its_touches_and_the_time_that_it_waits():
    device = {"kind": "law", "random_read": "200us + 0us/KiB", "sequential_read": "200us + 0us/KiB"}
    results = ssdlab.run(device=device, workload=LOAD | {"read_share": 1.0})
    found = counts(results)
    # Three quarters of the pages are not in memory: a deviation of the share is 0.003.
    assert found["paging_faults"] / 20_000 == pytest.approx(0.75, abs=0.015)
    assert found["paging_wait_ns"] == 200_000 * found["paging_faults"]
    expected = 20_000 * 3e-6 + found["paging_faults"] * 200e-6
    assert results.simulated_seconds == pytest.approx(expected, rel=0.001)
    assert results.host.write.requests == 0


def test_pages_that_are_changed_are_written_and_the_drive_holds_them():
    results = ssdlab.run(
        device={"preset": "agrawal2008", "blocks_per_plane": 32},
        workload=LOAD | {"read_share": 0.0, "threads": 8},
        check=True,
    )
    found = counts(results)
    written = found["paging_pages_written"]
    assert results.host.write.bytes == 4096 * written
    assert results.flash.page_programs >= written > 0.7 * found["paging_pages_read"]


def test_a_device_that_is_its_own_model_is_met(monkeypatch):
    monkeypatch.setattr(paging, "FLASH", {"preset": "zeus-linear"})
    rows = {row.name: row for row in paging.run(Study(quick=True)).rows}
    assert rows["SPECjbb: model / flash"].verdict == "pass"
    assert rows["SPECjbb: model / flash"].simulated == pytest.approx(1, abs=0.05)


# A real program


FAST, SLOW = Ran(800_000, 8.0, 20_000, 1.0), Ran(20_000, 8.0, 1_500, 0.1)


def test_runs_by_the_clock_are_shown():
    """Their figures depend on the machine, and beside one stands a simulated one."""
    rows = {row.name: row for row in swapping.shown({"flash": FAST, "disk": SLOW})}
    assert {row.verdict for row in rows.values()} == {"info"}
    assert rows["live: flash / disk"].simulated == pytest.approx(40)
    wait = rows["live, on flash: wait for a page, us"]
    assert wait.simulated == pytest.approx(350)
    assert wait.published > 100


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("os.geteuid", lambda: 1000), "needs root"),
        (("shutil.which", lambda name: None), "not installed: mkswap, swapon, swapoff, losetup"),
    ],
)
def test_a_system_that_does_not_allow_it_says_why(monkeypatch, change, part):
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(f"ssdlab.paper.swapping.{change[0]}", change[1], raising=False)
    (row,) = swapping.rows()
    assert part in row.note and row.verdict == "not reproduced"


@pytest.mark.nightly
def test_a_program_swaps_on_served_devices():
    if swapping.refused():
        pytest.skip(swapping.refused())
    rows = swapping.rows()
    if rows[0].simulated is None:
        pytest.skip(rows[0].note)
    assert [row.verdict for row in rows] == ["info"] * 4, rows
    assert rows[2].simulated > 2, "a disk is slower"
    assert rows[3].simulated > 0.8 * rows[3].published, "no faster than the device can be"
