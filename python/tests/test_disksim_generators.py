"""Generators of DiskSim: which of several run, and the closed loop of waiting ones."""

from pathlib import Path

import pytest
from parv_texts import FLOW, block, parameters

import ssdlab as package
from ssdlab._core import InputError
from ssdlab.foreign import disksim

WAITING = {
    "Probability of time-critical request": "1.0", "Probability of sequential access": "0.0",
    "General inter-arrival times": "[ exponential, 0.0, 0.0 ]",
}  # fmt: skip


@pytest.fixture
def convert(tmp_path):
    def converted(flows, processors, drives="ssd0 .. ssd2", **organization):
        listed = ",\n".join(block("disksim_synthgen", "", FLOW | it) for it in flows)
        text = parameters(devices=drives, organization=organization or None)
        head, _, _ = text.partition("disksim_synthio")
        head += block("disksim_pf", "Proc", {"Number of processors": str(processors)})
        synthetic = {"Number of I/O requests to generate": "500", "Generators": f"[\n{listed}]"}
        path = tmp_path / "it.parv"
        path.write_text(head + block("disksim_synthio", "Synthio", synthetic))
        return path

    return converted


def test_a_generator_that_never_waits_keeps_its_processor(convert):
    alone = {"devices": "[ ssd0, ssd1, ssd2 ]", "Distribution scheme": "Asis"}
    flows = [
        {"devices": f"[ ssd{at} ]", "Probability of read access": f"0.{at}"} for at in range(3)
    ]
    path = convert(flows, 1, **alone | {"devices": "[ ssd2 ]"})
    found = package.Experiment(path).to_dict()
    assert found["device"]["kind"] == "ssd" and found["workload"]["read_share"] == 0.2
    said = disksim.converted(path)
    assert "2 of 3 generators never run: none waits" in said
    # With a processor each, all of them run, which is not converted.
    with pytest.raises(InputError, match="the load of 3 generators that differ is not converted"):
        disksim.converted(convert(flows, 3, **alone | {"devices": "[ ssd2 ]"}))


def test_generators_that_wait_are_a_closed_loop(convert):
    path = convert([WAITING] * 4, 4, drives="ssd0")
    found = package.Experiment(path).to_dict()["workload"]
    assert (found["kind"], found["requests"]) == ("generators", 500)
    results = package.run(path)
    assert results.host.all.requests == 500
    # Four are outstanding all the time.
    held = results.host.all.mean_us * results.host.all.iops / 1e6
    assert held == pytest.approx(4, rel=0.05)
    other = WAITING | {"Probability of read access": "0.9"}
    with pytest.raises(InputError, match="the load of 2 generators that differ is not converted"):
        disksim.converted(convert([WAITING, other], 2, drives="ssd0"))


SHARED = Path(__file__).resolve().parents[3] / "shared"
#: Mean times that the authors state, ms, and how far ours may be: a disk's queue is 7 % shorter.
STATED = {"synthclosed": (87.6, 0.01), "synthopen": (10.9, 0.075), "3disks": (10.937, 0.075),
          "3disks2": (10.937, 0.075)}  # fmt: skip


@pytest.mark.shared("disksim/EXPECTED.tsv")
@pytest.mark.parametrize("name", STATED)
def test_a_load_of_the_original_gives_what_its_authors_state(name):
    found = package.run(SHARED / "disksim" / "disks" / f"{name}.parv")
    stated, apart = STATED[name]
    assert found.host.all.requests == 10_000
    assert found.host.all.mean_us / 1000 == pytest.approx(stated, rel=apart)
