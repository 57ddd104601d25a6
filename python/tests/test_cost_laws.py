"""Laws of the cost of designs, which hold for every design, need and price, without a simulation.

What a bill says is worked out a second time, from the words of `docs/cost.md`; beside that, what
more of something does: drives, years, prices.
"""

import dataclasses
import itertools
import math
import random

import pytest

from ssdlab import InputError
from ssdlab.costing import Need, Prices, bill, cheapest, front, refuse_unknown
from ssdlab.costing import need as needs
from ssdlab.costing.design import Design, latencies_us, of_results
from ssdlab.costing.prices import KEYS, from_options
from ssdlab.lifetime import Lifetime

DESIGNS = range(300)


def lasting(drive_writes, reason=None):
    """A lifetime of so many drive writes, or of which only the reason is known why not."""
    status = "unknown" if drive_writes is None else "estimated"
    return Lifetime(status, 5.0, drive_writes, drive_writes, drive_writes, None, reason, 7)


def drawn(seed, **more):
    """A design, and a need that it may or may not meet."""
    draw = random.Random(seed)
    prices = {"watts": draw.choice((None, 7.0)), "pue": draw.choice((None, 1.5))}
    prices |= {"power_dollars_per_kwh": draw.choice((None, 0.2)), "years": draw.uniform(0.5, 9)}
    prices |= {"maintenance_share": draw.choice((None, 0.07))}
    prices |= draw.choice(({"device_dollars": 450.0}, {"capacity_dollars_per_gb": 0.31}))
    fields = {
        "name": f"it{seed}",
        "title": "it",
        "prices": Prices(**prices),
        "gigabytes": draw.uniform(50, 4000),
        "iops": draw.uniform(100, 900_000),
        "mb_per_s": draw.uniform(1, 7000),
        "written_gb_per_request": draw.choice((0.0, 4e-6, 3e-5)),
        "bytes_per_request": draw.choice((512.0, 4096.0, 70_000.0)),
        "latencies_us": {"p99": draw.uniform(10, 9000), "read.mean": 40.0},
        "lifetime": draw.choice((None, lasting(draw.uniform(100, 9000)))),
        "constant_watts": 3.5,
        "joules_per_request": draw.uniform(1e-6, 1e-4),
    }
    design = Design(**fields | more)
    amounts = {
        "iops": design.iops * draw.uniform(0.1, 20),
        "mb_per_s": design.mb_per_s * draw.uniform(0.1, 20),
        "gb": design.gigabytes * draw.uniform(0.1, 20),
        "dwpd": draw.uniform(0.01, 5),
    }
    kept = draw.sample(sorted(amounts), draw.randrange(5))
    need = Need({name: amounts[name] for name in kept}, {"p99": draw.uniform(10, 9000)})
    return design, need


@pytest.mark.parametrize("seed", DESIGNS)
def test_a_bill_is_what_its_words_say(seed):
    design, need = drawn(seed)
    prices, amounts, found = design.prices, need.amounts, bill(design, need, 3.0)
    each = {"iops": design.iops, "mb_per_s": design.mb_per_s, "gb": design.gigabytes}
    # The least number of drives that delivers all, by trying.
    enough = (
        n for n in itertools.count(1) if all(n * each[it] >= amounts.get(it, 0) for it in each)
    )
    drives = next(enough)
    assert found.drives == drives
    binding = [name for name in amounts if name in each]
    assert set(found.drives_for) == set(binding)
    assert (found.binds is None) == (not binding)
    if found.binds:
        assert found.drives_for[found.binds] == max(found.drives_for.values())
    price = prices.device_dollars or prices.capacity_dollars_per_gb * design.gigabytes
    assert found.price == pytest.approx(price)
    # Of the writes a drive wears out, and is bought anew until the years are over.
    requests = amounts.get("iops", drives * design.iops)
    gb_a_day = design.written_gb_per_request * requests * 86_400
    if "dwpd" in amounts:
        gb_a_day = amounts["dwpd"] * amounts.get("gb", drives * design.gigabytes)
    assert found.written_tb_per_day == pytest.approx(gb_a_day / 1000)
    times = 1
    if design.lifetime and gb_a_day:
        days = design.lifetime.drive_writes * drives * design.gigabytes / gb_a_day
        assert found.lifetime_years == pytest.approx(days / 365)
        times = max(1, math.ceil(prices.years / (days / 365) - 1e-9))
    else:
        assert found.lifetime_years is None
    assert found.times_bought == times
    assert found.devices_dollars == pytest.approx(drives * times * price)
    watts = prices.watts
    if watts is None:
        served = min(requests / drives, design.iops)
        watts = 3.5 + design.joules_per_request * served
    assert found.watts == pytest.approx(drives * watts)
    kwh = drives * watts * prices.years * 365 * 24 / 1000
    power = kwh * (prices.pue or 1) * (prices.power_dollars_per_kwh or 0)
    assert found.power_dollars == pytest.approx(power)
    kept = (prices.maintenance_share or 0) * prices.years * drives * price
    assert found.maintenance_dollars == pytest.approx(kept)
    assert found.dollars == pytest.approx(drives * times * price + power + kept)
    pages = 2**30 / design.bytes_per_request
    assert found.five_minute_seconds == pytest.approx(pages / design.iops * price / 3.0)
    assert bill(design, need).five_minute_seconds is None
    assert bool(found.lacks) == (design.latencies_us["p99"] > need.latencies_us["p99"])


