"""`ssdlab why`: what it advises helps, and where nothing does it says so."""

import json
import math

import pytest

from ssdlab import InputError, Results
from ssdlab.comparison import grid
from ssdlab.explaining import changes, intervals, tried
from ssdlab.running import layers_of

#: A drive of 2008 that is simulated in no time, and one of today.
OLD = {"device.blocks_per_plane": 64, "workload.requests": 4000}
NEW = {
    "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.25,
    "workload.requests": 4000,
}
USED = {"run.precondition": "random:1"}
SETTINGS = {"among": ["settings"]}
WITHOUT_DRIVES = {"among": ["settings", "hardware", "load"]}

#: A bottleneck: device, workload, keys, how it is asked, and the change that is expected first.
HELPED = {
    "cleaning that blocks": (
        "agrawal2008", "random-write", OLD | USED, SETTINGS, "cleaning yields to requests",
    ),
    "bursts of cleaning": (
        "tlc-client", "ssdiq-load", NEW | USED | {"workload.requests": 20_000},
        SETTINGS | {"goal": "write.p99"}, "token pace",
    ),
    "command slots": (
        "tlc-enterprise", "random-read",
        NEW | {"device.host_link.queue_depth": 1}, WITHOUT_DRIVES, "unlimited queue",
    ),
    "the link of a zoned drive": (
        "wd-zn540", "random-read", {"workload.requests": 5000}, WITHOUT_DRIVES,
        "a host link twice as fast",
    ),
    "the host link": (
        "tlc-enterprise", "sequential-read",
        NEW | {"device.host_link.bandwidth": "sata-300"}, WITHOUT_DRIVES | {"goal": "throughput"},
        "a host link twice as fast",
    ),
    "the controller's cores": (
        "tlc-enterprise", "random-read",
        NEW | {"device.firmware.cores": 1}, WITHOUT_DRIVES | {"goal": "throughput"},
        "twice the cores",
    ),
    "the buses": (
        "agrawal2008", "random-read", OLD, {"among": ["hardware"], "goal": "throughput"},
        "buses twice as fast",
    ),
    "too few dies": (
        "tlc-enterprise", "random-read",
        NEW | {"device.channels": 1, "device.dies_per_package": 1}, {"among": ["hardware"]},
        None,
    ),
    "programs in the way of reads": (
        "tlc-enterprise", "mixed",
        NEW | {"device.suspend.program": "none", "device.suspend.erase": "none",
               "workload.time_scale": 0.2, "workload.requests": 20_000}, SETTINGS,
        "reads suspend programs and erases",
    ),
    "the speed of a disk": (
        "sata-2008", "random-read",
        {"device.scheduler": "fcfs", "workload.requests": 1500}, WITHOUT_DRIVES, "15,000 rpm",
    ),
}  # fmt: skip

#: Experiments that no change of these groups improves.
NOTHING = {
    "an open loop that is met": (
        "tlc-enterprise", "mixed", NEW, {"among": ["settings", "hardware"], "goal": "throughput"},
    ),
    "the same of 2008": (
        "agrawal2008", "mixed", OLD, {"among": ["settings", "hardware"], "goal": "throughput"},
    ),
    "lone reads of flash": (
        "tlc-enterprise", "random-read", NEW | {"workload.outstanding": 1}, SETTINGS,
    ),
    "lone reads of 2008": (
        "agrawal2008", "random-read", OLD | {"workload.outstanding": 1}, SETTINGS | {"goal": "p99"},
    ),
    "a lone head": (
        "sata-2008", "random-read", {"workload.outstanding": 1, "workload.requests": 1500},
        SETTINGS | {"goal": "mean"},
    ),
    "a law of service times": (
        "zeus-linear", "random-read", {"workload.requests": 3000},
        {"among": ["settings", "hardware"]},
    ),
    "a host that thinks": (
        "tlc-enterprise", "random-read",
        NEW | {"workload.think_time": "10ms", "workload.outstanding": 1},
        {"among": ["settings", "hardware"], "goal": "throughput"},
    ),
    "nothing to move": (
        "agrawal2008", "sequential-write", OLD | {"device.fill": "empty"},
        SETTINGS | {"goal": "write_amplification_bytes"},
    ),
    "a striped array, one request at a time": (
        "agrawal2008-array-6", "random-read",
        {"device.member.blocks_per_plane": 64, "workload.requests": 3000,
         "workload.outstanding": 1}, SETTINGS | {"goal": "p99"},
    ),
    "writes that a buffer takes": (
        "tlc-enterprise", "random-write", NEW | {"workload.outstanding": 1,
        "workload.think_time": "1ms"}, {"among": ["settings"], "goal": "write.p99"},
    ),
}  # fmt: skip


