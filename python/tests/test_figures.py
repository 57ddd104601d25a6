"""Every figure of a page has an origin, and computed ones are those that the commands give today.

`support/figures.py` has the words of the table; `--record` runs its commands, and writes the pages.
"""

import figures
import pytest

ROWS = list(figures.rows(figures.TABLE.read_text("utf-8")))
COMPUTED = [row for row in ROWS if row.commands]
#: Recorded traces that are not part of the project.
BESIDE = {"$TRACES": figures.BESIDE / "traces", "$DISKS": figures.BESIDE / "disks"}
#: Seconds of processor time of all commands that a commit runs.
BUDGET = 4


def by_command(nightly):
    """Rows by the commands that compute them: a set of commands is run once."""
    found = {}
    for row in COMPUTED:
        if (row.cpu > figures.SHORT) == nightly:
            found.setdefault(row.origin, []).append(row)
    return [pytest.param(rows, id=origin) for origin, rows in found.items()]


def test_every_figure_has_an_origin():
    assert not figures.unbound(ROWS), "each needs a row of figures.tsv: see support/figures.py"


def test_no_origin_is_left_of_a_figure_that_is_gone():
    assert not list(figures.gone(ROWS))


def test_pages_have_the_recorded_figures():
    for row in COMPUTED:
        assert not dict(figures.stale(row, row.recorded)), f"{row.page}: {row.origin}"


@pytest.mark.parametrize(
    "row", [it for it in ROWS if it.origin.startswith("in ")], ids=lambda it: it.page
)
def test_the_file_of_a_test_has_its_figures(row):
    assert not list(figures.not_in_file(row))


def test_a_commit_runs_short_commands():
    took = {row.origin: row.cpu for row in COMPUTED if row.cpu <= figures.SHORT}
    assert sum(took.values()) < BUDGET


def compare(rows):
    for name, where in BESIDE.items():
        if name in rows[0].origin and not where.is_dir():
            pytest.skip(f"needs recorded traces in {where}")
    for row in rows:
        computed, _ = figures.values(row)
        assert not dict(figures.stale(row, computed)), f"{row.page}: {row.origin}"


@pytest.mark.parametrize("rows", by_command(nightly=False))
def test_pages_have_the_figures_that_commands_give(rows):
    compare(rows)


@pytest.mark.nightly
@pytest.mark.parametrize("rows", by_command(nightly=True))
def test_pages_have_the_figures_that_long_commands_give(rows):
    compare(rows)


# The law itself


def test_figures_are_found_and_the_rest_is_not():
    text = "7 to 15 % and 1,024 of 12 ms, in 2008, two of 3 drives: 4 KiB, 4.5.\n\n| 8 | 3 x |"
    assert list(figures.figures_in(text)) == ["7", "15 %", "1,024", "12 ms", "4.5", "8"]


@pytest.mark.parametrize(
    ("figure", "value", "now"),
    [
        ("4.65", 4.6512, None),
        ("4.65", 4.656, "4.66"),
        ("155,388", 155_387.7, None),
        ("155,388", 155_390.2, "155,390"),
        ("130.6 us", 130.55, None),
        ("40 %", 40.6, "41 %"),
        ("1.7e-8", 1.71e-8, None),
        ("1.7e-8", 2.1e-8, "2.1e-8"),
    ],
)
def test_a_figure_that_has_changed_is_found(figure, value, now):
    row = figures.Row("README.md", (figure,), "ssdlab run", ("a",))
    assert dict(figures.stale(row, [str(value)])) == ({figure: now} if now else {})


def test_a_bound_is_judged():
    row = figures.Row("README.md", ("3 %",), "ssdlab run", ("<a",))
    assert not list(figures.stale(row, ["<2.9"]))
    assert list(figures.stale(row, ["<3.1"]))


def test_a_figure_that_nobody_bound_is_found(monkeypatch):
    monkeypatch.setattr(figures, "pages", lambda: iter([("docs/x.md", "It takes 17 ms.")]))
    assert figures.unbound([]) == {"docs/x.md": ["17 ms"]}
    row = figures.Row("docs/x.md", ("18 ms",), "given")
    assert figures.unbound([row]) == {"docs/x.md": ["17 ms"]}
    assert list(figures.gone([row])) == [("docs/x.md", "18 ms")]
