"""The recipe `layout` of `ssdlab calibrate`: the inside of drives that are known is found.

A drive without a write buffer shows its page, channels, block and spare space; one with a buffer
that and its spare space. A served drive is measured by fio itself in the nightly tests.
"""

import shutil

import fio_logs as fake
import pytest

import ssdlab as package
from ssdlab import InputError
from ssdlab.calibration import recipes

SMALL = {"device.blocks_per_plane": 48}
#: Data pages of a block: the last one is its summary.
BLOCK = 63 * 4096


def free_bytes(device, keys):
    """What is free of a drive that is full, less what cleaning keeps free."""
    results = package.run(device=device, set=keys, workload={"kind": "closed", "requests": 1})
    spare = results.flash.spare
    return results.capacity_bytes / (1 - spare.nominal) * spare.effective


def near(quantity, value, rel=0.05):
    return quantity["value"] == pytest.approx(value, rel=rel)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The paper's drive with fewer blocks, measured."""
    directory = tmp_path_factory.mktemp("layout")
    fake.layout(directory, "agrawal2008", SMALL)
    return directory, *fake.found("layout", directory)


def test_page_channels_block_and_spare_space_of_a_known_drive_are_found(plain):
    _, found, notes, keys = plain
    assert found["page"]["value"] == 4096 and keys["device.page_size"] == "4KiB"
    assert found["channels"]["value"] == 8 and keys["device.channels"] == "8"
    assert near(found["block"], BLOCK, 0.01), found["block"]
    assert near(found["spare"], free_bytes("agrawal2008", SMALL)), found["spare"]
    assert "buffer" not in found and any("no buffer is seen" in note for note in notes)


def test_those_of_another_drive_are_found_too(tmp_path):
    keys = {
        "device.blocks_per_plane": 48,
        "device.channels": 5,
        "device.page_size": "8KiB",
        "device.pages_per_block": 32,
        "device.spare_factor": 0.25,
    }
    fake.layout(tmp_path, "agrawal2008", keys, spare=0.45, unit=8, burst=16)
    found, notes, _ = fake.found("layout", tmp_path)
    assert found["page"]["value"] == 8192
    assert found["channels"]["value"] == 5
    assert near(found["block"], 31 * 8192, 0.01), (found.get("block"), notes)
    assert near(found["spare"], free_bytes("agrawal2008", keys)), found["spare"]


@pytest.mark.parametrize("mib", [8, 16])
def test_the_write_buffer_of_a_known_drive_is_found(tmp_path, mib):
    keys = SMALL | {"device.buffer.size": f"{mib}MiB"}
    fake.layout(tmp_path, "agrawal2008", keys)
    found, notes, written = fake.found("layout", tmp_path)
    assert near(found["buffer"], mib << 20), found["buffer"]
    assert found["buffer"]["low"] <= found["buffer"]["value"] <= found["buffer"]["high"]
    assert written["device.buffer.size"].endswith("MiB")
    # Behind it nobody sees an erasure.
    assert "block" not in found and any("no block is seen" in note for note in notes)


def test_what_was_too_short_is_said(plain, tmp_path):
    directory, _, _, _ = plain
    shutil.copytree(directory, tmp_path / "short")
    for name, part in (("spare", 0.1), ("erase", 0.02)):
        path = tmp_path / "short" / f"{name}_lat.1.log"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[: int(part * len(lines))]))
    found, notes, _ = fake.found("layout", tmp_path / "short")
    assert "spare" not in found and any("SPARE is short" in note for note in notes)
    assert "block" not in found


@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        (lambda at: (at / "within-1k.json").unlink(), "within-1k.json: is not there"),
        (lambda at: (at / "sizes_lat.1.log").unlink(), "there is no sizes_lat.1.log"),
        (lambda at: (at / "sizes_lat.1.log").write_text("1, 2000\n"), "its lines have no sizes"),
        (lambda at: (at / "erase_lat.1.log").write_text(""), "has no requests"),
    ],
)
def test_bad_files_are_refused(plain, tmp_path, spoil, part):
    directory, _, _, _ = plain
    shutil.copytree(directory, tmp_path / "bad")
    spoil(tmp_path / "bad")
    with pytest.raises(InputError, match=".*") as refusal:
        recipes.fit("layout", tmp_path / "bad")
    assert part in str(refusal.value)


def test_the_command_prints_what_was_found(plain, ssdlab):
    directory, _, _, _ = plain
    text = " ".join(ssdlab("calibrate", directory, "--fit", "layout").stdout.split())
    assert "device.channels" in text and "spare" in text and "no buffer is seen" in text
