"""Which drive for a trace: the order by cost, what decides, and what is said of the trace."""

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest
from small_drives import FAST, SLOW, recorded

import ssdlab as package
from ssdlab import choosing, market, sizing, under_load
from ssdlab.catalogue import devices
from ssdlab.sizing.trial import Goal

REAL = Path(__file__).parents[3] / "shared" / "traces"
PRICES = {"fast.toml": 300.0, "slow.toml": 100.0}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "fast.toml").write_text(FAST)
    (tmp_path / "slow.toml").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def choose(path, **given):
    terms = {"device": ["fast.toml", "slow.toml"], "drives": 1, "prices": PRICES, "years": 1e-6}
    return package.choose(path, **(terms | given))


def test_the_cheapest_that_meets_the_goals_comes_first(here):
    path = recorded(here / "mixed.parquet")
    easy = choose(path, p99="1s")
    assert [it.drive for it in easy.offers] == ["slow.toml", "fast.toml"]
    assert easy.best.dollars == 100 and all(it.meets for it in easy.offers)
    hard = choose(path, p99="4ms")
    assert hard.best.drive == "fast.toml" and hard.best.dollars == 300
    assert "p99 is " in hard.offers[-1].why and "not 4.00" in hard.offers[-1].why
    by_need = choose(path, need="read.p50=4ms")
    assert by_need.best.drive == "fast.toml" and "read.p50 is " in by_need.offers[-1].why
    assert choose(path, p99="1us").best is None
    assert len(easy.best.trial.found) >= 3, "the best is tried with several seeds"


@pytest.mark.parametrize("number", [0, 1], ids=["near", "far"])
def test_prices_that_change_the_answer_do_and_older_ones_say_when_they_are_of(here, number):
    path = recorded(here / "mixed.parquet")
    own = here / "own.toml"
    rows = {"slow": 100, "fast": 300}
    text = "\n".join(
        f'[drive.{name}]\nprice = {price}\npriced = "2024-03"\ndevice = "{name}.toml"'
        for name, price in rows.items()
    )
    own.write_text(text)
    drives = [str(here / f"{name}.toml") for name in rows]
    asked = {"device": drives, "p99": "1s", "prices": {}, "catalogue": own}
    found = choose(path, **asked)
    assert found.best.drive == drives[0] and found.priced() == ["2024-03"]
    assert not found.best.is_assumed
    near, far = found.moves()
    assert (near.drive, near.dollars, far.drive, far.dollars) == (drives[1], 100, drives[0], 300)
    assert near.change == pytest.approx(100 / 300 - 1) and far.change == pytest.approx(2)
    move = (near, far)[number]
    for factor, changes in ((0.99, near is move), (1.01, far is move)):
        at = {move.drive: move.dollars * factor}
        best = choose(path, **(asked | {"prices": at})).best
        assert (best.drive != found.best.drive) is changes, (move, factor)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("price = -1\npriced = '2024'", "drive.x.price = -1: expected dollars, 0 or more"),
        ("price = 5", "drive.x: price without priced: say when"),
        ("cost = 5", 'drive.x: unknown key "cost"; keys are price, priced'),
        ("idle_watts = 1", "idle_watts and active_watts go together"),
        ("dwpd = 'one'", "drive.x.dwpd = 'one': expected a number"),
    ],
)
def test_a_row_of_a_catalogue_that_is_wrong_is_named(here, row, said):
    (here / "own.toml").write_text(f"[drive.x]\n{row}\n")
    with pytest.raises(package.InputError) as error:
        choose(recorded(here / "mixed.parquet"), catalogue="own.toml")
    assert "own.toml: drive.x" in str(error.value) and said in str(error.value)


def test_a_drive_of_yours_is_added_with_its_price(ssdlab, tmp_path):
    sheet = ssdlab("device", "from-datasheet", "--template").stdout
    (tmp_path / "sheet.toml").write_text(sheet)
    done = ssdlab("catalogue", "add", "sheet.toml", "--price", "412USD", "--priced", "2026-11")
    assert done.returncode == 0, done.stderr
    watts = ["--idle-watts", "4", "--active-watts", "12"]
    again = ssdlab("catalogue", "add", "samsung-pm9a3", "--price", "$140", *watts)
    assert again.returncode == 0, again.stderr
    rows = json.loads(ssdlab("catalogue", "show", "--catalogue", "catalogue.toml", "--json").stdout)
    named = {row["name"]: row for row in rows}
    assert named["my-drive-960-gb"]["price"] == 412
    pm9a3 = named["samsung-pm9a3"]
    assert (pm9a3["price"], pm9a3["active_watts"], pm9a3["dwpd"]) == (140, 12, 1)
    twice = ssdlab("catalogue", "add", "samsung-pm9a3", "--price", "1")
    assert twice.returncode == 2 and "has drive.samsung-pm9a3 already" in twice.stderr
    listed = ssdlab("catalogue", "show", "--catalogue", "catalogue.toml")
    assert "my-drive-960-gb.toml" in listed.stdout


