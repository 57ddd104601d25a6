"""What drives say of their wear, in the JSON of smartctl and of nvme."""

import pytest

from ssdlab.foreign.smart import wear


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
