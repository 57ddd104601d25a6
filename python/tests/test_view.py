"""Seeing a run happen: what is shown is the run itself, what is asked is bounded, and it ends."""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from urllib.request import Request, urlopen

import pytest

from ssdlab import InputError, _core, layers
from ssdlab.loopback import KEY_HEADER, Loopback
from ssdlab.viewing import knobs, scenes, serving
from ssdlab.viewing.scenes import Scene
from ssdlab.viewing.sessions import MOST_SESSIONS, Closed, Drive, Session, Sessions, heads

MS = 1_000_000


def without_elapsed(text):
    results = json.loads(text)
    del results["elapsed"]
    return results


@pytest.fixture
def stack(tiny):
    return layers.from_assignments(tiny)


@pytest.fixture
def scene(stack):
    return Scene(stack)


def ready(drive):
    while not drive.is_ready(1):
        pass
    return drive


def begun(stack):
    return ready(Drive(stack, json.loads(_core.resolve_json(stack))))


def cells(frames, found=None):
    """Cells of the map after some frames: head, valid, programmed, erasures and retries of each."""
    found = {} if found is None else found
    at = 0
    while at < len(frames):
        length, head = struct.unpack_from("<II", frames, at)
        data, end, number = at + 8 + head, at + 4 + length, 0

        def take():
            nonlocal data
            value = shift = 0
            while True:
                byte = frames[data]
                data += 1
                value |= (byte & 127) << shift
                if byte < 128:
                    return value
                shift += 7

        while data < end:
            number += take()
            state = frames[data]
            data += 1
            found[number] = (state, take(), take(), take(), frames[data])
            data += 1
            number += 1
        at = end
    return found


def to_the_end(drive, step_ns, frames):
    found = [drive.first()]
    while not drive.is_over:
        drive.advance(step_ns, frames)
        found.append(drive.take())
    return b"".join(found)


def test_a_run_that_is_looked_at_has_the_results_of_one_that_is_not(stack):
    expected = without_elapsed(_core.run(stack))
    for step, frames in [(MS, 7), (50 * MS, 1)]:
        drive = begun(stack)
        told = heads(to_the_end(drive, step, frames))
        assert sum(sum(head["n"]) for head in told) == 500 == expected["host"]["all"]["requests"]
        assert without_elapsed(json.dumps(drive.results())) == expected
        assert [head["t"] for head in told] == sorted(head["t"] for head in told)


def test_what_is_seen_does_not_depend_on_the_steps_and_agrees_with_the_report(stack):
    before = begun(stack)
    first = cells(before.first())
    fine, coarse = (to_the_end(begun(stack), *steps) for steps in [(MS, 13), (40 * MS, 1)])
    last = cells(fine)
    assert last == cells(coarse)
    report = before.results()
    pages = report["experiment"]["device"]["page_size"]
    assert pages == "4KiB"
    assert sum(cell[1] for cell in last.values()) == _core.capacity_bytes(stack) // 4096
    erased = [sum(cell[3] for cell in it.values()) for it in (first, last)]
    # What is erased behind the last answer is in neither.
    assert 0 <= report["flash"]["block_erases"] - (erased[1] - erased[0]) <= 1
    assert erased[1] > erased[0]


def test_percentiles_are_of_the_last_requests_and_told_when_enough_are_slower(stack):
    told = heads(to_the_end(begun(stack), MS, 20))
    assert told[0]["p"] == [None, None, None]
    assert told[-1]["p"][0] > 0
    assert told[-1]["p"][1:] == [None, None]
    for head in told:
        assert all(it[4] <= head["max"] for it in head["r"])
        assert len(head["r"]) <= 8


def test_the_next_slow_request_stops_time(stack):
    drive = begun(stack)
    drive.first()
    drive.advance(200 * MS, 1)
    limit = 4 * heads(drive.take())[0]["p"][0]
    drive.seek_slow(limit)
    (found,) = heads(drive.take())
    assert found["slow"]
    assert found["max"] >= limit
    assert any(request[0] == found["t"] and request[4] >= limit for request in found["r"])
    drive._run.seek_slow(10**12, 50)
    (none,) = heads(drive.take())
    assert none["slow"] is False
    assert sum(none["n"]) >= 50
    drive.stop()


