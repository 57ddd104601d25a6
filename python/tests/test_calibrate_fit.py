"""Parameters of an SSD, searched by simulation."""

import json

import pytest

import ssdlab as package
from ssdlab.calibration import search
from ssdlab.results import outputs

pytest.importorskip("scipy")

#: Small, so that building it takes no time.
SMALL = {"preset": "agrawal2008", "blocks_per_plane": 16}


def measured(folder, device, patterns, sizes, outstanding):
    """fio's form of results of the device, with other random places than the search has."""
    folder.mkdir()
    for read_share, random_share in patterns:
        for size in sizes:
            for number in outstanding:
                workload = {
                    "kind": "closed",
                    "requests": max(2000, 100 * number),
                    "outstanding": number,
                    "read_share": read_share,
                    "random_share": random_share,
                    "block_size": f"{size}KiB",
                }
                results = package.run(device=device, workload=workload, seed=7)
                name = f"{read_share}-{random_share}-{size}-{number}.json"
                (folder / name).write_text(outputs.fio(results))
    return folder


@pytest.mark.nightly
def test_timings_and_interleaving_are_found_again(tmp_path):
    truth = {**SMALL, "interleave": "die", "timing": {"read": "60us", "bus_per_byte": "40ns"}}
    # Alone, a read shows the sum of sensing and transfer; of many, the bus is the bottleneck.
    folder = measured(tmp_path / "fio", truth, [(1.0, 1.0)], (4, 16), (1, 64))
    fit = ["timing.read=10us..200us", "device.interleave=none,die"]
    fit.append("timing.bus_per_byte=5ns..100ns")
    found = package.calibrate(folder, device=SMALL, fit=fit)
    values = found.fit.parameters
    assert values["device.interleave"] == "die"
    assert float(values["timing.read"].removesuffix("us")) == pytest.approx(60, rel=0.05)
    assert float(values["timing.bus_per_byte"].removesuffix("ns")) == pytest.approx(40, rel=0.05)
    assert found.fit.before.mean_error_percent > 10 * found.fit.after.mean_error_percent
    assert found.fit.after.max_error_percent < 3
    for point in found.fit.points:
        assert point.after_us == pytest.approx(point.mean_us, rel=0.03)
        assert point.before_error_percent == pytest.approx(
            100 * (point.before_us / point.mean_us - 1)
        )
    # The device file is the whole device, with the values.
    file = tmp_path / "device.toml"
    found.save(file)
    again = package.run(device=file, workload={"kind": "closed", "requests": 10})
    assert again.experiment.device.interleave == "die"


@pytest.mark.nightly
def test_parameters_that_the_points_do_not_determine_are_named(tmp_path):
    truth = {**SMALL, "timing": {"read": "60us", "bus_per_byte": "12ns"}}
    # One page at a time: only the sum of sensing and transfer shows; nothing is written.
    folder = measured(tmp_path / "fio", truth, [(1.0, 1.0)], (4,), (1,))
    fit = ["timing.read=10us..200us", "timing.bus_per_byte=5ns..50ns"]
    found = package.calibrate(folder, device=SMALL, fit=[*fit, "timing.program=50us..900us"])
    notes = "; ".join(found.notes)
    assert "timing.program changes no measured point" in notes
    assert found.fit.after.mean_error_percent < 1
    assert "hardly tell timing.read and timing.bus_per_byte apart" in notes


def test_a_value_at_its_bound_is_reported(tmp_path):
    truth = {"kind": "law", "random_read": {"fixed": "300us"}}
    folder = measured(tmp_path / "fio", truth, [(1.0, 1.0)], (4, 16, 64), (1,))
    found = package.calibrate(folder, device="zeus-linear", fit=["random_read.fixed=100us..200us"])
    assert "random_read.fixed = 200us is at a bound" in "; ".join(found.notes).replace(
        "200.000", "200"
    )
    fit = ["random_read.fixed=100us..500us"]
    found = package.calibrate(folder, device="zeus-linear", fit=fit)
    value = float(found.fit.parameters["random_read.fixed"].removesuffix("us"))
    assert value == pytest.approx(300, rel=0.002)
    assert found.fit.after.mean_error_percent < 0.2 < found.fit.before.mean_error_percent


def test_a_search_that_is_interrupted_keeps_the_best_so_far(tmp_path):
    truth = {"kind": "law", "random_read": {"fixed": "300us"}}
    folder = measured(tmp_path / "fio", truth, [(1.0, 1.0)], (4, 16, 64), (1,))
    tried = []

    def interrupt(done, _):
        tried.append(done)
        if done == 12:
            raise KeyboardInterrupt

    fit = ["random_read.fixed=100us..900us"]
    found = package.calibrate(folder, device="zeus-linear", fit=fit, progress=interrupt)
    assert max(tried) == 12
    assert search.INTERRUPTED in found.notes
    fit = found.fit
    assert fit.simulations == 12 * len(fit.points)
    assert fit.after.mean_error_percent < fit.before.mean_error_percent
    assert 100 < float(fit.parameters["random_read.fixed"].removesuffix("us")) < 900
    found.save(tmp_path / "so-far.toml")
    assert (tmp_path / "so-far.toml").exists()
    # Before the first trial there is nothing to keep.
    with pytest.raises(KeyboardInterrupt):
        package.calibrate(
            folder,
            device="zeus-linear",
            fit=["random_read.fixed=100us..900us"],
            progress=lambda done, _: interrupt(12, 0) if done else None,
        )


def test_the_command_prints_points_before_and_after(tmp_path, ssdlab):
    truth = {"kind": "law", "random_read": {"fixed": "300us"}}
    folder = measured(tmp_path / "fio", truth, [(1.0, 1.0)], (4, 16, 64), (1,))
    out = tmp_path / "d.toml"
    fit = ("--device", "zeus-linear", "--fit", "random_read.fixed=100us..500us")
    ran = ssdlab("calibrate", folder, *fit, "--out", out)
    assert ran.returncode == 0, ran.stderr
    assert "Mean error" in ran.stdout and "rand_read 16KiB" in ran.stdout
    assert 'kind = "law"' in out.read_text() and "error %" in out.read_text()
    ran = ssdlab("calibrate", folder, *fit, "--json", "-")
    assert set(json.loads(ran.stdout)["fit"]["after"]) == {
        "mean_error_percent",
        "max_error_percent",
    }


def test_ranges_are_read_in_all_their_forms():
    assert search.parameter("timing.read=10us..1000us").text(0.5) == "100.000us"
    assert search.parameter("host_link.latency=0us..10us").text(0.5) == "5.000us"
    assert search.parameter("device.channels=2..32").text(0.5) == "8"
    assert search.parameter("device.spare_factor=0.1..0.4").text(0.5) == "0.200"
    assert search.parameter("device.interleave=none, die").words == ("none", "die")
