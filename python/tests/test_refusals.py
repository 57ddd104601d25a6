"""What is refused at the door says what it is and the one option that mends it, in three lines."""

import gzip
import json
import textwrap

import pytest

import ssdlab as package

#: Columns of a terminal, of which a message takes three lines.
COLUMNS = 100


@pytest.fixture
def refused(ssdlab):
    """The message of a command that is refused."""

    def refused(*words, **options):
        done = ssdlab(*words, **options)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
        return done.stderr

    return refused


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def disksim(rows):
    return "".join(f"{n}.5 0 {at} {size} 0\n" for n, (at, size) in enumerate(rows))


def test_bytes_that_were_taken_for_sectors_are_doubted(refused, ssdlab, file):
    pages = disksim([(4096 * n, 4096) for n in range(8)])
    far = disksim([(2**42, 8)])
    large = disksim([(8, 32769), (16, 40001)])
    for text, doubt in (
        (pages, "each address and each size is a multiple of 4096"),
        (far, "more than any drive has"),
        (large, "MiB in the mean"),
    ):
        path = file("some.trace", text)
        said = refused("run", "--trace", path)
        assert str(path) in said and doubt in said and "workload.format=disksim" in said, said
        assert "--columns" in said
        assert doubt in refused("trace", "info", path)
    named = ("--set", "workload.format=disksim", "--set", "device.blocks_per_plane=64")
    assert ssdlab("run", "--trace", file("a.trace", pages), *named).returncode == 0
    # What is asked of sectors, and large trims, are in no doubt.
    usual = disksim([(8 * n, 8) for n in range(8)])
    assert ssdlab("run", "--trace", file("b.trace", usual)).returncode == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b;c 12\nd,e;f 13\n", ["the nearest are ", "--columns"]),
        ("1,2,3,4,5,6,7,8\n", ["the nearest are ", "workload.format"]),
        ('{"fio version" : "fio-3.36", "jobs": []}\n', ["results of fio", "ssdlab ask "]),
        ('{"schema": 1, "experiment": {}}\n', ["results of ssdlab", "ssdlab why "]),
        ('{"a": 1}\n', ["this is JSON"]),
        ("[global]\nrw=read\n", ["a job of fio", "the ending .fio"]),
        ("[device]\nkind = 'ssd'\n", ["an experiment", "ssdlab run "]),
        ('{"sysstat": {}}\n', ["a report of iostat", "ssdlab ask "]),
        ("avg-cpu:  %user\n 1.0\n\nDevice r/s rkB/s w/s\nsda 1 2 3\n", ["a report of iostat"]),
        ("Attaching 2 probes...\n12 W 8 8\n", ["a program of bpftrace", "--pattern"]),
        ("TIME(s)  T  BYTES  LAT(ms)\n1.5  W  4096  3.1\n", ["disksnoop", "biosnoop of bcc does"]),
        ("0\t0.5\t0.0001\t0\tWrite\t4823007\t8\n", ["a log of DiskMon", "--columns"]),
        ("0.000000000 Q R 4096 8\n", ["blkparse -f", "workload.layout"]),
        ("sudo qemu -device femu,devsz_mb=12\n", ["a script of FEMU", "--device"]),
        ("Device r/s w/s\nsda 1 2\n", ["a report of iostat", "ssdlab ask "]),
    ],
)
def test_a_file_that_is_no_trace_is_told_what_it_is(text, parts, refused, file):
    path = file("what.txt", text)
    said = refused("run", "--trace", path)
    assert str(path) in said and all(part in said for part in parts), said
    if "this is" in said and "an experiment" not in said:
        # Every command has the same sentence.
        what = said.partition("this is ")[2]
        assert what == refused("run", path).partition("this is ")[2]


def test_a_trace_of_hfplayer_is_read_by_its_heading(file):
    head = "#DUMP_OFFSET.I,ELAPSED_USECS.D,ELAPSED_TICKS.I,CMD.S,INFLIGHT_IOS.I,TS.I,SEQID.I,"
    head += "LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I,LATENCY_TICKS.I,HOST_ID.I,HOST_LUN.I,"
    head += "LATENCY_USECS.D\n"
    rows = "0,5.5,9,WR_IN,0,9,1,5,1,0,112,8,9,7,5,9.8\n56,9.5,9,RD_IN,0,9,2,5,0,0,64,16,9,7,5,9.8\n"
    found = package.trace.head(file("it.csv", head + rows), 2).requests
    assert [(it.at_ns, it.op, it.sector, it.sectors) for it in found] == [
        (5500, "write", 112, 8), (9500, "read", 64, 16),
    ]  # fmt: skip


