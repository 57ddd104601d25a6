"""Cleaning policies in Python: what they see, what they may answer, and how they fail."""

import _thread
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from ssdlab import Clean, Rest, cleaners

DOCS = Path(__file__).parents[2] / "docs"

# Eight packages of 512 blocks, each page overwritten twice first: cleaning is under way.
CLEANING = {
    "device.blocks_per_plane": 64,
    "workload.requests": 5000,
    "workload.read_share": 0.3,
    "run.precondition": "random:2",
}


class Greedy:
    """The built-in policy with the tie-break `lowest`."""

    def step(self, view):
        valid = np.where(view.states == cleaners.CLOSED, view.valid, view.pages)
        return Clean(valid.argmin())


class Inspecting(Greedy):
    """Greedy that does something with each view first."""

    def __init__(self, inspect):
        self.inspect = inspect

    def step(self, view):
        self.inspect(view)
        return super().step(view)


class Raising:
    def step(self, view):
        return Clean(1 // 0)


class InState:
    """Chooses a block that is in a state in which it may not be."""

    def __init__(self, state):
        self.state = state

    def step(self, view):
        blocks = np.flatnonzero(view.states == self.state)
        return Clean(blocks[0] if len(blocks) else view.candidates[0])


class Answering:
    """Gives the answer made of the view."""

    def __init__(self, answer):
        self.answer = answer

    def step(self, view):
        return self.answer(view)


class Fruitless:
    """Cleans blocks without superseded pages forever."""

    def step(self, view):
        full = np.flatnonzero((view.states == cleaners.CLOSED) & (view.valid == view.pages))
        return Clean(full[0]) if len(full) else Rest()


def answering(answer):
    return lambda: Answering(answer)


BAD = {
    "an open block": (lambda: InState(cleaners.OPEN), r"it chose block \d+, which is open"),
    "a free block": (lambda: InState(cleaners.FREE), r"it chose block \d+, which is free"),
    "past the end": (
        answering(lambda view: Clean(len(view))),
        r"it chose block \d+, and the blocks of a domain are 0 to \d+",
    ),
    "negative": (answering(lambda view: Clean(-1)), "it chose block -1, and the blocks of"),
    "a number": (
        answering(lambda view: 7),
        r"it returned 7; expected ssdlab.Clean\(block\) or",
    ),
    "nothing": (answering(lambda view: None), "it returned None; expected"),
    "the class Rest": (
        answering(lambda view: Rest),
        "it returned <class 'ssdlab.Rest'>; expected",
    ),
    "half a block": (
        answering(lambda view: Clean(1.5)),
        "Clean takes the number of a block, not 1.5",
    ),
    "a huge number": (answering(lambda view: Clean(10**30)), "Clean takes the number of a block"),
    "an exception": (Raising, "it raised ZeroDivisionError: integer division or modulo by zero"),
    "never cleaning": (answering(lambda view: Rest()), "it rests, and the writes that wait"),
    "no progress": (Fruitless, "it makes no progress: the last .* had no superseded page"),
}


def comparable(results):
    found = results.to_dict()
    del found["elapsed"], found["experiment"]
    return found


# In a run


@pytest.mark.parametrize(
    "how",
    [
        {"cleaning.time": "blocking"},
        {"cleaning.time": "interleaved"},
        {"run.timed": False, "workload.requests": 300_000},
    ],
    ids=str,
)
def test_greedy_in_python_is_greedy_to_the_bit(how):
    settings = CLEANING | how
    built_in = ssdlab.run(set=settings | {"cleaning.tie_break": "lowest"})
    mine = ssdlab.run(set=settings, cleaner=Greedy(), check=True)
    assert mine.flash.cleaning.blocks_cleaned > 100
    assert comparable(mine) == comparable(built_in)
    assert mine.experiment.device.cleaning.policy.endswith(":Greedy")


def test_a_view_shows_the_pool(tiny):
    seen = []

    def inspect(view):
        closed = view.states == cleaners.CLOSED
        assert len(view) == len(view.valid) == 128
        assert [array.dtype for array in (view.valid, view.erases, view.opened, view.states)] == [
            np.uint32,
            np.uint32,
            np.uint64,
            np.uint8,
        ]
        assert view.pages == 16
        assert 0 <= view.random < 1
        assert view.free == (view.states == cleaners.FREE).sum()
        assert (view.valid[view.states == cleaners.FREE] == 0).all()
        assert (view.opened[closed] > 0).all()
        assert (view.ages == view.clock - view.opened.astype(int) + 1).all()
        assert view.ages[closed].min() >= 1
        assert (view.candidates == np.flatnonzero(closed & (view.valid < view.pages))).all()
        assert len(view.candidates) > 0
        seen.append((view.clock, view.random, int(view.erases.sum())))

    ssdlab.run(set=tiny, cleaner=Inspecting(inspect))
    clocks, draws, erases = zip(*seen, strict=True)
    assert sorted(clocks) == list(clocks)
    assert len(set(draws)) == len(draws) > 300
    # One block is erased for each step but the last, which is still under way or just over.
    assert len(seen) - 1 <= erases[-1] + 1 <= len(seen) + 1


def test_the_arrays_are_not_copied_and_cannot_be_written(tiny):
    places = set()

    def inspect(view):
        for array in (view.valid, view.erases, view.opened, view.states):
            assert not array.flags.writeable
            assert not array.flags.owndata
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
            places.add(array.__array_interface__["data"][0])
        with pytest.raises(AttributeError):
            view.valid = None

    ssdlab.run(set=tiny, cleaner=Inspecting(inspect))
    assert len(places) == 4


def test_what_a_policy_keeps_stays_as_it_was(tiny):
    kept = []

    def inspect(view):
        arrays = view.valid, view.erases, view.opened, view.states, view.valid[10:20]
        kept.append((view, arrays, [array.copy() for array in arrays]))

    keeping = ssdlab.run(set=tiny, cleaner=Inspecting(inspect))
    assert comparable(keeping) == comparable(ssdlab.run(set=tiny, cleaner=Greedy()))
    for view, arrays, then in kept:
        assert all(map(np.array_equal, arrays, then))
        with pytest.raises(ValueError, match="only valid during its step"):
            _ = view.valid
    assert any((kept[0][2][0] != later[2][0]).any() for later in kept)


def test_a_policy_draws_lots_from_the_seed(tiny):
    def draw(view):
        return Clean(view.candidates[int(view.random * len(view.candidates))])

    runs = [ssdlab.run(set=tiny, cleaner=Answering(draw), seed=seed) for seed in (1, 1, 2)]
    assert comparable(runs[0]) == comparable(runs[1]) != comparable(runs[2])


def test_a_policy_may_rest_until_it_is_urgent(tiny):
    def lazy(view):
        blocks = view.candidates
        return Clean(blocks[view.valid[blocks].argmin()]) if view.urgent else Rest()

    resting = ssdlab.run(set=tiny, cleaner=Answering(lazy), check=True)
    eager = ssdlab.run(set=tiny, cleaner=Greedy())
    # What is not kept erased is spare space for longer.
    assert resting.flash.write_amplification < eager.flash.write_amplification


def test_it_works_under_wear_levelling_with_blocks_that_wear_out(tiny):
    worn = tiny | {"wear.rated_cycles": 20, "wear.spread": 0.2, "levelling.rule": "migrate"}
    results = ssdlab.run(set=worn | {"run.precondition": "random:4"}, cleaner=Greedy(), check=True)
    assert results.wear.retired_blocks > 0


def test_runs_side_by_side_do_not_mix(tiny):
    alone = [comparable(ssdlab.run(set=tiny, cleaner=Greedy(), seed=seed)) for seed in range(4)]
    together = [None] * 4

    def run(seed):
        together[seed] = comparable(ssdlab.run(set=tiny, cleaner=Greedy(), seed=seed))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


# Failures


@pytest.mark.parametrize(("make", "rule"), BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    "how",
    [{"run.precondition": "none"}, {"run.precondition": "none", "run.timed": False}, {}],
    ids=["in time", "without time", "while the drive is prepared"],
)
def test_a_bad_answer_ends_the_run_with_the_rule_and_the_pool(make, rule, how, tiny):
    settings = tiny | {"workload.requests": 20_000} | how
    with pytest.raises(ssdlab.PolicyError, match=rule) as raised:
        ssdlab.run(set=settings, cleaner=make())
    message = str(raised.value)
    assert message.startswith("the cleaning policy ")
    assert re.search(r"\nState of domain 0: 128 blocks of 16 data pages; \d+ free", message)
    assert re.search(r"fewest \d+ in block \d+", message)
    assert (raised.value.requests > 0) == ("run.precondition" in how)


def test_an_exception_keeps_its_traceback(tiny):
    with pytest.raises(ssdlab.PolicyError) as raised:
        ssdlab.run(set=tiny, cleaner=Raising())
    cause = raised.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    frames = []
    traceback = cause.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_qualname if sys.version_info >= (3, 11) else "")
        traceback = traceback.tb_next
    assert len(frames) == 1
    assert frames[0] in ("Raising.step", "")


