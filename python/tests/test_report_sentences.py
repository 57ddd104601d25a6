"""Sentences of a report that the numbers must carry: few requests, overload, other devices."""

import re

import pytest

import ssdlab
from ssdlab import readable
from ssdlab.charts import Axis, Figure, Series, style, svg
from ssdlab.reports import page, trust
from ssdlab.results import figures
from ssdlab.results.facts import Facts
from ssdlab.results.verdict import verdict


def _run(device="agrawal2008", workload="random-read", requests=None, **changes):
    keys = changes.get("set", {})
    if requests:
        keys = keys | {"workload.requests": requests}
    return ssdlab.run(device=device, workload=workload, set=keys)


def test_a_command_of_the_verdict_is_read_again():
    keys = {"device.capacity": "6000000000KiB"}
    results = _run("null", workload="mixed", requests=10)
    facts = Facts(results)
    facts.setting = lambda key: keys.get(key)
    assert facts.times("device.capacity", 0.9) == "device.capacity=5400000000KiB"
    facts.setting = lambda key: "1.5us"
    assert facts.times("device.timing.read", 0.5) == "device.timing.read=0.75us"


def test_one_outstanding_request_is_said_with_its_units():
    results = _run(workload="random-read", requests=200, set={"workload.outstanding": 1})
    found = verdict(results)
    assert found.name == "outstanding"
    assert "its packages are" in found.sentence and found.changes == ("workload.outstanding=4",)


def test_every_closed_loop_is_known():
    keys = {"workload.transactions": 200, "workload.files": 200}
    results = _run(workload="postmark", set=keys)
    assert Facts(results).outstanding == 1
    assert verdict(results).name == "outstanding"


def test_one_request_has_no_percentiles_and_no_plural():
    text = page(_run(workload="mixed", requests=1))
    assert "1 request " in text and "1 requests" not in text
    headings = re.findall("<h2[^>]*>([^<]*)", text)
    assert not any("p99" in it or "median" in it or "above" in it for it in headings)


def test_an_overload_is_no_passed_check():
    keys = {"workload.time_scale": 0.02}
    results = _run(workload="mixed", requests=2000, set=keys)
    assert Facts(results).overloaded
    assert [kind for kind, what, _ in trust.checks(results) if what == "Overloaded"] == ["w"]
    assert not any(what == "Load served" for _, what, _ in trust.checks(results))


@pytest.mark.parametrize(
    ("device", "said"), [("barracuda", "mechanics"), ("zeus-linear", "medium")]
)
def test_a_device_without_flash_has_no_flash_cells(device, said):
    results = _run(device, workload="random-read", requests=100)
    text = page(results)
    assert "flash cells" not in text
    assert f"in the {said}" in text


def test_the_mean_of_a_band_lies_within_it():
    results = _run("zeus-linear", workload="mixed", requests=3000)
    drawn = figures.bands(results.host.all)
    for row, note in zip(results.host.all.bands, drawn.x.notes, strict=True):
        clamped = min(max(row.mean_us, row.from_us), row.to_us)
        assert note == readable.time(clamped)


def test_a_run_that_lives_off_its_reserve_is_not_called_steady():
    keys = {"run.precondition": "random:0.3", "device.cleaning.time": "interleaved"}
    results = _run(workload="random-write", requests=10, set=keys)
    changed = results.to_dict()
    changed["flash"]["block_erases"] = 10
    changed["time_series"]["free_blocks"] = [500, 300]
    behind = ssdlab.Results(changed)
    assert trust.reserve(behind)
    assert any(kind == "w" and what == "Cleaning behind" for kind, what, _ in trust.checks(behind))
    assert "cleaning behind" in page(behind)
    changed["time_series"]["free_blocks"] = [500, 499]
    assert not trust.reserve(ssdlab.Results(changed))


def test_a_run_that_took_no_time_is_compared():
    nothing = _run("null", workload="random-read", requests=100)
    flash = _run(workload="random-read", requests=100)
    assert "Too few" not in page([nothing, flash])
    assert "0\u202f/s" not in page([nothing, flash])


def test_many_bars_do_not_widen_the_page():
    words = [f"{n}-{n + 1}" for n in range(18)]
    bars = Series("", words, [1.0] * 18, "bars", role="cell")
    drawn = svg.draw(Figure("", Axis("erases", words=words), Axis(unit="count"), [bars]))
    assert "--n:18" in drawn
    assert "40% / max(8, var(--n, 8))" in style.CHARTS
    assert "<b" not in drawn, "the numbers would lie on each other"


def test_text_of_a_grey_run_can_be_read():
    for theme in (0, 1):
        paper, dim = (style.PAPER[name][theme] for name in ("bg", "dim"))
        assert style.contrast(paper, dim) >= 4.5
    assert "b.r-context" in style.CHARTS
    colours = {role: style.ROLES[role] for role in (*style.RUNS, "read", "write")}
    for role, pair in colours.items():
        for theme in (0, 1):
            assert style.contrast(style.PAPER["bg"][theme], pair[theme]) >= 4.5, role


def test_equal_units_are_one_sentence_with_the_list_folded():
    from ssdlab.reports import parts

    small = {"device.blocks_per_plane": 64, "workload.requests": 2000}
    heading, body = parts.units(ssdlab.run(device="agrawal2008", set=small))
    assert "8 packages are" in heading and "equally" in heading
    assert body.startswith("<details><summary>Each package</summary>")
    lone = {**small, "device.channels": 1, "workload.requests": 500}
    assert "<details>" not in parts.units(ssdlab.run(device="agrawal2008", set=lone))[1]


def test_parts_of_a_latency_have_one_legend_on_a_comparison(tmp_path):
    runs = [
        ssdlab.run(device=device, set={"device.blocks_per_plane": 64, "workload.requests": 20000})
        for device in ("agrawal2008", "agrawal2008")
    ]
    for name, it in zip("ab", runs, strict=True):
        (tmp_path / name).mkdir()
        it.save(tmp_path / name / "results.json")
    ssdlab.report([tmp_path / "a", tmp_path / "b"], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    where = text.partition('<section id="time"')[2].partition("</section>")[0]
    assert where.count('<p class="legend">') == 1


def test_nothing_is_marked_between_whole_numbers():
    from ssdlab.charts.figure import Axis
    from ssdlab.charts.scales import level

    assert level(Axis("seed", zero=False), [1.0, 2.0, 3.0])[0] == [1.0, 2.0, 3.0]
    assert 1.5 in level(Axis("share", zero=False), [1.0, 2.5, 3.0])[0]
