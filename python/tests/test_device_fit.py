"""Sheets of real drives, solved and simulated: given cells are reproduced, the others predicted."""

import json
import time

import pytest

NVME = """
name = "{name}"
capacity = "{capacity}"
interface = "{interface}"
read_latency = "{read}"
write_latency = "{write}"
seq_read = "{seq_read}"
seq_write = "{seq_write}"
rand_read = "{rand_read}"
"""

#: Data sheets of drives, and further keys of theirs.
DRIVES = {
    "pm9a3": (
        ("960GB", "pcie4-x4", "70us", "12us", "6500MB/s", "1500MB/s", "580K/s"),
        'raw_capacity = "1TiB"\nrand_write = "70K/s"\ndwpd = 1',
    ),
    "7450-pro": (
        ("960GB", "pcie4-x4", "80us", "15us", "6800MB/s", "1400MB/s", "530K/s"),
        'bits = 3\nrand_write = "85K/s"\ndwpd = 1',
    ),
    "7450-max": (
        ("800GB", "pcie4-x4", "80us", "15us", "6800MB/s", "1400MB/s", "530K/s"),
        'bits = 3\nrand_write = "145K/s"\ndwpd = 3',
    ),
    "970-pro": (
        ("1024GB", "pcie3-x4", "66.7us", "18.2us", "3500MB/s", "2700MB/s", "500K/s"),
        'bits = 2\nrand_read_depth = 128\nfresh_write = "500K/s"\ntbw = "1200TB"\n'
        "power_loss_protected = false",
    ),
    "980-pro": (
        ("1TB", "pcie4-x4", "45.5us", "16.7us", "7000MB/s", "1500MB/s", "1M/s"),
        'bits = 3\nrand_read_depth = 128\ntbw = "600TB"\npower_loss_protected = false',
    ),
    "p5336": (
        ("61.44TB", "pcie4-x4", "110us", "18us", "7000MB/s", "3300MB/s", "1005K/s"),
        'bits = 4\nmapping_unit = "16KiB"\nrand_write = "38K/s"\nrand_write_block = "16KiB"\n'
        "dwpd = 0.6",
    ),
}
WORDS = ("capacity", "interface", "read", "write", "seq_read", "seq_write", "rand_read")


def sheet(name):
    numbers, more = DRIVES[name]
    return NVME.format(name=name, **dict(zip(WORDS, numbers, strict=True))) + more


def fitted(ssdlab, tmp_path, name, more=""):
    (tmp_path / "sheet.toml").write_text(sheet(name) + more)
    words = ("device", "from-datasheet", "sheet.toml", "--out", "mine.toml", "--json", "all.json")
    done = ssdlab(*words, timeout=600)  # a minute, on a machine that has nothing else to do
    assert (done.returncode, done.stderr) == (0, "")
    return done, json.loads((tmp_path / "all.json").read_text())


@pytest.mark.nightly
def test_a_drive_from_its_sheet_meets_it_and_can_be_run(ssdlab, tmp_path):
    start = time.monotonic()
    done, found = fitted(ssdlab, tmp_path, "pm9a3")
    assert time.monotonic() - start < 120
    assert "fitted" in done.stdout and "Assumed" in done.stdout and "Predicted" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    for cell in found["cells"]:
        assert abs(cell["error_percent"]) < 5, cell
    shown = ssdlab("device", "show", "mine.toml", "--json")
    origins = {row["key"]: row["origin"] for row in json.loads(shown.stdout)["keys"]}
    assert origins["device.timing.program"] == "fitted"
    words = ("run", "--device", "mine.toml", "--workload", "random-read", "--quiet")
    assert ssdlab(*words, "--set", "workload.requests=2000").returncode == 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", DRIVES)
def test_every_given_cell_is_met(ssdlab, tmp_path, name):
    """5 %, latencies 10 %."""
    _, found = fitted(ssdlab, tmp_path, name)
    for cell in found["cells"]:
        most = 10 if cell["measure"].endswith("latency") else 5
        assert abs(cell["error_percent"]) < most, cell
    predicted = {cell["measure"] for cell in found["predictions"]}
    assert "load_read" in predicted
    assert ("rand_write_iops" in predicted) == ("rand_write " not in sheet(name))
