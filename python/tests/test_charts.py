"""The figures: each is data, and both back ends draw every kind."""

import doctest
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ssdlab
from ssdlab import readable
from ssdlab.calibration import figures as of_calibration
from ssdlab.charts import (
    Axis,
    Band,
    Cells,
    Figure,
    Level,
    Reading,
    Series,
    Spans,
    Threads,
    matplotlib,
    scales,
    stacks,
    style,
    svg,
    text,
)
from ssdlab.costing import Need, Prices, bill, of_results
from ssdlab.costing import figures as of_cost
from ssdlab.results import figures as of_run
from ssdlab.results import over_time
from ssdlab.results.records import PARTS
from ssdlab.sweeps import figures as of_sweep
from ssdlab.trace import figures as of_trace

PACKAGE = Path(ssdlab.__file__).parent
NUMBERS = Axis("time, s"), Axis("requests/s")
WORDS = ("read", "write")

#: A figure of each kind, and what a reader of the page must find in it.
KINDS = {
    "line": (Figure("a", *NUMBERS, [Series("it", [1, 2, 3], [1, None, 3])]), ["it", "time, s"]),
    "log": (
        Figure(
            "b", Axis("x", log=10), Axis("y", log=10), [Series("it", [1, 10, 1e6], [1, 2, 3e6])]
        ),
        ["1M", "10M"],
    ),
    "dots": (
        Figure("c", Axis("x", zero=False), Axis("y", zero=False), [Series("it", [5], [7], "dots")]),
        ["x 5, y 7"],
    ),
    "below zero": (
        Figure("d", Axis("x", log=2), Axis("y"), [Series("it", [1, 2], [-3, 4])]),
        ["-3"],
    ),
    "bars": (
        Figure("e", *NUMBERS, [Series(n, WORDS, [1, 2]) for n in ("p", "q")]),
        ["read", "write", "p", "q"],
    ),
    "stack": (
        Figure(
            "f",
            Axis(words=WORDS, notes=("3us", "4us"), below=("", "slow")),
            Axis("us"),
            [Series(n, WORDS, [1, 2], "bars") for n in ("p", "q")],
            stacked=True,
            horizontal=True,
        ),
        ["read", "3us", "write", "4us", "slow", "p", "q"],
    ),
    "bins": (
        Figure("g", *NUMBERS, [Series("it", [0, 5], [3, 4], "bars", width=5)]),
        ["it, 5: 4", "10"],
    ),
    "spans": (
        Figure(
            "h",
            Axis("us", low=10, high=20),
            Axis(words=["die 0", "die 1"]),
            [Spans("erase", [0, 1], [5, 11], [12, 25], ["first", "second"], 7)],
        ),
        ["die 1", "first", "second", "erase"],
    ),
    "map": (
        Figure("i", Axis("place"), Axis(words=["die 0"]), [Cells("erases", [[1, 2, None]])]),
        ["die 0"],
    ),
    "table": (
        Figure(
            "j",
            Axis("pool", words=["die"]),
            Axis("x", words=["1", "2"]),
            [Cells("us", [[1.5], [2]])],
        ),
        ["1.5", "2", "us: x down, pool across; more colour is more"],
    ),
    "percentiles": (
        Figure(
            "m",
            Axis("percentile, %", percentile=True),
            Axis("latency", log=10, unit="us"),
            [
                Series("it", [0.0, 0.5, 0.9, 0.99], [10, 20, 100, 2000], role="read"),
                Level("a mean", 50),
            ],
        ),
        ["0", "50", "90", "99", "10\u202fµs", "10\u202fms", "a mean", "percentile, %"],
    ),
    "band": (
        Figure(
            "n",
            *NUMBERS,
            [Band("", [1, 2, 3], [1, None, 1], [3, 3, 5], "read"), Series("it", [1, 2], [2, 2])],
        ),
        ["it", "time, s"],
    ),
    "density": (
        Figure(
            "k",
            Axis("s", low=0, high=9),
            Axis("GiB", low=0, high=2),
            [Cells("requests", [[1, None], [100, 7]], log=True)],
        ),
        ["GiB", "8"],
    ),
    "threads": (
        Figure(
            "l",
            Axis("through", words=["a", "b"], ends=[("0", "9"), ("die", "package")]),
            Axis(),
            [Threads("best", [[0.0, 1.0]], 1, strong=True), Threads("others", [[0.5, 0.5]])],
        ),
        ["package", "best"],
    ),
}


