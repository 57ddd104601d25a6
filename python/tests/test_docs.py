"""What README and the guides show is run as it stands there, Python and shell, and in this order.

A page runs in a directory of its own that holds `examples/`. Comments before a block say otherwise:

    <!-- run first: COMMAND -->       what a reader has done before
    <!-- needs: PROGRAM -->           without which the block is not run
    <!-- not run: REASON -->          neither is this block
    <!-- not run (WORDS): REASON -->  nor a line with these words
    <!-- status: N -->                the block ends with this exit status
    <!-- nightly: REASON -->          it is run by `make nightly`, at full size
    <!-- after: python -->            after the Python that stands before it in the page
    <!-- printed by: COMMAND -->      each line of the block is printed by this command at full size
    <!-- printed by: python -->       by the Python of the page
    <!-- not printed: REASON -->      no command of the page prints it

A block without a language says one of the last two. In a block of `console` each line that begins
with $ prints what follows it. Of every command, also of those that are not run, the options and
values are such as it takes.
"""

import ast
import contextlib
import inspect
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
import reader

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
    r"<!-- (run first|needs|not run|status|nightly|after|printed by|not printed)"
    r"(?: \((.*?)\))?: (.*?) -->"
)
#: What prints a block in place of a command.
PYTHON = "python"
# Requests of each run: enough for every figure to exist.
REQUESTS = 2000
#: The same for fio.
BRIEFLY = "--number_ios=500 --runtime=1"


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
    status: int = 0

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
        status = sum(int(number) for what, _, number in said if what == "status")
        yield Block(language, text, first, needs, after, nightly, printed, status)


def written_in(language):
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


@pytest.fixture
def full(tmp_path):
    """A directory as a reader's, and variables with which `ssdlab` is found; runs are as long as
    the page says, and servers end with the test.
    """
    directory, programs = tmp_path / "page", tmp_path / "bin"
    directory.mkdir()
    programs.mkdir()
    shutil.copytree(ROOT / "examples", directory / "examples")
    for name, line in {
        "ssdlab": f'exec {sys.executable} {reader.__file__} "$@"',
        "fio": f'exec {shutil.which("fio")} "$@" ${{SSDLAB_REQUESTS:+{BRIEFLY}}}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    servers = tmp_path / "servers"
    variables = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "SSDLAB_SERVERS": str(servers),
    }
    yield {"cwd": directory, "env": os.environ | variables}
    reader.stop(servers)


@pytest.fixture
def environment(full):
    """The same, whose runs are short: drives that settle before them are overwritten once."""
    return {**full, "env": full["env"] | {"COLUMNS": "200", "SSDLAB_REQUESTS": str(REQUESTS)}}


@pytest.fixture
def elsewhere_than_tmp():
    """A block, with a directory in place of /tmp, and free ports in place of those it names."""
    with tempfile.TemporaryDirectory(prefix="page") as where, contextlib.ExitStack() as taken:
        found = {"/tmp/": f"{where}/"}
        for port in ("10809", "4420", "8080"):
            free = taken.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            found[port] = str(free.getsockname()[1])
        taken.close()

        def replaced(text):
            for word, other in found.items():
                text = text.replace(word, other)
            # A server is left running, so that the next line finds it.
            return re.sub(r" &$", "", text, flags=re.MULTILINE)

        yield replaced


def run(command, environment, timeout=300):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **environment)


def run_block(block, environment, script, timeout=300):
    if block.python:
        done = run([sys.executable, "-c", block.python], environment)
        assert done.returncode == 0, done.stderr
    done = run(["bash", "-euo", "pipefail", "-c", script], environment, timeout)
    assert done.returncode == block.status, f"{script}\n{done.stdout}{done.stderr}"
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


@pytest.mark.parametrize("page", written_in("python"))
def test_the_python_of_a_page_calls_what_there_is(page):
    """Functions of the package, with parameters that they have; also of code that runs at night."""
    text = "\n".join(block.text for block in blocks(page) if block.language == "python")
    nodes, names, calls = [*ast.walk(ast.parse(text))], {}, 0
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and "ssdlab" in ast.unparse(node):
            exec(ast.unparse(node), names)
    for node in nodes:
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)).split(".")[0] in names:
            if re.fullmatch(r"[\w.]+", name) is None:  # a method of what a call returns
                continue
            given = {it.arg: None for it in node.keywords if it.arg}
            inspect.signature(eval(name, names)).bind_partial(*node.args, **given)
            calls += 1
    assert calls or not names, page


@pytest.mark.parametrize("page", written_in("sh"))
def test_the_commands_of_a_page_run(page, environment, elsewhere_than_tmp):
    lacking = []
    for block in blocks(page):
        if block.language != "sh" or block.nightly:
            continue
        if block.lacking:
            lacking += block.lacking
            continue
        script = "\n".join([*block.first, block.text])
        run_block(block, environment, elsewhere_than_tmp(script))
    if lacking:
        pytest.skip(f"all but the blocks that need {', '.join(lacking)}")


@pytest.mark.nightly
@pytest.mark.parametrize("page", [it for it in PAGES if any(b.nightly for b in blocks(it))])
def test_the_long_commands_of_a_page_run(page, full, elsewhere_than_tmp):
    for block in blocks(page):
        if block.nightly and not block.lacking:
            script = elsewhere_than_tmp("\n".join([*block.first, block.text]))
            run_block(block, full, script, timeout=3600)


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
    known = list(table.flat(results.to_dict()))
    for name in re.findall(r"--minimize (\S+)", text):
        table.find(name, known, file.name)
