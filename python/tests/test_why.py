"""`ssdlab why`: what it advises helps, and where nothing does it says so."""

import pytest

from ssdlab.comparison import grid
from ssdlab.running import layers_of
from ssdlab.why import intervals, tried

#: A drive of 2008 that is simulated in no time, and one of today.
OLD = {"device.blocks_per_plane": 64, "workload.requests": 4000}
NEW = {
    "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.25,
    "workload.requests": 4000,
}
USED = {"run.precondition": "random:1"}
SETTINGS = {"among": ["settings"]}
WITHOUT_DRIVES = {"among": ["settings", "hardware", "load"]}

#: A bottleneck: device, workload, keys, how it is asked, and the change that is expected first.
HELPED = {
    "cleaning that blocks": (
        "agrawal2008", "random-write", OLD | USED, SETTINGS, "cleaning yields to requests",
    ),
    "bursts of cleaning": (
        "tlc-client", "ssdiq-load", NEW | USED | {"workload.requests": 20_000},
        SETTINGS | {"goal": "write.p99"}, "token pace",
    ),
    "command slots": (
        "tlc-enterprise", "random-read",
        NEW | {"device.host_link.queue_depth": 1}, WITHOUT_DRIVES, "unlimited queue",
    ),
    "a host that waits": (
        "tlc-enterprise", "random-read",
        NEW | {"workload.outstanding": 1}, WITHOUT_DRIVES | {"goal": "throughput"},
        "four times outstanding",
    ),
    "the host link": (
        "tlc-enterprise", "sequential-read",
        NEW | {"device.host_link.bandwidth": "sata-300"}, WITHOUT_DRIVES | {"goal": "throughput"},
        "a host link twice as fast",
    ),
    "the controller's cores": (
        "tlc-enterprise", "random-read",
        NEW | {"device.firmware.cores": 1}, WITHOUT_DRIVES | {"goal": "throughput"},
        "twice the cores",
    ),
    "the buses": (
        "agrawal2008", "random-read", OLD, {"among": ["hardware"], "goal": "throughput"},
        "twice the channels",
    ),
    "too few dies": (
        "tlc-enterprise", "random-read",
        NEW | {"device.channels": 1, "device.dies_per_package": 1}, {"among": ["hardware"]},
        None,
    ),
    "programs in the way of reads": (
        "tlc-enterprise", "mixed",
        NEW | {"device.suspend.program": "none", "device.suspend.erase": "none",
               "workload.time_scale": 0.2, "workload.requests": 20_000}, SETTINGS,
        "reads suspend programs and erases",
    ),
    "the order of a disk": (
        "sata-2008", "random-read",
        {"device.scheduler": "fcfs", "workload.requests": 1500}, SETTINGS, "shortest access first",
    ),
}  # fmt: skip

#: Experiments that no change of these groups improves.
NOTHING = {
    "an open loop that is met": (
        "tlc-enterprise", "mixed", NEW, {"among": ["settings", "hardware"], "goal": "throughput"},
    ),
    "the same of 2008": (
        "agrawal2008", "mixed", OLD, {"among": ["settings", "hardware"], "goal": "throughput"},
    ),
    "lone reads of flash": (
        "tlc-enterprise", "random-read", NEW | {"workload.outstanding": 1}, SETTINGS,
    ),
    "lone reads of 2008": (
        "agrawal2008", "random-read", OLD | {"workload.outstanding": 1}, SETTINGS | {"goal": "p99"},
    ),
    "a lone head": (
        "sata-2008", "random-read", {"workload.outstanding": 1, "workload.requests": 1500},
        SETTINGS | {"goal": "mean"},
    ),
    "a law of service times": (
        "zeus-linear", "random-read", {"workload.requests": 3000},
        {"among": ["settings", "hardware"]},
    ),
    "a host that thinks": (
        "tlc-enterprise", "random-read",
        NEW | {"workload.think_time": "10ms", "workload.outstanding": 1},
        {"among": ["settings", "hardware"], "goal": "throughput"},
    ),
    "nothing to move": (
        "agrawal2008", "sequential-write", OLD | {"device.fill": "empty"},
        SETTINGS | {"goal": "write_amplification_bytes"},
    ),
    "a striped array, one request at a time": (
        "agrawal2008-array-6", "random-read",
        {"device.member.blocks_per_plane": 64, "workload.requests": 3000,
         "workload.outstanding": 1}, SETTINGS | {"goal": "p99"},
    ),
    "writes that a buffer takes": (
        "tlc-enterprise", "random-write", NEW | {"workload.outstanding": 1,
        "workload.think_time": "1ms"}, {"among": ["settings"], "goal": "write.p99"},
    ),
}  # fmt: skip


def found(device, workload, keys, asked):
    return tried(layers_of(device=device, workload=workload, set=keys), **asked)


def confirmed(name, repeat):
    """What `compare` says of the first advice, with seeds that it was not found with."""
    device, workload, keys, asked, expected = HELPED[name]
    why = found(device, workload, keys, asked)
    best = why.best
    assert best is not None, f"{name}\n{why}"
    if expected is not None:
        assert best.change.name == expected, f"{name}\n{why}"
    below = layers_of(device=device, workload=workload)
    said = grid.compare_over(
        "as-is",
        best.change.side,
        below=below,
        assignments=[f"{key}={value}" for key, value in keys.items()],
        minimize=[] if why.metric.maximize else [why.metric.column],
        maximize=[why.metric.column] if why.metric.maximize else [],
        repeat=repeat,
        seed=1000,
        workers=1,
    )
    return why, said.cells[0]


@pytest.mark.parametrize("name", HELPED)
def test_the_first_advice_is_confirmed(name):
    _, cell = confirmed(name, 10)
    assert cell.verdict == "better"


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_helps_where_nothing_can(name):
    why = found(*NOTHING[name])
    assert why.best is None, f"{name}\n{why}"
    assert all(row.verdict != intervals.TRADES or row.losses for row in why.rows)