@pytest.mark.parametrize("seed", DESIGNS[:60])
def test_the_figures_of_a_bill_agree_with_each_other(seed):
    design, need = drawn(seed)
    found = bill(design, need)
    shown = found.to_dict()
    for name in ("drives", "binds", "lifetime_years", "times_bought", "years", "watts", "dollars"):
        assert shown[name] == getattr(found, name), name
    for name in ("devices_dollars", "power_dollars", "maintenance_dollars"):
        assert shown[name] == getattr(found, name), name
    assert shown["device_dollars"] == found.price
    assert shown["iops"] == pytest.approx(found.drives * design.iops)
    assert shown["gb"] == pytest.approx(found.drives * design.gigabytes)
    assert shown["dollars_per_iops"] * shown["iops"] == pytest.approx(found.dollars)
    assert shown["dollars_per_gb"] * shown["gb"] == pytest.approx(found.dollars)
    busy = design.prices.watts or 3.5 + design.joules_per_request * design.iops
    assert shown["iops_per_watt"] == pytest.approx(design.iops / busy)
    written = found.written_tb_per_day * 365 * found.years
    assert shown["written_tb"] == pytest.approx(written)
    if written:
        assert shown["dollars_per_tb_written"] * written == pytest.approx(found.dollars)
    else:
        assert shown["dollars_per_tb_written"] is None
    assert shown["meets"] == (not found.lacks) and shown["lacks"] == list(found.lacks)
    assert shown["prices"] == design.prices.given() and shown["name"] == design.name
    assert shown["latencies_us"] == design.latencies_us and shown["notes"] == list(found.notes)
    assert shown["drives_for"] == dict(found.drives_for) and shown["warnings"] == []


@pytest.mark.parametrize("seed", DESIGNS[:60])
def test_without_years_nothing_is_counted_over_years(seed):
    design, need = drawn(seed)
    amounts = {key: value for key, value in need.amounts.items() if key != "dwpd"}
    found = bill(
        dataclasses.replace(design, prices=Prices(device_dollars=100.0)), Need(amounts, {})
    )
    assert found.dollars == 100.0 * found.drives and found.times_bought == 1
    assert found.to_dict()["written_tb"] is None
    assert "without power: --power-dollars-per-kwh is not given" in found.notes
    # Replacements need years only where it is not known how long drives last.
    unknown = dataclasses.replace(
        design, prices=Prices(device_dollars=100.0), lifetime=lasting(None, "too short")
    )
    notes = bill(unknown, Need(amounts, {})).notes
    said = "without replacements: --years is not given" in notes
    assert said == (found.written_tb_per_day > 0)


