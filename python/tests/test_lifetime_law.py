"""A law of lifetimes: whatever the load and however long the run, a figure that is stated holds."""

import pytest

import ssdlab
from ssdlab import lifetime

#: 360 MB in 512 superblocks behind a write buffer.
DRIVE = """
[device]
preset = "tlc-enterprise"
scale = 1
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 512
pages_per_block = 24
spare_factor = 0.12
cleaning.min_free = 0.01
wear.rated_cycles = 400
"""
WRITES = {"kind": "closed", "read_share": 0.0, "outstanding": 8}
IN_ORDER = WRITES | {"random_share": 0.0, "block_size": "16KiB"}
LOADS = {
    "in order": IN_ORDER,
    "in order, over a half": IN_ORDER | {"footprint": 0.5},
    "runs in order": IN_ORDER | {"random_share": 0.05},
    "uniform": WRITES | {"random_share": 1.0},
    "skewed": WRITES | {"random_share": 1.0, "locality": "zipf(0.9)"},
    "part": WRITES | {"random_share": 1.0, "footprint": 0.6},
    "jesd219": {"kind": "jesd219", "outstanding": 8},
}
#: Units of 4 KiB that are written, about.
LENGTHS = (16_000, 50_000, 100_000, 400_000, 1_600_000)
#: What a figure may differ by beyond its stated error: a few percent.
BESIDE = 0.02


def life_of(drive, load, length):
    """The lifetime of so many requests, prepared by the load itself."""
    requests = length // 4 if "block_size" in load else length
    run = {"precondition": "steady", "timed": False}
    return lifetime.of(ssdlab.run(device=drive, workload=load | {"requests": requests}, run=run))


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    path = tmp_path_factory.mktemp("drive") / "drive.toml"
    path.write_text(DRIVE)
    return str(path)


@pytest.mark.parametrize("name", LOADS)
def test_a_figure_of_any_length_is_that_of_the_longest_within_its_error(drive, name):
    lives = [life_of(drive, LOADS[name], length) for length in LENGTHS]
    known = [life.known for life in lives]
    # Once known, always known; and no length is wanted that nobody runs.
    assert known == sorted(known) and known.count(True) >= 2, lives
    longest = lives[-1].host_bytes
    for life in lives:
        if life.known:
            ratio = life.host_bytes / longest
            assert abs(ratio - 1) <= life.error + lives[-1].error + BESIDE, (ratio, life)
            assert 0 < life.error <= 0.1


def test_a_load_that_has_not_gone_round_says_how_many_more_requests_it_takes(drive):
    """And with as many its lifetime is known."""
    load = LOADS["in order"]
    short = life_of(drive, load, 30_000)
    assert short.status == "unknown"
    said = short.reason
    assert "still reaches addresses that it has not written" in said
    more = int(said.partition("written: ")[2].partition(" more requests")[0])
    assert life_of(drive, load, 30_000 + 4 * (more + 4)).known
