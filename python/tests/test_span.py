"""A trace keeps its share of the drive, and the output says how, and how little it rests on."""

import json

import pytest

import ssdlab
from ssdlab import _core, sources


def parts():
    """The presets that simulate a part of each block, and the bytes of their whole drives."""
    found = {}
    for name, _ in _core.list("devices"):
        text = _core.preset_text("device", name) or ""
        if "\nscale = " in text:
            stack = [sources.from_name("device", name)]
            scale = json.loads(_core.resolve_json(stack))["device"]["scale"]
            found[name] = _core.capacity_bytes(stack) * scale
    return found


PARTS = parts()


@pytest.fixture
def trace(tmp_path):
    """Writes a trace of these requests, one a millisecond: volume, operation, offset, bytes."""

    def write(*requests):
        path = tmp_path / "own.csv"
        rows = [f"{n * 1000},{','.join(map(str, it))}" for n, it in enumerate(requests)]
        path.write_text("\n".join(["time_us,device,op,offset,bytes", *rows, ""]))
        return path

    return write


def plain(text):
    return " ".join(text.split())


def test_there_are_many_such_presets():
    assert len(PARTS) > 15 and PARTS["samsung-bm1743"] > 61e12


@pytest.mark.parametrize("device", PARTS)
def test_a_short_trace_goes_over_every_whole_drive(device, trace):
    last = PARTS[device] // 2**20 * 2**20 - 2**20
    path = trace((0, "write", 0, 4096), (0, "write", last, 4096), (0, "read", last, 4096))
    results = ssdlab.run(device=device, trace=path, set={"device.fill": "empty"}, check=True)
    assert results.experiment.device.scale == 1
    assert results.host.all.requests == 3
    assert results.host.all.failed == 0
    found = results.workload.trace
    assert (found.addresses, found.scale) == ("recorded", 1)
    assert found.span_bytes == last + 4096
    assert (found.touched_bytes, found.volumes) == (8192, 1)
    assert abs(found.whole_capacity_bytes - PARTS[device]) < 1e-3 * PARTS[device]


@pytest.mark.parametrize(
    ("device", "changes", "scale"),
    [
        ("samsung-pm9a3", {}, 1),
        ("samsung-pm9a3", {"run.precondition": "random:1"}, 64),
        ("samsung-pm9a3", {"device.scale": 32}, 32),
        ("samsung-pm9a3", {"workload.beyond": "dense"}, 64),
        ("samsung-pm9a3", {"run.timed": False}, 64),
        ("samsung-bm1743", {}, 512),
        ("samsung-bm1743", {"device.fill": "empty"}, 1),
        ("agrawal2008", {}, 1),
    ],
)
def test_the_whole_drive_is_simulated_where_it_takes_little(device, changes, scale, trace):
    path = trace((0, "write", 0, 4096))
    experiment = ssdlab.Experiment(device=device, trace=path, set=changes)
    assert experiment.to_dict()["device"]["scale"] == scale


def test_a_part_of_a_drive_is_asked_its_share(trace):
    capacity = PARTS["samsung-bm1743"]
    quarter = [(0, "write", n * capacity // 4096, 4096) for n in range(1024)]
    results = ssdlab.run(device="samsung-bm1743", trace=trace(*quarter))
    found = results.workload.trace
    assert (found.addresses, found.scale) == ("scaled", 512)
    assert results.capacity_bytes / 2048 < found.chunk_bytes <= results.capacity_bytes / 1024


def test_the_output_says_where_addresses_went(ssdlab, trace):
    whole = PARTS["samsung-pm9a3"]
    path = trace(*[(0, "write", n * (whole // 2**22) * 2**12, 4096) for n in range(1000)])
    run = ("run", "--device", "samsung-pm9a3", "--trace", path, "--set", "device.fill=empty")
    out = plain(ssdlab(*run).stdout)
    assert "Addresses: as recorded, on the whole drive of 960 GB; the trace touches 4.0" in out
    out = plain(ssdlab(*run, "--set", "device.scale=64").stdout)
    assert (
        "Addresses: divided by 64 in chunks of 8.39 MB, up to 64 of which share a place, on 1/64 "
        "of a drive of 960 GB;"
    ) in out
    out = plain(ssdlab(*run, "--set", "device.scale=64", "--set", "workload.beyond=dense").stdout)
    assert "Addresses: renumbered without gaps (workload.beyond=dense), on 1/64 of a" in out
    far = trace((0, "read", 4 * whole, 4096), (0, "read", 0, 4096))
    out = plain(ssdlab("run", "--device", "samsung-pm9a3", "--trace", far).stdout)
    assert "on the whole drive of 960 GB, which is smaller" in out


def test_what_is_read_once_is_replayed_on_the_whole_drive(ssdlab):
    run = ("run", "--device", "samsung-pm9a3", "--trace", "-", "--set", "device.fill=empty")
    done = ssdlab(*run, "--json", "-", input="0.0 0 1819835696 8 1\n1.0 0 8 8 0\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["workload"]["trace"]["addresses"] == "recorded"
    done = ssdlab(*run, input="0.0 0 9819835696 8 1\n")
    assert done.returncode == 2 and "read only once" in plain(done.stderr)


def test_volumes_that_share_addresses_are_named(ssdlab, trace):
    path = trace(*[(n % 3 // 2 + 7, "write", 4096 * n, 4096) for n in range(60)])
    run = ("run", "--set", "device.blocks_per_plane=64", "--trace", path)
    out = plain(ssdlab(*run).stdout)
    assert "Warning: mixed_volumes: the trace is of 2 volumes" in out
    assert "workload.devices=7 replays alone the one with the most requests, 40 of 60" in out
    assert "other_device_requests" not in out
    for settled in ("workload.devices=7", "workload.combine=concatenate"):
        assert "mixed_volumes" not in ssdlab(*run, "--set", settled).stdout


def test_an_answer_says_how_little_it_rests_on(ssdlab, trace):
    run = ("run", "--set", "device.blocks_per_plane=64", "--trace")
    out = plain(ssdlab(*run, trace((0, "read", 0, 4096))).stdout)
    assert "little_evidence: the answer rests on 1 request in" in out
    assert "a read: too few for a p99" in out and "nothing is programmed" in out
    out = plain(ssdlab(*run, trace(*[(0, "write", 0, 4096)] * 1200)).stdout)
    assert "little_evidence" not in out
