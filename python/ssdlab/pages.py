"""What the pages share: the document, its style, its tables and key figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ssdlab import _core
from ssdlab.charts.style import CHARTS

_STYLE = """
:root { color-scheme: light dark; --fg: #1c2128; --bg: #fff; --dim: #59636e; --rule: #d6dbe0;
  --pass: #1a7f37; --fail: #cf222e; --note: #fff8e1 }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --bg: #14181d; --dim: #9aa4ae;
  --rule: #343b43; --pass: #4ac26b; --fail: #ff7b72; --note: #2b2715 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg);
  max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { line-height: 1.2 }
h2 { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: 1rem }
a { color: var(--c0) } nav a { display: inline-block; margin-right: .8rem }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--rule);
  vertical-align: top; font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left; min-width: 13rem } thead th { color: var(--dim) }
td small, footer { color: var(--dim) } td small { display: block }
.pass { color: var(--pass) } .fail { color: var(--fail); font-weight: bold }
.info, .fitted, .arithmetic { color: var(--dim) }
.remark { background: var(--note); padding: .5rem .8rem }
@media (max-width: 36rem) { table { font-size: .78rem } th, td { padding: .25rem .3rem }
  th:first-child, td:first-child { min-width: 7rem } }
th[scope=row] { font-weight: normal } caption { text-align: left; color: var(--dim) }
.key-figures { display: flex; flex-wrap: wrap; gap: .5rem 2rem; padding: 0; list-style: none }
.key-figures b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums }
.key-figures li { color: var(--dim) } .key-figures b { color: var(--fg) }
.warnings { padding: .5rem 1rem; list-style: none; border-left: .3rem solid var(--c1) }
pre { overflow-x: auto; font-size: .8rem; border: 1px solid var(--rule); padding: .6rem }
details { margin: .6rem 0 } summary { cursor: pointer }
@media print { body { max-width: none; font-size: 11px } section { break-inside: avoid }
  details:not([open]) > *:not(summary) { display: block } nav { display: none } }
"""

#: The style sheet of every page that ssdlab writes.
STYLE = _STYLE + CHARTS


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
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
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
