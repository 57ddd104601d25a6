"""What click would take in silence: a second value, an empty one, no number; and wrong hints."""

import re

import pytest
from commands import EVERY

from ssdlab.cli import main
from ssdlab.cli.options import ExamplesFirst, takes_one_value

ONCE = [
    pytest.param(words, name, id=" ".join([*words, name]))
    for words, command in EVERY
    for param in command.params
    if takes_one_value(param)
    for name in param.opts
]


def test_every_command_is_looked_at():
    assert len(EVERY) > 25 and len(ONCE) > 150 and len(FLOATS) >= 20
    assert [words for words, command in EVERY if not isinstance(command, ExamplesFirst)] == []
    assert {name for _, name in (it.values for it in ONCE)} >= {"--capacity", "--trace", "--device"}


@pytest.mark.parametrize(("words", "option"), ONCE)
def test_an_option_of_one_value_is_refused_the_second_time(words, option, capsys):
    assert main([*words, option, "1", option, "2"]) == 2
    said, called = capsys.readouterr(), " ".join(["ssdlab", *words])
    assert said.out == ""
    both = "; ssdlab compare 1 2 runs them side by side"
    more = both if ([*words], option) == (["run"], "--device") else ""
    assert said.err == (
        f"ssdlab: {option} takes one value, and is given 2: 1 and 2{more} (see {called} --help)\n"
    )


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["run", "--seed=1", "--quiet", "--seed", "1"], "--seed takes one value, and is given 2"),
        (["run", "--device", "a", "--device=b", "--device", "c"], "is given 3: a and b and c"),
        (["crash", "--controls", "a", "--controls"], "is given 2: a and no value"),
        (["trace", "head", "f", "-n", "1", "-n2"], "-n takes one value, and is given 2: 1 and 2"),
    ],
)  # fmt: skip
def test_the_values_are_named(words, values, capsys):
    assert main(words) == 2
    assert values in capsys.readouterr().err


def test_flags_and_lists_may_be_given_again(ssdlab, small_options):
    twice = ["--quiet", "--quiet", "--check", "--check", *small_options]
    done = ssdlab("run", *twice, "--set", "device.channels=2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


FLOATS = [
    pytest.param(words, param.opts[-1], id=" ".join([*words, param.opts[-1]]))
    for words, command in EVERY
    for param in command.params
    if param.type.name == "float" or param.type.name == "float range"
]
#: What commands need besides the option under test.
NEEDED = {
    ("catalogue", "add"): ["samsung-pm9a3", "--price", "140"],
    ("calibrate",): ["t"],
    ("choose",): ["--trace", "t"],
    ("plan",): ["--trace", "t"],
    ("cost",): ["out"],
    ("crash",): ["--app", "sqlite"],
    ("serve", "ctl"): ["s", "stats"],
    ("serve", "overhead"): ["f.json"],
    ("retention",): ["tlc-client", "--for", "1y"],
    ("placement",): ["--trace", "t"],
    ("reliability",): ["agrawal2008-array-6"],
    ("serve",): ["--socket", "s"],
    ("size",): ["--trace", "t", "--p99", "2ms"],
    ("trace", "convert"): ["t", "out.csv"],
    ("trace", "head"): ["t"],
    ("trace", "info"): ["t"],
}


@pytest.mark.parametrize(("words", "option"), FLOATS)
def test_what_is_not_a_number_is_refused(words, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*words, *NEEDED[words], option, "nan"]) == 2
    said = capsys.readouterr().err
    assert f"{option} nan: is not a number" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--out", ""], "--out has an empty value"),
        (["run", "--out="], "--out has an empty value"),
        (["run", ""], "EXPERIMENT is empty"),
        (["report", "a", "", "--out", "r.html"], "RESULTS is empty"),
        (["trace", "info", ""], "FILE is empty"),
        (["size", "--trace", "", "--p99", "2ms"], "--trace has an empty value"),
    ],
)
def test_an_empty_path_is_not_the_current_directory(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["qqq"], 'there is no command "qqq"; commands: ask, cache, calibrate, catalogue, choose'),
        (["runn"], 'there is no command "runn"; did you mean run? (see ssdlab --help)'),
        (["Run"], "did you mean run?"),
        (["trace", "inf", "t"], "did you mean info?"),
        (
            ["device", "qqq"],
            "commands: check, compare-sheets, from-datasheet, show (see ssdlab device --help)",
        ),
    ],
)
def test_an_unknown_command_is_answered_with_those_that_are(words, said, capsys):
    assert main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("group", [[], ["trace"], ["device"]], ids=" ".join)
