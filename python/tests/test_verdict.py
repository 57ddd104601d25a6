"""The verdict of a run: a cause is found where it is the cause, and what is advised was tried."""

import json
import os
import re
import shlex
import subprocess

import pytest

import ssdlab
from ssdlab import Results
from ssdlab.results.verdict import RULES, Verdict, verdict
from ssdlab.running import advice, command, layers_of

SMALL = {"device.blocks_per_plane": 64, "workload.requests": 6000}
CLEANING = SMALL | {"run.precondition": "random:1", "workload.read_share": 0.5}
CLOSED = {"workload.kind": "closed", "workload.requests": 4000, "workload.read_share": 1.0}
WRITES = CLOSED | {"workload.read_share": 0.0}
TLC = {"device": "tlc-client"}

#: An experiment for each cause: the arguments of `run`, the settings, what the verdict says.
CAUSES = {
    "cleaning": (
        {},
        CLEANING | {"device.cleaning.time": "blocking"},
        r"^Cleaning limits this drive: \d+\u202f% of the mean latency .*ms. is waiting",
    ),
    "cleaning, that yields": (
        {},
        CLEANING | {"workload.read_share": 0.0, "workload.time_scale": 0.6},
        "^Cleaning (limits|is the main limit of) this drive",
    ),
    "host_link": (
        {},
        SMALL | CLOSED | {"device.host_link.bandwidth": "20MB/s", "workload.outstanding": 8},
        "^The host link limits this drive: ",
    ),
    "host_queue": (
        {},
        SMALL | CLOSED | {"device.host_link.queue_depth": 2, "workload.outstanding": 16},
        "^The queue depth of 2 limits this drive: ",
    ),
    "outstanding": (
        {},
        SMALL | CLOSED | {"workload.outstanding": 1},
        "^The host limits this drive: with one request outstanding its packages are .* idle",
    ),
    "buffer": (
        TLC,
        WRITES | {"workload.outstanding": 128, "workload.requests": 20_000},
        "^The write buffer limits this drive: ",
    ),
    "busy_units": (
        {},
        SMALL | CLOSED | {"workload.outstanding": 64},
        "^The packages limit this drive: they are 9.* busy",
    ),
    "busy_units, met by chance": (
        {},
        SMALL | {"workload.read_share": 1.0, "workload.time_scale": 0.18},
        "^Requests compete for the same packages",
    ),
    "buses": (
        {},
        SMALL
        | {"workload.read_share": 1.0, "workload.time_scale": 4.0}
        | {"workload.kind": "closed", "workload.outstanding": 1, "device.channels": 1}
        | {"device.dies_per_package": 1},
        "^Transfers are the largest part of a request: |^The buses limit this drive: ",
    ),
    "cells": (
        {},
        SMALL
        | WRITES
        | {"workload.outstanding": 1, "device.channels": 1, "workload.requests": 1500},
        "^The flash cells are the bottleneck: .* programming them",
    ),
    "nothing": (
        {},
        SMALL | {"workload.read_share": 1.0, "workload.time_scale": 8.0},
        r"^Below saturation: the mean latency is \d+\u202fµs, 1\..* The slowest 1\u202f% of reads ",
    ),
}


def ran(arguments, settings):
    """The results of one small run."""
    if settings.get("workload.kind") == "closed":
        settings = {k: v for k, v in settings.items() if k != "workload.time_scale"}
    return ssdlab.run(**arguments, set=settings)


def tried(arguments, settings, results, found=None):
    """What is advised after a run of `ran`."""
    if settings.get("workload.kind") == "closed":
        settings = {k: v for k, v in settings.items() if k != "workload.time_scale"}
    layers = layers_of(None, **arguments, set=settings)
    return advice.tried(results, found or verdict(results), layers)


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_is_found_and_what_is_advised_helps_in_a_longer_run_too(cause):
    arguments, settings, says = CAUSES[cause]
    before = ran(arguments, settings)
    found = verdict(before)
    assert found.name == cause.partition(",")[0], (found, before.host.all.breakdown_us)
    assert re.search(says, found.sentence), found.sentence
    said = found.sentence + found.why
    assert not re.search(r"\b([Tt]ry|more spare|deeper)\b", said), "untried: a cause alone"
    if found.name == "nothing":
        assert found.changes == () and tried(arguments, settings, before) is None
        return
    helped = tried(arguments, settings, before)
    assert helped is not None and helped.change in found.changes
    key, _, value = helped.change.partition("=")
    longer = settings | {"workload.requests": 2 * settings["workload.requests"]}
    before, after = ran(arguments, longer), ran(arguments, longer | {key: _parsed(value)})
    gains = advice.helps(before, after)
    assert gains, (helped, before.host.all, after.host.all)
    best = max(helped.gains, key=lambda figure: helped.gains[figure])
    assert gains[best] > max(advice.LEAST, helped.gains[best] ** 0.3), (helped.gains, gains)


