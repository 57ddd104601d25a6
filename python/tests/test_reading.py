"""Whatever is in a file that is read again: it is refused with one message, or the laws hold."""

import copy
import json
import math
import random

import pytest

import ssdlab
from ssdlab import InputError, foreign, layers, reading
from ssdlab.datasheet import contradictions, given
from ssdlab.results import Results

LIMITED = 25
BAD = [None, True, "x", "nan", [], {}, [1], -1, 0, 1, 2, 0.5, 1e18, 1e29, 1e31, 1e308, 10**40, 1.5]
NO_JSON = ["NaN", "Infinity", "-Infinity", "1e999", "-1e308", "1" * 5000, "1e-400", "[" * 3000]
DRIVE = {
    "device.blocks_per_plane": 24,
    "device.channels": 2,
    "device.pages_per_block": 16,
    "workload.requests": 3000,
    "workload.read_share": 0.4,
    "run.precondition": "random:1",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Results of drives of all kinds, as text."""
    few = {"workload.requests": 300}
    runs = [
        ssdlab.run(set=DRIVE),
        ssdlab.run(set=DRIVE | {"buffer.size": "1MiB", "suspend.limit": 2}),
        ssdlab.run(device="agrawal2008-array-6", set=few),
        ssdlab.run(device="cheetah9lp", set=few),
        ssdlab.run(device="intel-p4800x", set=few),
        ssdlab.run(device="tlc-client", set=few | {"run.timeline": "0s..1ms"}),
        ssdlab.run(workload="random-read", set={"workload.requests": 1}),
    ]
    return [run.to_json() for run in runs]


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """The lines of a sweep, one of whose points has failed."""
    out = tmp_path_factory.mktemp("sweep") / "s.csv"
    keys = {"device.blocks_per_plane": [24, 32], "workload.requests": [200, 300]}
    ssdlab.sweep(vary=keys, minimize="p99", out=out, workers=1)
    return out.with_suffix(".jsonl").read_text()


def bytewise(text, draw):
    """The text with a few bytes changed, dropped, doubled or cut."""
    data = bytearray(text.encode())
    for _ in range(draw.choice((1, 1, 2, 8))):
        place = draw.randrange(len(data)) if data else 0
        length = draw.choice((1, 1, 3, 40))
        match draw.randrange(6):
            case 0:
                data[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                del data[place : place + length]
            case 2:
                data[place:place] = data[place : place + length]
            case 3:
                data[place : place + 1] = draw.choice((b"0", b"-", b"9", b"e", b".", b'"', b"}"))
            case 4:
                data[place:place] = draw.choice(NO_JSON).encode()[:100]
            case 5:
                del data[place:]
    return bytes(data)


def places(value, path=()):
    """The paths of everything in JSON."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for key, item in enumerate(value[:3]):
            yield from places(item, (*path, key))


def valuewise(data, draw):
    """The data with one value changed for another, dropped, or by some factor."""
    data = copy.deepcopy(data)
    every = [path for path in places(data) if path and path[0] != "experiment"]
    *above, last = draw.choice(every)
    owner = data
    for key in above:
        owner = owner[key]
    old = owner[last]
    if draw.random() < 0.2 and isinstance(owner, dict):
        del owner[last]
    elif draw.random() < 0.5 and isinstance(old, int | float) and not isinstance(old, bool):
        owner[last] = draw.choice((-old, old * 2, old / 3, old + 1, old * 1e6))
    else:
        owner[last] = draw.choice(BAD)
    return data


def laws_hold(results):
    """What every reader of these results relies on, written a second time."""
    for kind in results["host"].values():
        assert kind["requests"] >= 0 and kind["bytes"] >= 0
        if kind["requests"]:
            ranks = sorted(kind["percentiles_us"], key=float)
            times = [kind["min_us"], *(kind["percentiles_us"][it] for it in ranks), kind["max_us"]]
            assert all(0 <= a <= b * 1.00001 for a, b in zip(times, times[1:], strict=False))
            assert kind["min_us"] * 0.9999 <= kind["mean_us"] <= kind["max_us"] * 1.0001
            assert math.isfinite(kind["std_us"] or 0)
    kinds = [kind for name, kind in results["host"].items() if name != "all"]
    assert sum(it["requests"] for it in kinds) == results["host"]["all"]["requests"]


def refused_or_lawful(read, path, used=()):
    """Whether a file was accepted; then the laws hold, and each use ends well or is refused."""
    try:
        found = read(path)
    except InputError as error:
        said = str(error)
        assert str(path.name) in said and len(said) < 2000, said
        return False
    for each in found if isinstance(found, list) else [found]:
        laws_hold(each.to_dict())
    for use in used:
        try:
            use(path)
        except InputError as error:
            assert str(path.name) in str(error), error
    return True


USES = (
    lambda path: ssdlab.compare(path, path),
    lambda path: ssdlab.report(path, path.with_name("page.html")),
)


def changed_results(corpus, path, seeds):
    accepted = 0
    for seed in seeds:
        draw = random.Random(seed)
        text = draw.choice(corpus)
        if draw.random() < 0.4:
            path.write_bytes(bytewise(text, draw))
        else:
            path.write_text(json.dumps(valuewise(json.loads(text), draw)))
        used = USES if seed % 10 == 0 else ()
        try:
            accepted += refused_or_lawful(Results.load, path, used)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return accepted


def test_changed_results_are_refused_or_lawful(corpus, tmp_path):
    accepted = changed_results(corpus, tmp_path / "r.json", range(4 * LIMITED))
    assert 0 < accepted < 4 * LIMITED


@pytest.mark.nightly
def test_many_changed_results_are_refused_or_lawful(corpus, tmp_path):
    assert changed_results(corpus, tmp_path / "r.json", range(1000, 40_000)) > 0


def test_results_that_are_not_changed_are_read(corpus, tmp_path):
    for text in corpus:
        (tmp_path / "r.json").write_text(text)
        assert refused_or_lawful(Results.load, tmp_path / "r.json", USES)


def test_what_may_fall_may_be_below_0(corpus, tmp_path):
    """Write amplification drifts either way while a drive is prepared by its own load."""
    data = json.loads(corpus[0])
    data["steady_state"] = {"preconditioning": {"drift": -0.0045, "rounds": 6}}
    (tmp_path / "r.json").write_text(json.dumps(data))
    assert Results.load(tmp_path / "r.json").steady_state.preconditioning.drift < 0


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("host.all.mean_us", -1, "cannot be below 0"),
        ("host.read.percentiles_us.99", 0, "p99 is 0, less than p95"),
        ("host.all.requests", 7, "the histogram has"),
        ("host.write.bytes", 1, "are another rate"),
        ("host.all.iops", 1e9, "are another rate"),
        ("host.all.met_cleaning_share", 1.5, "a share is at most 1"),
        ("flash.write_amplification_bytes", 1.01, "bytes programmed for"),
        ("wear.mean_erases", 1e9, "more than max_erases"),
        ("simulated_seconds", "x", "simulated_seconds is a str"),
        ("capacity_bytes", 0, "capacity_bytes is 0"),
        ("warnings", [{"name": 7}], "each has a name and a message"),
        ("warnings", 7, "not written by ssdlab"),
        ("host.all.std_us", 1e12, "std_us is"),
        ("host.all.breakdown_us.cell", 1e6, "adds up to"),
        ("host", [], "host is missing"),
    ],
)
def test_what_cannot_be_is_refused_by_name(corpus, refused, tmp_path, place, value, said):
    data = json.loads(corpus[0])
    *above, last = place.split(".")
    owner = data
    for key in above:
        owner = owner[key]
    owner[last] = value
    (tmp_path / "r.json").write_text(json.dumps(data))
    for words in (["compare", "r.json", "r.json"], ["report", "r.json", "--out", "p.html"]):
        message = refused(*words)
        assert "r.json: " in message and said in message


