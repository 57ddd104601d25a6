"""What Python shows of itself: names, examples that run, and types that are those of the data.

That mypy finds a misspelt name is held by `support/misspelt.py`.
"""

import doctest
import importlib
import inspect

import pytest

import ssdlab

MODULES = [
    "ssdlab", "ssdlab.arguments", "ssdlab.catalogue", "ssdlab.cleaners.conformance",
    "ssdlab.comparison", "ssdlab.units", "ssdlab.placing", "ssdlab.placing.command",
    "ssdlab.placing.drive", "ssdlab.placing.own", "ssdlab.results", "ssdlab.running",
    "ssdlab.settings", "ssdlab.sizing", "ssdlab.sweeps.run", "ssdlab.trace",
]  # fmt: skip  # fmt: skip
#: Without an example that runs: they need a device, a socket, or write a page.
WITHOUT = {"calibrate", "serve", "serve_exports", "report"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed


def test_every_function_has_an_example():
    functions = {n for n in ssdlab.__all__ if inspect.isfunction(getattr(ssdlab, n))}
    lacking = {n for n in functions if ">>>" not in (getattr(ssdlab, n).__doc__ or "")}
    assert lacking <= WITHOUT
    assert ">>>" in (ssdlab.Results.__doc__ or "") and ">>>" in (ssdlab.Experiment.__doc__ or "")


def test_dir_shows_what_there_is():
    shown = {name for name in dir(ssdlab) if not name.startswith("__")}
    assert shown == {name for name in ssdlab.__all__ if name != "__version__"}
    assert {"run", "sweep", "compare", "size", "crash", "Results"} <= shown


def test_a_key_where_a_section_belongs_says_what_to_write():
    with pytest.raises(ssdlab.InputError) as said:
        ssdlab.run(workload="random-read", requests=1000)
    assert 'write set={"workload.requests": 1000}' in str(said.value)
    with pytest.raises(ssdlab.InputError) as said:
        ssdlab.run(block_size="8KiB")
    assert """set={"workload.block_size": '8KiB'}""" in str(said.value)
    assert ssdlab.run(set={"workload.requests": 10}, run={"until": "1s"}).host.all.requests == 10


def test_the_types_of_results_are_those_of_the_data(tiny):
    """Every key of a drive's results is typed, and whatever is typed and counted is there."""
    results = ssdlab.run(set=tiny | {"workload.requests": 3000})
    buffered = ssdlab.run(device="tlc-enterprise", set={"workload.requests": 300})
    for one in (results, buffered):
        for part in (one, one.host.all, one.flash, one.flash.cleaning, one.wear):
            assert {*part} <= {*inspect.get_annotations(type(part))}, type(part)
    for part in (results.flash, results.flash.cleaning, results.wear):
        assert {*inspect.get_annotations(type(part))} <= {*part}, type(part)
