"""Two small drawings: the origin of written flash pages, and the distance of a ratio from 1."""

from __future__ import annotations

import math
from html import escape

from ssdlab import readable
from ssdlab.charts.frame import svg

#: Start, end and gap of a flow's bands, in units of 1000.
TOP, BOTTOM, GAP = 130.0, 960.0, 30.0
#: A band below this height has its text on one line.
THIN = 200.0


def flow(written: float, moved: float, valid: float | None) -> str:
    """Pages written by the host and moved by garbage collection, to scale, with the content of
    victim blocks.
    """
    whole = written + moved
    if whole <= 0:
        return ""
    high = BOTTOM - TOP - GAP
    left = (TOP, TOP + high * written / whole)
    right = (left[1] + GAP, left[1] + GAP + high * moved / whole)
    middle = TOP + GAP / 2
    host_to = (middle, middle + high * written / whole)
    moved_to = (host_to[1], middle + high)
    body = _ribbon(14, 420, left, host_to, "read") + _bar(0, left, "read")
    body += _bar(420, (middle, middle + high), "cell")
    texts = [
        (0, 0, "source of pages", ""),
        (42, 0, "programmed", ""),
        (1.8, left[0] / 10 + 0.6, "written by the host", readable.count(written)),
        (44, (middle + high / 2) / 10 - 8, "pages programmed", readable.count(whole)),
    ]
    if moved > 0:
        body += _ribbon(14, 420, right, moved_to, "cleaning")
        body += _bar(0, right, "cleaning")
        texts.append((1.8, right[0] / 10 + 1.5, "moved by cleaning", readable.count(moved)))
    if valid is not None:
        gone = (TOP, TOP + high * (1 - valid))
        stored = (gone[1] + GAP, gone[1] + GAP + high * valid)
        body += _ribbon(434, 800, (middle, middle + high * (1 - valid)), gone, "all", 0.18)
        still = (middle + high * (1 - valid), middle + high)
        body += _ribbon(434, 800, still, stored, "cleaning")
        body += _bar(800, gone, "all") + _bar(800, stored, "cleaning")
        texts += [
            (82.5, 0, "state when cleaned", ""),
            (82.5, gone[0] / 10, "superseded", readable.share(1 - valid)),
            (82.5, max(stored[0] / 10, gone[0] / 10 + 20), "still valid", readable.share(valid)),
        ]
    told = f"The host wrote {readable.count(written)} pages, "
    told += f"and cleaning moved {readable.count(moved)}"
    words = "".join(
        f'<div class="{_class(what, x, left[1] - left[0])}" style="left:{x}%;top:{y:.1f}%">'
        f"{f'<b>{escape(number)}</b>' if number else ''}{escape(what)}</div>"
        for x, y, what, number in texts
    )
    return (
        f'<div class="flow" role="img" aria-label="{escape(told, quote=True)}">'
        f"{svg(body)}{words}</div>"
    )


def _class(what: str, x: float, high: float) -> str:
    """CSS class of a label: one line in a thin band, right-aligned at the end."""
    if x > 80:
        return "last"
    return "thin" if what == "written by the host" and high < THIN else ""


def _ribbon(
    x: float,
    to: float,
    begin: tuple[float, float],
    end: tuple[float, float],
    role: str,
    opacity: float = 0.3,
) -> str:
    half = (x + to) / 2
    return (
        f'<path class="r-{role}" fill="currentColor" opacity="{opacity}" d="M{x:.0f} {begin[0]:.1f}'
        f"C{half:.0f} {begin[0]:.1f} {half:.0f} {end[0]:.1f} {to:.0f} {end[0]:.1f}V{end[1]:.1f}"
        f'C{half:.0f} {end[1]:.1f} {half:.0f} {begin[1]:.1f} {x:.0f} {begin[1]:.1f}Z"/>'
    )


def _bar(x: float, span: tuple[float, float], role: str) -> str:
    high = max(span[1] - span[0], 2.0)
    return (
        f'<rect class="r-{role}" fill="currentColor" x="{x:.0f}" y="{span[0]:.1f}" width="14" '
        f'height="{high:.1f}"/>'
    )


def ratio(value: float, ends: tuple[float, float], role: str) -> str:
    """A dot at a ratio on a logarithmic axis between `ends`, joined to 1."""
    place, one = (100 * math.log(it / ends[0]) / math.log(ends[1] / ends[0]) for it in (value, 1.0))
    low, wide = min(place, one), abs(place - one)
    return (
        f'<div class="ratio r-{role}" aria-hidden="true"><i style="left:{one:.1f}%"></i>'
        f'<u style="left:{low:.1f}%;width:{wide:.1f}%"></u><s style="left:{place:.1f}%"></s></div>'
    )
