"""The table of results, drawn from results made up for the purpose."""

import doctest
import io

import pytest

import ssdlab
from ssdlab import units
from ssdlab.charts import stacks as characters
from ssdlab.results import display
from ssdlab.results.records import PARTS


class Terminal(io.StringIO):
    """Takes only the characters of its encoding."""

    def __init__(self, encoding="utf-8"):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


def latency(requests, breakdown=None):
    """As the engine reports it: without requests, there are no times."""
    times = {"50": 130.6, "95": 140.0, "99": 999.9, "99.9": 1e6}
    return {
        "requests": requests,
        "bytes": requests * 4096,
        "mean_us": 130.62 if requests else None,
        "max_us": 1532.9 if requests else None,
        "iops": 61255.1 if requests else 0.0,
        "mb_per_s": 250.9 if requests else 0.0,
        "percentiles_us": times if requests else dict.fromkeys(times),
        "breakdown_us": breakdown or dict.fromkeys(PARTS),
    }


def results(**changes):
    breakdown = {"cell": 25.0, "bus": 105.62, "host_queue": 0.0}
    host = {"read": latency(5, breakdown), "write": latency(0), "all": latency(5, breakdown)}
    data = {
        "experiment": {"title": "ssd under closed", "device": {"kind": "ssd"}},
        "simulated_seconds": 1.5,
        "capacity_bytes": 1 << 30,
        "elapsed": {"wall_seconds": 0.01, "requests_per_second": 500.0},
        "host": host,
    }
    return ssdlab.Results(data | changes)


def table(**changes):
    return display.results_table(results(**changes), Terminal())


def test_a_device_without_flash_has_no_flash_section():
    text = table()
    assert "ssd under closed" in text
    assert "1.500s" in text
    assert "Flash" not in text
    assert "Wear" not in text


def test_only_the_kinds_that_occurred_have_a_row():
    rows = [line.split() for line in table().splitlines()]
    row = next(words for words in rows if words and words[0] == "read")
    assert " ".join(row) == "read 5 61,255 250.9 130.6µs 131µs 140µs 1.00ms 1.00s 1.53ms"
    assert not any(words and words[0] in ("write", "all") for words in rows)


def test_no_requests_at_all_is_a_table_too():
    none = {kind: latency(0) for kind in ("read", "write", "all")}
    text = table(host=none)
    assert "0 requests" in text
    assert "p99" not in text
    assert "Where the time goes" not in text


def test_the_bar_shows_each_part_in_proportion():
    bar = table().split("Where the time goes\n")[1].splitlines()[0]
    assert bar == "═" * 65 + "█" * 15  # 105.62 : 25 in 80 columns


@pytest.mark.parametrize("values", [[1, 1, 1], [0.001, 1000], [5], [3, 1, 4, 1, 5, 9]])
def test_the_shares_of_a_breakdown_add_up(values):
    assert sum(characters.shares(values, 77)) == 77


def test_no_writes_are_said_in_words():
    flash = {
        "write_amplification": None,
        "page_reads": 5,
        "page_programs": 0,
        "pages_moved": 0,
        "block_erases": 0,
        "cleaning": {"blocks_cleaned": 0, "efficiency": None, "mean_block_us": None},
    }
    text = table(flash=flash)
    assert "no writes" in text
    assert "efficiency" not in text


def test_amplification_is_in_bytes_and_in_pages_where_that_differs():
    flash = {
        "write_amplification": 3.5,
        "write_amplification_bytes": 14.0,
        "page_reads": 5,
        "page_programs": 7,
        "pages_moved": 0,
        "block_erases": 0,
    }
    text = table(flash=flash)
    assert "write amplification  14.000" in text
    assert "in flash pages" in text and "3.500" in text
    alike = table(flash=flash | {"write_amplification": 14.0})
    assert "write amplification  14.000" in alike
    assert "in flash pages" not in alike
    assert "3.500" in table(flash={k: v for k, v in flash.items() if "bytes" not in k})


def test_the_busiest_units_come_first():
    units = [{"name": f"package {i}", "busy": i / 10, "cleaning": 0.0} for i in range(8)]
    text = table(units=units).split("Busiest units")[1]
    assert "package 7" in text.splitlines()[1]
    assert "70.0%" in text.splitlines()[1]
    assert "package 2" not in text


def test_what_was_refused_is_said():
    assert "Refused" not in table()
    failed = {kind: latency(5) | {"failed": 0} for kind in ("read", "all")}
    assert "Refused" not in table(host=failed)
    failed["write"] = latency(0) | {"failed": 1234}
    failed["trim"] = latency(0) | {"failed": 1}
    text = " ".join(table(host=failed).split())
    assert "Refused: 1,234 writes, 1 trim: end of life reached, writes are refused" in text


def test_each_class_of_a_workload_has_its_rows():
    assert "Class" not in table()
    mine = latency(5)
    mine["percentiles_us"]["99.99"] = 2e6
    host = {"read": mine, "write": mine, "flush": latency(0), "all": mine}
    text = table(classes={"measured": host, "others": {"write": mine}})
    rows = [" ".join(line.split()) for line in text.split("Class")[1].splitlines()]
    assert rows[:4] == [
        "IOPS mean p50 p99 p99.9 p99.99",
        "measured read 61,255 130.6µs 131µs 1.00ms 1.00s 2.00s",
        "write 61,255 130.6µs 131µs 1.00ms 1.00s 2.00s",
        "others write 61,255 130.6µs 131µs 1.00ms 1.00s 2.00s",
    ]


