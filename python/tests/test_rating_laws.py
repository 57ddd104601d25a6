"""Laws of endurance ratings and of the outlook of arrays, in closed form: no drive is written."""

import dataclasses
import math
import random

import pytest

import ssdlab
from ssdlab import InputError, layers, sources
from ssdlab.rating import CLASSES, FAILURES, Rating, closed_form, load_of, rate
from ssdlab.rating.lives import Life, Subject, _life
from ssdlab.reliability import Array, Outlook, Times, outlook, read
from ssdlab.results import Results

SUBJECT = Subject((), ("device",), "random-write", 3000, 16, 5.0, 42)


def life(seed, cycles=100, **more):
    """A drive that was written to its end; the host bytes are those of the closed form."""
    draw = random.Random(seed)
    amplification = draw.uniform(1, 5)
    mean = draw.uniform(0.8, 1) * cycles
    physical = 1.25e9
    fields = {
        "seed": seed,
        "cycles": cycles,
        "requests": 1000,
        "capacity_bytes": 10**9,
        "physical_bytes": physical,
        "host_bytes": int(physical * mean / amplification),
        "amplification": amplification,
        "mean_erases": mean,
        "max_erases": cycles,
    }
    return Life(**fields | more)


def rating(lives, uneven=None, **changes):
    subject = dataclasses.replace(SUBJECT, **changes)
    return Rating("it", CLASSES["enterprise"], subject, 100, uneven, lives)


@pytest.mark.parametrize("share", [0.0, 0.03, 1.5])
@pytest.mark.parametrize("by_chance", [0.0, 0.4, 7.0])
@pytest.mark.parametrize("rated", [1, 50, 3000, 100_000])
def test_what_is_lost_and_the_mean_add_up_to_the_rating(share, by_chance, rated):
    uneven = closed_form.Uneven(share, by_chance)
    mean = uneven.mean_erasures(rated)
    assert mean + uneven.lost(mean) == pytest.approx(rated)
    assert uneven.lost(mean) == pytest.approx(share * mean + by_chance * math.sqrt(mean))


@pytest.mark.parametrize("share", [0.0, 0.03, 1.5])
@pytest.mark.parametrize("by_chance", [0.0, 0.4, 7.0])
def test_two_lives_tell_what_is_lost(share, by_chance):
    uneven = closed_form.Uneven(share, by_chance)
    short, long = ((rated, uneven.mean_erasures(rated)) for rated in (25, 100))
    assert closed_form.uneven(short, long) == pytest.approx(uneven, abs=1e-9)


def test_no_part_of_what_is_lost_is_negative():
    # The short life lost less of its share: all of it lasts.
    assert closed_form.uneven((100, 90), (400, 300)) == pytest.approx((1 / 3, 0))
    # It lost more than by chance alone: the longer life decides.
    found = closed_form.uneven((100, 60), (400, 380))
    assert found == pytest.approx((0, 20 / math.sqrt(380)))


def test_the_closed_form_is_a_product():
    assert closed_form.written(7, 11, 0.5, 2.5) == pytest.approx(7 * 11 * 0.5 / 2.5)
    per_day = closed_form.drive_writes_per_day(10.0, 4.0, 3.0)
    assert per_day * 4.0 * 365 * 3.0 == pytest.approx(10.0)


def test_drives_simulated_with_their_rating_are_rated_by_what_was_written():
    lives = [life(seed, cycles=3000) for seed in range(5)]
    found = rating(lives)
    assert found.capacity_bytes == 16 * 10**9 and found.physical_bytes == 16 * 1.25e9
    for it in lives:
        assert found.written(it) == pytest.approx(16 * it.host_bytes)
        assert it.evenness == it.mean_erases / 3000 and it.wear == (3000, it.mean_erases)
        assert it.closed_form_bytes == pytest.approx(it.host_bytes, rel=1e-6)
        assert it.to_dict() == {
            "seed": it.seed,
            "simulated_cycles": 3000,
            "requests": 1000,
            "host_bytes": it.host_bytes,
            "write_amplification": it.amplification,
            "mean_erases": it.mean_erases,
            "max_erases": 3000,
            "evenness": it.evenness,
            "closed_form_bytes": it.closed_form_bytes,
        }
    mean = sum(it.mean_erases for it in lives) / 5
    assert found.evenness == pytest.approx(mean / 3000)
    amplification = sum(it.amplification for it in lives) / 5
    assert found.amplification == pytest.approx(amplification)
    assert found.closed_form_bytes == pytest.approx(16 * 1.25e9 * mean / amplification)
    assert found.tbw_bytes == min(map(found.written, lives))


