"""Every kind of input file, damaged at random: read, or refused in words without a traceback."""

import bz2
import gzip
import json
import lzma
import os
import random
import threading

import pytest

import ssdlab
from ssdlab.sweeps.journal import Journal

LIMITED = 12
TABLE = "time_us,op,offset,size\n" + "".join(
    f"{10 * n},{'read' if n % 3 else 'write'},{4096 * (7 * n % 50)},4096\n" for n in range(200)
)
MQSIM = (
    "<Execution_Parameter_Set><Host_Parameter_Set><PCIe_Lane_Count>4</PCIe_Lane_Count>"
    "</Host_Parameter_Set><Device_Parameter_Set><Flash_Channel_Count>4</Flash_Channel_Count>"
    "</Device_Parameter_Set></Execution_Parameter_Set>"
)
PARV = """disksim_global Global {
  Init Seed = 42
}
ssdmodel_ssd SSD {
  Max queue length = 20,
  Page read latency = 0.025,
  Page write latency = 0.200,
  Blocks per element = 256
}
instantiate [ ssd0 ] as SSD
disksim_synthio Synthio {
  Number of I/O requests to generate = 50,
  Generators = [ disksim_synthgen {
    Storage capacity per device = 20000,
    devices = [ ssd0 ],
    Blocking factor = 8,
    Probability of sequential access = 0.25,
    Probability of read access = 0.5,
    General inter-arrival times = [ uniform, 0.0, 1.0 ],
    Sizes = [ exponential, 0.0, 8.0 ]
  } ]
}
"""
EXPERIMENT = """[device]
preset = "agrawal2008"
blocks_per_plane = 64
[workload]
requests = 50
[run]
precondition = "none"
"""
FIO = "[global]\nsize=1m\n[a]\nrw=randread\nbs=4k\nnumber_ios=20\n"
DISKSPD = "diskspd.exe -b4K -d1 -o4 -t1 -r -w30 -c16M a.dat\n"
FAULTS = "0ms slow 2\n1ms fail read all 3\n2ms reset\n"
SMALL = ("--set", "device.blocks_per_plane=64", "--set", "workload.requests=50", "--quiet")
PLAIN = ("--device", "agrawal2008", "--set", "device.blocks_per_plane=64", "--quiet")


def of_run(**changed):
    keys = {"device.blocks_per_plane": 64, "workload.requests": 50, "run.precondition": "none"}
    return ssdlab.run(device="agrawal2008", set=keys | changed)


def arrow(kind):
    pa = pytest.importorskip("pyarrow")

    table = pytest.importorskip("pyarrow.csv").read_csv(pa.BufferReader(TABLE.encode()))
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
    return sink.getvalue().to_pybytes()


def zstd(content):
    pa = pytest.importorskip("pyarrow")
    return pa.compress(content, codec="zstd", asbytes=True)


def drive(folder):
    path = folder / "made.drive"
    of_run(**{"run.save_drive": str(path)})
    return path.read_bytes()


def journal(folder):
    out = folder / "made.csv"
    ssdlab.sweep(
        device="agrawal2008",
        set={"device.blocks_per_plane": 64, "workload.requests": 50, "run.precondition": "none"},
        vary={"run.seed": "1..3"},
        out=out,
        workers=1,
    )
    return out.with_suffix(".jsonl").read_bytes()


SWEEP = (
    *("sweep", "--device", "agrawal2008", "--set", "device.blocks_per_plane=64"),
    *("--set", "workload.requests=50", "--set", "run.precondition=none"),
    *("--vary", "run.seed=1..3", "--workers", "1", "--quiet"),
)
TRACE = ("run", *PLAIN, "--trace")
RUN = ("run", *PLAIN, *SMALL[2:4])
#: A file of each kind: its name, its content (or what makes it), and the commands that read it.
KINDS = {
    "csv": ("t.csv", TABLE.encode(), [TRACE, ("trace", "info")]),
    "gzip": ("t.csv.gz", gzip.compress(TABLE.encode()), [TRACE, ("trace", "info")]),
    "xz": ("t.csv.xz", lzma.compress(TABLE.encode()), [TRACE]),
    "bz2": ("t.csv.bz2", bz2.compress(TABLE.encode()), [TRACE]),
    "zstd": ("t.csv.zst", lambda _: zstd(TABLE.encode()), [TRACE]),
    "parquet": ("t.parquet", lambda _: arrow("parquet"), [TRACE]),
    "arrow": ("t.arrow", lambda _: arrow("ipc"), [TRACE]),
    "experiment": ("e.toml", EXPERIMENT.encode(), [("run", "--quiet")]),
    "results": (
        *("r.json", lambda _: of_run().to_json().encode()),
        [("compare", "r.json"), ("report", "--out", "p.html"), ("run", "--quiet")],
    ),
    "journal": (
        *("s.jsonl", journal),
        [("report", "--out", "p.html"), (*SWEEP, "--out")],
    ),
    "drive": ("a.drive", drive, [(*RUN, "--set", "run.load_drive=FILE")]),
    "faults": (
        "f.txt",
        FAULTS.encode(),
        [("run", *PLAIN, *SMALL[2:4], "--set", "run.faults=FILE")],
    ),
    "fio": ("j.fio", FIO.encode(), [("run", *PLAIN)]),
    "diskspd": ("d.cmd", DISKSPD.encode(), [("run", *PLAIN)]),
    "mqsim": ("m.xml", MQSIM.encode(), [("run", *SMALL)]),
    "disksim": ("m.parv", PARV.encode(), [("run", "--quiet")]),
}
#: What is put into a file somewhere.
PIECES = (
    b"\0",
    b"\xff",
    b"9" * 120,
    b"-1",
    b"1e999",
    b"[" * 3000,
    b'"',
    b"\n",
    b"<a>" * 2000,
    b"nan",
)


