"""Power cuts in a run: what the results say, what is shown, and what is refused."""

import io

import pytest

import ssdlab
from ssdlab.results import display

DRIVE = {
    "device.channels": 2,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 64,
    "workload.kind": "closed",
    "workload.requests": 3000,
    "workload.read_share": 0.0,
    "workload.block_size": "4KiB",
}
RECOVERING = {**DRIVE, "device.persistence.recovery": "summary"}


def run(**keys):
    return ssdlab.run(set={**RECOVERING, **keys})


@pytest.mark.parametrize("when", ["at 100ms", "every 100ms", "random:3", "events:3"])
def test_every_way_to_cut_loses_nothing_that_is_durable(when):
    results = run(**{"run.power_cut": when})
    power = results.power
    assert power.cuts == len(power.cut_at_seconds) > 0
    assert power.durable_lost == 0
    assert power.recovery_seconds.max >= power.recovery_seconds.mean > 0
    assert power.pages_read > 0
    host, workload = results.host.all, results.workload
    assert workload.asked == host.requests + host.failed + workload.unanswered
    assert host.failures["power_lost"] == host.failed > 0


def test_the_same_seed_gives_the_same_cuts():
    one, other = (run(**{"run.power_cut": "events:4"}).power for _ in range(2))
    assert one == other


def test_a_run_without_cuts_says_nothing_of_them():
    results = ssdlab.run(set=DRIVE)
    assert results.get("power") is None
    assert "power_lost" not in results.host.all.failures


def test_the_table_shows_the_recovery():
    shown = display.results_table(run(**{"run.power_cut": "at 100ms"}), io.StringIO())
    assert "Power cuts" in shown and "durable pages lost" in shown and "power was cut" in shown


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"device.persistence.recovery": "none"}, ["device.persistence.recovery", "spare"]),
        ({"run.power_cut": "at 1h"}, ["run.power_cut", "before the power cut"]),
        ({"run.power_cut": "at 2s", "run.until": "1s"}, ["run.power_cut", "run.until"]),
        ({"run.power_cut": "sometimes"}, ["run.power_cut", "every 100ms"]),
        ({"run.timed": False}, ["run.power_cut", "run.timed"]),
        ({"device.summary_page": False}, ["device.summary_page", "spare"]),
        ({"device.persistence.tear": "1, 1, 1"}, ["device.persistence.tear", "add up to 1"]),
    ],
)
def test_impossible_power_cuts_are_refused_with_their_keys(keys, words):
    with pytest.raises(ssdlab.InputError) as refusal:
        run(**{"run.power_cut": "at 100ms", **keys})
    for word in words:
        assert word in str(refusal.value), refusal.value


@pytest.mark.parametrize("device", ["zeus-linear", "jbod"])
def test_other_kinds_of_device_are_not_cut(device):
    kinds = {"zeus-linear": {"device.kind": "linear"}, "jbod": {"device.kind": "array"}}
    with pytest.raises(ssdlab.InputError, match=r"run\.power_cut"):
        ssdlab.run(set={**kinds[device], "run.power_cut": "at 1ms"})


@pytest.mark.parametrize(
    ("device", "keys", "lost"),
    [
        ("tlc-client", {}, "acknowledged_lost"),
        ("tlc-enterprise", {}, None),
        ("tlc-enterprise", {"device.power.capacitance": "1uF"}, "durable_lost"),
    ],
)
def test_what_a_write_buffer_loses_depends_on_what_it_promises(device, keys, lost):
    cut = {"device.persistence.recovery": "spare", "run.power_cut": "at 2ms"}
    keys = {**cut, "workload.requests": 3000, **keys}
    power = ssdlab.run(device=device, workload="random-write", set=keys).power
    for name in ("acknowledged_lost", "durable_lost"):
        assert (power[name] > 100) == (name == lost), name
