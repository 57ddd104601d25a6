"""The original 2008 simulator under many configurations: mean response and blocks cleaned.

Its results and the traces that it was given have terms of their own and are not part of this
repository: the tests run where they lie in `../shared`. Every run is within 3 %, or it has a row
with our deviation and the reason in `original_2008.tsv` and deviates just so: one that starts to
agree, or moves, fails. `SSDLAB_UPDATE=1` writes the deviations of the runs that are tested anew;
the reason of a new row is for whoever updates to fill in. `docs/original-simulator.md` tells the
reasons at length.
"""

import csv
import functools
import json
import os
from pathlib import Path

import pytest

import ssdlab
from ssdlab.foreign.given import Given
from ssdlab.foreign.parv import Block, Value
from ssdlab.foreign.ssdmodel import ssd_keys

TABLE = Path(__file__).with_name("original_2008.tsv")
SHARED = Path(__file__).resolve().parents[3] / "shared"
MATRIX = SHARED / "oracle" / "matrix.json"
TOLERANCE = 0.03
# A run with a row in the table must deviate as it says, within this number of percentage points:
# results are bit-identical on every machine, and the table has three decimals.
BAND = 0.2

# The streams of some runs arrive more slowly than those of the files they name: by these factors.
# The factors of the gangs were found with the gangs of one package, the other where the means of
# two runs deviate as the blocks that they clean do.
GANG_TIME_SCALE = {"w_tpcc": 8, "w_rd128k": 10}
SLOW_TIME_SCALE = {"reserve__w_rw4k__res5_cb1": 3, "reserve__w_rw4k__res8_cb1": 3}


def settings(name, workload, requests, c):
    """The drive of a run as its parameters are converted, and keys of the stream."""
    given = {key: Value(str(value), 1) for key, value in c.items()}
    device = ssd_keys(Given(Block(Path(name), "ssdmodel_ssd", "SSD", 1, given)))
    keys = {}
    if c["Allocation pool logic"] == 0:
        if "__sync" in name:
            device["gang"] = "shared-control-sync"
            del device["stripe"]
        keys["workload.time_scale"] = GANG_TIME_SCALE.get(workload, 1)
    if name in SLOW_TIME_SCALE:
        keys["workload.time_scale"] = SLOW_TIME_SCALE[name]
    if name.endswith("_nomig"):
        device["cleaning"]["levelling"] = {"rule": "rate-limit"}
    if requests == 99_999:
        keys["workload.requests"] = 100_000
    if c["Reserve pages percentage"] > 15 or c["Planes per package"] < 8:
        # The original was given a stream over its own capacity, which is smaller.
        keys["workload.beyond"] = "scale"
    return {"device": device, "set": keys}


def trace(workload):
    name = workload if workload.startswith("disksim") else f"oracle_{workload}"
    return SHARED / "traces" / f"{name}.trace.zst"


@functools.cache
def simulated(workload, keys):
    """Mean response in ms, as the original counts it, and blocks cleaned; keys as JSON."""
    host_and_flash = ssdlab.run(trace=trace(workload), seed=1, **json.loads(keys))
    host, flash = host_and_flash.host.all, host_and_flash.flash
    return (host.mean_us - host.breakdown_us.host_queue) / 1000, flash.block_erases


def published():
    """The runs of the original as parameters: of each group the first and every fourth; the others
    are for the night, and so are those of the longest trace.
    """
    if not MATRIX.exists():
        return [pytest.param(None, None, id="absent")]
    matrix = json.loads(MATRIX.read_text())
    groups = {}
    for run in matrix["experiments"]:
        if "iozone" not in run["name"]:
            groups.setdefault(run["name"].partition("__")[0], []).append(run["name"])
    by_day = {name for group in groups.values() for name in group[::4]}
    return [
        pytest.param(
            run,
            {**matrix["base"], **run["changed"]},
            id=run["name"],
            marks=[] if run["name"] in by_day else [pytest.mark.nightly],
        )
        for run in matrix["experiments"]
    ]


def exceptions():
    """The rows of the table by the name of the run."""
    with TABLE.open(newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file, delimiter="\t")}


def update(name, row):
    """Puts a row of the table in the place of the old one, or removes it."""
    rows = exceptions()
    rows.pop(name, None)
    if row is not None:
        rows[name] = row
    with TABLE.open("w", newline="") as file:
        columns = ["run", "mean_percent", "cleaned_percent", "reason"]
        writer = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))


def judge(run, mean_ms, cleaned, row):
    """The row that a run should have, and what is wrong with the one it has, or None."""
    off = mean_ms / run["device_mean_ms"] - 1
    off_cleaned = cleaned / run["blocks_cleaned"] - 1 if run["blocks_cleaned"] else float(cleaned)
    print(
        f"{run['device_mean_ms']:.4f} ms, here {mean_ms:.4f} ({off:+.2%}); "
        f"{run['blocks_cleaned']} blocks cleaned, here {cleaned} ({off_cleaned:+.2%})"
    )
    deviation = (100 * off, 100 * off_cleaned)
    if max(map(abs, deviation)) <= 100 * TOLERANCE:
        return None, "it agrees, and has a row in the table" if row else None
    new = {
        "run": run["name"],
        "mean_percent": f"{deviation[0]:+.3f}",
        "cleaned_percent": f"{deviation[1]:+.3f}",
        "reason": row["reason"] if row else "",
    }
    if row is None:
        return new, "it deviates, and has no row in the table"
    recorded = (float(row["mean_percent"]), float(row["cleaned_percent"]))
    if max(abs(a - b) for a, b in zip(deviation, recorded, strict=True)) > BAND:
        return new, f"it deviates otherwise than the table says: {recorded}"
    return new, None


@pytest.mark.shared("oracle/matrix.json")
@pytest.mark.parametrize(("run", "config"), published())
def test_a_run_of_the_original(run, config):
    name, workload = run["name"], run["workload"]
    keys = settings(name, workload, run["requests"], config)
    row = exceptions().get(name)
    new, wrong = judge(run, *simulated(workload, json.dumps(keys)), row)
    if os.environ.get("SSDLAB_UPDATE") == "1":
        update(name, new)
    else:
        assert wrong is None, new


@pytest.mark.shared("oracle/matrix.json")
def test_every_exception_is_a_run_and_has_a_reason():
    names = {run["name"] for run in json.loads(MATRIX.read_text())["experiments"]}
    rows = exceptions()
    assert rows.keys() <= names
    assert all(row["reason"] for row in rows.values())
    assert len(rows) <= 79


def test_an_exception_that_agrees_or_moves_is_noticed():
    run = {"name": "x", "device_mean_ms": 2.0, "blocks_cleaned": 1000}
    row = {"run": "x", "mean_percent": "+10.000", "cleaned_percent": "-5.000", "reason": "known"}
    assert judge(run, 2.0, 1000, None) == (None, None)
    assert judge(run, 2.2, 950, row) == (row, None)
    for mean_ms, cleaned, known in [
        (2.0, 1000, row),  # agrees
        (2.206, 950, row),  # moved by 0.3 points
        (2.2, 953, row),
        (2.2, 950, None),  # new
    ]:
        assert judge(run, mean_ms, cleaned, known)[1] is not None
