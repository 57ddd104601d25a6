"""`ssdlab device` on the command line."""

import json

import pytest

DEVICE = """
# A drive for tests.
# guess: because nothing is said
[device]
kind = "ssd"
# published: the product brief,
# second edition
channels = 4
dies_per_package = 1  # fitted: to "#1" of the sheet
page_size = "4KiB" # a remark
# An older remark.

summary_page = false
[device.timing] # guess: usual of such parts
read = "30us"
# published: Table 1
program = "100us"
erase = "2ms" # announced: on a stage
[device.host_link]
queue_depth = 32
"""


@pytest.fixture
def device_file(tmp_path):
    (tmp_path / "mine.toml").write_text(DEVICE)
    return "mine.toml"


def test_show_gives_each_key_with_its_origin(ssdlab, device_file):
    done = ssdlab("device", "show", device_file, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    origins = {row["key"]: (row["value"], row["origin"], row["text"]) for row in found["keys"]}
    guess = ("guess", "usual of such parts")
    assert origins == {
        "device.kind": ("ssd", "guess", "because nothing is said"),
        "device.channels": (4, "published", "the product brief, second edition"),
        "device.dies_per_package": (1, "fitted", 'to "#1" of the sheet'),
        "device.page_size": ("4KiB", "guess", "because nothing is said"),
        "device.summary_page": (False, "guess", "because nothing is said"),
        "device.timing.read": ("30us", *guess),
        "device.timing.program": ("100us", "published", "Table 1"),
        "device.timing.erase": ("2ms", "announced", "on a stage"),
        "device.host_link.queue_depth": (32, "", ""),
    }


def test_show_prints_a_table_that_fits(ssdlab, device_file):
    done = ssdlab("device", "show", device_file)
    assert (done.returncode, done.stderr) == (0, "")
    assert "published: the product brief, second edition" in done.stdout
    assert "2 published, 1 announced, 1 fitted, 4 guesses, 1 whose" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_show_follows_the_preset_from_which_another_begins(ssdlab):
    done = ssdlab("device", "show", "enterprise-ssd", "--json")
    rows = {row["key"]: row for row in json.loads(done.stdout)["keys"]}
    assert (rows["device.spare_factor"]["value"], rows["device.spare_factor"]["preset"]) == (
        0.3,
        "",
    )
    assert rows["device.channels"]["preset"] == "agrawal2008"
    assert "device.preset" not in rows


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["show", "nothing"],
            "there is no device preset or file of that name; `ssdlab list devices` ",
        ),
        (["check", "nothing"], 'there is no data sheet "nothing"; sheets: intel-p4800x'),
        (["from-datasheet"], "SHEET is missing; --template prints one to fill in"),
        (["from-datasheet", "none.toml"], "none.toml: cannot be read"),
        (["from-datasheet", "--template", "--out", "x.toml"], "--template takes no SHEET"),
    ],
)
def test_what_is_wrong_is_said_with_status_two(ssdlab, words, said):
    done = ssdlab("device", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_contradiction_is_refused_and_nothing_is_written(ssdlab, tmp_path):
    template = ssdlab("device", "from-datasheet", "--template").stdout
    (tmp_path / "sheet.toml").write_text(template.replace('"6500MB/s"', '"65GB/s"'))
    done = ssdlab("device", "from-datasheet", "sheet.toml", "--out", "mine.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'sheet.toml: seq_read = "65GB/s" contradicts interface = "pcie4-x4"' in done.stderr
    assert not (tmp_path / "mine.toml").exists()


def test_check_prints_every_cell_and_fails_for_one_that_is_off(ssdlab, tmp_path):
    """A drive of 2008 is the wrong one: its rates are off, those of fitted cells too."""
    done = ssdlab("device", "check", "intel-p4800x", "--device", "agrawal2008", "--json", "c.json")
    assert done.returncode == 1
    cells = json.loads((tmp_path / "c.json").read_text())["cells"]
    assert {cell["verdict"] for cell in cells} == {"fail", "info"}
    assert "fitted, fail" in done.stdout
    assert "published" in done.stdout and "584.8K/s" in done.stdout
    assert "fail" in done.stdout.splitlines()[-1]
    assert done.stdout.endswith("; 2 of 7 were fitted\n")


SOLD = """
name = "{name}"
capacity = "960GB"
interface = "PCIe Gen4"
seq_read = "6500MB/s"
seq_write = "1500MB/s"
"""


def test_sheets_are_shown_side_by_side(ssdlab, tmp_path):
    (tmp_path / "a.toml").write_text(SOLD.format(name="One") + 'dwpd = "1 DWPD"\n')
    more = 'raw_capacity = "1TiB"\nrand_write = "70K IOPS"\nread_latency = "85 us"\nbits = 3\n'
    (tmp_path / "b.toml").write_text(SOLD.format(name="Two") + more)
    done = ssdlab("device", "compare-sheets", "a.toml", "b.toml", "--json", "all.json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {" ".join(line.split()[:-2]): line.split()[-2:] for line in done.stdout.splitlines()}
    assert rows["interface"] == ["pcie4-x4", "pcie4-x4"]
    assert rows["bits a cell"] == ["~3", "3"]
    assert rows["read latency"] == ["~80us", "85us"]
    assert rows["random writes, lasting"] == ["-", "70K/s"]
    assert rows["drive writes a day"] == ["1", "-"]
    found = json.loads((tmp_path / "all.json").read_text())
    lines = {it["key"]: it for it in found["lines"]}
    assert found["drives"] == ["One", "Two"]
    # A write a day for five years; and the rate that was measured, by arithmetic (PM9A3: 76 K/s).
    assert lines["tbw"]["values"][0] == pytest.approx(1752e12)
    assert lines["rand_write_by_flash"]["values"][1] == pytest.approx(76e3, rel=0.05)
    assert lines["rand_write"]["stated"] == [False, True]
    assert (
        ssdlab("device", "compare-sheets", "a.toml", "b.toml", "--json", "all.json").returncode == 0
    )


def test_a_sheet_is_shown_beside_a_drive_of_the_catalogue(ssdlab, tmp_path):
    (tmp_path / "a.toml").write_text(SOLD.format(name="One") + 'dwpd = "1 DWPD"\n')
    done = ssdlab("device", "compare-sheets", "a.toml", "samsung-pm9a3", "--json", "all.json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "all.json").read_text())
    assert found["drives"] == ["One", "Samsung PM9A3 960 GB"]
    lines = {it["key"]: it for it in found["lines"]}
    for key, value in {"seq_read": 6.5e9, "dwpd": 1.0}.items():
        assert lines[key]["values"] == [value, value] and lines[key]["stated"] == [True, True]
    assert (lines["rand_read"]["values"], lines["rand_read"]["stated"]) == (
        [None, 580e3], [False, True],
    )  # fmt: skip
    assert (lines["bits"]["values"], lines["bits"]["stated"]) == ([3, 3], [False, False])
    assert lines["capacity"]["values"][1] == pytest.approx(960.2e9, rel=1e-3)
    assert lines["tbw"]["values"][1] == pytest.approx(1752e12, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "SHEET is missing"),
        (["samsung-pm9a4"], 'there is no data sheet "samsung-pm9a4" (did you mean samsung-pm9a3?)'),
        (["none.toml"], "none.toml: cannot be read"),
        (["bad.toml"], 'bad.toml: seq_read = "65GB/s" contradicts interface = "PCIe Gen4"'),
    ],
)
def test_what_is_wrong_in_a_sheet_beside_others_is_said(refused, tmp_path, words, said):
    (tmp_path / "bad.toml").write_text(SOLD.format(name="x").replace("6500MB", "65GB"))
    assert said in refused("device", "compare-sheets", *words)
