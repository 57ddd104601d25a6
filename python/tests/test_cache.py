"""Prepared drives are kept: the same results with the cache and without, shown and cleared."""

import json
import os
import threading

import pytest

from ssdlab import cache
from ssdlab import run as ssdlab_run

#: Prepared in a moment, and large enough to be kept.
DRIVE = {
    "device.blocks_per_plane": 48,
    "device.packages_per_channel": 1,
    "workload.requests": 1000,
    "run.precondition": "random:2",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of an empty cache."""
    place = tmp_path / "kept"
    monkeypatch.setenv("SSDLAB_CACHE", str(place))
    return place


def words(more=()):
    given = DRIVE | dict(more)
    return [word for key, value in given.items() for word in ("--set", f"{key}={value}")]


def lasting(text):
    results = json.loads(text)
    del results["elapsed"]
    return results


def states(folder):
    return sorted(folder.glob("*.state"))


def test_results_are_the_same_and_a_state_is_shared(folder, ssdlab, workers, tmp_path):
    run = ["run", *words(), "--json", "-"]
    without = lasting(ssdlab(*run, "--no-cache").stdout)
    assert not folder.exists() and os.environ["SSDLAB_CACHE"] == str(folder)
    first, second = (lasting(ssdlab(*run).stdout) for _ in range(2))
    assert first == second == without
    assert len(states(folder)) == 1
    # Another load after the same preparation, of another command.
    for name, share in (("a", 0.1), ("b", 0.9)):
        shown = ssdlab("run", *words({"workload.read_share": share}), "--show").stdout
        (tmp_path / f"{name}.toml").write_text(shown)
    axis = ["--vary", "workload.read_share=0.2,0.7", "--workers", 2]
    for command in (["compare", "a.toml", "b.toml"], ["sweep", *words(), *axis]):
        done = ssdlab(*command, "--quiet")
        assert done.returncode == 0, done.stderr
    assert len(states(folder)) == 1
    [entry] = cache.entries()
    assert entry["hits"] >= 5 and entry["precondition"] == "random:2"
    assert entry["decided_by"]["device"]["blocks_per_plane"] == 48


def table(path, rows=2000):
    pa = pytest.importorskip("pyarrow")
    ops = ("write", "read", "read")
    columns = {
        "time_us": [1000 * n for n in range(rows)],
        "op": [ops[n % 3] for n in range(rows)],
        "offset": [n % 977 * 4096 for n in range(rows)],
        "size": [4096] * rows,
    }
    pytest.importorskip("pyarrow.feather").write_feather(pa.table(columns), path)
    return path


def traces(folder):
    return sorted(folder.glob("traces/*"))


def replayed(path, **more):
    return ssdlab_run(trace=path, set={"workload.beyond": "wrap"} | more)


def test_a_converted_table_is_kept_shown_and_cleared(folder, ssdlab, tmp_path):
    mine = table(tmp_path / "my requests.arrow")
    first = replayed(mine).to_dict()
    [kept] = traces(folder)
    assert kept.name.startswith("my-requests-") and kept.suffix == ".parquet"
    os.utime(kept, (0, 0))
    again = replayed(mine).to_dict()
    assert lasting(json.dumps(first)) == lasting(json.dumps(again))
    assert traces(folder) == [kept] and kept.stat().st_mtime > 0  # it was used
    found = json.loads(ssdlab("cache", "--json", "-").stdout)
    [entry] = found["traces"]
    assert entry["table"] == "my-requests" and entry["bytes"] == kept.stat().st_size
    assert found["bytes"] == entry["bytes"] + sum(it["bytes"] for it in found["entries"])
    shown = ssdlab("cache").stdout
    assert "1 converted trace," in shown and "my-requests" in shown
    (folder / "traces" / "killed.parquet.1.part").write_text("x")
    assert "and 1 converted trace, " in ssdlab("cache", "clear").stdout
    assert traces(folder) == [] and not cache.traces()


def test_converted_tables_are_bounded(folder, monkeypatch, tmp_path):
    replayed(table(tmp_path / "0.arrow"))
    [first] = traces(folder)
    os.utime(first, (1, 1))
    size = first.stat().st_size
    monkeypatch.setenv("SSDLAB_CACHE_SIZE", f"{int(3.5 * size)}B")
    for name in range(1, 6):
        replayed(table(tmp_path / f"{name}.arrow"))
        os.utime(traces(folder)[-1], (1 + name, 1 + name))
    left = [it["table"] for it in cache.traces()]
    assert left == ["5", "4", "3"]
    assert sum(it.stat().st_size for it in traces(folder)) <= 3.5 * size


def test_a_table_larger_than_the_cache_is_replayed_too(folder, monkeypatch, tmp_path):
    mine = table(tmp_path / "large.arrow")
    monkeypatch.setenv("SSDLAB_CACHE_SIZE", "100B")
    small = replayed(mine).host.all.requests
    assert small == 2000 and traces(folder) == []
    monkeypatch.setenv("SSDLAB_CACHE", "off")
    assert replayed(mine).host.all.requests == small
    monkeypatch.setenv("SSDLAB_CACHE", str(mine))  # a file, where no folder can be
    assert replayed(mine).host.all.requests == small


def test_it_is_shown_and_cleared(folder, ssdlab):
    assert "0 prepared drives" in ssdlab("cache").stdout
    ssdlab("run", *words(), "--quiet")
    shown = ssdlab("cache")
    assert shown.returncode == 0 and "1 prepared drive," in shown.stdout
    assert "agrawal2008 under" in shown.stdout and "random:2" in shown.stdout
    found = json.loads(ssdlab("cache", "--json", "-").stdout)
    assert found["folder"] == str(folder) and found["in_use"]
    assert found["bytes"] == sum(path.stat().st_size for path in states(folder)) > 0
    assert found["bound_bytes"] == 10**10
    off = ssdlab("cache", env=dict(os.environ, SSDLAB_CACHE="off"))
    assert "SSDLAB_CACHE=off" in off.stdout
    cleared = ssdlab("cache", "clear")
    assert cleared.stdout.startswith("removed 1 prepared drive, ")
    assert states(folder) == [] and cache.entries() == []
    assert "removed 0 prepared drives" in ssdlab("cache", "clear").stdout


def test_a_damaged_state_is_said_once_and_made_anew(folder, program):
    run = ["run", *words(), "--json", "-"]
    environment = dict(os.environ, SSDLAB_CACHE=str(folder))
    expected = lasting(program(*run, env=environment).stdout)
    [state] = states(folder)
    size = state.stat().st_size
    with state.open("r+b") as file:
        file.truncate(size // 2)
    again = program(*run, env=environment)
    assert again.returncode == 0 and lasting(again.stdout) == expected
    assert again.stderr.count("\n") == 1 and "the drive is prepared anew" in again.stderr
    assert again.stderr.startswith("ssdlab: ") and state.stat().st_size == size
    third = program(*run, env=environment)
    assert third.stderr == "" and lasting(third.stdout) == expected


def test_where_nothing_can_be_kept_a_run_goes_on(tmp_path, program):
    (tmp_path / "file").write_text("")
    environment = dict(os.environ, SSDLAB_CACHE=str(tmp_path / "file"))
    done = program("run", *words(), "--quiet", env=environment)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1 and "prepared drives cannot be kept: " in done.stderr


def test_a_size_that_is_none_is_refused(folder, refused, monkeypatch):
    monkeypatch.setenv("SSDLAB_CACHE_SIZE", "much")
    assert "SSDLAB_CACHE_SIZE=much: " in refused("run", *words())


def test_a_bound_is_kept(folder, ssdlab, monkeypatch):
    ssdlab("run", *words(), "--quiet")
    size = states(folder)[0].stat().st_size
    monkeypatch.setenv("SSDLAB_CACHE_SIZE", f"{size * 5 // 2}B")
    for seed in (1, 2, 3, 4):
        ssdlab("run", *words(), "--seed", seed, "--quiet")
        assert sum(path.stat().st_size for path in states(folder)) <= size * 5 // 2
    assert len(states(folder)) == 2


def test_an_interrupted_preparation_leaves_nothing(folder, ssdlab):
    import ssdlab as package

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        package.run(set={**DRIVE, "device.blocks_per_plane": 512}, progress=stop)
    assert not folder.exists() or list(folder.iterdir()) == []


def test_threads_of_one_process_prepare_once(folder):
    import ssdlab as package

    found = []
    threads = [
        threading.Thread(target=lambda: found.append(package.run(set=DRIVE))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({json.dumps(it.host.all.to_dict()) for it in found}) == 1 and len(found) == 3
    assert [entry["hits"] for entry in cache.entries()] == [2]
