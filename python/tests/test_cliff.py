"""`ssdlab cliff`: when a copy slows down, and what a rest gives back."""

import json

import pytest

import ssdlab
from ssdlab.cliffs import cliff

#: A small part of the drive: all of its phases in a second.
SMALL = {"device.slc_cache.limit": "30GB", "device.scale": 96, "device.slc_cache.fold_share": 0.2}
WORDS = [f"--set={key}={value}" for key, value in SMALL.items()]


@pytest.fixture(scope="module")
def copied():
    return cliff("samsung-980pro", "60GB", set=SMALL, pause="10s")


def test_a_copy_is_fast_until_the_cache_is_full(copied):
    block = 16 * 4 * 16384 * 384
    assert copied.cliff_at_bytes == pytest.approx(30e9, abs=2 * block)
    fast, direct = copied.phases
    assert (fast.state, direct.state) == ("fast", "direct")
    assert fast.bytes_per_s == pytest.approx(4.0e9, rel=0.06)
    assert direct.bytes_per_s == pytest.approx(1.5e9, rel=0.08)
    assert sum(it.written_bytes for it in copied.phases) == pytest.approx(copied.copy_bytes)
    assert copied.bytes_per_s < fast.bytes_per_s


def test_a_rest_gives_back_what_is_folded_meanwhile(copied):
    # The rate of folding, from when the drive rests on.
    assert copied.recovered_bytes == pytest.approx(1.5e9 * (10 - 5), rel=0.5)
    assert cliff("samsung-980pro", "60GB", set=SMALL, pause="2s").recovered_bytes == 0


def test_a_drive_without_a_cache_has_one_rate():
    found = cliff("samsung-990pro", "20GB", set={"device.scale": 96})
    assert [it.state for it in found.phases] == ["native"]
    assert found.cliff_at_bytes is None


def test_the_exit_status_says_whether_the_limit_is_kept(ssdlab):
    arguments = ("cliff", "samsung-980pro", "--copy", "60GB", *WORDS)
    kept = ssdlab(*arguments, "--within", "10min")
    assert (kept.returncode, "is kept" in kept.stdout) == (0, True), kept
    missed = ssdlab(*arguments, "--within", "10s")
    assert (missed.returncode, "is missed" in missed.stdout) == (1, True), missed


