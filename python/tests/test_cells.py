"""Cells of two bits: slower, shorter-lived and twice as many data on the same cells."""

import pytest

import ssdlab

WRITES = {"kind": "closed", "read_share": 0.0, "requests": 20_000, "block_size": "4KiB"}


def test_mlc_of_2008_is_slower_and_lasts_a_tenth():
    slc, mlc = (ssdlab.run(device=it, workload=WRITES) for it in ("agrawal2008", "mlc-2008"))
    assert mlc.host.write.mean_us > 2 * slc.host.write.mean_us
    assert mlc.capacity_bytes > 1.9 * slc.capacity_bytes
    slc_keys, mlc_keys = (
        ssdlab.Experiment(device=it).to_dict()["device"] for it in ("agrawal2008", "mlc-2008")
    )
    assert (slc_keys["wear"]["rated_cycles"], mlc_keys["wear"]["rated_cycles"]) == (100_000, 10_000)


@pytest.mark.parametrize(
    ("device", "bits"), [("agrawal2008", 2), ("mlc-2008", 1), ("samsung-970pro", 3)]
)
def test_bits_alone_are_refused_because_times_and_cycles_are_those_of_others(refused, device, bits):
    said = refused("run", "--device", device, "--set", f"device.cell.bits={bits}")
    assert f"device.cell.bits = {bits}" in said and "device.timing.program" in said
    assert "device.wear.rated_cycles" in said and "mlc-2008" in said


def _bits(set):
    return ssdlab.Experiment(device="agrawal2008", set=set).to_dict()["device"]["cell"]["bits"]


def test_bits_with_their_times_or_a_part_are_taken():
    set = {"device.cell.bits": 2, "device.timing.program": "1.6ms"}
    assert ssdlab.run(device="agrawal2008", workload=WRITES, set=set).host.write.mean_us > 500
    assert _bits({"device.cell.preset": "mlc-planar"}) == 2
    assert _bits({"device.cell.bits": 1}) == 1
