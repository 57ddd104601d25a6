"""Shared parts of pages: the document, its style, its tables and key figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from ssdlab import _core
from ssdlab.charts.script import SCRIPT
from ssdlab.charts.style import CHARTS

_STYLE = """
* { box-sizing: border-box } html { -webkit-text-size-adjust: 100% }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
  sans-serif; font-variant-numeric: tabular-nums; color: var(--fg); background: var(--bg);
  max-width: 1240px; margin: 0 auto; padding: 32px 28px 64px; overflow-wrap: break-word }
a { color: var(--link); text-underline-offset: 2px }
code, pre { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace }
p { margin: 0 0 8px; max-width: 760px }
h1 { font-size: 28px; line-height: 1.22; letter-spacing: -.015em; font-weight: 650;
  margin: 0 0 10px; max-width: 34em; text-wrap: balance }
h2 { font-size: 18px; line-height: 1.3; font-weight: 650; margin: 0 0 2px; break-after: avoid }
h3 { font-size: 15px; font-weight: 600; margin: 20px 0 4px }
section { margin-top: 44px; min-width: 0 }
.over, .sub, footer { color: var(--dim); font-size: 13px; max-width: none }
.sub { margin: 0 0 12px; max-width: 860px } .over { margin: 0 0 8px }
.lede { font-size: 17px; max-width: 62em; margin: 0 0 4px }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px }
nav { font-size: 13px; display: flex; gap: 4px 16px; flex-wrap: wrap; margin-top: 14px }
.row { display: grid; grid-template-columns: repeat(12, minmax(0, 1fr)); gap: 0 28px }
.row > * { grid-column: 1 / -1 } .row > .s7 { grid-column: span 7 }
.row > .s5 { grid-column: span 5 }
.key-figures { display: grid; grid-template-columns: repeat(6, 1fr); margin: 26px 0 8px;
  padding: 0; list-style: none; border: solid var(--rule); border-width: 1px 0 }
.key-figures li { padding: 14px 12px 12px 16px; border-left: 1px solid var(--rule);
  font-size: 12px; line-height: 1.4; color: var(--dim); min-width: 0 }
.key-figures li:first-child { border-left: 0; padding-left: 0 }
.key-figures span { font-size: 13px; display: block }
.key-figures b { display: block; font-size: 26px; font-weight: 600; letter-spacing: -.02em;
  line-height: 1.25; white-space: nowrap; color: var(--fg) }
.warnings { padding: 10px 14px; margin: 16px 0 0; list-style: none; background: var(--note);
  border-left: 4px solid var(--warn); font-size: 14px } .warnings b { color: var(--warn) }
.warnings li + li { margin-top: 6px }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: 14px }
th, td { text-align: right; padding: 6px 0 6px 12px; border-bottom: 1px solid var(--rule);
  font-weight: 400; vertical-align: top }
td { white-space: nowrap } th:first-child, td:first-child { text-align: left; padding-left: 0 }
thead th { color: var(--dim); font-size: 12px; padding-top: 0; vertical-align: bottom }
table.map td { padding-right: 8px } table.words td { white-space: normal }
td small { display: block; color: var(--dim); white-space: normal }
caption { text-align: left; color: var(--dim); font-size: 13px; padding-bottom: 6px }
tr.strong > * { font-weight: 600 }
.pass { color: var(--pass) } .fail { color: var(--fail); font-weight: 600 }
.info, .fitted, .arithmetic, .not-judged { color: var(--dim) }
.not-reproduced { color: var(--warn) }
.remark { background: var(--note); padding: 8px 13px }
.checks { list-style: none; padding: 0; margin: 0; font-size: 14px }
.checks li { padding: 7px 0 7px 26px; border-bottom: 1px solid var(--rule); position: relative }
.checks li::before { content: "✓"; position: absolute; left: 2px; color: var(--pass);
  font-weight: 700 }
.checks li.w::before { content: "!"; color: var(--warn) }
.checks li.i::before { content: "i"; color: var(--link); font-style: italic }
.checks b { font-weight: 600 }
.chip { display: inline-block; padding: 0 8px; border-radius: 10px; font-size: 13px;
  font-weight: 600; border: 1.5px solid currentColor }
pre { background: var(--sunk); border: 1px solid var(--rule); border-radius: 6px; padding: 12px;
  overflow-x: auto; font-size: 12px }
details { margin-top: 12px } summary { cursor: pointer; font-size: 13px; color: var(--dim) }
footer { margin-top: 48px; padding-top: 12px; border-top: 1px solid var(--rule); font-size: 12px }
@media (max-width: 1080px) { th .more { display: none }
  .row > .s7, .row > .s5 { grid-column: 1 / -1 }
  .key-figures { grid-template-columns: repeat(3, 1fr) }
  .key-figures li:nth-child(3n+1) { border-left: 0; padding-left: 0 }
  .key-figures li:nth-child(n+4) { border-top: 1px solid var(--rule) } }
