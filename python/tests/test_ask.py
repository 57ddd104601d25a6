"""What a person has becomes a load and needs, rows come one by one, and wrong input is refused."""

import json
import signal
import subprocess
import sys

import pytest
from small_drives import FAST, SLOW, recorded

import ssdlab as package
from ssdlab import choosing
from ssdlab._core import InputError
from ssdlab.asking import what, words
from ssdlab.choosing.hunt import Hunt
from ssdlab.cli import drives, main

TWO = ["--device", "fast.toml", "--device", "slow.toml", "--drives", 1]
PRICES = ["--price", "fast.toml=300USD", "--price", "slow.toml=100USD"]

IOSTAT = """Linux 6.1.0 (host)  01/02/2026  _x86_64_ (4 CPU)

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s  aqu-sz  %util
sda              1.00      4.00     0.00   0.00    0.20     4.00    1.00      4.00    0.02   1.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s  aqu-sz  %util
sda            300.00   2400.00     0.00   0.00    0.20     8.00  100.00   1600.00    0.20  10.00
sdb              5.00     20.00     0.00   0.00    0.20     4.00    0.00      0.00    0.02   1.00

"""
FIO = {
    "fio version": "fio-3.36",
    "global options": {"bs": "8k"},
    "jobs": [
        {
            "jobname": "small",
            "job options": {"rw": "randread"},
            "read": {"iops": 10.0, "bw_bytes": 81920},
        },
        {
            "jobname": "oltp",
            "job options": {"rw": "randrw", "iodepth": "8", "numjobs": "2"},
            "read": {
                "iops": 750.0,
                "bw_bytes": 750 * 8192,
                "clat_ns": {"percentile": {"99.000000": 1_200_000}},
            },
            "write": {"iops": 250.0, "bw_bytes": 250 * 8192},
        },
    ],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "fast.toml").write_text(FAST)
    (tmp_path / "slow.toml").write_text(SLOW)
    (tmp_path / "iostat.txt").write_text(IOSTAT)
    (tmp_path / "fio.json").write_text(json.dumps(FIO))
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "odd.fio").write_text("[a]\nnonsense=1\n")
    (tmp_path / "job.fio").write_text("[a]\nrw=randrw\nbs=8k\niodepth=4\nsize=64m\n")
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "some folder").mkdir()
    (tmp_path / "some folder" / "a.csv").write_text("x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "70/30 8K random, 20 K IOPS",
            {"read_share": 0.7, "block_bytes": 8192, "random_share": 1, "iops": 20_000},
        ),
        (
            "4K writes, sequential, QD 16, over 200 GB",
            {
                "block_bytes": 4096,
                "read_share": 0,
                "random_share": 0,
                "depth": 16,
                "touches_bytes": 200e9,
            },
        ),
        ("100% writes 128KiB seq 500 MB/s", {"bytes_per_s": 500e6, "block_bytes": 131_072}),
        ("80% reads, 20% sequential, 4 threads", {"read_share": 0.8, "random_share": 0.8}),
        ("randread 4k iodepth=1", {"random_share": 1, "read_share": 1, "depth": 1}),
        ("8K hot 80/20", {"locality": "hot-cold(0.8, 0.2)"}),
        ("zipf 0.9", {"locality": "zipf(0.9)"}),
        (
            "100% 512B random read, 10M IOPS",
            {"read_share": 1, "block_bytes": 512, "random_share": 1, "iops": 10e6},
        ),
        ("30% 8K writes", {"read_share": 0.7, "block_bytes": 8192}),
    ],
)
def test_a_load_in_words(text, said):
    found = words.load(text)
    assert {key: found[key] for key in said} == pytest.approx(said)