def test_more_erasures_scale_what_was_written_by_the_means():
    uneven = closed_form.Uneven(0.02, 0.9)
    first = life(1, mean_erases=uneven.mean_erasures(100))
    found = rating([first], uneven)
    expected = uneven.mean_erasures(3000) / first.mean_erases
    assert found.written(first) == pytest.approx(16 * first.host_bytes * expected)
    # A drive that lost twice as much as the first loses twice as much at any rating.
    twice = closed_form.Uneven(0.04, 1.8)
    worse = life(2, mean_erases=100 - 2 * uneven.lost(first.mean_erases))
    found = rating([first, worse], uneven)
    expected = twice.mean_erasures(3000) / worse.mean_erases
    assert found.written(worse) == pytest.approx(16 * worse.host_bytes * expected)
    # Without any loss each block has all of its erasures.
    even = rating([life(3, mean_erases=100.0)], closed_form.Uneven(0.0, 0.0))
    assert even.evenness == pytest.approx(1.0)
    # More than the rating is no negative loss.
    above = rating([first, life(4, mean_erases=101.0)], uneven)
    assert above.written(above.lives[1]) == pytest.approx(
        16 * above.lives[1].host_bytes * 3000 / 101
    )


@pytest.mark.parametrize("drives", [1, 2, 33, 34, 67, 100])
def test_a_tbw_passes_as_long_as_few_enough_drives_fail(drives):
    found = rating([life(seed, cycles=3000) for seed in range(drives)])
    ends = sorted(map(found.written, found.lives))
    allowed = int(FAILURES * drives)
    assert found.tbw_bytes == ends[allowed]
    assert found.passes(found.tbw_bytes) and found.failed(found.tbw_bytes) == allowed
    above = found.tbw_bytes * 1.000001
    assert not found.passes(above) and found.failed(above) > allowed
    assert [found.failed(it) for it in (0, 1e30)] == [0, drives]


def test_a_rating_as_a_table_agrees_with_its_figures():
    uneven = closed_form.Uneven(0.02, 0.9)
    found = rating([life(seed) for seed in range(4)], uneven)
    shown = found.to_dict(tried=1e12)
    tbw = found.tbw_bytes
    assert shown["tbw_bytes"] == tbw and shown["drives"] == 4
    assert shown["drive_writes"] == pytest.approx(tbw / (16 * 10**9))
    assert shown["drive_writes_per_day"] == pytest.approx(tbw / (16 * 10**9 * 365 * 5))
    assert shown["closed_form"]["tbw_bytes"] == found.closed_form_bytes
    assert shown["closed_form"]["drive_writes_per_day"] == found.per_day(found.closed_form_bytes)
    assert shown["closed_form"]["evenness"] == found.evenness
    assert shown["closed_form"]["write_amplification"] == found.amplification
    assert shown["scaling"] == {
        "simulated_cycles": 100,
        "uneven_wear": {"share": 0.02, "by_chance": 0.9},
        "part_of_each_block": 1 / 16,
    }
    assert [it["tbw_bytes"] for it in shown["lives"]] == [found.written(it) for it in found.lives]
    assert [it["seed"] for it in shown["lives"]] == [0, 1, 2, 3]
    failed = found.failed(1e12)
    assert shown["tried"] == {
        "tbw_bytes": 1e12,
        "drive_writes_per_day": found.per_day(1e12),
        "failed": failed,
        "passed": failed == 0,
    }
    whole = rating([life(1)]).to_dict()
    assert "tried" not in whole and whole["scaling"]["uneven_wear"] is None
    given = {key: shown[key] for key in ("device", "class", "workload", "rated_cycles")}
    assert list(given.values()) == ["it", "enterprise", "random-write", 3000]
    assert (shown["service_years"], shown["failures_allowed"]) == (5.0, 0.03)
    assert (shown["capacity_bytes"], shown["physical_bytes"]) == (16 * 10**9, 20e9)
    assert shown["left_out"] == [
        "UBER <= 1e-16: the flash model has no read errors",
        "retention of 3 months at 40 °C without power: cells do not age",
        "failures other than running out of spare space",
    ]


