"""The studies on wrong devices: what passes must be able to fail, and for each mistake rows do."""

import pytest
from paper_rows import listed

from ssdlab import Experiment
from ssdlab.paper import ITEMS, Study
from ssdlab.paper.mutations import MUTATIONS, mutated

#: Mistakes, each with an item in which rows named in the list show it at once.
SHOWN_AT_ONCE = {
    "tR x 2": "table1",
    "program x 1.5": "table1",
    "cleaner random": "table3",
    "copy-back toggled": "table6",
}
#: Drives of today take minutes: at night they are run with the one mistake that no other item has.
SUSPENDING = ("drives", "suspend off")
AT_NIGHT = [
    (name, item) for name in SHOWN_AT_ONCE for item in ITEMS if item not in ("drives", "ssdiq-load")
]
FLASH, DISK = {"preset": "agrawal2008"}, {"preset": "scsi-15k"}
TODAY = {"preset": "samsung-pm9a3"}


def changed(name, device):
    """The keys of a device that the mutation `name` makes different."""
    before = Experiment(device=device)
    after = Experiment(**mutated(name)({"device": device}))
    return dict(different(before.to_dict()["device"], after.to_dict()["device"]))


def different(before, after, prefix=""):
    for key in after:
        if isinstance(after[key], dict) and isinstance(before.get(key), dict):
            yield from different(before[key], after[key], f"{prefix}{key}.")
        elif before.get(key) != after[key]:
            yield f"{prefix}{key}", after[key]


@pytest.mark.parametrize(
    ("name", "device", "keys"),
    [
        ("tR x 2", FLASH, {"timing.read": "50us"}),
        ("tR x 2", TODAY, {"timing.read": "90us, 90us, 114us"}),
        ("program x 1.5", FLASH, {"timing.program": "300us"}),
        (
            "program x 1.5",
            FLASH | {"timing": {"program": "3495253ns"}},
            {"timing.program": "5242.88us"},
        ),
        ("cleaner random", FLASH, {"cleaning.policy": "random"}),
        ("copy-back toggled", FLASH, {"cleaning.copy_back": True}),
        (
            "copy-back toggled",
            FLASH | {"cleaning": {"copy_back": True}},
            {"cleaning.copy_back": False},
        ),
        ("copy-back toggled", TODAY, {}),
        ("suspend off", FLASH, {}),
        ("tR x 2", {"kind": "array", "member": FLASH}, {"member.timing.read": "50us"}),
        ("program x 1.5", {"preset": "zeus-linear"}, {}),
        *((name, DISK, {}) for name in MUTATIONS),
    ],
)
def test_a_mutation_changes_what_it_names(name, device, keys):
    assert changed(name, device) == keys


def test_without_suspension_reads_wait_for_programs():
    assert changed("suspend off", TODAY)["suspend.program"] == "none"
    workload = {
        "kind": "closed",
        "read_share": 0.5,
        "outstanding": 32,
        "requests": 20_000,
        "block_size": "4KiB",
    }
    experiment = {"right": {"device": TODAY, "workload": workload}}
    right = Study().measure(experiment)["right"].host.read.mean_us
    wrong = Study(mutate=mutated("suspend off")).measure(experiment)["right"].host.read.mean_us
    assert wrong > 1.5 * right


def verdicts(item, **how):
    return {row.name: row.verdict for row in ITEMS[item].run(Study(**how)).rows}


def of_item(what, item):
    """The rows of `item` listed under `what`, of which there must be some."""
    rows = listed(what, item)
    assert rows, (what, item)
    return rows


@pytest.mark.parametrize(("name", "item"), SHOWN_AT_ONCE.items())
def test_a_wrong_device_fails_at_once(name, item):
    right = verdicts(item, quick=True)
    wrong = verdicts(item, quick=True, mutate=mutated(name))
    for row in of_item(name, item):
        assert (right[row], wrong[row]) == ("pass", "fail"), row


def test_every_mutation_has_rows_that_must_fail():
    for name in MUTATIONS:
        assert len(listed(name)) >= 4, name


@pytest.fixture(scope="module")
def on_right_devices():
    return {
        item: verdicts(item, quick=True) for item in dict.fromkeys(item for _, item in AT_NIGHT)
    }


@pytest.fixture(scope="module")
def on_wrong_devices():
    return {
        (name, item): verdicts(item, quick=True, mutate=mutated(name)) for name, item in AT_NIGHT
    }


@pytest.mark.nightly
def test_on_wrong_devices_the_rows_of_the_list_fail(on_right_devices, on_wrong_devices):
    for (name, item), wrong in on_wrong_devices.items():
        for row in listed(name, item):
            assert (on_right_devices[item][row], wrong[row]) == ("pass", "fail"), (name, item, row)


@pytest.mark.nightly
def test_rows_that_pass_on_every_wrong_device_are_known(on_right_devices, on_wrong_devices):
    """They say nothing of what was changed: a new one has to be put on the list."""
    blind = {
        f"{item}: {row}"
        for item, right in on_right_devices.items()
        for row, verdict in right.items()
        if verdict == "pass"
        and all(on_wrong_devices[name, item][row] == "pass" for name in SHOWN_AT_ONCE)
    }
    assert blind == set(listed("blind"))


@pytest.mark.nightly
def test_drives_that_do_not_suspend_fail():
    item, name = SUSPENDING
    right, wrong = verdicts(item), verdicts(item, mutate=mutated(name))
    for row in of_item(name, item):
        assert (right[row], wrong[row]) == ("pass", "fail"), row
