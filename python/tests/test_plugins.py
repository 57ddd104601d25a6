"""Names that other packages add, with the example of one, as its installation leaves it."""

import json
import os
import shutil
import subprocess
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


def test_a_pace_of_a_package_is_refused_in_words(installed, monkeypatch):
    """There is no interface for one; a word that is merely wrong has the choices."""
    (about,) = installed.glob("*.dist-info")
    with (about / "entry_points.txt").open("a") as entries:
        entries.write("\n[ssdlab.paces]\ngentle = ssdlab_example.cleaner:LeastValid\n")
    plugins.found.cache_clear()
    for name, said in (
        (
            "gentle",
            'set={"device.cleaning.pace": "gentle"}: a pace is built in .one of token, burst,',
        ),
        ("gentle", "as they can a cleaning.policy; the package ssdlab-example declares it in vain"),
        ("mine:Pace", "neither Python code nor a package can add one"),
        ("nearly", '"nearly" is not one of token, burst, adaptive'),
    ):
        with pytest.raises(package.InputError, match=said):
            package.Experiment(device="tlc-client", set={"device.cleaning.pace": name})
    package.Experiment(device="tlc-client", set={"device.cleaning.pace": "burst"})


def test_the_example_works_where_it_is_installed(tmp_path):
    """Built by its build backend, and read by programs that are started afterwards."""
    pytest.importorskip("setuptools", reason="builds the example")
    source, site = tmp_path / "plugin", tmp_path / "site"
    shutil.copytree(EXAMPLE, source)
    site.mkdir()
    # What an installation does, of which pip itself would need the network.
    words = ["build_py", "--build-lib", site, "egg_info", "--egg-base", site]
    build = [sys.executable, "-c", "import setuptools; setuptools.setup()", *words]
    done = subprocess.run(build, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "it.minutes").write_text("0:0 w 0 8\n0:1.5 r 0 8\n1:0 w 16 16\n")

    def said(*words):
        run = [sys.executable, "-m", "ssdlab", *words]
        more = {"PYTHONPATH": str(site), "SSDLAB_CACHE": "off"}
        done = subprocess.run(
            run, capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ, **more)
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    small = ["--set", "workload.requests=500", "--json", "-"]
    device = ["--device", "two-channel-tlc", *small]
    assert json.loads(said("run", *device))["experiment"]["device"]["channels"] == 2
    policy = ["--set", "cleaning.policy=least-valid"]
    cleaned = json.loads(said("run", *small, *policy))["experiment"]["device"]["cleaning"]
    assert cleaned["policy"] == "ssdlab_example.cleaner:LeastValid"
    trace = json.loads(said("run", "--trace", "it.minutes", "--json", "-"))
    assert trace["host"]["all"]["requests"] == 3
    for what, name in (("devices", "two-channel-tlc"), ("cleaners", "least-valid")):
        assert name in said("list", what)
        assert list(json.loads(said("list", what, "--json"))[what]).count(name) == 1
    assert "480 GB" in said("list", "devices", "two-channel")


def test_nothing_is_looked_for_where_names_are_built_in():
    plugins.found.cache_clear()
    package.Experiment(device="tlc-client", set={"cleaning.policy": "greedy"})
    assert plugins.found.cache_info().misses == 0
