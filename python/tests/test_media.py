"""Drives whose data age: what is refused, and errors of a live one that a write heals."""

import re
import time

import pytest
from short_client import READ, TRIM, Client

import ssdlab
from ssdlab import InputError
from ssdlab.control import order

IO = 5
PAGE = 4096
SMALL = {"device.blocks_per_plane": 96, "device.capacity": "90GB"}
ON = SMALL | {"device.media.model": "tlc-3d"}
#: A drive that loses some pages in a year at 40 C: its table of references ends too early.
LOSING = ON | {"device.retry.steps": 22, "device.retry.search": "none"}


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"run.age": "90 days"}, "run.age.*units are y, mo, w, d, h, min, s"),
        ({"run.age": "90d at 40"}, 'run.age.*with its unit, such as "40C"'),
        ({"run.age": "90d at -50C"}, "run.age.*from -40C to 125C"),
        ({"run.age": "2000y"}, "run.age.*from 0s to 1000y"),
        ({"device.media.model": "none", "run.age": "90d"}, "run.age.*unless device.media.model"),
        ({"device.media.model": "mlc"}, "device.media.model.*mlc.*none.*tlc-3d.*qlc-3d"),
        ({"device.media.temperature": "40"}, "device.media.temperature.*with its unit"),
        ({"device.media.spread_page": 1.5}, "device.media.spread_page.*from 0 to 1"),
        ({"device.ecc.hard": 1e-3}, "device.ecc.hard.*0.001.*0.00148"),
        ({"device.ecc.soft": "1.4e-2 in 2, 1.1e-2 in 6"}, "device.ecc.soft.*each level"),
        ({"device.ecc.soft": "5e-3 in 2"}, "device.ecc.soft.*soft levels must rise"),
        ({"device.ecc.soft": "1e-2"}, "device.ecc.soft.*1.1e-2 in 2"),
        ({"device.retry.window": 0}, "device.retry.window.*above 0"),
        ({"device.retry.steps": 1001}, "device.retry.steps.*at most 1000"),
        ({"device.parity.of": 0, "device.parity.stagger": True}, "stagger.*device.parity.of"),
        ({"device.media.model": "none", "device.ecc.hard": 1e-2}, "device.ecc.*device.media.model"),
        ({"device.scrub.period": "7 days"}, 'device.scrub.period.*such as "7d"'),
        ({"device.scrub.period": "7d", "device.scrub.limit": 0}, "device.scrub.limit.*above 0"),
        ({"device.scrub.limit": 0.5}, "device.scrub.limit.*device.scrub.period"),
        (
            {"device.media.model": "none", "device.scrub.period": "7d"},
            "device.scrub.*device.media.model",
        ),
        (
            {"device.scrub.period": "7d", "run.precondition": "sequential"},
            "run.pace.*a patrol needs time.*0.3 DWPD",
        ),
        ({"run.timed": False}, "run.pace.*data age with time.*run.age"),
        ({"run.pace": "0.3"}, "run.pace.*0.3 DWPD"),
        ({"run.pace": "1 DWPD"}, "run.pace.*nothing is written without"),
        (
            {"device.media.model": "none", "run.pace": "1 DWPD", "run.precondition": "sequential"},
            "run.pace.*device.media.model",
        ),
        ({"device.spares.sick_dies": 1.0}, "device.spares.sick_dies.*below 1"),
        ({"device.spares.defects_shape": 0.5}, "defects_shape.*device.spares.defects"),
        ({"device.health.fail_at_uncorrectable": 0}, "fail_at_uncorrectable.*at least 1"),
        ({"device.thermal.limit": "70"}, "device.thermal.limit.*with its unit"),
        ({"device.thermal.limit": "70C"}, "device.thermal.limit.*device.energy"),
    ],
)
def test_what_is_wrong_is_refused_with_key_and_value(changes, part):
    load = {"kind": "closed", "requests": 1}
    with pytest.raises(InputError) as refused:
        ssdlab.run(device="tlc-enterprise", workload=load, set=ON | changes)
    assert re.search(part, " ".join(str(refused.value).split())), refused.value


def test_a_disk_does_not_age():
    with pytest.raises(InputError, match=r"run.age.*do not age"):
        ssdlab.run(device="sata-2008", workload={"kind": "closed", "requests": 1},
                   set={"run.age": "90d"})  # fmt: skip


def test_an_array_ages_only_without_redundancy():
    def run(redundancy):
        return ssdlab.run(
            device={"kind": "array", "members": 3, "redundancy": redundancy,
                    "member": {"preset": "tlc-enterprise", "media": {"model": "tlc-3d"}}},
            workload={"kind": "closed", "requests": 100}, set={"run.age": "90d at 40C"},
        )  # fmt: skip

    assert run("none").to_dict()["media"]["clock_days"] > 90
    with pytest.raises(InputError, match=r"device.redundancy.*not reconstructed yet"):
        run("parity")


