"""What is drawn without rich is what rich draws."""

import io
import random

import pytest

from ssdlab import layout, terminal
from ssdlab.layout import Beside, Canvas, Columns, Facts, Grid, Group, Text

WORDS = ("p99", "1.53ms", "µs", "a", "write amplification", "░░──", "± 2%", "in", "of")


class File(io.StringIO):
    """No terminal, with an encoding."""

    def __init__(self, encoding="utf-8"):
        super().__init__()
        self.name_of_encoding = encoding

    @property
    def encoding(self):
        return self.name_of_encoding


def words(draw, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randrange(1, most)))


def text(draw, most=30):
    found = Text(words(draw, most), style=draw.choice(["", "bold", "dim"]))
    for _ in range(draw.randrange(3)):
        found.append(draw.choice(["\n", " ", ""]) + words(draw, 12), style="default")
    return found


def cell(draw):
    return draw.choice([words(draw, 3), Text(words(draw, 3), style="bold"), ""])


def grid(draw):
    found = Grid("".join(draw.choice("lLrR") for _ in range(draw.randrange(1, 5))))
    for _ in range(draw.randrange(1, 5)):
        found.add_row(*(cell(draw) for _ in found.columns))
    return found


def columns(draw):
    names = [draw.choice(["", "mean", "p99.9", "Class"]) for _ in range(draw.randrange(1, 12))]
    found = Columns(names, min(len(names), draw.randrange(1, 3)), left=["Class"])
    for _ in range(draw.randrange(1, 5)):
        found.add_row(*(cell(draw) for _ in names))
    return found


def facts(draw):
    return Facts("Wear", [(words(draw, 3), words(draw, 3)) for _ in range(draw.randrange(1, 6))])


def part(draw):
    kinds = (text, grid, columns, facts)
    every = {
        "group": lambda: Group(*(draw.choice(kinds)(draw) for _ in range(draw.randrange(1, 4)))),
        "beside": lambda: Beside(*(facts(draw) for _ in range(draw.randrange(1, 4)))),
        "one": lambda: draw.choice(kinds)(draw),
    }
    return every[draw.choice(list(every))]()


def test_every_part_is_drawn_as_rich_draws_it(monkeypatch):
    drawn = refused = 0
    for seed in range(600):
        draw = random.Random(seed)
        monkeypatch.setenv("COLUMNS", str(draw.choice([30, 60, 80, 100, 200])))
        file = File(draw.choice(["utf-8", "utf-8", "ascii"]))
        parts = [part(draw) for _ in range(draw.randrange(1, 4))]
        canvas = Canvas(file)
        console, plain = terminal.console_for(file)
        assert (canvas.width, canvas.plain) == (console.width, plain)
        try:
            found = canvas._drawn(parts)
        except layout.Unfit:
            refused += 1
            continue
        drawn += 1
        assert found == terminal.rendered(console, [*parts]), seed
    assert drawn > 2 * refused > 0


def test_what_does_not_fit_is_drawn_by_rich(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    for unfit in (Text("x" * 30), Text("漢字"), Facts("Wear", [("n" * 30, "1")])):
        found = Canvas(File()).draw([unfit])
        assert found == terminal.rendered(terminal.console_for(File())[0], [unfit])
        assert max(map(len, found.splitlines())) <= 20


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_colour_that_is_asked_for_is_rich_s(monkeypatch, variable):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, "1")
    assert "\x1b[1m" in Canvas(File()).draw([Text("words", style="bold")])


def test_no_parts_are_nothing():
    assert Canvas(File()).draw([None]) == ""
    assert Beside.of(None, None) is None