#: The load of the demo, on a drive that cleans in bursts and is small enough for a test.
BURSTS = (
    {"device": "tlc-enterprise", "workload": "ssdiq-load"},
    {"run.precondition": "random:1", "device.cleaning.pace": "burst"}
    | {"device.blocks_per_plane": 114, "device.capacity": "117200000KiB"}
    | {"workload.requests": 60_000},
)


def test_a_change_that_makes_it_worse_is_not_advised():
    arguments, settings = BURSTS
    before = ran(arguments, settings)
    found = verdict(before)
    token, spare = found.changes
    assert found.name == "cleaning" and token == "device.cleaning.pace=token"
    assert spare.startswith("device.capacity="), "more spare space is a candidate too"
    helped = tried(arguments, settings, before)
    assert helped.change == token and helped.gains["p99"] > 3, helped
    after = ran(arguments, settings | {"device.cleaning.pace": "token"})
    assert after.host.all.percentiles_us["99"] < before.host.all.percentiles_us["99"] / 3
    # With that done already, or where nothing helps, the cause stands alone.
    same = Verdict("cleaning", "", "", ("device.cleaning.pace=burst",))
    assert tried(arguments, settings, before, same) is None
    worse = Verdict("cleaning", "", "", ("device.timing.program=4ms",))
    assert tried(arguments, settings, before, worse) is None


def test_a_trial_is_cut_by_counts_and_not_by_the_clock():
    arguments, settings, _ = CAUSES["host_link"]
    results = ran(arguments, settings)
    assert advice.plan(results, ["a=1"]).shortened == ()
    data = json.loads(results.to_json())
    data["host"]["all"]["requests"] = 50_000_000
    long = Results(data)
    one, two = (advice.plan(long, ["a=1", "b=2"][:count]) for count in (1, 2))
    counts = [int(it.shortened[-1].removeprefix("workload.requests=")) for it in (one, two)]
    assert 3 * counts[1] == pytest.approx(2 * counts[0], rel=0.1)
    each = advice.PER_OPERATION * counts[0]
    assert each < advice.SECONDS / 2
    # No time for both: the first is tried. None for one, or no number to cut: none.
    data["experiment"]["run"]["precondition"] = "random:3"
    data["capacity_bytes"] = 7 * 10**6 * 4096
    long = Results(data)
    assert advice.plan(long, ["a=1", "b=2"]).changes == ("a=1",)
    assert advice.plan(long, ["a=1"]).shortened[0] == "run.precondition=random:1"
    data["capacity_bytes"] = 10**12
    assert advice.plan(Results(data), ["a=1"]) is None
    data["capacity_bytes"] = 10**9
    del data["experiment"]["workload"]["requests"]
    assert advice.plan(Results(data), ["a=1"]) is None


def test_a_key_that_the_device_does_not_have_is_not_tried():
    arguments, settings, _ = CAUSES["host_link"]
    results = ran(arguments, settings)
    wrong = Verdict("host_link", "", "", ("device.member.channels=3", "device.gang=none"))
    assert tried(arguments, settings, results, wrong) is None


def _parsed(value):
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def test_every_rule_has_a_case():
    found = {cause.partition(",")[0] for cause in CAUSES}
    named = {rule.__name__.removeprefix("_") for rule in RULES} - {"no_requests", "no_latency"}
    found = found - {"nothing"} | {"below_saturation"}
    assert found == named