def test_a_trace_of_reads_wears_nothing_and_is_said_to_be_short(here):
    found = choose(recorded(here / "reads.parquet", requests=500, reads=1.0), years=50)
    assert found.best.life == (float("inf"), False)
    text = " ".join(found.notes)
    assert "The trace is short: 20 s, 500 requests" in text and "It only reads" in text
    assert "Its p99 rests on 5 requests" in text


def test_a_sample_of_a_wide_load_is_called_one(here):
    wide = choose(recorded(here / "wide.parquet", requests=300, touched=60_000))
    assert any("It is a sample: it touches " in note for note in wide.notes)
    assert any("loop_places=moved" in word for word in wide.offers[0].command.split())
    narrow = choose(recorded(here / "narrow.parquet", requests=300, touched=100))
    assert not any("It is a sample" in note for note in narrow.notes)
    assert "loop_places" not in narrow.offers[0].command


def test_writes_decide_by_lifetime(here):
    path = recorded(here / "writes.parquet", reads=0.0, gap_ns=100_000)
    found = choose(path, years=1000.0, drives=2)
    assert found.best is None or found.best.life[0] is None
    assert any("It only writes" in note for note in found.notes)
    known = [it for it in found.offers if it.life[0] is not None]
    assert all("lifetime is " in it.why for it in known)


def test_capacity_takes_more_drives(here):
    path = recorded(here / "mixed.parquet")
    one = choose(path, drives=4)
    several = choose(path, drives=4, need="gb=0.4")
    assert one.best.drives == 1 and several.best.drives == 2
    assert several.best.dollars == 2 * one.best.dollars
    assert several.best.trial.capacity_bytes >= 0.4e9
    many = choose(path, need="gb=500")
    assert many.best is None and "500 GB take " in many.offers[0].why


@pytest.mark.nightly
def test_power_costs(here):
    path = recorded(here / "reads.parquet", requests=300, reads=1.0)
    terms = {"device": ["samsung-pm9a3"], "prices": {}, "years": 5}
    plain, powered = (
        choose(path, **terms, power_dollars_per_kwh=price).best for price in (None, 0.2)
    )
    hours = 5 * 365 * 24
    assert 3.5 <= powered.all_watts <= 11
    added = powered.dollars - plain.dollars
    assert added == pytest.approx(powered.all_watts / 1e3 * hours * 0.2)
    assert plain.is_assumed and plain.dollars == devices.DEVICES["samsung-pm9a3"].rated.price


def test_the_table_and_json_on_the_command_line(here, ssdlab):
    recorded(here / "it.parquet")
    words = ["choose", "--trace", "it.parquet", "--device", "fast.toml", "--device", "slow.toml"]
    words += ["--drives", 1, "--years", 1e-6, "--price", "fast.toml=300"]
    done = ssdlab(*words, "--price", "slow.toml=100", "--p99", "4ms", "--json", "it.json")
    assert done.returncode == 0, done.stderr
    assert "Cheapest: fast.toml, $300" in done.stdout and "Why not:" in done.stdout
    assert "Preconditioned unlike the others (full, then overwritten once" in done.stdout
    found = json.loads((here / "it.json").read_text())
    assert found["best"] == "fast.toml" and len(found["offers"]) == 2
    again = ssdlab(*shlex.split(found["command"])[1:], "--json", "-")
    p99 = json.loads(again.stdout)["host"]["all"]["percentiles_us"]["99"]
    assert p99 == pytest.approx(found["offers"][0]["p99_us"]["mean"], rel=0.3)
    assert ssdlab(*words, "--p99", "1us", "--quiet").returncode == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--need", "iops=5"], "--need iops: the trace says what is asked"),
        (["--price", "zzz=5"], "--price zzz: no drive of this choice"),
        (["--price", "fast.toml"], "--price fast.toml: expected DRIVE=DOLLARS"),
        (["--price", "fast.toml=-1"], "a price is 0 or more dollars"),
        (["--device", "fast.toml"], "--device fast.toml: is given twice"),
        (["--years", 0], "--years 0: more than 0"),
        (["--p99", "2"], "--p99"),
        (["--p99", "2ms", "--p999", "1ms"], "p99.9 of 1.00ms below p99 of 2.00ms contradicts"),
        (["--need", "read.p99.9=1ms,read.p50=2ms"], "read.p50 of 2.00ms contradicts itself"),
        (["--price", "fast.toml=140EUR"], "prices here are dollars"),
        (["--drives", 0], "--drives 0: from 1 to 64"),
        (["--power-dollars-per-kwh", -1], "expected a number, 0 or more"),
        (["--device", "null"], "kind law, not ssd"),
        (["--p99", "2ms", "--p99", "3ms"], "--p99 takes one value"),
    ],
)
def test_wrong_input_is_refused(here, refused, words, said):
    recorded(here / "it.parquet", requests=20)
    assert said in refused("choose", "--trace", "it.parquet", "--device", "fast.toml", *words)


