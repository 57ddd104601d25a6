"""How often arrays lose data: what is read of an array, the command, and what is refused.

The Monte Carlo is held against closed forms in `crates/lab/src/reliability/tests.rs`.
"""

import json
import os
import signal
import sys

import pytest

from ssdlab import InputError
from ssdlab.layers import from_options
from ssdlab.reliability import Times, display, outlook, read

ARRAY = """
[device]
kind = "array"
members = 8
redundancy = "parity"
[device.member]
kind = "linear"
size = "1TiB"
"""


@pytest.fixture
def array(tmp_path):
    path = tmp_path / "array.toml"
    path.write_text(ARRAY)
    return path


@pytest.mark.parametrize(
    ("change", "groups", "members", "tolerated"),
    [
        ("device.redundancy=parity", 1, 8, 1),
        ("device.redundancy=parity-disk", 1, 8, 1),
        ("device.redundancy=double-parity", 1, 8, 2),
        ("device.redundancy=mirror", 4, 2, 1),
        ("device.redundancy=none", 1, 8, 0),
    ],
)
def test_redundancy_and_members_are_those_of_the_array(array, change, groups, members, tolerated):
    found = read(array, from_options([change]))
    assert (found.groups, found.members, found.tolerated) == (groups, members, tolerated)
    assert found.member_bytes == pytest.approx(1 << 40, rel=1e-3)
    assert found.data_bytes == found.member_bytes * (members - tolerated)


def test_a_mirror_of_three_copies_bears_two(array):
    changes = ["device.redundancy=mirror", "device.copies=3", "device.members=6"]
    found = read(array, from_options(changes))
    assert (found.groups, found.members, found.tolerated) == (2, 3, 2)


def test_the_speed_limit_of_a_rebuild_is_the_repair(array, ssdlab):
    limited = ["--set", "device.rebuild.rate=10MB/s", "--groups", "5000"]
    done = ssdlab("reliability", array, *limited, "--json", "-")
    found = json.loads(done.stdout)
    hours = (1 << 40) / 10e6 / 3600
    assert found["array"]["rebuild_hours"] == pytest.approx(hours, rel=1e-3)
    assert found["times"]["repair"] == f"constant({found['array']['rebuild_hours']:.6f}h)"
    assert found["mttdl_hours"] == pytest.approx(1e12 / (56 * hours), rel=1e-3)
    # A repair that is always as long is as good as one of that mean.
    assert found["losses_over_mttdl"] == pytest.approx(1, abs=0.1)


def test_the_command_says_what_is_lost_and_what_was_assumed(array, ssdlab, tmp_path):
    options = ["--defects", "9259h", "--scrub", "weibull(168h, 3, 6h)", "--groups", "500"]
    done = ssdlab("reliability", array, *options, "--json", "out.json")
    assert done.returncode == 0, done.stderr
    for words in ("member lifetime", "1000000h", "defects found too late", "losses / formula"):
        assert words in done.stdout
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["by_defects"] > 20 * found["by_members"]
    assert found["losses"] == pytest.approx(found["by_defects"] + found["by_members"])
    assert len(found["by_year"]) == 10
    again = ssdlab("reliability", array, *options, "--json", "-")
    assert json.loads(again.stdout) == found, "the same bits"
    other = ssdlab("reliability", array, *options, "--json", "-", "--seed", "7")
    assert json.loads(other.stdout)["losses"] != found["losses"]


def test_two_repairs_at_once_are_over_sooner(array):
    double = read(array, from_options(["device.redundancy=double-parity"]))
    one, both = (
        outlook(double, Times(repairs_together=together), groups=5_000).found["losses"]
        for together in (False, True)
    )
    assert 1.5 < one / both < 2.7


def test_an_array_of_mirrors_loses_with_each_of_its_groups(array):
    mirrors = read(array, from_options(["device.redundancy=mirror"]))
    found = outlook(mirrors, Times(life="20000h", repair="100h"), groups=500)
    assert found.of_array == 4 * found.found["losses"]
    assert "Expected data losses of the array" in display.table(found, sys.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sata-2008"], 'device.kind is "disk"; reliability needs an "array"'),
        (["nowhere.toml"], "nowhere.toml: cannot be read"),
        (["array.toml", "--life", "12"], '--life "12": "12" has no unit'),
        (["array.toml", "--repair", "normal(3h, 1h)"], 'no distribution "normal"'),
        (["array.toml", "--scrub", "7d"], "--scrub needs --defects"),
        (["array.toml", "--groups", "0"], "--groups 0: at least 1"),
        (["array.toml", "--years", "-1"], "--years -1: expected above 0"),
        (["array.toml", "--defect-size", "4"], "--defect-size"),
        (["array.toml", "--set", "device.redundancy=raid5"], "device.redundancy"),
        (["array.toml", "--json", "nowhere/x.json"], "the directory nowhere does not exist"),
        (
            ["array.toml", "--defects", "1y", "--set", "device.redundancy=none"],
            "loses data at every one",
        ),
    ],
)
def test_mistakes_are_refused(array, refused, arguments, message):
    assert message in refused("reliability", *arguments)


def test_the_function_refuses_as_well(array):
    with pytest.raises(InputError, match="needs a random distribution"):
        outlook(read(array), Times(life="constant(5y)"))


def test_ctrl_c_ends_it(array):
    told = []

    def interrupt(done, groups):
        told.append((done, groups))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        outlook(read(array), Times(), groups=10**6, progress=interrupt)
    assert told[0][1] == 10**6 and len(told) <= 2
