"""Results, fio jobs, command lines of DiskSpd and MQSim's files as experiments."""

import json

import pytest

import ssdlab as package
from ssdlab.foreign import femu, mqsim

GIVEN = {
    "PCIe_Lane_Bandwidth": "1.0", "PCIe_Lane_Count": "4", "Seed": "321",
    "Enabled_Preconditioning": "false", "HostInterface_Type": "NVME", "Queue_Fetch_Size": "512",
    "Data_Cache_Capacity": "268435456", "Overprovisioning_Ratio": "0.07",
    "GC_Exec_Threshold": "0.05", "GC_Block_Selection_Policy": "RGA",
    "Preemptible_GC_Enabled": "true", "Flash_Channel_Count": "2", "Channel_Transfer_Rate": "400",
    "Chip_No_Per_Channel": "2", "Flash_Technology": "MLC", "Page_Read_Latency_LSB": "70000",
    "Page_Read_Latency_CSB": "10", "Page_Read_Latency_MSB": "90000",
    "Block_Erase_Latency": "3800000", "Block_PE_Cycles_Limit": "10000", "Die_No_Per_Chip": "2",
    "Plane_No_Per_Die": "2", "Block_No_Per_Plane": "64", "Page_No_Per_Block": "64",
    "Page_Capacity": "8192",
}  # fmt: skip
FLOW = {
    "Priority_Class": "HIGH", "Initial_Occupancy_Percentage": "75", "Working_Set_Percentage": "85",
    "Synthetic_Generator_Type": "QUEUE_DEPTH", "Read_Percentage": "60",
    "Address_Distribution": "RANDOM_HOTCOLD", "Percentage_of_Hot_Region": "10",
    "Request_Size_Distribution": "FIXED", "Average_Request_Size": "16",
    "Average_No_of_Reqs_in_Queue": "4", "Total_Requests_To_Generate": "300",
}  # fmt: skip
SYNTHETIC = "IO_Flow_Parameter_Set_Synthetic"


def tags(table):
    return "".join(f"<{name}>{value}</{name}>" for name, value in table.items())


def drive(**changes):
    return f"<{mqsim.DRIVE}>{tags(GIVEN | changes)}</{mqsim.DRIVE}>"


def work(*flows):
    inside = "".join(f"<{name}>{tags(table)}</{name}>" for name, table in flows)
    return f"<{mqsim.WORKLOAD}><IO_Scenario>{inside}</IO_Scenario></{mqsim.WORKLOAD}>"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "ssd.xml").write_text(drive())
    (tmp_path / "work.xml").write_text(work((SYNTHETIC, FLOW)))
    return tmp_path


def test_mqsim_becomes_an_experiment(files, ssdlab):
    shown = ssdlab("run", "ssd.xml", "--workload", "work.xml", "--show")
    assert shown.returncode == 0, shown.stderr
    for note in (
        "ssd.xml: not modelled: Data_Cache_Capacity = 268435456",
        "work.xml: flow 0: without effect here: Priority_Class",
    ):
        assert f"# {note}" in shown.stdout
    (files / "mine.toml").write_text(shown.stdout)
    found = package.Experiment(files / "mine.toml").to_dict()
    device, flow = found["device"], found["workload"]["classes"]["flow_0"]
    assert (device["channels"], device["packages_per_channel"], device["fill"]) == (2, 2, 0.75)
    assert (device["timing"]["read"], device["timing"]["bus_rate"]) == ("70us, 90us", "400MT/s")
    assert (device["cell"]["bits"], device["timing"]["program"]) == (2, "400us")
    assert (device["cleaning"]["policy"], device["cleaning"]["d_choices"]["d"]) == ("d-choices", 6)
    assert device["cleaning"]["time"] == "interleaved"
    assert (flow["depth"], flow["read_share"], flow["block_size"]) == (4, 0.6, "8KiB")
    assert found["run"]["seed"] == 321
    runs = [
        json.loads(ssdlab("run", *words, "--json", "-", "--quiet").stdout)["host"]
        for words in (["ssd.xml", "--workload", "work.xml"], ["mine.toml"])
    ]
    assert runs[0] == runs[1] and runs[0]["all"]["requests"] == 300


