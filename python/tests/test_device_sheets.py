"""The data sheets of presets, and the measurements in their cells."""

import re

import pytest

import ssdlab
from ssdlab._core import InputError
from ssdlab.device import check, sheet
from ssdlab.device.measurements import MEASUREMENTS, experiment
from ssdlab.units import BANDWIDTH, IOPS, RATIO, SIZE, TIME, Unit

ONE = """
device = "agrawal2008"
sources = {{ A = "a source" }}
[[cell]]
measure = "{measure}"
value = "{value}"
source = "{source}"
{more}
"""


def one(measure: str = "load_read", value: str = "75us", source: str = "A", more: str = "") -> str:
    return ONE.format(measure=measure, value=value, source=source, more=more)


@pytest.mark.parametrize("name", sheet.names())
def test_every_sheet_is_read_and_half_of_its_cells_are_unfitted(name: str) -> None:
    found = sheet.load(name)
    assert found.device == name
    assert 2 * len(found.unfitted) >= len(found.cells)
    if found.solved:  # all were used, and all are judged
        assert found.unfitted == found.cells
    assert all(cell.note for cell in found.cells if cell.fitted), "what a cell was used for"


SOLVED = [name for name in sheet.names() if sheet.load(name).solved]
#: What takes no steady state.
QUICK = ("seq_read", "seq_write", "rand_read_iops", "read_latency", "write_latency")


def missed(found: sheet.Sheet, cells: list[sheet.Cell]) -> list[tuple[str, str, float]]:
    """The cells that the preset misses, all cells judged that have a tolerance."""
    outcomes = check.measure(found.device, cells)
    return [(it.cell.name, it.cell.text, it.simulated) for it in outcomes if it.verdict == "fail"]


@pytest.mark.parametrize("name", sheet.names())
def test_presets_meet_their_sheets(name: str) -> None:
    found = sheet.load(name)
    cells = [cell for cell in found.cells if cell.measure in QUICK]
    assert len(cells) == len(QUICK) or name not in SOLVED
    assert not missed(found, cells)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sheet.names())
def test_presets_meet_their_sheets_in_steady_state(name: str) -> None:
    found = sheet.load(name)
    assert not missed(found, list(found.cells))
    if found.solved:
        assert all(cell.tolerance < 1 for cell in found.cells)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (one(measure="speed"), 'there is no measurement "speed"; there are seq_read, seq_write'),
        (
            one(measure="read_latency", value="75"),
            'value = "75": a time has a unit, as in "80us"; units: us, ns, ms, s',
        ),
        (one(source="B"), 'source "B" is not in [sources]: A'),
        (one(), 'the key "rate" is missing'),
        (one(more='rate = "4K/s"'), "the measured thread alone writes 5K/s"),
        (one(more='rate = "20K/s"\nfigure = "p98"'), "expected mean, p50"),
        (one(more='rate = "20K/s"\ntolerance = 5'), 'expected a share such as "5%"'),
        (one(more='rate = "20K/s"\ndepth = 5'), 'no key "depth"; keys: measure, value'),
        (one(measure="read_latency", more="depth = 0"), "requests outstanding, from 1"),
        ("device = 3 = 4", "not TOML"),
        ('device = "x"', "there is no [[cell]]"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        sheet.parse("x", "sheet x", text)
    assert said in str(refused.value)


def test_a_cell_is_judged_by_its_tolerance_also_where_it_was_fitted() -> None:
    more = 'rate = "20K/s"\ntolerance = "{}"\nfitted = {}'
    cell = sheet.parse("x", "x", one(more=more.format("100%", "false"))).cells[0]
    verdicts = [cell.verdict(us * 1e-6) for us in (37, 38, 149, 151)]
    assert verdicts == ["fail", "pass", "pass", "fail"]
    fitted = sheet.parse("x", "x", one(more=more.format("1%", "true"))).cells[0]
    assert (fitted.verdict(75e-6), fitted.said(75e-6)) == ("pass", "fitted, pass")
    assert (fitted.verdict(77e-6), fitted.said(77e-6)) == ("fail", "fitted, fail")
    untold = sheet.parse("x", "x", one(more=more.format("none", "false"))).cells[0]
    assert untold.verdict(1.0) == "info"


def test_a_bound_is_kept_by_more_and_a_guess_is_not_judged() -> None:
    bound = sheet.Cell("rand_write_iops", 70e3, "A", 0.05, bound=True)
    verdicts = [bound.verdict(rate) for rate in (66e3, 67e3, 73e3, 500e3)]
    assert verdicts == ["fail", "kept", "kept", "kept"]
    assert sheet.Cell("write_latency", 15e-6, "guess", 0.1, assumed=True).verdict(1.0) == "assumed"


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        (TIME, "1.5ms", 1.5e-3),
        (SIZE, "16KiB", 16384.0),
        (BANDWIDTH, "6,500 MB/s", 6.5e9),
        (IOPS, "580K/s", 580e3),
        (IOPS, "580kIOPS", 580e3),
        (IOPS, "98K IOPS", 98e3),
        (IOPS, "98,000 IOPS", 98e3),
        (IOPS, "1,000K", 1e6),
        (IOPS, "1.55M IOPS", 1.55e6),
        (IOPS, "98k/s", 98e3),
        (BANDWIDTH, "7 GB/s", 7e9),
        (BANDWIDTH, "6.8 GB/s", 6.8e9),
        (TIME, "85 us", 85e-6),
        (TIME, "85 \N{MICRO SIGN}s", 85e-6),
        (TIME, "85\N{GREEK SMALL LETTER MU}s", 85e-6),
        (SIZE, "1.92 TB", 1.92e12),
        (SIZE, "1,920,383,410,176 B", 1920383410176),
        (RATIO, "1.0", 1.0),
        (RATIO, 4.2, 4.2),
    ],
)
def test_quantities_are_read_with_their_units(unit: Unit, value: object, expected: float) -> None:
    assert unit.parse("here", value) == pytest.approx(expected)


