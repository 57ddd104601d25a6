"""Fleets of drives over years: `ssdlab reliability DRIVE`, its closed forms, and refusals."""

import json

import pytest

from ssdlab import InputError
from ssdlab.reliability import display, drives

ON = {"device.spares.sick_dies": 0.001, "device.spares.defects": 1.0}


@pytest.fixture(scope="module")
def found():
    return drives.fleet("tlc-enterprise", 20_000, 5, bad_blocks=0.5, writes_per_day=1,
                        amplification=3, set=ON)  # fmt: skip


def test_simulated_shares_are_those_of_the_closed_forms(found):
    assert found.agrees and found.assumed_model
    dies = found.found["dies"]
    expected = 1 - (1 - 0.001) ** (dies * 5 / 4)
    assert found.found["with_lost_die"] == pytest.approx(expected, rel=0.1)
    # Five years at 1 DWPD and an amplification of 3, of 3,000 cycles.
    assert found.wear == pytest.approx(5 * 365 * 3 / 3000)


def test_parity_bears_a_die_and_brings_back_defects(found):
    with_parity = drives.fleet("tlc-enterprise", 20_000, 5, set=ON | {"device.parity.of": 16})
    without = drives.fleet("tlc-enterprise", 20_000, 5, set=ON | {"device.parity.of": 0})
    assert with_parity.found["afr"] < without.found["afr"] / 20
    assert with_parity.found["with_lost_die"] == without.found["with_lost_die"]
    assert not with_parity.found["media_errors"]["reach_the_host"]
    assert without.found["media_errors"]["reach_the_host"]


def test_a_drive_that_gives_up_at_its_first_error_fails_more_often():
    keys = {"device.spares.defects": 1.0, "device.parity.of": 0}
    bears = drives.fleet("tlc-enterprise", 5000, 5, set=keys).found
    gives_up = drives.fleet(
        "tlc-enterprise", 5000, 5, set=keys | {"device.health.fail_at_uncorrectable": 1}
    ).found
    assert bears["failed_share"] == 0
    assert gives_up["failed_share"] == pytest.approx(gives_up["media_errors"]["drives_with"])


def test_more_years_and_more_sick_dies_never_fail_less():
    def failed(years, sick):
        keys = {"device.spares.sick_dies": sick, "device.parity.of": 0}
        return drives.fleet("tlc-enterprise", 5000, years, set=keys).found["failed_share"]

    assert failed(1, 0.001) < failed(5, 0.001) < failed(5, 0.01)


def test_the_command_prints_the_fleet_and_its_numbers(ssdlab):
    args = ["reliability", "tlc-enterprise", "--drives", "2000", "--years", "5", "--writes", "1",
            "--set", "device.spares.defects=1"]  # fmt: skip
    shown = ssdlab(*args).stdout
    assert "annual failure rate" in shown and "closed forms agree" in " ".join(shown.split())
    numbers = json.loads(ssdlab(*args, "--json", "-").stdout)
    assert numbers["drives"] == 2000 and numbers["agrees"]
    assert display.fleet is not None


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["tlc-enterprise", "--drives", "0"], "--drives 0"),
        (["tlc-enterprise", "--years", "0"], "--years 0"),
        (["tlc-enterprise", "--bad-blocks", "-1"], "--bad-blocks -1"),
        (["tlc-enterprise", "--writes", "-1"], "--writes -1"),
        (["tlc-enterprise", "--amplification", "0.5"], "--amplification 0.5"),
        (["tlc-enterprise", "--groups", "5"], "--groups 5.*--drives"),
        (["tlc-enterprise", "--set", "device.spares.sick_dies=1"], "sick_dies.*below 1"),
    ],
)
def test_what_is_no_fleet_is_refused(refused, args, part):
    import re

    message = " ".join(refused("reliability", *args).split())
    assert re.search(part, message), message


def test_an_array_is_no_fleet():
    with pytest.raises(InputError, match='kind "ssd"'):
        drives.fleet({"kind": "array", "members": 3, "member": {"preset": "tlc-enterprise"}})
