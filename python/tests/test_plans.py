"""Plans: a fleet that grows, tenants on one drive, schemes of protection."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from small_drives import FAST, SLOW, recorded

from ssdlab import choosing, reliability
from ssdlab.choosing import Offer
from ssdlab.choosing.hunt import Asked
from ssdlab.plans import growth, tenants
from ssdlab.sizing.load import Load
from ssdlab.sizing.trial import Goal

#: Twelve dies, so that a neighbour fits beside a tenant.
WIDE = FAST.replace("channels = 2\n", "channels = 4\n")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "fast.toml").write_text(FAST)
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "wide.toml").write_text(WIDE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Known(Offer):
    """An offer of a drive whose life under the load of one drive is known."""

    life_of_one = 2.0

    @property
    def meets(self):
        return not self.why

    @property
    def drives(self):
        return self.how[0]

    @property
    def life(self):
        return self.drives * self.life_of_one, False


def planned(monkeypatch, needed, years, growths, life=2.0):
    """A plan of drives of which `needed` gives the number for the data and the load."""

    def least(asked, drive, cancelled):
        load = float(asked.load.keys["workload.on_rate"]) / 1000
        count = needed(asked.gigabytes, load)
        offer = Known(drive, None, "", 100.0, False, None, 0.0, None, None, [count])
        offer.__class__.life_of_one = life / load
        why = "" if count <= 8 else "p99 is 3.00ms, not 2.00ms"
        return replace(offer, why=why), {count - 1: "p99 is 3.00ms, not 2.00ms"}

    monkeypatch.setattr(growth, "_least", least)
    load = Load("it", keys={"workload.kind": "bursts", "workload.on_rate": "1000"})
    terms = choosing.terms_of(float(years), {"x": 100.0}, None, ["x"], {})
    asked = Asked(load, [Goal("p99_us", 2000.0)], terms, 1000.0, 64, (), 42)
    return growth.plan(asked, ["x"], years, *growths).fleets[0]


def test_a_fleet_grows_with_its_data_and_costs_what_it_buys(monkeypatch):
    fleet = planned(monkeypatch, lambda gb, _: math.ceil(gb / 1000), 4, (1.0, 0.0), life=1e6)
    assert [it.drives for it in fleet.years] == [1, 2, 4, 8]
    assert [it.bought for it in fleet.years] == [1, 1, 2, 4]
    assert fleet.dollars == 800 and not fleet.fails
    assert all(it.breaks for it in fleet.years[1:]) and not fleet.years[0].breaks


def test_worn_drives_are_bought_anew(monkeypatch):
    fleet = planned(monkeypatch, lambda *_: 1, 6, (0.0, 0.0), life=2.0)
    assert [it.bought for it in fleet.years] == [1, 0, 1, 0, 1, 0]
    assert "1 worn out" in fleet.years[2].breaks and fleet.dollars == 300
    faster = planned(monkeypatch, lambda *_: 1, 6, (0.0, 0.5), life=2.0)
    assert faster.bought > fleet.bought, "a load that grows wears drives out sooner"


def test_a_plan_fails_in_the_year_in_which_no_number_suffices(monkeypatch):
    fleet = planned(monkeypatch, lambda gb, _: math.ceil(gb / 1000), 9, (1.0, 0.0))
    assert fleet.fails == "p99 is 3.00ms, not 2.00ms" and len(fleet.years) == 4


def test_a_load_grows_by_its_rate():
    bursts = {"workload.on_rate": "1000", "workload.off_rate": "1000"}
    assert Load("it", keys=bursts).faster(1.5).keys["workload.on_rate"] == "1500"
    streams = "[{on_rate = 300, read_share = 1}, {off_rate = 20.5}]"
    found = Load("it", keys={"workload.streams": streams}).faster(2)
    assert found.keys["workload.streams"] == "[{on_rate = 600, read_share = 1}, {off_rate = 41}]"
    traced = Load.of("it.csv").faster(4).faster(2)
    assert traced.keys["workload.time_scale"] == "0.125"


def test_a_plan_on_the_command_line(here, ssdlab):
    words = ["plan", "--load", "4K random, 300 IOPS, over 100 MB", "--need", "0.2GB,2y,p99=1s"]
    words += ["--device", "fast.toml", "--price", "fast.toml=100", "--growth", 100]
    done = ssdlab(*words, "--json", "p.json")
    assert done.returncode == 0, done.stderr
    assert "Cheapest: 2 x fast.toml over the years, $200" in done.stdout
    found = json.loads((here / "p.json").read_text())
    years = found["fleets"][0]["years"]
    assert [it["drives"] for it in years] == [1, 2] and [it["load"] for it in years] == [1, 2]
    assert years[0]["figures"]["dollars"] == {
        "value": 100.0, "unlimited": False, "kind": "stated", "origin": "your price",
    }  # fmt: skip


def test_a_noisy_neighbour_is_named_and_its_limit_helps(here, ssdlab):
    words = ["consolidate", "--tenant", "4K random reads, 500 IOPS", "--tenant"]
    words += ["16K random writes, 4 K IOPS", "--device", "wide.toml", "--requests", 6000]
    done = ssdlab(*words, "--json", "c.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((here / "c.json").read_text())
    alone, together = found["alone"][0]["p99_us"], found["together"]["p99_us"]
    assert together[0] > tenants.SUFFERS * alone[0] and alone[1] is None
    assert "Tenant 1 suffers" in found["sentences"][0]
    limited = next(it for it in found["remedies"] if it["name"] == "half the rate of tenant 2")
    assert limited["p99_us"][0] < together[0]
    assert done.stdout.count("alone") >= 2


def test_quiet_tenants_do_not_suffer(here, ssdlab):
    words = ["consolidate", "--tenant", "4K random reads, 50 IOPS", "--tenant", "8K reads, 50 IOPS"]
    done = ssdlab(*words, "--device", "fast.toml", "--requests", 2000, "--json", "-")
    assert "No tenant suffers" in json.loads(done.stdout)["sentences"][0]


def test_schemes_stand_in_one_table(here, ssdlab):
    recorded(here / "it.parquet", requests=1500, gap_ns=1_000_000)
    words = ["protect", "--trace", "it.parquet", "--device", "fast.toml", "--members", 4]
    words += ["--requests", 1500, "--price", "fast.toml=100", "--rebuild-rate", "20MB/s"]
    done = ssdlab(*words, "--json", "p.json")
    assert done.returncode == 0, done.stderr
    rows = {it["redundancy"]: it for it in json.loads((here / "p.json").read_text())["schemes"]}
    usable = {name: it["usable_bytes"] for name, it in rows.items()}
    assert usable["none"] == pytest.approx(2 * usable["mirror"], rel=0.01)
    assert usable["parity"] == pytest.approx(0.75 * usable["none"], rel=0.01)
    assert rows["none"]["losses_a_year"] > rows["parity"]["losses_a_year"]
    assert rows["parity"]["losses_a_year"] > rows["double-parity"]["losses_a_year"]
    assert rows["none"]["rebuild_hours"] is None and rows["mirror"]["rebuild_hours"] > 0
    states = rows["parity"]["states"]
    healthy, degraded = (states[it]["read_p99_us"]["value"] for it in ("healthy", "degraded"))
    assert degraded > 0 and healthy > 0 and set(rows["none"]["states"]) == {"healthy"}
    per_tb = rows["mirror"]["dollars_per_usable_tb"]
    assert per_tb == pytest.approx(400 / (usable["mirror"] / 1e12))
    assert "double-parity" in done.stdout


def test_an_array_of_scaled_drives_is_rebuilt_as_whole_drives():
    keys = {"kind": "array", "redundancy": "mirror", "members": 2, "rebuild": {"rate": "200MB/s"}}
    from ssdlab import layers

    member = {"preset": "samsung-pm9a3"}
    stack = layers.from_mapping("it", {"device": {**keys, "member": member}})
    hours = reliability.of_stack("it", stack).rebuild_hours
    assert hours == pytest.approx(960e9 / 200e6 / 3600, rel=0.01)


def test_a_plan_is_a_page(here, ssdlab, refused):
    words = ["protect", "--load", "4K, 9 IOPS", "--device", "fast.toml", "--members", 3]
    done = ssdlab(*words, "--requests", 300, "--out", "p.html")
    page = (here / "p.html").read_text()
    assert done.returncode == 0 and "<h1>Fewest losses: parity" in page and "By scheme" in page
    assert "Left out: mirror" in page
    Path("mine.html").write_text("mine")
    assert "mine.html" in refused(*words, "--out", "mine.html")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan"], "--trace and --load: none is given"),
        (["plan", "--load", "4K reads", "--load-growth", 9], "has no rate that could grow"),
        (["plan", "--load", "4K, 9 IOPS", "--need", "1.5y"], "a plan has whole years"),
        (["plan", "--load", "4K, 9 IOPS", "--growth", "5%"], "--growth: of how much?"),
        (["plan", "--load", "4K, 9 IOPS", "--growth", -200], "--growth -200 %: from -99 to"),
        (["plan", "--load", "4K, 9 IOPS", "--need", "40y"], "40 years: from 1 to 15 are planned"),
        (["plan", "--load", "4K, 9 IOPS", "--need", "p99.9=1ms,p99=2ms"], "contradicts itself"),
        (["consolidate", "--tenant", "4K reads"], "--tenant: 1 given; give 2 to 8"),
        (["consolidate", "--tenant", "4K reads", "--tenant", "x y"], "is not understood"),
        (["protect", "--load", "4K reads", "--members", 1], "--members 1: from 2 to 32"),
        (["protect", "--load", "4K reads", "--device", "sata-2008"], "kind disk, not ssd"),
        (["protect", "--trace", "none.csv"], "none.csv: there are no requests in it"),
        (["consolidate", "--tenant", "none.csv", "--tenant", "4K reads"], "no requests in it"),
        (["protect", "--load", "4K reads", "--price", "zzz=3"], "--price zzz: no drive"),
        (["protect", "--load", "4K reads", "--price", "samsung-pm9a3=9EUR"], "prices here are"),
    ],
)
def test_a_plan_that_is_asked_wrongly_is_refused(here, refused, words, said):
    Path("none.csv").write_text("at_ns,op,sector,sectors\n")
    assert said in refused(*words)