@pytest.mark.parametrize("number", [it for it in NO_JSON if it != "1e-400"])
def test_numbers_that_are_none_are_refused(corpus, refused, tmp_path, number):
    text = corpus[0].replace('"simulated_seconds": ', f'"simulated_seconds": {number}, "x": ', 1)
    (tmp_path / "r.json").write_text(text)
    message = refused("compare", "r.json", "r.json")
    assert "r.json" in message and len(message) < 300


def test_changed_sweeps_are_refused_or_lawful(journal, tmp_path):
    # Without its checksum, which no change of a byte gets past, a line is believed if it is lawful.
    lines = [json.loads(line) for line in journal.splitlines()]
    for line in lines:
        del line["crc32"]
    path = tmp_path / "s.jsonl"
    accepted = 0
    for seed in range(LIMITED):
        draw = random.Random(seed)
        if seed % 2:
            path.write_bytes(bytewise(journal, draw))
        else:
            now = [*lines]
            now[draw.randrange(len(now))] = valuewise(draw.choice(lines), draw)
            path.write_text("".join(f"{json.dumps(line)}\n" for line in now))

        def read(path):
            return [point.results for point in ssdlab.Sweep.load(path) if point.results]

        accepted += refused_or_lawful(read, path, USES[1:] if seed % 10 == 0 else ())
    assert 0 < accepted < LIMITED


