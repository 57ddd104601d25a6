"""`ssdlab crash` without root: a run over NBD is recorded, judged, kept and judged once more; how
it refuses; and its tables. `test_crash_mounted.py` has file systems.
"""

import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import crash_log
import pytest

from ssdlab import Experiment, InputError
from ssdlab.crashes import apps, controls, namespace, run

SCRIPT = shlex.join([sys.executable, "-S", "-E", crash_log.__file__])
RECORDS = ("--on", "nbd", "--size", "1MiB", "--run", f"{SCRIPT} run $uri 12")
FLUSHED = ("--on", "nbd", "--size", "1MiB", "--run", f"{SCRIPT} run $uri 12 flush")
CHECK = ("--check", f"{SCRIPT} check $dev $acked", "--workers", "2", "--points", "15")


@pytest.fixture
def crash(ssdlab):
    """`ssdlab crash` on records over NBD: the status and what was found."""

    def call(*words):
        usual = zip(CHECK[::2], CHECK[1::2], strict=True)
        others = [word for pair in usual if pair[0] not in words for word in pair]
        done = ssdlab("crash", *others, *words, "--quiet", "--json", "-")
        assert done.stderr == "", done.stderr
        return done.returncode, json.loads(done.stdout)

    return call


def test_a_volatile_buffer_loses_what_was_not_flushed(crash):
    status, found = crash(*RECORDS)
    assert status == 1
    assert found["verdicts"]["lost"] > 5 and found["verdicts"]["broken"] == 0
    assert found["asked"]["writes"] == 12 and found["lines"] == 12
    assert found["points"] == 15 and found["images"] >= found["distinct"] > 15
    assert found["promise"] == {"volatile": True, "atom_bytes": 4096}
    assert any("no flush reached" in it for it in found["warnings"])
    assert "record" in found["failures"][0]["reason"]
    status, found = crash(*FLUSHED)
    assert (status, found["verdicts"]["lost"], found["warnings"]) == (0, 0, [])


@pytest.mark.nightly
def test_the_function_finds_what_the_command_finds(crash, tmp_path):
    """From Python: losses are found, kept and judged once more."""
    import ssdlab

    said = []
    here = {"on": "nbd", "size": "1MiB", "command": RECORDS[-1], "check": CHECK[1]}
    known = {"points": 15, "workers": 2}
    again = ssdlab.crash(
        **here, **known, keep=tmp_path / "kept", progress=lambda *it: said.append(it)
    )
    assert isinstance(again, ssdlab.Findings)
    assert again.counts["lost"] > 5 and again.counts["broken"] == 0
    assert again.counts["lost"] == len(again.failed) and again.to_dict()["points"] == 15
    _, found = crash("--recorded", tmp_path / "kept")
    assert found["verdicts"] == again.counts
    assert [it.image.name for it in again.failed] == [it["image"] for it in found["failures"]]
    assert {what for what, *_ in said} >= {"record", "judge"}
    assert ssdlab.crash(recorded=tmp_path / "kept", **known).counts == again.counts
    sure = ssdlab.crash(**here, **known, set={"device.buffer.power_loss_protected": True})
    assert sure.counts["lost"] == 0
    with pytest.raises(RuntimeError, match="ended with status 7"):
        ssdlab.crash(**here | {"command": "exit 7"}, **known)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "exactly one of app, command and recorded"),
        ({"app": "copy", "command": "true"}, "exactly one of"),
        ({"command": "true"}, "command needs check"),
        ({"app": "copy", "check": "true"}, "check has no effect with app"),
        ({"recorded": "it", "keep": "there"}, "keep has no effect with recorded"),
        ({"app": "nothing"}, "there are btrfs, copy, direct"),
        ({"app": "copy", "points": 0}, "points is 0; it must be at least 1"),
        ({"app": "copy", "draws": -1}, "draws is -1; it must be at least 0"),
        ({"app": "copy", "timeout": "0s"}, 'timeout = "0s": a time is above 0'),
        ({"command": "true", "check": "true", "on": "ext3"}, "choose from ext4, loop, nbd"),
        ({"app": "copy", "device": "nothing"}, "nothing"),
    ],
)
def test_the_function_refuses_wrong_arguments(arguments, message):
    import ssdlab

    with pytest.raises(ssdlab.InputError, match=message):
        ssdlab.crash(**arguments)


@pytest.mark.nightly
def test_other_drives_keep_what_they_answered(crash):
    for words in (
        ("--device", "agrawal2008"),
        ("--set", "device.buffer.power_loss_protected=true"),
    ):
        status, found = crash(*RECORDS, *words)
        assert (status, found["verdicts"]["lost"]) == (0, 0)
        assert found["most_open"] == 1


