"""From data sheets to drives: the arithmetic, what contradicts itself, and what is assumed."""

import json

import pytest

from ssdlab._core import InputError
from ssdlab.datasheet import arithmetic, contradictions, given
from ssdlab.datasheet.arithmetic import Flash
from ssdlab.datasheet.drive import Drive
from ssdlab.datasheet.solve import solve

SHEET = {
    "name": "A drive",
    "capacity": "960GB",
    "interface": "pcie4-x4",
    "read_latency": "80us",
    "write_latency": "15us",
    "seq_read": "6500MB/s",
    "seq_write": "1500MB/s",
}

#: The Samsung PM9A3 960 GB: 16 dies of 4 planes, P = 2.1 ms (MECHANISMS of its presets).
PM9A3 = Flash(8, 16, 4, 3, 16384, 0, 45e-6, 2.1e-3, 0.0, 1.2e9)


def text(changes: dict[str, object]) -> str:
    table = {key: value for key, value in (SHEET | changes).items() if value is not None}
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


def sheet(**changes: object) -> given.Given:
    return given.parse("my.toml", text(changes))


def solved(**changes: object) -> Drive:
    found = sheet(**changes)
    contradictions.refuse(found)
    return solve(found)


def test_a_sata_drive_queues_what_sata_does() -> None:
    """NCQ has 32 commands (Serial ATA 3.0); what the host has beyond them waits there."""
    sata = {"interface": "sata-600", "seq_read": "550MB/s", "seq_write": "500MB/s"}
    assert solved(**sata).slots == solved(**sata, rand_read_depth=128).slots == 32
    assert solved(**sata).origins["host_link.queue_depth"][0] == "published"
    assert solved().slots == 256
    assert solved(rand_read_depth=512).slots == 512
    with pytest.raises(InputError, match="32 outstanding"):
        solved(**sata, read_latency="400us", rand_read="98K/s")


# The closed forms


def test_amplification_is_that_of_published_drives() -> None:
    """SSD-iq: PM9A3 4.20 on 1 TiB; 7450 MAX 1.889 and PRO 3.19 on 1076 GiB, with 1/31 of parity."""
    parity = 1.032
    assert arithmetic.amplification(960e9 / 2**40) == pytest.approx(4.20, rel=0.03)
    physical = 1076 * 2**30
    assert parity * arithmetic.amplification(800e9 / physical) == pytest.approx(1.889, rel=0.02)
    assert parity * arithmetic.amplification(960e9 / physical) == pytest.approx(3.19, rel=0.03)


def test_utilisation_is_the_inverse_of_amplification() -> None:
    for share in (0.3, 0.5, 0.8, 0.93, 0.99):
        there = arithmetic.amplification(share)
        assert arithmetic.utilisation(there) == pytest.approx(share)


def test_the_write_law_gives_the_rate_of_a_measured_drive() -> None:
    """76.1 K/s by the law, 76.5 measured (SSD-iq, PM9A3 960 GB)."""
    assert PM9A3.random_write_rate(4.2) == pytest.approx(76.1e3, rel=0.005)
    assert PM9A3.amplification_of(76.1e3) == pytest.approx(4.2, rel=0.005)


def test_reads_are_bounded_by_dies_planes_or_buses() -> None:
    assert PM9A3.read_rate(independent=False) == pytest.approx(16 / 48.41e-6, rel=1e-3)
    assert PM9A3.read_rate(independent=True) == pytest.approx(64 / 48.41e-6, rel=1e-3)
    narrow = Flash(1, 16, 4, 3, 16384, 0, 45e-6, 2.1e-3, 0.0, 1.2e9)
    assert narrow.read_rate(independent=True) == pytest.approx(1.2e9 / 4096)


def test_a_word_line_takes_what_the_write_rate_leaves() -> None:
    drive = solved(seq_write="1500MB/s", dies=16)
    assert drive.flash.program == pytest.approx(16 * 192 * 1024 / 1.5e9)
    assert drive.flash.write_rate == pytest.approx(1.5e9)


