"""An option that takes one value is refused where it is given twice: the last one wins nowhere."""

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
    assert len(EVERY) > 25 and len(ONCE) > 150
    assert [words for words, command in EVERY if not isinstance(command, ExamplesFirst)] == []
    assert {name for _, name in (it.values for it in ONCE)} >= {"--drive", "--trace", "--device"}


@pytest.mark.parametrize(("words", "option"), ONCE)
def test_an_option_of_one_value_is_refused_the_second_time(words, option, capsys):
    assert main([*words, option, "1", option, "2"]) == 2
    said, called = capsys.readouterr(), " ".join(["ssdlab", *words])
    assert said.out == ""
    assert said.err == (
        f"ssdlab: {option} takes one value, and is given 2: 1 and 2 (see {called} --help)\n"
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
