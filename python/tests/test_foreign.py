"""Results, jobs of fio, command lines of DiskSpd and files of other simulators as experiments."""

import json
from pathlib import Path

import pytest

import ssdlab as package
from ssdlab.foreign import femu


def test_results_run_what_made_them(ssdlab, tmp_path, small_options):
    assert ssdlab("run", *small_options, "--seed", 7, "--out", "out").returncode == 0
    first = package.Results.load(tmp_path / "out").host
    for source in ("out", "out/results.json", "out/experiment.toml"):
        again = ssdlab("run", source, "--json", "-")
        assert json.loads(again.stdout)["host"] == first.to_dict()
    changed = ssdlab("run", "out", "--set", "workload.requests=20", "--json", "-")
    assert json.loads(changed.stdout)["host"]["all"]["requests"] == 20
    assert package.run(tmp_path / "out").host.all.mean_us == first.all.mean_us


def test_a_job_of_fio_runs(ssdlab, refused, tmp_path):
    (tmp_path / "job.fio").write_text("[a]\nrw=randread\nbs=4k\nsize=64k\n")
    for words in (["job.fio"], ["--workload", "job.fio"]):
        done = ssdlab("run", *words, "--json", "-")
        assert json.loads(done.stdout)["host"]["all"]["requests"] == 16
    assert "is a directory" not in refused("run", "no.fio")


def test_results_that_name_code_need_permission(ssdlab, refused, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from ssdlab import cleaners\n\n\nclass Mine(cleaners.Cleaner):\n"
        "    def step(self, view):\n        return cleaners.Clean(view.emptiest)\n"
    )
    words = ["--set", "cleaning.policy=mine:Mine", "--set", "workload.requests=100"]
    assert ssdlab("run", *words, "--out", "out").returncode == 0
    assert "--allow-code" in refused("run", "out")
    assert ssdlab("run", "out", "--allow-code").returncode == 0


DISKSPD = """@echo off
rem two measurements
diskspd -b4K -r -o1 -w50 -g100i -W1 -d2 -L -Sh a.dat > out.txt
diskspd.exe -b8K -o1 -g50i -W0 -d2 ^
   -Su a.dat
"""


@pytest.mark.parametrize("name", ["load.cmd", "load.bat", "load.diskspd"])
def test_command_lines_of_diskspd_run(ssdlab, refused, tmp_path, name):
    (tmp_path / name).write_text(DISKSPD)
    for words in ([name], ["--workload", name]):
        found = json.loads(ssdlab("run", *words, "--json", "-", "--quiet").stdout)
        counts = {it: stats["all"]["requests"] for it, stats in found["classes"].items()}
        assert counts == {"line 3 warm-up": 99, "line 3 measured": 200, "line 4 measured": 99}
        assert found["host"]["all"]["requests"] == 398
    noted = {"diskspd_ignored_L": 1, "diskspd_ignored_output_file": 1}
    assert found["workload"]["notices"] == noted
    (tmp_path / name).write_text("diskspd -b4K -q a.dat")
    assert f"DiskSpd file {name}, line 1: -q: unknown option" in refused("run", name)
    assert "is a directory" not in refused("run", f"no-{name}")


def test_the_table_of_diskspd_is_of_what_it_measures(ssdlab, tmp_path):
    (tmp_path / "load.cmd").write_text(DISKSPD)
    both = ssdlab("run", "load.cmd", "--format", "diskspd").stdout
    assert both.startswith("Line 3\n\nTotal IO") and "\nLine 4\n\nTotal IO" in both
    (tmp_path / "one.cmd").write_text("diskspd -b4K -o1 -g100i -W1 -d2 -Su a.dat")
    one = ssdlab("run", "one.cmd", "--format", "diskspd").stdout.splitlines()
    assert one[0] == "Total IO" and one[3].split(" | ")[1].strip() == "200"


FEMU = """#!/bin/bash
# a drive of 2 x 4 units
nchs=2
page_sectors=8
export RD=50000
size=3072
OPTS="-device femu"
OPTS=${OPTS}",devsz_mb=${size},namespaces=1"
OPTS=${OPTS}",femu_mode=1,secsz=512,secs_per_pg=${page_sectors},pgs_per_blk=64,blks_per_pl=512"
OPTS=${OPTS}",pls_per_lun=2,luns_per_ch=8,nchs=${nchs},pg_rd_lat=$RD,pg_wr_lat=300000"
OPTS=${OPTS}",blk_er_lat=4000000,gc_thres_pcent=75,gc_thres_pcent_high=90"
SYSTEM="-device femu-subsys,fdp=on,fdp.nruh=4,fdp.nrg=2,fdp.nru=${units}"
units=$all
all=512
"""


