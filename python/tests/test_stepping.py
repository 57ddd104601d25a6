"""`ssdlab.Drive`: steps of any length give the answers of a run, mistakes are errors, and the
examples of programs that step a drive run.
"""

import copy
import importlib.util
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab
from ssdlab import InputError, _core

DEVICES = list(dict(_core.list("devices")))
#: Drives with a buffer, without, a disk, and an array of drives.
FEW = ["samsung-pm9a3", "agrawal2008", "barracuda", "agrawal2008-array-6"]
#: Smaller than they come.
SCALED = {"samsung-pm9a3": {"device.scale": 128}}
REQUESTS = 300


def trace_of(device, settings, seed):
    """Requests in bunches, as a table; a drive in parts gets them at other places."""
    draw = np.random.default_rng(seed)
    sectors = min(ssdlab.Drive(device, set=settings).capacity_bytes // 512, 1 << 26)
    gaps = draw.choice([0, 2_000, 300_000], REQUESTS)
    gaps[0] = 0
    columns = {
        "at_ns": np.cumsum(gaps).astype(np.uint64),
        "op": draw.choice(["read", "write"], REQUESTS),
        "sector": draw.integers(0, sectors // 8 - 16, REQUESTS) * 8,
        "sectors": draw.integers(1, 9, REQUESTS) * 8,
    }
    return pa.table(columns)


def parts_of(draw, count):
    """A list of ranges that cut `count` into parts."""
    cuts = sorted({0, count, *(draw.randrange(count) for _ in range(draw.randrange(30)))})
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def stepped(drive, rows, seed):
    """The answers of requests that are handed over in parts, in steps of any length."""
    draw = random.Random(seed)
    tables = []
    for begin, end in parts_of(draw, REQUESTS):
        part = rows.slice(begin, end - begin)
        drive.submit_many(
            at_ns=part["arrival_ns"],
            op=part["op"],
            offset=part["offset_bytes"],
            bytes=part["size_bytes"],
        )
        latest = rows["arrival_ns"][end].as_py() if end < REQUESTS else drive.now_ns
        for _ in range(draw.randrange(4)):
            event = drive.next_event_ns()
            to = draw.choice([drive.now_ns, latest, event or 0, draw.randint(drive.now_ns, latest)])
            to = min(max(to, drive.now_ns), latest)
            tables.append(drive.advance_table(to_ns=to))
    tables.append(drive.advance_table())
    return pa.concat_tables(tables).sort_by("tag")


def check(device, folder, partitions):
    """Holds the answers and the report of a drive in steps to those of a run."""
    settings = SCALED.get(device, {})
    trace = trace_of(device, settings, 1)
    record = folder / f"{device}.parquet"
    told = ssdlab.run(device=device, trace=trace, set=settings, requests=record).to_dict()
    rows = pq.read_table(record)
    for seed in range(partitions):
        drive = ssdlab.Drive(device, set=settings)
        answers = stepped(drive, rows, seed)
        for column in set(rows.column_names) & set(answers.column_names):
            assert rows[column].to_pylist() == answers[column].to_pylist(), (device, seed, column)
        report = drive.report().to_dict()
        for section in told.keys() - {"experiment", "elapsed", "workload", "warnings"}:
            assert report[section] == told[section], (device, seed, section)


@pytest.mark.parametrize("device", FEW)
def test_steps_give_the_bits_of_a_run(device, tmp_path):
    check(device, tmp_path, 2)


@pytest.mark.nightly
@pytest.mark.parametrize("device", [name for name in DEVICES if name != "wd-zn540"])
def test_a_thousand_partitions_of_all_drives(device, tmp_path):
    check(device, tmp_path, 25)


@pytest.fixture
def drive():
    return ssdlab.Drive("agrawal2008", set={"device.blocks_per_plane": 32})


def test_one_by_one_and_many_are_the_same(drive):
    other = ssdlab.Drive("agrawal2008", set={"device.blocks_per_plane": 32})
    at = [0.003, 0.001, 0.002]
    tags = [drive.submit(at=t, op="write", offset=4096 * n, bytes=4096) for n, t in enumerate(at)]
    assert tags == list(other.submit_many(pa.array(at), "write", [0, 4096, 8192], 4096))
    assert drive.outstanding == 3 and drive.next_event() == 0.001
    one, many = drive.advance(), other.advance_table()
    assert [it.tag for it in one] == many["tag"].to_pylist() == [1, 2, 0]
    assert [it.at_ns for it in one] == many["end_ns"].to_pylist()
    assert [it.status for it in one] == many["status"].to_pylist() == ["ok"] * 3
    for row, it in zip(many.to_pylist(), one, strict=True):
        assert it.latency_ns == sum(it.parts_ns.values()) == row["end_ns"] - row["arrival_ns"]
        assert it.at == pytest.approx(at[it.tag] + it.latency) and it.latency == it.latency_ns / 1e9
        assert {f"{part}_ns": ns for part, ns in it.parts_ns.items()}.items() <= row.items()
        assert (it.op, it.offset, it.bytes) == (row["op"], row["offset_bytes"], row["size_bytes"])
    assert repr(one[0]) == f"<write 1: ok at {one[0].at_ns} ns after {one[0].latency_ns} ns>"
    assert drive.now_ns == one[-1].at_ns and drive.outstanding == 0
    assert drive.report().host.write.requests == 3


def closed_loop(drive, step):
    """The answers and steps of a loop with four requests outstanding."""
    draw, answers, asked, steps = random.Random(4), [], 0, 0
    while len(answers) < 100:
        while asked < min(100, len(answers) + 4):
            drive.submit(op=draw.choice(["read", "write"]), offset=draw.randrange(1000) * 4096)
            asked += 1
        answers += step(drive)
        steps += 1
    return [(it.tag, it.at_ns, it.latency_ns) for it in answers], steps


def test_a_closed_loop_steps_to_the_next_answer(drive):
    by_event, more = closed_loop(drive.clone(), lambda it: it.advance(to_ns=it.next_event_ns()))
    to_answer, fewer = closed_loop(drive.clone(), lambda it: it.advance_to_answer())
    assert by_event == to_answer and fewer <= 100 and fewer < more
    assert drive.advance_to_answer() == [] and drive.now == 0
    assert drive.advance_to_answer(to=2) == [] and drive.now == 2


REFUSED = [
    (
        lambda d: d.submit(at=0.5),
        "500000000 ns is in the past: the drive has come to 1000000000 ns",
    ),
    (lambda d: d.submit(at_ns=-1), "at_ns -1"),
    (lambda d: d.submit(at=float("nan")), "nan s is no time"),
    (lambda d: d.submit(offset=1), "offset 1: expected a multiple of 512 bytes"),
    (lambda d: d.submit(bytes=0), "a read has a length, at least 512"),
    (lambda d: d.submit(offset=1 << 60), "beyond the end of the drive, which has"),
    (lambda d: d.submit(op="raed"), 'op "raed": expected one of read, write, trim, flush'),
    (lambda d: d.submit(handle=256), "handle up to 254"),
    (lambda d: d.submit(queue=-1), "queue up to 65535"),
    (lambda d: d.advance(to=0.5), "in the past"),
    (lambda d: d.advance_to_answer(to=0.5), "in the past"),
    (lambda d: d.advance_to_answer(to_ns=-1), "to_ns -1"),
    (lambda d: d.advance(to=1.7e10), "a drive is used for 500 years"),
    (lambda d: d.submit_many(at=[2, 0.5]), "request 1: 500000000 ns is in the past"),
    (lambda d: d.submit_many(op=["read", "raed"]), 'op "raed"'),
    (lambda d: d.submit_many(offset=[0, 512], queue=[1, 2, 3]), "other lengths"),
    (lambda d: d.submit_many(offset=[0.5]), "offset has float64, not whole numbers"),
    (lambda d: d.submit_many(offset=[-512]), "offset has values beyond 0"),
]


@pytest.mark.parametrize(("mistake", "message"), REFUSED)
def test_a_mistake_is_an_error_and_changes_nothing(drive, mistake, message):
    drive.advance(to=1)
    with pytest.raises(InputError) as said:
        mistake(drive)
    assert message in str(said.value)
    assert (drive.outstanding, drive.now_ns, drive.next_event()) == (0, 10**9, None)


def test_saved_and_cloned_drives_go_on(drive, tmp_path):
    drive.submit_many(op="write", offset=np.arange(200) % 50 * 4096)
    for early in (drive.shut_down, lambda: drive.save(tmp_path / "it.drive")):
        with pytest.raises(InputError, match="the drive is at work"):
            early()
    assert drive.clone().advance_table() == drive.clone().advance_table()
    drive.advance()
    drive.shut_down()
    while (event := drive.next_event()) is not None:
        drive.advance(to=event)
    drive.save(tmp_path / "it.drive")
    small = {"device.blocks_per_plane": 32}
    saved = ssdlab.Drive("agrawal2008", set=small, prepared=tmp_path / "it.drive")
    now = drive.now_ns
    others = [drive.clone(), copy.copy(drive), copy.deepcopy(drive)]
    assert [it.now_ns for it in others] == [now] * 3 and saved.now_ns == 0
    for it in [drive, *others, saved]:
        it.submit_many(
            at_ns=it.now_ns + np.arange(100) * 1000, op="write", offset=np.arange(100) * 4096
        )
    tables = [it.advance_table() for it in [drive, *others, saved]]
    ends = [np.subtract(it["end_ns"], it["arrival_ns"]).tolist() for it in tables]
    assert all(ends[0] == it for it in ends)
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match="is no drive that ssdlab saved"):
        ssdlab.Drive("agrawal2008", set=small).save(tmp_path / "mine")
    with pytest.raises(OSError, match="cannot be written"):
        ssdlab.Drive("agrawal2008", set=small).save(tmp_path / "none" / "it.drive")


def test_states_before_the_first_request(tmp_path):
    small = {"device.blocks_per_plane": 64, "device.channels": 1}
    for prepared in ("none", "sequential", "random:1", "steady"):
        drive = ssdlab.Drive("agrawal2008", set=small, prepared=prepared)
        told = drive.report().to_dict()["experiment"]["run"]["precondition"]
        assert told == prepared
    assert drive.report().to_dict()["steady_state"]["preconditioning"]["load"] == "uniform"
    with pytest.raises(InputError, match="cannot be opened"):
        ssdlab.Drive("agrawal2008", prepared=str(tmp_path / "none.drive"))
    with pytest.raises(InputError, match="another program steps"):
        ssdlab.Drive(set={"run.until": "1s"})


def test_zones_are_asked_for_as_they_are():
    drive = ssdlab.Drive("wd-zn540")
    drive.submit(op="append", offset=0, bytes=65536)
    drive.submit(op="write", offset=0, bytes=4096)
    drive.submit(at=1, op="reset", offset=0, bytes=0)
    assert [it.status for it in drive.advance()] == ["ok", "invalid_write", "ok"]


EXAMPLES = Path(__file__).parents[2] / "examples/embed"


def example(name):
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_processes_of_simpy_wait_for_the_drive(capsys):
    simpy = pytest.importorskip("simpy", reason="pip install simpy")
    it = example("simpy_process")
    it.main(milliseconds=5)
    readers, drive = capsys.readouterr().out.splitlines()
    reads = int(readers.split()[0])
    assert reads > 100 and drive == f"the drive: {reads} reads, 25 writes"
    # One process gets the latencies of a program without SimPy.
    env, drive = simpy.Environment(), ssdlab.Drive("agrawal2008")
    disk, alone, latencies = it.Disk(env, drive.clone()), drive.clone(), []
    env.process(it.reader(env, disk, 1000, random.Random(3), latencies))
    env.run(until=20_000_000)
    draw, now = random.Random(3), 0
    for latency in latencies:
        alone.submit(at_ns=now, offset=draw.randrange(1000) * 4096)
        [answer] = alone.advance()
        assert answer.latency_ns == latency
        now = answer.at_ns + round(draw.expovariate(1 / 20_000))
    assert len(latencies) > 50


class Watched:
    """A drive, and what it is asked."""

    def __init__(self, drive):
        self.drive, self.asked = drive, []
        self.advance, self.next_event_ns = drive.advance, drive.next_event_ns

    def submit(self, **request):
        """Notes the request."""
        self.asked.append((request["op"], request["offset"]))
        return self.drive.submit(**request)


def test_kv_blocks_come_back_from_the_drive(capsys):
    it = example("kv_cache")
    drive = Watched(ssdlab.Drive("samsung-pm9a3", set={"device.scale": 16}))
    there = it.Server(drive, 30, 4).run()
    again = it.Server(None, 30, 4).run()
    assert there.tokens == again.tokens > 0
    assert sum(there.first_token_ns) < sum(again.first_token_ns)
    written = set()
    for op, offset in drive.asked:
        written |= {offset} if op == "write" else set()
        assert offset in written, "a block is read that was not written"
    reads = [offset for op, offset in drive.asked if op == "read"]
    host = drive.drive.report().host
    assert host.read.bytes == len(reads) * it.BLOCK_BYTES > 0
    it.main(conversations=4, turns=2)
    assert "from the drive" in capsys.readouterr().out


def test_the_guide_has_the_lines_of_the_example():
    guide = (EXAMPLES.parents[1] / "docs/embed.md").read_text()
    shown = guide.split("class Disk")[1].split("```")[0]
    assert "class Disk" + shown.rstrip() in (EXAMPLES / "simpy_process.py").read_text()
