"""The corrections by which a solved drive meets its sheet, with closed forms for a simulator."""

import pytest

from ssdlab.datasheet import arithmetic, given
from ssdlab.datasheet.arithmetic import Flash
from ssdlab.datasheet.solve import solve
from ssdlab.device import calibrate
from ssdlab.device.check import Outcome

SHEET = """
name = "A drive"
capacity = "1024GB"
interface = "pcie3-x4"
bits = 2
read_latency = "66.7us"
write_latency = "18.2us"
seq_read = "3500MB/s"
seq_write = "2700MB/s"
rand_read = "500K/s"
rand_read_depth = 128
"""


def parsed(keys):
    """`keys` as `Drive.keys` gives them to a simulation, back as numbers."""
    from ssdlab.units import BANDWIDTH, SIZE, TIME

    seconds = {
        (section, key): TIME.parse(key, value) if value != "0us" else 0.0
        for section in ("timing", "firmware", "host_link")
        for key, value in keys[section].items()
        if isinstance(value, str) and value.endswith("s") and value[-2] in "mun"
    }
    flash = Flash(
        keys["channels"],
        keys["channels"] * keys["dies_per_package"],
        keys["planes_per_die"],
        keys["cell"]["bits"],
        int(SIZE.parse("", keys["page_size"])),
        int(SIZE.parse("", keys["spare_size"])),
        seconds["timing", "read"],
        seconds["timing", "program"],
        seconds["timing", "command"],
        float(keys["timing"]["bus_rate"].removesuffix("MT/s")) * 1e6,
    )
    link = BANDWIDTH.parse("", keys["host_link"]["bandwidth"])
    physical = keys["blocks_per_plane"] * keys["pages_per_block"] // flash.bits * flash.dies
    used = SIZE.parse("", keys["capacity"]) / (physical * flash.group)
    return flash, link, seconds, used


def closed_forms(device, cells, *, quick=False, progress=None):
    """What a simulator with losses would find: everything is a bit worse than the closed forms."""
    flash, link, seconds, used = parsed(device)
    cores = device["firmware"]["cores"]
    read, write = seconds["firmware", "read"], seconds["firmware", "write"]
    way = seconds["host_link", "latency"] + 4096 / link
    amplification = 1.04 * arithmetic.amplification(used)
    figures = {
        "seq_read": 0.97 * min(link, flash.channels * flash.bus),
        "seq_write": 0.93 * flash.write_rate,
        "rand_read_iops": 0.98 * cores / read,
        "fresh_write_iops": 0.96 * cores / write,
        "rand_write_iops": 0.95 * flash.random_write_rate(amplification),
        "read_latency": way + read + flash.read + flash.transfer(4096) + 3e-6,
        "write_latency": way + write + 2e-6,
        "write_amplification": amplification,
        "steady_amplification": amplification,
        "load_read": 1e-4,
    }
    return [Outcome(cell, figures[cell.measure]) for cell in cells]


@pytest.mark.parametrize(
    "more",
    [
        "",
        'fresh_write = "500K/s"',
        'rand_write = "60K/s"',
        "write_amplification = 3.5",
        'rand_write = "60K/s"\nfresh_write = "450K/s"',
    ],
)
def test_every_fitted_cell_is_met(monkeypatch, more):
    monkeypatch.setattr(calibrate, "measure", closed_forms)
    sheet = given.parse("sheet", SHEET + more)
    told = []
    found = calibrate.calibrate(sheet, solve(sheet), lambda done, of: told.append((done, of)))
    assert len(found.outcomes) == 5 + len(more.splitlines())
    for it in found.outcomes:
        assert it.error == pytest.approx(0, abs=0.011), it.cell.name
        assert it.cell.fitted and it.verdict == "pass"
    assert told[-1][0] == told[-1][1]
    assert all(done <= of for done, of in told)


