"""The style sheet of a page's figures: colours that follow the reader's light or dark theme.

A colour has a role; roles are the same on pages, in notebooks and in pictures (`ROLES`).
"""

from __future__ import annotations

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

_MARKS = """
figure { margin: 0 0 28px } figcaption { font-weight: 600; margin-bottom: 4px }
svg line, svg path, svg polyline { vector-effect: non-scaling-stroke }
.plot { display: grid; grid-template-columns: var(--l, 58px) minmax(0, 1fr);
  container-type: inline-size }
.yl, .pa { height: var(--h, 280px) } .yl, .pa, .xl { position: relative }
.yl span, .xl span { position: absolute; font-size: 12px; color: var(--dim); line-height: 1;
  white-space: nowrap }
.yl span { right: 8px; transform: translateY(50%) }
.xl { grid-column: 2; height: 20px } .xl span { top: 5px; transform: translateX(-50%) }
.xl span.e { transform: translateX(-100%) } .xl span.s { transform: none }
.xt, .yt { font-size: 12px; color: var(--dim); line-height: 1.3 }
.xt { grid-column: 2; text-align: right; margin-top: 2px }
.yt { margin-bottom: 8px }
.pa { touch-action: pan-y }
.pa > svg { position: absolute; inset: 0; width: 100%; height: 100%; display: block }
.grid { stroke: var(--grid) } .base { stroke: var(--axis) }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round }
.thin { stroke-width: 1.5 } .dotted { stroke: var(--dim); stroke-dasharray: 2 3; fill: none }
.band { fill: currentColor; opacity: .2; stroke: none }
.dot { stroke: currentColor; stroke-width: 6; stroke-linecap: round; fill: none }
.dot.strong { stroke-width: 10 } .dot.faint { opacity: 0 }
.place { position: absolute; font-size: 12px; color: var(--dim); white-space: nowrap;
  line-height: 1.2; padding: 0 3px; pointer-events: none; max-width: 100%;
  background: color-mix(in srgb, var(--bg) 82%, transparent) }
.thread { fill: none; stroke: currentColor; stroke-opacity: .45 }
.thread.best { stroke-opacity: 1; stroke-width: 2.5 }
.legend { color: var(--dim); font-size: 13px; margin: 0 0 10px; max-width: none;
  display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center }
.legend span { display: inline-flex; align-items: center; gap: 6px }
.key { display: inline-block; width: 18px; border-top: 3px solid }
.key.dashed { border-top: 2px dashed } .key.fine { border-top: 2px dotted }
.key.point { width: 8px; height: 8px; border: 0; border-radius: 50%; background: currentColor }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 2px;
  background: currentColor; flex: none }
.stacks { display: grid; grid-template-columns: minmax(7em, max-content) minmax(0, 1fr) max-content;
  gap: 6px 12px; align-items: center }
.stacks > div { display: contents }
.stacks .n { font-size: 13px; line-height: 1.25 }
.stacks .n i { display: block; font-style: normal; color: var(--dim); font-size: 12px }
.stacks .m { text-align: right; white-space: nowrap; font-size: 14px; font-weight: 600 }
.stack { display: flex; height: 26px; gap: 1.5px; border-radius: 3px; overflow: hidden }
.stack > span { min-width: 1px; overflow: hidden; white-space: nowrap; font-size: 12px;
  line-height: 26px; container-type: inline-size }
.stack em { font-style: normal; padding-left: 7px }
.bars { display: flex; align-items: flex-end; height: 100%; position: relative }
.bars > div { flex: 1; display: flex; align-items: flex-end; gap: 1.5px; height: 100%;
  padding: 0 calc(40% / max(8, var(--n, 8))); min-width: 0 }
.bars span { flex: 1; background: currentColor; min-height: 1px; border-radius: 2px 2px 0 0;
  position: relative }
.bars b { position: absolute; bottom: 100%; left: -20px; right: -20px; text-align: center;
  font-size: 12px; font-weight: 400; color: var(--dim); white-space: nowrap }
.barx { grid-column: 2; display: flex; font-size: 12px; color: var(--dim); text-align: center;
  line-height: 1.2; padding-top: 5px } .barx span { flex: 1; min-width: 0; overflow-wrap: anywhere }
.multiples { display: grid; gap: 0 28px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)) }
.strips { display: grid; gap: 20px }
.strip { display: grid; grid-template-columns: 150px minmax(0, 1fr) 132px; gap: 0 14px;
  align-items: center }
.strip .t, .strip .r { line-height: 1.35 } .strip .t { font-size: 13px }
.strip .t i { display: block; font-style: normal; font-size: 12px; color: var(--dim) }
.strip .r { font-size: 12px; color: var(--dim) }
.strip .r b { font-size: 15px; font-weight: 600; display: block; white-space: nowrap }
.strip .r b:not([class]) { color: var(--fg) }
.say { font-size: 12px; color: var(--dim); min-height: 20px; display: none }
.js .say { display: block }
.say b { font-weight: 600; color: var(--fg) } .say span { margin-right: 12px }
.xh, .brush { position: absolute; top: 0; bottom: 0; pointer-events: none; display: none }
.xh { width: 1px; background: var(--fg); opacity: .55 }
.brush { background: var(--link); opacity: .13 }
.legend.plain { display: block }
.legend .ramp { display: inline-flex; gap: 0; vertical-align: -2px; margin: 0 4px }
.ramp i { width: 14px; height: 12px }
.flow { position: relative; height: 216px; margin: 6px 0 12px }
.flow svg { position: absolute; inset: 0; width: 100%; height: 100% }
.flow div { position: absolute; font-size: 12px; line-height: 1.3; color: var(--dim) }
.flow div.thin b { display: inline; margin-right: 5px }
.flow div b { display: block; font-size: 15px; color: var(--fg);
  font-weight: 600 }
.ratio { position: relative; height: 18px; min-width: 160px }
.ratio i { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--axis) }
.ratio u { position: absolute; top: 8px; height: 2px; background: currentColor }
.ratio s { position: absolute; top: 4px; width: 10px; height: 10px; margin-left: -5px;
  border-radius: 50%; background: currentColor }
@container (max-width: 480px) { .minor { display: none } }
@container (max-width: 110px) { .stack .w { display: none } }
@container (max-width: 145px) { .stack .w.long { display: none } }
@container (max-width: 185px) { .stack .w.longest { display: none } }
@container (max-width: 36px) { .stack em { display: none } }
@media (max-width: 640px) {
  .strip { grid-template-columns: 1fr auto; gap: 2px 10px }
  .strip .plot { grid-row: 2; grid-column: 1 / -1; margin-top: 8px }
  .strip .r { text-align: right } .strip .r b { display: inline; margin-right: 4px }
  .strip .t i { display: none }
  .stacks { display: block }
  .stacks > div { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 3px 8px;
    margin-bottom: 10px }
  .stacks .stack { order: 3; grid-column: 1 / -1 }
  .stacks .n i { display: inline; margin-left: 6px }
  .ratio { min-width: 80px } .flow { height: 250px } .flow div { font-size: 11px }
  .flow div.last { left: auto !important; right: 0; text-align: right; white-space: nowrap }
}
"""

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