@pytest.mark.nightly
def test_a_write_of_several_atoms_is_torn(crash):
    whole = (
        "--check",
        f"{SCRIPT} check $dev $acked 12",
        "--points",
        "100",
        "--device",
        "agrawal2008",
    )
    status, found = crash(*RECORDS, *whole)
    assert (status, found["promise"]["atom_bytes"]) == (0, 4096)
    status, found = crash(*RECORDS, *whole, "--set", "device.logical_page=1KiB")
    assert (status, found["promise"]["atom_bytes"]) == (1, 1024)
    assert found["verdicts"]["broken"] > 3
    assert all("torn" in it["image"] for it in found["failures"])
    assert found["failures"][0]["reason"].endswith("is torn")


@pytest.mark.nightly
def test_a_kept_run_is_judged_once_more(ssdlab, crash, tmp_path):
    status, found = crash(*RECORDS, "--keep", "kept")
    assert status == 1
    first = found["failures"][0]
    assert first["again"] == f"ssdlab crash --recorded kept --seed 1 --image {first['image']}"
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert {"recording", "initial.img", "crash.json"} < names and len(names) == 3 + run.MOST_KEPT
    kept = f"{first['verdict']}-{first['image'].replace(':', '-')}.img"
    assert (tmp_path / "kept" / kept).stat().st_size == 1 << 20
    done = ssdlab(*shlex.split(first["again"])[1:])
    assert done.returncode == 1
    assert done.stdout == f"{first['image']}: lost: {first['reason']}\n"
    assert done.stderr == f"{first['reason']}\n"
    # The same seed judges the same images; another checker has its own opinion.
    again = json.loads(
        ssdlab("crash", "--recorded", "kept", "--points", "15", "--json", "-", "--quiet").stdout
    )
    assert again["failures"] == found["failures"]
    done = ssdlab("crash", "--recorded", "kept", "--check", "true", "--json", "-", "--quiet")
    other = json.loads(done.stdout)
    assert (done.returncode, other["verdicts"]["lost"]) == (0, 0)
    assert other["points"] == 25  # all instants: there are fewer than --points
    done = ssdlab("crash", "--recorded", "kept", "--points", "15", "--seed", "9", "--json", "-")
    assert json.loads(done.stdout)["failures"] != found["failures"]


@pytest.mark.nightly
def test_more_draws_are_more_images_and_a_table_says_so(ssdlab, crash):
    few, many = (crash(*RECORDS, "--draws", it)[1]["images"] for it in (0, 8))
    assert few < many
    done = ssdlab("crash", *RECORDS, "--check", f"{SCRIPT} check $dev $acked", "--points", "60")
    assert done.returncode == 1
    assert "Crash points" in done.stdout and "lost" in done.stdout and "--keep DIR" in done.stdout
    assert "Warning: no flush reached" in done.stdout


def test_a_checker_that_does_not_end_has_found_something(crash):
    slow = ("--check", "sleep 60", "--timeout", "0.2", "--points", "1", "--draws", "0")
    status, found = crash(*FLUSHED, *slow)
    assert (status, found["verdicts"]["broken"]) == (1, found["distinct"])
    assert "did not end within 0.2 s" in found["failures"][0]["reason"]


@pytest.mark.nightly
def test_writes_before_the_run_are_durable(crash):
    seen = ("--check", "head -c 5 $dev | grep -q hello")
    status, _ = crash(
        *RECORDS, *seen, "--setup", "printf hello | dd of=$dev conv=notrunc status=none"
    )
    assert status == 0
    status, found = crash(*RECORDS, *seen)
    assert (status, found["verdicts"]["ok"]) == (1, 0)


def test_workers_share_the_images(crash, tmp_path):
    # Long enough that a job which starts late finds something left to do.
    seen = ("--check", f"sleep 0.05; echo $tmp >> {tmp_path}/seen")
    for workers in 1, 3:
        (tmp_path / "seen").unlink(missing_ok=True)
        crash(*FLUSHED, *seen, "--workers", workers)
        assert len(set((tmp_path / "seen").read_text().split())) == workers


# How it refuses and ends


