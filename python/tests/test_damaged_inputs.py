"""Every kind of input file, damaged at random: read, or refused in words without a traceback."""

import bz2
import json
import os
import random
import threading

import doors
import pytest
from doors import EXPERIMENT, PLAIN, SMALL, SWEEP, TABLE, TRACE, journal

import ssdlab
from ssdlab.sweeps.journal import Journal

LIMITED = 12


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


#: Files whose bytes are damaged. The fuzzer of traces damages the formats of traces.
KINDS = {
    **{kind: it for kind, it in doors.KINDS.items() if kind not in doors.FORMATS},
    "bz2": ("t.csv.bz2", bz2.compress(TABLE.encode()), [TRACE]),
    "zstd": ("t.csv.zst", lambda _: zstd(TABLE.encode()), [TRACE]),
    "parquet": ("t.parquet", lambda _: arrow("parquet"), [TRACE]),
    "arrow": ("t.arrow", lambda _: arrow("ipc"), [TRACE]),
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


def damaged_file(kind, content, seed):
    return damaged(content, random.Random(f"{kind} {seed}"))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused_in_words(ssdlab, tmp_path, kind):
    doors.tried(ssdlab, tmp_path, kind, KINDS[kind], damaged_file, range(LIMITED))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_many_damaged_files_are_read_or_refused_in_words(ssdlab, tmp_path, kind):
    doors.tried(ssdlab, tmp_path, kind, KINDS[kind], damaged_file, range(1000, 1300))


@pytest.mark.parametrize("kind", sorted(doors.KINDS.keys() - doors.BINARY))
def test_most_changed_files_of_a_kind_are_accepted(ssdlab, tmp_path, kind):
    """`make nightly-doors` has thousands of each kind."""
    inputs, accepted, _ = doors.tried(
        ssdlab, tmp_path, kind, doors.KINDS[kind], doors.structured, range(LIMITED // 2)
    )
    assert accepted >= inputs / 3, kind


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


def test_characters_that_move_the_cursor_are_shown_by_their_codes(ssdlab, tmp_path):
    (tmp_path / "j.fio").write_text("[a\x0b\x1b[2J\n")
    said = refused_once(ssdlab, "run", *PLAIN, tmp_path / "j.fio")
    assert r"[a\x0b\x1b[2J" in said and "\x1b" not in said


def test_a_heading_of_iostat_without_writes_is_refused(ssdlab, tmp_path):
    (tmp_path / "i.txt").write_text("Device r/s rkB/s\nsda 1.0 4.0\n")
    assert "i.txt:1: the heading has r/s and no w/s" in refused_once(
        ssdlab, "ask", tmp_path / "i.txt"
    )


def test_a_heading_of_iostat_without_devices_is_no_report(tmp_path):
    from ssdlab.asking import what

    path, head = tmp_path / "i.txt", "Device r/s rkB/s w/s wkB/s\n"
    path.write_text(f"{head}sda 1.0 4.0 2.0 8.0\n{head}")
    assert what.of(str(path), None).load.keys
    path.write_text(head)
    with pytest.raises(ssdlab.InputError, match="no report of iostat -x"):
        what.of(str(path), None)