def damaged(content, draw):
    """Cut short, with some bits flipped, or with something put in."""
    data = bytearray(content)
    place = draw.randrange(len(data))
    match draw.randrange(4):
        case 0:
            del data[place:]
        case 1:
            for _ in range(draw.choice((1, 3, 20))):
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        case 2:
            del data[place : place + draw.choice((1, 7, 100))]
        case _:
            data[place:place] = draw.choice(PIECES)
    return bytes(data)


def judged(done, said=""):
    """One that was read, or refused in words that are there."""
    assert "Traceback" not in done.stderr, f"{said}\n{done.stderr}"
    assert done.returncode in (0, 1, 2), f"{said}: {done}"
    if done.returncode == 0:
        return
    lines = [line for line in done.stderr.splitlines() if line.startswith("ssdlab: ")]
    assert lines and len(lines[-1]) > 20, f"{said}: {done}"
    # Nothing is said about nothing: a message ends with its reason.
    assert not lines[-1].rstrip().endswith((":", "None")), f"{said}: {done}"
    rest = done.stderr[done.stderr.index(lines[-1]) :].splitlines()[1:]
    assert all(line.startswith("  ") or not line for line in rest), f"{said}: {done}"


def words(command, path):
    if any("FILE" in word for word in command):
        return [word.replace("FILE", str(path)) for word in command]
    if command[-1] == "--out":
        return [*command, path.with_suffix(".csv")]
    if command[:1] == ("report",):
        return ["report", path, *command[1:]]
    return [*command, path]


def tried(ssdlab, folder, kind, seeds):
    name, content, commands = KINDS[kind]
    content = content(folder) if callable(content) else content
    path = folder / name
    for command in commands:
        path.write_bytes(content)
        whole = ssdlab(*words(command, path))
        assert whole.returncode == 0, (kind, whole)
        for seed in seeds:
            draw = random.Random(f"{kind} {seed}")
            path.write_bytes(damaged(content, draw))
            for old in folder.glob("*.csv"):
                if old != path:
                    old.unlink()
            judged(ssdlab(*words(command, path)), f"{kind} {seed} {command}")


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused_in_words(ssdlab, tmp_path, kind):
    tried(ssdlab, tmp_path, kind, range(LIMITED))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_many_damaged_files_are_read_or_refused_in_words(ssdlab, tmp_path, kind):
    tried(ssdlab, tmp_path, kind, range(1000, 1300))


def refused_once(ssdlab, *command):
    done = ssdlab(*command)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done
    assert done.stderr.startswith("ssdlab: ") and done.stderr.count("\n") <= 3, done
    return done.stderr


def test_elements_that_lie_too_deep_are_refused(ssdlab, tmp_path):
    (tmp_path / "deep.xml").write_text("<a>" * 100_000 + "</a>" * 100_000)
    assert "more than 64 elements" in refused_once(ssdlab, "run", tmp_path / "deep.xml")


