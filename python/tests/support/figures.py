"""The figures of the pages, and the origin of each.

A row of `figures.tsv` has figures of a page as they stand there, and their origin:

    given      a setting, a limit of a format, or arithmetic that the sentence shows; not needed
               for powers of two in KiB and the like
    cited      published elsewhere; the page names the source
    measured   by a clock, or with other programs, so that two machines differ
    in FILE    the file of a test has the figure, and the test fails when it changes
    COMMANDS   computed: `ssdlab` commands, separated by " ;; "

Expressions over the JSON of the commands, `a`, `b` and so on, give the values, or lists of them.
`got`, `pub` and `off` are of a row of a study: simulated, published, and their difference. After
`<` the figure is a bound from above, after `>` one from below. `recorded` has the values, and `cpu`
the seconds that the commands take: a commit runs the short ones, a night all.

    python python/tests/support/figures.py             figures without an origin
    python python/tests/support/figures.py --record    run every command, write values and pages
    python python/tests/support/figures.py --record W  the same for commands with the words W
"""

import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
TABLE = Path(__file__).resolve().parents[1] / "figures.tsv"
BESIDE = ROOT.parent / "shared"
HEAD = "page\tfigures\torigin\texpressions\trecorded\tcpu"
#: Seconds of a row that a commit runs.
SHORT = 1.0

UNIT = (
    r"%|°C|[unpm]s|s|h|min|(?:second|minute|hour|day|week|month|year)s?|[kKMGTP]i?B(?:/s)?|B|bytes"
    r"|[KM](?:/s)?|/s|IOPS|(?:requests|reads|writes|pages)(?:/s)?|blocks|times|cycles|erasures"
    r"|chunks|m?W|[mun]?J|V|mF|mA|eV|DWPD|TBW|rpm"
)
NUMBER = r"(?<![\w.,^+-])(?:(?<=[\s(|])[+-])?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?"
FIGURE = re.compile(rf"({NUMBER})(?![\w^]|\.\d)(?: ?({UNIT})(?![\w^]))?")
#: `make bench` writes this page with times of its machine.
WRITTEN_BY_BENCHES = "speed.md"
#: Between numbers of a range or a list, whose unit stands behind the last.
JOINED = re.compile(r",? (?:to|and|or|by|of) |, |/| / ")
YEAR = re.compile(r"(19|20)\d\d")
#: A power of two in binary units is a setting.
SETTING = re.compile(r"(1|2|4|8|16|32|64|128|256|512|1024) [KMGTP]iB")


class Row(NamedTuple):
    """Figures of a page and their origin."""

    page: str
    figures: tuple[str, ...]
    origin: str
    expressions: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    cpu: float = 0

    @property
    def commands(self):
        """The commands that compute them; none for other origins."""
        no = self.origin.split(" ")[0] in ("given", "cited", "measured", "in")
        return () if no else tuple(self.origin.split(" ;; "))

    def line(self):
        lists = ("; ".join(it) for it in (self.figures, self.expressions, self.recorded))
        figures, expressions, recorded = lists
        cpu = f"{self.cpu:.1f}" if self.commands else ""
        return "\t".join([self.page, figures, self.origin, expressions, recorded, cpu])


def rows(text):
    """The rows of a table."""
    for line in text.splitlines()[1:]:
        page, figures, origin, expressions, recorded, cpu = line.split("\t")
        lists = (tuple(it.split("; ")) if it else () for it in (figures, expressions, recorded))
        figures, expressions, recorded = lists
        yield Row(page, figures, origin, expressions, recorded, float(cpu or 0))


def pages():
    """Every page by its path: text without blocks, headings, comments, code and addresses."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if path.name == WRITTEN_BY_BENCHES:
            continue
        text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.M | re.S)
        text = re.sub(r"<!--.*?-->|^#.*$", "", text, flags=re.M)
        text = re.sub(r"`[^`]*`", "CODE", text)
        yield path.relative_to(ROOT).as_posix(), re.sub(r"\]\([^)]*\)", "]", text)


def figures_in(text):
    """The figures of a text: numbers with a unit, a point or a comma, and cells of a table."""
    for paragraph in re.split(r"\n\s*\n", text):
        is_table = paragraph.lstrip().startswith("|")
        parts = re.split(r"\||\n", paragraph) if is_table else [" ".join(paragraph.split())]
        for part in parts:
            found = list(FIGURE.finditer(f" {part} "))
            alone = is_table and not re.search(r"[A-Za-z]", part)
            joined = False
            told = []
            for n, it in reversed(list(enumerate(found))):
                number, unit = it[1], it[2]
                after = found[n + 1] if n + 1 < len(found) else None
                between = f" {part} "[it.end() : after.start()] if after else ""
                joined = joined and bool(JOINED.fullmatch(between))
                is_figure = bool(unit) or bool(re.search(r"[.,e]", number)) or alone or joined
                figure = f"{number} {unit}" if unit else number
                if is_figure and not YEAR.fullmatch(figure) and not SETTING.fullmatch(figure):
                    told.append(figure)
                joined = bool(unit) or joined
            yield from reversed(told)


def unbound(table):
    """By page: its figures without an origin."""
    known = {(row.page, figure) for row in table for figure in row.figures}
    return {
        page: missing
        for page, text in pages()
        if (missing := [it for it in figures_in(text) if (page, it) not in known])
    }


def gone(table):
    """Figures of the table that their page does not have."""
    there = {page: set(figures_in(text)) for page, text in pages()}
    for row in table:
        for figure in row.figures:
            if figure not in there.get(row.page, ()):
                yield row.page, figure


# What commands say


class Said(dict):
    """JSON of a command, whose keys are attributes too."""

    __getattr__ = dict.__getitem__

    def row(self, name):
        """The row of a study whose name begins so."""
        found = [it for item in self["items"] for it in item.rows if it.name.startswith(name)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows begin with {name!r}")
        return found[0]


@cache
def said(command):
    """The JSON of a command, and the seconds of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as where:
        os.symlink(ROOT / "examples", Path(where) / "examples")
        script = f'ssdlab() {{ "{sys.executable}" -m ssdlab "$@"; }}\n{command} --json said.json'
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=where,
            env=os.environ | {"TRACES": str(BESIDE / "traces"), "DISKS": str(BESIDE / "disks")},
            capture_output=True,
            text=True,
            timeout=3600,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
        text = (Path(where) / "said.json").read_text("utf-8")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(text, object_hook=Said), took