@media (max-width: 640px) { body { padding: 18px 14px 40px } h1 { font-size: 22px }
  .more { display: none } .lede { font-size: 15px } section { margin-top: 34px }
  th, td { padding-left: 8px } .ends-in-words td:last-child { white-space: normal }
  table { font-size: 13px } .key-figures { grid-template-columns: repeat(2, 1fr) }
  .key-figures b { font-size: 22px }
  .key-figures li:nth-child(n) { border-left: 0; padding-left: 0 }
  .key-figures li:nth-child(even) { border-left: 1px solid var(--rule); padding-left: 14px }
  .key-figures li:nth-child(n+3) { border-top: 1px solid var(--rule) } }
@media print { body { max-width: none; padding: 0; font-size: 11px } section { margin-top: 22px }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact }
  figure, .strip, .stacks, table, .flow { break-inside: avoid }
  nav, .js .say { display: none }
  .wide { overflow: visible } table { font-size: 10.5px } h1 { font-size: 20px }
  h2 { font-size: 14px } .key-figures { grid-template-columns: repeat(6, 1fr) }
  .key-figures b { font-size: 18px } .lede { font-size: 13px }
  .key-figures li:nth-child(n) { border-top: 0; border-left: 1px solid var(--rule);
    padding: 8px 6px 8px 10px } .key-figures li:first-child { border-left: 0; padding-left: 0 }
  .row > .s7 { grid-column: span 7 }
  .row > .s5 { grid-column: span 5 }
  details:not([open]) > *:not(summary) { display: block } }
"""

#: The style sheet of every page that ssdlab writes.
STYLE = CHARTS + _STYLE


class Section(NamedTuple):
    """A part of a page, omitted when empty."""

    #: Anchor and link name.
    key: str
    #: The finding, in a sentence.
    heading: str
    body: str
    #: Caption: the dimmed line below the heading.
    note: str = ""
    #: Width on a wide page: "s7", "s5", or full.
    width: str = ""


class KeyFigure(NamedTuple):
    """A key figure in large type: label, value and reference."""

    name: str
    value: str
    beside: str = ""


def document(title: str, lead: str, sections: Sequence[Section]) -> str:
    """A whole page: the head (with the `h1`), and all non-empty sections."""
    visible = [section for section in sections if section.body]
    links = "".join(f'<a href="#{it.key}">{escape(it.key.replace("-", " "))}</a>' for it in visible)
    bodies = "".join(map(_section, visible))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f'<header>{lead}<nav>{links}</nav></header><main><div class="row">{bodies}</div></main>'
        f"<footer>ssdlab {escape(_core.version)}, ssdlab report</footer>"
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def _section(it: Section) -> str:
    note = f'<p class="sub">{escape(it.note)}</p>' if it.note else ""
    width = f' class="{it.width}"' if it.width else ""
    return f'<section id="{it.key}"{width}><h2>{escape(it.heading)}</h2>{note}{it.body}</section>'


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    meanings: Mapping[str, str] | None = None,
    strong: str = "",
    kind: str = "",
) -> str:
    """A table of texts; the first cell names its row, with its meaning as a tooltip."""
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = ""
    for first, *others in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        meaning = (meanings or {}).get(first)
        title = f' title="{escape(meaning)}"' if meaning else ""
        look = ' class="strong"' if strong and first == strong else ""
        body += f'<tr{look}><th scope="row"{title}>{escape(first)}</th>{cells}</tr>'
    look = f' class="{kind}"' if kind else ""
    return (
        f'<div class="wide"><table{look}>{named}<thead><tr>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def key_figures(figures: Sequence[KeyFigure]) -> str:
    """Key figures in large type; at most six fit a row."""
    items = "".join(
        f"<li><span>{escape(name)}</span><b>{escape(value)}</b>{escape(beside)}</li>"
        for name, value, beside in figures
    )
    return f'<ul class="key-figures">{items}</ul>' if items else ""


def warnings(messages: Sequence[str]) -> str:
    """Warnings."""
    items = "".join(f"<li><b>Warning</b> {escape(message)}</li>" for message in messages)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def checks(found: Sequence[tuple[str, str, str]]) -> str:
    """Checks: kind ("" passed, "w" warning, "i" information), name, finding."""
    items = "".join(
        f"<li{f' class={kind!r}' if kind else ''}><b>{escape(name)}:</b> {escape(said)}</li>"
        for kind, name, said in found
    )
    return f'<ul class="checks">{items}</ul>' if items else ""
