"""Whether a drive keeps its data: the command, its two ways to the same numbers, and refusals."""

import json
from dataclasses import replace

import pytest

from ssdlab import InputError, run
from ssdlab.unpowered import display, figures, retention

#: A small drive, so that the whole of it is read in a moment.
SMALL = {"device.blocks_per_plane": 96, "device.capacity": "90GB"}


@pytest.fixture(scope="module")
def kept():
    return retention("tlc-enterprise", "1y at 40C", worn=0.5, set=SMALL)


def test_both_ways_agree_and_aged_data_read_more_slowly(kept):
    assert kept.agrees
    expected = kept.form["simulated"]["mean_retries"]
    assert kept.aged.mean_retries == pytest.approx(expected, rel=0.02)
    assert expected == pytest.approx(kept.form["kept"]["mean_retries"], rel=0.02)
    assert kept.new.mean_retries == 0
    assert kept.aged.mb_per_s < kept.new.mb_per_s / 2
    assert kept.cycles == 1500
    assert kept.assumed_model


def test_more_wear_time_and_heat_never_lose_less(kept):
    lost = kept.form["kept"]["pages_lost"]
    for age, worn in [("1y at 40C", 1.0), ("5y at 40C", 0.5), ("1y at 55C", 0.5)]:
        more = retention("tlc-enterprise", age, worn=worn, set=SMALL).form["kept"]["pages_lost"]
        assert more > lost


def test_the_verdict_is_no_surer_than_the_evidence(kept):
    assert kept.verdict == "kept"
    assert kept.to_dict()["verdict"] == "kept"
    on = SMALL | {"device.media.model": "tlc-3d"}
    assert retention("tlc-enterprise", "1y at 40C", worn=3.0, set=on).verdict == "lost"


def test_figures_have_a_line_for_each_wear_and_ascend(kept):
    losses, retries = figures.losses(kept), figures.retries(kept)
    assert [it.name for it in losses.series] == ["0% worn", "50% worn", "100% worn", "150% worn"]
    for line in (*losses.series, *retries.series):
        assert list(line.y) == sorted(line.y)
    ends = [line.y[-1] for line in losses.series]
    assert ends == sorted(ends) and ends[0] < ends[-1]


def test_the_command_draws_a_picture(ssdlab, tmp_path):
    sets = [f"--set={key}={value}" for key, value in SMALL.items()]
    path = tmp_path / "kept.png"
    ssdlab("retention", "tlc-enterprise", "--for", "90d", *sets, "--plot", path, "--quiet")
    assert path.stat().st_size > 10_000