def without_traceback(read, path):
    """Whether it was read; if it was refused, that was said in one message that names it."""
    try:
        read(path)
    except InputError as error:
        assert str(path.name) in str(error) and len(str(error)) < 4000, error
        return False
    return True


MQSIM = """<?xml version="1.0" encoding="UTF-8"?>
<Execution_Parameter_Set><Host_Parameter_Set><PCIe_Lane_Bandwidth>1.0</PCIe_Lane_Bandwidth>
<PCIe_Lane_Count>4</PCIe_Lane_Count></Host_Parameter_Set><Device_Parameter_Set><Seed>321</Seed>
<Overprovisioning_Ratio>0.127</Overprovisioning_Ratio><GC_Exec_Threshold>0.05</GC_Exec_Threshold>
<GC_Block_Selection_Policy>RGA</GC_Block_Selection_Policy>
<Flash_Channel_Count>8</Flash_Channel_Count><Channel_Transfer_Rate>333</Channel_Transfer_Rate>
<Flash_Parameter_Set><Flash_Technology>MLC</Flash_Technology>
<Page_Read_Latency_LSB>75000</Page_Read_Latency_LSB><Block_Erase_Latency>3800000</Block_Erase_Latency>
<Block_No_Per_Plane>2048</Block_No_Per_Plane><Page_No_Per_Block>256</Page_No_Per_Block>
<Page_Capacity>8192</Page_Capacity></Flash_Parameter_Set></Device_Parameter_Set>
</Execution_Parameter_Set>
"""
FLOWS = """<?xml version="1.0" encoding="us-ascii"?>
<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Synthetic>
<Initial_Occupancy_Percentage>50</Initial_Occupancy_Percentage>
<Working_Set_Percentage>85</Working_Set_Percentage><Read_Percentage>100</Read_Percentage>
<Synthetic_Generator_Type>BANDWIDTH</Synthetic_Generator_Type><Bandwidth>262144</Bandwidth>
<Address_Distribution>RANDOM_HOTCOLD</Address_Distribution>
<Percentage_of_Hot_Region>20</Percentage_of_Hot_Region>
<Request_Size_Distribution>NORMAL</Request_Size_Distribution>
<Average_Request_Size>8</Average_Request_Size><Variance_Request_Size>2</Variance_Request_Size>
<Stop_Time>1000000</Stop_Time><Total_Requests_To_Generate>100</Total_Requests_To_Generate>
</IO_Flow_Parameter_Set_Synthetic></IO_Scenario></MQSim_IO_Scenarios>
"""
NUMBERS = ["0", "-1", "nan", "inf", "1e308", "1e-300", "", "x", "1.5", "9" * 400, "1e18", "100"]


