"""A row of the engine's table of counters is in the results, the terminal and the report."""

import io
import re

import pytest

import ssdlab
from ssdlab import _core, counters
from ssdlab.reports import runs
from ssdlab.results import display
from ssdlab.units import count


@pytest.fixture(scope="module")
def results():
    return ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "device.logical_page": "16KiB",
            "device.page_span": 2,
            "run.precondition": "random:1",
            "workload.kind": "closed",
            "workload.requests": 3000,
            "workload.read_share": 0.3,
            "workload.block_size": "4KiB",
        }
    )


@pytest.fixture(scope="module")
def buffered():
    """A drive with a write buffer: its additional counters are in a section of their own."""
    return ssdlab.run(device="tlc-enterprise", set={"device.scale": 384, "workload.requests": 3000})


@pytest.fixture(scope="module")
def merging():
    """A drive with log blocks: how these were merged is in a section of their own."""
    return ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "device.log_blocks.scheme": "bast",
            "workload.kind": "closed",
            "workload.requests": 3000,
            "workload.read_share": 0.3,
        }
    )


@pytest.fixture(scope="module")
def gathering():
    """A drive with a block buffer, which reads ahead: so are its counters."""
    return ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "device.block_buffer.size": "4MiB",
            "device.block_buffer.block": "256KiB",
            "device.block_buffer.read_ahead": "64KiB",
            "workload.kind": "closed",
            "workload.requests": 3000,
            "workload.read_share": 0.3,
            "workload.random_share": 0.1,
        }
    )


@pytest.fixture(scope="module")
def mapping():
    """A drive whose memory does not hold all of its map."""
    return ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "device.map.memory": "64KiB",
            "workload.kind": "closed",
            "workload.requests": 3000,
            "workload.read_share": 0.3,
        }
    )


#: Sections that only some drives have, in the results of those.
OWN = {"flash.merges": "merging", "flash.block_buffer": "gathering", "map": "mapping"}


def section(results, path):
    for word in path.split("."):
        results = results[word]
    return results


@pytest.mark.parametrize("row", counters.table(), ids=lambda row: row.key)
def test_a_counter_is_in_the_results(results, buffered, request, row):
    if row.section in OWN:
        results = request.getfixturevalue(OWN[row.section])
    results = {"buffer": buffered}.get(row.section, results)
    assert row.meaning.endswith(".") and row.unit in counters.UNITS
    assert row.section or row.over_time, "it stands somewhere"
    if row.section:
        total = section(results, row.section)[row.key]
        assert isinstance(total, int)
    if row.over_time:
        line = results.time_series[row.over_time]
        assert len(line) == len(results.time_series.requests)
        assert not row.section or sum(line) == total > 0


@pytest.mark.parametrize("drive", ["results", "merging", "gathering"])
def test_the_terminal_shows_the_counters_that_have_words_for_it(drive, request):
    results = request.getfixturevalue(drive)
    text = display.results_table(results, io.StringIO())
    flash = [row for row in counters.table() if row.section.startswith("flash")]
    flash = [row for row in flash if OWN.get(row.section, drive) == drive]
    assert sum(row.terminal for row in flash) >= 4
    places = []
    for row in flash:
        number = count(section(results, row.section)[row.key])
        found = re.search(rf"{re.escape(row.label)} +{re.escape(number)}\b", text)
        assert bool(found) == row.terminal, row.key
        if found:
            places.append((found.start(), row.unit))
    units = [unit for _, unit in sorted(places)]
    assert units == sorted(units, key=counters.UNITS.index), "pages first"


def test_the_report_says_what_each_counter_means(buffered, merging, gathering, mapping):
    pages = {
        "flash.merges": runs.page([merging]),
        "flash.block_buffer": runs.page([gathering]),
        "map": runs.page([mapping]),
    }
    of_buffered = runs.page([buffered])
    for row in counters.table():
        page = pages.get(row.section, of_buffered)
        if row.section:
            path = f"{row.section}.{row.key}".partition(".")[2]
            words = path.replace(".", " ").replace("_", " ")
            assert f'title="{row.meaning}">{words}</th>' in page, row.key


def test_results_of_an_older_version_may_lack_a_counter():
    rows = counters.shown("flash", {"page_reads": 7})
    assert rows == [("pages read", 7)]


def test_the_table_is_of_plain_values():
    for row in _core.counters():
        assert tuple(row) == counters.Counter._fields
