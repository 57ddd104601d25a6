"""Files of other simulators whose parts are not read, or which run for minutes."""

import pytest

from ssdlab import InputError
from ssdlab.foreign import femu, mqsim, simplessd

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


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ssd.conf", "SSD_SIZE 4\nPAGE_READ_DELAY 0.000025\n", "parameters of FlashSim"),
        ("vssd1.conf", "PAGE_SIZE 4096\nCELL_PROGRAM_DELAY 800\n", "VSSIM or an old FEMU"),
        ("page.parameters", "chip number = 4 ;\nt_PROG = 200000 ;\n", "parameters of SSDsim"),
        ("run.sh", "#!/bin/sh\nsudo fio --name=a --rw=randread\n", "belong into a job file"),
    ],
)
def test_files_of_other_programs_are_answered_in_one_line(tmp_path, name, text, said, refused):
    (tmp_path / name).write_text(text)
    assert said in refused("run", tmp_path / name)


def test_settings_in_toml_may_have_any_ending(tmp_path, ssdlab):
    path = tmp_path / "mine.conf"
    path.write_text('device.kind = "law"\nworkload.requests = 5\n')
    assert ssdlab("run", path, "--quiet").returncode == 0


def test_a_run_without_requests_says_why(tmp_path, ssdlab):
    path = tmp_path / "reads.fio"
    path.write_text("[a]\nrw=read\nbs=256k\nzonemode=zbd\nsize=64z\n")
    done = ssdlab("run", path, "--device", "wd-zn540")
    assert "No request was made: reads of zones end where their data end" in done.stdout
    path.write_text("[a]\nrw=write\nbs=256k\nzonemode=zbd\nsize=1G\n")
    done = ssdlab("run", path, "--device", "wd-zn540")
    assert done.returncode == 2 and "hold no whole zone of 2147483648 bytes: size=1z" in done.stderr
    path.write_text("[a]\nrw=write\nbs=256k\nzonemode=zbd\nsize=1z\n")
    done = ssdlab("run", path, "--device", "wd-zn540")
    assert done.returncode == 0, done.stderr
    assert "No request was made" not in done.stdout
    path.write_text("[a]\nrw=rw\nbs=256k\nzonemode=zbd\nsize=64z\n")
    filled = ["--set", "device.zones.fill=0.5", "--set", "workload.requests=20"]
    done = ssdlab("run", path, "--device", "wd-zn540", *filled)
    assert done.returncode == 0, done.stderr
    assert "No request was made" not in done.stdout


def test_a_large_drive_of_mqsim_says_that_its_preconditioning_takes_minutes(tmp_path):
    path = tmp_path / "ssdconfig.xml"
    for blocks, is_large in ((2048, True), (8, False)):
        parts = {
            "Enabled_Preconditioning": "true", "Flash_Channel_Count": 8, "Chip_No_Per_Channel": 4,
            "Die_No_Per_Chip": 2, "Plane_No_Per_Die": 2, "Block_No_Per_Plane": blocks,
            "Page_No_Per_Block": 256, "Page_Capacity": 8192,
        }  # fmt: skip
        inside = "".join(f"<{name}>{it}</{name}>" for name, it in parts.items())
        path.write_text(f"<Execution_Parameter_Set>{inside}</Execution_Parameter_Set>")
        said = mqsim.converted(path)
        assert ("overwrites 512 GiB" in said and "device.scale=64" in said) == is_large
