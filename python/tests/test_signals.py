"""Ctrl-C and SIGTERM end every command with one line, whenever they come."""

import os
import signal
import subprocess
import sys
import time

import pytest

#: Ctrl-C comes when a module is first looked for.
WHILE_IMPORTING = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from ssdlab.cli import main
sys.exit(main(sys.argv[2:]))
"""

#: Ctrl-C comes in the middle of a run; the status, and whether click was imported for it.
WHILE_RUNNING = """
import os, signal, sys, threading
from ssdlab.cli import main

threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
print(main(sys.argv[1:]), "click" in sys.modules)
"""


@pytest.mark.parametrize("module", ["click", "ssdlab.cli.options", "ssdlab.sweeps.command"])
def test_ctrl_c_while_a_command_is_imported_says_one_line(module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IMPORTING, module, "sweep", "--vary", "run.seed=1,2"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stderr.strip() == "ssdlab: interrupted; nothing was written"
    assert done.returncode == 130


def test_ctrl_c_ends_a_run_without_click(endless_options, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_RUNNING, "run", *endless_options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout == "130 False\n", done.stderr
    assert done.stderr.startswith("ssdlab: interrupted after ")


@pytest.mark.parametrize("words", [("run", "--requests", "r.parquet"), ("paper", "--quick")])
def test_sigterm_leaves_nothing_behind(command, endless_options, tmp_path, words):
    options = endless_options if words[0] == "run" else []
    process = subprocess.Popen(
        [*command, *words, *options], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 143
    assert stderr.strip().startswith("ssdlab: interrupted")
    assert len(stderr.strip().splitlines()) == 1
    assert os.listdir(tmp_path) == []