def test_the_nearest_formats_are_those_with_such_lines(refused, file):
    said = refused("run", "--trace", file("x.log", "12.5 0 88 8 write\n13.5 0 99 8 read\n"))
    assert "nearest are disksim" in said.replace("iosnoop, ", "") and "oracle" not in said


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("samsung-pm9a4", "samsung-pm9a3"),
        ("pm9a3", "samsung-pm9a3"),
        ("7450", "micron-7450-max or micron-7450-pro"),
    ],
)
def test_an_unknown_name_leads_with_the_suggestion(name, meant, refused):
    said = refused("run", "--device", name)
    assert f"of that name (did you mean {meant}?); `ssdlab list devices` shows" in said
    assert len(said) < 200


def test_an_unknown_key_leads_with_the_suggestion(refused, file):
    said = refused("run", file("e.toml", "[device]\nchanels = 4\n"))
    assert said.endswith("e.toml:2: unknown key device.chanels (did you mean channels?)\n")


def test_fewer_channels_are_refused_with_the_blocks_that_keep_the_capacity(refused):
    for device in ("samsung-pm9a3", "samsung-990pro"):
        said = refused("run", "--device", device, "--set", "device.channels=4")
        assert "is not less than what the flash holds" in said
        assert "keeps the flash of the preset" in said
        blocks = said.partition("--set device.blocks_per_plane=")[2].split()[0]
        run = {"device.channels": 4, "device.blocks_per_plane": blocks, "workload.requests": 10}
        fewer = package.run(device=device, set=run)
        whole = package.run(device=device, set={"workload.requests": 10})
        assert fewer.capacity_bytes == whole.capacity_bytes
        assert fewer.flash.spare.nominal == pytest.approx(whole.flash.spare.nominal, abs=2e-3)


