"""Successive halving: the best of a grid from short runs of most points."""

import math
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

import ssdlab
from ssdlab.sweeps import halving


def test_halving_finds_the_best_of_a_grid_in_few_requests(monkeypatch):
    monkeypatch.setattr(halving, "FEWEST", 300)
    arguments = {
        "vary": {"device.channels": [1, 2, 4, 8], "device.timing.read": "10us..80us:10us"},
        "set": {"workload.requests": 20_000, "device.blocks_per_plane": 64},
        "minimize": "read.mean_us",
    }
    found = ssdlab.sweep(**arguments, halve=True, executor=ThreadPoolExecutor(2))
    again = ssdlab.sweep(**arguments, halve=True, workers=1)
    assert found.columns == again.columns
    lengths = found.columns["workload.requests"]
    assert sum(lengths) < 0.2 * 32 * 20_000 and lengths[:32] == [lengths[0]] * 32
    assert 1 <= lengths.count(20_000) <= halving.FULL
    (best,) = found.pareto
    assert best.parameters["workload.requests"] == 20_000
    parameters = {key: it for key, it in best.parameters.items() if key != "workload.requests"}
    alone = ssdlab.run(set=arguments["set"] | parameters)
    assert best.results.host == alone.host, "a run in full is a point of the grid"
    grid = ssdlab.sweep(**arguments, executor=ThreadPoolExecutor(2))
    least = min(grid.columns["host.read.mean_us"])
    assert best.results.host.read.mean_us <= 1.05 * least


@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_halving_drops_what_an_interval_tells_apart(noise):
    draw = random.Random(5)
    truth = [*([0.0] * 8), *([1.0] * 8)]
    rounds = [[it + draw.gauss(0, noise) for it in truth] for _ in range(3)]
    left = halving.surviving([*zip(*rounds, strict=True)], [100, 200, 400])
    assert len(left) <= 6 and {truth[it] for it in left} == {0.0}
    lost = [(math.inf,) * 3] * 3
    assert halving.surviving([*lost, (0.0, 0.1, 0.0)], [1, 2, 4])[0] == 3
    assert len(halving.surviving(lost, [1, 2, 4])) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--search", "5", "--minimize", "p99"], "--halve excludes --search and --repeat"),
        (["--repeat", "3", "--minimize", "p99"], "--halve excludes --search and --repeat"),
        ([], "--halve takes one objective"),
        (["--minimize", "p99", "--maximize", "iops"], "--halve takes one objective"),
        (["--minimize", "p99", "--vary", "run.seed=1,2"], "vary other keys"),
        (
            ["--minimize", "p99", "--workload", "postmark"],
            "state their number, --set workload.requests=100000",
        ),
    ],
)
def test_halving_that_cannot_be_is_refused(refused, words, said):
    assert said in refused("sweep", "--halve", "--vary", "device.channels=2,4", *words)