@pytest.mark.parametrize("final", [KeyboardInterrupt, SystemExit])
def test_what_should_end_the_program_is_passed_on(final, tiny):
    def leave(view):
        raise final

    with pytest.raises(final):
        ssdlab.run(set=tiny, cleaner=Answering(leave))
    with pytest.raises(final):
        ssdlab.check_cleaner(Answering(leave))


def never(view):
    while True:
        pass


@pytest.mark.parametrize("step", [never, Greedy().step], ids=["endless step", "endless run"])
def test_ctrl_c_ends_a_policy(step, tiny):
    endless = tiny | {"workload.requests": 10**12}
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        ssdlab.run(set=endless, cleaner=Answering(step))


def test_an_object_without_step_is_refused(tiny):
    for refused in (object(), "greedy"):
        with pytest.raises(ssdlab.InputError, match="argument cleaner.*method step"):
            ssdlab.run(set=tiny, cleaner=refused)
    with pytest.raises(ssdlab.InputError, match="argument cleaner.*make one"):
        ssdlab.run(set=tiny, cleaner=Greedy)
    with pytest.raises(ssdlab.InputError, match="argument policy.*method step"):
        ssdlab.check_cleaner(object())


def test_a_device_without_cleaning_refuses_a_policy():
    with pytest.raises(ssdlab.InputError, match="argument cleaner.*cleaning"):
        ssdlab.run(device={"kind": "linear"}, cleaner=Greedy())


