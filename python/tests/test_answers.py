"""The questions of the command line from Python: the same answers, as values."""

import json
import urllib.request

import pytest

import ssdlab as package

SMALL = {"device.blocks_per_plane": 64, "workload.requests": 2000, "workload.read_share": 0.5}


@pytest.fixture(scope="module")
def results():
    return package.run(device="agrawal2008", set=SMALL)


def test_cost_is_what_the_command_says(ssdlab, results, tmp_path):
    results.save(tmp_path / "results.json")
    need = {"iops": 50000, "p99": "20ms"}
    found = package.cost(tmp_path / "results.json", need, device_dollars=600)
    text = ssdlab(
        "cost", tmp_path / "results.json", "--need", "iops=50000,p99=20ms", "--device-dollars", 600,
        "--json", "-",
    ).stdout  # fmt: skip
    assert json.loads(text) == json.loads(json.dumps(found.to_dict()))
    assert found.cheapest is not None and found.cheapest.dollars >= 600
    assert found.pareto == [found.cheapest]


def test_cost_of_several_takes_the_cheapest(results):
    many = package.sweep(
        set=SMALL, device="agrawal2008", vary={"device.channels": [2, 8]}, workers=1
    )
    found = package.cost([results, many], capacity_dollars_per_gb=0.2)
    assert len(found.bills) == 3 and found.against == "p99"
    assert found.cheapest.dollars == min(it.dollars for it in found.bills)
    assert len({it.design.name for it in found.bills}) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"device_dollar": 1}, "device_dollar: no price is called so; prices: device_dollars"),
        ({}, "prices are missing"),
        ({"need": "iosp=5"}, "did you mean iops"),
        ({"against": "p98", "device_dollars": 1}, 'against="p98"'),
    ],
)
def test_wrong_costs_are_refused(results, arguments, said):
    with pytest.raises(package.InputError, match=said):
        package.cost(results, **arguments)


def test_endurance_is_what_the_command_says(ssdlab):
    keys = {"blocks_per_plane": 32, "wear.rated_cycles": 40, "channels": 1}
    words = [word for key, value in keys.items() for word in ("--set", f"device.{key}={value}")]
    changes = {f"device.{key}": value for key, value in keys.items()}
    rating = package.endurance("agrawal2008", set=changes, cycles=40, seed=3)
    text = ssdlab(
        "endurance", "--device", "agrawal2008", "--class", "enterprise", "--cycles", 40, "--seed",
        3, *words, "--json", "-", "--quiet",
    ).stdout  # fmt: skip
    assert json.loads(text) == json.loads(json.dumps(rating.to_dict()))
    assert rating.tbw_bytes > rating.capacity_bytes


def test_an_unknown_class_and_a_client_without_a_trace_are_refused():
    with pytest.raises(package.InputError, match="client and enterprise"):
        package.endurance("agrawal2008", "consumer")
    with pytest.raises(package.InputError, match="recorded trace"):
        package.endurance("agrawal2008", "client")


def test_a_view_is_a_page_until_it_is_closed(tmp_path):
    with package.view("trim", set={"run.seed": 7}) as shown:
        address = shown.url.partition("#")[0]
        with urllib.request.urlopen(address, timeout=10) as page:
            assert b"<title>" in page.read()
        said = shown.save(tmp_path / "trim.html", last="200ms", frames=20)
        assert said.startswith(str(tmp_path / "trim.html")) and "20 frames" in said
    assert (tmp_path / "trim.html").stat().st_size > 10_000
    assert repr(shown) == "<View, closed>"
    shown.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(address, timeout=1)


def test_a_view_takes_what_a_run_takes():
    changes = {"device.blocks_per_plane": 32}
    with package.view(device="agrawal2008", set=changes, beside={"device.channels": 2}) as shown:
        assert shown.url.startswith("http://127.0.0.1:")
    with pytest.raises(package.InputError, match="unknown key"):
        package.view(device="agrawal2008", set={"device.chanels": 2})
