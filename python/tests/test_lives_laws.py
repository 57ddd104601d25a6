"""Laws of what is around the lives of drives: what is refused in which words, who is told how far
it is, and what is handed on to whom."""

import re
import threading
from types import SimpleNamespace

import pytest

from ssdlab import InputError, layers, rating, reliability, running, sources
from ssdlab.costing import need
from ssdlab.costing.need import parse
from ssdlab.rating import endurance, lives, load_of, rate
from ssdlab.rating.lives import ENDLESS, Subject, live, several
from ssdlab.reliability import read

#: A drive that ends within a tenth of a second.
QUICK = {
    "device.channels": 2,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 8,
    "device.spare_factor": 0.3,
    "device.wear.rated_cycles": 40,
}


def exactly(said):
    return f"^{re.escape(said)}$"


def subject(keys=(), workload="random-write", device="enterprise-ssd"):
    """A quick drive under a workload."""
    below = [sources.from_name("device", device, "DEVICE"), sources.from_name("workload", workload)]
    changes = layers.from_assignments((QUICK if device == "enterprise-ssd" else {}) | dict(keys))
    return Subject.of(device, f"--workload {workload}", below, changes)


def test_progress_is_the_sum_of_all_lives_and_never_beyond_the_total(monkeypatch):
    told = []

    def tells(who, cycles, seed, progress):
        for done in (100, 600, 4000):
            progress(SimpleNamespace(done=done + seed))
        return seed

    monkeypatch.setattr(lives, "live", tells)
    monkeypatch.setattr(lives.portable, "cores", lambda: 1)
    report = lambda done, total: told.append((done, total))  # noqa: E731
    assert several(subject(), 40, [3, 1], 3000.9, report) == [3, 1]
    assert told == [(it, 6001) for it in (103, 603, 4003, 4104, 4604, 6001)]
    assert several(subject(), 40, [3, 1], 3000.9, None) == [3, 1], "nobody need be told"


def test_lives_are_those_of_their_seeds_however_many_cores(monkeypatch):
    alone = [live(subject(), 40, seed) for seed in (4, 2, 3)]
    asked = []
    real = lives.ThreadPoolExecutor
    monkeypatch.setattr(lives, "ThreadPoolExecutor", lambda n: asked.append(n) or real(n))
    for cores in (1, 2, 16):
        monkeypatch.setattr(lives.portable, "cores", lambda cores=cores: cores)
        assert several(subject(), 40, [4, 2, 3], 1000.0, None) == alone
    assert asked == [1, 2, 3], "as many at once as there are cores, or drives"


