"""The page of a live device: what it says, its orders, its figures for Prometheus, its cost."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from short_client import FLUSH, READ, WRITE, Client

import ssdlab
from ssdlab.live import metrics
from ssdlab.live.looker import COLUMNS, Looker, percentile

SMALL = {"device.blocks_per_plane": 16, "run.precondition": "random:1"}


@pytest.fixture
def serve(tmp_path):
    """A live drive that is watched; the device, a client, and the page."""
    running = []

    def call(**options):
        path = tmp_path / f"s{len(running)}"
        options = {"device": "agrawal2008", "size": "8MiB", "set": SMALL} | options
        live = ssdlab.serve(socket=path, **options)
        running.append(live)
        page = live.watch()
        running.append(page)
        return live, Client(path), page

    yield call
    for it in reversed(running):
        it.close() if hasattr(it, "close") else it.stop()


def ask(page, path, body=None, key=None):
    host, port = page.url.split("/")[2].split(":")
    link = http.client.HTTPConnection(host, int(port), timeout=30)
    headers = {} if key is None else {"X-Ssdlab-Key": key}
    link.request("GET" if body is None else "POST", path, body, headers)
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(text) if is_json else text


def order(page, line):
    key = page.url_with_key.partition("#")[2]
    return ask(page, "/order", json.dumps({"line": line}), key)


def use(client, rounds=30, command=None):
    for number in range(rounds):
        for which, size in ((WRITE, 8192), (READ, 4096)):
            if command in (None, which):
                data = bytes(size) if which == WRITE else b""
                client.send(which, number * 8192 % (4 << 20), size, data=data)
                client.answer(size if which == READ else 0)


# What is seen


def test_what_clients_do_is_seen(serve):
    live, client, page = serve()
    about = ask(page, "/about")[1]
    assert (about["uri"], about["columns"]) == (live.uri, list(COLUMNS))
    assert about["flash"]["blocks"] > about["flash"]["blocks_kept_erased"] > 0
    assert "agrawal2008" in about["device"]
    until = time.monotonic() + 20
    while time.monotonic() < until:
        use(client)
        state = ask(page, "/state?since=-1")[1]
        point = dict(zip(COLUMNS, state["points"][-1], strict=True))
        if point["measured_p50"] and point["amplification"]:
            break
    assert point["read"] > 0 and point["write"] > 0 and point["write_bytes"] > point["read_bytes"]
    assert 1e-4 < point["model_p50"] < 0.1 and point["measured_p50"] >= point["model_p50"] * 0.8
    assert point["amplification"] > 0.5 and point["free_blocks"] > 0
    assert state["requests"]["write"] >= 30 and not state["ended"]
    last = state["points"][-1][0]
    assert all(it[0] > last for it in ask(page, f"/state?since={last}")[1]["points"])
    assert "seconds" in ask(page, "/state?since=x")[1]["error"]


def test_the_flash_is_a_map(serve):
    _, client, page = serve()
    blank = ask(page, "/map")[1]
    cells = sum(count for _, count in blank["panels"])
    assert cells == blank["blocks"] == len(blank["used"]) == len(blank["valid"])
    assert blank["panels"][0][0] == "package 0"
    use(client, 200, WRITE)
    until = time.monotonic() + 30
    while (now := ask(page, "/map")[1])["valid"] == blank["valid"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert "o" in now["used"] and set(now["used"]) <= set("eocvr")


def test_devices_without_flash_have_no_map(serve):
    _, client, page = serve(device="null", set={})
    use(client)
    assert ask(page, "/about")[1]["flash"] is None
    assert "no flash" in ask(page, "/map")[1]["error"]
    assert "ssdlab_free_blocks" not in ask(page, "/metrics")[1]


def counts_of(seconds, requests, bins, host=0, programmed=0):
    each = {"requests": 0, "failed": 0, "bytes": 0, "latency_seconds": 0.0, "bins": []}
    model = {kind: each for kind in ("read", "write", "trim", "flush")}
    model = model | {"read": each | {"requests": requests, "bins": bins}}
    flash = {"host_bytes_written": host, "bytes_programmed": programmed, "free_blocks": 3}
    return {
        "at_seconds": seconds,
        "model": model,
        "measured": model,
        "flash": flash | {"blocks_erased": 0},
        "timing": {"requests": requests, "late": 0, "verdict": "valid", "below_overhead": 0},
        "in_force": [],
    }


def test_rates_and_percentiles_are_of_what_lies_between_two_looks():
    told = [counts_of(0, 10, [0, 10])]

    def say(line):
        return json.dumps({"bins": [1000, 2000, 4000]} if line == "about" else told[-1])

    looker = Looker(say)
    looker.close()
    told.append(counts_of(2, 1010, [0, 10, 2, 1000], host=100, programmed=350))
    looker.look()
    point = dict(zip(COLUMNS, looker.state(-1)["points"][-1], strict=True))
    assert (point["read"], point["amplification"], point["free_blocks"]) == (500, 3.5, 3)
    assert point["model_p50"] == pytest.approx(3e-6) and point["model_p999"] > 3.9e-6
    assert point["late"] == 0
    # Nothing was asked since, and the account may begin anew: nothing, not less than nothing.
    told.append(counts_of(3, 0, []))
    looker.look()
    point = dict(zip(COLUMNS, looker.state(-1)["points"][-1], strict=True))
    assert point["read"] == 0 and point["model_p50"] is None and point["amplification"] is None


def test_a_percentile_is_between_the_bounds_of_its_bin():
    assert percentile({1: 10}, [10, 20], 1.0) == 20
    assert percentile({0: 1, 1: 1}, [10, 20], 0.25) == 5


# For Prometheus


def test_figures_are_those_that_prometheus_reads(serve):
    parser = pytest.importorskip("prometheus_client.parser")
    live, client, page = serve()
    use(client, 40)
    client.ask(FLUSH)
    order(page, "slow 2")
    # The device is looked at once a second.
    until = time.monotonic() + 30
    while "ssdlab_faults_in_force 1" not in (text := ask(page, "/metrics")[1]):
        assert time.monotonic() < until, text
        time.sleep(0.1)
    families = {it.name: it for it in parser.text_string_to_metric_families(text)}
    assert all(it.documentation and it.name.startswith("ssdlab_") for it in families.values())

    def value(name, **labels):
        family = families[name.removesuffix("_total")]
        return next(it.value for it in family.samples if it.name == name and it.labels == labels)

    assert value("ssdlab_requests_total", kind="write") == 40
    assert value("ssdlab_transferred_bytes_total", kind="write") == 40 * 8192
    assert value("ssdlab_faults_in_force") == 1
    assert value("ssdlab_size_bytes") == live.size_bytes == 8 << 20
    for name in ("ssdlab_model_latency_seconds", "ssdlab_measured_latency_seconds"):
        assert families[name].type == "histogram"
        of = [it for it in families[name].samples if it.labels["kind"] == "read"]
        buckets = [it.value for it in of if it.name.endswith("_bucket")]
        assert buckets == sorted(buckets)
        assert buckets[-1] == next(it.value for it in of if it.name.endswith("_count")) == 40
        assert 40 * 1e-4 < next(it.value for it in of if it.name.endswith("_sum")) < 40
    for family in families.values():
        if family.type == "counter":
            assert all(it.name.endswith("_total") for it in family.samples)
    # Units are those that Prometheus wants, and no figure says its own name twice.
    assert not [name for name in families if name.endswith(("_ns", "_us", "_ms", "_mb", "_kib"))]


def test_a_label_says_what_it_says():
    counts = counts_of(1, 2, [0, 2])
    about = {"device": 'a "b"\\\n', "version": "1", "size_bytes": 1, "flash": None}
    text = metrics.text(counts, about, [2048])
    assert r'ssdlab_info{device="a \"b\"\\\n",version="1"} 1' in text


# Orders


def test_orders_take_the_key(serve):
    _, client, page = serve()
    use(client, 5)
    refused = ask(page, "/order", '{"line": "slow 2"}')
    assert refused[0] == 403 and "terminal" in refused[1]["error"]
    assert ask(page, "/state")[1]["in_force"] == []
    status, said = order(page, "slow 2")
    assert (status, said["done"]) == (200, "slow 2")
    assert "not an order" in order(page, "dance")[1]["error"]
    assert order(page, "a\nb")[0] == 400 and order(page, "")[0] == 400
    order(page, "fail read all rate=0.5")
    order(page, "latency add 2ms p=0.5")
    until = time.monotonic() + 30
    while len(ask(page, "/state")[1]["in_force"]) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    assert ask(page, "/state")[1]["in_force"] == [
        "slow 2",
        "latency add 2000000ns p=0.5",
        "fail read all rate=0.5",
    ]


def test_a_replay_knows_the_orders_and_nothing_of_the_looks(serve, tmp_path):
    """Somebody looks as often as he can and gives orders by the page: a replay is exact."""
    trace = tmp_path / "t.parquet"
    live, client, page = serve(record=trace)
    ended = threading.Event()

    def stare():
        while not ended.is_set():
            for what in ("counts", "map", "stats", "health", "about"):
                live.say(what)

    watcher = threading.Thread(target=stare)
    watcher.start()
    try:
        for line in ("latency add 1ms p=0.3", "age 5000 writes", "slow 3"):
            use(client, 60)
            assert "done" in order(page, line)[1]
        use(client, 60)
    finally:
        ended.set()
        watcher.join()
    page.close()
    results = live.stop().to_dict()
    given = (tmp_path / "t.parquet.faults").read_text()
    assert [line.split(" ", 1)[1] for line in given.splitlines()] == [
        "latency add 1000000ns p=0.3",
        "age 5000 writes",
        "slow 3",
    ]
    again = ssdlab.run(
        device="agrawal2008", trace=trace, set=SMALL | {"run.faults": f"{trace}.faults"}
    ).to_dict()
    for part in ("host", "flash", "wear", "buses", "units", "time_series", "health"):
        assert again[part] == results[part], part


def test_orders_from_python_are_answered_as_at_the_socket(serve):
    live, client, page = serve()
    use(client, 3)
    assert live.say("stats")["requests"] == 6
    assert "not an order" in live.say("jump")["error"]
    page.close()
    live.stop()
    with pytest.raises(ssdlab.InputError, match="has ended"):
        live.say("stats")


# The command


def test_the_address_is_on_the_terminal_and_the_port_must_be_free(command, refused, tmp_path):
    words = [*command, "serve", "--device", "null", "--size", "1MiB", "--socket", "s"]
    process = subprocess.Popen(
        [*words, "--watch", "0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        line = ""
        while "watch it at" not in line:
            assert (line := process.stderr.readline()), process.communicate()
        port = int(line.split(":")[-1].split("/")[0])
        assert line.split("/#")[1].strip()
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        link.request("GET", "/state")
        assert json.load(link.getresponse())["ended"] is False
        said = refused("serve", "--socket", "t", "--watch", str(port))
        assert f"port {port} of 127.0.0.1 is in use" in said
        assert not (tmp_path / "t").exists()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, "")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()
        process.stdout.close()


def test_without_watch_no_server_is_imported():
    script = "import sys, ssdlab.live.command as c; sys.exit('http.server' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_device_is_asked_rarely_while_nobody_watches(serve):
    live, _, page = serve()
    asked = []
    page.close()

    def say(line):
        asked.append(line)
        return live._core.say(line)

    looker = Looker(say)
    try:
        time.sleep(2.5)
        assert len(asked) <= 5
        before, began = len(asked), time.monotonic()
        while time.monotonic() < began + 2:
            looker.state(-1)
            time.sleep(0.02)
        assert len(asked) - before <= 5 * (time.monotonic() - began)
    finally:
        looker.close()
