"""Ctrl-C and SIGTERM end every command with one line, whenever they come."""

import os
import signal
import subprocess
import sys

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

#: Ctrl-C comes in the middle of a run; the status.
WHILE_RUNNING = """
import os, signal, sys, threading, time
from ssdlab.cli import main

def interrupt():
    # By then it runs, however slowly this machine starts it.
    while time.process_time() < 1:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
print(main(sys.argv[1:]))
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


def test_ctrl_c_ends_a_run(endless_options, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_RUNNING, "run", *endless_options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout == "130\n", done.stderr
    assert done.stderr.startswith("ssdlab: interrupted after ")


@pytest.mark.parametrize("words", [("run", "--requests", "r.parquet"), ("paper", "--quick")])
def test_sigterm_leaves_nothing_behind(command, endless_options, busy, tmp_path, words):
    options = endless_options if words[0] == "run" else []
    process = subprocess.Popen(
        [*command, *words, *options], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    busy(process)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 143
    assert stderr.strip().startswith("ssdlab: interrupted")
    assert len(stderr.strip().splitlines()) == 1
    assert os.listdir(tmp_path) == []