def test_a_pace_lets_data_age_that_are_written_without_time():
    load = {"kind": "closed", "read_share": 1.0, "random_share": 0.0, "requests": 100}

    def days(pace):
        keys = ON | {"run.precondition": "sequential", "run.pace": pace}
        media = ssdlab.run(device="tlc-enterprise", workload=load, set=keys).to_dict()["media"]
        return media["clock_days"]

    # One drive write at half of one a day; and 90 GB at a megabyte a second.
    assert days("0.5 DWPD") == pytest.approx(2, rel=0.01)
    assert days("1MB/s") == pytest.approx(90e9 / 1e6 / 86400, rel=0.02)
    assert days("none") == pytest.approx(0, abs=1e-3)


def test_a_patrol_keeps_data_young_that_are_written_slowly():
    load = {"kind": "closed", "read_share": 1.0, "random_share": 0.0, "requests": 100}
    keys = ON | {"run.precondition": "random:0.2", "run.pace": "0.001 DWPD"}

    def media(**scrub):
        more = {f"device.scrub.{key}": value for key, value in scrub.items()}
        return ssdlab.run(device="tlc-enterprise", workload=load, set=keys | more).to_dict()[
            "media"
        ]

    # The blocks that were refreshed are not counted: the results begin behind the preparation.
    without, with_patrol = media(), media(period="7d", drift_limit=6)
    assert without["clock_days"] == with_patrol["clock_days"] == pytest.approx(200, rel=0.01)
    assert with_patrol["drift"]["max"] < 0.5 * without["drift"]["max"]


def test_timed_and_untimed_runs_lose_the_same_pages():
    load = {"kind": "closed", "read_share": 1.0, "random_share": 0.0, "block_size": "4KiB",
            "requests": 20_000}  # fmt: skip
    on = LOSING | {"run.age": "1y at 40C"}
    found = [
        ssdlab.run(device="tlc-enterprise", workload=load, set=on | {"run.timed": timed}).to_dict()
        for timed in (True, False)
    ]
    lost = [it["media"]["unreadable"] for it in found]
    assert lost[0] == lost[1] > 100
    assert [it["host"]["all"]["failed"] for it in found] == lost
    assert found[0]["health"]["media_errors"] == lost[0]


def test_the_table_of_an_aged_run_says_what_age_did(ssdlab):
    words = [word for key, value in LOSING.items() for word in ("--set", f"{key}={value}")]
    load = ["--set", "workload.kind=closed", "--set", "workload.read_share=1.0",
            "--set", "workload.requests=2000"]  # fmt: skip
    text = " ".join(ssdlab("run", "--device", "tlc-enterprise", *load, *words,
                           "--set", "run.age=1y at 40C").stdout.split())  # fmt: skip
    assert re.search(r"Age: 1,\d{3} days old at 30 °C at most, 1\d\.\d retries a page, \d", text)
    assert "pages read beyond correction" in text and "in read retries" in text
    young = ssdlab("run", "--device", "tlc-enterprise", *load).stdout
    assert "Age:" not in young


@pytest.fixture
def live(tmp_path):
    path, control = tmp_path / "s", tmp_path / "c"
    live = ssdlab.serve(
        socket=path, control=control, device="tlc-enterprise", size="8MiB", set=LOSING
    )
    yield live, Client(path), lambda line: order(control, line)
    live.stop()


def lost(client, pages):
    """The pages whose reads fail."""
    found = set()
    for page in range(pages):
        client.send(READ, page * PAGE, PAGE)
        error, _, _ = client.answer(PAGE)
        assert error in (0, IO)
        if error:
            found.add(page)
    return found


def test_aged_data_of_a_live_drive_fail_until_they_are_written(live):
    live, client, say = live
    pages = client.size // PAGE
    for page in range(pages):
        client.write(page * PAGE, bytes([page % 251]) * PAGE)
    assert lost(client, pages) == set()
    said = say("age 1y at 40C")  # what waits in the write buffer, less than 6 MiB, stays young
    assert said["done"] == "age 1y at 40C"
    assert said["clock_days"] == pytest.approx(365.25 * 3.83, rel=0.01)
    assert said["retried_share"] > 0.9
    assert 0 < said["lost_share"] < 0.5
    first = lost(client, pages)
    assert 0 < len(first) < pages
    assert lost(client, pages) == first
    assert say("health")["media_errors"] == 2 * len(first)
    whole, part, trimmed = sorted(first)[:3]
    client.write(whole * PAGE, b"x" * PAGE)
    client.write(part * PAGE, b"x" * 512)
    client.ask(TRIM, trimmed * PAGE, PAGE)
    assert lost(client, pages) == first - {whole, trimmed}
    assert client.read(whole * PAGE, PAGE) == b"x" * PAGE


def test_an_age_is_an_order_that_a_replay_has(live, tmp_path):
    live, client, say = live
    client.write(0, bytes(PAGE))
    assert "the units" in say("age 90 days")["error"] or "age 90d" in say("age 90 days")["error"]
    began = time.monotonic()
    say("age 1y at 40C")
    assert time.monotonic() - began < 5
    client.read(0, PAGE)  # results end with the last answer
    results = live.stop()
    assert results.to_dict()["media"]["clock_days"] > 1000
