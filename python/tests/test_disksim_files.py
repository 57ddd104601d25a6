"""Parameter files of DiskSim as experiments: what each parameter becomes, and what is refused."""

import json
from pathlib import Path

import pytest

import ssdlab as package
from ssdlab._core import InputError
from ssdlab.foreign import disksim

SSD = {
    "Reserve pages percentage": "15", "Minimum free blocks percentage": "5", "Write policy": "2",
    "Cleaning policy": "2", "Planes per package": "8", "Blocks per plane": "64",
    "Plane block mapping": "3", "Copy back": "1", "Number of parallel units": "1",
    "Allocation pool logic": "1", "Elements per gang": "1", "Gang share": "1",
    "Cleaning in background": "0", "Command overhead": "0.0", "Bus transaction latency": "0.0",
    "Flash chip elements": "8", "Page size": "8", "Pages per block": "64",
    "Blocks per element": "512", "Element stride pages": "1", "Never disconnect": "1",
    "Max queue length": "20", "Timing model": "1", "Chip xfer latency": "0.000025",
    "Page read latency": "0.025", "Page write latency": "0.200", "Block erase latency": "1.5",
    "Bulk sector transfer time": "0", "Print stats": "1",
}  # fmt: skip
FLOW = {
    "Storage capacity per device": "200000", "devices": "[ org0 ]", "Blocking factor": "8",
    "Probability of sequential access": "0.25", "Probability of local access": "0.0",
    "Probability of read access": "0.5", "Probability of time-critical request": "0.0",
    "Probability of time-limited request": "0.0",
    "Time-limited think times": "[ uniform, 0.0, 1.0 ]",
    "General inter-arrival times": "[ uniform, 0.0, 1.0 ]",
    "Sequential inter-arrival times": "[ exponential, 0.0, 1.5 ]",
    "Sizes": "[ exponential, 0.0, 8.0 ]",
}  # fmt: skip


def block(kind, name, given):
    inside = ",\n".join(f"   {key} = {value}" for key, value in given.items())
    return f"{kind} {name} {{\n{inside}\n}} # end of {name}\n"


def parameters(ssd=None, flow=None, organization=None, devices="ssd0"):
    """A file as the original has them: an SSD behind a bus of 0.2384 us a sector."""
    queue = "disksim_ioqueue { Scheduling policy = %d, Cylinder mapping strategy = 0 }"
    return "".join(
        [
            block("disksim_global", "Global", {"Init Seed": "42", "Real Seed": "42"}),
            block("disksim_iodriver", "DRIVER0", {"type": "1", "Scheduler": queue % 3}),
            block("disksim_bus", "BUS1", {"type": "2", "Read block transfer time": "0.0002384",
                                          "Write block transfer time": "0.0002384"}),
            block("ssdmodel_ssd", "SSD", SSD | {"Scheduler": queue % 1} | (ssd or {})),
            f"instantiate [ {devices} ] as SSD\ninstantiate [ bus1 ] as BUS1\n",
            "topology disksim_iodriver driver0 [ disksim_bus bus1 [ ssdmodel_ssd ssd0 [] ] ]\n",
            block("disksim_logorg", "org0", {
                "Addressing mode": "Array", "Distribution scheme": "Striped",
                "Redundancy scheme": "Noredun", "devices": "[ ssd0 ]", "Stripe unit": "128",
            } | (organization or {})),
            block("disksim_syntheticio", "Synthio", {
                "Number of I/O requests to generate": "5000",
                "generators": "[\n" + block("disksim_synthgen", "", FLOW | (flow or {})) + "]",
            }),
        ]
    )  # fmt: skip


@pytest.fixture
def convert(tmp_path):
    def converted(text):
        (tmp_path / "it.parv").write_text(text)
        experiment = package.Experiment(tmp_path / "it.parv").to_dict()
        return experiment, disksim.converted(tmp_path / "it.parv")

    return converted


def test_a_file_runs_as_the_preset_of_the_original_does(tmp_path, ssdlab):
    (tmp_path / "it.parv").write_text(parameters())
    ran = json.loads(ssdlab("run", "it.parv", "--json", "-", "--quiet").stdout)
    by_hand = package.run(
        device={"preset": "disksim-ssd", "blocks_per_plane": 64, "spare_blocks_per_plane": 9},
        workload={
            "kind": "open", "requests": 5000, "sequential_share": 0.25, "read_share": 0.5,
            "interarrival": "uniform(0, 1)", "sequential_interarrival": "exponential(0, 1.5)",
            "size": "exponential(0, 8)", "block_size": "4KiB", "footprint": "102400000B",
            "generator": "drand48",
        },
        seed=42,
    )  # fmt: skip
    assert ran["host"] == by_hand.to_dict()["host"]
    assert ran["host"]["all"]["requests"] == 5000


