"""What applications make of data that their drive has lost: a few drives of each.

They need root and the programs that mount; what is lacking is the reason why they are skipped.
"""

import json
import os

import pytest

from ssdlab.crashes import apps, run
from ssdlab.crashes.damage import OUTCOMES

needs_mounts = pytest.mark.skipif(
    run.unavailable("ext4", None) is not None, reason=str(run.unavailable("ext4", None))
)


@pytest.fixture
def damaged(ssdlab, tmp_path):
    """`ssdlab crash --unreadable` with its images in a directory of its own: what was found."""
    work = tmp_path / "work"
    work.mkdir()

    def call(share, points, *words):
        words = ("crash", *words, "--unreadable", share, "--points", points, "--json", "-")
        done = ssdlab(*words, "--quiet", env=os.environ | {"TMPDIR": work})
        assert done.stderr == "", done.stderr
        assert [*work.iterdir()] == []
        found = json.loads(done.stdout)
        assert sum(found["outcomes"].values()) == points == len(found["drives"])
        assert done.returncode == (found["outcomes"]["silent"] > 0)
        return found

    return call


def needs(app):
    """Skips where an application cannot run, with the reason."""
    problem = run.unavailable(apps.load(app)[0].place, app)
    if problem is not None:
        pytest.skip(problem)


#: Files that are copied, and read again: by a program that stops at an error, and by one that
#: puts zeroes in its place.
WRITE = "for n in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom > f$n; sync f$n; done; " \
    "sync .; sha256sum f? > sums; sync sums; echo sums"  # fmt: skip
HONEST = "cd $dir; sha256sum --quiet -c sums || exit 1"
SILENT = (
    "cd $dir; for f in f?; do dd if=$f of=$tmp/$f bs=4k conv=noerror,sync 2>/dev/null; "
    "truncate -s 300000 $tmp/$f; done; cd $tmp; sha256sum --quiet -c $dir/sums || exit 3"
)


@needs_mounts
def test_a_drive_that_has_lost_nothing_is_untouched(damaged):
    found = damaged("0%", 2, "--run", WRITE, "--check", HONEST)
    assert found["outcomes"]["untouched"] == 2
    assert all(it["unreadable"] == 0 and it["lost_share"] == 0 for it in found["drives"])


@pytest.mark.nightly
@needs_mounts
def test_lost_data_are_noticed_by_who_looks_and_not_by_who_does_not(damaged):
    honest = damaged("6%", 3, "--run", WRITE, "--check", HONEST)
    assert honest["outcomes"]["noticed"] + honest["outcomes"]["refused"] == 3, honest["outcomes"]
    assert all(it["lost_share"] >= 0.06 and it["age_days"] > 0 for it in honest["drives"])
    assert all(it["unreadable"] > 0 for it in honest["drives"])
    silent = damaged("6%", 3, "--run", WRITE, "--check", SILENT)
    assert silent["outcomes"]["silent"] > 0, silent["drives"]


@pytest.mark.nightly
@needs_mounts
def test_sqlite_is_never_silent_about_a_page_that_cannot_be_read(damaged):
    found = damaged("4%", 4, "--app", "sqlite:transactions=60")
    assert found["outcomes"]["silent"] == 0, found["drives"]
    assert found["outcomes"]["untouched"] < 4
    assert found["lines"] == 60


@pytest.mark.nightly
@needs_mounts
def test_two_copies_on_btrfs_are_written_anew_and_one_is_not(damaged):
    """A scrub heals what has another copy; where both are lost it says so."""
    needs("btrfs")
    two = damaged("2%", 3, "--app", "btrfs:data=dup")
    one = damaged("2%", 3, "--app", "btrfs:data=single")
    assert sum(it["healed"] for it in two["drives"]) > 0, two["drives"]
    assert sum(it["healed"] for it in one["drives"]) == 0, one["drives"]
    for found in (two, one):
        assert found["outcomes"]["silent"] == 0
        assert found["outcomes"]["noticed"] > 0, found["drives"]


@needs_mounts
@pytest.mark.nightly
def test_postgres_is_never_silent(damaged):
    needs("postgres")
    found = damaged("3%", 3, "--app", "postgres:transactions=40")
    assert found["outcomes"]["silent"] == 0, found["drives"]
    assert found["outcomes"]["untouched"] < 3


@needs_mounts
def test_the_table_names_every_outcome(ssdlab):
    words = ("crash", "--run", WRITE, "--check", HONEST, "--unreadable", "6%", "--points", "1")
    text = ssdlab(*words, "--quiet", "--json", os.devnull).stdout
    assert text == ""
    text = ssdlab(*words).stdout
    for outcome, what in OUTCOMES.items():
        assert outcome in text and what.split(",")[0] in text
    assert "reads failed" in text


@needs_mounts
def test_a_share_that_no_age_reaches_is_refused(refused):
    words = ("--run", "true", "--check", "true", "--unreadable", "40%", "--points", "1")
    keys = ("--set", "device.media.model=tlc-3d", "--set", "device.media.spread_errors=0.05")
    assert "only" in refused("crash", *words, *keys)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--app", "copy", "--unreadable", "many"], '--unreadable many: a share from 0% to 50%'),
        (["--app", "copy", "--unreadable", "60%"], "--unreadable 60%: a share from 0% to 50%"),
        (["--app", "copy", "--unreadable", "1%", "--draws", "3"], "--draws has no effect with"),
        (["--app", "copy", "--unreadable", "1%", "--keep", "x"], "--keep has no effect with"),
        (["--controls", "--unreadable", "1%"], "--unreadable has no effect with --controls"),
        (
            ["--run", "a", "--check", "b", "--on", "nbd", "--unreadable", "1%"],
            "--unreadable needs --on ext4 or loop",
        ),
    ],
)  # fmt: skip
def test_what_says_nothing_together_is_refused(refused, words, part):
    assert part in refused("crash", *words)


@needs_mounts
def test_a_device_without_flash_is_refused(refused):
    words = ("--app", "copy", "--unreadable", "1%", "--device", "zeus-linear")
    assert 'only a device of kind "ssd"' in refused("crash", *words)


def test_checkers_tell_silence_from_what_was_noticed(tmp_path, monkeypatch, capsys):
    """Of each exception that a checker may raise."""
    app, _ = apps.load("copy")
    said = {
        apps.Lost("gone"): apps.SILENT,
        apps.Wrong("other"): apps.SILENT,
        apps.Refused("no"): apps.REFUSED,
        OSError(5, "Input/output error"): apps.NOTICED,
        None: apps.RIGHT,
    }
    place = apps.Place(tmp_path, tmp_path, tmp_path)
    for error, status in said.items():

        def check(*_, error=error):
            if error is not None:
                raise error

        monkeypatch.setattr(apps, "load", lambda _, check=check: (app.__class__(
            app.summary, {}, app.run, check), {}))  # fmt: skip
        assert apps.check_damaged("copy", place, []) == status
        assert (capsys.readouterr().out == "") == (error is None)