def values(row):
    """The values of the expressions of a row, and the seconds that its commands took."""
    found = [said(command) for command in row.commands]
    names = {chr(ord("a") + n): it for n, (it, _) in enumerate(found)}
    row_of = found[0][0].row if isinstance(found[0][0], Said) else None
    names |= {
        "math": math,
        "got": lambda name: row_of(name).simulated,
        "pub": lambda name: row_of(name).published,
        "off": lambda name: row_of(name).difference_percent,
    }
    computed = []
    for expression in row.expressions:
        bound = expression[0] if expression[0] in "<>" else ""
        value = eval(expression.removeprefix(bound), names)
        each = value if isinstance(value, list | tuple) else [value]
        computed += [f"{bound}{it:.7g}" for it in each]
    return tuple(computed), sum(took for _, took in found)


def number_of(figure):
    """A figure without its unit."""
    return re.match(r"[+-]?[\d,.]+(?:e[+-]?\d+)?", figure)[0]


def as_printed(value, figure):
    """A value with the digits of a figure."""
    number = number_of(figure)
    plain = number.replace(",", "")
    mantissa, _, power = plain.partition("e")
    digits = len(mantissa.partition(".")[2])
    if power:
        mantissa, _, power = f"{value:.{digits}e}".partition("e")
        return figure.replace(number, f"{mantissa}e{int(power)}")
    comma = "," if "," in number else ""
    sign = "+" if number[0] == "+" else ""
    # Nothing is printed as -0.
    return figure.replace(number, f"{round(value, digits) + 0.0:{sign}{comma}.{digits}f}")


def stale(row, recorded):
    """The figures of a row that are not those of the recorded values, with what they must be."""
    for figure, text in zip(row.figures, recorded, strict=True):
        value = float(text.lstrip("<>"))
        if text[0] in "<>":
            bound = float(number_of(figure).replace(",", ""))
            if value > bound if text[0] == "<" else value < bound:
                yield figure, text
        elif as_printed(value, figure) != figure:
            yield figure, as_printed(value, figure)


def not_in_file(row):
    """The figures of a row that its file has not, neither as they stand nor as a share of 1."""
    text = (ROOT / row.origin.removeprefix("in ")).read_text("utf-8")
    found = re.findall(r"(?<![\w.])\d[\d_,]*(?:\.\d+)?(?:e-?\d+)?", text)
    numbers = {float(it.replace("_", "").replace(",", "")) for it in found}
    for figure in row.figures:
        plain = figure.lstrip("+-")
        scales = (1, 100) if "%" in figure else (1, 1000)
        if not any(as_printed(n * scale, plain) == plain for n in numbers for scale in scales):
            yield figure


def record(table, words):
    """The table and the pages, with the values of today; without settings that are gone."""
    missing = set(gone(table))
    for row in table:
        if not row.commands:
            figures = tuple(it for it in row.figures if (row.page, it) not in missing)
            if figures:
                yield row._replace(figures=figures)
            continue
        if words not in row.origin:
            yield row
            continue
        recorded, took = values(row)
        figures = list(row.figures)
        for was, now in stale(row, recorded):
            print(f"{row.page}: {was} is {now} ({row.origin})")
            path = ROOT / row.page
            alone = rf"(?<![\w.,+-]){re.escape(was)}(?![\w]|[.,]\d)"
            text, count = re.subn(alone, now, path.read_text("utf-8"))
            if count == 1:
                path.write_text(text, "utf-8")
                figures[row.figures.index(was)] = now
            else:
                print(f"  write it by hand: the page has {was} {count} times")
        yield row._replace(figures=tuple(figures), recorded=recorded, cpu=took)


def main():
    table = list(rows(TABLE.read_text("utf-8")))
    if sys.argv[1:2] == ["--record"]:
        lines = [HEAD, *(row.line() for row in record(table, " ".join(sys.argv[2:])))]
        TABLE.write_text("\n".join(lines) + "\n", "utf-8")
    elif sys.argv[1:]:
        sys.exit("usage: figures.py [--record [WORDS]]")
    for page, missing in unbound(table).items():
        print(f"{page}\t{len(missing)}\t{'; '.join(missing)}")
    for page, figure in gone(table):
        print(f"{page} has no {figure} any more")


if __name__ == "__main__":
    main()
