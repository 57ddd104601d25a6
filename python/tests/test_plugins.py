"""Names that other packages add, with the example of one, as its installation leaves it."""

import shutil
import sys
from pathlib import Path

import pytest

import ssdlab as package
from ssdlab import plugins

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture
def installed(tmp_path_factory, monkeypatch):
    """The example on Python's path, beside the metadata that an installer writes."""
    from ssdlab import toml

    place = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE / "src", place, dirs_exist_ok=True)
    project = toml.parse("it", (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = place / f"ssdlab_example-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in rows.items())
        for group, rows in project["entry-points"].items()
    )
    (about / "entry_points.txt").write_text("\n".join(sections))
    monkeypatch.syspath_prepend(str(place))
    plugins.found.cache_clear()
    yield place
    plugins.found.cache_clear()
    for name in [name for name in sys.modules if name.startswith("ssdlab_example")]:
        del sys.modules[name]


SMALL = {"device.blocks_per_plane": 64, "workload.requests": 2000}


def test_a_device_of_a_package_is_found_by_name(installed):
    found = package.Experiment(device="two-channel-tlc").to_dict()["device"]
    assert found["channels"] == 2
    assert found["cell"] == package.Experiment(device="tlc-client").to_dict()["device"]["cell"]
    assert "ssdlab-example" in package.list("devices")["two-channel-tlc"]


def test_a_cleaner_of_a_package_is_found_by_name(installed):
    keys = SMALL | {"workload.read_share": 0, "run.precondition": "random:1"}
    named = package.run(set=keys | {"device.cleaning.policy": "least-valid"})
    greedy = package.run(set=keys | {"device.cleaning.policy": "greedy"})
    assert named.experiment.device.cleaning.policy == "ssdlab_example.cleaner:LeastValid"
    # Both clean the emptiest block, at moments that differ a little.
    amplification = greedy.flash.write_amplification
    assert named.flash.write_amplification == pytest.approx(amplification, rel=0.05)
    assert amplification > 1


def test_a_trace_with_the_ending_of_a_package_is_read_by_it(installed, tmp_path):
    trace = tmp_path / "it.minutes"
    trace.write_text("0:0 w 0 8\n0:1.5 r 0 8\n1:0 w 16 16\n")
    found = package.trace.info(trace)
    assert (found.requests, found.read_share) == (3, pytest.approx(1 / 3))
    run = package.run(device="agrawal2008", trace=trace)
    assert run.host.all.requests == 3 and run.simulated_seconds > 60
    trace.write_text("0:0 x 0 8\n")
    with pytest.raises(package.InputError, match="ssdlab-example cannot read it: KeyError"):
        package.run(trace=trace)


def test_files_name_no_code_of_a_package(installed, tmp_path):
    (tmp_path / "it.toml").write_text('version = 1\n[device]\ncleaning.policy = "least-valid"\n')
    with pytest.raises(package.InputError, match="least-valid"):
        package.Experiment(tmp_path / "it.toml")


def test_what_is_built_in_comes_first_and_a_missing_file_is_said(installed, monkeypatch):
    (about,) = installed.glob("*.dist-info")
    entries = about.rename(installed / "ssdlab_example-0.2.0.dist-info") / "entry_points.txt"
    entries.write_text(
        "[ssdlab.devices]\nagrawal2008 = ssdlab_example.devices\ngone = ssdlab_example.devices\n"
    )
    monkeypatch.syspath_prepend(str(installed))
    plugins.found.cache_clear()
    assert package.Experiment(device="agrawal2008").to_dict()["device"]["channels"] != 2
    with pytest.raises(package.InputError, match="ssdlab-example declares it and has no gone.toml"):
        package.Experiment(device="gone")


def test_nothing_is_looked_for_where_names_are_built_in():
    plugins.found.cache_clear()
    package.Experiment(device="tlc-client", set={"cleaning.policy": "greedy"})
    assert plugins.found.cache_info().misses == 0