def test_needs_in_words():
    assert words.need("4TB,5y,p99=2ms") == {"gb": 4000, "years": 5, "p99": 2000}
    assert words.need("read p99.9 < 500us, 7 years") == {"read.p99.9": 500, "years": 7}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "no load: name a trace"),
        (["empty.csv"], "empty.csv: the file is empty"),
        (["some folder"], "some folder: is a folder; name one file in it, such as some folder/a"),
        (["none.csv"], "none.csv: there is no such file; a load in words is given as --load"),
        (["other.json"], "other.json: this is JSON that is none of fio, iostat -o JSON, smartctl"),
        (["fio.json", "--load", "8K"], "fio.json and --load 8K: both say a load; keep one"),
        (["--load", "database 8K"], '--load: "database" is not understood; a load is said as in'),
        (["--load", ""], "--load has an empty value"),
        (["--load", "70/40"], '"70/40" is 110 % in all'),
        (["--load", "8K 4K"], '"8K" and "4K" contradict each other; keep one'),
        (["--load", "random sequential"], '"random" and "sequential" contradict each other'),
        (["--load", "8K", "--need", "fast"], '--need: "fast" is not understood; needs are said'),
        (["--load", "8K", "--need", "4TB,2TB"], '"4TB" and "2TB" contradict each other; keep one'),
        (["--load", "8K", "--need", "p99=2ms,p99.9=1ms"], "p99.9 is never less than p99"),
        (["--load", "8K", "--need", "p99=2"], "a time has a unit"),
        (["--load", "8K", "--price", "samsung-pm9a3"], "expected DRIVE=DOLLARS"),
        (["--load", "8K", "--price", "samsung-pm9a3=140EUR"], "prices here are dollars"),
        (["--load", "8K writes", "--need", "read.p99=1ms"], "8K writes has no reads; leave it"),
        (["odd.fio"], "odd.fio, line 2: unknown key nonsense"),
        (["iostat.txt", "--volume", "sdz"], "no device sdz in it; there are sda, sdb"),
        (["--load", "8K", "--device", "nonsense"], 'nonsense'),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_one_sentence(here, given, said, capsys):
    assert main(["ask", *given]) == 2
    out, err = capsys.readouterr()
    assert said in err and err.count("\n") <= 3 and not out


def test_prices_are_dollars_in_every_command():
    said = drives.dollars(("a=140USD", "b=$1,200", "c = 5 dollars", "d=12.5"))
    assert said == {"a": 140, "b": 1200, "c": 5, "d": 12.5}


@pytest.mark.parametrize("command", [["ask", "--load", "8K"], ["choose", "--trace", "it.parquet"]])
@pytest.mark.parametrize(
    ("price", "said"),
    [
        ("samsung-pm9a3=140EUR", "prices here are dollars"),
        ("samsung-pm9a3=-1", "a price is 0 or more dollars"),
        ("samsung-pm9a3", "expected DRIVE=DOLLARS"),
    ],
)
def test_a_price_is_refused_alike(here, command, price, said, capsys):
    assert main([*command, "--price", price]) == 2
    assert said in capsys.readouterr().err


def test_a_trace_is_answered_by_the_cheapest_that_fits(here, ssdlab):
    recorded(here / "it.parquet")
    words_ = ["ask", "it.parquet", *TWO, *PRICES, "--need", "p99=1000ms,0.000001y"]
    done = ssdlab(*words_, "--json", "it.json")
    assert done.returncode == 0, done.stderr
    assert "Fits: slow.toml, $100" in done.stdout
    for said in ("Trace: 1,500 requests", "Assumed: ", "Surer with: a longer trace", "Its tail: "):
        assert said in done.stdout
    assert "read p99" in done.stdout and "write p99" in done.stdout
    found = json.loads((here / "it.json").read_text())
    assert found["best"] == "slow.toml" and not found["partial"] and found["assumed"]
    none = ssdlab("ask", "it.parquet", *TWO, *PRICES, "--need", "p99=1us")
    assert none.returncode == 1 and "No drive of these fits. Nearest: " in none.stdout