def test_notes_and_lacks_say_what_is_left_out():
    priced = Prices(device_dollars=9.0, years=5.0, power_dollars_per_kwh=0.1)
    design, _ = drawn(3, prices=priced, written_gb_per_request=1e-6, lifetime=None)
    found = bill(design, Need({}, {"p99": 1e9, "p50": 5.0}))
    assert found.notes == [
        "this device has no wear; nothing is replaced",
        "without cooling: --pue is not given",
    ]
    assert found.lacks == ["p50 is unknown: the run had none of these requests"]
    unknown = dataclasses.replace(design, lifetime=lasting(None, "too short a run"))
    assert bill(unknown, Need({}, {})).lacks == ["its lifetime is too short a run"]
    unknown = dataclasses.replace(design, lifetime=lasting(None))
    assert bill(unknown, Need({}, {})).lacks == ["its lifetime is not known under writes"]
    idle = dataclasses.replace(design, mb_per_s=0.0)
    found = bill(idle, Need({"mb_per_s": 3.0}, {}))
    assert found.lacks == ["it moves no data"] and found.drives_for == {}
    above = bill(design, Need({}, {"read.mean": 39.9}))
    assert above.lacks == ["read.mean is 40.0µs, above the required 39.9µs"]
    assert bill(design, Need({}, {"read.mean": 40.0})).lacks == []


@pytest.mark.parametrize("times", [2, 3, 10])
@pytest.mark.parametrize("seed", DESIGNS[:40])
def test_a_multiple_of_the_need_asks_for_at_most_that_multiple_of_drives(seed, times):
    design, need = drawn(seed)
    more = Need({key: value * times for key, value in need.amounts.items()}, {})
    one, many = bill(design, Need(need.amounts, {})).drives, bill(design, more).drives
    assert (one - 1) * times < many <= one * times or one == 1
    exact = Need({"iops": times * design.iops}, {})
    assert bill(design, exact).drives == times, "no drive more for a rounded quotient"


def test_the_cheapest_meets_the_needs_and_ties_go_to_the_faster():
    bills = [bill(design, need) for design, need in map(drawn, DESIGNS)]
    found = cheapest(bills, "p99")
    fit = [it for it in bills if not it.lacks]
    assert 0 < len(fit) < len(bills)
    assert found in fit and found.dollars == min(it.dollars for it in fit)
    assert cheapest([it for it in bills if it.lacks], "p99") is None
    prices = Prices(device_dollars=5.0)
    twins = [
        bill(drawn(1, prices=prices, latencies_us={"p99": us})[0], Need({}, {}))
        for us in (3.0, 1.0, 2.0)
    ]
    assert cheapest(twins, "p99") is twins[1]
    bare = bill(drawn(1, prices=prices, latencies_us={})[0], Need({}, {}))
    assert cheapest([bare, *twins], "p99") is twins[1], "an unknown latency is no small one"


def test_the_front_has_what_no_other_beats_in_both():
    bills = [bill(design, need) for design, need in map(drawn, DESIGNS[:80])]
    found = front(bills, "p99")
    points = [(it.dollars, it.design.latencies_us["p99"]) for it in bills]
    for here, is_front in zip(points, found, strict=True):
        beaten = any(a <= here[0] and b <= here[1] and (a, b) != here for a, b in points)
        assert is_front == (not beaten)


def test_an_unknown_lifetime_is_refused_where_no_design_has_one():
    priced = Prices(device_dollars=1.0, years=2.0)
    one = {"prices": priced, "written_gb_per_request": 1e-6}
    known = bill(drawn(5, lifetime=lasting(90.0), **one)[0], Need({}, {}))
    vague = bill(drawn(6, lifetime=lasting(None, "vague"), **one)[0], Need({}, {}))
    assert vague.lasts_unknown and not known.lasts_unknown
    refuse_unknown([vague, known])
    refuse_unknown([known])
    refuse_unknown([])
    with pytest.raises(
        InputError, match=r"it6: the lifetime is vague\. Without it the number of repl"
    ):
        refuse_unknown([vague])
    with pytest.raises(InputError, match=r"it6 \(and 1 others\): "):
        refuse_unknown([vague, vague])
    still = bill(
        drawn(6, lifetime=lasting(None), prices=priced, written_gb_per_request=0.0)[0], Need({}, {})
    )
    assert not still.lasts_unknown
    assert not bill(drawn(6, lifetime=None, **one)[0], Need({}, {})).lasts_unknown
    bare = {**one, "prices": Prices(device_dollars=1.0)}
    assert not bill(drawn(6, lifetime=lasting(None), **bare)[0], Need({}, {})).lasts_unknown