TABLE = "time_us,op,offset,size\n0,write,0,4096\n10,read,4096,4096\n"
MQSIM = (
    "<Execution_Parameter_Set><Device_Parameter_Set><Flash_Channel_Count>many</Flash_Channel_Count>"
    "</Device_Parameter_Set></Execution_Parameter_Set>"
)
PARV = "ssdmodel_ssd SSD {\n  Page read latency = soon\n}\ninstantiate [ ssd0 ] as SSD\n"
SMART = {"device": {"protocol": "ATA"}, "ata_smart_attributes": {"table": []}}
DRIVE = ("--device", "agrawal2008")
REPLAY = ("run", *DRIVE, "--trace", "FILE")
INFO, ASK, RUN = ("trace", "info", "FILE"), ("ask", "FILE"), ("run", "FILE")
JOB = (*RUN, *DRIVE)
SET = ("run", *DRIVE, "--set")
SHEET = ("device", "from-datasheet", "FILE")
#: Inputs of every kind that are wrong, and the commands that read them.
WRONG = {
    "an empty trace": ("t.csv", "", REPLAY, INFO, ASK),
    "prose": ("t.txt", "dear sir, this is\nno trace at all.\n", REPLAY, INFO, ASK),
    "numbers": ("t.txt", "1;2;3;4;5;6;7;8;9\n" * 9, REPLAY, INFO, ASK),
    "a long line": ("t.txt", "x" * 300 + " y" * 9, REPLAY),
    "a program": ("t.bin", b"\x7fELF" + bytes(200), REPLAY, INFO),
    "no such columns": ("t.csv", "when,kind,lba,n\n1,read,8,8\n", REPLAY, INFO, ASK),
    "two candidates": ("t.csv", "time,start,op,offset,size\n1,2,read,0,4096\n", REPLAY, INFO),
    "no unit": ("t.csv", "time,op,offset,size\n0.5,read,0,4096\n", REPLAY, INFO),
    "no operation": ("t.csv", TABLE + "20,sing,0,4096\n", REPLAY, INFO, ASK),
    "a short row": ("t.csv", TABLE + "20,read\n", REPLAY),
    "columns": (
        *("t.csv", TABLE, (*REPLAY, "--columns", "offset=lba")),
        *((*REPLAY, "--columns", it) for it in ("sise=size", "time=time_us:parsec", "time")),
    ),
    "another format": ("t.csv", TABLE, (*INFO, "--format", "msr"), (*INFO, "--pattern", "(")),
    "beyond the device": (
        *("t.csv", "time_us,op,offset,size\n0,read,900000000000000,4096\n"),
        (*REPLAY, "--set", "workload.beyond=error"),
    ),
    "steps back": (
        *("t.csv", "time_s,op,offset,size\n900,read,0,4096\n0,read,0,4096\n", REPLAY, ASK),
    ),
    "cut short": ("t.csv.gz", gzip.compress(TABLE.encode() * 500)[:60], REPLAY, INFO, ASK),
    "a line of blkparse": (
        *("t.txt", "259,0 0 1 0.000000100 7 Q R 8 + 8 [a]\n259,0 0 2 0.0000x 7 Q R 8 + 8 [a]\n"),
        *(REPLAY, INFO),
    ),
    "a log of fio": ("t.log", "fio version 2 iolog\n/dev/x add\n/dev/x reed 0 4096\n", REPLAY),
    "damaged Parquet": ("t.parquet", b"PAR1" + bytes(80) + b"PAR1", REPLAY, INFO, ASK),
    "a key of fio": ("j.fio", "[a]\nrw=randread\nnosuch=3\n", JOB, ASK),
    "a job for a trace": ("j.txt", "[global]\nrw=randread\n[a]\nbs=4k\n", REPLAY, INFO, ASK),
    "an option of DiskSpd": ("d.cmd", "diskspd.exe -b4K -q9 a.dat\n", JOB, ASK),
    "a value of MQSim": ("m.xml", MQSIM, RUN, REPLAY),
    "cut XML": ("m.xml", MQSIM[:50], RUN, ASK),
    "a value of DiskSim": ("m.parv", PARV, (*RUN, "--workload", "random-read")),
    "words of DiskSim": ("m.parv", "hello world\n", RUN, ASK),
    "a script": ("f.sh", "#!/bin/bash\necho hi\n", RUN),
    "a key of a sheet": ("s.toml", '[sheet]\nname = "x"\n', SHEET, ("device", "check", "FILE")),
    "values of a sheet": ("s.toml", 'name = "x"\ncapacity = "many"\n', SHEET),
    "syntax": ("e.toml", "[device\nx = 1\n", RUN, (*RUN[:1], "--device", "FILE"), ASK, REPLAY),
    "a section": ("e.toml", "[devise]\nchannels = 4\n", RUN),
    "a quantity": ("e.toml", "[device.timing]\nread = '5 parsecs'\n", RUN, ASK),
    "a drive without wear": ("s.json", json.dumps(SMART), ASK, REPLAY, RUN),
    "other JSON": ("s.json", '{"a": 1}', ASK, REPLAY, RUN),
    "cut JSON": ("s.json", '{"a": [1, 2', ASK, REPLAY, RUN),
    "results of fio": ("f.json", '{"fio version": "fio-3.36", "jobs": []}', ASK, REPLAY, RUN),
    "columns of iostat": ("i.txt", "Device r/s w/s rkB/s wkB/s\nsda 1 2\n", ASK, REPLAY),
    "JSON of iostat": ("i.json", '{"sysstat": {"hosts": [{"statistics": [{}]}]}}', ASK, REPLAY),
    "a script of faults": ("x.txt", "0ms sloow 2\n", (*SET, "run.faults=FILE")),
    "a saved drive": ("x.drive", "nothing", (*SET, "run.load_drive=FILE")),
    "no such volume": ("t.csv", TABLE, (*REPLAY, "--set", "workload.devices=7")),
    "a header alone": ("t.csv", TABLE.partition("0,")[0], REPLAY, ASK),
    "no such file": (None, "", REPLAY, INFO, ASK, RUN, SHEET),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_refusal_names_the_users_file_in_three_lines(kind, ssdlab, tmp_path):
    name, content, *commands = WRONG[kind]
    path = tmp_path / (name or "absent.toml")
    if name is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in commands:
        done = ssdlab(*(word.replace("FILE", str(path)) for word in command))
        assert (done.returncode, done.stdout) == (2, ""), (command, done)
        assert str(path) in done.stderr and "Traceback" not in done.stderr, (command, done.stderr)
        short = done.stderr.replace(str(path), path.name).splitlines()
        lines = [part for line in short for part in textwrap.wrap(line, COLUMNS)]
        assert len(lines) <= 3, (command, lines)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"offset": [0, 9 * 10**14]}, ("--set", "workload.beyond=error")),
        ({"time_us": [9 * 10**8, 0]}, ()),
        ({"op": ["range", "range"]}, ()),
        ({"op": ["read", "sing"]}, ()),
        ({"size": [4096, None]}, ()),
    ],
)
def test_a_table_that_was_converted_is_called_by_its_own_name(changed, words, ssdlab, tmp_path):
    pa = pytest.importorskip("pyarrow")
    good = {"time_us": [0, 10], "op": ["read"] * 2, "offset": [0, 4096], "size": [4096, 4096]}
    path = tmp_path / "mine.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(good | changed), path)
    done = ssdlab("run", *DRIVE, "--trace", path, *words)
    assert done.returncode == 2 and str(path) in done.stderr
    assert done.stderr.count(".parquet") == 1
    with pytest.raises(package.InputError) as refused:
        package.run(device="agrawal2008", trace=pa.table(good | changed), set=dict(
            word.split("=") for word in words[1:]
        ))  # fmt: skip
    assert ".parquet" not in str(refused.value) and "argument trace" in str(refused.value)


def test_a_folder_given_as_a_trace_names_a_file_in_it(tmp_path, refused):
    folder = tmp_path / "capture"
    folder.mkdir()
    (folder / "mine.blktrace.0").write_bytes(b"")
    said = refused("run", "--trace", folder)
    assert f"trace {folder}: is a folder; name one file in it, such as {folder}/mine.blk" in said
