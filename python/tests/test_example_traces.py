"""The example traces are what their README says, and a drive can be asked them."""

import re
from pathlib import Path

import pytest

import ssdlab

DIRECTORY = Path(__file__).parents[2] / "examples" / "traces"
ROW = re.compile(
    r"^\| `(\S+\.parquet)` .* \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$", re.M
)
TRACES = ROW.findall((DIRECTORY / "README.md").read_text())


def test_every_trace_is_listed():
    assert {name for name, *_ in TRACES} == {path.name for path in DIRECTORY.glob("*.parquet")}
    assert sum(path.stat().st_size for path in DIRECTORY.iterdir()) < 1_000_000


@pytest.mark.parametrize(
    ("name", "reads", "writes", "trims", "flushes", "seconds"), TRACES, ids=lambda it: it
)
def test_a_trace_is_replayed(name, reads, writes, trims, flushes, seconds):
    results = ssdlab.run(
        device="agrawal2008", trace=DIRECTORY / name, set={"device.blocks_per_plane": 64}
    )
    counts = [results.host[op].requests for op in ("read", "write", "trim", "flush")]
    assert counts == [int(reads), int(writes), int(trims), int(flushes)]
    assert results.simulated_seconds == pytest.approx(float(seconds), abs=0.06)
    # A page crosses the bus in 105.6 us and is programmed in 200 us.
    assert results.host.write.mean_us > 300
