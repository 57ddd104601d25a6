"""The page of the founding works: its commands exist, and every study of theirs is on it."""

import re
import shlex
from pathlib import Path

import pytest

from ssdlab import Experiment
from ssdlab.calibration import recipes
from ssdlab.cli.group import COMMANDS
from ssdlab.paper import ITEMS
from ssdlab.paper.command import paper

PAGE = Path(__file__).parents[2] / "docs" / "founders.md"
COMMAND = re.compile(r"`(ssdlab [^`]+)`")
#: Studies of the three works begin with their authors.
AUTHORS = ("Agrawal et al. 2008", "Gray and Fitzgerald 2008", "El Maghraoui et al. 2010")


def commands():
    return sorted(set(COMMAND.findall(PAGE.read_text())))


def given(words, option):
    """The values of an option that may be given several times."""
    return [after for word, after in zip(words, words[1:], strict=False) if word == option]


@pytest.mark.parametrize("command", commands())
def test_a_command_exists(command):
    name, *words = shlex.split(command)[1:]
    assert name in COMMANDS
    if name == "paper":
        options = {it for option in paper.params for it in option.opts}
        assert words
        for word in words:
            assert word in (options if word.startswith("-") else ITEMS), word
    elif name == "run" and not words[0].endswith(".parv"):
        keys = dict(it.split("=", 1) for it in given(words, "--set"))
        assert Experiment(device=given(words, "--device")[0], set=keys).to_dict()
    elif name == "compare":
        for device in words[:2]:
            load = given(words, "--workload")[0]
            assert Experiment(device=device, workload=load).to_dict()
    elif name == "calibrate":
        assert given(words, "--recipe")[0] in recipes.NAMES


def test_every_study_of_the_founding_works_is_on_the_page():
    named = {word for command in commands() for word in shlex.split(command)[2:]}
    theirs = {name for name, module in ITEMS.items() if module.SUMMARY.startswith(AUTHORS)}
    assert len(theirs) > 15
    assert not theirs - named


def test_what_is_missed_there_is_said():
    """Each study of these works with rows that are not reproduced is among the reasons."""
    text = PAGE.read_text().partition("## Not reproduced")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        what, why = (it.strip() for it in row.strip("|").split("|"))
        assert what and len(why.split()) > 5, row
