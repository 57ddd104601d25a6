"""A law of answers: one question gets one answer from every command that judges a drive."""

import math
import random
import shlex

import pytest
from small_drives import FAST, recorded

import ssdlab
from ssdlab import under_load
from ssdlab.explaining import metric
from ssdlab.reports import one
from ssdlab.under_load import BOUNDED, RATED, SIMULATED, STATED, UNKNOWN, Figure

#: Difference of two answers to one question.
WITHIN = 0.03
#: A drive of 30 MB whose life a short trace tells.
SMALL = FAST.replace("pages_per_block = 18", "pages_per_block = 6").replace(
    "blocks_per_plane = 512", "blocks_per_plane = 160"
)
PRICE = 300.0


def question(seed, folder):
    """A drive and a trace, drawn at random."""
    draw = random.Random(seed)
    drive = folder / "drive.toml"
    keys = {
        "spare_factor": round(draw.uniform(0.1, 0.3), 3),
        "timing.read": f'"{draw.choice((30, 60, 200))}us"',
        "wear.rated_cycles": draw.choice((300, 1000, 3000)),
    }
    lines = [f"{key} = {value}" for key, value in keys.items()]
    text = SMALL.replace("spare_factor = 0.12\n", "")
    drive.write_text("\n".join([text, *lines]) + "\n")
    trace = recorded(
        folder / "trace.parquet",
        requests=draw.choice((800, 2000)),
        gap_ns=draw.choice((300_000, 2_000_000)),
        reads=draw.choice((0.0, 0.3, 0.5, 0.7, 1.0)),
        touched=draw.choice((500, 3000, 6000)),
    )
    return drive, trace


def agree(name, values, error=0.0):
    """All values that are known are equal within a few percent, and the stated error."""
    known = {who: it for who, it in values.items() if it is not None}
    first = next(iter(known.values()), None)
    for it in known.values():
        assert it == first or abs(it / first - 1) <= WITHIN + error, (name, values)
    return len(known)


@pytest.mark.parametrize(
    "seed", [0, 3, 6, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2, 4, 5, 7, 8, 9))]
)
def test_ten_questions_have_one_answer_each(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drive, trace = (it.name for it in question(seed, tmp_path))
    asked = {"device": drive, "drives": 1, "prices": {drive: PRICE}}
    chosen = ssdlab.choose(trace, years=1e-7, **asked)
    offer = chosen.offers[0]
    figures = {"choose": offer.figures}
    answered = ssdlab.ask(trace, need="0.0000001y", **asked)
    figures["ask"] = answered.choice.offers[0].figures
    words = shlex.split(offer.command)
    keys = dict(it.split("=", 1) for it in words if "=" in it)
    results = ssdlab.run(device=drive, trace=trace, set={**keys, "cost.device_dollars": PRICE})
    figures["run"] = results.under_load()
    life = {who: it.life_years.known for who, it in figures.items()}
    p99 = {
        (kind, who): getattr(it, f"{kind}_p99_us").known
        for who, it in figures.items()
        for kind in ("read", "write")
    }
    dollars = {who: it.dollars.known for who, it in figures.items()}

    sized = ssdlab.size(trace, device=drive, years=1e-7, drives=1).trials[0]
    life["size"] = sized.life().known
    billed = ssdlab.cost(results).bills[0]
    life["cost"] = billed.lifetime_years
    dollars["cost"] = billed.dollars
    for kind in ("read", "write"):
        p99[kind, "size"] = sized.mean(f"{kind}.p99")
        p99[kind, "cost"] = billed.design.latencies_us.get(f"{kind}.p99")
    compared = ssdlab.compare(results, results)
    named = {row.name: row.a for row in compared.rows}
    life["compare"] = named.get("under_load.life_years")
    dollars["compare"] = named["under_load.dollars"]
    page = one.page(results)
    assert under_load.said_years(figures["run"].life_years) in page and f"${PRICE:,.0f}" in page
    daily = under_load.daily_bytes([results]) * under_load.DAYS
    if daily:
        rated = ssdlab.endurance(drive, "client", trace=trace)
        life["endurance"] = rated.life_years.known
        placed = ssdlab.placement(trace, device=drive, handles=2, threads=1)
        bound = placed.years(placed.none(1.0))
        assert bound.kind == BOUNDED
    if figures["run"].life_years.kind == SIMULATED and daily:
        life["why"] = metric.of_word("tbw", results).value(results) / daily
        assert agree("life", life, results.wear.lifetime.error) >= 6
    else:
        agree("life", life)
    for kind in ("read", "write"):
        agree(kind, {who: it for (of, who), it in p99.items() if of == kind})
    assert agree("dollars", dollars) == len(dollars)


def test_every_figure_has_a_kind_and_an_origin():
    results = ssdlab.run(
        device="samsung-pm9a3", workload="random-write", set={"workload.requests": 2000}
    )
    figures = results.under_load().figures()
    kinds = {name: it.kind for name, it in figures.items()}
    assert kinds == {
        "life_years": RATED,
        "read_p99_us": UNKNOWN,
        "write_p99_us": SIMULATED,
        "watts": RATED,
        "dollars": STATED,
    }
    assert all(it.origin for it in figures.values())
    written = under_load.writable([results], dwpd=1.0)
    assert written.value == pytest.approx(results.capacity_bytes * 5 * 365 * written_scale(results))


def written_scale(results):
    return under_load.scale_of(results.to_dict())


def test_a_changed_drive_has_neither_the_price_nor_the_rating_of_the_sold_one():
    keys = {"workload.requests": 500, "device.over_provisioning": 0.4}
    results = ssdlab.run(device="samsung-pm9a3", workload="random-write", set=keys)
    found = results.under_load()
    assert found.dollars.value is None and found.life_years.kind != RATED
    assert found.watts.kind == RATED, "power depends on how busy the dies are"
    assert "under_load.dollars" not in under_load.columns(results)


def test_a_bound_is_no_known_value():
    assert Figure(3.0, BOUNDED, "").known is None and Figure(3.0, RATED, "").known == 3.0
    assert Figure(math.inf, SIMULATED, "").to_dict()["unlimited"] is True