CACHED = {
    "Overprovisioning_Ratio": "0.3", "Caching_Mechanism": "ADVANCED",
    "Data_Cache_Capacity": "4194304", "CMT_Capacity": "32768", "Ideal_Mapping_Table": "false",
    "CMD_Suspension_Support": "PROGRAM_ERASE", "Suspend_Program_Time": "100000",
    "Suspend_Erase_Time": "700000", "Page_Program_Latency_LSB": "500000",
    "Page_Program_Latency_MSB": "900000", "Dynamic_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Enabled": "true", "Static_Wearleveling_Threshold": "100",
    "Plane_Allocation_Scheme": "CWDP", "Data_Cache_DRAM_tRCD": "13",
}  # fmt: skip


def test_cache_map_suspension_and_levelling_of_mqsim_are_those_of_the_drive(files):
    (files / "ssd.xml").write_text(drive(**CACHED))
    experiment = package.Experiment(files / "ssd.xml", workload=files / "work.xml")
    device = experiment.to_dict()["device"]
    assert device["buffer"]["size"] == "4MiB" and device["cell"]["program"] == "per-page"
    assert device["map"]["memory"] == "32KiB"
    assert (device["suspend"]["program"], device["suspend"]["erase"]) == ("100us", "700us")
    assert device["timing"]["program"] == "1.4ms", "a word line: its pages one by one"
    assert device["free_order"] == "least-worn"
    assert device["cleaning"]["levelling"]["rule"] == "migrate"
    assert experiment.run().host.all.requests == 300


def test_what_is_lost_is_ranked_by_its_effect(files):
    (files / "ssd.xml").write_text(drive(**CACHED))
    notes = [line for line in mqsim.converted(files / "ssd.xml").splitlines() if line[0] == "#"]
    assert notes[0] == "# not modelled: Plane_Allocation_Scheme = CWDP"
    assert notes[-1] == "# without effect here: Data_Cache_DRAM_tRCD"


def test_a_block_of_broken_word_lines_has_pages_of_one_kind(files):
    (files / "ssd.xml").write_text(drive(Flash_Technology="TLC"))  # 64 pages
    said = mqsim.converted(files / "ssd.xml")
    assert "the mean of TLC's pages" in said and "bits" not in said
    package.Experiment(files / "ssd.xml", workload="random-read").to_dict()


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize(
    "rate", [200, 333, 400, 533, 667, 800, 1066, 1200, 1333, 1400, 1600, 2133, 2400, 3200, 3600]
)
def test_every_rate_of_a_bus_is_read(files, rate, width):
    (files / "ssd.xml").write_text(
        drive(Channel_Transfer_Rate=f"{rate}", Flash_Channel_Width=f"{width}")
    )
    experiment = package.Experiment(files / "ssd.xml", workload="random-read")
    assert experiment.to_dict()["device"]["timing"]["bus_rate"] == f"{rate * width}MT/s"
    keys = {"workload.requests": 10, "workload.block_size": "8KiB", "device.fill": "full"}
    found = experiment.changed(set=keys).run()
    # A page of 8 KiB crosses the bus, and what goes before it and after it is little.
    assert found.host.all.breakdown_us.bus >= 8192 / (rate * width)


def test_what_is_no_flow_of_a_scenario_is_named(files):
    text = work((SYNTHETIC, FLOW)).replace(
        "<IO_Scenario>", "<IO_Scenario><Tracker><Ops>2</Ops></Tracker><Plain>1</Plain>"
    )
    (files / "work.xml").write_text(text)
    said = mqsim.converted(files / "work.xml")
    assert "# not modelled: Tracker\n" in said and "# not modelled: Plain\n" in said
    found = package.Experiment(files / "ssd.xml", workload=files / "work.xml").to_dict()
    assert list(found["workload"]["classes"]) == ["flow_0"]
    assert found["workload"]["requests"] == 300


def test_flows_that_turn_the_cache_off_have_a_drive_without_a_buffer(files):
    (files / "ssd.xml").write_text(drive(**CACHED))
    off = FLOW | {"Device_Level_Data_Caching_Mode": "TURNED_OFF"}
    means = {}
    for name, flows in (("on", [FLOW]), ("mixed", [FLOW, off]), ("off", [off])):
        (files / "work.xml").write_text(work(*((SYNTHETIC, flow) for flow in flows)))
        found = package.Experiment(files / "ssd.xml", workload=files / "work.xml")
        size = found.to_dict()["device"]["buffer"]["size"]
        assert (size == "0B") == (name == "off"), (name, size)
        means[name] = found.run().host.write.mean_us
    assert means["off"] > 1.5 * means["on"], means
    said = mqsim.converted(files / "work.xml")
    assert "the flows turn the data cache off" in said and "Caching_Mode" not in said


