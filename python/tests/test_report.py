import html.parser
import io
import json
import re
import shutil
import subprocess

import pytest

import ssdlab
from ssdlab import Results, Sweep
from ssdlab.running.display import results_table

VOID = {"meta", "br", "input"}
SVG = {"line", "circle", "polyline", "rect", "path"}


class Page(html.parser.HTMLParser):
    """Asserts that tags are balanced; collects headings, texts and what would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.fetched, self.headings = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.fetched += [v for k, v in attributes.items() if k in ("src", "href", "srcset")]
        assert tag not in ("script", "link", "iframe", "img", "object")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in SVG

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def read(path):
    text = path.read_text()
    assert len(text) < 1_000_000
    page = Page(text)
    assert all(target.startswith("#") for target in page.fetched)
    assert "http" not in re.sub(r"<title>.*?</title>", "", text)
    assert "@import" not in text and "url(" not in text
    return page


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that clean, kept in directories."""
    place = tmp_path_factory.mktemp("runs")
    experiment = ssdlab.Experiment(
        set={
            "device.blocks_per_plane": 64,
            "workload.requests": 20_000,
            "workload.read_share": 0.5,
            "run.precondition": "random:1",
            "run.timeline": "20ms..24ms",
        }
    )
    for name, channels in (("a", 8), ("b", 4)):
        (place / name).mkdir()
        results = experiment.changed(set={"device.channels": channels}).run()
        results.save(place / name / "results.json")
    return place


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A sweep over a number and a word, in which one point fails."""
    path = tmp_path_factory.mktemp("sweep") / "s.parquet"
    from concurrent.futures import ThreadPoolExecutor

    ssdlab.sweep(
        set={"device.blocks_per_plane": 64, "workload.requests": 2000, "workload.read_share": 0.5},
        vary={"device.spare_factor": [0.01, 0.15, 0.3], "device.pool": ["package", "die"]},
        executor=ThreadPoolExecutor(2),
        out=path,
    )
    return path.with_suffix(".jsonl")


def test_the_page_of_a_run_says_what_the_results_say(ssdlab, runs, tmp_path):
    done = ssdlab("report", runs / "a", "--out", "r.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = read(tmp_path / "r.html")
    assert page.headings == [
        "agrawal2008 under mixed",
        "Latency",
        "Where the time goes",
        "Over time",
        "Flash",
        "Flash operations",
        "Wear",
        "Health",
        "Energy",
        "Units and buses",
        "Experiment",
    ]
    results = json.loads((runs / "a" / "results.json").read_text())
    amplification = results["flash"]["write_amplification_bytes"]
    assert amplification > 1
    assert f"{amplification:.3f}" in page.texts
    assert f"{results['flash']['pages_moved']:,}" in page.texts
    toml = next(text for text in page.texts if "[device.cleaning]" in text)
    (tmp_path / "again.toml").write_text(toml)
    again = json.loads(ssdlab("run", "again.toml", "--json", "-").stdout)
    assert again["host"] == results["host"]


def test_the_page_has_the_latencies_of_each_class(tmp_path):
    small = {"device.blocks_per_plane": 64, "workload.requests": 2000, "workload.rate": 6000}
    results = ssdlab.run(workload="ssdiq-load", set=small)
    ssdlab.report(results, tmp_path / "report.html")
    texts = read(tmp_path / "report.html").texts
    for name, kind in ("measured", "read"), ("measured", "write"), ("others", "write"):
        row = texts.index(f"{name} {kind}")
        assert f"{results.classes[name][kind].requests:,}" in texts[row : row + 3]


def test_the_page_shows_the_flash_over_time_its_wear_and_its_operations(ssdlab, runs, tmp_path):
    assert ssdlab("report", runs / "a", runs / "b", "--out", "r.html").returncode == 0
    text = (tmp_path / "r.html").read_text()
    page = read(tmp_path / "r.html")
    for title in ("Write amplification", "Free blocks", "Cleaning: blocks erased a second"):
        assert page.texts.count(title) == 1, "one curve for each result in one drawing"
    results = [Results.load(runs / name) for name in "ab"]
    # A cell is a rectangle of one path of its shade; a bar has a path of its own with its title.
    cells = sum(path.count("M") for path in re.findall(r'class="shade" .*?d="(.*?)"', text))
    assert cells == sum(len(row.mean_erases) for it in results for row in it.wear.map)
    for it in results:
        operations = it.timeline.operations.to_dict()
        assert 40 < len(operations["kind"]) < 2000 and not it.timeline.cut
        kinds = set(operations["kind"])
        assert {"read", "program", "erase"} <= kinds
        for kind in kinds:
            assert f"{operations['kind'].count(kind):,}" in page.texts
    bars = re.findall(r'<path d="M(\d+) (\d+)\.1h(\d+)v', text)
    assert len(bars) == sum(len(it.timeline.operations.lane) for it in results)
    window = 4_000_000
    assert all(int(left) >= 0 and int(left) + int(width) <= window for left, _, width in bars)
    # Enlarging works with the keyboard alone: radio buttons with labels, and a view to scroll.
    assert text.count('type="radio"') == text.count('<label for="zoom-') == 8
    assert text.count('class="view" tabindex="0"') == 2


def test_a_long_record_is_cut_and_drawn_within_bounds(ssdlab, tmp_path):
    done = ssdlab(
        *("run", "--timeline", "0s..60s", "--out", "out", "--set", "workload.requests=30000"),
    )
    assert done.returncode == 0
    assert "the timeline was cut after 20,000 operations" in done.stderr
    timeline = Results.load(tmp_path / "out").timeline
    assert timeline.cut and len(timeline.operations.kind) == 20_000
    assert ssdlab("report", "out", "out", "--out", "r.html").returncode == 0
    page = read(tmp_path / "r.html")
    assert "The record was cut after 20,000 operations." in page.texts
    assert page.texts.count("10,000 of 20,000 operations are drawn.") == 2


def test_a_window_that_is_none_is_refused(refused):
    message = refused("run", "--timeline", "2ms")
    assert "--timeline 2ms" in message and "10ms..12ms" in message
    assert "no flash" in refused("run", "--timeline", "0s..1s", "--set", "device.kind=linear")


def test_the_curve_of_latencies_ends_with_all_requests(runs):
    host = Results.load(runs / "a").host
    for kind in ("read", "write", "all"):
        histogram, stats = host[kind].histogram, host[kind]
        assert sum(histogram.requests) == stats.requests
        assert histogram.below_us[0] > stats.min_us
        assert histogram.below_us[-2] <= stats.max_us < histogram.below_us[-1]
        share, median = 0, stats.percentiles_us["50"]
        for below, requests in zip(histogram.below_us, histogram.requests, strict=True):
            share += requests / stats.requests
            if share >= 0.5:
                assert 0.87 * below <= median <= below * 1.001
                break


def test_several_runs_stand_side_by_side(ssdlab, runs, tmp_path):
    assert ssdlab("report", runs / "a", runs / "b", "--out", "r.html").returncode == 0
    page = read(tmp_path / "r.html")
    assert page.headings[0] == "2 results"
    assert "Side by side" in page.headings
    assert "device.channels" in page.texts


def test_the_page_of_a_sweep(ssdlab, sweep, tmp_path):
    done = ssdlab("report", sweep, "--out", "s.html", "--minimize", "mean_us")
    assert done.returncode == 0, done.stderr
    page = read(tmp_path / "s.html")
    assert page.headings[0] == "Sweep of spare factor, pool"
    for heading in ("Best", "Heat map", "By parameter", "Points"):
        assert heading in page.headings
    loaded = Sweep.load(sweep)
    assert len(loaded) == 6 and len(loaded.errors) == 2
    best = min(value for value in loaded.columns["host.all.mean_us"] if value)
    assert sum(f"{best:,.4g}" == text for text in page.texts) >= 2  # among the best, and a cell


def test_refused(refused, runs, sweep, tmp_path):
    assert "one sweep, or results" in refused("report", sweep, runs / "a", "--out", "r.html")
    assert "cannot be read" in refused("report", "no.json", "--out", "r.html")
    assert "does not exist" in refused("report", runs / "a", "--out", "no/r.html")
    assert "have no" in refused("report", sweep, "--out", "r.html", "--minimize", "nothing")
    assert "of a sweep" in refused("report", runs / "a", "--out", "r.html", "--minimize", "p99")
    old = json.loads((runs / "a" / "results.json").read_text()) | {"schema": 2}
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert "schema 2" in refused("report", runs / "a", "old.json", "--out", "r.html")
    line = json.loads(sweep.read_text().splitlines()[-1])
    line["results"]["schema"] = 2
    (tmp_path / "old.jsonl").write_text(json.dumps(line) + "\n")
    assert "schema 2" in refused("report", "old.jsonl", "--out", "r.html")
    (tmp_path / "odd.jsonl").write_text("{}\n")
    assert "not written by" in refused("report", "odd.jsonl", "--out", "r.html")
    assert not (tmp_path / "r.html").exists()


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)


def opened(page, directory, width=1200):
    """What a browser writes of a page, and the addresses that the page asks it for."""
    log, picture = directory / "net.json", directory / "page.png"
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            f"--window-size={width},2000",
            f"--user-data-dir={directory / 'profile'}",
            f"--log-net-log={log}",
            f"--screenshot={picture}",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=directory,
    )
    assert done.returncode == 0, done.stderr
    # The browser has business of its own, such as looking for updates; what a page starts is
    # logged with the origin of the page, "null" for a file.
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    started = [event for event in events if "initiator" in event]
    asked = [event["url"] for event in started if event["initiator"] != "not an origin"]
    return done.stderr, asked, picture.stat().st_size


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("kind", ["run", "sweep"])
@pytest.mark.parametrize("width", [360, 1200])
def test_in_a_browser(runs, sweep, tmp_path, kind, width):
    ssdlab.report(runs / "a" if kind == "run" else sweep, tmp_path / "r.html")
    said, asked, size = opened(tmp_path / "r.html", tmp_path, width)
    assert "CONSOLE" not in said
    assert asked == []
    assert size > 20_000


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_what_a_page_asks_a_browser_for_is_seen(tmp_path):
    addresses = ["http://127.0.0.1:1/picture.png", "https://127.0.0.1:1/style.css"]
    page = tmp_path / "page.html"
    page.write_text(
        f'<img src="{addresses[0]}"><link rel="stylesheet" href="{addresses[1]}">'
        '<script>console.log("said")</script>'
    )
    said, asked, _ = opened(page, tmp_path)
    assert "CONSOLE" in said
    assert sorted(set(asked)) == addresses


def test_requests_that_take_no_time_have_a_report(tmp_path):
    workload = {"kind": "closed", "requests": 100}
    results = ssdlab.run(device={"preset": "null"}, workload=workload)
    ssdlab.report(results, tmp_path / "nothing.html")
    assert "null" in (tmp_path / "nothing.html").read_text()


def test_a_disk_has_its_section(tmp_path):
    workload = {"kind": "closed", "requests": 500, "outstanding": 4}
    results = ssdlab.run(device={"preset": "sata-2008"}, workload=workload)
    ssdlab.report(results, tmp_path / "disk.html")
    assert "Disk" in read(tmp_path / "disk.html").texts
    shown = results_table(results, io.StringIO())
    assert "heads busy" in shown
    assert f"{results['disk']['media_reads']:,}" in shown
