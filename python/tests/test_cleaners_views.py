"""What a cleaning policy in Python is shown: blocks in order, and arrays at little cost.

What it costs is counted, in arrays made and bytes copied, so that no test depends on a clock.
"""

import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import ssdlab
from ssdlab import Clean, cleaners


class Emptiest:
    """Greedy with the tie-break `lowest`, in one line."""

    def step(self, view):
        return Clean(view.emptiest)


class Watching(Emptiest):
    """Greedy that does something with each view first."""

    def __init__(self, watch):
        self.watch = watch

    def step(self, view):
        self.watch(view)
        return super().step(view)


def comparable(results):
    found = results.to_dict()
    del found["elapsed"], found["experiment"]
    return found


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cleaning.time": "interleaved"},
        {"run.timed": False, "workload.requests": 50_000},
        {"device.channels": 2, "device.pool": "ssd"},
    ],
    ids=str,
)
def test_the_emptiest_is_what_greedy_cleans(how, tiny):
    settings = tiny | {"workload.requests": 3000} | how
    built_in = ssdlab.run(set=settings | {"cleaning.tie_break": "lowest"})
    mine = ssdlab.run(set=settings, cleaner=Emptiest(), check=True)
    assert mine.flash.cleaning.blocks_cleaned > 100
    assert comparable(mine) == comparable(built_in)


@pytest.mark.parametrize("levelling", ["none", "rate-limit"])
def test_blocks_come_in_the_order_of_valid_pages_or_age(levelling, tiny):
    steps = []

    def watch(view):
        blocks = view.candidates
        by_valid = blocks[np.argsort(view.valid[blocks], kind="stable")]
        by_age = blocks[np.argsort(view.opened[blocks], kind="stable")]
        for count in (0, 1, 5, len(blocks), 10**6):
            assert list(view.emptiest_first(count)) == list(by_valid[:count])
            assert list(view.oldest_first(count)) == list(by_age[:count])
        assert view.emptiest == by_valid[0]
        assert view.emptiest_first(3).dtype == view.oldest_first(3).dtype == np.int64
        with pytest.raises(OverflowError):
            view.emptiest_first(-1)
        steps.append(len(blocks))

    worn = {"wear.rated_cycles": 200, "levelling.rule": levelling, "device.channels": 2}
    ssdlab.run(set=tiny | worn, cleaner=Watching(watch))
    assert len(steps) > 300


COUNTING = """
import numpy, sys
made = []
real = numpy.asarray
numpy.asarray = lambda *given: made.append(1) or real(*given)
import ssdlab

class Looking:
    steps, places = 0, set()
    def step(self, view):
        self.steps += 1
        for array in (view.valid, view.states, view.opened, view.erases, view.valid):
            self.places.add(array.__array_interface__["data"][0])
        return ssdlab.Clean(view.emptiest)

policy = Looking()
ssdlab.run(set=eval(sys.argv[1]), cleaner=policy)
print(policy.steps, len(made), len(policy.places))
"""


@pytest.mark.parametrize("blocks", [128, 1024])
@pytest.mark.parametrize("channels", [1, 4])
def test_a_look_makes_no_array_and_copies_nothing_however_large_the_pool(blocks, channels, tiny):
    size = {"device.blocks_per_plane": blocks, "device.channels": channels}
    settings = tiny | size | {"run.precondition": "random:1"}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, repr(settings)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    steps, made, places = map(int, done.stdout.split())
    # Four arrays of each domain are made, when it is first shown; a copy would lie elsewhere.
    assert made == places == 4 * channels
    assert steps > blocks * channels / 2


def test_what_is_let_go_of_serves_again(tiny):
    seen = []
    ssdlab.run(set=tiny, cleaner=Watching(lambda view: seen.append(id(view.valid))))
    assert len(seen) > 300
    assert len(set(seen)) == 1


@pytest.mark.parametrize(
    "keep",
    [
        lambda array: array,
        lambda array: array[10:20],
        lambda array: array.reshape(2, -1)[1],
        lambda array: memoryview(array),
        lambda array: array.base,
    ],
    ids=["array", "part", "shape", "buffer", "base"],
)
def test_whatever_is_kept_of_an_array_stays_as_it_was(keep, tiny):
    kept = []

    def watch(view):
        for array in (view.valid, view.erases, view.opened, view.states):
            it = keep(array)
            kept.append((it, np.array(it)))

    results = ssdlab.run(set=tiny, cleaner=Watching(watch))
    assert comparable(results) == comparable(ssdlab.run(set=tiny, cleaner=Emptiest()))
    assert len(kept) > 4 * 300
    assert all((np.asarray(it) == then).all() for it, then in kept)


def test_a_weak_reference_does_not_outlive_the_step(tiny):
    kept = []

    def watch(view):
        assert all(it() is None for it in kept)
        kept.append(weakref.ref(view.valid))

    ssdlab.run(set=tiny, cleaner=Watching(watch))
    assert len(kept) > 300


def test_arrays_may_be_read_in_another_thread_while_the_drive_goes_on(tiny):
    """What a thread has taken is the thread's: it reads the same while the drive writes on."""
    torn, threads = [], []

    def read(array):
        first = array.copy()
        for _ in range(50):
            if (array != first).any():
                torn.append(1)

    def watch(view):
        if len(threads) < 20:
            threads.append(threading.Thread(target=read, args=(view.valid,)))
            threads[-1].start()

    ssdlab.run(set=tiny, cleaner=Watching(watch))
    for thread in threads:
        thread.join()
    assert len(threads) == 20
    assert not torn


def test_the_conformance_suite_takes_the_one_line():
    assert cleaners.check_cleaner(Emptiest()).passed
