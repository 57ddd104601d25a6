"""One vocabulary at the terminal: the same words everywhere, and answers to those of others."""

import re

import click
import pytest
from commands import EVERY

from ssdlab.cli import elsewhere, group, main

#: Commands whose only output is a file or a text without a table.
WITHOUT_QUIET = {"report", "schema"}
COMMANDS = {
    " ".join(words): command for words, command in EVERY if not isinstance(command, click.Group)
}


def options(command):
    return {opt for param in command.params for opt in param.opts}


def test_every_command_can_be_quiet():
    assert {name for name, it in COMMANDS.items() if "--quiet" not in options(it)} == WITHOUT_QUIET


def test_a_worker_is_called_a_worker_everywhere():
    # The jobs of pts are fio's.
    assert {name for name, it in COMMANDS.items() if "--jobs" in options(it)} == {"pts"}
    named = {name for name, it in COMMANDS.items() if "--workers" in options(it)}
    assert {"compare", "crash", "sweep"} <= named


#: Options whose value is not the same in every command, and what says which.
SEVERAL_VALUES = {
    "--check": "a flag; the command that checks an image after a crash",
    "--for": "how long data are kept; the figure that why improves",
    "--format": "names of the command's own formats",
    "--measured": "a file of measurements; the folder of fio's results",
    "--need": "amounts by their names; ask takes words",
    "--json": "schema and keys print JSON alone",
    "--out": "what the command makes",
    "--price": "of the drive that is added; of a drive among several",
    "--record": "what the command makes",
    "--requests": "how many; run writes a table of each",
    "--zones": "a flag; how many zones of a disk are measured",
}


def test_a_device_has_one_name_everywhere():
    """What simulates a device of the user's choice calls it `--device`, in Python's words too."""
    assert not any("--drive" in options(it) for it in COMMANDS.values())
    named = {name for name, it in COMMANDS.items() if "--device" in options(it)}
    assert {"run", "why", "compare", "size", "choose", "sweep", "view"} <= named
    said = {opt.help for it in COMMANDS.values() for opt in it.params if "--device" in opt.opts}
    assert all(said)


def test_an_option_takes_the_same_everywhere():
    values = {}
    for command in COMMANDS.values():
        for param in command.params:
            if isinstance(param, click.Option):
                kind = "flag" if param.is_flag else param.metavar
                values.setdefault(param.opts[-1], set()).add(kind)
    assert {name for name, kinds in values.items() if len(kinds) > 1} == set(SEVERAL_VALUES)


def test_every_command_that_prepares_drives_can_do_so_anew():
    prepares = {
        "run", "why", "compare", "sweep", "size", "choose", "ask", "plan", "consolidate", "protect",
        "endurance", "cliff", "retention", "pts",
    }  # fmt: skip
    assert {name for name, it in COMMANDS.items() if "--no-cache" in options(it)} == prepares


@pytest.mark.parametrize("command", ["size", "choose"])
def test_a_drive_is_answered_with_the_device(command, capsys):
    assert main([command, "--trace", "t", "--drive", "null"]) == 2
    assert "there is no option --drive: use --device" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["list", "devices"], ["show", "greedy"], ["keys", "iodepth"]])
def test_what_looks_up_answers_quietly_with_its_status(ssdlab, words):
    assert (ssdlab(*words).stdout != "", ssdlab(*words, "--quiet").stdout) == (True, "")
    wrong = ssdlab(words[0], "--quiet", "nothing-is-called-so")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize(
    "words",
    [
        ["device", "show", "agrawal2008"],
        ["trace", "head", "t", "--format", "disksim"],
        ["paper", "gray"],
    ],
)
def test_tables_are_left_out(ssdlab, tmp_path, words):
    (tmp_path / "t").write_text("0 0 0 8 1\n")
    loud, quiet = ssdlab(*words), ssdlab(*words, "--quiet")
    assert loud.returncode == quiet.returncode
    assert (loud.stdout != "", quiet.stdout, quiet.stderr) == (True, "", "")


def test_a_device_is_an_argument_or_an_option(ssdlab, refused):
    either = [["agrawal2008"], ["--device", "agrawal2008"]]
    first, second = (ssdlab("device", "show", *words).stdout for words in either)
    assert first == second != ""
    for words in (["device", "show"], ["endurance", "--class", "enterprise"], ["reliability"]):
        assert "missing" in refused(*words)
        assert "a and b; give one" in refused(*words, "a", "--device", "b")


# What other programs call it