ZONED = CACHED | {
    "Support_Zone": "true", "Address_Mapping": "ZONE_LEVEL", "Zone_Size": "8",
    "Channel_No_Per_Zone": "2", "Chip_No_Per_Zone": "2", "Die_No_Per_Zone": "2",
    "Plane_No_Per_Zone": "2", "Zone_Allocation_Scheme": "CDPW",
}  # fmt: skip


def test_zones_of_a_fork_of_mqsim_are_those_of_a_zoned_drive(files, monkeypatch):
    monkeypatch.chdir(files)
    (files / "ssd.xml").write_text(drive(**ZONED))
    (files / "w.trace").write_text("".join(f"{1000 * n} 0 {16 * n} 16 0\n" for n in range(2000)))
    trace = {"File_Path": "w.trace", "Time_Unit": "NANOSECOND"}
    (files / "work.xml").write_text(work(("IO_Flow_Parameter_Set_Trace_Based", trace)))
    experiment = package.Experiment(files / "ssd.xml", workload=files / "work.xml")
    device = experiment.to_dict()["device"]
    assert (device["kind"], device["channels"], device["dies_per_channel"]) == ("zoned", 2, 4)
    zones = device["zones"]
    assert [zones[it] for it in ("size", "count", "width", "open")] == ["8MiB", 64, 8, 64]
    assert device["link"]["page"] == "1.024us" and device["link"]["queue_depth"] == 512
    said = mqsim.converted(files / "ssd.xml").splitlines()
    assert said[0] == "# not modelled: CMD_Suspension_Support = PROGRAM_ERASE"
    assert "GC_Exec_Threshold" in next(it for it in said if "without effect here" in it)
    host = experiment.run().host
    assert host.all.requests == 2000
    (files / "ssd.xml").write_text(drive(**ZONED | {"Die_No_Per_Zone": "1"}))
    narrow = package.Experiment(files / "ssd.xml", workload=files / "work.xml").run().host
    assert narrow.all.mean_us > host.all.mean_us, "fewer dies take its writes"


def test_flows_that_keep_to_a_part_and_classes_that_differ_are_named(files):
    whole = {"Channel_IDs": "0,1,2,3", "Die_IDs": "0-1", "Priority_Class": "HIGH"}
    part = whole | {"Channel_IDs": "4,5,6,7", "Priority_Class": "LOW"}
    (files / "work.xml").write_text(work(*((SYNTHETIC, FLOW | it) for it in (whole, part))))
    said = mqsim.converted(files / "work.xml")
    assert "# flow 0: taken as all of the drive: 4 of Channel_IDs, 2 of Die_IDs\n" in said
    assert "# flow 1: not modelled: Channel_IDs = 4,5,6,7\n" in said
    assert "# flow 1: not modelled: Priority_Class = LOW\n" in said


def test_files_are_read_as_mqsim_and_its_forks_have_them(files):
    """Their reader looks at no name that closes an element, and forks have names of their own."""
    plain = mqsim.converted(files / "ssd.xml"), mqsim.converted(files / "work.xml")
    text = (files / "ssd.xml").read_text().replace("</Seed>", "</<Sed>").replace(
        "</Queue_Fetch_Size>", "</Queue_Fech_Size>"
    )  # fmt: skip
    (files / "ssd.xml").write_text(text.replace(mqsim.DRIVE, "ExecParameterSet"))
    work_ = (files / "work.xml").read_text().replace(mqsim.WORKLOAD, "Workload_Definition")
    (files / "work.xml").write_text(work_.replace(SYNTHETIC, "SyntheticFlowParamSet"))
    assert (mqsim.converted(files / "ssd.xml"), mqsim.converted(files / "work.xml")) == plain


def test_every_parameter_is_mapped_or_named(files):
    changed = {name: f"{float(value) * 2:g}" for name, value in GIVEN.items() if _number(value)}
    plain = (files / "ssd.xml").read_text()
    for name, value in (changed | {"GC_Block_Selection_Policy": "GREEDY"}).items():
        (files / "other.xml").write_text(
            plain.replace(f">{GIVEN[name]}</{name}", f">{value}</{name}")
        )
        text = mqsim.converted(files / "other.xml")
        if name != "Page_Read_Latency_CSB":  # MLC has no such page
            assert text != mqsim.converted(files / "ssd.xml"), name


def _number(text):
    return text.replace(".", "").isdigit()