def test_wrong_input_is_refused(refused, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    run, check = ("--run", "true"), ("--check", "true")
    for words, message in [
        ((), "one of --app, --run, --recorded and --controls is needed"),
        (("--app", "sqlite", *run), "is needed"),
        (run, "--run needs --check"),
        (("--app", "oracle"), 'no "oracle"; there are btrfs, copy, direct, postgres'),
        (("--app", "sqlite:sync=1"), 'no setting "sync"; there are journal, synchronous'),
        (("--app", "sqlite:journal=off"), "it can be wal, delete, truncate, persist"),
        (("--app", "copy:files=0"), "a whole number above 0"),
        (("--app", "sqlite", *check), "--check has no effect with --app"),
        (("--app", "sqlite", "--image", "1:all"), "--image has no effect with --app"),
        (("--recorded", "none"), "not a recording written by --keep"),
        (("--recorded", "x", "--device", "null"), "--device has no effect with --recorded"),
        (("--recorded", "x", "--image", "1:all", "--points", "3"), "--points has no effect"),
        (("--controls", "oracle"), 'no name has "oracle" in it'),
        (("--controls", "sqlite", "--size", "1MiB"), "--size has no effect with --controls"),
        ((*run, *check, "--on", "nbd", "--size", "1000B"), "at least 1MiB"),
        ((*run, *check, "--on", "nbd", "--size", "much"), "a size such as 64MiB"),
        ((*run, *check, "--on", "xfs"), "ext4"),
        ((*run, *check, "--device", "nonesuch"), "nonesuch"),
        ((*run, *check, "--set", "device.nonesuch=1", "--on", "nbd"), "nonesuch"),
        ((*run, *check, "--keep", "full"), "exists and is not empty"),
        ((*run, *check, "--keep", "no/such"), "does not exist"),
        ((*run, *check, "--json", "no/such"), "does not exist"),
    ]:
        assert message in refused("crash", *words), words


def test_an_image_that_there_is_not_is_refused(ssdlab, refused, tmp_path):
    done = ssdlab("crash", *FLUSHED, "--check", "true", "--keep", "kept", "--points", "3")
    assert done.returncode == 0, done.stderr
    for image, message in [
        ("1", "such as 120:none"),
        ("x:all", "such as 120:none"),
        ("1:torn", "such as 120:none"),
        ("9999:all", "the run has 48 events"),
        ("0:only-1", "no write is open"),
    ]:
        assert message in refused("crash", "--recorded", "kept", "--image", image)


def test_a_command_that_fails_is_told(ssdlab, tmp_path):
    done = ssdlab(
        "crash",
        *("--on", "nbd", "--check", "true", "--run", "echo why >&2; exit 4", "--keep", "kept"),
    )
    assert done.returncode == 1
    assert done.stderr == ("ssdlab: the command ended with status 4: echo why >&2; exit 4\nwhy\n")
    assert not (tmp_path / "kept").exists()


def test_what_is_lacking_is_named(monkeypatch):
    monkeypatch.setattr(namespace, "find", lambda name: None if name == "nbdfuse" else "/x")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    problem = "nbdfuse is not installed (in Debian's package libnbd-bin)"
    assert run.unavailable("ext4", None) == run.unavailable("loop", None) == problem
    with pytest.raises(InputError, match="crash: nbdfuse is not installed"):
        run.demand("ext4", "sqlite")
    assert run.unavailable("nbd", None) is None
    monkeypatch.setattr(namespace, "find", lambda name: None if name == "psql" else "/x")
    assert run.unavailable("ext4", "postgres").startswith("psql is not installed")
    monkeypatch.setattr(namespace, "find", lambda name: "/x")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert run.unavailable("ext4", None) == "mounting needs root"


# The tables


def test_applications_have_a_row_each():
    folder = Path(apps.__file__).parent
    assert {f"{name}.py" for name in apps.APPS} == {
        path.name for path in folder.glob("*.py") if not path.name.startswith("__")
    }
    for name in apps.APPS:
        app, settings = apps.load(name)
        assert app.summary and settings
        for key, values in app.settings.items():
            for value in values:
                assert apps.load(f"{name}:{key}={value}")[1][key] == value


def test_controls_say_what_must_come_of_them():
    """Of both kinds: losses that must be found, and losses that must not."""
    words = {it.expected for it in controls.CONTROLS}
    assert words == {"all ok", "never broken", "lost", "broken", "lost, perhaps broken"} | {
        "broken, perhaps lost"
    }
    for control in controls.CONTROLS:
        apps.load(control.app)
        Experiment(device=control.device)
    assert len(controls.named("SQLite")) == 6 and controls.named("all") == [*controls.CONTROLS]


@pytest.mark.parametrize(
    "must, may, found, expected",
    [
        (None, (), {}, True),
        (None, (), {"lost": 1}, False),
        (None, ("lost",), {"lost": 1}, True),
        (None, ("lost",), {"broken": 1}, False),
        ("broken", ("lost",), {"lost": 3}, False),
        ("broken", ("lost",), {"lost": 3, "broken": 1}, True),
        ("broken", (), {"lost": 3, "broken": 1}, False),
        ("lost", (), {}, False),
    ],
)
def test_a_control_wants_all_that_must_be_found_and_nothing_else(must, may, found, expected):
    control = controls.Control("it", "copy", must, may)
    findings = SimpleNamespace(counts={"ok": 1, "lost": 0, "broken": 0} | found)
    assert controls.Outcome(control, findings).as_expected is expected
    assert controls.Outcome(control, None, "why").as_expected
