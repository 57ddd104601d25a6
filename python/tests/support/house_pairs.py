"""Features that a drive does not take, alone or with another: a matrix on both kinds of drive.

A feature is the keys that turn it on. A drive is made of each pair, and what refuses it is kept
with its sentence.
"""

from functools import cache
from itertools import combinations

from ssdlab import InputError, run

#: A drive with a write buffer, and one without.
DRIVES = ("tlc-enterprise", "agrawal2008")
#: Built sooner.
SMALL = {"agrawal2008": {"blocks_per_plane": 64}, "tlc-enterprise": {"buffer": {"size": "64MiB"}}}
#: What the cells need to be named for.
AGEING = {"media.model": "tlc-3d"}
FEATURES = {
    "SLC cache": {
        "slc_cache.dynamic": 0.5,
        "slc_cache.program": "200us",
        "slc_cache.read": "25us",
    },
    "FDP": {"fdp.handles": 4},
    "snapshots": {"snapshots.most": 2},
    "map cache": {"map.memory": "1MiB"},
    "ageing of data": AGEING,
    "patrol": {**AGEING, "scrub.period": "7d"},
    "bad blocks": {"spares.program_fail": 1e-4},
    "parity": {"parity.of": 16},
    "thermal limit": {"thermal.limit": "70C", "energy.controller": "3W"},
    "recovery": {"persistence.recovery": "checkpoint", "summary_page": True},
    "summary page": {"summary_page": True},
    "levelling": {"cleaning.levelling.rule": "migrate"},
    "hot and cold": {"cleaning.frontiers": "hot-cold"},
    "log blocks": {"log_blocks.scheme": "fast"},
    "block buffer": {"block_buffer.size": "4032KiB"},
    "copy-back": {"cleaning.copy_back": True},
    "burst pace": {"cleaning.pace": "burst"},
    "suspension": {"suspend.program": "10us"},
}


def refusal(drive, keys):
    """Why a drive with these keys is refused; empty if it is not."""
    changes = {f"device.{key}": value for key, value in keys.items()}
    device = {"preset": drive, **SMALL.get(drive, {})}
    workload = {"kind": "closed", "requests": 1}
    try:
        run(device=device, workload=workload, set=changes)
    except InputError as error:
        return str(error)
    return ""


def refusals(drive, features):
    """The features that a drive refuses alone, and pairs of the others, with their sentences."""
    alone = {name: why for name, keys in features.items() if (why := refusal(drive, keys))}
    pairs = {}
    for one, other in combinations([name for name in features if name not in alone], 2):
        both = {**features[one], **features[other]}
        # Two values of one key are no pair of features.
        if both == {**features[other], **features[one]} and (why := refusal(drive, both)):
            pairs[one, other] = why
    return alone, pairs


@cache
def refused():
    """By drive."""
    return {drive: refusals(drive, FEATURES) for drive in DRIVES}