def test_what_has_no_cause_is_said():
    quick = {"kind": "closed", "requests": 100}
    assert verdict(ssdlab.run(device="null", workload=quick)).name == "no_time"
    kinds = {"requests": 0, "mean_us": None, "min_us": None, "breakdown_us": {}}
    empty = Results({"host": {"all": kinds}, "experiment": {}, "warnings": []})
    assert verdict(empty).sentence == "No request completed: there is no bottleneck to find."
    disk = verdict(ssdlab.run(device="sata-2008", workload={"kind": "closed", "requests": 300}))
    assert disk.name in ("busy_units", "cell") and "disk" in disk.sentence + disk.why + "disk"
    for device in ("zeus-linear", "agrawal2008-array-6", "intel-p4800x"):
        quick = {"kind": "closed", "requests": 500, "outstanding": 16}
        assert verdict(ssdlab.run(device=device, workload=quick)).sentence.endswith(".")


def test_the_terminal_advises_what_helped_with_a_command_that_does_it(ssdlab, tmp_path):
    words = ["--set", "workload.kind=closed", "--set", "workload.read_share=1", "--seed", "3"]
    words += ["--set", "outstanding=1", "--set", "workload.requests=2k"]
    plain = ssdlab("run", *words, "--out", "out")
    assert plain.stdout.count("The host limits this drive: with one request outstanding") == 1
    assert "ssdlab run" not in plain.stdout and "Tried" not in plain.stdout, "not to a pipe"
    asked = ssdlab("run", *words, "--out", "out", "--advice")
    assert "Tried with 2,000 requests: workload.outstanding=4 gives" in " ".join(
        asked.stdout.split()
    )
    lines = asked.stdout.splitlines()
    assert "ssdlab run out/experiment.toml --set workload.outstanding=4" in lines
    # What is tried takes the place of what was said of the key, and the command is one that runs.
    alone = ssdlab("run", *words, "--advice").stdout.replace(" \\\n    ", " ").splitlines()
    (command,) = [line for line in alone if line.startswith("ssdlab run ")]
    assert "outstanding=1" not in command and command.endswith("--set workload.outstanding=4")
    more = ssdlab(*shlex.split(command)[1:], "--json", "-")
    assert json.loads(more.stdout)["experiment"]["workload"]["outstanding"] == 4
    assert "limits this drive" not in more.stdout and more.stderr == ""


def test_an_interrupted_trial_leaves_the_results(monkeypatch, capsys):
    arguments, settings, _ = CAUSES["outstanding"]
    results = ran(arguments, settings)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(advice, "tried", interrupted)
    command._advise(results, [], str)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "ssdlab: the trial of changes was interrupted\n")


def test_advice_follows_a_table_on_a_terminal(command, tmp_path):
    words = ["--set", "workload.kind=closed", "--set", "outstanding=1", "--set", "requests=2k"]
    for option, is_tried in (([], True), (["--no-advice"], False)):
        terminal, its_end = os.openpty()
        run = [*command, "run", *words, *option]
        with subprocess.Popen(run, stdout=its_end, stderr=subprocess.DEVNULL, cwd=tmp_path):
            os.close(its_end)
            shown = b""
            while True:
                try:
                    shown += os.read(terminal, 4096)
                except OSError:  # the last writer has gone
                    break
        os.close(terminal)
        assert (b"Tried with" in shown, b"Where the time goes" in shown) == (is_tried, True)


def test_advice_without_a_table_is_refused(refused):
    for words in (["--json", "-"], ["--quiet"], ["--format", "fio"]):
        assert "--advice follows the table" in refused("run", "--advice", *words)


def test_shares_of_requests_that_waited_or_met_cleaning():
    quiet = ssdlab.run(set=SMALL | CLOSED | {"workload.outstanding": 1}).host.read
    assert quiet.no_wait_share == 1 and quiet.met_cleaning_share == 0
    many = ssdlab.run(set=SMALL | CLOSED | {"workload.outstanding": 64}).host.read
    assert many.no_wait_share < 0.5 and many.met_cleaning_share == 0
    cleaning = ssdlab.run(set=CLEANING | {"device.cleaning.time": "blocking"}).host
    assert 0.1 < cleaning.all.met_cleaning_share <= 1 - cleaning.all.no_wait_share
    ops = [cleaning.read, cleaning.write]
    counted = sum(it.requests * it.met_cleaning_share for it in ops)
    assert counted == pytest.approx(cleaning.all.requests * cleaning.all.met_cleaning_share)
    assert cleaning.trim.no_wait_share is None