CHANGES = {
    "Reserve pages percentage": "20", "Minimum free blocks percentage": "3", "Cleaning policy": "3",
    "Planes per package": "4", "Blocks per plane": "128", "Copy back": "0",
    "Number of parallel units": "2", "Allocation pool logic": "2", "Cleaning in background": "1",
    "Command overhead": "0.01", "Bus transaction latency": "0.02", "Flash chip elements": "4",
    "Page size": "16", "Pages per block": "32", "Element stride pages": "2",
    "Never disconnect": "0", "Max queue length": "5", "Chip xfer latency": "0.00005",
    "Page read latency": "0.05", "Page write latency": "0.3", "Block erase latency": "2",
    "Bulk sector transfer time": "0.001", "Write policy": "1", "Plane block mapping": "1",
    "New one": "7",
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_each_parameter_of_a_drive_is_mapped_or_named(convert, name):
    before, text = convert(parameters())
    after, changed = convert(parameters(ssd={name: CHANGES[name]}))
    assert changed != text
    named = [line for line in changed.splitlines() if line.startswith("#") and name in line]
    assert before["device"] != after["device"] or named
    if name == "Allocation pool logic":
        gangs, said = convert(parameters(ssd={name: "0", "Elements per gang": "4"}))
        assert gangs["device"]["gang"] == "shared-bus" and "Gang share says" in said


def test_an_organization_of_several_drives_is_an_array(convert):
    more = {"devices": "[ ssd0, ssd1, ssd2, ssd3 ]", "Stripe unit": "16"}
    device = convert(parameters(organization=more, devices="ssd0 .. ssd3"))[0]["device"]
    assert (device["kind"], device["members"], device["stripe"]) == ("array", 4, "8KiB")
    more |= {"Redundancy scheme": "Parity_rotated"}
    device = convert(parameters(organization=more, devices="ssd0 .. ssd3"))[0]["device"]
    assert device["redundancy"] == "parity"
    assert device["member"]["blocks_per_plane"] == 64


def test_known_disks_are_presets(tmp_path):
    text = (
        "source atlas10k.diskspecs\ninstantiate [ disk0 .. disk2 ] as QUANTUM_QM39100TD-SW\n"
        + block("disksim_logorg", "org0", {
            "Distribution scheme": "Asis", "Redundancy scheme": "Noredun",
            "devices": "[ disk0, disk1, disk2 ]",
        })
    )  # fmt: skip
    (tmp_path / "disks.parv").write_text(text)
    found = package.Experiment(tmp_path / "disks.parv", workload="random-read").to_dict()["device"]
    assert (found["kind"], found["members"], found["layout"]) == ("array", 3, "concatenated")
    assert found["member"] == package.Experiment(
        device="atlas10k", workload="random-read"
    ).to_dict()["device"]  # fmt: skip


REFUSED = [
    ("disksim_global Global {\n  Real Seed = 42,", ":2: the file ends in the middle of a block"),
    (parameters(ssd={"Page size": "big"}), 'Page size = big: expected a number from 0'),
    (parameters(ssd={"Pages per block": "0"}), "Pages per block = 0: expected a whole number"),
    (parameters(ssd={"Number of parallel units": "3"}), "of 8 planes: 1, 2, 4 or 8"),
    (parameters(ssd={"Cleaning policy": "9"}), "Cleaning policy = 9: choose from 1, 2, 3"),
    (parameters(ssd={"Allocation pool logic": "0", "Elements per gang": "3"}),
     "Elements per gang = 3: does not divide 8 elements"),
    (parameters(flow={"Sizes": "[ zipf, 1, 2 ]"}), "Sizes = [zipf, 1, 2]: expected [KIND, a, b]"),
    (parameters(flow={"Probability of time-critical request": "1.0"}),
     "requests that the host waits for"),
    (parameters(flow={"Probability of read access": "2"}), "expected a number from 0 to 1"),
    (parameters(devices="ssd3 .. disk9"), "is no range of numbered names"),
    (parameters(devices="ssd0 .. ssd99999"), "more than 4096 instances"),
    ("= 3", "expected a block, instantiate, topology or source, found '='"),
    ("a b { c = 1, c = 2 }", "c is given twice"),
    ("a b { c = " + 40 * "[" + 40 * "]" + " }", "lists in lists"),
    ("a b { c = } }", "expected a value, found '}'"),
    ("", "no instance of an ssdmodel_ssd"),
    ("disksim_disk FAST { Model = NEW }\ninstantiate [ d ] as FAST", "its model is not known"),
    ("source it.parv", "files read files, 8 deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused(tmp_path, text, message):
    path = tmp_path / "it.parv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        disksim.converted(path)
    assert message in str(refused.value) and str(path) in str(refused.value)


def test_no_file_hurts(tmp_path):
    path = tmp_path / "it.parv"
    for content in (b"\xff\xfe", b"a" * (2 << 20), b"{" * 5000, b"a b {" * 5000):
        path.write_bytes(content)
        with pytest.raises(InputError):
            disksim.converted(path)
    text = parameters()
    for end in range(0, len(text), 7):
        path.write_text(text[:end])
        try:
            disksim.converted(path)
        except InputError as error:
            assert str(path) in str(error)


@pytest.mark.shared("oracle/valid.json")
@pytest.mark.parametrize("name", ["sr250k", "sw250k", "rr250k", "rw250k"])
def test_a_validation_run_of_the_original_from_its_parameters(tmp_path, name):
    shared = Path(__file__).resolve().parents[3] / "shared" / "oracle" / "valid.json"
    run = json.loads(shared.read_text())[name]
    given = {
        key: f"[ {', '.join(map(str, it))} ]" if isinstance(it, list) else f"{it}"
        for key, it in run["params"].items()
    }
    flow = {key: value for key, value in given.items() if key in FLOW or key.startswith("Local")}
    text = parameters(ssd={key: given[key] for key in SSD if key in given}, flow=flow)
    (tmp_path / "it.parv").write_text(text.replace("= 5000", "= 250000"))
    found = package.run(tmp_path / "it.parv")
    mean_ms = (found.host.all.mean_us - found.host.all.breakdown_us.host_queue) / 1000
    assert mean_ms == pytest.approx(run["device_mean_ms"], rel=1e-3)
    assert found.flash.block_erases == run["blocks_cleaned"]
