"""The Python API: the same runs as the command line's, as values."""

import _thread
import itertools
import pickle
import threading
import time

import pytest

import ssdlab

ENDLESS = {"workload.requests": 10**12}


class Scalar:
    """Stands for a NumPy number."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def without_elapsed(results):
    return {key: value for key, value in results.to_dict().items() if key != "elapsed"}


@pytest.fixture(scope="module")
def results():
    return ssdlab.run(
        set={
            "device.blocks_per_plane": 64,
            "workload.requests": 2000,
            "workload.read_share": 0.5,
        }
    )


# Results


def test_attributes_and_keys_are_the_same(results):
    assert results.host.read.mean_us == results["host"]["read"]["mean_us"] > 0
    percentiles = results.host.read.percentiles_us
    assert percentiles["99"] == percentiles[99]
    assert percentiles["99.999"] == percentiles[99.999]
    assert results.units[0].name == results["units"][0]["name"]
    assert "host" in dir(results)
    assert set(results.host) >= {"read", "write", "all"}


def test_a_missing_key_names_what_there_is(results):
    with pytest.raises(AttributeError, match="'reads'.*read"):
        _ = results.host.reads
    with pytest.raises(KeyError):
        _ = results["hosts"]


def test_results_are_read_only(results):
    with pytest.raises(AttributeError):
        results.host = None
    results.to_dict()["host"].clear()
    assert results.host.all.requests == 2000


def test_results_survive_json_pickle_and_a_file(results, tmp_path):
    assert ssdlab.Results.from_json(results.to_json()) == results
    copy = pickle.loads(pickle.dumps(results))
    assert (type(copy), copy) == (ssdlab.Results, results)
    results.save(tmp_path / "results.json")
    assert (tmp_path / "results.json").read_text() == results.to_json()


def test_results_show_themselves(results):
    assert repr(results).startswith("<Results: 2000 requests in ")
    assert len(repr(results)) < 250
    table = results._repr_html_()
    assert table.count("<tr>") == 4  # the head, read, write, all
    assert "2,000" in table


# Arguments


def test_every_way_to_override_a_key_is_the_same(small, tmp_path):
    (tmp_path / "file.toml").write_text("[device]\nchannels = 4\n")
    runs = [
        ssdlab.run({"device": {"channels": 4}}, set=small),
        ssdlab.run(tmp_path / "file.toml", set=small),
        ssdlab.run(str(tmp_path / "file.toml"), set=small),
        ssdlab.run(device={"channels": 4}, set=small),
        ssdlab.run(device={"channels": Scalar(4)}, set=small),
        ssdlab.run(device=tmp_path / "file.toml", set=small),
        ssdlab.run(device=str(tmp_path / "file.toml"), set=small),
        ssdlab.run(set=small | {"device.channels": 4}),
        ssdlab.run(set=small | {"device.channels": Scalar(4)}),
        ssdlab.run(set=small | {"device.channels": "4"}),
    ]
    assert runs[0].experiment.device.channels == 4
    for other in runs[1:]:
        assert without_elapsed(other) == without_elapsed(runs[0])


def test_later_arguments_override_earlier_ones(small):
    def channels(*, set=None, **arguments):
        experiment = {"device": {"channels": 2}}
        run = ssdlab.run(experiment, set=small | (set or {}), **arguments)
        return run.experiment.device.channels

    assert channels() == 2
    assert channels(device={"channels": 4}) == 4
    assert channels(device={"channels": 4}, set={"device.channels": 3}) == 3


def test_other_sections_are_keywords_and_seed_comes_last(small):
    run = ssdlab.run(run={"seed": 5}, set=small)
    assert run.experiment.run.seed == 5
    run = ssdlab.run(run={"seed": 5}, set=small | {"run.seed": 6}, seed=7)
    assert run.experiment.run.seed == 7


def presets(what):
    return [name for name in ssdlab.list(what) if " " not in name]


#: Loads of applications, whose data need a drive of some GiB.
APPLICATIONS = ["ann", "cache", "checkpoint", "gnn", "kv-offload", "lsm", "training"]
OTHERS = [name for name in presets("workloads") if name not in APPLICATIONS]


@pytest.mark.parametrize(
    ("device", "workload"),
    [
        *zip(presets("devices"), itertools.cycle(OTHERS)),
        *(("tlc-enterprise", name) for name in APPLICATIONS),
    ],
)
def test_every_preset_runs(device, workload):
    """At full size, each device under another workload; `digests.rs` runs all pairs, smaller."""
    changes: dict[str, object] = {"workload.requests": 1000}
    if device == "wd-zn540":
        # These workloads know no zones.
        changes["device.adapt"] = "log"
    run = ssdlab.run(device=device, workload=workload, set=changes, check=True)
    assert run.host.all.requests == 1000
    # The one called null answers at once.
    assert (run.host.all.mean_us > 0) == (device != "null")


def test_an_override_moves_the_result_in_the_right_direction(small):
    slow = ssdlab.run(set=small | {"device.timing.read": "250us"})
    assert slow.host.read.mean_us > ssdlab.run(set=small).host.read.mean_us


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "nonesuch"}, "nonesuch"),
        ({"device": {"chanels": 4}}, "argument device.*chanels"),
        ({"device": {"channels": None}}, "argument device, device, channels"),
        ({"experiment": {"devise": {}}}, "argument experiment.*devise"),
        ({"experiment": "missing.toml"}, "missing.toml"),
        ({"cleaning": {"policy": "greedy"}}, "cleaning"),
        ({"set": {"device.chanels": 4}}, "chanels"),
        ({"set": {"device.channels": {"a": 1}}}, 'set={"device.channels"'),
        ({"set": {"device.channels": True}}, "device.channels"),
        ({"set": {"device.channels": 4.5}}, "device.channels"),
        ({"set": {"device.timing.read": "30parsecs"}}, "30parsecs"),
        ({"trace": "some.trace", "workload": "mixed"}, "trace.*workload"),
        ({"trace": "missing.trace"}, "missing.trace"),
    ],
)
def test_wrong_input_is_an_input_error(arguments, message):
    with pytest.raises(ssdlab.InputError, match=f"(?s){message}"):
        ssdlab.run(**arguments)


@pytest.mark.parametrize(
    "text",
    ["plain", 'quo"te', "back\\slash", "new\nline", "tab\t", "del\x7f", "ünïcödé 🐍", "a = {"],
)
def test_any_text_reaches_the_engine_as_it_is(text):
    with pytest.raises(ssdlab.InputError) as raised:
        ssdlab.run(trace=f"missing {text}")
    assert f"missing {text}" in str(raised.value)


def test_a_dict_of_all_types_is_an_experiment(small):
    experiment = {
        "version": 1,
        "device": {"channels": 4, "summary_page": False, "timing": {"read": "30us"}},
        "workload": {"read_share": 0.25},
    }
    resolved = ssdlab.run(experiment, set=small).experiment
    assert resolved.device.channels == 4
    assert resolved.device.summary_page is False
    assert resolved.device.timing.read == "30us"
    assert resolved.workload.read_share == 0.25


def test_errors_in_arguments_name_no_line():
    with pytest.raises(ssdlab.InputError, match="^argument experiment: "):
        ssdlab.run({"version": 1, "run": {}, "device": {"chanels": 4}})


def test_errors_are_of_the_usual_kinds():
    assert issubclass(ssdlab.InputError, ValueError)
    assert issubclass(ssdlab.CheckError, RuntimeError)


def test_list_names_and_describes():
    assert "agrawal2008" in ssdlab.list("devices")
    assert all(ssdlab.list("cleaners").values())
    assert "diskspd" in ssdlab.list("figures")
    with pytest.raises(ssdlab.InputError, match="devices, cleaners, workloads, formats"):
        ssdlab.list("disks")


# Runs


def test_the_same_experiment_gives_the_same_results(small):
    small["workload.read_share"] = 0.5
    first, again, other = (ssdlab.run(set=small, seed=seed) for seed in (1, 1, 2))
    assert without_elapsed(first) == without_elapsed(again)
    assert without_elapsed(first)["host"] != without_elapsed(other)["host"]


def test_other_threads_go_on_during_a_run():
    """Another thread works half of the time. Were the lock held, it could in visits alone, of
    which there are 40 a second, each of at most 5 ms.
    """
    over, worked = threading.Event(), []

    def work():
        while not over.is_set():
            pass
        worked.append(time.thread_time())

    thread = threading.Thread(target=work)
    thread.start()
    try:
        before = time.process_time()
        ssdlab.run(set={"workload.requests": 300_000})
        took = time.process_time() - before
    finally:
        over.set()
        thread.join()
    assert worked[0] > took * 0.35


def test_runs_side_by_side_do_not_mix(small):
    small["workload.read_share"] = 0.5
    alone = [without_elapsed(ssdlab.run(set=small, seed=seed)) for seed in range(4)]
    together = [None] * 4

    def run(seed):
        together[seed] = without_elapsed(ssdlab.run(set=small, seed=seed))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_threads_change_nothing_but_what_was_elapsed(small):
    small |= {"run.precondition": "random:1.5", "device.channels": 2}
    one = ssdlab.run(set=small)
    assert "threads" not in one.elapsed
    for threads in 2, "3", "auto":
        assert without_elapsed(ssdlab.run(set=small, threads=threads)) == without_elapsed(one)
    threads = ssdlab.Experiment(set=small).run(threads=2).elapsed.threads
    assert (threads.asked, threads.preparing) == (2, 2)
    for wrong in 0, -1, "many", 1025, None:
        with pytest.raises(ssdlab.InputError, match='expected "auto" or a number from 1 to 1024'):
            ssdlab.run(set=small, threads=wrong)


def test_progress_is_reported_and_grows():
    seen = []

    def stop_once_it_has_grown(now):
        seen.append(now)
        # A loaded machine may report twice before anything is done between.
        if now.done > seen[0].done or len(seen) == 1000:
            raise StopIteration

    with pytest.raises(StopIteration) as raised:
        ssdlab.run(set=ENDLESS, progress=stop_once_it_has_grown)
    assert {type(now) for now in seen} == {ssdlab.Progress}
    assert seen[0].done < seen[-1].done
    assert seen[0].simulated_seconds < seen[-1].simulated_seconds
    assert seen[-1].expected == 10**12
    assert raised.value.requests >= seen[-1].done


def test_ctrl_c_ends_a_run_at_once():
    threading.Timer(0.5, _thread.interrupt_main).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as raised:
        ssdlab.run(set=ENDLESS)
    assert 0.4 < time.monotonic() - started < 20
    assert raised.value.requests > 0