@pytest.mark.parametrize(
    "given",
    [
        ["it.parquet"],
        ["fio.json"],
        ["job.fio"],
        ["iostat.txt"],
        ["--load", "50/50 8K random, 300 IOPS, over 100 MB"],
        ["--load", "writes 4K, QD 4, 200 IOPS"],
    ],
)
def test_the_command_repeats_the_row_to_the_bit(here, given, ssdlab):
    recorded(here / "it.parquet")
    done = ssdlab("ask", *given, "--device", "fast.toml", "--drives", 1, "--json", "-")
    row = json.loads(done.stdout)["offers"][0]
    assert "\n" not in row["command"] and len(row["command"]) < 900
    shell = ["sh", "-c", f"printf '%s\\0' {row['command']}"]
    words_ = subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split("\0")
    again = ssdlab(*words_[1:-1], "--json", "-")
    assert again.returncode == 0, again.stderr
    results = json.loads(again.stdout)
    assert results["experiment"]["run"]["seed"] == row["seeds"][0]
    for kind in ("read", "write"):
        single = row[f"{kind}_p99_us"] if len(row["seeds"]) == 1 else None
        if single is not None:
            assert results["host"][kind]["percentiles_us"]["99"] == single
    assert row["first_p99_us"] == results["host"]["all"]["percentiles_us"]["99"]


SHEET = """name = "Mine"
capacity = "960GB"
interface = "PCIe Gen4 x4"
rand_read = "1000K IOPS"
rand_write = "98K IOPS"
seq_read = "6900 MB/s"
seq_write = "4100 MB/s"
"""


@pytest.mark.parametrize(
    ("rating", "rated"),
    [('dwpd = "1 DWPD"', 1), ('tbw = "3504TB"', 2), ("dwpd = 1\nyears = 3", 0.6), ("", None)],
)
def test_a_data_sheet_is_a_drive_with_its_rating_and_a_price(rating, rated, here, refused):
    (here / "sheet.toml").write_text(SHEET + rating)
    device = package.Experiment(device="sheet.toml", workload="random-read").to_dict()["device"]
    assert (device["kind"], device["host_link"]["bandwidth"]) == ("ssd", "6.9GB/s")
    terms = choosing.terms_of(5, {"sheet.toml": 140}, None, ["sheet.toml"], {})
    found = terms.dwpd("sheet.toml")
    assert found == (None if rated is None else pytest.approx(rated))
    assert terms.price("sheet.toml") == (140, False)
    (here / "sheet.toml").write_text(SHEET.replace("interface", "interfase"))
    said = refused("run", "--device", "sheet.toml")
    assert 'no key "interfase" (did you mean interface?)' in said


def test_iostat_and_fio_are_read(here):
    asked = what.of("iostat.txt", None)
    keys = asked.load.keys
    assert keys["workload.kind"] == "mix" and asked.is_paced
    assert "on_rate = 300" in keys["workload.streams"]
    assert '"8192B"' in keys["workload.streams"] and '"16384B"' in keys["workload.streams"]
    assert any("first report is left out" in it for it in asked.read)
    of_json = {
        "sysstat": {
            "hosts": [
                {
                    "statistics": [
                        {
                            "disk": [
                                {
                                    "disk_device": "sda",
                                    "r/s": 300,
                                    "w/s": 100,
                                    "rkB/s": 2400,
                                    "wkB/s": 1600,
                                }
                            ]
                        }
                    ]
                }
            ]
        }
    }
    (here / "iostat.json").write_text(json.dumps(of_json))
    assert what.of("iostat.json", None).load.keys == keys
    asked = what.of("fio.json", None)
    assert asked.load.keys["workload.outstanding"] == "16" and not asked.is_paced
    assert asked.load.keys["workload.read_share"] == "0.75"
    assert any("read p99 1.20ms" in it for it in asked.read)