def found(device, workload, keys, asked):
    return tried(layers_of(device=device, workload=workload, set=keys), **asked)


def confirmed(name, repeat):
    """What `compare` says of the first advice, with seeds that it was not found with."""
    device, workload, keys, asked, expected = HELPED[name]
    why = found(device, workload, keys, asked)
    best = why.best
    assert best is not None, f"{name}\n{why}"
    if expected is not None:
        assert best.change.name == expected, f"{name}\n{why}"
    return why, again(device, workload, keys, why, repeat)


def again(device, workload, keys, why, repeat):
    """The first advice against the experiment, with seeds that no trial had."""
    below = layers_of(device=device, workload=workload)
    said = grid.compare_over(
        "as-is",
        why.best.change.side,
        below=below,
        assignments=[f"{key}={value}" for key, value in keys.items()],
        minimize=[] if why.metric.maximize else [why.metric.column],
        maximize=[why.metric.column] if why.metric.maximize else [],
        repeat=repeat,
        seed=1000,
        workers=1,
    )
    return said.cells[0]


@pytest.mark.parametrize("name", HELPED)
def test_the_first_advice_is_confirmed(name):
    _, cell = confirmed(name, 10)
    assert cell.verdict == "better"


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_helps_where_nothing_can(name):
    why = found(*NOTHING[name])
    assert why.best is None, f"{name}\n{why}"
    assert all(row.verdict != intervals.TRADES or row.losses for row in why.rows)


def test_more_requests_outstanding_are_at_the_price_of_their_latency():
    keys = NEW | {"workload.outstanding": 1}
    why = found("tlc-enterprise", "random-read", keys, {"among": ["load"], "goal": "throughput"})
    row = why.rows[0]
    assert row.change.name == "four times outstanding" and math.exp(row.gain.mean) > 3
    assert row.verdict == intervals.TRADES and row.losses["p99 of reads"] > 1.25


def test_a_gain_that_worsens_another_figure_is_at_a_price():
    keys = {"device.scheduler": "fcfs", "workload.requests": 1500}
    why = found("sata-2008", "random-read", keys, SETTINGS)
    row = next(row for row in why.rows if row.change.name == "shortest access first")
    assert row.verdict == intervals.TRADES and row.losses["p99 of reads"] > 1.5
    assert row.gain.mean > max(map(math.log, row.losses.values())) and why.best is None


def test_watts_and_prices_of_the_catalogue_are_known():
    keys = {"workload.requests": 2000}
    why = found("samsung-pm9a3", "random-read", keys, SETTINGS | {"goal": "watts"})
    assert 3.5 < why.before < 11 and "data sheet" in why.metric.why
    asked = SETTINGS | {"goal": "cost"}
    priced = found("samsung-pm9a3", "random-read", keys, asked)
    assert priced.before == pytest.approx(170, rel=0.01)
    assert "the catalogue, an assumption of 2025" in priced.metric.why
    own = found("samsung-pm9a3", "random-read", keys | {"cost.device_dollars": 140}, asked)
    assert own.before == pytest.approx(140, rel=0.01)
    changed = keys | {"device.over_provisioning": 0.3}
    with pytest.raises(InputError, match=r"cost.device_dollars=170, the catalogue's price"):
        found("samsung-pm9a3", "random-read", changed, asked)


def test_the_two_best_settings_are_tried_together():
    one, other = (changes.of_user(f"device.{it}") for it in ("channels=4", "cleaning.pace=token"))
    both = changes.together(one, other)
    assert both.assignments == one.assignments + other.assignments
    assert both.effort > one.effort and changes.together(one, one) is None
    keys = OLD | USED | {"device.pool": "package", "workload.outstanding": 8}
    why = found("agrawal2008", "random-write", keys, SETTINGS | {"goal": "write.p99"})
    names = [row.change.name for row in why.rows]
    assert len([row for row in why.helps if "," not in row.change.name]) == 2, why
    assert "cleaning yields to requests, a tenth more spare" in names, why


def test_other_drives_have_an_equal_capacity_and_their_dollars():
    keys = {"workload.requests": 300}
    why = found("samsung-pm9a3", "random-read", keys, {"among": ["drives"], "requests": 300})
    drives = [row.change for row in why.rows]
    assert len(drives) == changes.FEW_DRIVES and all(it.price for it in drives)
    dear = max(drives, key=lambda it: it.price)
    assert dear.device == "samsung-983zet" and dear.effort > min(it.effort for it in drives)
    assert {it.device for it in drives}.isdisjoint({"samsung-pm9a3", "samsung-pm1743"})
    assert "$1,500" in str(why)
    small = found("tlc-enterprise", "random-read", NEW, {"among": ["drives"], "requests": 300})
    assert not small.rows, "no drive on sale is as small"


