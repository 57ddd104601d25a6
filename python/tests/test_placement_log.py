"""`ssdlab placement` on zones, by handles of a trace, and its rules in a plain run; host logs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from placed_traces import PAGES, row, skewed_at, written

import ssdlab
from ssdlab import InputError
from ssdlab._core import PolicyError
from ssdlab.placing import Zones

UNITS, ROWS = 256, 8
FLASH = UNITS * ROWS * 3 * 16384


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return skewed_at(tmp_path_factory.mktemp("placement") / "skewed.parquet")


def plain(trace: Path, **more: Any) -> float:
    """Write amplification of a whole drive of one die, whose superblocks are the reclaim units."""
    one = ("channels", "dies_per_package", "planes_per_die", "packages_per_channel")
    drive = dict.fromkeys(one, 1) | {
        "blocks_per_plane": UNITS,
        "pages_per_block": 3 * ROWS,
        "scale": 1,
        "capacity": f"{4 * PAGES}KiB",
        "buffer.size": "256KiB",
        "buffer.copies": "256KiB",
        "cleaning.min_free": 0.004,
    }
    keys = {f"device.{key}": value for key, value in drive.items()}
    keys |= {"workload.loops": 6, "run.timed": False, "run.precondition": "steady"}
    keys |= {f"device.fdp.{key}": value for key, value in more.items()}
    found = ssdlab.run(device="tlc-enterprise", trace=trace, set=keys)
    return float(found.flash.write_amplification)


def placed(trace: Path, **options: Any) -> ssdlab.Placed:
    return ssdlab.placement(trace, units=UNITS, spare=FLASH / (4096 * PAGES) - 1, **options)


def test_a_rule_that_is_printed_gains_as_much_in_a_plain_run(skewed: Path) -> None:
    found = placed(skewed, handles=2, isolation="persistent")
    without = plain(skewed)
    for policy in ("address", "hint"):
        own = row(found, policy)
        with_rule = plain(skewed, handles=2, isolation="persistent", place=own.said_rule)
        assert without / with_rule == pytest.approx(own.gain, rel=0.08), own.said_rule
        assert without / with_rule > 1.03


def test_handles_of_a_trace_are_a_policy(tmp_path: Path) -> None:
    draw = random.Random(3)
    hot = [draw.random() < 0.5 for _ in range(60_000)]
    pages = [draw.randrange(PAGES // 20 if it else PAGES) for it in hot]
    handles = [255, *(4 if it else 2 for it in hot)]
    path = written(tmp_path / "handles.parquet", pages, handle=handles)
    found = placed(path, handles=2, isolation="persistent")
    own = row(found, "column")
    assert own.rule == {"by": "column", "handles": [2, 4]} and own.is_gain
    assert own.said_rule == "column(2:0, 4:1)"
    # The cold handle also writes the hot pages, which are a twentieth.
    shares = [it["foreign_invalidated"] for it in own.handles]
    assert shares == pytest.approx([0.05, 0.05], abs=0.01)
    assert "foreign_invalidation" not in dict(found.warnings)


def test_handles_that_overwrite_each_other_are_warned_of(tmp_path: Path) -> None:
    draw = random.Random(3)
    pages = [draw.randrange(PAGES) for _ in range(60_000)]
    handles = [255, *(draw.choice((2, 4)) for _ in pages)]
    found = placed(written(tmp_path / "mixed.parquet", pages, handle=handles), handles=2)
    shares = [it["foreign_invalidated"] for it in row(found, "column").handles]
    assert shares == pytest.approx([0.5, 0.5], abs=0.05)
    assert "foreign_invalidation" in dict(found.warnings)


def test_a_host_log_on_zones_writes_as_much_as_a_drive_that_cleans_alike(
    skewed: Path,
    ssdlab: Any,
) -> None:
    found = placed(skewed, handles=2, zones=True)
    for policy in ("none", "lifetime"):
        drive, log = row(found, policy, isolation="initial"), row(found, policy, isolation="zones")
        assert log.dlwa == pytest.approx(drive.dlwa, rel=0.02)
    assert found.zones is not None and "On zones a host log writes" in found.zones
    done = ssdlab("placement", "--trace", skewed, "--handles", "2", "--zones")
    assert done.returncode == 0 and "zones" in done.stdout


def test_writes_through_a_random_map_are_called_a_permutation(tmp_path: Path) -> None:
    draw, pages = random.Random(4), []
    for _ in range(3):
        order = list(range(PAGES))
        draw.shuffle(order)
        pages += order
    found = placed(written(tmp_path / "map.parquet", pages), handles=2)
    assert "permutation" in dict(found.warnings)
    drawn = [draw.randrange(PAGES) for _ in pages]
    independent = placed(written(tmp_path / "drawn.parquet", drawn), handles=2)
    assert "permutation" not in dict(independent.warnings)
    assert (row(independent, "none").dlwa or 0) > 1.4 * (row(found, "none").dlwa or 0)


class Oldest(ssdlab.HostLog):
    """The zone that was full first is cleaned."""

    def victim(self, zones: Zones) -> int:
        return min(zones.full, key=lambda zone: zones.full_at[zone])


def test_a_host_log_of_ones_own_is_asked_for_zones(skewed: Path) -> None:
    assert ssdlab.check_host_log(ssdlab.HostLog).passed and ssdlab.check_host_log(Oldest).passed
    greedy = placed(skewed, handles=2, zones=True, policy=ssdlab.HostLog())
    own, log = row(greedy, "own"), row(greedy, "none", isolation="zones")
    assert own.isolation == "zones" and own.dlwa == log.dlwa
    oldest = row(placed(skewed, handles=2, policy=Oldest()), "own")
    assert (oldest.dlwa or 0) > 1.05 * (own.dlwa or 0)


def test_a_host_log_that_fails_says_where(skewed: Path) -> None:
    class Wrong(ssdlab.HostLog):
        def victim(self, zones: Zones) -> int:
            return 100_000

    class Raises(ssdlab.HostLog):
        def victim(self, zones: Zones) -> int:
            raise KeyError("it")

    with pytest.raises(PolicyError, match=r"chose zone 100000 after \d+ pages"):
        placed(skewed, handles=2, policy=Wrong())
    with pytest.raises(PolicyError, match="Raises raised after"):
        placed(skewed, handles=2, policy=Raises())
    with pytest.raises(PolicyError, match="FAILED"):
        ssdlab.check_host_log(Wrong)
    with pytest.raises(InputError, match="victim"):
        ssdlab.check_host_log(ssdlab.Placement())