ROW = """{"disk_device": "sda", "r/s": 300, "w/s": 100, "rkB/s": 2400, "wkB/s": 1600}"""
PRETTY = """
     r/s     rkB/s rareq-sz Device
  300.00      2.4M     8.0k sda

     w/s     wkB/s wareq-sz Device
  100.00      1.6M    16.0k sda
"""


@pytest.mark.parametrize(
    "text",
    [
        f'{{"sysstat": {{"hosts": [{{"statistics": [\n,\n{{"disk": [{ROW}]}}]}}]}}}}',
        f'{{"sysstat": {{"hosts": [{{"statistics": [{{"disk": [{ROW}]}}, {{"disk": [{ROW[:50]}',
        PRETTY,
    ],
    ids=["a comma too many", "cut", "pretty"],
)
def test_reports_of_other_versions_are_read(here, text):
    (here / "other.txt").write_text(text)
    streams = what.of("other.txt", None).load.keys["workload.streams"]
    assert "on_rate = 300" in streams and '"8192B"' in streams and '"16384B"' in streams


def test_a_wrong_rate_gives_way_to_the_size_beside_it(here):
    row = ROW.replace('"wkB/s": 1600', '"wkB/s": 999999, "wareq-sz": 16.0')
    (here / "wrong.json").write_text(f'{{"sysstat": [{{"disk": [{row}]}}]}}')
    assert '"16384B"' in what.of("wrong.json", None).load.keys["workload.streams"]


def test_results_of_fio_between_messages_and_of_clients_are_read(here):
    found = json.loads((here / "fio.json").read_text())
    before = what.of("fio.json", None)
    text = f"fio: a warning\n{json.dumps(found)}\nfio: another\n"
    (here / "warned.json").write_text(text)
    (here / "twice.json").write_text(f"{json.dumps({'fio version': '3', 'jobs': []})}\n{text}")
    found["client_stats"] = [*found.pop("jobs"), {"jobname": "All clients", "read": {"iops": 1e9}}]
    (here / "clients.json").write_text(json.dumps(found))
    for name in ("warned.json", "twice.json", "clients.json"):
        assert what.of(name, None).load.keys == before.load.keys, name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3;fio-3.1;r;0;0;12288000;409600\n", "--output-format=json"),
        ("r: (g=0): rw=randread, bs=4096B\nfio-3.28\n", "--output-format=json"),
        ("Device             tps    kB_read/s\nsda  95.10  812.10\n", "iostat -x`"),
        ("12:00:01 AM       DEV       tps     rkB/s\n", "iostat -x`"),
        (" 259 0 nvme0n1 1 2 3 4 5 6 7 8 0 2 1 0\n", "iostat -x 10 6"),
        (
            json.dumps({"smartctl": {"messages": [{"string": "Permission denied"}]}}),
            "(Permission denied); run `smartctl -j -a DEVICE` as root",
        ),
        (json.dumps({"Physical media units written": {"hi": 0, "lo": 9}}), "jq -s add"),
    ],
)
def test_a_report_without_a_load_names_another(here, text, said, refused):
    (here / "other.txt").write_text(text)
    assert said in refused("ask", "other.txt")


def test_a_damaged_report_names_its_line(here):
    (here / "iostat.txt").write_text(IOSTAT.replace("300.00   2400.00", "300.00"))
    with pytest.raises(InputError, match=r"iostat.txt:7: 10 columns of iostat were expected"):
        what.of("iostat.txt", None)