def test_notices_are_shown_when_there_are_any():
    assert "Note" not in table(workload={"notices": {"sorted": 0}})
    assert "3 sorted" in table(workload={"notices": {"sorted": 3, "cut": 0}})


def test_tables_can_be_drawn_in_ascii():
    units = [{"name": "die 0", "busy": 0.5}]
    text = display.results_table(results(units=units), Terminal("ascii"))
    assert text.isascii()
    assert "Where the time goes" in text


@pytest.mark.parametrize("module", [units, ssdlab.catalogue, ssdlab])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_the_end_of_a_drive_and_its_settling_are_told():
    seen = {"metric": "write_amplification", "window_mean": 3.0512}
    amounts = {"host_bytes": 1.25e12, "drive_writes": 900.0, "drive_writes_per_day": 0.5}
    table = display.results_table(
        results(
            wear={
                "mean_erases": 50.0,
                "max_erases": 50,
                "mean_remaining": 0.0,
                "expired_blocks": 99,
                "ended": True,
                "lifetime": {
                    "service_years": 5.0,
                    "status": "measured",
                    "error": None,
                    "reason": None,
                    "erases": 1000,
                    **amounts,
                    "first_expiry": {"host_bytes": 1.2e12},
                },
            },
            steady_state={
                "preconditioning": {
                    "steady": True,
                    "rounds": [3.0] * 7,
                    "load": "workload",
                    "because": None,
                    "capacities_written": 3.5,
                    **seen,
                },
                "run": {"steady": False, "rounds": [3.0] * 25, **seen},
            },
        ),
        Terminal(),
    )
    assert "no spare space left" in table
    assert "1.25 TB" in table
    assert "1.20 TB" in table
    assert "DWPD over 5 years" in table
    assert "Steady state of the preconditioning after 7 rounds: write amplification 3.051" in table
    assert "Preconditioned with 3.5 capacities of the workload's writes" in table
    assert "Steady state of the run: not reached in 25 rounds" in table


def test_health_is_told_on_a_line_and_what_it_warns_of_on_another():
    health = {
        "critical_warning": 0,
        "critical_warnings": [],
        "available_spare": 100,
        "percentage_used": 3,
        "data_units_written": 1_000_000,
    }
    assert "Health: 3% used, 100% of the spare available, 512 GB written" in table(health=health)
    assert "Critical" not in table(health=health)
    words = ["spare below threshold", "read only"]
    ended = health | {"critical_warning": 9, "critical_warnings": words, "available_spare": 0}
    assert "Critical warning 9: spare below threshold, read only" in table(health=ended)
    assert "Health" not in table()


def test_the_bars_of_units_leave_room_for_what_is_said_of_them():
    """Names of dies are longer than of packages: nothing is cut off in 80 columns."""
    units = [
        {"name": name, "busy": 0.5, "cleaning": 0.295, "queue_mean": 0.01}
        for name in ("channel 15 die 13", "channel 3 die 1")
    ]
    lines = table(units=units).splitlines()
    rows = [line for line in lines if line.startswith("channel")]
    assert all(row.endswith("29.5% cleaning, queue 0.01") for row in rows)
    assert max(map(len, rows)) == 80
    short = table(units=[unit | {"name": "package 1"} for unit in units])
    assert "█" * 15 + "░" * 15 in short


def test_commands_that_are_done_in_steps_are_shown():
    found = {
        "copy": {"bytes": 4096_000},
        "compare": {"compared": 7, "failed": 2},
        "zeroes": {"bytes": 0},
        "uncorrectable": {"bytes": 0},
        "ranges": 9,
        "statuses": {"2/85h": 2},
        "namespaces": [
            {"bytes": 8_000_000, "capacity_bytes": 4_000_000, "mapped_bytes": 1_000_000}
        ],
    }
    text = table(commands=found)
    for label, shown in (
        ("copied", "4.10 MB"),
        ("ranges deallocated", "9"),
        ("comparisons", "7"),
        ("that failed", "2"),
        ("ended with 2/85h", "2"),
        ("namespace 1", "8.00 MB, 1.00 MB mapped"),
    ):
        (line,) = (line for line in text.splitlines() if label in line)
        assert line.endswith(shown), text
    assert "zeroes" not in text and "uncorrectable" not in text
    found = {"copy": {"bytes": 0}, "compare": {"compared": 0, "failed": 0}, "ranges": 0}
    found |= {"zeroes": {"bytes": 0}, "uncorrectable": {"bytes": 0}, "statuses": {}}
    assert "Commands" not in table(commands=found)


def test_reclaim_groups_and_units_that_were_open_too_long_are_shown():
    row = {"host_bytes": 1_000_000, "write_amplification": 1.25}
    rows = [row | {"group": number // 2, "handle": number % 2} for number in range(4)]
    events = {"invalid_handle": 0, "unit_not_full": 0, "time_limit": 12}
    found = {"handles": rows, "open_units": 0, "events": events, "refused_bytes": 8_000_000}
    text = table(fdp=found)
    for label, shown in (
        ("group 1 handle 0", "WA 1.250, 1.00 MB written"),
        ("refused by full groups", "8.00 MB"),
        ("units open for too long", "12"),
    ):
        (line,) = (line for line in text.splitlines() if label in line)
        assert line.endswith(shown), text
