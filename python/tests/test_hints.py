"""Hints of messages are tried: each leads to a command that is taken.

Every place of the sources that asks "did you mean" has a command that provokes the question, and
the same command with what was meant succeeds. What a command answers to the options of other
programs is tried for all of them. Options, keys and commands in messages are looked up.
"""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import click
import pytest

from ssdlab import _core, catalogue, trace
from ssdlab._core import InputError
from ssdlab.cli import elsewhere
from ssdlab.cli.group import COMMANDS, cli
from ssdlab.running import Experiment

ROOT = Path(__file__).parents[2]
MEANT = re.compile(r"did you mean (.*?)\?", re.DOTALL)

FILES = {
    "job.fio": "[a]\nrw=randread\nsize=64m\nnumber_ios=9\nWRONG=4k\n",
    "mix.toml": '[workload]\nkind = "mix"\nrequests = 9\n[[workload.streams]]\nkind = "closed"\n'
    "WRONG = 2\n",
    "whole.toml": "[WRONG]\nchannels = 4\n",
    "part.toml": "[device]\nWRONG = 4\n",
    "table.csv": "ts,lba,len,rw\n0,8,4096,R\n5,16,4096,W\n",
    "bare.csv": "0,8,4096,R\n5,16,4096,W\n",
}

#: Where the question is asked; a command, or what is done before it and the command; and what is
#: wrong in it, or in the file that it names.
TABLE = Path(__file__).with_name("hints.tsv")
PROVOKED = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]


@pytest.mark.parametrize(("place", "asked", "wrong"), PROVOKED)
def test_what_was_meant_is_taken(place, asked, wrong, ssdlab, tmp_path):
    def given(word):
        for name, text in FILES.items():
            (tmp_path / name).write_text(text.replace("WRONG", word))
        return [it.replace("WRONG", word) for it in shlex.split(asked.rpartition(" ; ")[2])]

    if " ; " in asked:
        assert ssdlab(*shlex.split(asked.partition(" ; ")[0])).returncode == 0
    done = ssdlab(*given(wrong))
    assert done.returncode == 2, done
    meant = MEANT.search(done.stderr)
    assert meant, done.stderr
    for word in re.split(r",? or |, ", " ".join(meant[1].split())):
        again = ssdlab(*given(word.strip('"')))
        assert again.returncode == 0, (word, again.stderr)


