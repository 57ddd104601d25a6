"""What commands write, on a disk that lies: whole or as before, and there once they have ended.

As in `test_lying_serve.py` the disk is mounted, and knows what a power cut may leave.
"""

import json

import inside
import pytest
from lying import cuts, planted
from lying.mount import lying_disk
from lying.promises import All, Whole

from ssdlab.sweeps.journal import Journal

SMALL = {
    "device.channels": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 17,
    "workload.requests": 500,
}
SET = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
RUN = ("run", "--device", "agrawal2008", *SET, "--quiet")
KILLS = 1500


def said(disk, done, *names):
    """The command has ended well: what it wrote is promised."""
    assert done.returncode == 0, done.stderr
    for name in names:
        disk.say("kept", name)


RUN_FILES = ("out.json", "drive", "asked.parquet", "dir/results.json", "dir/experiment.toml")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The log of two runs that write the same files, the second over those of the first."""
    place = tmp_path_factory.mktemp("runs")
    with lying_disk(place) as disk:
        for seed in (1, 2):
            words = ["--seed", seed, "--json", disk.path / "out.json", "--out", disk.path / "dir"]
            words += ["--requests", disk.path / "asked.parquet"]
            words += ["--set", f"run.save_drive={disk.path / 'drive'}"]
            done = inside.run([*RUN, *map(str, words)], place)
            said(disk, done, *RUN_FILES)
    return disk.log


def promised(*names):
    return All(*(Whole(name) for name in names))


def test_results_are_whole_and_there_after_every_kill(runs):
    promises = promised(*RUN_FILES)
    found = cuts.kill(runs, promises, kills=KILLS)
    assert found is None, found
    assert [len(it.versions) for it in promises.promises] == [3] * len(RUN_FILES)


@pytest.mark.parametrize("mistake", planted.MISTAKES, ids=lambda it: it.__name__)
def test_a_planted_mistake_is_found(runs, mistake):
    found = cuts.kill(mistake(runs), promised(*RUN_FILES), kills=10_000)
    assert found is not None, f"{mistake.__name__} was not found"
    print(f"{mistake.__name__}: {found}")


def test_each_sync_is_needed(runs):
    rows = list(planted.each(runs))
    kills = [cuts.kill(log, promised(*RUN_FILES), kills=2000) for _, log in rows]
    missed = [place for (place, _), found in zip(rows, kills, strict=True) if found is None]
    print(f"{len(rows) - len(missed)} of {len(rows)} missing syncs were found")
    assert rows and not missed, [runs[place] for place in missed]


class Points:
    """A journal from which a sweep can go on: each point as it was, or missing."""

    def __init__(self, truth, directory):
        self._truth, self._path = truth, directory / "again.jsonl"
        self._seen, self._all = {}, False
        self.partial = 0

    def said(self, *mark):
        self._all |= mark == ("kept", "table.jsonl")

    def renamed(self, name, content):
        """The lines in the order of the points are another journal."""

    def broken(self, image):
        text = image.get("table.jsonl")
        if text is None:
            return "the journal is gone" if self._all else None
        key = text, self._all
        if key not in self._seen:
            self._seen[key] = self._checked(text)
        return self._seen[key]

    def _checked(self, text):
        self._path.write_bytes(text)
        journal = Journal(self._path)
        try:
            points = {key: journal.results(key) for key in self._truth if key in journal}
        except ValueError as error:
            return f"a point cannot be read: {error}"
        finally:
            journal.close()
        self.partial += 0 < len(points) < len(self._truth)
        if any(self._truth[key] != results for key, results in points.items()):
            return "a point is another"
        return "a point is missing" if self._all and len(points) < len(self._truth) else None


def swept(tmp_path):
    """The log of a sweep, and the results of its points."""
    with lying_disk(tmp_path) as disk:
        words = ["sweep", "--device", "agrawal2008", *SET, "--quiet"]
        words += ["--vary", "device.timing.read=10us,20us,30us,40us,50us,60us", "--workers", "2"]
        words += ["--out", str(disk.path / "table.csv"), "--json", str(disk.path / "points.json")]
        done = inside.run(words, tmp_path)
        said(disk, done, "table.jsonl", "table.csv", "points.json")
        lines = (disk.path / "table.jsonl").read_text().splitlines()
    return disk.log, {line["key"]: line["results"] for line in map(json.loads, lines)}


def test_a_sweep_goes_on_from_what_is_left_of_it(tmp_path):
    log, truth = swept(tmp_path)
    points = Points(truth, tmp_path)
    whole = promised("table.csv", "points.json")
    found = cuts.kill(log, All(points, whole), kills=KILLS)
    assert found is None, found
    assert points.partial > 3, "no kill came in the middle of the sweep"


def test_what_is_drawn_and_converted_is_whole(tmp_path, ssdlab):
    with lying_disk(tmp_path) as disk:
        trace, page = disk.path / "t.parquet", disk.path / "page.html"
        text = disk.path / "t.iolog"
        said(disk, ssdlab(*RUN, "--requests", trace, "--json", tmp_path / "r.json"), "t.parquet")
        said(disk, ssdlab("trace", "convert", trace, text), "t.iolog")
        said(disk, ssdlab("report", tmp_path / "r.json", "--out", page), "page.html")
    found = cuts.kill(disk.log, promised("t.parquet", "t.iolog", "page.html"), kills=KILLS)
    assert found is None, found