@pytest.mark.parametrize(
    ("prices", "amounts", "said"),
    [
        ({}, {}, ["device_dollars or capacity_dollars_per_gb, the price of a device"]),
        ({"device_dollars": 1.0, "maintenance_share": 0.1}, {}, ["which maintenance_share asks"]),
        (
            {"device_dollars": 1.0, "maintenance_share": 0.1, "power_dollars_per_kwh": 1.0},
            {"dwpd": 1.0},
            ["power_dollars_per_kwh and maintenance_share and --need dwpd asks", "watts, not in"],
        ),
        ({"power_dollars_per_kwh": 1.0, "years": 1.0}, {}, ["Give --device-dollars, --capacity"]),
    ],
)
def test_what_is_missing_is_named(prices, amounts, said):
    design, _ = drawn(1, prices=Prices(**prices), constant_watts=None)
    with pytest.raises(InputError) as refused:
        bill(design, Need(amounts, {}))
    assert str(refused.value).startswith("it1: prices are missing: ")
    assert all(words in str(refused.value) for words in said), refused.value


def test_power_is_that_of_the_share_of_the_load_and_no_more_than_of_all():
    priced = Prices(device_dollars=1.0)
    design, _ = drawn(2, prices=priced, iops=1000.0, joules_per_request=0.01)
    assert [design.watts(it) for it in (0, 500, 1000, 9000)] == [3.5, 8.5, 13.5, 13.5]
    assert design.busy_watts == 13.5
    given = dataclasses.replace(design, prices=Prices(watts=2.0))
    assert (given.busy_watts, given.watts(7.0)) == (2.0, 2.0)
    dark = dataclasses.replace(design, constant_watts=None)
    assert (dark.busy_watts, dark.watts(7.0)) == (None, None)


def results(**more):
    """The figures of a run that a design is made of."""
    kind = {
        "requests": 4,
        "bytes": 4000,
        "iops": 50.0,
        "mb_per_s": 0.5,
        "mean_us": 9.0,
        "max_us": 20.0,
    }
    kind |= {"percentiles_us": {"50": 8.0, "99": 19.0}}
    none = kind | {"requests": 0, "bytes": 0}
    return {
        "experiment": {"title": "T", "device": {"member": {"member": {"scale": 8}}}},
        "host": {"all": kind, "read": none, "write": kind | {"requests": 2, "bytes": 3000}},
        "capacity_bytes": 10**9,
        "warnings": [{"name": "w", "message": "m"}],
        "energy": {
            "mean_watts": 2.0,
            "joules": 10.0,
            "parts": {"controller": 1.0, "idle": 3.0, "cell": 6.0},
        },
        **more,
    }


def test_a_design_has_the_figures_of_its_run():
    found = of_results("it", results(), Prices(watts=1.0))
    assert (found.gigabytes, found.iops, found.mb_per_s, found.title) == (8.0, 50.0, 0.5, "T")
    assert found.written_gb_per_request == pytest.approx(3000 / 1e9 / 4)
    assert (found.bytes_per_request, found.warnings) == (1000.0, ["w"])
    # Ten joules at two watts are five seconds, in which four joules are taken whatever is asked.
    assert found.constant_watts == pytest.approx(4 / 5)
    assert found.joules_per_request == pytest.approx(6 / 4)
    assert found.prices == Prices(watts=1.0) and found.lifetime is None
    assert found.latencies_us == {
        "mean": 9.0, "p50": 8.0, "p99": 19.0, "max": 20.0,
        "write.mean": 9.0, "write.p50": 8.0, "write.p99": 19.0, "write.max": 20.0,
    }  # fmt: skip
    still = of_results("it", results(energy=None, warnings=None), Prices())
    assert (still.constant_watts, still.joules_per_request, still.warnings) == (None, 0.0, [])
    idle = results()
    idle["host"]["all"] = idle["host"]["all"] | {"iops": 0.0}
    with pytest.raises(InputError, match=r"^it: no request completed in the run, so its through"):
        of_results("it", idle, Prices())
    with pytest.raises(InputError, match="^it: results of an older version"):
        of_results("it", results(wear={}), Prices())
    assert latencies_us({kind: {"requests": 0} for kind in ("all", "read", "write")}) == {}


