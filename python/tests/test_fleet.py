"""The example of a fleet, on one worker and few drives; docs/cluster.md has it at full size."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ssdlab

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet.py"
FEW = ["--drives", "4", "--requests", "300", "--workers", "1", "--directory", "fleet"]


def fleet(cwd):
    # Dask's workers are processes of their own: they find what this one has found.
    path = os.pathsep.join(
        [str(Path(ssdlab.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, EXAMPLE, *FEW],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fleet_begins_with_kept_drives_and_goes_on_where_it_was(tmp_path):
    pytest.importorskip("distributed")
    said = fleet(tmp_path)
    assert re.search(r"^blocking +2 drives: p99 +\d+ us in the median", said, re.M)
    assert re.search(r"^yielding +2 drives", said, re.M)
    assert re.search(r"^4 drives in .* on 1 workers", said, re.M)
    assert "most memory of a worker" in said
    folder = tmp_path / "fleet"
    lines = (folder / "fleet.jsonl").read_text().splitlines()
    assert len(lines) == 4
    # A drive of the fleet is the run of its trace on the drive that was kept.
    again = ssdlab.run(
        device={"cleaning": {"time": "interleaved"}},
        run={"load_drive": str(folder / "yielding.drive")},
        trace=folder / "host00001.parquet",
        set={"device.blocks_per_plane": 256, "device.spare_factor": 0.15},
    )
    (folder / "again.json").write_text(again.to_json())
    last = ssdlab.Results.load(folder / "again.json").to_dict()
    kept = json.loads(lines[-1])["results"]
    assert kept["host"] == last["host"]
    assert kept["flash"] == last["flash"]
    # What is done is not run again.
    written = (folder / "fleet.jsonl").read_bytes()
    fleet(tmp_path)
    assert (folder / "fleet.jsonl").read_bytes() == written


def test_a_drive_that_was_saved_anew_is_run_anew(tiny, tmp_path):
    """A sweep that goes on must not take results of another drive for those of this one."""
    drive, table = tmp_path / "kept.drive", tmp_path / "t.csv"
    worn = []
    for overwrites in (1, 4):
        saved = {"run.precondition": f"random:{overwrites}", "run.save_drive": str(drive)}
        ssdlab.run(set=tiny | saved)
        begun = {key: it for key, it in tiny.items() if "run" not in key}
        asked = {
            "set": begun | {"run.load_drive": str(drive)},
            "vary": {"run.seed": [1, 2]},
            "workers": 1,
            "out": table,
        }
        if worn:
            with pytest.raises(ssdlab.InputError, match="has 2 points of another sweep"):
                ssdlab.sweep(**asked)
        found = ssdlab.sweep(**asked, force=bool(worn))
        worn.append(found.columns["wear.mean_erases"])
    assert all(first < second for first, second in zip(*worn, strict=True))
