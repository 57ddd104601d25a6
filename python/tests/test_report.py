import html.parser
import io
import json
import re
import shutil
import subprocess

import pytest

import ssdlab
from ssdlab import InputError, Results, Sweep, readable
from ssdlab.reports import runs as pages_of_runs
from ssdlab.results.display import results_table
from ssdlab.results.verdict import verdict

VOID = {"meta", "br", "input"}
SVG = {"line", "polyline", "rect", "path", "br"}


class Page(html.parser.HTMLParser):
    """Asserts that tags are balanced; collects headings, texts and what would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.fetched, self.headings = [], [], [], []
        self.sections = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.fetched += [v for k, v in attributes.items() if k in ("src", "href", "srcset")]
        assert tag not in ("link", "iframe", "img", "object")
        assert tag != "script" or not attributes, "the one script is in the page"
        if tag == "section":
            self.sections.append(attributes["id"])
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
    """A sweep over a number and a word, without two points: a plane has few blocks."""
    path = tmp_path_factory.mktemp("sweep") / "s.parquet"
    from concurrent.futures import ThreadPoolExecutor

    ssdlab.sweep(
        set={"device.blocks_per_plane": 64, "workload.requests": 2000, "workload.read_share": 0.5},
        vary={"device.spare_factor": [0.055, 0.06, 0.3], "device.pool": ["package", "plane"]},
        executor=ThreadPoolExecutor(2),
        out=path,
        skip=True,
    )
    return path.with_suffix(".jsonl")


def test_the_page_of_a_run_says_what_the_results_say(ssdlab, runs, tmp_path):
    done = ssdlab("report", runs / "a", "--out", "r.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = read(tmp_path / "r.html")
    assert page.sections == [
        "latency", "time", "over-time", "flash", "wear", "energy", "units", "operations",
        "experiment", "trust",
    ]  # fmt: skip
    assert page.headings[0] == verdict(Results.load(runs / "a")).sentence
    results = json.loads((runs / "a" / "results.json").read_text())
    amplification = results["flash"]["write_amplification_bytes"]
    assert amplification > 1
    assert (
        f"Write amplification {amplification:.2f}: bytes programmed per byte the host wrote"
        in page.texts
    )
    assert f"{results['flash']['pages_moved']:,}" in page.texts
    toml = next(text for text in page.texts if "[device.cleaning]" in text)
    (tmp_path / "again.toml").write_text(toml)
    again = json.loads(ssdlab("run", "again.toml", "--json", "-").stdout)
    assert again["host"] == results["host"]


def test_runs_of_one_mean_with_other_tails_are_not_called_the_same(runs, tmp_path):
    from ssdlab.reports import several

    data = json.loads((runs / "a" / "results.json").read_text())
    mine = ssdlab.Results.load(runs / "a")
    assert "p99" not in several._sentence([("A", mine), ("B", mine)])
    tail = data["host"]["all"]["percentiles_us"]
    tail["99"] = tail["99.9"]
    (tmp_path / "other.json").write_text(json.dumps(data))
    other = ssdlab.Results.load(tmp_path / "other.json")
    said = several._sentence([("A", mine), ("B", other)])
    assert said.startswith("B and A have the same ") and ", and p99 " in said


def test_the_page_has_the_latencies_of_each_class(tmp_path):
    small = {"device.blocks_per_plane": 64, "workload.requests": 2000, "workload.rate": 6000}
    results = ssdlab.run(workload="ssdiq-load", set=small)
    ssdlab.report(results, tmp_path / "report.html")
    texts = read(tmp_path / "report.html").texts
    begin = texts.index("By class of the workload")
    for name, kind in ("measured", "read"), ("measured", "write"), ("others", "write"):
        assert f"{name} {kind}" in texts[begin:]
        assert f"{results.classes[name][kind].requests:,}" in texts[begin:]


def test_the_page_shows_the_flash_over_time_its_wear_and_its_operations(ssdlab, runs, tmp_path):
    assert ssdlab("report", runs / "a", runs / "b", "--out", "r.html").returncode == 0
    text = (tmp_path / "r.html").read_text()
    page = read(tmp_path / "r.html")
    for title in ("Write amplification", "Erased blocks", "Cleaning", "Requests"):
        assert page.texts.count(title) == 1, "one line for each result in one strip"
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
    assert "the timeline stopped after 20,000 operations" in done.stderr
    timeline = Results.load(tmp_path / "out").timeline
    assert timeline.cut and len(timeline.operations.kind) == 20_000
    assert ssdlab("report", "out", "out", "--out", "r.html").returncode == 0
    page = read(tmp_path / "r.html")
    assert "The recording stopped after 20,000 operations." in page.texts
    assert page.texts.count("10,000 of 20,000 operations are drawn.") == 2


def test_a_window_with_few_operations_proposes_one_with_enough():
    def shown(window):
        return ssdlab.run(
            device="tlc-enterprise",
            workload="mixed",
            set={"run.timeline": window, "workload.requests": 4000},
        )

    few = shown("2ms..2.5ms")
    text = pages_of_runs.page([few])
    number = len(few.timeline.operations.kind)
    assert 0 < number < 100 and f"Only {number} operation" in text
    wider = text.partition("--timeline ")[2].partition(",")[0]
    assert 300 < len(shown(wider).timeline.operations.kind) < 3000, wider
    assert "Only " not in pages_of_runs.page([shown(wider)])


def test_a_malformed_window_is_refused(refused):
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
    assert page.headings[0].startswith("B channels=4 is")
    assert "differences" in page.sections
    assert "device.channels" in page.texts
    assert {"A channels=8", "B channels=4"} <= {*page.texts}
    words = " ".join(page.texts)
    assert " longer, " in words and "worse" in words and "same" in words


def test_the_page_of_a_sweep(ssdlab, sweep, tmp_path):
    done = ssdlab("report", sweep, "--out", "s.html", "--minimize", "mean_us")
    assert done.returncode == 0, done.stderr
    page = read(tmp_path / "s.html")
    assert page.headings[0].startswith("The lowest mean, ")
    assert page.sections == ["best", "heat-map", "by-parameter", "points"]
    loaded = Sweep.load(sweep)
    assert len(loaded) == 4 and not loaded.errors
    best = min(value for value in loaded.columns["host.all.mean_us"] if value)
    assert page.texts.count(readable.time(best)) >= 2  # among the best, and among all


def damaged(value, keys):
    """Copies of results in which a section is a number, a list or nothing."""
    for key in keys:
        for other in (7, [], None, {}):
            yield {**value, key: other}


def test_a_file_that_is_not_ours_is_refused_without_a_traceback(refused, runs, tmp_path):
    results = json.loads((runs / "a" / "results.json").read_text())
    keys = ("host", "experiment", "simulated_seconds", "version")
    files = {f"{n}.json": json.dumps(it) for n, it in enumerate(damaged(results, keys))}
    files |= {"list.json": "[1]", "deep.json": "[" * 9999, "text.json": "results", "text.csv": "a"}
    files |= {"numbers.jsonl": "1\n2\n", "none.jsonl": "", "none.json": "", "odd.parquet": "PAR1"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes.json").write_bytes(bytes(range(256)))
    (tmp_path / "bytes.jsonl").write_bytes(bytes(range(256)))
    for name in [*files, "bytes.json", "bytes.jsonl"]:
        path = tmp_path / name
        try:
            ssdlab.report(path, tmp_path / "r.html")
        except InputError as error:
            assert path.stem in str(error) and "\n" not in str(error), name
    message = refused("report", "0.json", "--out", "r.html")
    assert message.count("\n") <= 1 and "0.json" in message


def test_what_older_results_lack_is_left_out(runs, tmp_path):
    """Bands, medians over time, blocks by erases, the load that was offered: all later than 0.1."""
    results = json.loads((runs / "a" / "results.json").read_text())
    ssdlab.report(Results(results), tmp_path / "new.html")
    new = read(tmp_path / "new.html").texts
    said = ("By kind of request", "p99 to p99.9", "erase count of a block", "p99")
    assert all(word in new for word in said)
    assert "median; p99 dashed; log" in new
    assert any("/s offered" in text for text in new)
    for host in results["host"].values():
        del host["bands"]
    for key in ("p50_us", "p99_us"):
        del results["time_series"][key]
    del results["wear"]["blocks_by_erases"], results["workload"]["offered_iops"]
    results["warnings"] = []
    ssdlab.report(Results(results), tmp_path / "old.html")
    old = read(tmp_path / "old.html").texts
    assert not any(word in old for word in said[:3])
    assert "mean; slowest dashed; log" in old
    assert not any("offered" in text for text in old)


def test_sections_that_a_file_lacks_are_left_out(runs, tmp_path):
    results = json.loads((runs / "a" / "results.json").read_text())
    for key in ("units", "buses", "wear", "health", "flash", "time_series", "timeline", "warnings"):
        ssdlab.report(Results({k: v for k, v in results.items() if k != key}), tmp_path / "r.html")
        assert key == "warnings" or key.replace("_", "-") not in read(tmp_path / "r.html").sections


def test_wrong_arguments_are_refused(refused, runs, sweep, tmp_path):
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
@pytest.mark.parametrize("kind", ["run", "runs", "sweep"])
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_the_page_loads_nothing_and_logs_no_error_in_a_browser(runs, sweep, tmp_path, kind, width):
    sources = {"run": runs / "a", "runs": [runs / "a", runs / "b"], "sweep": sweep}
    page = tmp_path / "r.html"
    ssdlab.report(sources[kind], page)
    # A window is no narrower than 500 pixels, so the page is looked at in a frame.
    frame = tmp_path / "frame.html"
    frame.write_text(
        FRAME.format(
            page=page.read_text().replace("&", "&amp;").replace('"', "&quot;"), width=width
        )
    )
    said, asked, size = opened(frame, tmp_path, width)
    lines = [line for line in said.splitlines() if "CONSOLE" in line]
    assert len(lines) == 1 and '"0 silent"' in lines[0], lines
    assert asked == []
    assert size > 20_000


#: Says how wide a page is in a frame of a width, and moves its cross-hairs.
FRAME = """<!doctype html><iframe style="border:0;width:{width}px;height:2000px" srcdoc="{page}"
onload="const d = this.contentDocument, key = (e, k) => e.dispatchEvent(new KeyboardEvent('keydown',
{{key: k, bubbles: true}}));
for (const e of d.querySelectorAll('[data-strips], [data-curves]'))
  for (const k of ['ArrowRight', '+', 'ArrowLeft', '-']) key(e, k);
const said = [...d.querySelectorAll('.say')].filter(e => !/^[0-9]/.test(e.textContent)).length;
const root = d.documentElement, scrolls = root.scrollWidth > root.clientWidth;
console.log(scrolls ? 'scrolls sideways' : said + ' silent')"></iframe>"""


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
    assert "disk" in read(tmp_path / "disk.html").sections
    shown = results_table(results, io.StringIO())
    assert "head utilisation" in shown
    assert f"{results['disk']['media_reads']:,}" in shown


def test_the_last_column_of_differences_is_whole_on_a_narrow_screen(small, tmp_path):
    """It ends in words, which may go on in the next line; numbers may not."""
    runs = [ssdlab.run(set=small | {"run.seed": seed}) for seed in (1, 2)]
    ssdlab.report(runs, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    parts = page.split("@media (max-width: 640px)")[1:]
    narrow = "".join(part.partition("@media")[0] for part in parts)
    assert ".ends-in-words td:last-child { white-space: normal }" in narrow
    assert '<table class="ends-in-words">' in page