def test_two_drives_go_on_together(scene):
    beside = scene._replace(beside={"device.spare_factor": 0.3})
    session = Session(beside, [{}, {}], {})
    for drive in session.drives:
        ready(drive)
    a, b = session.frames(MS, 5)
    assert [it["t"] for it in heads(a)] == [it["t"] for it in heads(b)]
    assert heads(a)[0]["shape"]["blocks"] == heads(b)[0]["shape"]["blocks"] == 128
    session.frames(20 * MS, 1)
    a, b = session.slow(1, 1)
    assert heads(a)[-1]["t"] == heads(b)[-1]["t"]
    assert session.drives[1].experiment["device"]["spare_factor"] == 0.3
    session.stop()


def test_knobs_turn_keys_of_the_experiment(scene):
    session = Session(scene, [{"spare": 0.2, "policy": "fifo"}], {"reads": 0.5})
    experiment = session.drives[0].experiment
    assert experiment["device"]["spare_factor"] == 0.2
    assert experiment["device"]["cleaning"]["policy"] == "fifo"
    assert experiment["workload"]["read_share"] == 0.5
    values = {knob.name: knob.value for knob in session.drives[0].knobs}
    assert (values["spare"], values["policy"], values["reads"]) == (0.2, "fifo", 0.5)
    session.stop()
    for own, load, words in [
        ({"spare": 0.99}, {}, "0.06 and 0.4"),
        ({"spare": "much"}, {}, "not a number"),
        ({"policy": "best"}, {}, "greedy"),
        ({"reads": 0.5}, {}, "no slider reads"),
        ({}, {"reads": 7}, "within 0 and 1"),
    ]:
        with pytest.raises(InputError, match=words):
            Session(scene, [own], load)


@pytest.mark.parametrize(
    ("assignments", "names"),
    [
        ({"workload.kind": "closed"}, "spare skew outstanding reads policy cleaning frontiers"),
        ({"workload": {"kind": "closed", "locality": "zipf(0.9)"}}, "spare outstanding reads"),
        ({"device.kind": "linear"}, "reads"),
    ],
)
def test_an_experiment_has_the_knobs_of_its_keys(assignments, names):
    experiment = json.loads(_core.resolve_json(layers.from_mapping("test", _nested(assignments))))
    found = [knob.name for knob in knobs.of(experiment, experiment)]
    assert found[: len(names.split())] == names.split()


def _nested(assignments):
    found = {}
    for key, value in assignments.items():
        section, _, rest = key.partition(".")
        found.setdefault(section, {}).update({rest: value} if rest else value)
    return found


def test_skew_is_a_share_of_the_drive():
    stack = layers.from_mapping("test", {"workload": {"kind": "closed"}})
    experiment = json.loads(_core.resolve_json(stack))
    skew = next(knob for knob in knobs.of(experiment, experiment) if knob.name == "skew")
    assert (skew.value, skew.set_to(50), skew.set_to(90)) == (50, "uniform", "hot-cold(0.9, 0.1)")


def test_every_scene_is_an_experiment():
    assert set(scenes.names()) >= {scenes.DEFAULT, "hot-cold", "trim", "spare"}
    for name, summary in scenes.names().items():
        scene = scenes.scene(name)
        assert summary == scene.title
        assert scene.colour in scenes.COLOURS
        Sessions(scene).check()


def test_old_blocks_have_another_colour_until_their_data_are_moved(tmp_path):
    scene = scenes.scene("ageing")
    drive = begun(scene.stack)
    frames = drive.first()
    begin = cells(frames)
    full = [number for number, cell in begin.items() if cell[2] > 0]
    # A year at 40 C is four years of the clock of retention: no block is read at once.
    assert len(full) > 40
    assert all(begin[number][4] > 4 for number in full)
    assert all(cell[4] == 0 for number, cell in begin.items() if number not in full)
    assert heads(frames)[0]["shape"]["drives"][0]["ages"]
    drive.advance(2000 * MS, 1)
    end = cells(drive.take(), dict(begin))
    young = [number for number, cell in end.items() if cell[2] > 0 and cell[4] == 0]
    assert len(young) > 4, "what the host has written since is read at once"
    old = [number for number in full if end[number][3] == begin[number][3]]
    assert all(end[number][4] > 4 for number in old if number not in young)


def test_a_run_without_time_is_refused(stack):
    with pytest.raises(InputError, match="run.timed"):
        Drive(stack + layers.from_assignments({"run.timed": False}), {})