def test_flows_of_other_kinds(files):
    def converted(*flows):
        (files / "it.xml").write_text(work(*flows))
        mix = package.Experiment(files / "it.xml", set={"run.until": "1ms"})
        return mix.to_dict()["workload"], mqsim.converted(files / "it.xml")

    paced = FLOW | {"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": "819200"}
    found, said = converted((SYNTHETIC, paced))
    assert found["classes"]["flow_0"]["rate"] == 100
    assert "without effect here: Priority_Class, Average_No_of_Reqs_in_Queue" in said
    streaming = FLOW | {"Address_Distribution": "STREAMING", "Total_Requests_To_Generate": "0"}
    found, said = converted((SYNTHETIC, streaming | {"Stop_Time": "5000000"}))
    assert found["classes"]["flow_0"]["random_share"] == 0
    assert 'until = "5000000ns"' in said
    trace = {"File_Path": "x.trace", "Time_Unit": "NANOSECOND", "Relay_Count": "2"}
    found, said = converted(("IO_Flow_Parameter_Set_Trace_Based", trace))
    assert (found["path"], found["loops"], found["beyond"]) == ("x.trace", 2, "wrap")
    (files / "x.trace").write_text("100 0 8 8 0\n")
    found, _ = converted((SYNTHETIC, FLOW), ("IO_Flow_Parameter_Set_Trace_Based", trace))
    assert [stream["kind"] for stream in found["streams"]] == ["trace", "threads"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a", "not XML"),
        ("<a/>", "<a> is neither MQSim's"),
        ("<MQSim_Results><Host/></MQSim_Results>", "results of MQSim; `ssdlab run` takes the"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "document types and entities are not read"),
        (drive(Seed="many"), 'Seed = "many": expected a number'),
        (drive(Flash_Technology="PLC"), 'Flash_Technology = "PLC": choose from SLC, MLC, TLC'),
        (work((SYNTHETIC, {"Read_Percentage": "1"})), "a flow needs Total_Requests_To_Generate"),
        (work(), "no <IO_Scenario>"),
    ],
)
def test_wrong_xml_is_refused(refused, tmp_path, text, message):
    (tmp_path / "it.xml").write_text(text)
    assert message in refused("run", "it.xml")


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


NVMEVIRT = """
#define SSD_TYPE_CONV 1
#if (BASE_SSD == OTHER)
#define NS_SSD_TYPE_0 SSD_TYPE_ZNS
#define NAND_CHANNELS (64)
#elif (BASE_SSD == MINE)
#define NS_SSD_TYPE_0 SSD_TYPE_CONV /* pages */
#define CELL_MODE (CELL_MODE_MLC)
#define SSD_PARTITIONS (2)
#define NAND_CHANNELS (4)
#define LUNS_PER_NAND_CH (2)
#define PLNS_PER_LUN (1)
#define FLASH_PAGE_SIZE KB(16)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 2)
#define BLKS_PER_PLN (64)
#if 0
#define BLK_SIZE (1)
#else
#define BLK_SIZE (FLASH_PAGE_SIZE << 6)
#endif
#define NAND_CHANNEL_BANDWIDTH (600ull) // MB/s
#define PCIE_BANDWIDTH (3000ull)
#define NAND_READ_LATENCY_LSB (50000 - 9000)
#define NAND_READ_LATENCY_MSB (50000 + 9000)
#define NAND_4KB_READ_LATENCY_LSB (39000)
#define NAND_PROG_LATENCY (700000)
#define NAND_ERASE_LATENCY (3000000)
#define FW_4KB_READ_LATENCY (9000)
#define FW_READ_LATENCY (12000)
#define OP_AREA_PERCENT (0.25)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 4)
#endif
"""


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


SIMPLESSD = """
# times in ps
[nvme]
PCIEGeneration = 2
PCIELane = 4
[pal]
Channel = 2
Package = 2
Die = 1
Plane = 2
Block = 128
Page = 64
PageSize = 8192
NANDType = 1
LSBRead = 40000000
MSBRead = 65000000
LSBWrite = 500000000   # fast
MSBWrite = 1300000000
Erase = 3500000000
DMASpeed = 400
DMAWidth = 16
PageAllocation = CWDP
[ftl]
OverProvisioningRatio = 0.25
FillRatio = 0.5
GCThreshold = 0.05
EvictPolicy = 3
DChoiceParam = 4
[icl]
EnableWriteCache = %d
CacheSize = 4194304
"""


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