def test_advice_on_a_tail_of_two_values_holds_on_other_seeds():
    """Four seeds of this load agree by chance that twice the dies helps; ten others refute it."""
    keys = {
        "device.blocks_per_plane": 64,
        "device.over_provisioning": 0.15,
        "device.cleaning.pace": "burst",
        "run.precondition": "random:1",
        "workload.requests": 6000,
    }
    asked = {"among": ["hardware"], "goal": "write.p99"}
    why = found("tlc-enterprise", "ssdiq-load", keys, asked)
    if why.best is not None:
        cell = again("tlc-enterprise", "ssdiq-load", keys, why, 10)
        assert cell.verdict == "better", why


def test_tails_that_jump_prove_nothing():
    """Of 200 studies of 16 equal designs whose p99 is one of two values, at most 5 % advise one."""
    import random
    import statistics

    dice = random.Random(7)
    wrong = 0
    for _ in range(200):
        share, base, ratios = dice.choice((0.1, 0.3, 0.5)), [], [[] for _ in range(16)]

        def more(count, share=share, base=base, ratios=ratios):
            fresh = [math.log(3000 if dice.random() < share else 10) for _ in range(count)]
            base += [it + dice.gauss(0, 0.05) for it in fresh]
            for one in ratios:
                after = [math.log(3000 if dice.random() < share else 10) for _ in range(count)]
                one += [a - b + dice.gauss(0, 0.05) for a, b in zip(base[-count:], after, strict=1)]

        seeds = 0
        while (look := intervals.next_look(seeds)) is not None:
            more(look - seeds)
            seeds = look
            spread = statistics.stdev(base)
            if any(intervals.gain(it, 17, spread).verdict == intervals.HELPS for it in ratios):
                break
        more(intervals.FRESH)
        spread = statistics.stdev(base)
        wrong += any(
            intervals.gain(it, 17, spread).verdict == intervals.HELPS
            and intervals.holds(it[-intervals.FRESH :], spread)
            for it in ratios
        )
    assert wrong <= 0.05 * 200, wrong


def test_what_is_equal_to_the_bit_is_no_effect():
    why = found("agrawal2008", "random-read", OLD, {"among": ["settings"]})
    verdicts = {row.change.name: row.verdict for row in why.rows}
    assert verdicts["another cleaner"] == intervals.NO_EFFECT
    same = [row for row in why.rows if row.verdict == intervals.NO_EFFECT]
    assert all(row.before == row.after and row.gain.mean == 0 for row in same)


def test_the_same_run_gets_the_same_answer():
    asked = {"among": ["settings"], "requests": 300}
    ways = [found("agrawal2008", "random-write", OLD, asked | {"workers": n}) for n in (1, 3)]
    first, second = (it.to_dict() | {"elapsed": None} for it in ways)
    assert first == second


@pytest.mark.nightly
def test_all_intervals_hold_together():
    """Of 2,000 studies of 16 changes without an effect, no more than 5 % find one."""
    import random

    dice = random.Random(7)
    wrong = 0
    for _ in range(2000):
        for _ in range(16):
            ratios, seeds = [], 0
            while (look := intervals.next_look(seeds)) is not None:
                ratios += [dice.gauss(0, 0.2) for _ in range(look - seeds)]
                seeds = look
                gain = intervals.gain(ratios, 16)
                if abs(gain.mean) > gain.half:
                    break
            else:
                continue
            wrong += 1
            break
    assert 0.01 * 2000 < wrong <= 0.06 * 2000


def test_a_sure_gain_needs_few_seeds_and_an_unsure_one_more():
    sure, unsure = intervals.gain([0.7, 0.71, 0.69, 0.7], 16), intervals.gain([0.1, -0.1] * 2, 16)
    assert sure.decided and sure.verdict == intervals.HELPS
    assert not unsure.decided and unsure.verdict == intervals.UNKNOWN
    assert sure.low > intervals.gain([0.7, 0.8, 0.6, 0.7], 16).low
    assert (
        intervals.gain([0.7, 0.72, 0.68, 0.7], 1).half
        < intervals.gain([0.7, 0.72, 0.68, 0.7], 16).half
    )