@pytest.mark.parametrize("word", elsewhere.COMMANDS)
def test_every_answer_names_a_command_that_there_is(word, capsys):
    """And no word that is one now is answered as if it were absent."""
    assert word not in group.COMMANDS
    assert main([word]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'ssdlab: there is no command "{word}"; ') and said.count("\n") == 1
    named = [part.split("`")[0].split() for part in said.split("`ssdlab ")[1:]]
    assert named
    for first, *rest in named:
        if first.startswith("--"):
            continue
        command = group.cli.get_command(click.Context(group.cli), first)
        assert command is not None, f"{word}: there is no command {first}"
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), rest[0])
        known = options(command) | {"--help"}
        assert {it for it in rest if it.startswith("--")} <= known, word


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["run", "-o", "x"], "there is no option -o: use --out (see ssdlab run --help)"),
        (["run", "-q"], "use --quiet"),
        (["run", "--dry-run"], "use --show"),
        (["sweep", "--dry-run"], "use --check"),
        (["run", "--csv", "x"], "`ssdlab sweep --out FILE.csv`"),
        (["run", "--duration", "3"], "use --set run.until=VALUE"),
        (["run", "--qd", "4"], "use --set workload.outstanding=VALUE"),
        (["compare", "a", "b", "--iodepth=4"], "use --set workload.outstanding=VALUE"),
        (["run", "--block-size", "4k"], "use --set workload.block_size=VALUE"),
        (["crash", "--jobs", "2"], "use --workers"),
        (["sweep", "-j2"], "use --workers"),
        (["run", "--workers", "2"], "use --threads"),
        (["run", "--sed", "4"], "did you mean"),
        (["schema", "--nothing-like-it"], "there is no option --nothing-like-it (see"),
        (["run", "tlc-enterprise"], "--device tlc-enterprise"),
        (["lsit"], "did you mean list?"),
        (["sweep", "--vary", "device.channels=2-16"], "2-16 is no range; write 2..16"),
        (["sweep", "--vary", "buffer.size=4KiB-1MiB"], "write 4KiB..1MiB"),
    ],
)
def test_what_people_type_is_answered_with_what_there_is(words, answer, capsys):
    assert main(words) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert answer in said.err


@pytest.mark.parametrize("word", elsewhere.OPTIONS)
def test_no_answer_for_an_option_that_is_there(word):
    """`--workers` is answered in the commands without it, and is an option of others."""
    for name, command in COMMANDS.items():
        here = elsewhere.option(word, command, click.Context(command))
        if here is not None and here.startswith("use --") and word not in options(command):
            assert here.split()[1] in options(command), name


def test_the_help_has_every_command_in_a_group(ssdlab):
    said = ssdlab("--help-all").stdout
    for name, places in (group.GROUPS | {group.SERVED: group.BELOW}).items():
        assert f"\n{name}:\n" in said
        for command, place in places.items():
            assert re.search(rf"^  {command} +{re.escape(place.summary)}$", said, re.M)
            assert place.summary[0].islower() or place.summary.startswith("the JSON")
            assert len(place.summary) <= 64


def options_shown(said):
    """The options that a help lists, by their last spelling."""
    return {it.split(", ")[-1] for it in re.findall(r"^  (-[-\w]+(?:, -[-\w]+)*)", said, re.M)}


@pytest.mark.parametrize(("words", "of"), EVERY, ids=[" ".join(it) or "-" for it, _ in EVERY])
def test_a_help_is_a_screen_and_all_of_it_is_a_word_away(words, of, ssdlab):
    short = ssdlab(*words, "--help").stdout
    every = ssdlab(*words, "--help-all").stdout
    assert len(short.splitlines()) <= 44
    if of.examples:
        assert short.index("Examples:") < short.index("Options:")
    known = {it.opts[-1] for it in of.params if isinstance(it, click.Option) and not it.hidden}
    always = {"--help", "--help-all"}
    assert options_shown(every) == known | always
    assert options_shown(short) <= known | always and options_shown(short) >= always
    examples = " ".join(line for _, line in of.examples[:3])
    used = known & set(re.findall(r"(?<=\s)--?[a-z][-a-z]*", examples))
    assert used <= options_shown(short)


@pytest.mark.parametrize(("old", "new"), group.RENAMED.items())
def test_an_old_name_of_a_command_answers_with_the_new_one(old, new, ssdlab):
    done = ssdlab(old, "--help")
    assert done.stdout == ssdlab(*new.split(), "--help").stdout
    assert done.stderr == f"ssdlab: `ssdlab {old}` is now `ssdlab {new}`\n"