def test_sessions_are_bounded(scene, monkeypatch):
    sessions = Sessions(scene)
    names = [sessions.open([], {}, None)[0] for _ in range(MOST_SESSIONS)]
    with pytest.raises(InputError, match="close one"):
        sessions.open([], {}, None)
    # A page that begins anew gives its place up, but not to what is refused.
    with pytest.raises(InputError, match="no slider"):
        sessions.open([{"size": 1}], {}, names[0])
    assert sessions.find(names[0])
    again, _ = sessions.open([], {}, names[0])
    with pytest.raises(Closed):
        sessions.find(names[0])
    monkeypatch.setattr("ssdlab.viewing.sessions.IDLE_SECONDS", 0)
    sessions.find(again)
    sessions.open([], {}, None)
    with pytest.raises(Closed):
        sessions.find(names[1])
    with pytest.raises(InputError, match="3 drives"):
        sessions.open([{}, {}, {}], {}, None)
    sessions.close_all()


def asked(served, path, body):
    request = Request(served.url + path, json.dumps(body).encode(), {KEY_HEADER: served.key})
    with urlopen(request) as answer:
        data = answer.read()
        return data if "octet" in answer.headers["Content-Type"] else json.loads(data)


def test_a_page_is_answered(scene):
    sessions = Sessions(scene)
    with Loopback(serving.routes(sessions)) as served:
        assert b"<!doctype html>" in urlopen(served.url).read()
        said = asked(served, "open", {})
        assert len(said["drives"]) == 1
        step = {"id": said["id"], "step_ns": MS, "frames": 4}
        while isinstance(found := asked(served, "frames", step), dict):
            assert list(found) == ["preparing"]
        (length,) = struct.unpack_from("<I", found)
        assert len(found) == 4 + length
        assert len(heads(found[4:])) == 5
        slow = asked(served, "slow", {"id": said["id"], "drive": 0, "limit_ns": 1})
        assert heads(slow[4:])[0]["slow"]
        for path, body in [
            ("frames", step | {"frames": 10**6}),
            ("frames", step | {"step_ns": 0}),
            ("open", {"drives": 3}),
            ("open", []),
        ]:
            with pytest.raises(OSError, match="400"):
                asked(served, path, body)
        asked(served, "close", {"id": said["id"]})
        assert asked(served, "frames", step) == {"closed": True}
    sessions.close_all()


def test_wrong_input_is_one_line(ssdlab, tmp_path):
    (tmp_path / "wrong.toml").write_text("[device]\nchanels = 1\n")
    for words, expected in [
        (["nothing"], "no scene nothing"),
        ([tmp_path / "wrong.toml"], "chanels"),
        (["cleaning", "--set", "run.timed=false"], "run.timed"),
        (["cleaning", "--beside", "device.cleaning.policy=best"], "best"),
        (["cleaning", "--beside", "policy"], "KEY=VALUE"),
        (["cleaning", "--last", "1s"], "--record"),
        (["cleaning", "--record", tmp_path / "r.html", "--last", "soon"], "duration"),
        (["cleaning", "--record", tmp_path / "no" / "r.html"], "no"),
    ]:
        done = ssdlab("view", *words)
        assert done.returncode == 2, done.stderr
        assert expected in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "wrong.toml"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_until_it_is_interrupted(tiny, number, status):
    words = [f"--set={key}={value}" for key, value in tiny.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "ssdlab", "view", "--device", "agrawal2008", *words, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        address, key = process.stdout.readline().strip().split("#")
        for path in ("open", "open"):
            request = Request(f"{address}{path}", b"{}", {KEY_HEADER: key})
            assert json.loads(urlopen(request).read())["id"]
        process.send_signal(number)
        began = time.monotonic()
        assert process.wait(20) == status
        assert time.monotonic() - began < 10
    finally:
        process.kill()
        process.communicate()


def test_a_recording_is_one_file(tiny, ssdlab, tmp_path):
    words = [f"--set={key}={value}" for key, value in tiny.items()]
    path = tmp_path / "r.html"
    done = ssdlab(
        "view", "--device", "agrawal2008", *words, "--beside", "spare_factor=0.3", "--record", path,
        "--last", "20ms", "--frames", "40", "--start", "2ms",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "40 frames of" in done.stdout
    text = path.read_text()
    assert text.count('class="frames"') == 2
    assert "Content-Security-Policy" in text
    assert path.stat().st_size < 300_000
    assert "http://" not in text.replace("http://www.w3.org", "")