@pytest.mark.parametrize("unit", [TIME, SIZE, BANDWIDTH, IOPS], ids=lambda it: it.noun)
@pytest.mark.parametrize("value", [7, 98000, 0.5, 1e30, "98000", "1,000", "98 K", "7x"])
def test_a_hint_is_accepted_and_means_the_number_that_was_given(unit: Unit, value: object) -> None:
    """Without a unit a time may mean anything, so that the example is of another number."""
    try:
        unit.parse("here", value)
    except InputError as error:
        said = str(error).removeprefix(f"here = {value}").removeprefix(f'here = "{value}"')
        (hint,) = re.findall('"(.*?)"', said)
        read = unit.parse("here", hint)
        number = float(str(value).replace(",", "")) if value not in ("98 K", "7x") else None
        assert (read == number) == ("write" in said)
        assert ("write" in said) == (unit is IOPS and number is not None)
        names = said.partition("units: ")[2].split(", ")
        assert [unit.parse("here", f"3 {name}") / 3 for name in names] == pytest.approx(
            [*unit.units.values()]
        )
    else:
        assert (unit, value) == (IOPS, "98 K")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5, 0, 10**400, "0us", True, None])
def test_malformed_quantities_are_refused(value: object) -> None:
    with pytest.raises(InputError, match="^here = "):
        TIME.parse("here", value)


PARAMETERS = {"rate": "12K/s", "fill": 0.5}


@pytest.mark.parametrize("measure", MEASUREMENTS)
def test_every_measurement_can_be_made_and_read(measure: str) -> None:
    row = MEASUREMENTS[measure]
    given = {key: value for key, value in PARAMETERS.items() if key in row.parameters}
    parameters = row.read_parameters("here", given)
    device = {"preset": "agrawal2008", "blocks_per_plane": 32, "packages_per_channel": 1}
    arguments = experiment(measure, parameters, device, quick=True)
    if "until" in arguments["run"] and arguments["run"]["until"] != "steady":
        arguments["run"]["until"] = "20ms"
        arguments["run"].pop("warm_up", None)
    results = ssdlab.run(**arguments)
    assert row.value(results, parameters) > 0
    assert "{" not in row.label(parameters)
