"""Scripts of FEMU with more than one drive, or with options that are not read."""

import pytest

from ssdlab import InputError
from ssdlab.foreign import femu, simplessd

DRIVE = "-device femu,devsz_mb=64,femu_mode=1"


def test_options_that_are_not_read_are_named(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text(
        f"OPTS='{DRIVE},pe_suspend=1,id=a'\nOPTS=${{OPTS}},pg_rd_lat=40000,nand_cell_type=4\n"
        "qemu -net user,hostfwd=tcp::8080-:22 $OPTS\n"
    )
    said = femu.converted(path)
    lost = [line for line in said.splitlines() if line.startswith("# not modelled")]
    assert lost == ["# not modelled: nand_cell_type = 4", "# not modelled: pe_suspend = 1"]


def test_the_second_of_two_drives_does_not_replace_the_first(tmp_path):
    path = tmp_path / "run.sh"
    path.write_text(f"qemu {DRIVE} -device femu,devsz_mb=32,femu_mode=1\n")
    with pytest.raises(InputError, match="run.sh: 2 drives of FEMU"):
        femu.converted(path)
    path.write_text(f"qemu {DRIVE}\n# {DRIVE}\n")
    assert 'capacity = "64MiB"' in femu.converted(path)


def test_settings_of_a_replay_are_no_drive_of_simplessd(tmp_path):
    path = tmp_path / "run.cfg"
    path.write_text('[trace]\nRegex = "a"\n')
    with pytest.raises(InputError, match="--pattern takes a regular expression"):
        simplessd.converted(path)