def test_the_command_line_and_python_say_the_same(ssdlab, tmp_path):
    words = ["--workload", "random-write", "--set", "device.blocks_per_plane=64"]
    words += ["--set", "workload.requests=500"]
    assert ssdlab("run", *words, "--out", "out").returncode == 0
    done = ssdlab("why", "out", "--among", "settings", "--json", "w.json")
    assert done.returncode == 0, done.stderr
    assert "agrawal2008 under random-write" in done.stdout
    said = json.loads((tmp_path / "w.json").read_text())
    results = Results.load(tmp_path / "out")
    again = results.why(among=["settings"]).to_dict()
    rows = [{key: row[key] for key in again["rows"][0]} for row in said["rows"]]
    assert rows == json.loads(json.dumps(again["rows"]))
    assert all(row["command"].startswith("ssdlab compare out") for row in said["rows"])
    after = ssdlab("run", "out/experiment.toml", "--why", "--quiet")
    assert after.returncode == 2 and "--why follows the table" in after.stderr


def test_the_command_of_a_line_repeats_it(ssdlab):
    import shlex

    words = ["--workload", "random-write", "--set", "device.blocks_per_plane=64"]
    words += ["--set", "workload.requests=500"]
    done = ssdlab("why", *words, "--among", "hardware", "--json", "-", "--requests", "300")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    bundle = next(row for row in rows if row["change"] == "twice the channels")
    assert bundle["set"] == ["device.channels=16", "device.blocks_per_plane=32"]
    again = ssdlab(*shlex.split(bundle["command"].replace("--repeat 10", "--repeat 2"))[1:])
    assert again.returncode == 0, again.stderr
    assert "better" in again.stdout or "cannot tell" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: cannot be read"),
        (["--for", "blub"], '--for blub: the results have no "blub"'),
        (["--for", "tbw"], "the lifetime is unknown in this run"),
        (["--for", "cost"], "give [cost] in the experiment"),
        (["--among", "luck"], "--among luck: expected some of settings, load, hardware, drives"),
        (["--among", ","], "--among: expected some of"),
        (["--try", "device.foo=3"], '--try device.foo=3: unknown key "device.foo"'),
        (["--try", "blub"], "--try blub: neither KEY=VALUE nor a preset of a device"),
        (["--requests", "5"], "--requests 5: at least 100"),
        (["--workers", "0"], "--workers 0: at least 1"),
        (["--device", "null"], "there is nothing to improve"),
    ],
)
def test_what_is_asked_wrongly_is_refused(refused, small_options, words, said):
    options = [] if words[0] in ("nowhere", "--device") else ["--set", "device.blocks_per_plane=64"]
    options += [] if words[0] == "nowhere" else ["--set", "workload.requests=300"]
    assert said in refused("why", *words, *options)


@pytest.mark.nightly
def test_an_array_and_a_disk_and_a_trace_are_explained(tmp_path):
    asked = {"requests": 300, "workers": 2}
    keys = {"device.member.blocks_per_plane": 64, "workload.requests": 300}
    why = found("agrawal2008-array-6", "random-write", keys, asked)
    tried_ = {row.change.name for row in [*why.rows, *why.left_out]}
    assert {"larger chunks", "smaller chunks", "members clean in turn"} <= tried_
    zones = found(
        "wd-zn540", "random-read", {"device.adapt": "log", "workload.requests": 300}, asked
    )
    assert "twice the channels" in {row.change.name for row in zones.rows}
    disk = found("sata-2008", "random-read", {"workload.requests": 300}, asked)
    assert "15,000 rpm" in {row.change.name for row in disk.rows}
    trace = tmp_path / "t.csv"
    at = 128166372003061629
    kinds = ("Write", "Read")
    lines = [
        f"{at + 1000 * i},h,0,{kinds[i % 2]},{4096 * (i * 37 % 500)},4096,0" for i in range(600)
    ]
    trace.write_text("\n".join(lines) + "\n")
    why = tried(layers_of(trace=trace, set={"device.blocks_per_plane": 64}), **asked)
    assert why.plan.requests == 300 and len(why.rows) >= 8
    assert math.isfinite(why.before)


def test_what_gains_nothing_at_first_is_given_up():
    assert intervals.gain([-0.5], 16).is_dropped and not intervals.gain([0.5], 16).is_dropped
    assert intervals.gain([0.02, 0.0], 16).is_dropped
    assert not intervals.gain([0.02, 0.02], 16).is_dropped
    assert intervals.gain([0.02, 0.02, 0.01, 0.03], 16).is_hopeless
    assert not intervals.gain([0.1, -0.02, 0.1, 0.1], 16).is_hopeless
    device, workload, keys, asked, _ = HELPED["cleaning that blocks"]
    why = found(device, workload, keys, asked | {"own": ["workload.outstanding=128"]})
    dropped = [row for row in why.rows if row.verdict == intervals.DROPPED]
    assert dropped and all(row.gain.seeds <= 2 for row in dropped)
    assert "not pursued" in str(why)
    own = next(row for row in why.rows if row.change.group == "yours")
    assert own.gain.mean < 0 and own.gain.seeds >= 4, "what the user names is pursued to the end"
