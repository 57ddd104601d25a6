"""Orders to a live device at odd moments, in floods and without end; its results are replayed."""

import contextlib
import json
import os
import socket
import threading
import time

import pytest
from short_client import FLUSH, READ, WRITE, Client

import ssdlab
from ssdlab.control import order

SMALL = {"device.blocks_per_plane": 16}
POWER = SMALL | {"device.persistence.recovery": "spare"}
PARTS = ("host", "flash", "wear", "buses", "units", "time_series", "health")
#: Long enough for a machine that others use as well; a flood once held up a read for 9 s.
PATIENCE_SECONDS = 5


@pytest.fixture
def serve(tmp_path):
    """A live drive with a control socket that is recorded; the device, and what says an order."""
    running = []

    def call(device="agrawal2008", keys=SMALL, **options):
        places = {"socket": tmp_path / "s", "control": tmp_path / "c"}
        live = ssdlab.serve(device, set=keys, record=tmp_path / "t.parquet", **places, **options)
        running.append(live)
        return live, lambda line: order(tmp_path / "c", line)

    yield call
    for live in running:
        live.stop()


def use(client, count=60):
    for number in range(count):
        client.write(number * 12288 % (4 << 20), bytes(8192))
        client.read(number * 8192 % (4 << 20), 4096)


#: A trace runs on the whole drive, unless it is replayed as it was recorded.
AS_SERVED = {"workload.beyond": "error"}


def differences(live, tmp_path, device="agrawal2008", keys=SMALL):
    """In which parts the results differ from those of the replay."""
    results = live.stop().to_dict()
    faults = {"run.faults": f"{tmp_path}/t.parquet.faults"}
    faults = faults if (tmp_path / "t.parquet.faults").exists() else {}
    again = ssdlab.run(device=device, trace=tmp_path / "t.parquet", set=keys | faults | AS_SERVED)
    again = again.to_dict()
    return [part for part in PARTS if again[part] != results[part]]


@pytest.mark.parametrize(
    "orders",
    [
        ["stall 300ms"],
        ["stall 1ms", "slow 2", "fail read all rate=0.2"],
        ["age 5000 writes"],
        ["stall 10s", "reset", "age steady", "stall 50ms", "age 100 writes"],
    ],
)
def test_orders_before_the_first_request_are_replayed(serve, tmp_path, orders):
    live, say = serve()
    for line in orders:
        assert "done" in say(line)
    client = Client(tmp_path / "s")
    for number in range(60):
        client.send(
            READ if number % 2 else WRITE,
            number * 8192,
            4096,
            data=bytes(4096)[number % 2 * 4096 :],
        )
        client.answer(4096 if number % 2 else 0)
    assert differences(live, tmp_path) == []


def test_there_is_nothing_to_cut_before_the_first_request(serve):
    _, say = serve(keys=POWER)
    assert "nothing was asked yet" in say("cut off 1s")["error"]


def test_what_the_drive_does_alone_at_last_is_no_part_of_the_results(serve, tmp_path):
    """A buffer that is written out after the last answer: a replay ends with that answer."""
    live, _ = serve("tlc-client", {}, size="16MiB")
    client = Client(tmp_path / "s")
    use(client)
    time.sleep(0.7)
    use(client)
    time.sleep(0.7)
    assert differences(live, tmp_path, "tlc-client", {}) == []


@pytest.mark.parametrize("line", ["age 5000 writes", "age steady", "cut off 1ms"])
def test_orders_after_the_last_answer_are_no_part_of_the_results(serve, tmp_path, line):
    live, say = serve(keys=POWER)
    use(Client(tmp_path / "s"))
    assert "done" in say(line)
    time.sleep(0.6)
    assert differences(live, tmp_path, keys=POWER) == []


def test_a_drive_that_is_used_is_aged_until_it_is_steady(serve, tmp_path):
    live, say = serve()
    client = Client(tmp_path / "s")
    use(client)
    assert "done" in say("age steady")
    assert say("health")["mean_erases"] > 1
    use(client)
    assert differences(live, tmp_path) == []


