"""What drives say of their wear, in the JSON of smartctl and of nvme."""

import pytest

from ssdlab.foreign.smart import of_text, wear


def attribute(name, raw, value=100):
    return {"name": name, "value": value, "raw": {"value": raw, "string": str(raw)}}


def ata(*table, **more):
    return {
        "smartctl": {},
        "logical_block_size": 512,
        "ata_smart_attributes": {"table": [*table]},
    } | more


def test_erases_and_the_flash_give_the_write_amplification_of_a_sata_drive():
    found = wear(
        ata(
            attribute("Wear_Leveling_Count", 3000, value=7),
            attribute("Total_LBAs_Written", 20_000_000_000, value=99),
            attribute("Power_On_Hours", 10_000),
            user_capacity={"bytes": 250_059_350_016},
            model_name="a drive",
        )
    )
    flash = 256 * 2**30
    assert found.host_written_bytes == 10.24e12
    assert found.programmed(flash) == 3000 * flash
    assert found.amplification(flash) == pytest.approx(80.53, abs=0.01)
    assert found.amplification() is None, "nobody says how much flash there is"
    assert found.rating_used(150e12) == pytest.approx(0.0683, abs=1e-4)
    assert found.life_used == pytest.approx(0.93)
    assert found.bytes_per_hour == 1.024e9
    assert (found.model, found.capacity_bytes) == ("a drive", 250_059_350_016)


@pytest.mark.parametrize(
    ("rows", "host", "flash"),
    [
        ([attribute("Host_Writes_32MiB", 10)], 320 * 2**20, None),
        (
            [attribute("Lifetime_Writes_GiB", 7), attribute("NAND_Writes_1GiB", 21)],
            7 * 2**30,
            21 * 2**30,
        ),
        ([attribute("Total_Writes_GB", 5), attribute("Flash_Writes_GiB", 6)], 5e9, 6 * 2**30),
        (
            [
                attribute("Total_LBAs_Written", 1000),
                attribute("Host_Program_Page_Count", 40),
                attribute("FTL_Program_Page_Count", 60),
            ],
            512_000,
            1_280_000,
        ),
    ],
)
def test_the_name_of_an_attribute_says_its_unit(rows, host, flash):
    found = wear(ata(*rows))
    assert found.host_written_bytes == host
    assert found.flash_written_bytes == flash


def test_statistics_of_the_standard_go_before_attributes():
    row = {"name": "Logical Sectors Written", "value": 9, "flags": {"valid": True}}
    used = {"name": "Percentage Used Endurance Indicator", "value": 4}
    found = wear(
        ata(
            attribute("Total_LBAs_Written", 1),
            ata_device_statistics={"pages": [{"table": [row]}, {"table": [used]}]},
        )
    )
    assert (found.host_written_bytes, found.life_used) == (9 * 512, 0.04)


def test_nvme_is_read_from_both_programs():
    log = {"data_units_written": 2_000_000, "data_units_read": "4,000,000", "power_on_hours": 100}
    one = wear({"smartctl": {}, "nvme_smart_health_information_log": log | {"percentage_used": 3}})
    other = wear(log | {"percent_used": 3, "critical_warning": 0})
    assert one.host_written_bytes == other.host_written_bytes == 1.024e12
    assert one.host_read_bytes == 2.048e12
    assert one.life_used == other.life_used == 0.03
    assert one.bytes_per_hour == 1.024e10
    assert (one.source, other.source) == ("smartctl", "nvme smart-log")


def test_sas_is_read():
    found = wear(
        {
            "smartctl": {},
            "scsi_percentage_used_endurance_indicator": 12,
            "scsi_error_counter_log": {"write": {"gigabytes_processed": "123.456"}},
        }
    )
    assert found.host_written_bytes == pytest.approx(123.456e9)
    assert found.life_used == 0.12


@pytest.mark.parametrize(
    "other",
    [
        {"jobs": []},
        [],
        {"experiment": {}},
        {"ata_smart_attributes": 3},
        {"data_units_written": True},
    ],
)
def test_other_json_is_none_of_these(other):
    assert wear(other) is None


ATA_TEXT = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)
Device Model:     a drive
User Capacity:    250,059,350,016 bytes [250 GB]
Sector Size:      512 bytes logical/physical

ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  9 Power_On_Hours          0x0032   095   095   000    Old_age   Always       -       10000
177 Wear_Leveling_Count     0x0013   007   007   000    Pre-fail  Always       -       3000
241 Total_LBAs_Written      0x0032   099   099   000    Old_age   Always       -       20000000000
"""
BRIEF_TEXT = """smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)
ID# ATTRIBUTE_NAME          FLAGS    VALUE WORST THRESH FAIL RAW_VALUE
  9 Power_On_Hours          -O--CK   095   095   000    -    10000
241 Total_LBAs_Written      -O--CK   099   099   000    -    5
0x01  0x018  6     20000000000  ---  Logical Sectors Written
0x07  0x008  1              93  N--  Percentage Used Endurance Indicator
"""
NVME_TEXT = """Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
temperature                         : 34 C
percentage_used                     : 2%
data_units_read                     : 1,000
data_units_written                  : 2,000,000
power_on_hours                      : 742
"""


def test_text_is_read_as_json_is():
    found = of_text(ATA_TEXT)
    assert found == wear(
        ata(
            attribute("Power_On_Hours", 10_000, value=95),
            attribute("Wear_Leveling_Count", 3000, value=7),
            attribute("Total_LBAs_Written", 20_000_000_000, value=99),
            user_capacity={"bytes": 250_059_350_016},
            model_name="a drive",
        )
    )
    brief = of_text(BRIEF_TEXT)
    assert brief.host_written_bytes == 10.24e12, "the statistics go before the attributes"
    assert (brief.life_used, brief.power_on_hours) == (0.93, 10_000)
    for text in (NVME_TEXT, NVME_TEXT.replace("_", " ").title().replace("000000", "000000 (1 TB)")):
        nvme = of_text(text)
        assert (nvme.host_written_bytes, nvme.life_used) == (2_000_000 * 512_000, 0.02)
        assert nvme.power_on_hours == 742
    intel = "Additional Smart Log for NVME device:nvme0 namespace-id:ffffffff\n"
    rows = "nand_bytes_written : 100%  sectors: 30\nhost_bytes_written : 100%  sectors: 20\n"
    assert of_text(intel + rows).amplification() == 1.5
    assert of_text("8,0 0 1 0.000000000 697 Q W 8 + 8 [a]\n") is None


def test_what_the_flash_took_is_read_alone_and_beside_the_host():
    physical = {"Physical media units written": {"hi": 0, "lo": 1_024_000}}
    assert wear(physical).flash_written_bytes == 1_024_000
    assert wear(physical | {"data_units_written": 1}).amplification() == 2.0