def test_a_group_alone_shows_its_help(group, capsys):
    assert main(group) == 0
    alone = capsys.readouterr()
    assert main([*group, "--help"]) == 0
    assert alone == capsys.readouterr() and "Examples:" in alone.out and alone.err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "tlc-client"], "the preset of a device is given as --device tlc-client"),
        (["sweep", "mixed"], "the preset of a workload is given as --workload mixed"),
        (["run", "--device", "pm9a3"], "(did you mean samsung-pm9a3?)"),
        (["run", "--device", "samsung-980pr"], "of that name (did you mean samsung-980pro?); "),
        (["run", "--device", "7450"], "(did you mean micron-7450-max or micron-7450-pro?)"),
        (["size", "--trace", "t", "--p99", "2ms", "--device", "no"], "--device no: there is no"),
        (["endurance", "no", "--class", "enterprise"], "DEVICE no: there is no device preset"),
        (["reliability", "no"], "no: there is no device preset"),
        (["device", "show", "no"], "ssdlab: device no: there is no device preset"),
        (["compare", "a", "b", "--workers", "0"], "--workers 0: at least 1"),
        (["endurance", "null"], "Missing option '--class'. Choose from: client, enterprise (see"),
        (["cost", "a", "--need", "p99=20"], '--need p99 = "20": a time has a unit, as in "80us"'),
        (["trace", "info", "t", "--requests", "-1"], "'--requests': -1 is not in the range x>=0"),
        (["size", "--trace", "t", "--p99", "2ms", "--years", "inf"], "--years inf: more than 0"),
        (["view", "--beside", "a=1"], "ssdlab: --beside a=1: unknown key"),
        (
            ["view", "--beside", "device.channels=x"],
            "--beside device.channels=x: device.ch",
        ),
        (["view", "--record", "r.html", "--last", "0s"], "--last 0s: a recording takes some time"),
        (["paper", "gray", *["--input", "disks=60"] * 2], "disks is given twice; keep one"),
        (["run", "--json", "x.parquet", "--requests", "./x.parquet"], "--json and --requests are"),
        (["sweep", "--out", "a.csv", "--json", "a.csv"], "--out and --json are both written to"),
        (["size", "--trace", "t", "--out=a.toml", "--json=a.toml"], "give each its own file"),
        (["report", "no", "--out", "r.html"], "ssdlab: no: cannot be read: No such file"),
    ],
    ids=lambda it: " ".join(it) if isinstance(it, list) else "",
)
def test_a_message_names_what_was_given_and_what_to_write(
    words, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text("0.5 0 0 8 1\n1.5 0 8 8 1\n")
    assert main(words) == 2
    message = capsys.readouterr().err
    assert said in message and message.count("\n") == 1


def test_a_timeline_without_operations_is_said(ssdlab, small_options):
    done = ssdlab("run", *small_options, "--timeline", "100s..200s")
    assert done.returncode == 0
    assert re.search(r"--timeline 100s..200s: there were no .*; the run took 0\.\d+ s", done.stderr)
    assert ssdlab("run", *small_options, "--timeline", "1ms..2ms").stderr == ""


def test_a_number_that_no_file_can_hold_is_refused(refused, tmp_path):
    (tmp_path / "e.toml").write_text("[workload]\nrequests = 18_446_744_073_709_551_615\n")
    said = "workload.requests = 18446744073709551615: a whole number is at most 9223372036854775807"
    words = ["--set", "workload.requests=18446744073709551615", "--set", "run.until=1ms"]
    assert said in refused("run", *words)
    assert "e.toml:2: workload.requests = " in refused("run", "e.toml")
    assert "run.seed = 9223372036854775808: a whole" in refused("run", "--seed", 2**63)


def test_a_trace_without_requests_says_so(ssdlab, tmp_path):
    (tmp_path / "t").write_text("0.5 0 0 8 1\n1.5 0 8 8 1\n")
    assert "no request was read" in ssdlab("trace", "info", "t", "--devices", "7").stdout
    assert "no request was read" not in ssdlab("trace", "info", "t").stdout