def test_the_numbers_are_json(ssdlab):
    done = ssdlab("cliff", "samsung-980pro", "--copy", "40GB", *WORDS, "--json", "-")
    found = json.loads(done.stdout)
    assert found["phases"][0]["state"] == "fast"
    assert found["seconds"] == pytest.approx(sum(it["seconds"] for it in found["phases"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--copy", "2TB"), "free"),
        (("--fill", "100%"), "no room is left"),
        (("--fill", "lots"), "a share from 0% to 100%"),
        (("--copy", "5"), "unit"),
        (("--within", "5 parsecs"), "expected a time"),
    ],
)
def test_bad_input_is_refused(refused, arguments, message):
    assert message in refused("cliff", "samsung-980pro", *arguments)


def test_a_disk_has_none(refused):
    assert "solid-state" in refused("cliff", "scsi-15k", "--copy", "1GB")


def _written(**changes):
    """Half a copy of a small part of the 980 PRO: 300 GB of 1 TB."""
    set = {"device.slc_cache.limit": "100GB", "device.scale": 128}
    set |= {f"device.{key.replace('__', '.')}": value for key, value in changes.items()}
    return cliff("samsung-980pro", "300GB", set=set)


def test_without_folds_beside_the_host_the_second_rate_is_that_of_native_cells():
    rates = [
        _written(slc_cache__fold_share=share).phases[1].bytes_per_s for share in (0.0, 0.2, 0.4)
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == pytest.approx(2.0e9, rel=0.08)


def test_folds_during_the_burst_would_move_the_cliff():
    # A cache that folded while it fills would hold more than a review has found.
    kept = _written().cliff_at_bytes
    assert kept == pytest.approx(100e9, rel=0.05)
    eager = _written(slc_cache__fold="eager", slc_cache__fold_rate="1500MB/s").cliff_at_bytes
    assert eager is None or eager > 1.2 * kept


def test_without_forced_folds_a_long_copy_would_be_fast_to_its_end():
    def copy(rate):
        set = {"device.scale": 128, "device.slc_cache.limit": "280GB"}
        set |= {"device.slc_cache.fold_share": 0.0, "device.slc_cache.fold_rate": rate}
        return cliff("samsung-980pro", set=set)

    slow, unlimited = copy("330MB/s"), copy("unlimited")
    assert [it.state for it in slow.phases] == ["fast", "direct", "forced"]
    # Folds without a limit still take native programs of the dies: 1.62 GB/s against 0.93.
    assert unlimited.bytes_per_s > 1.5 * slow.bytes_per_s
    # With none at all the second rate would last to the end: 2.3 GB/s.
    fast, direct, _ = slow.phases
    rest = slow.copy_bytes - fast.written_bytes
    none = slow.copy_bytes / (fast.written_bytes / fast.bytes_per_s + rest / direct.bytes_per_s)
    assert none > 2 * slow.bytes_per_s
    assert none > 1.3 * unlimited.bytes_per_s


def test_a_small_cache_of_the_map_makes_reads_of_a_wide_span_slower():
    def mean_us(memory, span):
        set = {"device.scale": 128, "device.fill": "full", "device.map.memory": memory}
        load = {"kind": "closed", "requests": 20_000, "outstanding": 1, "footprint": span}
        return ssdlab.run(device="wd-sn580", set=set, workload=load).host.read.mean_us

    narrow, wide = mean_us("38MiB", 0.016), mean_us("38MiB", 0.064)
    assert wide > 1.1 * narrow
    assert mean_us("200MB", 0.064) < wide


def _slow_to_rest(scale, fold_after="5s"):
    """A drive whose space comes from folding in the end; one part in `scale` of it is simulated."""
    set = {"device.scale": scale, "device.slc_cache.limit": "200GB"}
    set |= {"device.slc_cache.fold_share": 0.0, "device.slc_cache.fold_rate": "330MB/s"}
    set |= {"device.slc_cache.fold_after": fold_after}
    return cliff("samsung-980pro", set=set)


@pytest.mark.parametrize("fold_after", ["5ms", "20ms", "150ms"])
def test_a_host_that_waits_does_not_rest_however_short_a_rest_may_be(fold_after):
    # In the part a rest begins sooner than a word line is programmed.
    found, usual = _slow_to_rest(96, fold_after), _slow_to_rest(96)
    assert [it.state for it in usual.phases] == ["fast", "direct", "forced"]
    assert found.phases == usual.phases


def test_rates_are_those_of_other_scales_or_the_answer_says_that_they_are_not():
    # What the closed form has: of three blocks that are folded two are written.
    limit = 2 / (1 / 0.33e9 + 2 / 2.0e9)
    said = {}
    for scale in (128, 96, 64, 32, 16):
        found = _slow_to_rest(scale)
        fast, direct, forced = found.phases
        assert fast.bytes_per_s == pytest.approx(4.0e9, rel=0.02), scale
        assert direct.bytes_per_s == pytest.approx(2.0e9, rel=0.02), scale
        said[scale] = found.coarse
        same = forced.bytes_per_s == pytest.approx(limit, rel=0.02)
        assert same or found.coarse is not None, (scale, forced.bytes_per_s)
    assert said[16] is None
    assert "device.scale=16" in said[64] and "may be up to" in said[64]
    assert "4 word lines are no multiple of 3" in said[96]


def test_what_is_coarse_is_in_the_answer(ssdlab):
    words = ["--set=device.scale=96", "--set=device.slc_cache.limit=200GB"]
    words += ["--set=device.slc_cache.fold_share=0.0", "--set=device.slc_cache.fold_rate=330MB/s"]
    done = ssdlab("cliff", "samsung-980pro", *words)
    assert "Coarse: " in done.stdout and "device.scale=" in done.stdout