def test_a_script_of_femu_is_a_drive(tmp_path, ssdlab):
    path = tmp_path / "run-it.sh"
    path.write_text(FEMU)
    device = package.Experiment(path, workload="random-read").to_dict()["device"]
    shape = ("channels", "packages_per_channel", "planes_per_die", "blocks_per_plane")
    assert [device[it] for it in shape] == [2, 8, 2, 512]
    assert (device["page_size"], device["pages_per_block"]) == ("4KiB", 64)
    assert device["capacity"] == "3GiB" and device["cleaning"]["min_free"] == 0.1
    said = femu.converted(path)
    assert device["fdp"]["handles"] == 4 and "nrg = 2" in said and "nru = 512" not in said
    times = device["timing"]
    assert [times[it] for it in ("read", "program", "erase")] == ["50us", "300us", "4ms"]
    done = ssdlab(
        "run", path, "--workload", "random-read", "--set", "workload.requests=50", "--quiet"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("it.sh", "#!/bin/bash\nmake\n", "names no drive of FEMU"),
        (
            "it.sh",
            FEMU.replace("femu_mode=1", "femu_mode=2"),
            "femu_mode=2: a drive without a model",
        ),
        (
            "it.sh",
            'SIZE=64\nqemu -device femu,devsz_mb="$SIZE",id=nvme0\n',
            "femu_mode=2: a drive without a model",
        ),
        ("it.sh", FEMU.replace("nchs=2", "nchs=eight"), 'nchs = "eight": expected a number'),
        ("it.sh", FEMU.replace("size=3072", ""), 'devsz_mb = "${size}": expected a number'),
        ("it.h", "#define NAND (8)\n", "a header without a drive of NVMeVirt (NAND_CHANNELS)"),
        (
            "it.h",
            "#define NAND_CHANNELS (many)\n#define CELL_MODE CELL_MODE_SLC\n",
            'NAND_CHANNELS = "many": expected a number',
        ),
        (
            "it.h",
            "#if (BASE_SSD == A)\n#define NAND_CHANNELS 1\n#elif (BASE_SSD == B)\n"
            "#define NAND_CHANNELS 2\n#endif\n",
            "2 drives (A, B); keep one",
        ),
        (
            "it.h",
            "#define NAND_CHANNELS 1\n#define NS_SSD_TYPE_0 SSD_TYPE_ZNS\n",
            "drives of zones; read is the one whose NS_SSD_TYPE_0 is SSD_TYPE_CONV",
        ),
        ("it.cfg", "a = 1\n", "no configuration of SimpleSSD"),
        ("it.cfg", "[x]\na = 1\n", "has a section [pal]"),
    ],
)
def test_files_of_others_that_are_not_read_say_so_in_a_line(name, content, said, refused, tmp_path):
    (tmp_path / name).write_text(content)
    assert said in refused("run", name)


NVMEVIRT = (Path(__file__).parent / "support/files/nvmevirt_config.h").read_text()


def test_a_header_of_nvmevirt_is_a_drive(tmp_path, ssdlab):
    path = tmp_path / "ssd_config.h"
    path.write_text(NVMEVIRT)
    device = package.Experiment(path, workload="random-read").to_dict()["device"]
    shape = ("channels", "packages_per_channel", "planes_per_die", "blocks_per_plane")
    assert [device[it] for it in shape] == [4, 2, 1, 64]
    assert (device["page_size"], device["pages_per_block"], device["cell"]["bits"]) == (
        "16KiB",
        64,
        2,
    )
    times = device["timing"]
    assert (times["read"], times["read_part"]) == ("41us, 59us", "39us")
    # A program has two pages, and a word line has two of two planes.
    assert (times["program"], times["erase"], times["bus_rate"]) == ("700us", "3ms", "600MT/s")
    assert (device["buffer"]["size"], device["over_provisioning"]) == ("1MiB", 0.25)
    assert device["host_link"]["bandwidth"] == "3GB/s"
    assert (device["firmware"]["read"], device["firmware"]["per_page"]) == ("9us", "0ns")
    load = ("--workload", "random-write", "--set", "workload.requests=500")
    assert ssdlab("run", path, *load, "--quiet").returncode == 0
    shown = ssdlab("run", path, *load, "--show").stdout
    assert "not modelled: FW_READ_LATENCY = 12000" in shown
    assert "other models of the file, not read: OTHER" in shown


SIMPLESSD = (Path(__file__).parent / "support/files/simplessd.cfg").read_text()


@pytest.mark.parametrize("is_cached", [0, 1])
def test_a_configuration_of_simplessd_is_a_drive(is_cached, tmp_path, ssdlab):
    path = tmp_path / "drive.cfg"
    path.write_text(SIMPLESSD % is_cached)
    device = package.Experiment(path, workload="random-read").to_dict()["device"]
    assert (device["channels"], device["packages_per_channel"], device["fill"]) == (2, 2, 0.5)
    assert (device["timing"]["read"], device["timing"]["program"]) == ("40us, 65us", "1.8ms")
    assert (device["timing"]["erase"], device["timing"]["bus_rate"]) == ("3.5ms", "800MT/s")
    assert device["spare_factor"] == 0.25 and device["cell"]["bits"] == 2
    assert (device["cleaning"]["policy"], device["cleaning"]["d_choices"]["d"]) == ("d-choices", 4)
    assert device["host_link"]["bandwidth"] == "3.94GB/s"
    assert device["buffer"]["size"] == ("4MiB" if is_cached else "0B")
    done = ssdlab(
        "run", path, "--workload", "random-read", "--set", "workload.requests=50", "--quiet"
    )
    assert done.returncode == 0, done.stderr
    shown = ssdlab("run", path, "--workload", "random-read", "--show").stdout
    assert "drive.cfg: not modelled: pal.pageallocation = CWDP" in shown
