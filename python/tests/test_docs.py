"""What README and the guides show is run as it stands there, Python and shell, and in this order.

A page runs in a directory of its own that holds `examples/`. Comments before a block say otherwise:

    <!-- run first: COMMAND -->       what a reader has done before
    <!-- needs: PROGRAM -->           without which the block is not run
    <!-- not run: REASON -->          neither is this block
    <!-- not run (WORDS): REASON -->  nor a line with these words
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import ssdlab
from ssdlab.sweeps import space, table

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "examples/traces/README.md"]
PAGES += sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))

BLOCK = re.compile(r"((?:^<!-- .* -->\n)*)^```(\w*)\n((?:.*\n)*?)^```$", re.MULTILINE)
COMMENT = re.compile(r"<!-- (run first|needs|not run)(?: \((.*?)\))?: (.*?) -->")
# Requests of each run: enough for every figure to exist.
REQUESTS = 2000


class Block(NamedTuple):
    """A block of a page, with what the comments before it say."""

    language: str
    text: str
    first: list[str]
    needs: list[str]

    @property
    def lacking(self):
        return [program for program in self.needs if not shutil.which(program)]


def blocks(page):
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
        yield Block(language, text, first, needs)


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


def run(command, environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **environment)


@pytest.mark.parametrize("page", written_in("python"))
def test_the_python_of_a_page_runs(page, environment):
    parts = [block.text for block in blocks(page) if block.language == "python"]
    (environment["cwd"] / "page.py").write_text("\n".join(parts))
    done = run([sys.executable, "page.py"], environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(parts)


@pytest.mark.parametrize("page", written_in("sh"))
def test_the_commands_of_a_page_run(page, environment):
    lacking = []
    for block in blocks(page):
        if block.language != "sh":
            continue
        if block.lacking:
            lacking += block.lacking
            continue
        script = "\n".join([*block.first, block.text])
        done = run(["bash", "-euo", "pipefail", "-c", script], environment)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    if lacking:
        pytest.skip(f"all but the blocks that need {', '.join(lacking)}")


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
            assert language in {"", "console", "python", "sh", "toml"}, page
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
