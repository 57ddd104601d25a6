"""What things cost, from results: closed forms, what binds, what is refused."""

import dataclasses
import doctest
import json

import pytest

import ssdlab as lab
from ssdlab import _core
from ssdlab.costing import (
    Need,
    Prices,
    bill,
    cheapest,
    display,
    front,
    of_results,
    refuse_unknown,
    rule,
)
from ssdlab.costing import need as needs
from ssdlab.paper import ITEMS, Study

#: What a kilowatt hour is, in hours of five years.
HOURS = 5 * 365 * 24


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A drive under random writes, long enough to tell how long it lasts; where it is kept."""
    found = lab.run(
        workload={"kind": "closed", "read_share": 0.5, "outstanding": 4, "requests": 600_000},
        device={"preset": "agrawal2008", "blocks_per_plane": 32},
        run={"precondition": "steady", "warm_up": "30s"},
    )
    path = tmp_path_factory.mktemp("results") / "results.json"
    found.save(path)
    return path, found.to_dict()


def design(results, **prices):
    return of_results("it", results[1], Prices(**prices))


def need(**amounts):
    latencies = {key: amounts.pop(key) for key in list(amounts) if key.startswith("p")}
    return Need(amounts, latencies)


def test_the_need_with_most_drives_binds(results):
    it = design(results, device_dollars=600.0)
    found = bill(it, need(iops=3.5 * it.iops, gb=12.2 * it.gigabytes))
    assert (found.drives, found.binds) == (13, "gb")
    assert dict(found.drives_for) == {"iops": 4, "gb": 13}
    assert bill(it, need(iops=3 * it.iops)).drives == 3, "three are enough for three times"
    found = bill(it, need(mb_per_s=1.5 * it.mb_per_s))
    assert (found.drives, found.binds, found.dollars) == (2, "mb_per_s", 1200.0)
    assert bill(it, need()).drives == 1


def test_every_price_has_its_part_of_the_bill(results):
    prices = {"device_dollars": 600.0, "years": 5.0}
    wanted = need(iops=3 * design(results).iops)

    def of(**more):
        return bill(design(results, **{**prices, **more}), wanted)

    assert of().devices_dollars == 3 * 600 * of().times_bought
    by_capacity = bill(design(results, capacity_dollars_per_gb=2.0), wanted)
    assert by_capacity.price == pytest.approx(2.0 * design(results).gigabytes)
    power = of(power_dollars_per_kwh=0.1, watts=20.0)
    assert power.watts == 60.0
    assert power.power_dollars == pytest.approx(0.060 * HOURS * 0.1)
    cooled = of(power_dollars_per_kwh=0.1, watts=20.0, pue=1.5)
    assert cooled.power_dollars == pytest.approx(1.5 * power.power_dollars)
    assert of(maintenance_share=0.1).maintenance_dollars == pytest.approx(0.1 * 5 * 3 * 600)
    total = of(power_dollars_per_kwh=0.1, watts=20.0, maintenance_share=0.1)
    parts = (total.devices_dollars, total.power_dollars, total.maintenance_dollars)
    assert total.dollars == pytest.approx(sum(parts))
    assert of(years=50.0).times_bought > of(years=1.0).times_bought


def test_power_follows_the_load(results):
    """What is taken at any time is that of all drives, the rest of the requests that are needed."""
    it = design(results, device_dollars=1.0)
    energy, iops = results[1]["energy"], it.iops
    assert it.busy_watts == pytest.approx(energy["mean_watts"], rel=1e-6)
    constant = (energy["parts"]["controller"] + energy["parts"]["idle"]) / (
        energy["joules"] / energy["mean_watts"]
    )
    full = bill(it, need(iops=2 * iops))
    assert full.watts == pytest.approx(2 * energy["mean_watts"], rel=1e-6)
    half = bill(it, need(iops=iops, gb=2 * it.gigabytes))
    assert half.watts == pytest.approx(energy["mean_watts"] + constant, rel=1e-6)


def test_drives_are_replaced_when_they_are_worn(results):
    it = design(results, device_dollars=600.0, years=5.0)
    lifetime = it.lifetime.drive_writes / 365 / 20
    found = bill(it, need(dwpd=20.0))
    assert found.lifetime_years == pytest.approx(lifetime)
    assert found.times_bought == -(-5 // lifetime)
    # Twice the drives for the same data are written half as much each.
    assert bill(it, need(dwpd=20.0, gb=it.gigabytes, iops=2 * it.iops)).lifetime_years == (
        pytest.approx(2 * lifetime)
    )
    # Without dwpd, what the load writes.
    written = results[1]["host"]["write"]["bytes"] / results[1]["simulated_seconds"] * 86_400
    per_day = bill(it, need()).written_tb_per_day * 1e12
    assert per_day == pytest.approx(written, rel=1e-6)


def test_a_design_that_is_too_slow_falls_short(results):
    it = design(results, device_dollars=600.0)
    p99 = results[1]["host"]["all"]["percentiles_us"]["99"]
    assert not bill(it, need(p99=p99)).lacks
    assert "p99 is" in bill(it, need(p99=0.9 * p99)).lacks[0]
    unknown = Need({}, {"write.p99": 1e9})
    reads = {
        **results[1],
        "host": {**results[1]["host"], "write": dict.fromkeys(results[1]["host"]["write"], 0)},
    }
    assert "is unknown" in bill(of_results("r", reads, it.prices), unknown).lacks[0]


def test_figures_that_results_lack_are_not_guessed(results):
    life = {**results[1]["wear"]["lifetime"], "status": "unknown", "host_bytes": None}
    life |= {"drive_writes": None, "reason": "not known from this run (7 erasures)"}
    young = {**results[1], "wear": {**results[1]["wear"], "lifetime": life}}
    prices = Prices(device_dollars=1.0, years=5.0)
    found = bill(of_results("young", young, prices), need(dwpd=1.0))
    assert found.lacks == ["its lifetime is not known from this run (7 erasures)"]
    with pytest.raises(lab.InputError, match="young: the lifetime is not known from this run"):
        refuse_unknown([found])
    refuse_unknown([found, bill(of_results("grown", results[1], prices), need(dwpd=1.0))])
    old = {**results[1], "wear": {**results[1]["wear"], "lifetime": {"service_years": 5.0}}}
    with pytest.raises(lab.InputError, match="of an older version"):
        of_results("old", old, prices)
    bare = {key: value for key, value in results[1].items() if key not in ("wear", "energy")}
    found = bill(of_results("bare", bare, prices), need())
    assert "no wear" in " ".join(found.notes)
    assert found.watts is None


def test_the_front_is_of_what_no_other_beats(results):
    it = design(results)

    def made(dollars, p99):
        latencies = {"p99": p99}
        priced = Prices(device_dollars=dollars)
        return bill(dataclasses.replace(it, prices=priced, latencies_us=latencies), need())

    bills = [made(1.0, 90.0), made(2.0, 50.0), made(3.0, 60.0), made(4.0, 40.0)]
    assert front(bills, "p99") == [True, True, False, True]
    assert cheapest(bills, "p99") is bills[0]
    tied = [made(1.0, 90.0), made(1.0, 50.0)]
    assert cheapest(tied, "p99") is tied[1], "of equal prices the faster"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("iosp=5", "did you mean iops?"),
        ("iops", "expected NAME=VALUE"),
        ("iops=", "expected NAME=VALUE"),
        ("iops=many", '"many" is not a number'),
        ("iops=-5", "must be above 0"),
        ("iops=nan", "must be above 0"),
        ("iops=0", "must be above 0"),
        ("gb=3TB", "GB of 1e9 bytes"),
        ("p99=20", "has a unit|expected a time"),
        ("p99=20lightyears", "units: us"),
        ("p98=1ms", "p99"),
        ("iops=1,iops=2", "given twice"),
        ("", "expected NAME=VALUE"),
    ],
)
def test_malformed_needs_are_refused(text, said):
    with pytest.raises(lab.InputError, match=said) as refused:
        needs.parse((text,))
    assert "--need" in str(refused.value)


def test_needs_are_read():
    found = needs.parse(("iops=18e3, gb=3240", "read.p99.9=20ms,dwpd=0.3"))
    assert found.amounts == {"iops": 18_000, "gb": 3240, "dwpd": 0.3}
    assert found.latencies_us == {"read.p99.9": pytest.approx(20_000)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "device_dollars or capacity_dollars_per_gb"),
        (["--device-dollars", "-5"], "--device-dollars -5: expected a number, 0 or more"),
        (["--device-dollars", "nan"], "--device-dollars nan: is not a number"),
        (["--device-dollars", "5", "--capacity-dollars-per-gb", "1"], "keep one of the two"),
        (["--device-dollars", "5", "--pue", "0.5"], "1 or more"),
        (["--device-dollars", "5", "--years", "0"], "above 0"),
        (["--device-dollars", "5", "--need", "dwpd=1"], "years, for how long"),
        (["--device-dollars", "5", "--power-dollars-per-kwh", "1"], "Give --years"),
        (["--device-dollars", "5", "--against", "p98"], "the latencies are"),
        (["--device-dollars", "5", "--five-minute", "0"], "above 0"),
        (["--device-dollars", "5", "--plot", "figure"], "extension"),
        (["--device-dollars", "5", "--json", "no/where.json"], "does not exist"),
    ],
)
def test_what_is_missing_or_wrong_is_refused(refused, results, arguments, said):
    assert said in refused("cost", results[0], *arguments)


def test_other_files_are_refused(refused, tmp_path):
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "table.jsonl").write_text('{"a": 1}\n')
    price = ("--device-dollars", 1)
    assert "not results of ssdlab run" in refused("cost", tmp_path / "list.json", *price)
    assert "not JSON" in refused("cost", tmp_path / "broken.json", *price)
    assert "not written by ssdlab sweep" in refused("cost", tmp_path / "table.jsonl", *price)
    assert "cannot be read" in refused("cost", tmp_path / "absent", *price)


def test_watts_are_asked_for_where_results_have_no_energy(refused, tmp_path):
    found = lab.run(device="null", set={"workload.requests": 100})
    found.save(tmp_path / "null.json")
    price = ("--device-dollars", 1, "--years", 1, "--power-dollars-per-kwh", 1)
    assert "watts, not in the results" in refused("cost", "null.json", *price)


def test_the_command_shows_writes_and_draws(ssdlab, results, tmp_path):
    done = ssdlab(
        "cost", results[0], "--need", "iops=50000,gb=100,p99=10s", "--device-dollars", 600,
        "--years", 5, "--power-dollars-per-kwh", 0.12, "--pue", 1.5, "--maintenance-share", 0.1,
        "--five-minute", 48, "--json", "bill.json", "--plot", "bill.png",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for it in ("device_dollars = 600", "(binding)", "break-even interval", "$/TB written", "pue"):
        assert it in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    found = json.loads((tmp_path / "bill.json").read_text())
    (row,) = found["designs"]
    assert row["prices"]["device_dollars"] == 600
    assert found["need"] == {"iops": 50_000, "gb": 100, "p99_us": 1e7}
    parts = row["devices_dollars"] + row["power_dollars"] + row["maintenance_dollars"]
    assert row["dollars"] == pytest.approx(parts)
    assert row["dollars_per_iops"] == pytest.approx(row["dollars"] / row["iops"])
    assert (tmp_path / "bill.png").stat().st_size > 5_000


def test_when_no_design_suffices_the_reasons_are_given(ssdlab, results):
    done = ssdlab("cost", results[0], results[0], "--need", "p99=1us", "--device-dollars", 1)
    assert done.returncode == 1
    assert "None meets the requirements" in done.stdout
    assert "p99 is" in done.stdout
    done = ssdlab("cost", results[0], "--need", "p99=1us", "--device-dollars", 1, "--json", "-")
    assert done.returncode == 1
    assert json.loads(done.stdout)["cheapest"] is None


def test_a_sweep_is_a_table_of_designs(ssdlab, tmp_path):
    sweep = ("--vary", "device.channels=2,4,8", "--set", "device.blocks_per_plane=32")
    price = ("--set", "cost.capacity_dollars_per_gb=2", "--set", "workload.requests=2000")
    assert ssdlab("sweep", *sweep, *price, "--out", "s.parquet", "--quiet").returncode == 0
    done = ssdlab(
        "cost", "s.jsonl", "--need", "iops=20000", "--json", "bills.json", "--plot", "f.png"
    )
    assert done.returncode == 0, done.stderr
    assert "Cheapest: channels=" in done.stdout
    assert "capacity_dollars_per_gb = 2" in done.stdout
    found = json.loads((tmp_path / "bills.json").read_text())
    assert [row["name"] for row in found["designs"]] == [f"channels={n}" for n in (2, 4, 8)]
    costs = {row["name"]: row["dollars"] for row in found["designs"] if row["meets"]}
    assert found["cheapest"] == min(costs, key=costs.get)
    assert found["pareto"]


def test_prices_of_an_experiment_lie_below_options(ssdlab, refused, tmp_path):
    (tmp_path / "priced.toml").write_text(
        '[device]\nblocks_per_plane = 32\n[workload]\npreset = "mixed"\nrequests = 1000\n'
        "[cost]\ncapacity_dollars_per_gb = 2.0\nyears = 3.0\n"
    )
    assert ssdlab("run", "priced.toml", "--out", "out", "--quiet").returncode == 0
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert found["experiment"]["cost"] == {"capacity_dollars_per_gb": 2.0, "years": 3.0}
    assert "is not known from this run" in refused("cost", "out")
    settled = ("--set", "run.precondition=steady", "--set", "workload.requests=60000")
    assert ssdlab("run", "priced.toml", "--out", "out", "--quiet", *settled).returncode == 0
    assert "capacity_dollars_per_gb = 2, years = 3" in ssdlab("cost", "out").stdout
    done = ssdlab("cost", "out", "--device-dollars", 7)
    assert "device_dollars = 7, years = 3" in done.stdout
    assert "cost.pue=0.5: 0.5 is not" in refused("run", "priced.toml", "--set", "cost.pue=0.5")
    assert "cost.watts=-1: -1 is not" in refused("run", "priced.toml", "--set", "cost.watts=-1")
    assert "one price" in refused("run", "priced.toml", "--set", "cost.device_dollars=1")
    assert "did you mean cost.years?" in refused("run", "priced.toml", "--set", "cost.yeers=1")


def test_prices_change_no_result():
    plain, priced = (
        lab.run(set={"workload.requests": 500, **more}).to_dict()
        for more in ({}, {"cost.device_dollars": 5})
    )
    assert "cost" not in plain["experiment"]
    for found in (plain, priced):
        del found["experiment"], found["elapsed"]
    assert plain == priced


def test_the_keys_are_those_of_experiments():
    schema = json.loads(_core.experiment_schema())
    keys = schema["properties"]["cost"]["properties"]
    assert list(keys) == sorted(field.name for field in dataclasses.fields(Prices))


#: What the articles have, by the words of the rows.
FIVE_MINUTES = [205, 266, 1.46, 14.7, 5.9, 2.25]


def test_the_five_minute_rule_of_the_articles():
    item = ITEMS["fiveminute"].run(Study(quick=True))
    reckoned = [row for row in item.rows if row.verdict == "arithmetic"]
    assert [row.published for row in reckoned] == FIVE_MINUTES
    for row in reckoned:
        assert row.simulated == pytest.approx(row.published, rel=0.03), row.name
    verdicts = [row.verdict for row in item.rows if row not in reckoned]
    assert verdicts == ["fitted", "fitted", "info", "info", "info", "info", "pass"]


def test_the_rule_for_a_drive_in_its_state(results):
    it = design(results, device_dollars=400.0)
    found = bill(it, need(), dollars_per_gib=48.0).five_minute_seconds
    assert found == pytest.approx(2**18 / it.iops * 400 / 48)


@pytest.mark.parametrize("module", [display, rule])
def test_the_examples_in_the_text_are_true(module):
    assert doctest.testmod(module).failed == 0
