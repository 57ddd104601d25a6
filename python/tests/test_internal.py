"""A defect of ssdlab is distinguished from a mistake of the user, and says how to report it."""

import pytest

import ssdlab as package
from ssdlab import _core, cli
from ssdlab.sweeps import work

HOW = "please report it with what `ssdlab run --show` prints"


@pytest.fixture
def defective(monkeypatch):
    """The engine panics in every run."""
    monkeypatch.setattr(_core, "run", lambda *_, **__: _core.panic("block 7 is nowhere"))


def test_a_panic_is_an_internal_error():
    with pytest.raises(package.InternalError, match="internal error: block 7 is nowhere") as said:
        _core.panic("block 7 is nowhere")
    assert HOW in str(said.value) and package.__version__ in str(said.value)
    assert not isinstance(said.value, package.InputError)


def test_the_command_line_reports_a_panic_in_one_line(defective, capfd):
    assert cli.main(["run", "--quiet", "--set", "workload.requests=10"]) == 1
    lines = capfd.readouterr().err.splitlines()
    own = [line for line in lines if line.startswith("ssdlab: ")]
    assert len(own) == 1 and HOW in own[0] and own[0].endswith("nothing was written")
    # What the engine says of the place stands above.
    assert any("panicked at" in line for line in lines) and "Traceback" not in "".join(lines)


def test_a_panic_ends_a_point_and_not_the_sweep(defective):
    assert work.run_point([], False)[1].startswith("internal error: block 7 is nowhere")