def sources():
    """The files of the sources that make messages, by their name after the crate or `python`."""
    for path in [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/ssdlab/**/*.py")]:
        if "tests" not in path.stem:
            text = path.read_text(encoding="utf-8")
            yield "/".join(path.relative_to(ROOT).parts[1:]), text.partition("mod tests {")[0]


def test_every_place_that_asks_is_provoked():
    asking = {
        name
        for name, text in sources()
        for line in text.splitlines()
        if "did you mean" in line and not re.match(r"\s*(assert|//|#|\(\")", line)
    }
    assert asking == {*UNPROVOKED, *(place for place, _, _ in PROVOKED)}


#: Questions that are not provoked here: options of a trace are keywords of a function, an order is
#: answered with its form, and a sheet that is right takes seconds.
UNPROVOKED = {
    "lab/src/trace.rs",
    "lab/src/faults/order.rs",
    "ssdlab/datasheet/given.py",
    "ssdlab/device/sheet.py",
}


def test_what_was_meant_by_an_option_of_a_function_is_taken(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text(FILES["bare.csv"])
    columns = "time=1:us,offset=2:sectors,size=3,op=4"
    with pytest.raises(InputError) as refused:
        trace.info(path, format="csv", colums=columns)
    meant = MEANT.search(str(refused.value))[1].removeprefix("workload.")
    assert trace.info(path, format="csv", **{meant: columns})["requests"] == 2


def commands(group=cli, path=()):
    """Every command, with its words."""
    for name in COMMANDS if group is cli else group.commands:
        command = cli.get_command(None, name) if group is cli else group.commands[name]
        yield (*path, *name.split()), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize(
    ("asked", "said", "instead"),
    [
        ("run --gc greedy", "cleaning.policy=VALUE", "run --show --set cleaning.policy=greedy"),
        ("sweep --seeds 3", "use --repeat",
         "sweep --quiet --repeat 3 --set workload.requests=9 --vary device.channels=8"),
        ("run --zrwa 8", "zrwa.resources=VALUE",
         "run --show --device wd-zn540 --set zrwa.resources=8"),
        ("run --plp true", "device.buffer.power_loss_protected=VALUE",
         "run --show --device tlc-enterprise --set device.buffer.power_loss_protected=true"),
        ("run --invalid 3", "called superseded here", "run --show"),
    ],
)  # fmt: skip
def test_what_other_programs_call_it_leads_to_a_command_that_runs(asked, said, instead, ssdlab):
    done = ssdlab(*shlex.split(asked))
    assert done.returncode == 2 and said in done.stderr, done.stderr
    done = ssdlab(*shlex.split(instead))
    assert done.returncode == 0, done.stderr


def options_of(command):
    return {it for each in command.params for it in (*each.opts, *each.secondary_opts)}


KEYS = set(catalogue.list("keys"))


def hints():
    """The answers of each command to options of other programs, and to words for keys."""
    words = {*elsewhere.OPTIONS, *(f"--{it}" for it in elsewhere.KEYS)}
    words |= {f"--{row[0].replace(' ', '-')}" for row in _core.synonyms()}
    names = {f"--{key.rpartition('.')[2]}" for key in KEYS}
    for path, command in commands():
        if not hasattr(command, "commands"):
            context = click.Context(command)
            asked = words | names if path == ("run",) else words
            for word in sorted(asked - options_of(command)):
                if said := elsewhere.option(word, command, context):
                    yield path, command, word, said


def said_of(key):
    """The refusal of a value that fits no key but one of words; empty if this is one."""
    try:
        Experiment(set={key: "VALUE"}).to_dict()
    except InputError as error:
        return str(error)
    return ""


def test_options_of_other_programs_are_answered_with_what_is_taken(ssdlab, monkeypatch):
    # The lists of the engine are the same for each of the thousands of words.
    monkeypatch.setattr(_core, "list", cache(_core.list))
    asked = set()
    for path, command, word, said in hints():
        if option := re.match(r"use (--[a-z-]+)", said):
            assert option[1] in options_of(command), (path, word, said)
        asked |= {key for key in re.findall(r"--set ([a-z_.]+)=VALUE", said)}
        asked |= {f"`{it}" for it in re.findall(r"`ssdlab (keys [^`]*)`", said)}
    assert "cleaning.policy" in asked and "`keys gc" in asked
    assert "unknown key" in said_of("cleaning.polecy")
    for key in sorted(asked):
        if key.startswith("`"):
            done = ssdlab(*shlex.split(key[1:]))
            assert done.returncode == 0, (key, done.stderr)
        else:
            said = said_of(key)
            assert "unknown key" not in said or "of kind" in said, said
            assert "could be" not in said, said


#: In Rust, what stands in quotes; in both, how messages name a command and an option.
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.|\\\n)*)"')
NAMED = re.compile(r"`ssdlab ([a-z][^`]*)`")


def texts():
    """The texts in the sources: of Python with X for what is put in."""
    for name, text in sources():
        if name.endswith(".rs"):
            code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
            for said in QUOTED.findall(code):
                yield name, re.sub(r"\\\n\s*", "", said)
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.JoinedStr):
                parts = [it.value if isinstance(it, ast.Constant) else "X" for it in node.values]
                yield name, "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield name, node.value


def test_commands_in_messages_have_options_that_there_are():
    known = {" ".join(path): command for path, command in commands()}
    found = 0
    for place, text in texts():
        for said in NAMED.findall(text):
            words = said.split()
            path = next((p for p in (" ".join(words[:2]), words[0]) if p in known), None)
            assert path is not None, (place, said)
            for option in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", said):
                assert option in options_of(known[path]) | {"--help"}, (place, said)
            found += 1
    assert found > 60
