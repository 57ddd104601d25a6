"""The style sheet of a page's figures: colours that follow the reader's light or dark theme."""

from __future__ import annotations

#: Classes `c0` to `c8`: as many as a latency has parts.
COLOURS = 9
#: Shades between the least and the greatest cell.
SHADES = 8
#: Height of a lane.
LANE_REM = 1.2
#: How often a drawing of lanes may be as wide as the page.
ZOOMS = (1, 4, 16, 64)


def opacity(shade: int) -> str:
    """How opaque a shade is."""
    return f"{0.1 + 0.9 * shade / (SHADES - 1):.2f}"


_PALETTE = """
:root { --c0: #1f6feb; --c1: #d9730d; --c2: #2da44e; --c3: #bf3989; --c4: #8250df; --c5: #9a6700;
  --c6: #0e8a8a; --c7: #6e7781; --c8: #a40e26 }
@media (prefers-color-scheme: dark) { :root { --c0: #58a6ff; --c1: #f0883e; --c2: #56d364;
  --c3: #f778ba; --c4: #bc8cff; --c5: #d29922; --c6: #39c5cf; --c7: #8b949e; --c8: #ff7b72 } }
"""

_MARKS = """
figure { margin: 1.5rem 0 } figcaption { font-weight: 600 } figure > svg { width: 100% }
svg text { fill: var(--dim); font-size: 12px } .grid { stroke: var(--rule) }
@media (max-width: 36rem) { svg text { font-size: 19px } }
.line { fill: none; stroke: currentColor; stroke-width: 1.5; vector-effect: non-scaling-stroke }
.dot, .bar { fill: currentColor }
.faint { opacity: 0 } .faint:hover { opacity: 1 }
.thin { fill: none; stroke: currentColor; stroke-opacity: .45 }
.best { stroke-opacity: 1; stroke-width: 2.5 }
.legend { color: var(--dim) }
.legend span { display: inline-block; margin-right: 1rem; font-size: .85rem }
.key { width: 1.5rem; height: .5rem; margin-right: .4rem; overflow: visible }
.stack { display: flex; height: 1.6rem; border: 1px solid var(--rule); margin: .2rem 0 }
.stack span, .swatch { background: currentColor } .stack span { min-width: 1px }
.swatch { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem }
"""

_LANES = """
.lanes { display: grid; grid-template-columns: minmax(6rem, 12rem) 1fr; gap: 0 .6rem }
.lanes .names { font-size: .75rem; line-height: 1.2rem; overflow: hidden; white-space: nowrap }
.lanes .view { overflow-x: auto } .lanes .view:focus { outline: 2px solid var(--c0) }
.sheet { position: relative } .sheet svg { display: block; width: 100%; background: none }
.sheet path { fill: currentColor } .shade { color: var(--c1); fill: currentColor }
.marks { position: relative; overflow: hidden; height: 1.4rem; font-size: .75rem;
  color: var(--dim) }
.marks span { position: absolute; display: none; padding-left: .2rem; white-space: nowrap;
  border-left: 1px solid var(--dim) }
@media (max-width: 36rem) { .marks span:nth-child(even) { font-size: 0 } }
.zoom { margin: 0 .3rem 0 0 } .zoom + label { margin-right: 1rem }
@media (max-width: 36rem) { .lanes { grid-template-columns: 6rem 1fr } }
""" + "".join(
    f".zoom{zoom}:checked ~ .lanes .sheet {{ width: {zoom}00% }} "
    f".zoom{zoom}:checked ~ .lanes .m{zoom} {{ display: block }}\n"
    for zoom in ZOOMS
)

#: What a page with figures needs, beside its own `--fg`, `--bg`, `--dim` and `--rule`.
CHARTS = (
    _PALETTE + _MARKS + _LANES + "".join(f".c{n} {{ color: var(--c{n}) }}" for n in range(COLOURS))
)