def test_prices_on_top_precede_and_a_device_has_one_price():
    below = Prices(device_dollars=1.0, years=3.0, pue=1.2)
    assert below.below(Prices()) == below
    assert below.below(Prices(years=4.0)) == Prices(device_dollars=1.0, years=4.0, pue=1.2)
    over = below.below(Prices(capacity_dollars_per_gb=0.0))
    assert over == Prices(capacity_dollars_per_gb=0.0, years=3.0, pue=1.2)
    assert over.given() == {"capacity_dollars_per_gb": 0.0, "years": 3.0, "pue": 1.2}
    assert Prices.of({}) == Prices() and Prices.of({"cost": {"years": 2.0}}) == Prices(years=2.0)
    assert (Prices(device_dollars=7.0).device(100), over.device(100)) == (7.0, 0.0)
    assert Prices(capacity_dollars_per_gb=2.0).device(100) == 200.0
    with pytest.raises(ValueError, match="the device has no price"):
        Prices().device(1)


@pytest.mark.parametrize("text", [(" iops = 18000 , gb=3",), ("iops=18000", "gb=3")])
def test_needs_are_added_up_from_all_texts(text):
    assert needs.parse(text) == Need({"iops": 18000.0, "gb": 3.0}, {})


def test_latencies_are_read_in_their_units_and_shown_in_us():
    found = needs.parse(("p99=20ms,read.mean=7us,write.max=1s",))
    assert found.latencies_us == pytest.approx({"p99": 2e4, "read.mean": 7.0, "write.max": 1e6})
    shown = Need({"gb": 2.0}, {"p99": 5.0}).to_dict()
    assert shown == {"gb": 2.0, "p99_us": 5.0}
    for name in needs.LATENCIES:
        for kind in ("", "read.", "write."):
            assert needs.is_latency(kind + name)
    assert not any(map(needs.is_latency, ("p98", "all.p99", "read", "median", "p99.", "trim.p99")))


def test_small_amounts_are_amounts():
    """Of less than one of each: the bounds are at nothing, not at one."""
    priced = Prices(device_dollars=8.0, years=4.0)
    design, _ = drawn(2, prices=priced, gigabytes=0.5, iops=0.25, mb_per_s=0.1)
    assert bill(design, Need({"gb": 2.0}, {})).drives == 4
    assert bill(design, Need({"iops": 2.0}, {})).drives == 8
    assert bill(design, Need({"mb_per_s": 0.35}, {})).drives == 4
    # A fifth of a GB a day, on a drive that can be written 365 times: in 2.5 years.
    rare = dataclasses.replace(design, lifetime=lasting(365.0))
    found = bill(rare, Need({"dwpd": 0.4, "gb": 0.5}, {}))
    assert (found.lifetime_years, found.times_bought) == (pytest.approx(2.5), 2)
    unknown = dataclasses.replace(design, lifetime=lasting(None, "short"))
    assert bill(unknown, Need({"dwpd": 0.4, "gb": 0.5}, {})).lacks == ["its lifetime is short"]


@pytest.mark.parametrize("times", [1, 2, 3, 7, 49])
@pytest.mark.parametrize("years", [0.1, 0.3, 1.0, 4.9])
def test_drives_that_last_until_the_end_are_not_bought_once_more(times, years):
    lasts = years / times
    priced = Prices(device_dollars=1.0, years=years)
    design, _ = drawn(2, prices=priced, gigabytes=1.0, lifetime=lasting(365.0 * lasts))
    found = bill(design, Need({"dwpd": 1.0, "gb": 1.0}, {}))
    assert found.times_bought == times
    more = dataclasses.replace(design, prices=Prices(device_dollars=1.0, years=years * 1.000001))
    assert bill(more, Need({"dwpd": 1.0, "gb": 1.0}, {})).times_bought == times + 1


def test_power_that_is_unknown_or_none_costs_nothing():
    unknown = {"constant_watts": None, "prices": Prices(device_dollars=1.0)}
    found = bill(drawn(2, **unknown)[0], Need({}, {}))
    assert (found.watts, found.power_dollars, found.to_dict()["iops_per_watt"]) == (None, 0, None)
    free = Prices(device_dollars=1.0, watts=0.0, power_dollars_per_kwh=1.0, pue=2.0, years=3.0)
    found = bill(drawn(2, prices=free)[0], Need({}, {}))
    assert (found.watts, found.power_dollars, found.to_dict()["iops_per_watt"]) == (0, 0, None)
    rests = bill(drawn(2, prices=free)[0], Need({}, {}), 3.0)
    assert rests.to_dict()["five_minute_seconds"] == rests.five_minute_seconds > 0