# What follows from each key


def test_latency_less_sensing_and_transfers_is_firmware() -> None:
    drive = solved()
    idle = drive.firmware_read + drive.flash.read + drive.flash.transfer(4096) + 4096 / drive.link
    assert idle == pytest.approx(80e-6)
    assert drive.firmware_write + 4096 / drive.link == pytest.approx(15e-6)


def test_a_rate_of_random_reads_gives_cores_and_keeps_the_latency() -> None:
    drive = solved(rand_read="580K/s")
    assert drive.cores / drive.firmware_read == pytest.approx(580e3)
    idle = drive.firmware_read + drive.flash.read + drive.flash.transfer(4096) + 4096 / drive.link
    assert idle == pytest.approx(80e-6)
    assert drive.independent, "16 dies sense too little for it"
    assert not solved(rand_read="150K/s").independent


def test_both_random_rates_share_the_cores() -> None:
    drive = solved(
        interface="pcie3-x4", capacity="1024GB", bits=2, seq_read="3500MB/s", seq_write="2700MB/s",
        read_latency="66.7us", write_latency="18.2us",
        rand_read="500K/s", rand_read_depth=128, fresh_write="500K/s",
    )  # fmt: skip
    assert drive.cores / drive.firmware_read == pytest.approx(500e3)
    assert drive.cores / drive.firmware_write == pytest.approx(500e3)
    total = drive.firmware_write + drive.link_latency + 4096 / drive.link
    assert total == pytest.approx(18.2e-6)


def test_spare_space_follows_from_raw_capacity_amplification_or_random_writes() -> None:
    block = 18 * 2**20 * 64  # of all planes: the step of the physical capacity
    assert solved(raw_capacity="1TiB").physical == pytest.approx(2**40, abs=block)
    drive = solved(write_amplification=3.0)
    assert arithmetic.amplification(drive.capacity / drive.physical) == pytest.approx(3.0, rel=0.01)
    drive = solved(rand_write="60K/s")
    amplification = arithmetic.amplification(drive.capacity / drive.physical)
    assert drive.flash.random_write_rate(amplification) == pytest.approx(60e3, rel=0.02)


def test_endurance_gives_rated_cycles() -> None:
    drive = solved(raw_capacity="1TiB", dwpd=1.0)
    amplification = arithmetic.amplification(drive.capacity / drive.physical)
    written = 960e9 * 365 * 5
    assert drive.cycles == pytest.approx(written * amplification / drive.physical, rel=1e-3)
    assert solved(raw_capacity="1TiB", tbw="1752TB").cycles == drive.cycles


def test_dies_are_fewer_where_their_word_lines_would_be_too_slow() -> None:
    """122.88 TB of four-bit dies that write 3.2 GB/s: not all of them program at a time."""
    drive = solved(capacity="122.88TB", bits=4, seq_write="3200MB/s", seq_read="7400MB/s",
                   mapping_unit="16KiB", read_latency="110us")  # fmt: skip
    assert 6e-3 <= drive.flash.program <= 14e-3
    assert drive.flash.write_rate == pytest.approx(3.2e9)
    assert drive.physical > drive.capacity * 1.04
    assert any("dies" in said and "outside" in said for said in drive.assumptions)


def test_cells_are_taken_from_the_latency_where_they_are_not_stated() -> None:
    assert solved().flash.bits == 3
    assert solved(read_latency="16us", seq_write="3200MB/s").flash.bits == 1
    assert solved(read_latency="110us", mapping_unit="16KiB").flash.bits == 4
    assert any(said.startswith("3 bits a cell: not stated") for said in solved().assumptions)
    assert not any("a cell: not stated" in said for said in solved(bits=3).assumptions)


def test_a_drive_is_scaled_down_until_it_is_small() -> None:
    drive = solved()
    assert drive.keys()["scale"] == drive.scale
    assert drive.capacity / 4096 / drive.scale <= 4_000_000
    assert drive.word_lines % drive.scale == 0
    assert solved(capacity="8GB", dies=2, seq_write="150MB/s").scale == 1