def test_a_cell_that_nothing_was_fitted_to_is_judged(monkeypatch):
    monkeypatch.setattr(calibrate, "measure", closed_forms)
    more = 'write_amplification = 3.5\nrand_write = "160K/s"'
    sheet = given.parse("sheet", SHEET + more)
    found = calibrate.calibrate(sheet, solve(sheet))
    verdicts = {it.cell.measure: (it.verdict, it.cell.fitted) for it in found.outcomes}
    assert verdicts["rand_write_iops"] == ("fail", False)
    assert verdicts["write_amplification"] == ("pass", True)


def test_a_promise_of_random_writes_changes_no_drive_whose_flash_is_stated(monkeypatch):
    """Sheets promise less than drives do: solved for the promise, the drive wrote no faster."""
    monkeypatch.setattr(calibrate, "measure", closed_forms)
    drives = []
    for more in ("", '\nrand_write = "60K/s"'):
        sheet = given.parse("sheet", SHEET + 'raw_capacity = "1152GiB"' + more)
        found = calibrate.calibrate(sheet, solve(sheet))
        drives.append(found.drive.keys())
    assert drives[0] == drives[1]
    promised = next(it for it in found.outcomes if it.cell.measure == "rand_write_iops")
    assert promised.verdict == "kept" and promised.simulated > 70e3


def test_a_latency_that_the_sheet_lacks_is_shown_as_a_guess(monkeypatch):
    monkeypatch.setattr(calibrate, "measure", closed_forms)
    words = ("read_latency", "write_latency")
    text = "\n".join(line for line in SHEET.splitlines() if not line.startswith(words))
    sheet = given.parse("sheet", text)
    found = calibrate.calibrate(sheet, solve(sheet))
    told = {it.cell.measure: it.verdict for it in found.outcomes}
    assert [told[key] for key in words] == ["assumed", "assumed"]
    assert sheet.guess_behind("write", 15e-6) == "write_latency"
    assert sheet.guess_behind("write", 2e-3) is None
    assert given.parse("sheet", SHEET).guess_behind("write", 15e-6) is None


#: A drive of today whose 256 requests outstanding (by default) hardly suffice for its random reads.
DEEP = """
name = "PCIe 5"
capacity = "3.84TB"
interface = "pcie5-x4"
seq_read = "14000MB/s"
seq_write = "6000MB/s"
rand_read = "2700K/s"
"""


def test_random_reads_that_wait_for_dies_are_met():
    """10 % too few: firmware was made quicker, and sensing slower, for which the reads waited."""
    sheet = given.parse("sheet", DEEP)
    drive = solve(sheet)
    wanted = [it for it in calibrate.cells(sheet) if it.measure in ("rand_read_iops", "seq_read")]
    steps = calibrate._Steps(10, None)
    found = calibrate._rounds(sheet, drive, wanted, calibrate.ROUNDS, steps)
    rate = next(it for it in found if it.cell.measure == "rand_read_iops")
    assert abs(rate.error) < 0.02 and rate.verdict == "pass"


def test_what_the_sheet_does_not_say_is_predicted(monkeypatch):
    monkeypatch.setattr(calibrate, "measure", closed_forms)
    sheet = given.parse("sheet", SHEET)
    found = calibrate.calibrate(sheet, solve(sheet))
    predicted = {(it.cell.measure, it.cell.parameters.get("figure")) for it in found.predictions}
    assert predicted == {
        ("rand_write_iops", None),
        ("steady_amplification", None),
        ("load_read", "mean"),
        ("load_read", "p99"),
    }
    steady = found.predictions[0].simulated
    load = next(it for it in found.predictions if it.cell.measure == "load_read")
    assert load.cell.parameters["rate"] == pytest.approx(steady / 2, abs=1)
    sheet = given.parse("sheet", SHEET + 'rand_write = "8K/s"')
    found = calibrate.calibrate(sheet, solve(sheet))
    assert "not predicted" in found.notes[0]
