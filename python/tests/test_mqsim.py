"""Files of MQSim and its forks as experiments."""

import json

import pytest

import ssdlab as package
from ssdlab.foreign import mqsim

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