def test_an_interruption_keeps_the_rows(here):
    recorded(here / "it.parquet", requests=100)
    names = [f"{number}.toml" for number in range(12)]
    for name in names:
        (here / name).write_text(FAST.replace("blocks_per_plane = 512", "blocks_per_plane = 16384"))
    given = [word for name in names for word in ("--device", name)]
    command = [sys.executable, "-m", "ssdlab", "ask", "it.parquet", "--json", "it.json"]
    child = subprocess.Popen([*command, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = b""
    while not seen.startswith(b"0.toml"):
        assert (seen := child.stdout.readline()), child.communicate()[1]
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert child.returncode == 130, err
    assert b"Partial: " in out and b"drives were tried, the answer is partial" in err
    found = json.loads((here / "it.json").read_text())
    assert found["partial"] and 1 <= len(found["offers"]) < 12


def test_choose_keeps_its_rows_as_well(here, monkeypatch, capsys):
    recorded(here / "it.parquet", requests=100)
    tell = Hunt._tell

    def interrupted(self, offer):
        tell(self, offer)
        raise KeyboardInterrupt

    monkeypatch.setattr(Hunt, "_tell", interrupted)
    given = ["--trace", "it.parquet", "--json", "it.json", *map(str, TWO)]
    assert main(["choose", *given]) == 130
    said = capsys.readouterr()
    assert "interrupted; 1 of 2 drives were tried" in said.err and "Partial: " in said.out
    found = json.loads((here / "it.json").read_text())
    assert found["partial"] and len(found["offers"]) == 1


#: Of a drive of 60 GB: 2 TB written, blocks erased 600 times, a tenth of its life used.
SMART = {
    "device": {"protocol": "ATA"},
    "model_name": "A drive",
    "user_capacity": {"bytes": 60_022_480_896},
    "logical_block_size": 512,
    "power_on_time": {"hours": 2000},
    "ata_smart_attributes": {
        "table": [
            {"id": 177, "name": "Wear_Leveling_Count", "value": 90, "raw": {"value": 600}},
            {"id": 241, "name": "Total_LBAs_Written", "value": 99, "raw": {"value": 3906250000}},
        ]
    },
}


def test_what_a_drive_has_done_and_how_long_it_lasts(here, ssdlab):
    (here / "smart.json").write_text(json.dumps(SMART))
    done = ssdlab("ask", "smart.json", "--rated", "40TB", "--json", "it.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((here / "it.json").read_text())
    assert found["flash_bytes"] == 2**36, "the power of two above the capacity"
    factor = 600 * 2**36 / 2e12
    assert found["write_amplification"] == pytest.approx(factor)
    assert found["life_used"]["by_rating"] == pytest.approx(0.05)
    assert found["life_used"]["by_drive"] == pytest.approx(0.1)
    assert found["daily_bytes"] == pytest.approx(24e9)
    assert found["left_bytes"]["by_drive"] == pytest.approx(18e12)
    assert found["left_years"]["by_drive"] == pytest.approx(18e12 / 24e9 / 365)
    assert "the flash wears 2.0 times as fast as" in found["disagreement"]
    assert f"write amplification so far        {factor:.1f}" in done.stdout
    like = package.ask("smart.json", flash="128GiB", device="samsung-870evo")
    assert like.amplification == pytest.approx(2 * factor)
    assert like.model_used == pytest.approx(600 / like.rated_cycles) and like.rated_bytes > 0
    assert package.ask("smart.json").rating_used is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["smart.json", "--need", "5y"], "smart.json is of a drive; needs are of a load"),
        (["fio.json", "--rated", "40TB"], "--rated 40TB: goes with a file of smartctl or nvme"),
        (["smart.json", "--flash", "128"], "a size has a unit"),
        (["smart.json", "--device", "samsung-870evo", "--device", "wd-sn850x"], "one preset"),
        (["none.json"], "it has no written bytes, no erase counts and no wear level"),
    ],
)
def test_a_drive_and_a_load_are_not_mixed_up(here, given, said, capsys):
    (here / "smart.json").write_text(json.dumps(SMART))
    (here / "none.json").write_text(json.dumps({"data_units_written": 0}))
    assert main(["ask", *given]) == 2
    assert said in capsys.readouterr().err


def test_help_fits_a_screen(ssdlab):
    shown = ssdlab("ask", "--help").stdout
    assert len(shown.splitlines()) < 45
    assert shown.index("ssdlab ask FILE") < shown.index("--need")