def test_who_stops_one_life_stops_all(monkeypatch):
    begun, ended = threading.Semaphore(0), []
    real = lives.live

    def watched(who, cycles, seed, progress):
        begun.release()
        try:
            return real(who, cycles, seed, progress)
        except KeyboardInterrupt:
            ended.append(seed)
            raise

    def stop(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(lives, "live", watched)
    monkeypatch.setattr(lives.portable, "cores", lambda: 2)
    long = subject({"device.wear.rated_cycles": 10**9})
    with pytest.raises(KeyboardInterrupt):
        several(long, 10**9, list(range(8)), 1e12, stop)
    assert ended, "a life that would never end has ended"
    assert threading.active_count() < 8, "the others are not begun"


def test_a_life_is_audited_and_has_its_seed_and_rating(monkeypatch):
    asked = {}

    def run(stack, **options):
        asked.update(options, stack=stack)
        return running.run_layers(stack, **options)

    monkeypatch.setattr(lives, "run_layers", run)
    found = live(subject(), 30, 9)
    assert asked["check"] is True and asked["progress"] is None
    rated, seed = asked["stack"][-2:]
    assert (rated.source, rated.text) == (
        "the rating that is simulated",
        '"device" = {"wear" = {"rated_cycles" = 30}}',
    )
    assert (seed.source, seed.text) == ("the seed of the drive", '"run" = {"seed" = 9}')
    assert (found.cycles, found.seed) == (30, 9) and 25 < found.max_erases < 35


def test_a_life_begins_with_a_new_drive_and_has_no_end_of_its_own():
    resolved = running.Experiment._from_layers(subject().stack).to_dict()
    assert resolved["run"]["timed"] is False
    assert resolved["workload"]["requests"] == ENDLESS
    for key, value in (("precondition", "random:1"), ("load_drive", "x.drive")):
        with pytest.raises(InputError) as refused:
            subject({f"run.{key}": value})
        assert str(refused.value) == f'run.{key} = "{value}": a life begins with a new drive'
    subject({"run.precondition": "none"})
    said = (
        'device cheetah9lp: kind "disk" has no flash that could wear out; `ssdlab list devices` '
        "has devices of kind ssd, and arrays of them"
    )
    with pytest.raises(InputError, match=exactly(said)):
        subject(device="cheetah9lp")
    assert subject(workload="random-write").workload == "random-write"
    below = [sources.from_name("device", "enterprise-ssd", "DEVICE")]
    path = sources.from_name("workload", "random-write")
    assert Subject.of("it", "--trace a", [*below, path], []).workload == "a"
    asked = subject({"workload.requests": 7})
    resolved = running.Experiment._from_layers(asked.stack).to_dict()
    assert resolved["workload"]["requests"] == 7, "what is said on top is on top"


def test_a_life_that_the_workload_does_not_fill_is_refused():
    with pytest.raises(InputError) as refused:
        live(subject({"workload.requests": 7}), 40, 1)
    assert str(refused.value).endswith(
        "before a drive of 40 erasures did: give a longer one"
    ) and "workload random-write: ended after " in str(refused.value)


def test_a_workload_without_writes_is_found_by_a_short_run(monkeypatch):
    said = "workload random-read: none of its first 20,000 requests writes"
    with pytest.raises(InputError, match=exactly(said)):
        subject(workload="random-read").refuse_without_writes()
    run = []
    monkeypatch.setattr(lives, "run_layers", lambda it: run.append(it) or running.run_layers(it))
    subject().refuse_without_writes()
    ((*_, last),) = run
    assert (last.source, last.text) == ("ssdlab endurance", '"workload" = {"requests" = 20000}')


def test_the_words_about_a_load_are_these():
    both = "--trace and --workload exclude each other: a trace is a workload"
    with pytest.raises(InputError, match=exactly(both)):
        load_of("client", "a", "b")
    none = (
        "the workload of class client is a recorded trace, which ssdlab does not have: give one "
        "with --trace FILE, or another workload with --workload, such as zipf-mixed"
    )
    with pytest.raises(InputError, match=exactly(none)):
        load_of("client", None, None)
    said = "application_class 'x': the classes are client and enterprise"
    with pytest.raises(InputError, match=exactly(said)):
        endurance("agrawal2008", "x")


def test_an_endurance_from_python_is_that_of_the_command(monkeypatch):
    told = []
    real = rating.several

    def tells(*arguments):
        arguments[-1](1, 2)
        return real(*arguments)

    monkeypatch.setattr(rating, "several", tells)
    found = endurance(
        "enterprise-ssd",
        "client",
        workload="random-write",
        set=QUICK,
        drives=2,
        cycles=41,
        seed=3,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[0] == (1, 2)
    monkeypatch.setattr(rating, "several", real)
    load = [sources.from_name("workload", "random-write")]
    same = rate(
        "enterprise-ssd",
        "client",
        load,
        layers.from_assignments(QUICK),
        drives=2,
        seed=3,
        cycles=41,
    )
    assert found == same and found.of is rating.CLASSES["client"]
    longer = QUICK | {"device.wear.rated_cycles": 82}
    assert endurance("enterprise-ssd", workload="random-write", set=longer, cycles=41).uneven
    bounds = {
        "--drives 0: from 1 to 1000 drives": {"drives": 0},
        "--cycles 39: at least 40 erasures of each block": {"cycles": 39},
    }
    for said, options in bounds.items():
        with pytest.raises(InputError, match=exactly(said)):
            rate("enterprise-ssd", "client", load, **options)


@pytest.mark.parametrize(
    ("keys", "groups", "members", "tolerated"),
    [
        ({"redundancy": "none"}, 1, 6, 0),
        ({"redundancy": "mirror"}, 3, 2, 1),
        ({"redundancy": "mirror", "copies": 3}, 2, 3, 2),
        ({"redundancy": "parity"}, 1, 6, 1),
        ({"redundancy": "parity-disk"}, 1, 6, 1),
        ({"redundancy": "double-parity"}, 1, 6, 2),
    ],
)
def test_what_an_array_bears_is_its_redundancy(keys, groups, members, tolerated):
    name = "agrawal2008-array-6"
    changes = layers.from_assignments({f"device.{key}": value for key, value in keys.items()})
    found = read(name, changes)
    assert (found.groups, found.members, found.tolerated) == (groups, members, tolerated)
    assert (found.name, found.redundancy) == (name, keys["redundancy"])
    assert found.rebuild_hours is None, "without a limit"
    assert found.member_bytes == read(name).member_bytes
    if tolerated:
        limit = layers.from_assignments({"device.rebuild.rate": "10MB/s"})
        hours = read(name, [*changes, *limit]).rebuild_hours
        assert hours == pytest.approx(found.member_bytes / 10e6 / 3600)
    said = 'agrawal2008: device.kind is "ssd"; reliability needs an "array"'
    with pytest.raises(InputError, match=exactly(said)):
        read("agrawal2008")


def test_an_outlook_is_told_of_and_asks_for_all(monkeypatch):
    asked = {}
    real = reliability._core.reliability
    array = reliability.Array("it", "parity", 1, 6, 1, 10**9, None)
    monkeypatch.setattr(
        reliability._core, "reliability", lambda **options: asked.update(options) or real(**options)
    )
    found = reliability.outlook(array, reliability.Times(), 2.0, 500, 7, print)
    assert asked["progress"] is print
    assert (asked["years"], asked["groups"], asked["seed"]) == (2.0, 500, 7)
    assert (found.years, found.groups, found.seed) == (2.0, 500, 7)
    reliability.outlook(array, reliability.Times())
    assert (asked["years"], asked["seed"], asked["groups"]) == (10.0, 42, 100_000)


def test_the_words_about_a_need_are_these():
    words = {
        "iops": "--need iops: expected NAME=VALUE, such as iops=18000 or p99=20ms",
        "=3": "--need =3: expected NAME=VALUE, such as iops=18000 or p99=20ms",
        "iops=": "--need iops=: expected NAME=VALUE, such as iops=18000 or p99=20ms",
        "iops=1,iops=2": "--need iops=2: iops is given twice; keep one",
        "p99=1ms,p99=2ms": "--need p99=2ms: p99 is given twice; keep one",
        "iopz=1": "(did you mean iops?)",
        "xyzzy=1": f"--need xyzzy=1: the requirements are {', '.join(need.AMOUNTS)}",
    }
    for given, said in words.items():
        with pytest.raises(InputError) as refused:
            parse((given,))
        assert said in str(refused.value), refused.value
        if said.startswith("--need") and "xyzzy" not in said:
            assert str(refused.value) == said
    with pytest.raises(InputError) as refused:
        parse(("xyzzy=1",))
    assert str(refused.value).endswith("latencies may begin with read. or write.")
    found = parse(("iops=1, p99=20ms", " read.p99=1us"))
    assert found == need.Need({"iops": 1.0}, {"p99": 20_000.0, "read.p99": 1.0})


def test_a_trace_is_repeated_until_the_drive_ends(tmp_path, monkeypatch):
    trace = tmp_path / "w.csv"
    trace.write_text("0,0,4096,write\n1,8192,4096,write\n")
    load = layers.from_mapping("--trace w.csv", {"workload": {"kind": "trace", "path": str(trace)}})
    columns = "time=1:ms,offset=2:bytes,size=3,op=4"
    named = layers.from_assignments({"workload.columns": columns})
    below = [sources.from_name("device", "enterprise-ssd", "DEVICE"), *load, *named]
    who = Subject.of("it", "--trace w.csv", below, layers.from_assignments(QUICK))
    assert who.workload == "w.csv" and who.scale == 1
    resolved = running.Experiment._from_layers(who.stack).to_dict()["workload"]
    assert resolved["loops"] == ENDLESS
    endless = [it for it in who.stack if str(ENDLESS) in it.text]
    assert [it.source for it in endless] == ["ssdlab endurance"]
    assert [it.source for it in who.stack if "timed" in it.text] == ["ssdlab endurance"]
    run = []
    monkeypatch.setattr(lives, "run_layers", lambda it: run.append(it) or running.run_layers(it))
    who.refuse_without_writes()
    ((*rest, last),) = run
    assert rest == list(who.stack) and last.source == "ssdlab endurance"
    assert last.text == '"workload" = {"loops" = 1}'
    trace.write_text("0,0,4096,read\n")
    with pytest.raises(InputError, match="workload w.csv: none of its first 1 requests writes"):
        who.refuse_without_writes()


def test_what_is_not_there_is_named_as_it_was_asked_for():
    for ask, name in (
        (lambda: rate("nosuch", "client", []), "DEVICE"),
        (lambda: read("nosuch"), "ARRAY"),
    ):
        with pytest.raises(InputError) as refused:
            ask()
        assert str(refused.value).startswith(f"{name} nosuch"), refused.value
    with pytest.raises(InputError, match="no-such-trace"):
        endurance("enterprise-ssd", trace="no-such-trace")
    with pytest.raises(InputError, match=r"device.rebuild.rate"):
        read("agrawal2008-array-6", layers.from_assignments({"device.rebuild.rate": "fast"}))


def test_the_first_life_says_how_long_the_others_will_be(monkeypatch):
    asked = []

    def none(*arguments):
        asked.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(rating, "several", none)
    load = [sources.from_name("workload", "random-write")]
    changes = layers.from_assignments(QUICK)
    for drives in (1, rating.MAX_DRIVES):
        with pytest.raises(KeyboardInterrupt):
            rate("enterprise-ssd", "client", load, changes, drives=drives, seed=3)
    who, cycles, seeds, expected, progress = asked[0]
    short = live(who, 10, 3)
    assert (cycles, seeds, progress) == (40, [3], None)
    assert expected == pytest.approx(short.requests * 40 / 10)
    assert asked[1][2] == list(range(3, 3 + rating.MAX_DRIVES))


def test_shares_of_an_array_are_whole_numbers():
    changes = layers.from_assignments({"device.redundancy": "mirror"})
    found = read("agrawal2008-array-6", changes)
    assert isinstance(found.groups, int) and isinstance(found.member_bytes, int)