def test_a_life_has_the_figures_of_its_run():
    data = {
        "capacity_bytes": 1000,
        "flash": {"host_bytes_written": 9500},
        "workload": {"asked": 77},
        "wear": {
            "ended": True,
            "mean_erases": 9.0,
            "max_erases": 12,
            "lifetime": {"physical_bytes": 20_000.0, "amplification": 1.7},
        },
    }
    found = _life(SUBJECT, 10, 3, Results(data))
    assert dataclasses.astuple(found) == (3, 10, 77, 1000, 1250.0, 9500, 1.7, 9.0, 12)
    data["wear"]["ended"] = False
    with pytest.raises(InputError, match=r"ended after 9.5 drive writes, before a drive of 10 er"):
        _life(SUBJECT, 10, 3, Results(data))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"drives": 0}, "--drives 0: from 1 to 1000 drives"),
        ({"drives": 1001}, "--drives 1001: from 1 to 1000"),
        ({"cycles": 39}, "--cycles 39: at least 40 erasures"),
    ],
)
def test_numbers_of_drives_and_cycles_have_bounds(more, said):
    with pytest.raises(InputError, match=said):
        rate("agrawal2008", "client", [], **more)


def test_a_class_has_its_workload_and_one_alone():
    assert "jesd219" in load_of("enterprise", None, None)[0].source
    assert "zipf-mixed" in load_of("client", None, "zipf-mixed")[0].source
    traced = load_of("client", "some.trace", None)
    assert traced[0].source == "--trace some.trace" and "some.trace" in str(traced)
    with pytest.raises(InputError, match="the workload of class client is a recorded trace"):
        load_of("client", None, None)
    with pytest.raises(InputError, match="exclude each other"):
        load_of("enterprise", "a.trace", "zipf-mixed")


@pytest.mark.parametrize("tolerated", [0, 1, 2])
def test_what_an_array_loses_is_what_its_groups_lose(tolerated):
    array = Array("it", "parity", 7, 6, tolerated, 1000, 2.5)
    assert array.data_bytes == 1000 * (6 - tolerated)
    found = {"losses": 0.25, "losses_by_mttdl": 0.5}
    outlook = Outlook(array, Times(), 10.0, 100, 42, found)
    assert (outlook.of_array, outlook.over_mttdl) == (1.75, 0.5)
    shown = outlook.to_dict()
    assert shown["version"] == ssdlab.__version__
    assert shown["array"]["data_bytes"] == array.data_bytes and shown["array"]["groups"] == 7
    assert (shown["array_losses"], shown["losses_over_mttdl"]) == (1.75, 0.5)
    assert (shown["years"], shown["groups"], shown["seed"]) == (10.0, 100, 42)
    assert shown["times"]["repair"] == "24h" and shown["losses"] == 0.25


#: A drive that ends within a tenth of a second.
QUICK = {
    "device.channels": 2,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 8,
    "device.spare_factor": 0.3,
}


def written(erasures, of="enterprise", workload="random-write", keys=(), **options):
    """The rating of a quick drive."""
    keys = QUICK | {"device.wear.rated_cycles": erasures} | dict(keys)
    changes = layers.from_assignments(keys)
    load = [sources.from_name("workload", workload)]
    return rate("enterprise-ssd", of, load, changes, **options)


def test_drives_are_written_to_their_end_each_with_its_seed():
    found = written(40, drives=3, seed=5)
    assert [life.seed for life in found.lives] == [5, 6, 7]
    assert [life.cycles for life in found.lives] == [40] * 3 and found.cycles == 40
    assert len({life.host_bytes for life in found.lives}) > 1, "each seed has its life"
    assert found.uneven is None and found.device == "enterprise-ssd"
    assert found.of is CLASSES["enterprise"] and found.subject.workload == "random-write"
    assert (found.subject.rated, found.subject.scale, found.subject.years) == (40, 1, 5.0)
    for life in found.lives:
        assert life.max_erases <= 40 and life.requests > 100
        assert life.physical_bytes == pytest.approx(2 * 32 * 8 * 4096 * 7 / 8, rel=0.2)
        assert life.closed_form_bytes == pytest.approx(life.host_bytes, rel=0.05)
        assert found.written(life) == life.host_bytes
    assert written(40).lives[0] == written(40, seed=42).lives[0], "run.seed unless one is given"
    assert written(40, keys={"run.seed": 9}).lives[0].seed == 9
    assert written(40, of="client").of is CLASSES["client"]


