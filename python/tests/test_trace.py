"""`ssdlab trace`: what it prints, what it refuses, and that converting keeps what it says."""

import csv
import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import ssdlab as package

KEYS = [
    "format", "requests", "reads", "writes", "trims", "flushes", "read_share", "mean_bytes",
    "footprint_bytes", "span_bytes", "duration_seconds", "devices", "backward_steps", "skipped",
]  # fmt: skip
SMALL = "0.5 0 0 8 1\n1.25 1 64 16 0\n1.0 0 8 8 0\n"

# Real traces, which lie beside the repository where there are any.
REAL = Path(__file__).parents[3] / "shared" / "traces"


def generated(requests=3000):
    """A trace of reads and writes of two devices in DiskSim's format."""
    lines = []
    state = 1
    for number in range(requests):
        state = state * 6364136223846793005 % 2**64 + 1
        sector, sectors = (state >> 40) * 8, 8 << (state >> 20) % 6
        lines.append(f"{number * 0.137:.6f} {number % 2} {sector} {sectors} {(state >> 33) % 2}\n")
    return "".join(lines)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "some.trace"
    path.write_text(SMALL)
    return path


def info(ssdlab, *words, **options):
    done = ssdlab("trace", "info", *words, "--json", "-", **options)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


# What it says


def test_info_has_the_keys_of_the_contract(ssdlab, trace):
    found = info(ssdlab, trace)
    assert set(KEYS) <= set(found)
    assert [found[key] for key in ("format", "requests", "reads", "writes")] == ["disksim", 3, 1, 2]
    assert (found["footprint_bytes"], found["devices"], found["backward_steps"]) == (4 * 4096, 2, 1)
    assert found["read_share"] == pytest.approx(1 / 3)
    assert found["mean_bytes"] == pytest.approx(32 * 512 / 3)
    assert found["duration_seconds"] == pytest.approx(0.00075)


def test_info_draws_a_plain_table_that_fits_eighty_columns(ssdlab, tmp_path):
    (tmp_path / "t").write_text(generated())
    for coding in ("utf-8", "ascii"):
        done = ssdlab("trace", "info", "t", env=os.environ | {"PYTHONIOENCODING": coding})
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.isascii() == (coding == "ascii")
        for line in done.stdout.splitlines():
            assert len(line) <= 80
            assert line == line.rstrip()
        for words in ("footprint", "Address over time", "Sizes up to", "Working set"):
            assert words in done.stdout


@pytest.mark.parametrize("text", [SMALL[:12], "0 0 0 8 1\n" * 3, "0 0 0 1 0\n9e9 0 1 1 0\n"])
def test_the_smallest_traces_are_drawn(ssdlab, tmp_path, text):
    (tmp_path / "t").write_text(text.replace("9e9", str(9 * 10**9)))
    done = ssdlab("trace", "info", "t", "--format", "disksim")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Address over time" in done.stdout


def test_json_in_a_file_leaves_the_table_on_standard_output(ssdlab, trace, tmp_path):
    done = ssdlab("trace", "info", trace, "--json", "info.json")
    assert json.loads((tmp_path / "info.json").read_text())["requests"] == 3
    assert "Sizes up to" in done.stdout


def test_standard_input_is_read_compressed_or_not(ssdlab, tmp_path):
    for text in (SMALL.encode(), gzip.compress(SMALL.encode())):
        done = ssdlab("trace", "info", "-", "--json", "-", input=text, text=False)
        assert json.loads(done.stdout)["requests"] == 3


def test_options_choose_what_is_read(ssdlab, trace):
    assert info(ssdlab, trace, "--devices", "1")["requests"] == 1
    assert info(ssdlab, trace, "--requests", "2")["requests"] == 2
    stated = info(ssdlab, trace, "--format", "csv", "--columns", COLUMNS)
    assert (stated["format"], stated["duration_seconds"]) == ("csv", pytest.approx(0.00075))


COLUMNS = "time=1:ms,device=2,offset=3:sectors,size=4,op=5:1=read"


