"""The section `energy` of results: it adds up, over time as well, and is shown."""

import pytest

import ssdlab as lab
from ssdlab.results import over_time

DRIVE = {"device.blocks_per_plane": 32, "workload.requests": 3000}


@pytest.fixture(scope="module")
def written():
    """The baseline under random writes, steady."""
    return lab.run(workload="random-write", set={**DRIVE, "run.precondition": "random:2"})


def seconds_of_bins(results):
    """The length of each interval, the last of which ends with the run."""
    series = results.time_series
    whole = len(series.requests) - 1
    return [series.bin_seconds] * whole + [results.simulated_seconds - whole * series.bin_seconds]


def test_the_parts_add_up(written):
    energy = written.energy
    assert sum(energy.parts.values()) == pytest.approx(energy.joules)
    assert energy.mean_watts == pytest.approx(energy.joules / written.simulated_seconds)
    assert energy.iops == pytest.approx(written.host.all.iops)
    assert energy.iops_per_watt == pytest.approx(energy.iops / energy.mean_watts)
    assert energy.joules_per_gb == pytest.approx(energy.joules / written.host.all.bytes * 1e9)
    busy = [unit.busy for unit in written.units]
    assert energy.utilisation == pytest.approx(sum(busy) / len(busy))
    operations = sum(energy.parts[part] for part in ("flash", "bus"))
    each = energy.joules_per_request
    assert each.write == pytest.approx(operations / written.host.write.requests)
    assert each.read is None
    assert each["all"] == pytest.approx(energy.joules / written.host.all.requests)


def test_watts_over_time_add_up(written):
    pairs = zip(written.time_series.watts, seconds_of_bins(written), strict=True)
    assert sum(watts * seconds for watts, seconds in pairs) == pytest.approx(
        written.energy.joules, rel=1e-6
    )


def test_the_warm_up_is_left_out():
    found = lab.run(workload="random-write", set={**DRIVE, "run.warm_up": "100ms"})
    pairs = zip(found.time_series.watts, seconds_of_bins(found), strict=True)
    over_time = sum(watts * seconds for watts, seconds in pairs)
    assert over_time == pytest.approx(found.energy.joules, rel=1e-3)
    assert found.energy.mean_watts == pytest.approx(
        found.energy.joules / found.simulated_seconds, rel=1e-6
    )


def test_reads_and_writes_share_what_operations_take():
    found = lab.run(workload="mixed", set={**DRIVE, "workload.read_share": 0.5})
    each, host = found.energy.joules_per_request, found.host
    parts = found.energy.parts
    assert each.read == pytest.approx(10.77e-6, rel=0.01)
    shared = each.read * host.read.requests + each.write * host.write.requests
    assert shared == pytest.approx(parts.flash + parts.bus)


def test_a_disk_and_a_law_have_energy_too():
    disk = lab.run(device="sata-2008", set={"workload.requests": 500})
    assert 8 < disk.energy.mean_watts < 10
    assert disk.energy.parts.mechanics > 0
    assert "pages_programmed" not in disk.time_series
    assert len(disk.time_series.watts) == len(disk.time_series.requests)
    powers = {"device.energy.active": "1W", "device.energy.idle": "100mW"}
    law = lab.run(device="zeus-linear", set={"workload.requests": 500, **powers})
    assert law.energy.parts.service > 0
    assert "energy" not in lab.run(device="zeus-linear", set={"workload.requests": 500})


def test_any_number_of_threads_takes_the_same():
    load = {"kind": "open", "interarrival": "exponential(0, 0.05)", "requests": 3000}
    one, two = (
        lab.run(workload=load, set={"device.blocks_per_plane": 32}, threads=threads)
        for threads in (1, 2)
    )
    assert one.energy.to_dict() == two.energy.to_dict()
    assert one.time_series.to_dict() == two.time_series.to_dict()


def test_without_time_there_is_no_power():
    found = lab.run(workload="random-write", set={**DRIVE, "run.timed": False})
    assert "energy" not in found
    assert "watts" not in found.time_series


def test_energy_is_shown(ssdlab, written, tmp_path):
    written.save(tmp_path / "written.json")
    strip = next(it for it in over_time.strips([("", written)]) if it.title == "Power")
    (drawn,) = strip.lines()
    assert drawn.y[5] == pytest.approx(written.energy.mean_watts, rel=0.5)
    assert ssdlab("report", "written.json", "--out", "r.html").returncode == 0
    page = (tmp_path / "r.html").read_text()
    for words in ("Power", "joules per request write", "mean watts"):
        assert words in page
    done = ssdlab("run", "--set", "workload.requests=500")
    assert "Energy: " in done.stdout
    assert " per write, " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("device.energy.read=25", "a current with its unit"),
        ("device.energy.read=25mW", "units: nA, uA, mA, A"),
        ("device.energy.read=-1mA", "must not be negative"),
        ("device.energy.controller=5000kW", "at most 1000kW"),
        ("device.energy.idle=1W", "kind ssd has none, kinds"),
        ("device.energy.reed=1mA", "did you mean"),
    ],
)
def test_wrong_keys_of_energy_are_refused(refused, assignment, said):
    assert said in refused("run", "--set", assignment)
