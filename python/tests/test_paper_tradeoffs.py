"""The factorial experiment of the trade-offs: its effects are those that were put in."""

import itertools
import math
import random

import pytest

from ssdlab.paper import Study, tpcc, tradeoffs

NAMES = ["a", "b", "c"]
CHOICES = list(itertools.product((0, 1), repeat=3))


def logs(law, seeds=4, noise=0.0):
    """Logarithms with an offset for each seed, and noise."""
    draws = random.Random(5)
    offsets = [draws.gauss(0, 1) for _ in range(seeds)]
    return {
        levels: [law(*levels) + offset + draws.gauss(0, noise) for offset in offsets]
        for levels in CHOICES
    }


def test_effects_are_those_put_in_and_seeds_are_no_error():
    found = tradeoffs.effects(NAMES, logs(lambda a, b, c: 0.7 * a - 0.2 * b))
    of = {it.of: it.log for it in found.found}
    assert of[("a",)] == pytest.approx(0.7) and of[("b",)] == pytest.approx(-0.2)
    assert found.half == pytest.approx(0, abs=1e-9)
    assert found.independent_percent() == pytest.approx(100)
    together = tradeoffs.effects(NAMES, logs(lambda a, b, c: 0.4 * a * b))
    of = {it.of: it.log for it in together.found}
    # A product of two levels is a half of each alone and a half of both together.
    assert of[("a",)] == of[("b",)] == pytest.approx(0.2) == of[("a", "b")]
    assert together.independent_percent() == pytest.approx(100 * 2 / 3)
    assert together.independent_percent("a") == pytest.approx(50)
    assert together.interactions()[0].of == ("a", "b")


def test_intervals_hold_together():
    misses = 0
    for seed in range(200):
        draws = random.Random(seed)
        drawn = {levels: [draws.gauss(0, 1) for _ in range(3)] for levels in CHOICES}
        found = tradeoffs.effects(NAMES, drawn)
        misses += any(abs(it.log) > found.half for it in found.found)
    # One study in twenty may be wrong somewhere: 10 of 200, and 21 are too many by chance.
    assert 1 <= misses <= 20


def test_every_technique_is_another_drive():
    study = Study(quick=True)
    drives = {
        str(sorted(tradeoffs._experiment(study, "tpcc", levels, 1)["device"].items()))
        for levels in itertools.product((0, 1), repeat=len(tradeoffs.TECHNIQUES))
    }
    assert len(drives) == 32


def test_the_load_of_the_disks_is_that_of_the_trace():
    workload = tpcc._experiment(tpcc._ssds(), 10)["workload"]
    mean_ms = float(workload["interarrival"].split(",")[1].rstrip(")"))
    assert 1000 / mean_ms == pytest.approx(6.8e6 / 1800, rel=1e-4)
    assert math.isclose(tpcc.DISKS * tpcc.CONTROLLERS, 392)
