"""Any table as a trace: what its columns are called, how they are written, where they come from."""

import doctest
import gzip
import json
import sys

import pytest

import ssdlab
import ssdlab as package
from ssdlab import sweep, tables, trace
from ssdlab.tables import columns, merge, sources, values

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

N = 500
#: An instant with more digits than a float, and steps that end in an odd nanosecond.
BASE, STEP = 1_700_000_000_123_456_789, 1_000_003
AT = [BASE + n * STEP for n in range(N)]
OPS = ["write" if n % 3 == 0 else "read" for n in range(N)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SSDLAB_CACHE", str(tmp_path / "cache"))


def frame(**more):
    given = {
        "timestamp": AT, "op": OPS, "offset": [4096 * n for n in range(N)], "length": [4096] * N,
    }  # fmt: skip
    return pd.DataFrame(given | more)


def text(path, head, rows):
    content = head + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def of_pandas(folder):
    frame().to_parquet(folder / "it.parquet")
    return "it.parquet", None


def of_polars(folder):
    polars = pytest.importorskip("polars")
    polars.DataFrame(frame().to_dict("list")).write_parquet(folder / "it.parquet")
    return "it.parquet", None


def of_a_cloud(folder):
    rows = ((0, "W" if n % 3 == 0 else "R", 4096 * n, 4096, AT[n]) for n in range(N))
    text(folder / "it.csv", "device_id,opcode,offset,length,timestamp", rows)
    return "it.csv", "time=timestamp:ns"


def of_iso_times(folder):
    at = pd.to_datetime(AT, unit="ns").strftime("%Y-%m-%dT%H:%M:%S.%f")
    rows = ((f"{at[n]}{AT[n] % 1000:03d}Z", OPS[n].title(), 8 * n, 8) for n in range(N))
    text(folder / "it.csv", "when,kind,lba,blocks", rows)
    return "it.csv", "time=when,op=kind,offset=lba*512,size=blocks*512"


def of_gzip(folder):
    rows = ((f"{at // 10**9}.{at % 10**9:09d}", op, 8 * n, 8)
            for n, (at, op) in enumerate(zip(AT, OPS, strict=True)))  # fmt: skip
    text(folder / "it.csv.gz", "ts;rw;sector;sectors".replace(";", ","), rows)
    return "it.csv.gz", None


def of_a_pattern(folder):
    for part in range(3):
        frame().iloc[part::3].to_parquet(folder / f"it-{part}.parquet")
    return "it-*.parquet", None


def of_feather(folder):
    frame().to_feather(folder / "it.arrow")
    return "it.arrow", None


SIX = [of_pandas, of_polars, of_a_cloud, of_iso_times, of_gzip, of_a_pattern, of_feather]


@pytest.mark.parametrize("source", SIX, ids=lambda it: it.__name__)
def test_tables_of_all_sources_are_the_same_trace_to_the_nanosecond(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, mapping = source(tmp_path)
    found = trace.head(path, N, columns=mapping).requests
    assert [it.at_ns for it in found] == AT
    assert [it.op for it in found] == OPS
    assert [(it.sector, it.sectors) for it in found] == [(8 * n, 8) for n in range(N)]


@pytest.mark.parametrize("rows", [1, 7, 1 << 17])
def test_the_size_of_a_batch_changes_nothing(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BATCH_ROWS", rows)
    monkeypatch.chdir(tmp_path)
    path, _ = of_a_pattern(tmp_path)
    assert [it.at_ns for it in trace.head(path, N).requests] == AT


def test_a_table_in_memory_is_run_and_written(tmp_path):
    polars = pytest.importorskip("polars")
    device = {"preset": "samsung-pm9a3", "scale": 64}
    tables_ = [
        frame(), polars.DataFrame(frame().to_dict("list")), pa.Table.from_pandas(frame()),
        polars.DataFrame(frame().to_dict("list")).lazy(),
    ]  # fmt: skip
    runs = [ssdlab.run(device=device, trace=it).host.to_dict() for it in tables_]
    assert all(it == runs[0] for it in runs) and runs[0]["all"]["requests"] == N
    trace.write(tmp_path / "it.parquet", frame())
    assert ssdlab.run(device=device, trace=tmp_path / "it.parquet").host.to_dict() == runs[0]


def test_a_pattern_is_one_trace_or_the_values_of_an_axis(tmp_path, monkeypatch, ssdlab):
    monkeypatch.chdir(tmp_path)
    of_a_pattern(tmp_path)
    done = ssdlab("run", "--device", "samsung-pm9a3", "--trace", "it-*.parquet", "--json", "-")
    assert json.loads(done.stdout)["host"]["all"]["requests"] == N, done.stderr
    found = sweep(device="samsung-pm9a3", vary={"trace": "it-*.parquet"})
    assert [point.parameters["trace"] for point in found] == [f"it-{n}.parquet" for n in range(3)]


@pytest.mark.parametrize(
    ("table", "mapping", "problem"),
    [
        ({"timestamp": [BASE]}, None, "no column says the op, offset, size"),
        (frame(ts=AT), None, "timestamp and ts could each be the time"),
        (frame(timestamp=range(N)), None, "begins at 0, which is no date in any unit"),
        (frame(op=["X"] * N), None, 'has "X", which is no read, write, trim or flush'),
        (frame(op=[0] * N), None, 'has "0", which is no read, write, trim or flush'),
        (frame(op=[7] * N), "op=op:1=write,2=read", 'has "7", which is no code that op maps'),
        (frame(offset=[None, *range(N - 1)]), None, 'column "offset" has no value in row 1'),
        (frame(offset=[-4096] * N), None, "has -4,096, which is no offset of a request"),
        (frame(offset=["a"] * N), None, "is not all numbers"),
        (frame(offset=[0.5] * N), None, "has numbers that are not whole"),
        (frame(), "offset=ofset", 'there is no column "ofset" (did you mean offset?)'),
        (frame(), "offset=__import__('os').getcwd()", "there is no column \"__import__('os')"),
    ],
)
def test_a_refusal_names_the_columns_and_the_option_in_three_lines(
    table, mapping, problem, tmp_path
):
    with pytest.raises(ssdlab.InputError) as refused:
        trace.write(tmp_path / "it.parquet", pd.DataFrame(table), columns=mapping)
    lines = str(refused.value).splitlines()
    assert len(lines) == 3 and problem in lines[0]
    assert lines[1].startswith("  its columns: timestamp")
    assert lines[2].startswith("  map them") and ": columns=" in lines[2]
    assert not (tmp_path / "it.parquet").exists()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("2,wrte,0,4096", 'line 5: bad operation "wrte"'),
        ("2,write,x,4096", 'line 5: bad offset "x"'),
        ("2,write,-1,4096", 'line 5: negative offset "-1"'),
        ("2,write,0,9999999999999", 'line 5: too large a size "9999999999999"'),
        ("2,write,,4096", 'line 5: bad offset ""'),
        ("2,write,0", "line 5: no column 4"),
    ],
)
@pytest.mark.parametrize("opener", [open, gzip.open])
def test_a_refused_value_is_in_a_line(line, problem, opener, tmp_path):
    path = tmp_path / "it.csv"
    good = "1,read,0,4096\n"
    with opener(path, "wt") as file:
        file.write(f"time_us,op,offset,size\n{good}\n{good}{line}\n{20 * good}")
    with pytest.raises(ssdlab.InputError) as refused:
        trace.info(path)
    assert problem in str(refused.value).splitlines()[0]


@pytest.mark.parametrize(
    ("head", "mapping", "problem"),
    [
        ("timestamp,what,at,len", None, "timestamp and at could each be the time"),
        ("when,kind,lba", None, "no column says the time, op, offset, size"),
        ("when,op,offset,size", "time=whne:us", 'there is no column "whne" (did you mean when?)'),
        ("time,op,offset,size", None, 'column "time" begins at 5, which is no date in any unit'),
    ],
)
def test_a_table_of_text_is_refused_with_its_columns(head, mapping, problem, tmp_path):
    rows = ((5, "R", 0, 512)[: head.count(",") + 1] for _ in range(3))
    text(tmp_path / "it.csv", head, rows)
    with pytest.raises(ssdlab.InputError) as refused:
        trace.info(tmp_path / "it.csv", columns=mapping)
    lines = str(refused.value).splitlines()
    assert len(lines) == 3 and problem in lines[0], lines
    assert lines[1] == f"  its columns: {head.replace(',', ', ')}"
    assert lines[2].startswith("  map them") and ": columns=" in lines[2]


def test_text_is_read_without_pyarrow(tmp_path, monkeypatch):
    """Headers with a byte order mark, ends of lines of Windows, quotes, and any separator."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    rows = [(n * 1000, f'"app; {n}"', "WR"[n % 2], 8 * n, 8) for n in range(20)]
    lines = ["ts_ns;process name;op;first sector;sectors", *(";".join(map(str, it)) for it in rows)]
    path = tmp_path / "it.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    found = trace.head(path, 20).requests
    assert [(it.at_ns, it.sector, it.sectors) for it in found] == [
        (n * 1000, 8 * n, 8) for n in range(20)
    ]
    assert [it.op for it in found[:2]] == ["write", "read"]
    done = ssdlab.run(device="samsung-pm9a3", trace=path, set={"run.seed": 1})
    assert done.host.all.requests == 20


def test_codes_and_arithmetic_say_what_numbers_mean(tmp_path):
    path = tmp_path / "it.csv"
    path.write_text("ts_ns,opc,slba,nlb\n0,0x02,10,0\n100,1,20,3\n200,0,0,0\n300,9,5,1\n")
    columns = "time=ts_ns,op=opc:1=write,2=read,0=flush,9=trim,offset=slba*4096,size=(nlb+1)*4096"
    found = trace.head(path, columns=columns).requests
    assert [(it.op, it.sector, it.sectors) for it in found] == [
        ("read", 80, 8), ("write", 160, 32), ("flush", 0, 0), ("trim", 40, 16),
    ]  # fmt: skip
    with pytest.raises(ssdlab.InputError, match="needs parentheses"):
        trace.head(path, columns="time=ts_ns,op=opc:1=read,offset=slba*4096,size=nlb+1*4096")


def test_codes_of_parquet_and_arrow_are_those_of_text(tmp_path):
    codes = [2, 1, 0, 9, 8, 5, 1, 2]
    table = pd.DataFrame({"ts_ns": range(8), "opc": codes, "slba": range(8), "nlb": [0, 3] * 4})
    mapping = "time=ts_ns,op=opc:1=write,0x02=read;0=skip,9=trim,bit3=flush,*=skip," \
              "offset=slba*4096,size=(nlb+1)*4096"  # fmt: skip
    table.to_csv(tmp_path / "it.csv", index=False)
    table.to_parquet(tmp_path / "it.parquet")
    table.to_feather(tmp_path / "it.arrow")
    table.astype({"opc": float}).to_parquet(tmp_path / "floats.parquet")
    table.astype({"opc": str}).to_feather(tmp_path / "texts.arrow")
    expected = [("read", 0, 8), ("write", 8, 32), ("trim", 24, 32), ("flush", 0, 0),
                ("write", 48, 8), ("read", 56, 32)]  # fmt: skip
    for path in sorted(tmp_path.iterdir()):
        if path.is_file():
            found = trace.head(path, columns=mapping).requests
            it = [(it.op, *((0, 0) if it.op == "flush" else (it.sector, it.sectors)))
                  for it in found]  # fmt: skip
            assert it == expected, path
    with pytest.raises(ssdlab.InputError, match=r"no code, such as 1=write \(did you mean read"):
        trace.write(tmp_path / "no.parquet", table, columns="op=opc:1=raed")


def test_any_lines_are_a_trace_by_a_pattern(tmp_path, ssdlab):
    path = tmp_path / "my.log"
    path.write_text("hello\n[7 us] W 4096@8192 took 20\n[9 us] R 512@0 took 5\n")
    pattern = (
        r"^\[(?<time_us>\d+) us\] (?<op>\w) (?<bytes>\d+)@(?<offset>\d+) took (?<latency_us>\d+)"
    )
    found = trace.head(path, pattern=pattern).requests
    assert [(it.at_ns, it.op, it.sector) for it in found] == [
        (7000, "write", 16),
        (9000, "read", 0),
    ]
    done = ssdlab("run", "--device", "samsung-pm9a3", "--trace", path, "--pattern", pattern,
                  "--json", "-")  # fmt: skip
    assert json.loads(done.stdout)["host"]["all"]["requests"] == 2, done.stderr
    for wrong, said in [("(", "is no regular expression"), ("W", "names no group"),
                        ("^(?<time_us>x)", "no line of the beginning")]:  # fmt: skip
        with pytest.raises(package.InputError, match=said):
            trace.head(path, pattern=wrong)


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ("when=a", '"when" is no role of a column; roles: time, op, offset, size, device'),
        ("ofset=a", "did you mean offset?"),
        ("time=a,time=b", "time is given twice"),
        ("time", '"time" maps no column'),
        ("offset=lba*0", "a factor of 0"),
        ("size=nlb+1*4096", "it needs parentheses, as in (nlb+1)*4096"),
    ],
)
def test_a_wrong_mapping_is_refused(mapping, problem):
    with pytest.raises(ssdlab.InputError, match="--columns: ") as refused:
        columns.parse(mapping)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("mapping", "sector"),
    [("offset=lba*512", 24), ("offset=lba*4096", 192), ("offset=lba*1024/2", 24),
     ("offset=lba:sectors", 24), ("offset=lba:KiB", 48), ("offset=lba+488", 1),
     ("offset=lba/0.001", 46), ("offset=(lba-20)*512", 4), ("offset=(lba+1)/2:sectors", 12),
     ("offset=a-1:sectors", 7)],
)  # fmt: skip
def test_expressions_are_a_column_and_numbers(mapping, sector, tmp_path):
    table = frame().rename(columns={"offset": "lba"}).assign(lba=24, **{"a-1": 7})
    path = tmp_path / "it.parquet"
    trace.write(path, table, columns=mapping)
    assert trace.head(path, 1).requests[0].sector == sector


@pytest.mark.parametrize("unit", [10**9, 10**6, 10**3, 1])
def test_an_epoch_time_of_any_unit_is_known_by_its_size(unit, tmp_path):
    at = [value // unit for value in AT]
    trace.write(tmp_path / "it.parquet", frame(timestamp=at))
    found = trace.head(tmp_path / "it.parquet", N).requests
    assert [it.at_ns for it in found] == [value * unit for value in at]


def test_windows_counts_from_1601(tmp_path):
    at = [value // 100 + 116_444_736_000_000_000 for value in AT]
    trace.write(tmp_path / "it.parquet", frame(timestamp=at))
    found = trace.head(tmp_path / "it.parquet", N).requests
    assert [it.at_ns for it in found] == [value // 100 * 100 for value in AT]


def test_words_for_reads_and_writes_and_names_of_devices(tmp_path):
    words = ["R", "read", "Read", "rd", "W", "WS", "Write", "discard", "Flush", "RA"]
    table = frame(op=[words[n % 10] for n in range(N)], volume=[f"vol-{n % 2}" for n in range(N)])
    trace.write(tmp_path / "it.parquet", table)
    found = trace.head(tmp_path / "it.parquet", 10).requests
    kinds = ["read"] * 4 + ["write"] * 3 + ["trim", "flush", "read"]
    assert [it.op for it in found] == kinds
    assert [it.device for it in found] == [0, 1] * 5


def test_the_header_of_tencent_says_what_its_numbers_mean(tmp_path):
    rows = ((AT[n] // 10**9, 8 * n, 8, n % 2, 1063) for n in range(N))
    text(tmp_path / "it.csv", "Timestamp,Offset,Size,IOType,VolumeID", rows)
    found = trace.head(tmp_path / "it.csv", 2).requests
    assert [(it.op, it.sector, it.device) for it in found] == [
        ("read", 0, 1063),
        ("write", 8, 1063),
    ]


def test_what_the_engine_knows_goes_to_it_as_it_is(tmp_path):
    trace.write(tmp_path / "it.parquet", frame())
    assert tables.as_trace(tmp_path / "it.parquet") == tmp_path / "it.parquet"
    (tmp_path / "it.spc").write_text("0,8,4096,R,0.5\n" * 3)
    assert tables.as_trace(tmp_path / "it.spc") == tmp_path / "it.spc"
    assert tables.as_trace("-") == "-"


def test_a_table_is_converted_once_until_it_changes(tmp_path):
    frame().to_parquet(tmp_path / "it.parquet")
    first = tables.as_trace(tmp_path / "it.parquet")
    made = first.stat().st_ino
    assert tables.as_trace(tmp_path / "it.parquet") == first and first.stat().st_ino == made
    frame(length=[8192] * N).to_parquet(tmp_path / "it.parquet")
    assert tables.as_trace(tmp_path / "it.parquet") != first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trace", "no-*.parquet"], "trace no-*.parquet: no file matches the pattern"),
        (["--columns", "time=a"], "there is no --trace that it describes"),
        (["--trace", "cut.parquet"], "cut.parquet: cannot be read as a table"),
    ],
)
def test_wrong_input_is_one_message(words, said, refused, tmp_path):
    frame().to_parquet(tmp_path / "it.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "it.parquet").read_bytes()[:999])
    assert said in refused("run", "--device", "samsung-pm9a3", *words)


def test_an_object_a_line_is_a_request(tmp_path, refused):
    path, good = tmp_path / "it.jsonl", '{"time_us": 1, "op": "R", "offset": 4096, "size": 512}\n'
    path.write_text(2 * good)
    found = trace.head(path, 9).requests
    assert [(it.at_ns, it.op, it.sector) for it in found] == [(1000, "read", 8)] * 2
    path.write_text(good + good.replace("R", "sing"))
    assert 'it.jsonl, line 2: column "op" has "sing"' in refused("trace", "info", path)


def test_docs_of_the_modules():
    assert all(doctest.testmod(it).failed == 0 for it in (columns, merge, sources, values))


#: What a request may say beside its time, place and kind, in as many ways as it is written.
MORE = {
    "handle": [None if n % 5 == 4 else n % 3 for n in range(N)],
    "fua": [n % 2 == 0 for n in range(N)],
    "device": [n % 4 for n in range(N)],
}


def of_text(folder, table, separator):
    path = folder / "more.csv"
    table.to_csv(path, index=False, sep=separator)
    return path


def of_packed_text(folder, table):
    path = folder / "more.csv.gz"
    table.to_csv(path, index=False)
    return path


def of_arrow(folder, table):
    table.to_feather(folder / "more.arrow")
    return folder / "more.arrow"


def of_another_parquet(folder, table):
    table.to_parquet(folder / "more.parquet")
    return folder / "more.parquet"


FORMATS = {
    "commas": lambda folder, table: of_text(folder, table, ","),
    "tabs": lambda folder, table: of_text(folder, table, "\t"),
    "gzip": of_packed_text,
    "arrow": of_arrow,
    "parquet": of_another_parquet,
    "memory": lambda folder, table: table,
}


def as_parquet(given, folder):
    """What is read of a trace, as the columns of a Parquet file."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tables.as_trace(given)
    if tables.is_object(given) or str(path).endswith(".parquet"):
        return parquet.read_table(path).to_pydict()
    trace.convert(path, folder / "read.parquet")
    return parquet.read_table(folder / "read.parquet").to_pydict()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("column", MORE)
def test_every_column_is_kept_from_every_format(column, form, tmp_path):
    table = frame(**{column: MORE[column]})
    if column == "handle":
        table["handle"] = table["handle"].astype("Int64")
    read = as_parquet(FORMATS[form](tmp_path, table), tmp_path)
    wanted = [255 if it is None else it for it in MORE[column]]
    assert read[column] == wanted
    if form in ("arrow", "parquet", "memory"):
        assert ("fua" in read, "handle" in read) == (column == "fua", column == "handle")


def test_a_pattern_keeps_the_columns_that_one_file_has(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    frame(handle=1).iloc[::2].to_parquet(tmp_path / "it-0.parquet")
    frame(fua=True).iloc[1::2].to_csv(tmp_path / "it-1.parquet", index=False)
    read = parquet.read_table(tables.as_trace("it-*.parquet")).to_pydict()
    assert read["handle"] == [1 if n % 2 == 0 else 255 for n in range(N)]
    assert read["fua"] == [n % 2 == 1 for n in range(N)]


def test_the_end_of_requests_is_kept(tmp_path):
    frame(end_ns=[at + 5 for at in AT]).to_feather(tmp_path / "it.arrow")
    read = as_parquet(tmp_path / "it.arrow", tmp_path)
    assert read["end_ns"] == [at + 5 for at in AT]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"handle": -1}, "has -1, which is no handle from 0 to 255"),
        ({"handle": 256}, "has 256, which is no handle"),
        ({"handle": "hot"}, "is not all numbers"),
        ({"fua": 2}, 'has "2", which is not 0 or 1'),
    ],
)
def test_wrong_hints_are_refused(more, problem):
    with pytest.raises(ssdlab.InputError, match=problem):
        tables.as_trace(frame(**more))