# The conformance suite


@pytest.mark.parametrize("policy", [Greedy(), Greedy])
def test_a_good_policy_conforms(policy):
    report = ssdlab.check_cleaner(policy)
    assert report.passed
    assert str(report).startswith("Greedy: conforms\n  ok ")
    assert len(report.checks) == str(report).count("  ok ") > 5


@pytest.mark.parametrize(("make", "rule"), BAD.values(), ids=BAD)
def test_a_bad_policy_does_not_conform(make, rule):
    with pytest.raises(ssdlab.PolicyError, match=rule) as raised:
        ssdlab.check_cleaner(make())
    assert not raised.value.report.passed
    assert "does not conform\n" in str(raised.value)
    assert "State of domain" in str(raised.value)


def test_a_policy_that_differs_from_run_to_run_does_not_conform():
    def draw(view):
        return Clean(random.choice(view.candidates))

    with pytest.raises(ssdlab.PolicyError, match="two runs differ.*view.random") as raised:
        ssdlab.check_cleaner(Answering(draw))
    assert [check.problem is None for check in raised.value.report.checks].count(False) == 1


def test_every_run_of_the_suite_begins_with_a_copy():
    class Counting(Greedy):
        steps = 0

        def step(self, view):
            self.steps += 1
            return Clean(view.candidates[self.steps % len(view.candidates)])

    policy = Counting()
    assert ssdlab.check_cleaner(policy).passed
    assert policy.steps == 0


# How often it is asked, and what the documentation says


def test_a_policy_is_asked_once_a_victim(tiny):
    settings = tiny | {"run.precondition": "random:20", "cleaning.tie_break": "lowest"}
    said = []

    class Recording(Greedy):
        def step(self, view):
            said.append(super().step(view))
            return said[-1]

    class Repeating:
        def __init__(self):
            self.answers = iter(said)

        def step(self, view):
            return next(self.answers)

    first = ssdlab.run(set=settings, cleaner=Recording())
    assert len(said) > 5_000
    policy = Repeating()
    again = ssdlab.run(set=settings, cleaner=policy)
    assert next(policy.answers, None) is None
    assert again.flash.to_dict() == first.flash.to_dict()


def test_the_policy_of_the_documentation_beats_greedy(tmp_path):
    page = (DOCS / "write-a-cleaner.md").read_text()
    policy, script = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2]
    (tmp_path / "rooted.py").write_text(policy)
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    documented = re.search(r"prints\n\n<!-- .* -->\n```\n(.*?)```", page, re.DOTALL)[1]
    figures = {}
    for line, expected in zip(done.stdout.splitlines(), documented.splitlines(), strict=True):
        if expected.startswith(("Rooted", "  ok")):
            assert line == expected
            continue
        name, figure = line.rsplit(maxsplit=1)
        documented_name, documented_figure = expected.rsplit(maxsplit=1)
        assert name == documented_name
        # A root may differ in its last bit from machine to machine, and with it an equal choice.
        assert float(figure) == pytest.approx(float(documented_figure), rel=0.005)
        figures[name] = float(figure)
    assert figures["rooted:Rooted"] < figures["cost-benefit"] < figures["greedy"]
    assert figures["rooted:Rooted"] < 0.98 * figures["greedy"]
