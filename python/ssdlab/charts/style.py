"""The style sheet of a page's figures: colours that follow the reader's light or dark theme.

A colour has a role; roles are the same on pages, in notebooks and in pictures (`ROLES`).
"""

from __future__ import annotations

from pathlib import Path

#: Classes `c0` to `c8`, for series without a role.
COLOURS = 9
#: Number of shades between the minimum and the maximum.
SHADES = 8
#: Height of a lane.
LANE_REM = 1.2
#: Zoom factors of a drawing of lanes.
ZOOMS = (1, 4, 16, 64)

#: Colour of each role, on light and on dark paper. Latency components by hue: grey for the host,
#: warm for waiting, cool for work.
ROLES = {
    "read": ("#0b6cb0", "#5ab0f0"),
    "write": ("#c2410c", "#fb8b4b"),
    "all": ("#3b424c", "#c6ccd4"),
    "trim": ("#6b5b00", "#cdb94a"),
    "flush": ("#8a3a86", "#e08edb"),
    "A": ("#6d3fc4", "#b79bff"),
    "B": ("#0b7c61", "#35c79e"),
    "C": ("#b0306a", "#ff8fc0"),
    "D": ("#8a5a00", "#e3b04b"),
    "E": ("#0f6f8f", "#58c4e4"),
    "F": ("#5a626d", "#9ba4af"),
    "context": ("#aab1ba", "#5c6572"),
    # Percentiles of one distribution: stronger towards the tail.
    "p50": ("#9a7ccf", "#8a73b8"),
    "p99": ("#6d3fc4", "#a98bea"),
    "p999": ("#3f1d8a", "#dccdff"),
    "host_queue": ("#8a929c", "#7c8590"),
    "host_link": ("#2b3038", "#dde2e8"),
    "firmware": ("#59636f", "#aab3bd"),
    "map": ("#2f7d5b", "#7fd0a8"),
    "buffer": ("#e0a88a", "#c98a6c"),
    "unit": ("#c98600", "#f2b632"),
    "cleaning": ("#b23a0e", "#e8642f"),
    "suspend": ("#7d5130", "#b98a63"),
    "bus": ("#3f9bd4", "#7cc7f5"),
    "cell": ("#0b5a94", "#3585c9"),
    "retry": ("#8c2f6b", "#cf6fae"),
    "rebuild": ("#4d1a3b", "#e3a6cf"),
    "fast_device": ("#5f8f2a", "#a9d36a"),
    "backing_device": ("#33501a", "#d6ecb4"),
    "idle": ("#f5f6f8", "#1b1f26"),
}
#: Default roles of series, in order.
PALETTE = ("read", "write", "B", "A", "unit", "E", "C", "context", "cell")
#: Roles of compared runs.
RUNS = ("A", "B", "C", "D", "E", "F")
#: The ramp of quantities on a map, from paper towards the strong end.
RAMP = (
    ("#eef3f8", "#1b2733"),
    ("#d3e2f0", "#1f3a52"),
    ("#accae4", "#245074"),
    ("#95bbdc", "#285e88"),
    ("#7fadd4", "#2d6c9c"),
    ("#528fc1", "#4389c0"),
    ("#2c6fa8", "#6aaee0"),
    ("#0b5a94", "#a5d4f7"),
)
#: Names and values of a page's text, rule and paper colours.
PAPER = {
    "bg": ("#ffffff", "#14171c"),
    "sunk": ("#f5f6f8", "#1b1f26"),
    "rule": ("#e1e4e8", "#2c323b"),
    "grid": ("#eceef1", "#232830"),
    "axis": ("#aab1ba", "#5c6572"),
    "fg": ("#171a1f", "#e7eaee"),
    "dim": ("#5a626d", "#9ba4af"),
    "link": ("#0b5cad", "#7db9f7"),
    "pass": ("#0e7a53", "#4fd19b"),
    "fail": ("#b3261e", "#ff7b72"),
    "warn": ("#8a5a00", "#f2c35a"),
    "note": ("#fff6e0", "#2a2312"),
}


def part_role(key: str) -> str:
    """The role of a latency component, by its key.

    >>> part_role("bus")
    'bus'
    """
    return key.removesuffix("_wait")


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2 of "#rrggbb".

    >>> luminance("#ffffff"), luminance("#000000")
    (1.0, 0.0)
    """
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    bright, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def text_on(colour: str) -> str:
    """Text colour with the best contrast on this colour."""
    return max(("#0c0e11", "#ffffff"), key=lambda ink: contrast(ink, colour))


def ramp(shade: int) -> str:
    """CSS colour of a shade."""
    return f"var(--h{shade})"


def _variables(theme: int) -> str:
    found = {f"r-{role}": pair[theme] for role, pair in ROLES.items()}
    found |= {f"on-{role}": text_on(pair[theme]) for role, pair in ROLES.items()}
    found |= {name: pair[theme] for name, pair in PAPER.items()}
    found |= {f"h{n}": pair[theme] for n, pair in enumerate(RAMP)}
    found |= {f"c{n}": ROLES[role][theme] for n, role in enumerate(PALETTE)}
    return "; ".join(f"--{name}: {colour}" for name, colour in found.items())


#: CSS variables of all colours, for a page.
PALETTE_STYLE = f"""
:root {{ color-scheme: light dark; {_variables(0)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}
"""

_MARKS = (Path(__file__).parent / "marks.css").read_text(encoding="utf-8")

_LANES = """
.lanes { display: grid; grid-template-columns: fit-content(12rem) minmax(0, 1fr);
  gap: 0 .6rem }
.lanes .names { font-size: 12px; line-height: 1.2rem; overflow: hidden; white-space: nowrap;
  color: var(--dim) }
.lanes .view { overflow-x: auto } .lanes .view:focus { outline: 2px solid var(--link) }
.sheet { position: relative } .sheet svg { display: block; width: 100% }
.sheet path { fill: currentColor }
.marks { position: relative; overflow: hidden; height: 1.4rem; font-size: 12px;
  color: var(--dim) }
.marks span { position: absolute; display: none; padding-left: .2rem; white-space: nowrap;
  border-left: 1px solid var(--axis) }
@media (max-width: 640px) { .marks span:nth-child(even) { font-size: 0 } }
.zoom { margin: 0 .3rem 0 0 } .zoom + label { margin-right: 1rem; font-size: 13px;
  color: var(--dim) }
@media (max-width: 640px) { .lanes { grid-template-columns: fit-content(6.6rem) minmax(0, 1fr) } }
""" + "".join(
    f".zoom{zoom}:checked ~ .lanes .sheet {{ width: {zoom}00% }} "
    f".zoom{zoom}:checked ~ .lanes .m{zoom} {{ display: block }}\n"
    for zoom in ZOOMS
)

_CLASSES = "".join(f".c{n} {{ color: var(--c{n}) }}" for n in range(COLOURS)) + "".join(
    f".r-{role} {{ color: var(--r-{role}) }}"
    f".stack .r-{role} {{ background: var(--r-{role}); color: var(--on-{role}) }}"
    for role in ROLES
)

#: Text in the colour of grey context must be legible.
_WORDS = """
b.r-context, th.r-context, h3.r-context, h3 .r-context, .chip.r-context, .say .r-context {
  color: var(--dim) }
"""

#: Style sheet of a page with figures; the page's own style uses the names of `PAPER`.
CHARTS = PALETTE_STYLE + _MARKS + _LANES + _CLASSES + _WORDS
