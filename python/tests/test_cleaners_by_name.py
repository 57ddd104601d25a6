"""Cleaning policies in Python, found by name and on the command line."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ssdlab

MINE = (Path(__file__).parent / "support/files/my_cleaner.txt").read_text()


def options(settings, *words):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "unparsable.py").write_text("class Greedy:\n    def step(self, view)\n")
    (tmp_path / "failing.py").write_text("import json\n\nvalue = json.loads('{')\n")
    yield
    for name in ("mine", "unparsable", "failing"):
        sys.modules.pop(name, None)


def test_a_policy_is_found_by_name_in_the_current_directory(
    processes, ssdlab, mine, tmp_path, tiny
):
    words = ["run", *options(tiny), "--check", "--json", "-"]
    plain = ssdlab(*words, "--set", "cleaning.policy=mine:Greedy")
    assert plain.returncode == 0, plain.stderr
    same = ssdlab(*words, "--set", "cleaning.tie_break=lowest")
    assert json.loads(plain.stdout)["flash"] == json.loads(same.stdout)["flash"]
    less = ssdlab(*words, "--set", 'cleaning.policy=mine:Greedy(share=0.1, words=["b"])')
    assert less.returncode == 0, less.stderr
    amplification = [json.loads(it.stdout)["flash"]["write_amplification"] for it in (plain, less)]
    assert amplification[0] < amplification[1]
    inner = ssdlab(*words, "--set", "cleaning.policy=mine:Greedy.Inner")
    assert inner.returncode == 0, inner.stderr


def test_the_installed_command_finds_it_too(ssdlab, mine, tmp_path, tiny):
    command = Path(sys.executable).parent / "ssdlab"
    if not command.exists():
        pytest.skip("the command is not installed beside this Python")
    words = ["run", *options(tiny), "--quiet", "--set", "cleaning.policy=mine:Greedy"]
    done = subprocess.run([command, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_device_is_not_served_whose_policy_fails_while_it_is_prepared(ssdlab, mine, tiny):
    name = "cleaning.policy=mine:Wrong"
    done = ssdlab("serve", *options(tiny), "--set", name, "--socket", "socket")
    assert done.returncode == 1, done.stderr
    assert "mine:Wrong failed: it chose block 12345" in done.stderr
    assert "serving" not in done.stderr


def test_the_experiment_that_is_written_runs_again(ssdlab, mine, tmp_path, tiny):
    name = "cleaning.policy=mine:Greedy(share=0.5)"
    first = ssdlab("run", *options(tiny), "--set", name, "--out", "out")
    assert first.returncode == 0, first.stderr
    again = ssdlab("run", "out/experiment.toml", "--allow-code", "--json", "-")
    assert again.returncode == 0, again.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert json.loads(again.stdout)["flash"] == results["flash"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nosuch:Greedy", "there is no module nosuch in"),
        ("mine:Gredy", "the module mine has no Gredy"),
        ("mine:nobody", "nobody: a cleaning policy is a class with a method step"),
        ("mine:Greedy(size=1)", "Greedy cannot be made: TypeError: .*size"),
        ("mine:Greedy(share=2)", r"Greedy cannot be made: AssertionError.*mine.py, line \d+"),
        ("mine:Greedy(0.5)", "expected module:Class or module:Class.*each with its name"),
        ("mine:Greedy(share=os.getpid())", "expected module:Class or module:Class"),
        ("mine:Greedy(", "expected module:Class or module:Class"),
        ("mine:5", "expected module:Class or module:Class"),
        ("mine:np.ndarray(shape=3)", "ndarray: a cleaning policy is a class with a method step"),
        ("unparsable:Greedy", r"cannot be imported: SyntaxError: .*unparsable.py, line 2"),
        ("failing:Greedy", r"cannot be imported: json.*failing.py, line 3"),
        ("..:Greedy", "expected module:Class or module:Class"),
        ("gredy", 'did you mean "greedy"\\?.*a policy of your own is written module:Class'),
        (":Greedy", "a policy of your own is written module:Class"),
    ],
)
def test_a_policy_that_cannot_be_had_is_wrong_input(refused, mine, tmp_path, name, message, tiny):
    words = ["--set", f"cleaning.policy={name}", "--out", "out"]
    complaint = refused("run", *options(tiny), *words)
    assert complaint.startswith(f"ssdlab: --set cleaning.policy={name}: device.cleaning.policy = ")
    assert re.search(message, complaint), complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_file_and_line_of_a_name_are_told(refused, mine, tmp_path):
    (tmp_path / "it.toml").write_text('[device.cleaning]\npolicy = "mine:Gredy"\n')
    assert "it.toml:2: device.cleaning.policy" in refused("run", "it.toml", "--allow-code")


def test_a_sweep_takes_policies_and_tells_which_failed(mine, tmp_path, monkeypatch, tiny):
    monkeypatch.chdir(tmp_path)
    names = ["greedy", "mine:Greedy(share=0.5)", "mine:Broken"]
    sweep = ssdlab.sweep(set=tiny, vary={"cleaning.policy": names}, workers=1)
    best, half, broken = sweep
    assert best.results.flash.write_amplification < half.results.flash.write_amplification
    assert broken.results is None
    assert "the cleaning policy mine:Broken failed: it raised ValueError" in broken.error


def test_without_numpy_the_message_says_how_to_get_it(processes, refused, mine, tmp_path, tiny):
    (tmp_path / "numpy.py").write_text("raise ImportError('not here')\n")
    complaint = refused("run", *options(tiny), "--set", "cleaning.policy=mine:Greedy")
    assert "NumPy is not installed: pip install 'ssdlab[numpy]'" in complaint


def test_a_policy_that_raises_shows_its_traceback(processes, ssdlab, mine, tmp_path, tiny):
    words = ["--set", "cleaning.policy=mine:Broken", "--out", "out", "--json", "results.json"]
    done = ssdlab("run", *options(tiny), *words)
    assert (done.returncode, done.stdout) == (1, "")
    shown = textwrap.dedent(done.stderr)
    assert "ssdlab: Traceback" in shown
    assert re.search(r'mine.py", line \d+, in step\n.*return self.helper\(view\)', shown)
    assert re.search(r'mine.py", line \d+, in helper', shown)
    assert "ValueError: nothing suits\nthe cleaning policy mine:Broken failed: it raised" in shown
    assert "State of domain 0: 128 blocks" in shown
    assert "site-packages" not in shown
    assert shown.endswith("Nothing was written.\n")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "results.json").exists()


def test_a_wrong_answer_is_a_run_that_was_not_completed(ssdlab, mine, tiny):
    done = ssdlab("run", *options(tiny), "--set", "cleaning.policy=mine:Wrong")
    assert (done.returncode, done.stdout) == (1, "")
    expected = "ssdlab: the cleaning policy mine:Wrong failed: it chose block 12345, and the blocks"
    assert done.stderr.startswith(expected)
    assert "Traceback" not in done.stderr


def test_ctrl_c_during_a_policy_writes_nothing(command, mine, tmp_path, tiny, busy, interrupted):
    settings = tiny | {"workload.requests": 10**12, "cleaning.policy": "mine:Greedy"}
    process = subprocess.Popen(
        [*command, "run", *options(settings), "--out", "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    busy(process)
    stdout, stderr = interrupted(process)
    assert (process.returncode, stdout) == (130, "")
    assert re.fullmatch(r"ssdlab: interrupted after \d+ requests; nothing was written\n", stderr)
    assert not (tmp_path / "out").exists()
