"""Placement handles of a drive: results, table and keys from Python and the command line."""

import ssdlab

DRIVE = {"preset": "agrawal2008", "blocks_per_plane": 64, "channels": 1, "planes_per_die": 1}
LOAD = {
    "workload.kind": "closed",
    "workload.read_share": 0.0,
    "workload.requests": 30_000,
    "run.timed": False,
}


def placed(handles, **more):
    keys = {"device.fdp.handles": handles, **LOAD, **more}
    return ssdlab.run(device=DRIVE, set=keys)


def test_handles_are_counted_and_add_up():
    rule = {"device.fdp.place": "address(0-10%:1)", "device.spare_factor": 0.3}
    results = placed(2, **rule)
    fdp = results.to_dict()["fdp"]
    assert sum(it["host_bytes"] for it in fdp["handles"]) == results.flash.host_bytes_written
    assert fdp["host_bytes"] == results.flash.host_bytes_written
    shares = [it["host_bytes"] / fdp["host_bytes"] for it in fdp["handles"]]
    assert abs(shares[1] - 0.1) < 0.01
    assert "fdp" not in ssdlab.run(device=DRIVE, set=LOAD).to_dict()


def test_a_run_shows_its_handles(ssdlab):
    drive = {f"device.{key}": value for key, value in DRIVE.items() if key != "preset"}
    more = {"device.fdp.handles": 2, "device.fdp.place": "queue"}
    sets = {**LOAD, **drive, **more}.items()
    done = ssdlab(
        "run", "--device", "agrawal2008", *(f"--set={key}={str(it).lower()}" for key, it in sets)
    )
    assert done.returncode == 0, done
    shown = " ".join(done.stdout.split())
    assert "Placement handles" in shown
    assert "handle 0" in shown
    assert "nothing was written with 1" in shown