def test_the_file_says_of_each_number_where_it_is_from(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from ssdlab.device import origins

    path = tmp_path / "my.toml"
    path.write_text(solved(rand_read="580K/s").file(["A drive."]))
    rows = {row.key: row for row in origins.of(str(path)).rows}
    assert rows["device.capacity"].origin == "published"
    assert rows["device.timing.program"].origin == "fitted"
    assert "1500MB/s" in rows["device.timing.program"].text
    assert rows["device.timing.erase"].origin == "guess"
    numbers = [row for row in rows.values() if isinstance(row.value, int | float)]
    plain = {row.key for row in numbers if not row.origin and not isinstance(row.value, bool)}
    assert plain == {"device.packages_per_channel"}


# A buyer's words


@pytest.mark.parametrize(
    ("said", "link"),
    [
        ("PCIe 4.0 x4", "pcie4-x4"),
        ("PCIe Gen4", "pcie4-x4"),
        ("PCI Express\N{REGISTERED SIGN} 3.0 \N{MULTIPLICATION SIGN}2, NVMe 1.3", "pcie3-x2"),
        ("NVMe PCIe Gen 5x4", "pcie5-x4"),
        ("PCIe 1.1 x4", "pcie-x4"),
        ("SATA 6Gb/s", "sata-600"),
        ("SATA 6.0 Gbps", "sata-600"),
        ("SATA III", "sata-600"),
        ("SATA 3 Gb/s", "sata-300"),
        ("SATA 1.5Gb/s", "sata-150"),
        ("SAS 12Gb/s", "sas-1200"),
        ("SAS-2", "sas-600"),
    ],
)
def test_a_link_may_be_named_as_sellers_name_it(said: str, link: str) -> None:
    assert sheet(interface=said)["interface"] == link


def test_lanes_that_are_not_named_are_assumed_and_said() -> None:
    (told,) = (it for it in solved(interface="PCIe Gen4").assumptions if "how many lanes" in it)
    assert told == "pcie4-x4: PCIe Gen4 does not say how many lanes"
    for named in ("PCIe 4.0 x4", "pcie4-x4", "PCI Express 4.0 x4"):
        assert not any("how many lanes" in it for it in solved(interface=named).assumptions)


def test_endurance_may_be_written_with_its_words() -> None:
    words = sheet(dwpd="1 DWPD", years="5 years", tbw="1,752 TBW", rand_read="98K IOPS")
    assert words["dwpd"] == 1.0 and words["years"] == 5.0
    assert words["tbw"] == pytest.approx(1752e12) and words["rand_read"] == pytest.approx(98e3)
    assert sheet(dwpd=0.3, years="3-year", tbw="1.2PBW")["tbw"] == pytest.approx(1.2e15)


# What a sheet cannot mean


@pytest.mark.parametrize(
    ("changes", "keys", "arithmetic"),
    [
        ({"raw_capacity": "900GB"}, ("raw_capacity", "capacity"), "leaves no spare space"),
        ({"tbw": "3000TB", "dwpd": 1.0}, ("tbw", "dwpd"), "365 days x 5 years = 1,752 TB"),
        ({"seq_read": "9GB/s"}, ("seq_read", "interface"), "but the link carries 7877MB/s"),
        ({"seq_write": "8GB/s"}, ("seq_write", "interface"), "but the link carries 7877MB/s"),
        (
            {"rand_read": "2M/s", "rand_read_depth": 1024},
            ("rand_read", "interface"),
            "2,000,000/s x 4KiB = 8192MB/s",
        ),
        (
            {"bits": 3, "read_latency": "5us"},
            ("read_latency", "bits"),
            "sensing a page of 3-bit cells alone takes 32 us",
        ),
        (
            {"rand_read": "580K/s", "rand_read_depth": 32},
            ("rand_read", "read_latency"),
            "32 outstanding (the key rand_read_depth), each for at least 80us, are at most 400K/s",
        ),
        (
            {"rand_write": "500K/s"},
            ("rand_write", "seq_write"),
            "500K/s x 4KiB = 2048MB/s of lasting random writes is more than in sequence",
        ),
        (
            {"rand_write": "200K/s", "write_amplification": 4.2},
            ("rand_write", "write_amplification"),
            "819.2MB/s x 4.2 = 3441MB/s would be programmed",
        ),
        (
            {"raw_capacity": "1TiB", "write_amplification": 1.5},
            ("write_amplification", "raw_capacity"),
            "amplify by 4.12; 1.5 needs",
        ),
        (
            {"raw_capacity": "1TiB", "rand_write": "150K/s"},
            ("rand_write", "raw_capacity"),
            "amplify random writes by",
        ),
        ({"write_latency": "0.6us"}, ("write_latency", "interface"), "on the link"),
        (
            {"rand_read": "1.5M/s", "rand_read_depth": 512},
            ("rand_read", "read_latency"),
            "16 dies of 4 planes",
        ),
    ],
)
def test_a_contradiction_names_both_keys_and_the_arithmetic(
    changes: dict[str, object], keys: tuple[str, str], arithmetic: str
) -> None:
    with pytest.raises(InputError) as refused:
        solved(**changes)
    said = str(refused.value)
    assert said.startswith("my.toml: ")
    before, _, after = said.partition(" contradicts ")
    assert f"{keys[0]} = " in before
    assert after.startswith(f"{keys[1]} = ")
    assert arithmetic in said


@pytest.mark.parametrize(
    "changes",
    [
        {"tbw": "1.7PB", "dwpd": 1.0},
        {"raw_capacity": "1TiB", "write_amplification": 4.2, "rand_write": "70K/s"},
        {"raw_capacity": "1TiB", "rand_write": "76K/s"},
        {"raw_capacity": "1TiB", "rand_write": "20K/s"},
    ],
)
def test_what_rounding_explains_is_no_contradiction(changes: dict[str, object]) -> None:
    solved(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"read_latency": 80},
            'my.toml, read_latency = 80: a time has a unit, as in "80us"; units: us',
        ),
        ({"capacity": 960}, 'my.toml, capacity = 960: a size has a unit, as in "960GB"; units: B'),
        (
            {"rand_read": 98000},
            'rand_read = 98000: a rate of requests has a unit, write "98000 IOPS"',
        ),
        ({"rand_read": -5}, "rand_read = -5: a rate of requests is above 0, and finite"),
        ({"capacity": "1,92TB"}, 'capacity = "1,92TB": expected a size such as "960GB"'),
        ({"read_latency": "80MB"}, 'expected a time such as "80us"; units: us, ns, ms, s'),
        ({"seq_read": None}, "my.toml: seq_read is missing; ssdlab device from-datasheet"),
        ({"seq_raed": "1MB/s"}, 'there is no key "seq_raed" (did you mean seq_read?)'),
        ({"interface": "pcie9"}, 'expected a host link such as "PCIe 4.0 x4" or "SATA 6Gb/s"'),
        ({"interface": "PCIe"}, "as ssdlab list links names it"),
        ({"dwpd": "1 DPWD"}, "expected a number such as 4.2"),
        ({"bits": 7}, "expected a whole number from 1 to 4"),
        ({"write_amplification": 0.5}, "a write amplification is at least 1"),
        ({"dwpd": -1}, "a number is above 0"),
        ({"power_loss_protected": "yes"}, "expected true or false"),
        ({"name": 3}, "expected a string"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_named(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as refused:
        sheet(**changes)
    assert said in str(refused.value)


def test_the_template_is_a_sheet_and_so_are_its_comments() -> None:
    plain = given.parse("template", given.template())
    assert set(plain.values) == {key for key, row in given.KEYS.items() if row.needed}
    solve(plain)
    whole = given.template().replace("\n#", "\n").removeprefix("#")
    lines = [line for line in whole.splitlines() if line.split(" = ")[0] in given.KEYS]
    assert set(given.parse("template", "\n".join(lines)).values) == set(given.KEYS)