def test_what_is_missing_is_said_in_one_sentence():
    priced = Prices(maintenance_share=0.1, power_dollars_per_kwh=1.0)
    design, _ = drawn(1, prices=priced, constant_watts=None)
    with pytest.raises(InputError) as refused:
        bill(design, Need({"dwpd": 1.0}, {}))
    assert str(refused.value) == (
        "it1: prices are missing: device_dollars or capacity_dollars_per_gb, the price of a "
        "device; years, for how long, which power_dollars_per_kwh and maintenance_share and "
        "--need dwpd asks for; watts, not in the results (device.energy). Give "
        "--device-dollars, --capacity-dollars-per-gb, --years, --watts, or [cost] in the experiment"
    )


def test_a_design_of_other_results():
    plain = results(experiment={"title": "T", "device": {"kind": "linear"}})
    plain["host"]["all"] = plain["host"]["all"] | {"mb_per_s": None}
    found = of_results("it", plain, Prices())
    assert (found.name, found.gigabytes, found.mb_per_s) == ("it", 1.0, 0.0)
    assert found.written_gb_per_request == pytest.approx(7.5e-7, rel=1e-12, abs=0)
    names = ("status", "service_years", "host_bytes", "drive_writes", "drive_writes_per_day")
    wear = dict.fromkeys((*names, "error", "reason", "erases"), 5)
    found = of_results("it", results(wear={"lifetime": wear}), Prices())
    assert found.lifetime == Lifetime(*[5] * 8)


def options(**given):
    return {key: given.get(key) for key in KEYS}


def test_prices_of_options_are_numbers_in_their_bounds():
    assert from_options(options(years=2.0, pue=1.0)) == Prices(years=2.0, pue=1.0)
    assert from_options(options(maintenance_share=0.0)) == Prices(maintenance_share=0.0)
    bounds = [("years", 0.0, "above 0"), ("years", -1.0, "above 0"), ("pue", 0.99, "1 or more")]
    bounds += [(key, -0.5, "0 or more") for key in KEYS if key not in ("years", "pue")]
    bounds += [(key, math.nan, "") for key in KEYS] + [(key, math.inf, "") for key in KEYS]
    for key, value, said in bounds:
        with pytest.raises(InputError) as refused:
            from_options(options(**{key: value}))
        name = "--" + key.replace("_", "-")
        assert str(refused.value).startswith(f"{name} {value:g}: expected a number, {said}")
    with pytest.raises(InputError) as refused:
        from_options(options(device_dollars=1.0, capacity_dollars_per_gb=0.0))
    assert str(refused.value) == (
        "--device-dollars and --capacity-dollars-per-gb: a device has only one price; keep one of "
        "the two"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gb", "--need gb: expected NAME=VALUE, such as iops=18000 or p99=20ms"),
        ("=3", "--need =3: expected NAME=VALUE, such as iops=18000 or p99=20ms"),
        ("gb=", "--need gb=: expected NAME=VALUE, such as iops=18000 or p99=20ms"),
        ("gb=1,gb=2", "--need gb=2: gb is given twice; keep one"),
        ("p99=1s,p99=2s", "--need p99=2s: p99 is given twice; keep one"),
        ("gb=many", '--need gb=many: "many" is not a number; gb is GB of 1e9 bytes, such as gb='),
        ("gb=0", "--need gb=0: gb must be above 0"),
        ("gb=-1", "--need gb=-1: gb must be above 0"),
        ("gb=inf", "--need gb=inf: gb must be above 0"),
        ("iopz=3", "(did you mean iops?)"),
        (
            "qqqqq=3",
            "--need qqqqq=3: the requirements are iops, mb_per_s, gb, dwpd, mean, p50",
        ),
        ("p99=3", "--need p99"),
    ],
)
def test_a_need_that_is_none_is_refused_by_name(text, said):
    with pytest.raises(InputError) as refused:
        needs.parse((text,))
    assert said in str(refused.value)
    assert ("did you mean" in str(refused.value)) == (text == "iopz=3")


def test_needs_may_be_small():
    assert needs.parse(("gb=0.5",)).amounts == {"gb": 0.5}