def test_a_load_without_a_trace_is_chosen_and_sized_for(here, ssdlab):
    (here / "it.fio").write_text("[a]\nrw=randread\nbs=4k\niodepth=2\nsize=4m\n")
    only = ["--device", "fast.toml", "--drives", 1, "--json", "-"]
    for load in ("4K random read, 2 K IOPS, over 40 MB", "it.fio", "random-read"):
        done = ssdlab("choose", "--load", load, "--p99", "1s", "--price", "fast.toml=9", *only)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["best"] == "fast.toml" and found["load"] == load and found["trace"] is None
        years = [it for it in found["goals"] if it["figure"] == "years"]
        assert len(years) == ("IOPS" in load), "only a load with a pace has a lifetime"
    sized = json.loads(ssdlab("size", "--load", "it.fio", "--p99", "1s", *only).stdout)
    assert sized["best"]["drives"] == 1
    # A job that reaches more than a drive takes more drives.
    (here / "it.fio").write_text("[a]\nrw=randread\nbs=4k\niodepth=2\nsize=400m\n")
    words = ["--load", "it.fio", "--p99", "1s", "--device", "fast.toml", "--json", "-"]
    sized = json.loads(ssdlab("size", *words, "--drives", 4).stdout)
    assert sized["best"]["drives"] == 2
    shared = sizing.load.Load("it", job=here / "it.fio").share(800 * 2**20)
    assert "size=50%" in shared["job"]
    done = ssdlab("size", *words, "--drives", 1)
    assert done.returncode == 2 and "it.fio: reaches 400 MiB, and 1 drives have" in done.stderr


@pytest.mark.parametrize(
    ("called", "words", "said"),
    [
        ("choose", [], "--trace and --load: none is given"),
        ("size", ["--trace", "t", "--load", "4K reads"], "both say a load; keep one"),
        ("size", ["--load", "4K, 9 IOPS", "--p99", "2ms", "--p999", "1ms"], "contradicts itself"),
        ("size", ["--load", "4K reads"], "4K reads: no target: a load without a pace tells no"),
        ("choose", ["--load", "4K reads and fire"], '"fire" is not understood'),
    ],
)
def test_a_load_that_is_none_is_refused(here, refused, called, words, said):
    assert said in refused(called, *words, "--device", "fast.toml")


def test_several_drives_are_sized_side_by_side(here, ssdlab, refused):
    recorded(here / "it.parquet")
    words = ["size", "--trace", "it.parquet", "--drives", 1, "--p99", "4ms", "--years", 1e-6]
    words += ["--device", "fast.toml", "--device", "slow.toml"]
    done = ssdlab(*words, "--json", "it.json")
    assert done.returncode == 0, done.stderr
    assert "2 drives under it.parquet" in done.stdout
    assert (
        "No design of these meets the goals" in done.stdout and "slow.toml: at its" in done.stdout
    )
    assert [it["drive"] for it in json.loads((here / "it.json").read_text())] == [
        "fast.toml", "slow.toml",
    ]  # fmt: skip
    assert "--out a.toml: it takes one --device, not 2" in refused(*words, "--out", "a.toml")
    assert "--device fast.toml is given twice" in refused(*words, "--device", "fast.toml")


@pytest.mark.nightly
@pytest.mark.shared("traces/msr_hm_0_sample1000.csv.zst")
def test_a_recorded_trace():
    path = REAL / "msr_hm_0_sample1000.csv.zst"
    found = choosing.choose(path, device="samsung-pm9a3", drives=1)
    assert found.offers[0].trial is not None and found.notes


