"""The contract of the command line: what goes where, and with which exit status."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ssdlab as package


def without_elapsed(text):
    results = json.loads(text)
    del results["elapsed"]
    return results


def is_results(text):
    return json.loads(text)["schema"] == 1


# What it prints


def test_version(ssdlab):
    assert ssdlab("--version").stdout == f"ssdlab {package.__version__}\n"


@pytest.mark.parametrize("words", [[], ["run"], ["list"]])
def test_help_shows_examples_before_options(ssdlab, words):
    done = ssdlab(*words, "--help")
    assert done.returncode == 0
    assert 0 < done.stdout.index("Examples:") < done.stdout.index("Options:")


def test_without_a_command_it_shows_its_help(ssdlab):
    done = ssdlab()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ssdlab("--help").stdout


def test_a_piped_table_is_plain_and_fits_eighty_columns(ssdlab, small_options):
    done = ssdlab("run", *small_options, "--set", "workload.read_share=0.5")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    for line in done.stdout.splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()
    for word in ("read", "write", "all", "p99.9", "Where the time goes", "write amplification"):
        assert word in done.stdout


def test_a_table_for_an_ascii_terminal_is_ascii(ssdlab, small_options):
    done = ssdlab("run", *small_options, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_json_stands_alone_on_standard_output(ssdlab, small_options):
    done = ssdlab("run", *small_options, "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert is_results(done.stdout)


def test_json_in_a_file_leaves_the_table_on_standard_output(ssdlab, small_options, tmp_path):
    done = ssdlab("run", *small_options, "--json", "results.json")
    assert is_results((tmp_path / "results.json").read_text())
    assert "Where the time goes" in done.stdout


def test_quiet_prints_nothing(ssdlab, small_options, tmp_path):
    done = ssdlab("run", *small_options, "--quiet", "--json", "results.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == ["results.json"]


def test_progress_goes_to_a_terminal_and_not_into_the_results(command, tmp_path):
    terminal, its_end = os.openpty()
    run = [*command, "run", "--set", "workload.requests=1000000", "--json", "-"]
    # Results are longer than what a pipe holds, and the terminal is read first.
    with (
        (tmp_path / "out.json").open("wb") as output,
        subprocess.Popen(
            run,
            stdout=output,
            stderr=its_end,
            cwd=tmp_path,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
        ) as process,
    ):
        os.close(its_end)
        shown = b""
        while True:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the last writer has gone
                break
    os.close(terminal)
    assert process.returncode == 0
    assert is_results((tmp_path / "out.json").read_text())
    assert "simulated" in shown.decode(errors="replace")


def test_list_shows_every_category(ssdlab):
    done = ssdlab("list")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("devices", "cleaners", "workloads", "formats", "agrawal2008", "greedy"):
        assert word in done.stdout


def test_list_of_one_category_as_json(ssdlab):
    listed = json.loads(ssdlab("list", "devices", "--json").stdout)
    assert list(listed) == ["devices"]
    assert listed["devices"] == package.list("devices")


# What it writes


def test_out_holds_the_results_and_an_experiment_that_repeats_them(ssdlab, small_options, tmp_path):
    first = ssdlab("run", *small_options, "--out", "deep/out")
    assert first.returncode == 0, first.stderr
    out = tmp_path / "deep" / "out"
    assert sorted(os.listdir(out)) == ["experiment.toml", "results.json"]
    again = ssdlab("run", out / "experiment.toml", "--json", "-")
    results = (out / "results.json").read_text()
    assert without_elapsed(again.stdout) == without_elapsed(results)


def test_out_is_replaced_by_a_second_run(ssdlab, small_options, tmp_path):
    for seed in (1, 2):
        ssdlab("run", *small_options, "--out", "out", "--seed", seed)
    assert sorted(os.listdir(tmp_path / "out")) == ["experiment.toml", "results.json"]
    assert (
        package.Results.from_json(
            (tmp_path / "out" / "results.json").read_text()
        ).experiment.run.seed
        == 2
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text(""),
        lambda path: (path.mkdir(), (path / "results.json").mkdir()),
    ],
    ids=["a file", "a directory that holds a directory results.json"],
)
def test_an_impossible_out_is_refused_before_the_run(refused, endless_options, tmp_path, make):
    make(tmp_path / "out")
    assert "out" in refused("run", *endless_options, "--out", "out")


def test_an_out_below_a_file_is_refused_before_the_run(refused, endless_options, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in refused("run", *endless_options, "--out", "file/out")


@pytest.mark.usefixtures("held_by_modes")
def test_an_unwritable_out_is_refused_before_the_run(refused, endless_options, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    assert "locked" in refused("run", *endless_options, "--out", "locked/out")


@pytest.mark.parametrize("path", ["missing/results.json", "."])
def test_an_impossible_json_file_is_refused_before_the_run(refused, endless_options, path):
    assert path.split("/")[0] in refused("run", *endless_options, "--json", path)


def test_wrong_input_writes_nothing(refused, tmp_path):
    words = ["--set", "device.timing.read=30parsecs", "--out", "out", "--json", "results.json"]
    refused("run", *words)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_a_run_that_was_not_completed(ssdlab, small_options, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = ssdlab("run", *small_options, "--json", "/dev/full", "--out", "out")
    assert done.returncode == 1 and "requests in" in done.stdout
    said = r"ssdlab: /dev/full: cannot be written: No space left on device; it is in (.*) instead\n"
    kept = Path(re.fullmatch(said, done.stderr)[1])
    assert kept.read_text() == (tmp_path / "out" / "results.json").read_text()
    shutil.rmtree(kept.parent)


@pytest.mark.parametrize("words", [["run", "--json", "-"], ["run"], ["list"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_one_message(ssdlab, small_options, words):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    words = [*words, *small_options] if words[0] == "run" else words
    with open("/dev/full", "w") as full:
        done = ssdlab(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert re.fullmatch(r"ssdlab: standard output: .*\n", done.stderr)


def test_a_reader_that_leaves_early_is_met_with_silence(command, small_options, tmp_path):
    run = [*command, "run", *small_options, "--json", "-"]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_ctrl_c_ends_a_run_and_writes_nothing(
    command, endless_options, tmp_path, busy, interrupted
):
    words = ["--out", "out", "--json", "results.json"]
    process = subprocess.Popen(
        [*command, "run", *endless_options, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    busy(process)
    stdout, stderr = interrupted(process)
    assert (process.returncode, stdout) == (130, "")
    assert re.fullmatch(r"ssdlab: interrupted after \d+ requests; nothing was written\n", stderr)
    assert os.listdir(tmp_path) == []


# Which input wins, and which is refused


def test_later_options_override_earlier_ones(ssdlab, small_options, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'version = 1\n[device]\npreset = "agrawal2008"\nchannels = 2\n[run]\nseed = 1\n'
    )

    def resolved(*words):
        done = ssdlab("run", "mine.toml", *small_options, *words, "--json", "-")
        assert done.returncode == 0, done.stderr
        experiment = json.loads(done.stdout)["experiment"]
        return experiment["device"]["channels"], experiment["run"]["seed"]

    assert resolved() == (2, 1)
    (tmp_path / "device.toml").write_text("[device]\nchannels = 4\n")
    assert resolved("--device", "device.toml") == (4, 1)
    words = ["--device", "device.toml", "--set", "device.channels=3"]
    assert resolved(*words) == (3, 1)
    assert resolved("--set", "device.channels=3", "--device", "device.toml") == (3, 1)
    assert resolved("--set", "run.seed=7") == (2, 7)
    assert resolved("--set", "run.seed=7", "--seed", "8") == (2, 8)


def test_a_check_changes_no_result(ssdlab, small_options):
    words = ["run", *small_options, "--set", "workload.read_share=0.2", "--json", "-"]
    checked = ssdlab(*words, "--check")
    assert checked.returncode == 0, checked.stderr
    assert without_elapsed(checked.stdout) == without_elapsed(ssdlab(*words).stdout)


def test_a_typo_in_a_key_names_the_key_that_was_meant(refused):
    message = refused("run", "--set", "device.chanels=4")
    assert "chanels" in message
    assert "channels" in message


def test_a_bad_unit_names_the_key_and_the_value(refused):
    message = refused("run", "--set", "device.timing.read=30parsecs")
    assert "timing.read" in message
    assert "30parsecs" in message


@pytest.mark.parametrize("assignment", ["channels", "=4", "device.channels=", "", None])
def test_half_an_assignment_is_refused(refused, assignment):
    refused("run", "--set", *([] if assignment is None else [assignment]))


def test_trace_and_workload_exclude_each_other(refused):
    message = refused("run", "--trace", "some.trace", "--workload", "mixed")
    assert "--trace" in message
    assert "--workload" in message


@pytest.mark.parametrize("section", ["device", "workload"])
def test_an_unknown_preset_names_the_valid_ones(refused, section):
    message = refused("run", f"--{section}", "nonesuch")
    assert "nonesuch" in message
    assert f"`ssdlab list {section}s` shows the presets" in message


@pytest.mark.parametrize(
    "words",
    [
        ["missing.toml"],
        ["--device", "missing.toml"],
        ["--workload", "./missing"],
        ["--trace", "missing.trace"],
        ["directory"],
        ["--device", "directory"],
        ["--trace", "directory"],
        ["binary.toml"],
        ["--workload", "binary.toml"],
        ["syntax.toml"],
        ["section.toml"],
    ],
    ids=" ".join,
)
def test_an_unusable_file_is_refused_by_name(refused, tmp_path, words):
    (tmp_path / "directory").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"version = 1\n\xff\xfe\n")
    (tmp_path / "syntax.toml").write_text("version = 1\n[device\n")
    (tmp_path / "section.toml").write_text("version = 1\n[devise]\nchannels = 4\n")
    assert words[-1].removeprefix("./") in refused("run", *words)


@pytest.mark.usefixtures("held_by_modes")
def test_an_unreadable_file_is_refused_by_name(refused, tmp_path):
    (tmp_path / "secret.toml").touch(mode=0)
    assert "secret.toml" in refused("run", "secret.toml")


def test_a_syntax_error_names_its_line(refused, tmp_path):
    (tmp_path / "syntax.toml").write_text('version = 1\n[device]\nkind = "ssd\n')
    message = refused("run", "syntax.toml")
    assert re.search(r"syntax\.toml.*\b3\b", message, re.DOTALL)


@pytest.mark.parametrize(
    "words",
    [["--frobnicate"], ["--seed", "many"], ["one.toml", "two.toml"]],
    ids=" ".join,
)
def test_wrong_usage_is_refused_with_a_hint(refused, words):
    assert "see ssdlab run --help" in refused("run", *words)


def test_an_unknown_command_or_category_is_refused(refused):
    assert "frobnicate" in refused("frobnicate")
    assert "devices, cleaners, workloads, formats" in refused("list", "disks")


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64])
def test_a_seed_is_taken_as_it_is_or_refused(ssdlab, small_options, seed):
    done = ssdlab("run", *small_options, "--seed", seed, "--json", "-")
    if done.returncode == 0:
        assert json.loads(done.stdout)["experiment"]["run"]["seed"] == seed
    else:
        assert done.returncode == 2
        assert done.stderr.startswith(f"ssdlab: --seed {seed}: ")


def test_without_arguments_a_current_drive_runs_in_steady_state(ssdlab):
    first = ssdlab("run", "--show", "--seed", "7").stdout
    said = {"run.precondition=steady", "device.preset=tlc-enterprise"}
    named = ssdlab(
        "run", "--show", "--seed", "7", *(it for key in sorted(said) for it in ("--set", key))
    ).stdout
    assert first == named
    assert 'title = "tlc-enterprise under mixed"' in first
    keys = ssdlab("run", "--show", "--set", "workload.requests=9").stdout
    assert 'title = "agrawal2008 under mixed"' in keys


def test_a_trace_without_a_drive_is_replayed_on_a_current_one(ssdlab, tmp_path):
    (tmp_path / "a.csv").write_text("time_us,op,offset,bytes\n0,write,0,4096\n90,read,0,4096\n")
    done = ssdlab("run", "--trace", "a.csv")
    assert done.stdout.startswith("ssdlab  tlc-enterprise under trace")
    assert "no drive was named, so tlc-enterprise, a current one, ran" in done.stdout
    small = ["--set", "device.blocks_per_plane=32"]
    assert "no drive was named" not in ssdlab("run", "--trace", "a.csv", *small).stdout
