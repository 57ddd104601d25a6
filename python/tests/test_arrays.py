"""Arrays with redundancy on the command line: what a run shows, and what it says of lost data."""

import json

ARRAY = """
[device]
kind = "array"
members = 4
redundancy = "parity"

[device.member]
kind = "linear"
size = "4MiB"

[workload]
kind = "closed"
read_share = 0.5
requests = 500
outstanding = 8
"""


def experiment(tmp_path):
    path = tmp_path / "array.toml"
    path.write_text(ARRAY)
    return path


def test_a_run_shows_what_redundancy_did(ssdlab, tmp_path):
    done = ssdlab("run", experiment(tmp_path), "--set", 'device.failed="1"')
    assert done.returncode == 0, done.stderr
    assert "redundancy" in done.stdout
    assert "failed members" in done.stdout
    assert "data loss" not in done.stdout


def test_lost_data_are_counted_and_said_and_the_results_are_kept(ssdlab, tmp_path):
    out = tmp_path / "out"
    set_failed = ("--set", 'device.failed="1, 2 at 5ms"')
    done = ssdlab("run", experiment(tmp_path), *set_failed, "--out", out)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "more than parity tolerates" in done.stderr
    assert "the data are lost" in done.stdout
    results = json.loads((out / "results.json").read_text())
    array = results["array"]
    assert array["member_failures"] == 2
    # Of 64 stripes of four chunks each two are gone; in half of the stripes one of them is parity.
    assert array["data_loss_sectors"] == 64 * 3 // 2 * 128
    assert results["host"]["all"]["failures"]["unreadable"] > 0


def test_contradictions_are_refused_with_their_keys(ssdlab, tmp_path):
    for given, key in [
        ("device.members=2", "device.members"),
        ('device.parity_share="50,20,20,5"', "device.parity_share"),
        ('device.failed="7"', "device.failed"),
    ]:
        done = ssdlab("run", experiment(tmp_path), "--set", given)
        assert done.returncode == 2
        assert key in done.stderr
        assert "Traceback" not in done.stderr


CUT = (
    "device.member.kind=ssd",
    "device.member.blocks_per_plane=16",
    "device.member.persistence.recovery=summary",
    "workload.read_share=0.0",
    "workload.requests=4000",
    "run.power_cut=at 50ms",
    "run.power_off=10ms",
)


def test_a_power_cut_of_an_array_shows_its_torn_stripes(ssdlab, tmp_path):
    """The member that fails at once finds the hole open, unless partial parity closes it."""
    wrong = {}
    for hole in ("resync", "partial-parity"):
        path, out = tmp_path / "cut.toml", tmp_path / hole
        path.write_text(ARRAY.replace('kind = "linear"\nsize = "4MiB"', 'kind = "ssd"'))
        keys = [*CUT, f"device.hole={hole}", 'device.failed="1 at 60001us"']
        sets = [word for key in keys for word in ("--set", key)]
        done = ssdlab("run", path, *sets, "--out", out)
        assert done.returncode == 0, done.stderr
        assert "stripes torn by power cuts" in done.stdout
        assert "chunks lost to the write hole" in done.stdout
        results = json.loads((out / "results.json").read_text())
        assert results["power"]["cuts"] == 1
        assert results["array"]["hole"]["stripes_dirty"] > 0
        wrong[hole] = results["array"]["hole"]["chunks_wrong"]
    assert wrong["resync"] > 0 == wrong["partial-parity"]


def test_unknown_remedies_of_the_write_hole_are_refused_by_name(ssdlab, tmp_path):
    for given, word in [
        ("device.hole=bitmap", "partial-parity"),
        ("run.power_cut=at 1ms", "power"),
    ]:
        done = ssdlab("run", experiment(tmp_path), "--set", given)
        assert done.returncode == 2
        assert word in done.stderr
        assert "Traceback" not in done.stderr
