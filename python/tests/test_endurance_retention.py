"""JESD218's retention in `ssdlab endurance`: the smaller of two ratings, and which it was."""

import dataclasses
import json
import math

import pytest

import ssdlab
from ssdlab import _core, layers
from ssdlab.rating import display
from ssdlab.running import Experiment

SMALL = {"device.blocks_per_plane": 58, "device.capacity": "62GB"}
AGES = SMALL | {"device.media.model": "tlc-3d"}


def rating(**changes):
    keys = {f"device.media.{key}": value for key, value in changes.items()}
    return ssdlab.endurance("tlc-client", "client", workload="zipf-mixed", cycles=40,
                            set=AGES | keys)  # fmt: skip


@pytest.fixture(scope="module")
def uneven():
    return rating(spread_errors=0.3)


def test_what_pages_that_differ_keep_decides(uneven, capsys):
    kept = uneven.retention
    assert uneven.decided == "retention" and kept["cycles"] < uneven.subject.rated
    share = kept["cycles"] / uneven.subject.rated
    assert uneven.tbw_bytes == pytest.approx(share * uneven.capacity_bytes_written)
    assert kept["uber_at_rating"] > kept["uber_allowed"]
    # Read with so many cycles, the scaled drive loses next to nothing.
    assert kept["read"]["lost"] <= 2 and kept["read"]["pages"] > 10_000
    assert not uneven.passes(uneven.capacity_bytes_written)
    assert uneven.passes(uneven.tbw_bytes)
    shown = uneven.to_dict()
    assert shown["decided_by"] == "retention" and len(shown["left_out"]) == 1
    import sys

    assert "decided by" in display.rating(uneven, None, sys.stdout)


def test_a_drive_whose_spread_follows_from_its_rating_is_decided_by_capacity():
    found = rating()
    assert found.decided == "capacity"
    assert found.retention["cycles"] == pytest.approx(found.subject.rated, rel=1e-3)


def test_the_stricter_class_and_more_difference_allow_fewer_cycles():
    def cycles(of, spread):
        keys = AGES | {"device.media.spread_errors": spread}
        layers = Experiment(device="tlc-client", set=keys).layers
        return json.loads(_core.retention(layers, of))["cycles"]

    assert cycles("enterprise", 0.2) < cycles("client", 0.2)
    assert cycles("client", 0.3) < cycles("client", 0.2) < cycles("client", 0.1)


def test_a_drive_whose_data_do_not_age_says_what_is_not_tested():
    found = ssdlab.endurance("tlc-client", "client", workload="zipf-mixed", cycles=40, set=SMALL)
    assert found.retention is None and found.decided == "capacity"
    assert len(found.left_out()) == 3


def test_drives_that_fail_with_their_dies_decide_when_more_do_than_may(uneven):
    from ssdlab.rating import FAILURES, _functional
    from ssdlab.rating.lives import Subject
    from ssdlab.sources import from_name

    def functional(chance, parity=0):
        keys = AGES | {"device.spares.sick_dies": chance, "device.parity.of": parity}
        changes = layers.from_assignments(keys)
        stack = [from_name("device", "tlc-client"), from_name("workload", "zipf-mixed")]
        return _functional(Subject.of("tlc-client", "zipf-mixed", stack, changes))

    assert functional(0.0) is None
    few, many = functional(1e-4), functional(0.06)
    assert few["failed_share"] < FAILURES < many["failed_share"]
    # None of its dies may fail, each a month after it fell sick: the closed form, turned round.
    dies = Experiment(device="tlc-client", set=AGES).to_dict()["device"]
    count = dies["channels"] * dies["packages_per_channel"] * dies["dies_per_package"]
    years = 1 / 12 + 4 * math.log(1 - FAILURES) / (count * math.log(1 - 0.06))
    assert many["years"] == pytest.approx(years, rel=1e-6)
    assert functional(0.06, parity=8)["years"] > 3 * many["years"]
    kept = uneven.retention | {"cycles": uneven.subject.rated}
    even = dataclasses.replace(uneven, retention=kept)
    failing = dataclasses.replace(even, functional=many)
    assert (even.decided, failing.decided) == ("capacity", "functional")
    share = years / uneven.subject.years
    assert failing.tbw_bytes == pytest.approx(uneven.capacity_bytes_written * share)
    assert failing.passes(failing.tbw_bytes) and not failing.passes(even.tbw_bytes)
    assert "dies" in failing.left_out()[0]
