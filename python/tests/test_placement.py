"""`ssdlab placement`, and policies of placement in Python."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from placed_traces import PAGES, row, skewed_at, written

import ssdlab
from ssdlab import InputError
from ssdlab._core import PolicyError
from ssdlab.placing import View, WriteRequest


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return skewed_at(tmp_path_factory.mktemp("placement") / "skewed.parquet")


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every page is written as often."""
    draw = random.Random(2)
    pages = [draw.randrange(PAGES) for _ in range(60_000)]
    return written(tmp_path_factory.mktemp("placement") / "even.parquet", pages)


def test_the_published_cache_is_repeated() -> None:
    from ssdlab.paper import ITEMS, Study

    rows = ITEMS["cachelib-fdp"].run(Study(quick=True)).rows
    verdicts = {it.name: it.verdict for it in rows}
    assert [*verdicts.values()].count("fitted") == 2
    assert all(it in ("fitted", "pass") for it in verdicts.values()), verdicts


def test_placement_helps_where_lifetimes_differ(skewed: Path) -> None:
    found = ssdlab.placement(skewed, handles=2, isolation=["initial", "persistent"])
    none = row(found, "none")
    assert none.dlwa is not None and none.dlwa > 2
    for policy in ("address", "hint", "lifetime", "clairvoyant"):
        best = row(found, policy, isolation="persistent")
        assert best.is_gain and best.gain is not None and best.gain > 1.05, policy
        assert best.gain == pytest.approx(none.dlwa / (best.dlwa or 0), rel=1e-6)
    assert "gains" in found.sentence and "address(0-" in found.sentence
    borders = (row(found, "address").rule or {})["borders"]
    assert 0.03 < borders[0]["of_data"] < 0.08
    assert not [it for it in found.rows if it.policy == "size"]  # all of one size


def test_no_gain_is_an_answer(even: Path, ssdlab: Any) -> None:
    done = ssdlab("placement", "--trace", even, "--handles", "2")
    assert done.returncode == 0
    assert re.search(r"(No gain|loses)", done.stdout)


def test_accounts_add_up(skewed: Path) -> None:
    found = ssdlab.placement(skewed, handles=4, isolation=["initial", "persistent"])
    for it in found.rows:
        assert sum(handle["host_bytes"] for handle in it.handles) == it.host_bytes
        assert sum(handle["relocated_bytes"] for handle in it.handles) == it.relocated_bytes
        because = sum(handle["relocated_because_bytes"] for handle in it.handles)
        assert because + it.relocated_because_of_copies_bytes == it.relocated_bytes
        assert it.dlwa == pytest.approx(1 + it.relocated_bytes / it.host_bytes)


def test_more_data_cost_more_and_placement_gives_room_back(skewed: Path) -> None:
    levels = [0.6, 0.8, 1.0]
    found = ssdlab.placement(skewed, handles=2, utilisation=levels, isolation="persistent")
    without = [found.none(level).dlwa or 0 for level in levels]
    assert without == sorted(without) and without[2] > without[0]
    assert found.fuller is None or "full" in found.fuller


def test_more_spare_space_costs_less(skewed: Path) -> None:
    little, much = (ssdlab.placement(skewed, handles=2, spare=spare) for spare in (0.1, 0.4))
    assert (row(little, "none").dlwa or 0) > (row(much, "none").dlwa or 0) + 0.5


def test_few_units_are_warned_of_and_then_refused(skewed: Path) -> None:
    found = ssdlab.placement(skewed, handles=8, units=100, isolation=["initial", "persistent"])
    kinds = dict(found.warnings)
    assert {"units_few", "unit_small", "spare_in_open_units"} <= set(kinds)
    refused = row(found, "lifetime", isolation="persistent")
    assert refused.dlwa is None and "open at once" in (refused.refused or "")
    many = ssdlab.placement(skewed, handles=2, units=1000)
    assert "spare_in_open_units" not in dict(many.warnings)


def test_without_placement_it_agrees_with_a_plain_run(skewed: Path) -> None:
    units, rows = 256, 8
    flash = units * rows * 3 * 16384
    found = ssdlab.placement(skewed, handles=2, units=units, spare=flash / (4096 * PAGES) - 1)
    one = ("channels", "dies_per_package", "planes_per_die", "packages_per_channel")
    drive = dict.fromkeys(one, 1) | {
        "blocks_per_plane": units,
        "pages_per_block": 3 * rows,
        "scale": 1,
        "capacity": f"{4 * PAGES}KiB",
        "buffer.size": "256KiB",
        "buffer.copies": "256KiB",
        "cleaning.min_free": 0.004,
    }
    keys = {f"device.{key}": value for key, value in drive.items()}
    keys |= {"workload.loops": 6, "run.timed": False, "run.precondition": "steady"}
    plain = ssdlab.run(device="tlc-enterprise", trace=skewed, set=keys)
    none = row(found, "none").dlwa
    assert none == pytest.approx(plain.flash.write_amplification, rel=0.08)


def test_threads_change_nothing(skewed: Path) -> None:
    one, two = (ssdlab.placement(skewed, handles=3, threads=count) for count in (1, 3))
    assert one.to_dict() == two.to_dict()