COUNTED = "time=1:us,op=2,offset=3:bytes,size=4:bytes"


def test_commands_of_nvme_are_words_of_a_table(tmp_path):
    rows = ["0,write,0,8192", "100,range,0,4096", "100,copy,65536,4096", "900,zeroes,0,8192"]
    (tmp_path / "it.csv").write_text("\n".join(["time_us,op,offset,bytes", *rows, ""]))
    for more in ({}, {"workload.format": "csv", "workload.columns": COUNTED}):
        found = ssdlab.run(
            device="tlc-enterprise",
            trace=tmp_path / "it.csv",
            set={"workload.commands": True, **more},
        ).to_dict()
        assert found["host"]["all"]["requests"] == 3 and found["commands"]["copy"]


def test_keys_that_say_how_a_file_is_read_are_followed(tmp_path, ssdlab):
    """The engine then reads the file itself, and no copy of it as Parquet."""
    (tmp_path / "it.csv").write_text("time_us,op,offset,bytes\n0,write,0,8192\n100,read,0,4096\n")
    keys = ["--set", "workload.format=csv", "--set", f"workload.columns={COUNTED}"]
    for words in (keys, keys[2:], ["--columns", COUNTED]):
        done = ssdlab(
            "run", "--device", "tlc-enterprise", "--trace", "it.csv", *words, "--json", "-"
        )
        assert done.returncode == 0, done.stderr
        host = json.loads(done.stdout)["host"]
        assert (host["read"]["bytes"], host["write"]["bytes"]) == (4096, 8192)
    told = {"workload.format": "csv", "workload.columns": COUNTED}
    found = package.run(device="tlc-enterprise", trace=tmp_path / "it.csv", set=told)
    assert found.host.all.requests == 2
