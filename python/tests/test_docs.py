"""What README and the guides show is run as it stands there, Python and shell, and in this order.

A page runs in a directory of its own that holds `examples/`. Comments before a block say otherwise:

    <!-- run first: COMMAND -->       what a reader has done before
    <!-- needs: PROGRAM -->           without which the block is not run
    <!-- not run: REASON -->          neither is this block
    <!-- not run (WORDS): REASON -->  nor a line with these words
    <!-- nightly: REASON -->          it is run by `make nightly`, at full size
    <!-- after: python -->            after the Python that stands before it in the page
    <!-- printed by: COMMAND -->      each line of the block is printed by this command at full size
    <!-- printed by: python -->       by the Python of the page
    <!-- not printed: REASON -->      no command of the page prints it

A block without a language says one of the last two. In a block of `console` each line that begins
with $ prints what follows it. Of every command, also of those that are not run, the options and
values are such as it takes.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import ssdlab
from ssdlab.cli import elsewhere
from ssdlab.cli.group import COMMANDS, cli
from ssdlab.paper import ITEMS
from ssdlab.paper.command import LIVE
from ssdlab.sweeps import space, table

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "examples/traces/README.md"]
PAGES += sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))

BLOCK = re.compile(r"((?:^<!-- .* -->\n)*)^```(\w*)\n((?:.*\n)*?)^```$", re.MULTILINE)
COMMENT = re.compile(
    r"<!-- (run first|needs|not run|nightly|after|printed by|not printed)(?: \((.*?)\))?: (.*?) -->"
)
#: What prints a block in place of a command.
PYTHON = "python"
# Requests of each run: enough for every figure to exist.
REQUESTS = 2000


class Block(NamedTuple):
    """A block of a page, with what the comments before it say."""

    language: str
    text: str
    first: list[str]
    needs: list[str]
    #: Python that is run before it; empty if none is.
    python: str = ""
    nightly: bool = False
    #: The commands that print it.
    printed: tuple[str, ...] = ()

    @property
    def lacking(self):
        return [program for program in self.needs if not shutil.which(program)]


def blocks(page):
    python = ""
    for comments, language, text in BLOCK.findall((ROOT / page).read_text()):
        said = COMMENT.findall(comments)
        if any(what == "not run" and not words for what, words, _ in said):
            continue
        left_out = [words for what, words, _ in said if what == "not run"]
        for words in left_out:
            assert words in text, f"{page}: no line has {words!r}"
        if language == "sh":
            lines = text.replace("\\\n", "").splitlines()
            text = "\n".join(line for line in lines if not any(words in line for words in left_out))
        first = [command for what, _, command in said if what == "run first"]
        needs = [program for what, _, program in said if what == "needs"]
        python += text if language == "python" else ""
        after = python if ("after", "", "python") in said else ""
        nightly = any(what == "nightly" for what, _, _ in said)
        printed = tuple(command for what, _, command in said if what == "printed by")
        yield Block(language, text, first, needs, after, nightly, printed)


def written_in(language):
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


@pytest.fixture
def environment(tmp_path):
    """A directory as a reader's, and variables with which `ssdlab` is found; its runs are short:
    drives that settle before them are overwritten once.
    """
    directory, programs = tmp_path / "page", tmp_path / "bin"
    directory.mkdir()
    programs.mkdir()
    shutil.copytree(ROOT / "examples", directory / "examples")
    command = programs / "ssdlab"
    command.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "words = sys.argv[1:]\n"
        "if words[:1] in (['run'], ['sweep']):\n"
        f"    few = 'workload.requests={REQUESTS}'\n"
        "    words = [few if word.startswith('workload.requests=') else word for word in words]\n"
        "    words += [] if few in words else ['--set', few]\n"
        "    once = 'run.precondition=random:1'\n"
        "    words = [once if word == 'run.precondition=steady' else word for word in words]\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'ssdlab', *words])\n"
    )
    command.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {"cwd": directory, "env": os.environ | {"PATH": path, "NO_COLOR": "1", "COLUMNS": "200"}}


@pytest.fixture
def full(environment):
    """The same, whose runs are as long as the page says."""
    command = shutil.which("ssdlab", path=environment["env"]["PATH"])
    Path(command).write_text(f'#!/bin/sh\nexec {sys.executable} -m ssdlab "$@"\n')
    return {**environment, "env": environment["env"] | {"COLUMNS": "80"}}


def run(command, environment, timeout=300):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **environment)


def run_block(block, environment, script, timeout=300):
    if block.python:
        done = run([sys.executable, "-c", block.python], environment)
        assert done.returncode == 0, done.stderr
    done = run(["bash", "-euo", "pipefail", "-c", script], environment, timeout)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", written_in("python"))
def test_the_python_of_a_page_runs(page, environment):
    parts = [block.text for block in blocks(page) if block.language == "python"]
    (environment["cwd"] / "page.py").write_text("\n".join(parts))
    done = run([sys.executable, "page.py"], environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(parts)
    for block in blocks(page):
        assert PYTHON not in block.printed or not missing(block, done.stdout), page


@pytest.mark.parametrize("page", written_in("sh"))
def test_the_commands_of_a_page_run(page, environment):
    lacking = []
    for block in blocks(page):
        if block.language != "sh" or block.nightly:
            continue
        if block.lacking:
            lacking += block.lacking
            continue
        run_block(block, environment, "\n".join([*block.first, block.text]))
    if lacking:
        pytest.skip(f"all but the blocks that need {', '.join(lacking)}")


@pytest.mark.nightly
@pytest.mark.parametrize("page", [it for it in PAGES if any(b.nightly for b in blocks(it))])
def test_the_long_commands_of_a_page_run(page, full):
    for block in blocks(page):
        if block.nightly:
            run_block(block, full, "\n".join([*block.first, block.text]), timeout=3600)


#: How long this machine took, which no two runs have alike.
TOOK = re.compile(r"took [0-9.]+m?s, [0-9,]+ requests/s|[0-9.]+ s of processor time in [0-9.]+ s")


def words(line):
    """A line as it is compared: terminals have another sign for micro, and other spaces."""
    return " ".join(TOOK.sub("took a while", line).replace("µ", "u").split())


def missing(block, text):
    """The lines of a block that a text does not have; `...` stands for some of them."""
    printed = {words(line) for line in text.splitlines()} | {"", "..."}
    return [line for line in block.text.splitlines() if words(line) not in printed]


def printed_by_commands(nightly):
    """The blocks whose lines commands print, with their pages."""
    return [
        pytest.param(page, block, id=f"{page}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page))
        if block.printed and PYTHON not in block.printed and block.nightly == nightly
    ]


@pytest.mark.parametrize(("page", "block"), printed_by_commands(nightly=False))
def test_a_page_has_the_figures_that_its_commands_print(page, block, full):
    script = "\n".join([*block.first, *block.printed])
    assert not missing(block, run_block(block, full, script)), f"{page}: {script}"


@pytest.mark.nightly
@pytest.mark.parametrize(("page", "block"), printed_by_commands(nightly=True))
def test_a_page_has_the_figures_that_its_long_commands_print(page, block, full):
    test_a_page_has_the_figures_that_its_commands_print(page, block, full)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_console_shows_is_printed(page, full):
    for block in blocks(page):
        if block.language == "console":
            for shown in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, _, expected = shown.partition("\n")
                done = run(["bash", "-c", command], full)
                assert words(done.stdout + done.stderr) == words(expected), f"{page}: {command}"


@pytest.mark.parametrize("page", PAGES)
def test_every_output_of_a_page_says_what_prints_it(page):
    text = (ROOT / page).read_text()
    silent = [
        block
        for comments, language, block in BLOCK.findall(text)
        if not language
        and not {"printed by", "not printed"} & {it[0] for it in COMMENT.findall(comments)}
    ]
    assert not silent, page


def commands_in(page):
    """Every `ssdlab` command of a page, in blocks and within sentences."""
    text = (ROOT / page).read_text()
    for _, language, block in BLOCK.findall(text):
        if language in ("sh", "console"):
            for line in block.replace("\\\n", "").splitlines():
                yield from re.findall(r"(?:^|[;&|$(] *|&& *|\|\| *)(?:sudo )?ssdlab (.*)", line)
    yield from re.findall(r"`ssdlab ([^`\n]+)`", BLOCK.sub("", text))


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_has_options_that_there_are(page):
    for said in commands_in(page):
        name, *given = shell_words(said)
        if (both := " ".join([name, *given[:1]])) in COMMANDS:
            name, given = both, given[1:]
        if name.startswith("-") or name in elsewhere.COMMANDS:  # answered with what there is
            continue
        assert name in COMMANDS, f"{page}: ssdlab {said}"
        command = cli.get_command(None, name)
        options = known_options(command)
        for word in given:
            option = word.partition("=")[0]
            if re.fullmatch(r"--?[a-z][-a-z]*", option):
                assert option in options, f"{page}: ssdlab {said}: {option}"
        if name == "paper":
            items = [word for word in given if word in ITEMS]
            assert "--live" not in given or set(items) & set(LIVE), f"{page}: ssdlab {said}"


def shell_words(said):
    """The words of a command, up to what is of another or of the shell."""
    try:
        given = shlex.split(said, comments=True)
    except ValueError:  # a part of one, in a sentence
        given = said.split()
    is_end = [bool(re.fullmatch(r"[;&|]+|[0-9]?>.*|\)", word)) for word in given]
    return given[: is_end.index(True)] if True in is_end else given


def known_options(command):
    """The options of a command and of what it has below it."""
    found = {"--help", "--help-all", "-h"}
    for parameter in command.params:
        found |= {*parameter.opts, *parameter.secondary_opts}
    for below in getattr(command, "commands", {}).values():
        found |= known_options(below)
    return found


@pytest.mark.parametrize("page", written_in("console"))
def test_a_page_shows_what_a_command_says(page, environment):
    for block in blocks(page):
        if block.language == "console":
            command, said = re.fullmatch(r"\$ (.*?)\n(.*)", block.text, re.DOTALL).groups()
            done = run(["bash", "-c", f"{command} 2>&1"], environment)
            assert done.stdout.split() == said.split()


def test_blocks_and_their_comments_are_such_as_are_run():
    """A block without a language is text, or a command would go untested, as by a wrong comment."""
    commands = re.compile(r"^(\$ )?(ssdlab|make|pip|python3?|fio|nbd\w+|qemu-\w+) \S", re.MULTILINE)
    looked_at = 0
    for page in PAGES:
        for comments, language, text in BLOCK.findall((ROOT / page).read_text()):
            assert language in {"", "c", "console", "python", "sh", "toml"}, page
            assert language or not commands.search(text), f"{page}: {text}"
            for comment in comments.splitlines():
                assert COMMENT.fullmatch(comment), f"{page}: {comment}"
            looked_at += 1
    assert looked_at > 100


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda it: it.stem)
def test_an_example_runs(file):
    """Briefly; and every line of its comment that is a command names keys and figures there are."""
    example = ssdlab.Experiment(file).changed(set={"workload.requests": 500})
    results = example.run()
    assert results.host.all.requests == 500
    text = file.read_text()
    for key in re.findall(r"--(?:set|vary) (\S+)", text):
        space.from_option(key)
    known = list(table.flat(results))
    for name in re.findall(r"--minimize (\S+)", text):
        table.find(name, known, file.name)
