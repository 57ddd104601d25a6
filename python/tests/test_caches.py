"""Caches in front of other devices, by the command line; what the study of their size can tell."""

from collections import Counter

import pytest

from ssdlab import run
from ssdlab.paper import ITEMS, Study


def test_both_devices_are_reached_from_the_command_line(ssdlab):
    done = ssdlab(
        *("run", "--set", "device.kind=cache", "--set", "fast.kind=law", "--set", "fast.size=1MiB"),
        *("--set", "backing.preset=sata-2008", "--set", "backing.rpm=5400"),
        *("--workload", "random-read", "--set", "workload.footprint=512KiB"),
        *("--set", "workload.requests=2000"),
    )
    assert "Cache" in done.stdout and "hits of reads" in done.stdout


def test_a_cache_larger_than_its_backing_device_is_refused(refused):
    message = refused(
        *("run", "--set", "device.kind=cache", "--set", "fast.kind=law", "--set", "fast.size=1GiB"),
        *("--set", "backing.kind=law", "--set", "backing.size=1MiB"),
    )
    assert "device.share" in message and "larger than its backing device of 1MiB" in message


def test_presets_hit_where_the_load_fits():
    load = {"footprint": "4MiB", "requests": 4_000, "read_share": 0.5}
    for preset in ("hybrid-disk", "nvram-raid5"):
        found = run(device=preset, workload={"preset": "mixed", **load})
        assert found["cache"]["hit_share"] > 0.5 and found["cache"]["lines_used"] <= 1_024
        assert found["disk"]["disks"] in (1, 5)


def test_a_power_cut_keeps_what_waits_in_the_cache():
    device = {"kind": "cache", "restart": "warm", "fast": {"kind": "law", "size": "1MiB"}}
    device["backing"] = {"preset": "sata-2008"}
    load = {"preset": "random-write", "requests": 3_000}
    found = run(device=device, workload=load, **{"run": {"power_cut": "random:5"}})
    power = found["cache"]["power"]
    assert power["cuts"] >= 1 and power["durable_lost"] == 0 and power["stale"] == 0
    assert power["lines_kept"] > 0


def test_hot_lines_lie_on_the_fast_device(ssdlab):
    device = {"kind": "cache", "mode": "tiered", "line": "64KiB", "tier": {"gain": 1.5}}
    device |= {"fast": {"kind": "law", "size": "4MiB"}, "backing": {"preset": "sata-2008"}}
    load = {"preset": "random-read", "requests": 6_000, "locality": "zipf(1.1)"}
    found = run(device=device, workload={**load, "footprint": "64MiB"})
    cache = found["cache"]
    assert cache["policy"] == "heat" and cache["evictions"] > 10
    assert cache["filled_bytes"] == cache["destaged_bytes"] == cache["evictions"] << 16
    # A sixteenth of the lines is on the fast device.
    assert cache["hit_share"] > 4 / 16
    done = ssdlab(
        *("run", "--set", "device.kind=cache", "--set", "mode=tiered", "--set", "fast.kind=law"),
        *("--set", "fast.size=4MiB", "--set", "backing.kind=law", "--set", "backing.size=64MiB"),
        *("--workload", "random-read", "--set", "workload.requests=2000"),
    )
    assert "lines of the fast device" in done.stdout and "lines that changed places" in done.stdout


def test_a_column_of_a_trace_pins_lines(tmp_path):
    lines = [
        f"{n},{n % 2 and 4096 * (1000 + n) or 0},4096,R,{0 if n % 2 else 1}" for n in range(900)
    ]
    trace = tmp_path / "hinted.csv"
    trace.write_text("\n".join(lines) + "\n")
    device = {"kind": "cache", "hints": "1: pin", "fast": {"kind": "law", "size": "64KiB"}}
    device["backing"] = {"kind": "law", "size": "16MiB"}
    columns = "time=1:us,offset=2:bytes,size=3,op=4,handle=5"
    found = run(device=device, workload={"kind": "trace", "path": str(trace), "columns": columns})
    hints = found["cache"]["hints"]
    assert hints == {"lines_pinned": 1, "pinned": 1, "unpinned": 0, "not_pinned": 449}
    assert found["cache"]["read_hits"] == 449


def test_snapshots_are_made_and_shown(ssdlab):
    done = ssdlab(
        *("run", "--device", "agrawal2008", "--set", "blocks_per_plane=32"),
        *("--set", "snapshots.most=2", "--set", "snapshots.every=8MiB"),
        *("--set", "spare_factor=0.3", "--workload", "random-write"),
        *("--set", "workload.requests=10000"),
    )
    assert "2 of 4 made" in done.stdout and "pages of snapshots alone" in done.stdout


def test_the_study_of_the_cheapest_cache_fails_on_a_smaller_one():
    def halved(arguments):
        device = arguments["device"]
        if device.get("kind") != "cache":
            return arguments
        return {**arguments, "device": device | {"share": 0.5}}

    item = ITEMS["caching"].run(Study(quick=True))
    verdicts = Counter(row.verdict for row in item.rows)
    # The smallest cache is cheapest at fewer pages than the rule says; bills are not judged.
    assert verdicts == {"pass": 4, "info": 3, "not reproduced": 1}, verdicts
    wrong = ITEMS["caching"].run(Study(quick=True, mutate=halved))
    assert sum(row.verdict == "fail" for row in wrong.rows) >= 3


@pytest.mark.parametrize("policy", ["lru", "lfu", "arc"])
def test_a_policy_is_a_word(policy):
    device = {"kind": "cache", "replacement": policy, "fast": {"kind": "law", "size": "64KiB"}}
    found = run(device=device, workload={"preset": "random-read", "requests": 500})
    assert found["cache"]["policy"] == policy
