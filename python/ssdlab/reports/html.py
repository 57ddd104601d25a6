"""What the pages of reports share: the document, its tables, stacked bars and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ssdlab import _core
from ssdlab.paper import svg
from ssdlab.paper.item import Figure
from ssdlab.paper.report import STYLE

MORE_STYLE = """
th[scope=row] { font-weight: normal } caption { text-align: left; color: var(--dim) }
@media (max-width: 36rem) { svg text { font-size: 19px } }
.key-figures { display: flex; flex-wrap: wrap; gap: .5rem 2rem; padding: 0; list-style: none }
.key-figures b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums }
.key-figures li { color: var(--dim) } .key-figures b { color: var(--fg) }
.warnings { padding: .5rem 1rem; list-style: none; border-left: .3rem solid var(--c1) }
.stack { display: flex; height: 1.6rem; border: 1px solid var(--rule); margin: .2rem 0 }
.stack span, .swatch { background: currentColor } .stack span { min-width: 1px }
.swatch { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem }
pre { overflow-x: auto; font-size: .8rem; border: 1px solid var(--rule); padding: .6rem }
details { margin: .6rem 0 } summary { cursor: pointer }
.lanes { display: grid; grid-template-columns: minmax(6rem, 12rem) 1fr; gap: 0 .6rem }
.lanes .names { font-size: .75rem; line-height: 1.2rem; overflow: hidden; white-space: nowrap }
.lanes .view { overflow-x: auto } .lanes .view:focus { outline: 2px solid var(--c0) }
.sheet { position: relative } .sheet svg { display: block; width: 100%; background: none }
.sheet path { fill: currentColor } .shade { color: var(--c1) }
.marks { position: relative; overflow: hidden; height: 1.4rem; font-size: .75rem;
  color: var(--dim) }
.marks span { position: absolute; display: none; padding-left: .2rem; white-space: nowrap;
  border-left: 1px solid var(--dim) }
@media (max-width: 36rem) { .marks span:nth-child(even) { font-size: 0 } }
.zoom { margin: 0 .3rem 0 0 } .zoom + label { margin-right: 1rem }
@media (max-width: 36rem) { .lanes { grid-template-columns: 6rem 1fr } }
.line { stroke-width: 1.5 } .thin { fill: none; stroke: currentColor; stroke-opacity: .45 }
.best { stroke-opacity: 1; stroke-width: 2.5 }
@media print { body { max-width: none; font-size: 11px } section { break-inside: avoid }
  details:not([open]) > *:not(summary) { display: block } nav { display: none } }
"""


def document(title: str, lead: str, sections: Mapping[str, str]) -> str:
    """A whole page: its title, what stands below that, and sections by their heading."""
    shown = {heading: body for heading, body in sections.items() if body}
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name in shown)
    bodies = "".join(
        f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>{body}</section>'
        for name, body in shown.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{MORE_STYLE}</style></head><body>"
        f"<header><h1>{escape(title)}</h1>{lead}<nav>{links}</nav></header><main>{bodies}</main>"
        f"<footer><p>ssdlab {escape(_core.version)}, ssdlab report</p></footer></body></html>\n"
    )


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    meanings: Mapping[str, str] | None = None,
) -> str:
    """A table of texts; the first cell names its row, and says under the pointer what it means."""
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = ""
    for first, *others in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        meaning = (meanings or {}).get(first)
        title = f' title="{escape(meaning)}"' if meaning else ""
        body += f'<tr><th scope="row"{title}>{escape(first)}</th>{cells}</tr>'
    return (
        f'<div class="wide"><table>{named}<thead><tr>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def key_figures(figures: Mapping[str, str]) -> str:
    """The figures that say most, large."""
    items = "".join(
        f"<li><b>{escape(value)}</b>{escape(name)}</li>" for name, value in figures.items()
    )
    return f'<ul class="key-figures">{items}</ul>'


def warnings(messages: Sequence[str]) -> str:
    """Where a number does not mean what it seems to."""
    items = "".join(f"<li><b>Warning</b> {escape(message)}</li>" for message in messages)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def figure(drawn: Figure) -> str:
    """A figure with its caption; None of it if there is nothing to draw."""
    if not any(line.y for line in drawn.series):
        return ""
    return f"<figure><figcaption>{escape(drawn.title)}</figcaption>{svg.draw(drawn)}</figure>"


def stack(parts: Mapping[str, float], total: float) -> str:
    """A bar of parts, each in the colour of its place; `total` is the bar's length."""
    spans = "".join(
        f'<span class="c{number}" style="width:{100 * value / total:.3f}%" '
        f'title="{escape(name, quote=True)}: {100 * value / total:.1f}%"></span>'
        for number, (name, value) in enumerate(parts.items())
        if value > 0
    )
    return f'<div class="stack" aria-hidden="true">{spans}</div>'


def swatches(names: Sequence[str]) -> str:
    """What the colours of a stack mean."""
    keys = "".join(
        f'<span><i class="swatch c{number}"></i>{escape(name)}</span>'
        for number, name in enumerate(names)
    )
    return f'<p class="legend">{keys}</p>'


def lanes(names: Sequence[str], drawn: str, label: str = "") -> str:
    """A drawing of lanes beside their names; with a label it scrolls, also by keyboard."""
    texts = map(escape, names)
    shown = "".join(f'<div title="{text}">{text}</div>' for text in texts)
    reach = f' tabindex="0" role="region" aria-label="{escape(label, quote=True)}"' if label else ""
    return (
        f'<div class="lanes"><div class="names">{shown}</div>'
        f'<div class="view"{reach}><div class="sheet">{drawn}</div></div></div>'
    )