def test_every_device_is_in_the_catalogue_once_and_those_to_buy_have_a_price():
    assert set(devices.DEVICES) | set(devices.kinds()) == set(package.list("devices"))
    assert all(name.startswith("kind = ") for name in devices.kinds())
    groups = {it.group for it in devices.DEVICES.values()}
    assert groups | {devices.PACKAGES} == set(devices.GROUPS)
    for it in devices.to_buy():
        assert it.group == devices.TODAY
        assert (
            0 < it.rated.idle_watts < it.rated.active_watts
            and it.rated.price > 0
            and it.rated.priced
            and it.rated.watts_source
        )
        assert it.capacity_bytes > 5e11 and it.cells in ("SLC", "MLC", "TLC", "QLC")
    names = [it.interface for it in devices.to_buy()]
    assert names.count("PCIe 5 x4") == names.count("SATA") == 2


def test_devices_are_listed_in_groups_and_found_by_parts_of_names(ssdlab, refused):
    text = ssdlab("list", "devices").stdout
    heads = [line for line in text.splitlines() if line in devices.GROUPS]
    assert (
        heads == [it for it in devices.GROUPS if it != devices.PACKAGES] and 'kind = "disk"' in text
    )
    one = ssdlab("list", "devices", "pm9a3").stdout
    assert "samsung-pm9a3   960 GB PCIe 4 x4   TLC    1 measured" in one and "7450" not in one
    found = json.loads(ssdlab("list", "devices", "7450", "--json").stdout)["devices"]
    assert [*found] == ["micron-7450-max", "micron-7450-pro"]
    assert "did you mean samsung-pm9a3" in refused("list", "devices", "samsung-pm9b3")
    assert "only devices are searched here" in refused("list", "cleaners", "greedy")


def test_wear_of_a_few_blocks_says_nothing_of_a_drive_on_sale(here):
    """Where a run wears its blocks unevenly, the rating of the sheet decides, and it is said."""
    from ssdlab.choosing import display, reasons

    path = recorded(here / "writes.parquet", requests=4000, reads=0.0, touched=16_000)
    only = {"device": ["fast.toml"], "prices": {"fast.toml": 300.0}}
    offer = choose(path, **only).offers[0]
    trial = offer.trial
    years = trial.mean("years")
    assert years is not None and reasons.life(trial, 1.0) == (years, False)
    trial.least_evenness = 1.01  # more even than any
    rated, is_rated = reasons.life(trial, 1.0)
    assert is_rated and rated != years and trial.mean("years") is None
    assert reasons.life(trial, None) == (None, False)
    # A bound is shown as one, and is a reason against a drive where years beyond it are asked for.
    bounded = dataclasses.replace(offer, dwpd=None)
    assert (
        display._lasts(bounded).startswith("at least ") and bounded.to_dict()["at_least_years"] > 0
    )
    goal = Goal("years", 1e6, at_least=True)
    assert "lifetime is at least " in reasons.of(trial, [goal], 1e6, None)
    assert reasons.names(bounded, [goal]) == ["life?"]
    assert not reasons.of(trial, [dataclasses.replace(goal, if_known=True)], 1e6, None)


def test_larger_capacities_of_a_model_are_drives_with_a_price_of_their_own(here, refused):
    keys = {"workload.requests": 500}
    run = package.run(device="samsung-pm9a3@1920GB", workload="random-write", set=keys)
    found = run.under_load()
    assert found.dollars.value == 300 and found.life_years.kind == under_load.RATED
    assert run.capacity_bytes * 64 == pytest.approx(1.92e12, rel=1e-3)
    own, twice = (under_load.capacity(f"samsung-pm9a3{it}") for it in ("", "@1920GB"))
    assert twice == pytest.approx(2 * own, rel=1e-3)
    changed = package.run(
        device="samsung-pm9a3@1920GB", workload="random-write", set=keys | {"device.channels": 16}
    )
    assert changed.under_load().dollars.value is None
    rows = market.shipped()
    # None is offered unnamed: their tails are not confirmed.
    assert not [it for it in choosing.offered(rows) if "@" in it] and len(rows) > 20
    said = refused("run", "--device", "samsung-pm9a3@5TB", "--workload", "random-write")
    assert "--device samsung-pm9a3@5TB: the catalogue has no such capacity; it has" in said


@pytest.mark.parametrize("name", [it for it in market.shipped() if "@" in it])
def test_a_larger_capacity_has_its_price_and_what_its_name_says(name):
    row = market.shipped()[name]
    assert row.price > market.shipped()[row.model].price and row.price_source and row.priced
    number, unit = re.fullmatch(r"\d+", name.partition("@")[2][:-2])[0], name[-2:]
    stated = float(number) * {"GB": 1e9, "TB": 1e12}[unit]
    assert under_load.capacity(name) == pytest.approx(stated, rel=2e-3)
    assert market.parse("here", f"{market.HEAD}\n{row.toml()}")[name] == row