def test_a_script_ages_the_drive_once_it_rests(serve, tmp_path):
    script = tmp_path / "script"
    script.write_text("0s stall 100ms\n1ms age 2000 writes\n")
    live, say = serve(keys=SMALL | {"run.faults": str(script)})
    client = Client(tmp_path / "s")
    client.read(0, 4096)
    time.sleep(0.2)
    client.read(0, 4096)
    assert say("health")["mean_erases"] == 0
    use(client)
    assert differences(live, tmp_path) == []
    at, *order_given = (tmp_path / "t.parquet.faults").read_text().splitlines()[-1].split()
    assert (int(at.removesuffix("ns")) >= 100_000_000, order_given) == (
        True,
        ["age", "2000", "writes"],
    )


def test_an_order_that_cannot_be_done_costs_no_results(serve, tmp_path):
    script = tmp_path / "script"
    script.write_text("0s cut off 1ms\n0s cut\n")
    live, _ = serve(keys=POWER | {"run.faults": str(script)})
    client = Client(tmp_path / "s")
    client.send(FLUSH)
    results = live.stop()
    (warning,) = (it for it in results.live.warnings if "run.faults" in it)
    assert "cut off 1000000000ns: the power is already off" in warning
    assert (tmp_path / "t.parquet").exists()


def test_nobody_waits_for_a_drive_to_grow_older_than_it_can(serve, tmp_path):
    live, say = serve()
    Client(tmp_path / "s").write(0, bytes(4096))
    said = say("age 18446744073709551615 writes")["error"]
    most = int(said.split("at most ")[1].split(",")[0])
    threading.Thread(target=say, args=(f"age {most} writes",), daemon=True).start()
    time.sleep(0.3)
    began = time.monotonic()
    live.stop()
    assert time.monotonic() - began < 10 * PATIENCE_SECONDS
    # What was done of it is what is told.
    given = (tmp_path / "t.parquet.faults").read_text().split()
    assert given[1::2] == ["age", "writes"] and 0 < int(given[2]) < most


def connect(path):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(30)
    link.connect(os.fspath(path))
    return link


def test_a_flood_of_orders_holds_up_nobody(serve, tmp_path):
    _, say = serve()
    client = Client(tmp_path / "s")
    client.read(0, 4096)
    ended = threading.Event()

    def flood():
        link = connect(tmp_path / "c")

        def take():
            with contextlib.suppress(OSError):
                while not ended.is_set():
                    link.recv(1 << 16)

        threading.Thread(target=take, daemon=True).start()
        with contextlib.suppress(OSError):
            while not ended.is_set():
                link.sendall(b"stats\n" * 500)

    for _ in range(2):
        threading.Thread(target=flood, daemon=True).start()
    time.sleep(0.2)
    try:
        for _ in range(20):
            began = time.monotonic()
            client.read(0, 4096)
            assert time.monotonic() - began < PATIENCE_SECONDS
        assert say("stats")["requests"] >= 20
    finally:
        ended.set()


def test_answers_wait_until_they_are_taken(serve, tmp_path):
    """A map is longer than what a socket holds, when many of them are asked for."""
    _, say = serve()
    link = connect(tmp_path / "c")
    link.sendall(b"map\n" * 300)
    time.sleep(0.5)
    assert "done" in say("slow 2")
    with link.makefile() as answers:
        for _ in range(300):
            assert json.loads(answers.readline())["blocks"] == 1024


def test_who_comes_as_the_ninth_is_told_why_he_must_go(serve, tmp_path):
    _, say = serve()
    links = [connect(tmp_path / "c") for _ in range(8)]
    for link in links:
        link.sendall(b"stats\n")
        link.recv(1)
    assert "8 programs are connected" in say("stats")["error"]
    links.pop().close()
    until = time.monotonic() + 30
    while "requests" not in (said := say("stats")):
        assert time.monotonic() < until, said