class ByPlace(ssdlab.Placement):
    """The first twentieth has a handle of its own."""

    def place(self, request: WriteRequest, view: View) -> int:
        return 1 if request.offset < PAGES // 20 * 4096 else 0


class ByFuture(ssdlab.Placement):
    """What dies soon has a handle of its own."""

    def place(self, request: WriteRequest, view: View) -> int:
        rest = view.next_overwrite(request)
        return 1 if rest is not None and rest < 20 << 20 else 0


class ByPast(ssdlab.Placement):
    """The same as far as it can be told."""

    def place(self, request: WriteRequest, view: View) -> int:
        known = view.expected_lifetime(request.offset)
        return 1 if known is not None and known < 20 << 20 else 0


@pytest.mark.parametrize("kind", [ByPlace, ByFuture, ByPast])
def test_a_policy_of_ones_own_conforms_and_gains(
    skewed: Path, kind: type[ssdlab.Placement]
) -> None:
    assert ssdlab.check_placement(kind).passed
    found = ssdlab.placement(skewed, handles=2, isolation="persistent", policy=kind())
    own = row(found, "own")
    assert own.gain is not None and own.gain > 1.05


def test_a_policy_that_puts_all_in_one_place_is_no_placement(skewed: Path) -> None:
    class One(ssdlab.Placement):
        def place(self, request: WriteRequest, view: View) -> int:
            return 0

    found = ssdlab.placement(skewed, handles=2, policy=One())
    assert row(found, "own").dlwa == row(found, "none").dlwa
    assert row(found, "own").gain == 1.0


def test_a_policy_that_fails_names_the_write(skewed: Path) -> None:
    class Wrong(ssdlab.Placement):
        def place(self, request: WriteRequest, view: View) -> int:
            return view.handles

    class Raises(ssdlab.Placement):
        def place(self, request: WriteRequest, view: View) -> int:
            raise KeyError("it")

    with pytest.raises(PolicyError, match=r"returned handle 2 at write 0 \(4096 bytes"):
        ssdlab.placement(skewed, handles=2, policy=Wrong())
    with pytest.raises(PolicyError, match="raised at write 0"):
        ssdlab.placement(skewed, handles=2, policy=Raises())
    with pytest.raises(PolicyError, match="FAILED"):
        ssdlab.check_placement(Wrong)
    with pytest.raises(InputError, match="place"):
        ssdlab.check_placement(object())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--handles", "1"], "handles = 1: give 2 to 128"),
        (["--utilisation", "0"], '--utilisation "0": give percents'),
        (["--utilisation", "90..50"], "give percents"),
        (["--units", "3"], "units = 3: give 16 to"),
        (["--spare", "-1"], "spare = -1.0"),
        (["--device", "cheetah9lp"], 'kind "disk" has no reclaim units'),
        (["--isolation", "all"], "initial"),
    ],
)
def test_wrong_input_is_refused(
    skewed: Path, refused: Any, options: list[str], message: str
) -> None:
    assert message in refused("placement", "--trace", skewed, *options)


def test_a_trace_without_writes_is_refused(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / "reads.parquet"
    ssdlab.trace.write(path, at_ns=[0], op=["read"], sector=[0], sectors=[8])
    assert "no request writes: there is nothing to place" in refused("placement", "--trace", path)


def test_json_has_life_and_figures_on_a_known_drive(
    skewed: Path, tmp_path: Path, ssdlab: Any
) -> None:
    out, plot = tmp_path / "it.json", tmp_path / "it.png"
    options = ["--device", "samsung-pm9a3", "--utilisation", "80,100"]
    done = ssdlab("placement", "--trace", skewed, *options, "--json", out, "--plot", plot)
    assert done.returncode == 0 and plot.stat().st_size > 1000
    found = json.loads(out.read_text())
    lives = {it["policy"]: it["life_years"] for it in found["rows"] if it["utilisation"] == 1.0}
    assert lives["none"] < lives["clairvoyant"]
    assert found["drive"]["units"] == 915 and 0.14 < found["drive"]["spare"] < 0.16
    for it in found["rows"]:
        assert 0 <= it["open_share_of_spare"] < 1 or "refused" in it


def test_a_hint_of_the_lifetime_lowers_amplification_on_the_drive_of_2008(tmp_path: Path) -> None:
    """Section 5.2 of the 2008 paper: volatile data apart from the rest, as the host says."""
    job = tmp_path / "hinted.fio"
    # Without io_size a job ends when it has written its size once. What the drive holds at first
    # has one handle: hints show when the writes, here 2.8 times the capacity, have replaced it.
    job.write_text(
        "[global]\nbs=4k\nrw=randwrite\nnorandommap\niodepth=4\n"
        "[volatile]\nsize=5%\nio_size=900m\nwrite_hint=short\n"
        "[cold]\noffset=5%\nsize=95%\nio_size=300m\nwrite_hint=long\n"
    )
    drive = {"preset": "agrawal2008", "blocks_per_plane": 32}
    found = {
        handles: ssdlab.run(
            device=drive | ({"fdp": {"handles": handles}} if handles else {}),
            workload=job,
            run={"precondition": "random:1"},
        ).flash.write_amplification
        for handles in (0, 1, 5)
    }
    assert found[1] == found[0]
    assert found[5] < 0.85 * found[0]