def test_head_shows_lines_beside_what_they_were_read_as(ssdlab, trace):
    done = ssdlab("trace", "head", trace, "-n", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.25 1 64 16 0" in done.stdout
    assert "write 16 sectors at 64" in done.stdout
    assert "line 3" not in done.stdout
    found = json.loads(ssdlab("trace", "head", trace, "--json", "-").stdout)
    assert [row["at_ns"] for row in found["requests"]] == [500_000, 1_250_000, 1_000_000]


def test_the_same_from_python(trace, tmp_path):
    assert package.trace.info(trace).requests == 3
    assert package.trace.head(trace, 1).requests[0]["op"] == "read"
    assert package.trace.convert(trace, tmp_path / "out.mqsim").requests == 3
    assert package.trace.info(tmp_path / "out.mqsim", time_unit="ns").requests == 3
    with pytest.raises(package.InputError, match="time_unit"):
        package.trace.info(tmp_path / "out.mqsim")


# What it refuses


@pytest.mark.parametrize(
    ("text", "words", "part"),
    [
        ("rubbish\n", [], "first line is"),
        ("", [], "the file is empty"),
        (SMALL + "rubbish\n", [], "line 4"),
        ("1 0 8 8 1\n2 0 8 8 1\n", ["--format", "mqsim"], "--time-unit"),
        (SMALL, ["--format", "nonesuch"], "nonesuch"),
        (SMALL, ["--time-unit", "fortnights"], "--time-unit"),
        (SMALL, ["--columns", "time=1"], "--columns: the unit of time is missing"),
        (SMALL, ["--read-share", "0.5"], "--read-share"),
    ],
)
def test_wrong_input_is_one_line(refused, tmp_path, text, words, part):
    (tmp_path / "t").write_text(text)
    for command in (["info"], ["convert", "t.parquet"]):
        message = refused("trace", command[0], "t", *command[1:], *words)
        assert part in message
        assert message.count("\n") == 1
        assert "workload." not in message
    assert os.listdir(tmp_path) == ["t"]


def test_the_stated_number_of_bad_lines_is_skipped(ssdlab, refused, tmp_path):
    (tmp_path / "t").write_text(SMALL + "rubbish\nrubbish\n")
    found = info(ssdlab, "t", "--skip-bad", "2")
    assert (found["requests"], found["skipped"]) == (3, {"unreadable_lines": 2})
    assert "line 5" in refused("trace", "info", "t", "--skip-bad", "1")


def test_files_that_are_not_there_are_named(refused):
    assert "missing.trace" in refused("trace", "info", "missing.trace")
    assert "missing.trace" in refused("trace", "head", "missing.trace")


def test_targets_that_cannot_be_are_refused(refused, trace, tmp_path):
    assert "use --to" in refused("trace", "convert", trace, "out")
    assert ".xz can be read" in refused("trace", "convert", trace, "out.disksim.xz")
    assert "spc can be read but not written" in refused(
        "trace", "convert", trace, "o", "--to", "spc"
    )
    assert "does not exist" in refused("trace", "convert", trace, "none/out.parquet")
    assert os.listdir(tmp_path) == ["some.trace"]


# What it writes


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("out.parquet", []),
        ("out.disksim", []),
        ("out.disksim.zst", []),
        ("out.csv.gz", []),
        ("out.iolog", []),
        ("out.mqsim", ["--format", "mqsim", "--time-unit", "ns"]),
    ],
)
def test_a_converted_trace_has_the_same_statistics(ssdlab, tmp_path, name, words):
    (tmp_path / "t").write_text(generated())
    done = ssdlab("trace", "convert", "t", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3,000 requests" in done.stdout
    first, second = info(ssdlab, "t"), info(ssdlab, name, *words)
    for found in (first, second):
        del found["format"], found["skipped"]
    assert first == second


def test_through_parquet_and_back_nothing_is_lost(ssdlab, tmp_path):
    (tmp_path / "t.disksim").write_text(generated())
    ssdlab("trace", "convert", "t.disksim", "t.parquet")
    ssdlab("trace", "convert", "t.parquet", "again.disksim")
    assert (tmp_path / "again.disksim").read_text() == generated()


def test_what_a_format_cannot_carry_is_said(ssdlab, tmp_path):
    (tmp_path / "t").write_text(
        "fio version 3 iolog\n1 f add\n1 f open\n2 f write 0 4096\n3 f trim 0 4096\n4 f sync 0 0\n"
    )
    done = ssdlab("trace", "convert", "t", "t.disksim")
    assert "not representable in disksim: 2 trims_and_flushes" in done.stdout
    done = ssdlab("trace", "convert", "t", "t.parquet")
    assert "not representable in" not in done.stdout
    found = info(ssdlab, "t.parquet")
    assert (found["writes"], found["trims"], found["flushes"]) == (1, 1, 1)


def test_a_converted_trace_can_go_down_a_pipe(ssdlab, trace):
    done = ssdlab("trace", "convert", trace, "-", "--to", "disksim")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "1.250000 1 64 16 0"
    assert "3 requests" in done.stderr


def test_a_full_disk_is_one_message(ssdlab, trace):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = ssdlab("trace", "convert", trace, "/dev/full", "--to", "disksim")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ssdlab: /dev/full: cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_leaves_nothing(command, tmp_path):
    (tmp_path / "t").write_text(generated())
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*command, "trace", "convert", "fifo", "out.parquet"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    piece = generated(1000).splitlines(keepends=True)[-1].encode() * 100_000
    interrupted = 0.0
    with open(fifo, "wb", buffering=0) as pipe:
        started = time.monotonic()
        while process.poll() is None:
            try:
                pipe.write(piece)
            except BrokenPipeError:
                break
            if not interrupted and time.monotonic() > started + 1:
                process.send_signal(signal.SIGINT)
                interrupted = time.monotonic()
            assert not interrupted or time.monotonic() < interrupted + 20
    assert process.wait(timeout=20) == 130
    assert process.stderr.read() == "ssdlab: interrupted; nothing was written\n"
    assert sorted(os.listdir(tmp_path)) == ["fifo", "t"]


# Replaying


def test_a_run_takes_what_is_stated_and_standard_input(ssdlab, tmp_path):
    text = "".join(f"{number} 0 {number * 8} 8 1\n" for number in range(100))
    small = ["--set", "device.blocks_per_plane=64"]
    stated = ["--set", "workload.format=mqsim", "--set", "workload.time_unit=us"]
    words = ["run", "--trace", "-", *small, *stated, "--json", "-"]
    done = ssdlab(*words, input=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["host"]["all"]["requests"] == 100


# Real traces


def expected():
    path = REAL / "EXPECTED.tsv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.shared("traces/EXPECTED.tsv")
@pytest.mark.parametrize("row", expected() or [{"file": "absent"}], ids=lambda row: row["file"])
def test_real_traces_hold_what_is_known_of_them(ssdlab, row):
    words = []
    if "ASCII (ns)" in row["format"]:
        words = ["--format", "mqsim", "--time-unit", "ns"]
    if "oracleGeneral" in row["format"]:
        words = ["--format", "oracle_general", "--read-share", "0.4125"]
    found = info(ssdlab, REAL / row["file"], *words)
    gib = 2**30
    assert found["requests"] == int(row["requests"])
    assert found["devices"] == int(row["devices"])
    # What is drawn is near. This encoding has one size for each object, not for each request.
    loose = "oracleGeneral" in row["format"]
    assert 100 * found["read_share"] == pytest.approx(
        float(row["read_percent"]), abs=1 if loose else 0.006
    )
    if not loose:
        # The known mean counts trims, which move nothing.
        moved = found["total_bytes"] + found["trimmed_bytes"]
        mean_kib = moved / found["requests"] / 1024
        assert mean_kib == pytest.approx(float(row["mean_KiB"]), abs=0.006)
        assert found["footprint_bytes"] / gib == pytest.approx(
            float(row["footprint_4KiB_GiB"]), abs=0.0006
        )
        assert found["span_bytes"] / gib == pytest.approx(float(row["span_GiB"]), abs=0.0006)
    assert found["duration_seconds"] == pytest.approx(float(row["duration_s"]), abs=0.1)


@pytest.mark.shared("traces/EXPECTED.tsv")
def test_there_are_real_traces():
    assert all((REAL / row["file"]).exists() for row in expected())


def test_what_lies_beyond_a_device_is_counted(ssdlab, refused, trace):
    assert info(ssdlab, trace)["oddities"]["beyond_device"] is None
    assert info(ssdlab, trace, "--capacity", "8KiB")["oddities"]["beyond_device"] == 1
    assert info(ssdlab, trace, "--device", "agrawal2008")["oddities"]["beyond_device"] == 0
    shown = ssdlab("trace", "info", trace, "--capacity", "8KiB").stdout
    assert "beyond the device: 1 of the requests (33.3%)" in shown
    assert "--capacity: " in refused("trace", "info", trace, "--capacity", "much")
    both = ("--capacity", "8KiB", "--device", "agrawal2008")
    assert "exclude each other" in refused("trace", "info", trace, *both)
    assert "agrawal2008" in refused("trace", "info", trace, "--device", "agrawal208")


def test_a_trace_is_drawn(ssdlab, refused, trace, tmp_path):
    pytest.importorskip("matplotlib")
    done = ssdlab("trace", "info", trace, "--plot", "it.png", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")
    assert "the extension must be one of" in refused("trace", "info", trace, "--plot", "it.what")
    assert "the directory" in refused("trace", "info", trace, "--plot", "no/it.png")