def test_more_erasures_than_are_simulated_are_extrapolated_from_two_lives():
    found = written(400, cycles=40)
    whole = written(400, cycles=400)
    assert whole.uneven is None and whole.lives[0].cycles == 400
    assert found.lives[0].cycles == 40 == found.cycles and found.subject.rated == 400
    short = written(10, cycles=40).lives[0]
    assert found.uneven == closed_form.uneven(short.wear, found.lives[0].wear)
    assert found.tbw_bytes == pytest.approx(whole.tbw_bytes, rel=0.1)


def test_an_array_is_written_as_one_drive():
    member = {f"device.member.{key.removeprefix('device.')}": value for key, value in QUICK.items()}
    keys = {"device.members": 2, "device.member.wear.rated_cycles": 40} | member
    subject = Subject.of(
        "agrawal2008-array-6",
        "--workload random-write",
        [
            sources.from_name("device", "agrawal2008-array-6", "DEVICE"),
            sources.from_name("workload", "random-write"),
        ],
        layers.from_assignments(keys),
    )
    assert (subject.section, subject.rated) == (("device", "member"), 40)
    assert subject.workload == "random-write"


@pytest.mark.parametrize(
    ("device", "keys", "workload", "said"),
    [
        ("cheetah9lp", {}, "random-write", 'device cheetah9lp: kind "disk" has no flash'),
        (
            "enterprise-ssd",
            {"run.precondition": "steady"},
            "random-write",
            'run.precondition = "',
        ),
        ("enterprise-ssd", {}, "random-read", "workload random-read: none of its first 20,000"),
    ],
)
def test_what_cannot_end_is_refused(device, keys, workload, said):
    load = [sources.from_name("workload", workload)]
    with pytest.raises(InputError) as refused:
        rate(device, "enterprise", load, layers.from_assignments(keys))
    assert said in str(refused.value)


ARRAY = """
[device]
kind = "array"
members = 12
redundancy = "{redundancy}"
copies = 3
[device.rebuild]
rate = "{rate}"
[device.member]
kind = "linear"
size = "1GiB"
"""


@pytest.mark.parametrize(
    ("redundancy", "groups", "members", "tolerated"),
    [("none", 1, 12, 0), ("mirror", 4, 3, 2), ("parity", 1, 12, 1), ("double-parity", 1, 12, 2)],
)
@pytest.mark.parametrize("rate", ["unlimited", "10MB/s"])
def test_what_counts_of_an_array(tmp_path, redundancy, groups, members, tolerated, rate):
    if redundancy == "none":
        rate = "unlimited"
    path = tmp_path / "array.toml"
    text = ARRAY.format(redundancy=redundancy, rate=rate)
    if redundancy != "mirror":
        text = text.replace("copies = 3\n", "")
    if redundancy == "none":
        text = text.replace('[device.rebuild]\nrate = "unlimited"\n', "")
    path.write_text(text)
    found = read(path)
    bytes_ = pytest.approx(1 << 30, rel=1e-2)
    hours = None
    if rate != "unlimited":
        hours = pytest.approx(found.member_bytes / 10e6 / 3600)
    expected = Array(str(path), redundancy, groups, members, tolerated, bytes_, hours)
    assert found == expected


def test_the_outlook_asks_for_all_that_was_said():
    array = Array("it", "parity", 3, 8, 1, 1 << 30, None)
    times = Times("weibull(20000h, 1.2)", "100h", False, "9000h", "500h", 8192)
    found = outlook(array, times, 3.0, 200, 7)
    assert (found.array, found.times, found.years, found.groups) == (array, times, 3.0, 200)
    assert found.seed == 7
    assert len(found.found["by_year"]) == 3
    alike = outlook(array, times, 3.0, 200, 7)
    assert alike.found == found.found
    for change in (
        {"life": "20000h"},
        {"repair": "300h"},
        {"defects": "900h"},
        {"scrub": "5000h"},
        {"defect_bytes": 1 << 26},
    ):
        assert outlook(array, dataclasses.replace(times, **change), 3.0, 200, 7).found != (
            found.found
        ), change
    assert outlook(array, times, 3.0, 200, 8).found != found.found
    double = dataclasses.replace(array, tolerated=2)
    one, both = (
        outlook(double, dataclasses.replace(times, repairs_together=it), 3.0, 2000, 7).found
        for it in (False, True)
    )
    assert one != both
    default = outlook(array, Times())
    assert (default.years, default.groups, default.seed) == (10.0, 100_000, 42)
    assert default.found != outlook(array, Times(), groups=100_000, seed=43).found