def test_a_number_of_120_digits_is_refused(ssdlab, tmp_path):
    for place, value in (("time_us", "9" * 120), ("offset", "-" + "9" * 120)):
        row = {"time_us": "1", "op": "read", "offset": "0", "size": "4096", place: value}
        text = ",".join(row) + "\n" + "1,read,0,4096\n" + ",".join(row.values()) + "\n"
        (tmp_path / "t.csv").write_text(text)
        assert "line 3" in refused_once(ssdlab, *TRACE, tmp_path / "t.csv")


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on Unix")
def test_a_path_that_is_no_utf8_is_refused(ssdlab, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    with open(path, "w") as file:
        file.write(TABLE)
    for command in (TRACE, ("trace", "info"), ("run", "--quiet")):
        refused_once(ssdlab, *command, path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_to_which_nobody_writes_are_refused(ssdlab, tmp_path, monkeypatch):
    monkeypatch.setattr("ssdlab.reading.MOST_WAITED", 0.2)
    for name in ("p.toml", "p.xml", "p.parv", "p.jsonl"):
        os.mkfifo(tmp_path / name)
        command = (
            ("report", tmp_path / name, "--out", "p.html")
            if "json" in name
            else ("run", tmp_path / name)
        )
        assert "no program writes to it" in refused_once(ssdlab, *command)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_an_experiment_comes_through_a_pipe(ssdlab, tmp_path):
    path = tmp_path / "p.toml"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(EXPERIMENT,))
    writer.start()
    done = ssdlab("run", path, "--quiet")
    writer.join()
    assert done.returncode == 0, done


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_in_the_cache_is_no_entry(ssdlab, tmp_path, monkeypatch):
    monkeypatch.setenv("SSDLAB_CACHE", str(tmp_path / "cache"))
    command = ("run", *PLAIN, *SMALL[2:4], "--set", "run.precondition=random:2")
    assert ssdlab(*command).returncode == 0
    (entry,) = (tmp_path / "cache").glob("*.state")
    entry.unlink()
    os.mkfifo(entry)
    done = ssdlab(*command, timeout=60)
    assert done.returncode == 0 and "it is no file" in done.stderr, done


def test_a_damaged_line_of_a_sweep_is_dropped_and_its_point_runs_again(ssdlab, tmp_path):
    whole = journal(tmp_path).splitlines(keepends=True)
    path = tmp_path / "s.jsonl"
    truth = {}
    for line in map(json.loads, whole):
        truth[line["key"]] = line["results"]["host"]
    for place in range(3):
        for harm in (
            lambda line: line.replace(b'"iops":', b'"iops":1', 1),
            lambda line: line[:200] + b"\x07" + line[201:],
            lambda line: b"x" + line[1:],
        ):
            lines = [*whole]
            lines[place] = harm(lines[place])
            assert lines[place] != whole[place]
            path.write_bytes(b"".join(lines))
            done = ssdlab(*SWEEP, "--out", tmp_path / "s.csv", "--force")
            assert done.returncode == 0, done
            assert f"s.jsonl: line {place + 1}: " in done.stderr, done
            assert "its point runs again" in done.stderr
            again = [json.loads(line) for line in path.read_text().splitlines()]
            assert {line["key"]: line["results"]["host"] for line in again} == truth
            for old in tmp_path.glob("s.csv"):
                old.unlink()
    # Whoever only reads it is told.
    said = refused_once_text(ssdlab, tmp_path, whole)
    assert "line 2" in said and "simulates that point anew" in said


def refused_once_text(ssdlab, tmp_path, whole):
    lines = [*whole]
    lines[1] = lines[1].replace(b'"wall_seconds":', b'"wall_seconds":1', 1)
    (tmp_path / "s.jsonl").write_bytes(b"".join(lines))
    return refused_once(ssdlab, "report", tmp_path / "s.jsonl", "--out", "p.html")


@pytest.mark.parametrize(("key", "value"), [("mean_us", -1598), ("iops", 1e9), ("mb_per_s", 7)])
def test_a_line_that_breaks_a_law_is_not_believed_whatever_its_checksum(tmp_path, key, value):
    from ssdlab.sweeps import journal as module

    whole = journal(tmp_path).splitlines(keepends=True)
    body, _, _ = whole[0].rpartition(module._SUM)
    line = json.loads(body + b"}")
    line["results"]["host"]["all"][key] = value
    head, _, results = json.dumps(line).encode().partition(module._RESULTS)
    path = tmp_path / "s.jsonl"
    path.write_bytes(module._whole_line(head + module._RESULTS, results[:-1]) + b"".join(whole[1:]))
    again = Journal(path)
    assert line["key"] not in again and len(again.damaged) == 1 and key in again.damaged[0]
    again.close()


def test_a_sweep_is_a_table_for_polars_and_pandas(tmp_path):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    journal(tmp_path)
    sweep = ssdlab.Sweep.load(tmp_path / "made.jsonl")
    frame = polars.DataFrame(sweep)
    assert frame.height == 3 and frame["run.seed"].to_list() == [1, 2, 3]
    assert frame.columns == list(sweep.columns)
    # One of pandas is a column of points: `to_pandas` has their figures.
    assert len(pandas.DataFrame(sweep)) == 3