@pytest.mark.parametrize("text", [MQSIM, FLOWS])
def test_changed_files_of_mqsim_are_refused_or_read(tmp_path, text):
    import re

    path = tmp_path / "it.xml"
    accepted = 0

    def read(path):
        ssdlab.Experiment(path)

    for seed in range(4 * LIMITED):
        draw = random.Random(seed)
        if seed % 3 == 0:
            path.write_bytes(bytewise(text, draw))
        elif seed % 3 == 1:
            encoding = draw.choice(["utf-16", "nonsense", "utf-7", "cp037", "idna", "hex", ""])
            path.write_text(re.sub('encoding="[^"]*"', f'encoding="{encoding}"', text))
        else:
            place = draw.choice([*re.finditer(">([^<\n]+)<", text)])
            value = draw.choice(NUMBERS)
            path.write_text(text[: place.start(1)] + value + text[place.end(1) :])
        accepted += without_traceback(read, path)
    assert 0 < accepted < 4 * LIMITED


def test_changed_experiments_and_sheets_are_refused_or_read(tmp_path):
    experiment = ssdlab.Experiment(set=DRIVE).to_toml()

    def sheet(path):
        contradictions.refuse(given.parse(str(path), layers.from_file(path).text))

    for name, text, read in (
        ("e.toml", experiment, ssdlab.Experiment),
        ("s.toml", given.template(), sheet),
    ):
        path = tmp_path / name
        path.write_text(text)
        for seed in range(2 * LIMITED):
            draw = random.Random(seed)
            if seed % 2:
                path.write_bytes(bytewise(text, draw))
            else:
                lines = text.splitlines()
                keys = [number for number, line in enumerate(lines) if " = " in line]
                number = draw.choice(keys)
                key = lines[number].partition(" = ")[0]
                lines[number] = f"{key} = {draw.choice([*NUMBERS, '[]', '{}', 'true', '-inf'])}"
                path.write_text("\n".join(lines))
            without_traceback(read, path)


def test_changed_drives_are_refused_or_loaded(tmp_path):
    keys = {key: value for key, value in DRIVE.items() if key != "run.precondition"}
    keys |= {"workload.requests": 50}
    whole = tmp_path / "whole.drive"
    ssdlab.run(set=DRIVE | {"run.save_drive": str(whole)})
    path = tmp_path / "a.drive"
    data = whole.read_bytes()
    accepted = 0
    for seed in range(LIMITED):
        draw = random.Random(seed)
        changed = bytearray(data)
        if draw.random() < 0.3:
            del changed[draw.randrange(len(data)) :]
        else:
            changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        load = {"run.load_drive": str(path)}
        accepted += without_traceback(lambda _, load=load: ssdlab.run(set=keys | load), path)
    assert accepted < LIMITED / 10, "the checksum finds what is changed"
    assert ssdlab.run(set=keys | {"run.load_drive": str(whole)}).host.all.requests == 50


def test_a_share_of_free_blocks_that_is_no_share_is_refused(refused):
    for value in ("nan", "-1", "inf", "1.5"):
        for more in ([], ["--set", "cleaning.background=true"]):
            message = refused("run", "--set", f"cleaning.background_free={value}", *more)
            assert "background_free" in message


def test_foreign_readers_are_all_looked_at():
    assert {*foreign.READERS} == {
        ".bat",
        ".cfg",
        ".cmd",
        ".diskspd",
        ".fio",
        ".h",
        ".ini",
        ".job",
        ".json",
        ".parv",
        ".sh",
        ".xml",
    } and reading.LARGEST > 1e18