#: Conditions under which a small drive loses hundreds of pages, by several causes.
LOSING = {
    "a wide spread": ("1y at 40C", 1.0, {"device.media.spread_errors": 0.3}),
    "a narrow spread": ("1y at 40C", 1.25, {"device.media.spread_errors": 0.1}),
    "many word lines": ("1y at 40C", 0.8, {"device.media.spread_errors": 0.3, "device.scale": 8}),
    "no search": ("1y at 30C", 0.2, {"device.retry.steps": 18, "device.retry.search": "none"}),
    "no drift between lines": (
        "1y at 30C", 0.2,
        {"device.retry.steps": 18, "device.retry.search": "none", "device.media.spread_layer": 0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSING)
def test_losses_that_are_expected_are_seen(name):
    age, worn, keys = LOSING[name]
    found = retention(
        "tlc-enterprise", age, worn=worn, set={**SMALL, "device.media.model": "tlc-3d", **keys}
    )
    assert found.expected_lost > 100
    assert found.agrees, (found.expected_lost, found.deviation_of_lost, found.aged.lost)
    assert found.deviation_of_lost < 0.2 * found.expected_lost
    assert not found.assumed_model


def test_few_word_lines_lose_less_than_many():
    """The closed form of the whole drive is not that of the simulated one."""
    wide = {**SMALL, "device.media.spread_errors": 0.3, "device.media.model": "tlc-3d"}
    found = retention("tlc-enterprise", "1y at 40C", worn=0.6, set=wide)
    form = found.form
    assert form["simulated"]["page_lost"] < 0.6 * form["kept"]["page_lost"]
    fine = retention("tlc-enterprise", "1y at 40C", worn=0.6, set=wide | {"device.scale": 1})
    # 384 lines have a worst one too.
    few, all_lines, many = (
        it["page_lost"] for it in (form["simulated"], fine.form["simulated"], form["kept"])
    )
    assert 1.3 * few < all_lines < many


def test_a_wrong_closed_form_does_not_agree():
    wide = {**SMALL, "device.media.spread_errors": 0.3, "device.media.model": "tlc-3d"}
    found = retention("tlc-enterprise", "1y at 40C", worn=1.0, set=wide)
    for key, factor in (("page_lost", 1.5), ("page_lost", 0.6), ("mean_retries", 1.05)):
        form = dict(found.form)
        form["simulated"] = form["simulated"] | {key: factor * form["simulated"][key]}
        assert not replace(found, form=form).agrees, key


def test_parity_is_in_both_ways():
    wide = {**SMALL, "device.media.spread_errors": 0.3, "device.media.model": "tlc-3d"}
    wide |= {"device.parity.of": 8, "device.parity.stagger": True}
    found = retention("tlc-enterprise", "1y at 40C", worn=0.95, set=wide)
    assert found.aged.rebuilt > found.aged.lost
    assert found.agrees


def test_the_output_says_how_weak_the_evidence_is(kept, capsys):
    import sys

    text = display.table(kept, sys.stdout)
    assert "factor of ten at best" in " ".join(text.split())
    assert "tlc-3d (assumed)" in text
    assert "JESD218" in text


def test_the_command_prints_json(ssdlab):
    sets = [f"--set={key}={value}" for key, value in SMALL.items()]
    found = json.loads(
        ssdlab("retention", "tlc-enterprise", "--for", "90d", "--at", "40C", "--worn", "10%", *sets,
               "--json", "-", "--quiet").stdout
    )  # fmt: skip
    assert found["simulated"]["agrees"] is True
    assert found["cycles"] == pytest.approx(300)
    assert "factor of ten" in found["evidence"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--for", "90 days"], '--for 90 days: "90 days" is not a time'),
        (["--for", "90 days", "--at", "40C"], "--for 90 days: "),
        (["--for", "90 days"], "units are y, mo, w, d, h"),
        (["--for", "90d", "--at", "400C"], "--at 400C: "),
        (["--for", "90d", "--at", "400C"], "from -40C to 125C"),
        (["--for", "90d", "--at", "40"], "--at 40: "),
        (["--for", "90d", "--at", "40"], "with its unit"),
        (["--for", "90d", "--worn", "half"], "a share from 0%"),
        (["--for", "90d", "--worn", "5000%"], "to 1000%"),
        (["--for", "90d", "--worn", "5%", "--written", "3TB"], "give one of them"),
        (["--for", "90d", "--written", "3"], "--written"),
        (["--for", "90d", "--set", "media"], "KEY=VALUE"),
        (["--for", "90d", "--data", "9000TB"], "at most the drive's"),
        (["--for", "90d", "--plot", "it.txt"], "the extension must be one of"),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_right(refused, words, part):
    assert part in refused("retention", "tlc-enterprise", *words)


def test_the_wear_is_that_of_the_key_if_no_option_states_it():
    worn = SMALL | {"device.media.model": "tlc-3d", "device.media.cycles": 1500}
    found = retention("tlc-enterprise", "90d", set=worn | {"run.age": "1y at 40C"})
    assert found.cycles == 1500
    assert "device.media.cycles" in found.wear
    assert found.new.mean_retries == 0, "new data are not aged by run.age"
    for option in ({"worn": 0.5}, {"written": 1e15}):
        with pytest.raises(InputError, match=r"device.media.cycles = 1500 and --w"):
            retention("tlc-enterprise", "90d", set=worn, **option)


def test_a_device_without_flash_is_refused():
    with pytest.raises(InputError, match="needs a device of kind"):
        retention("sata-2008", "90d")


def test_a_run_of_an_ageless_drive_is_not_aged():
    with pytest.raises(InputError, match=r"run.age.*unless device.media.model is set"):
        run(device="tlc-enterprise", set={"run.age": "90d"})


def test_an_aged_run_says_so_and_a_new_one_is_as_without_a_model():
    load = {"kind": "closed", "read_share": 1.0, "requests": 2000, "block_size": "4KiB"}
    plain = run(device="tlc-enterprise", workload=load, set=SMALL).to_dict()
    on = SMALL | {"device.media.model": "tlc-3d"}
    new = run(device="tlc-enterprise", workload=load, set=on).to_dict()
    assert new["host"] == plain["host"]
    assert "media" not in plain
    aged = run(device="tlc-enterprise", workload=load, set=on | {"run.age": "90d at 40C"}).to_dict()
    assert aged["media"]["clock_days"] == pytest.approx(90 * 3.83, rel=0.01)
    assert aged["host"]["read"]["mean_us"] > plain["host"]["read"]["mean_us"]
    assert aged["health"]["media_errors"] == 0