def texts(page):
    """What a page says, pictures included; it is well-formed."""
    page = re.sub(r"<input([^>]*?)( checked)?>", r"<input\1/>", page)  # HTML leaves these open
    return [text.strip() for text in ElementTree.fromstring(f"<p>{page}</p>").itertext()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_every_kind_of_figure(kind):
    drawn, expected = KINDS[kind]
    said = texts(svg.figure(drawn))
    assert drawn.title in said
    assert set(expected) <= set(said)


@pytest.mark.parametrize("kind", KINDS)
def test_matplotlib_shows_every_kind_of_figure(kind):
    pytest.importorskip("matplotlib")
    drawn, _ = KINDS[kind]
    (axes, *_) = (sheet := matplotlib.sheet([[drawn]], "a chart")).axes
    assert axes.get_title() == drawn.title
    marked = [*axes.lines, *axes.patches, *axes.collections, *axes.images]
    assert len(marked) >= len(drawn.series)
    labels = {axes.get_xlabel(), axes.get_ylabel()}
    assert labels >= {drawn.x.label, drawn.y.label} - {""}
    assert sheet._repr_png_().startswith(b"\x89PNG")


def test_marks_of_matplotlib_have_their_unit():
    pytest.importorskip("matplotlib")
    line = Series("it", [0.0, 0.5, 0.99], [100.0, 1000.0, 20000.0])
    figure = Figure("", Axis("p", percentile=True), Axis("latency", log=10, unit="us"), [line])
    shown = matplotlib.sheet([[figure]], "a chart").axes[0].yaxis.get_major_formatter()
    assert [shown(it, 0) for it in (1000.0, 10.0)] == [
        f"1{readable.THIN}ms",
        f"10{readable.THIN}µs",
    ]


def test_both_place_a_value_alike():
    """A point a quarter up a linear axis, and half up a logarithmic one, is there in both."""
    pytest.importorskip("matplotlib")
    for y, values, share in (
        (Axis("y", low=0, high=8), [2, 8], 0.25),
        (Axis("y", log=10), [10, 100, 1], 0.5),
    ):
        drawn = Figure("", Axis("x"), y, [Series("it", [*range(len(values))], values)])
        dots = re.findall(r'class="dot[^>]*d="M[\d.]+ ([\d.]+)h0"', svg.draw(drawn))
        assert 1 - float(dots[0]) / svg.SIDE == pytest.approx(share, abs=0.01)
        axes = matplotlib.sheet([[drawn]], "a chart").axes[0]
        if not y.log:
            assert axes.get_ylim() == (0, 8)
        assert axes.get_yscale() == ("log" if y.log else "linear")
        assert list(axes.lines[0].get_ydata()) == values


def test_lines_of_one_kind_share_a_colour_and_differ_in_dashes():
    names = ["read, A", "write, A", "read, B", "write, B"]
    drawn = Figure("", *NUMBERS, [Series(name, [1, 2], [1, 2]) for name in names])
    assert drawn.styles() == [(0, 0), (1, 0), (0, 1), (1, 1)]
    drawn_as = svg.draw(drawn)
    assert drawn_as.count("stroke-dasharray") == drawn_as.count("key dashed") == 2
    first, second = (style.ROLES[role][0] for role in style.PALETTE[:2])
    axes = matplotlib.sheet([[drawn]], "a chart").axes[0]
    assert [(it.get_color(), it.get_linestyle()) for it in axes.lines] == [
        (first, "-"),
        (second, "-"),
        (first, "--"),
        (second, "--"),
    ]


def test_a_terminal_shows_a_grid_bars_and_steps():
    axes = Axis("s", low=0, high=30), Axis("GiB", low=0, high=2)
    layers = [Cells("reads", [[9, 0, 1], [0, 0, 0]]), Cells("others", [[0, 0, 2], [0, 100, 0]])]
    drawn = Figure("", *axes, layers)
    assert drawn.grid() == Cells("reads and others", [[9, None, 3], [None, 100, None]])
    picture = text.grid(drawn, 40, True, "{:g} s".format, "{:g} GiB".format)
    assert picture.plain.splitlines() == [
        "    1 GiB | # ",
        "    0 GiB |: .",
        "          +---",
        "           0 30 s",
    ]
    shaded = {picture.plain[it.start : it.end]: it.style for it in picture.spans}
    assert (shaded[":"], shaded["."], shaded["#"]) == ("green", "yellow", "yellow")
    words = ["1 KiB", "4 KiB"]
    stacked = [Series("reads", words, [3, 0]), Series("others", words, [3, 2])]
    found = text.bars(Figure("", Axis(words=words), Axis(), stacked, stacked=True), 6, True)
    assert (found[0].style, [(it.start, it.style) for it in found[0].spans]) == (
        "green",
        [(3, "yellow")],
    )
    assert [bar.plain for bar in found] == ["######", "##"]
    bins = Series("it", [0, 1, 2], [0, 4, 8], "bars", width=1)
    assert text.steps(Figure("", *NUMBERS, [bins]), False).plain == " ▄█"
    assert stacks.stack([1, 0, 3], 8, True).plain == "..++++++"
    assert stacks.level(0.5, 4, False).plain == "██░░"


def test_every_part_of_a_latency_has_a_look_of_its_own():
    """Of all that there are, in pages and terminals: no two share a colour or a glyph."""
    for theme in (0, 1):
        assert len({style.ROLES[style.part_role(part)][theme] for part in PARTS}) == len(PARTS)
    assert len(stacks.LOOKS) == len(PARTS)
    for looks in zip(*stacks.LOOKS, stacks.OTHER_LOOK, strict=True):
        assert len(set(looks)) == len(looks)


def curves(requests):
    """The latency figure of requests in two bins that lie apart."""
    histogram = {"below_us": [10.24, 65.536], "requests": requests}
    host = {"requests": sum(requests), "min_us": 10.0, "max_us": 65.0, "histogram": histogram}
    return of_run.latency([("", ssdlab.Results({"host": {"all": host, "read": host}}))]).series


def test_a_latency_curve_is_upright_where_no_request_is_and_ends_where_ten_are_slower():
    [curve] = curves([25, 75])
    assert list(curve.x) == pytest.approx([0.0, 0.25, 0.25, 0.9])
    assert list(curve.y)[:3] == pytest.approx([10.0, 10.24, 65.536 * 8 / 9])
    assert curve.y[2] < curve.y[3] < 65.0
    assert list(curves([5, 14])) == [], "nineteen requests have no percentiles"


def test_text_and_marks_have_contrast():
    """WCAG 2: text 4.5 on paper and on segments, marks 3 on paper, in light and dark."""
    for theme in (0, 1):
        paper = style.PAPER["bg"][theme]
        for name in ("fg", "dim", "link", "pass", "fail", "warn"):
            assert style.contrast(style.PAPER[name][theme], paper) >= 4.5, name
        for name in ("fg", "warn"):
            note = style.PAPER["note"][theme]
            assert style.contrast(style.PAPER[name][theme], note) >= 4.5, name
        for role, pair in style.ROLES.items():
            colour = pair[theme]
            assert style.contrast(style.text_on(colour), colour) >= 4.5, role
            if role not in ("idle", "context", "buffer", "unit"):
                assert style.contrast(colour, paper) >= 3, role
        for role in style.RUNS:
            assert style.contrast(style.ROLES[role][theme], paper) >= 4.5, "it is text as well"


def test_strips_share_an_axis_and_say_their_values():
    figures = [
        Figure(
            title,
            Axis("simulated time", unit="s"),
            Axis("requests/s", unit="rate"),
            [Series("it", [0.5, 1.5], [1000.0, None], role="read")],
            readings=[Reading("1,000/s", "whole run")],
        )
        for title in ("Requests", "Again")
    ]
    drawn = svg.strips(figures)
    said = texts(drawn)
    assert {"Requests", "Again", "1,000/s", "whole run", "simulated time"} <= set(said)
    assert drawn.count('class="xl"') == 1, "the axis stands below the last strip"
    assert "–" in drawn, "an absent value is a dash under the cross-hair"
    assert svg.strips([]) == ""


def test_an_empty_figure_is_no_figure():
    assert svg.figure(Figure("a", *NUMBERS)) == ""
    assert svg.figure(Figure("a", *NUMBERS, [Series("it", [], [])])) == ""
    with pytest.raises(ssdlab.InputError, match="nothing to draw"):
        matplotlib.sheet([], "a chart")


def test_what_cannot_be_drawn_to_is_refused_first(tmp_path):
    pytest.importorskip("matplotlib")
    matplotlib.check("--plot", tmp_path / "it.svg")
    with pytest.raises(ssdlab.InputError, match="--plot it: the extension says which format"):
        matplotlib.check("--plot", Path("it"))
    with pytest.raises(ssdlab.InputError, match=r"it.what: the extension must be one of .*png"):
        matplotlib.check("--plot", Path("it.what"))


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """Every figure of the product except in studies, by where it is described."""
    cleaning = {
        "device.blocks_per_plane": 64,
        "workload.requests": 3000,
        "workload.read_share": 0.5,
        "run.precondition": "random:1",
        "run.timeline": "1ms..3ms",
    }
    run = ssdlab.run(set=cleaning)
    named = [("A x", run), ("B y", run)]
    place = tmp_path_factory.mktemp("figures")
    at, count = range(0, 10**9, 10**7), 100
    ssdlab.trace.write(
        place / "it.parquet",
        at_ns=at,
        op=["read", "write"] * (count // 2),
        sector=[8 * n * n for n in range(count)],
        sectors=[8, 16] * (count // 2),
    )
    trace = ssdlab.trace.info(place / "it.parquet")
    rows = [
        {"a": a, "b": b, "us": a * 2.0 + len(b), "wa": 9.0 - a} for a in (1, 2) for b in ("x", "yz")
    ]
    best = [row["us"] < 4 for row in rows]
    bills = [
        bill(of_results(name, run.to_dict(), Prices(device_dollars=dollars)), Need({}, {}))
        for name, dollars in (("a", 9.0), ("b", 5.0))
    ]
    found = {
        "points": [
            {"pattern": "seq_read", "outstanding": 1, "bytes": n, "mean_us": n / 1000}
            for n in (4096, 8192)
        ],
        "patterns": {
            "seq_read": {
                "sizes": [{"bytes": n, "error_percent": n / 4096 - 1.5} for n in (4096, 8192)],
                "outstanding": {"1": {"a_us": 0.0, "b_us_per_kib": 1.024}},
                **dict.fromkeys(("a_us", "b_us_per_kib"), 1.0),
                **dict.fromkeys(("mean_error_percent", "max_error_percent"), 0.5),
            }
        },
    }
    curve = [{"capacities": n / 10, "write_amplification": 1 + n / 9} for n in range(1, 9)]
    placed = ssdlab.Results({"fdp": {"write_amplification_curve": curve}})
    return {
        of_run: [
            of_run.latency(named),
            of_run.breakdown(named),
            *over_time.strips([named[0]]),
            *over_time.strips(named),
            of_run.units(run),
            of_run.timeline(run),
            of_run.wear("", run),
            of_run.placement(placed),
        ],
        of_trace: [of_trace.density(trace), of_trace.sizes(trace), of_trace.working_set(trace)],
        of_sweep: [
            of_sweep.trade_off(rows, best, "us", "wa"),
            of_sweep.heat_map(rows, "a", "b", "us"),
            of_sweep.by_parameter(rows, "a", "us"),
            of_sweep.by_parameter(rows, "b", "us"),
            of_sweep.parallel(rows, best, ["a", "b", "us", "wa"]),
        ],
        of_cost: of_cost.all_of(bills, [False, True], "p99"),
        of_calibration: [figure for row in of_calibration.rows(found) for figure in row],
    }


@pytest.mark.parametrize("where", [of_run, of_trace, of_sweep, of_cost, of_calibration])
def test_every_figure_can_be_drawn_by_either(every, where):
    pytest.importorskip("matplotlib")
    for drawn in every[where]:
        assert not drawn.empty(), drawn.title
        said = texts(svg.figure(drawn))
        parts = {line.name for line in drawn.lines() if drawn.stacked and not any(line.y)}
        names = {mark.name for mark in drawn.series if not isinstance(mark, Cells)} - parts
        assert names <= {*said, ""}
        assert matplotlib.sheet([[drawn]], "a chart")._repr_png_()


def test_the_busiest_units_and_lanes_are_kept():
    unit = {"cleaning": 0.0, "queue_mean": None}
    units = [{"name": f"die {n}", "busy": n / 10, **unit} for n in range(5)]
    drawn = of_run.units(ssdlab.Results({"units": units}), most=2)
    assert [*drawn.x.words] == ["die 4", "die 3"]
    columns = {
        "lane": [0, 2, 2, 1, 1],
        "kind": ["read", "erase", "read", "read", "read"],
        "start_ns": [0, 0, 2000, 0, 500],
        "end_ns": [1000, 1500, 3000, 500, 900],
        "bus_ns": [0] * 5,
    }
    record = {"lanes": ["a", "b", "c"], "from_ns": 0, "to_ns": 9000, "operations": columns}
    drawn = of_run.timeline(ssdlab.Results({"timeline": record}), lanes=2)
    assert [*drawn.y.words] == ["b", "c"]
    assert {mark.name: [*mark.lanes] for mark in drawn.series} == {"read": [1, 0, 0], "erase": [1]}
    assert drawn.count() == 4
    assert (drawn.x.low, drawn.x.high) == (0, 3)


def test_figures_are_drawn_by_the_back_ends_alone():
    """Nothing else of the package imports matplotlib, writes SVG, or draws with characters."""
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text()
        if path.parent.name != "charts":
            assert not re.search(r"<(svg|polyline|path|rect|circle)\b|[░▒▓█▄]", source), path
        if path.relative_to(PACKAGE) != Path("charts/matplotlib.py"):
            assert not re.search(r"^\s*(import|from) matplotlib|pyplot", source, re.M), path


def test_examples_in_docstrings():
    assert all(doctest.testmod(it).failed == 0 for it in (scales, style, readable))
