"""The items of a study as one web page: no script, no network, readable in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab import _core
from ssdlab.numbers import study_number as number
from ssdlab.paper import svg
from ssdlab.paper.item import Item, Row

STYLE = """
:root { color-scheme: light dark; --fg: #1c2128; --bg: #fff; --dim: #59636e; --rule: #d6dbe0;
  --pass: #1a7f37; --fail: #cf222e; --note: #fff8e1;
  --c0: #1f6feb; --c1: #d9730d; --c2: #2da44e; --c3: #bf3989; --c4: #8250df; --c5: #9a6700;
  --c6: #0e8a8a; --c7: #6e7781 }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --bg: #14181d; --dim: #9aa4ae;
  --rule: #343b43; --pass: #4ac26b; --fail: #ff7b72; --note: #2b2715;
  --c0: #58a6ff; --c1: #f0883e; --c2: #56d364; --c3: #f778ba; --c4: #bc8cff; --c5: #d29922;
  --c6: #39c5cf; --c7: #8b949e } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg);
  max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { line-height: 1.2 }
h2 { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: 1rem }
a { color: var(--c0) } nav a { display: inline-block; margin-right: .8rem }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--rule);
  vertical-align: top; font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left; min-width: 13rem } thead th { color: var(--dim) }
td small, .legend, footer { color: var(--dim) } td small { display: block }
.pass { color: var(--pass) } .fail { color: var(--fail); font-weight: bold }
.info { color: var(--dim) } .remark { background: var(--note); padding: .5rem .8rem }
@media (max-width: 36rem) { table { font-size: .78rem } th, td { padding: .25rem .3rem }
  th:first-child, td:first-child { min-width: 7rem } }
figure { margin: 1.5rem 0 } figcaption { font-weight: 600 } figure > svg { width: 100% }
svg text { fill: var(--dim); font-size: 12px } .grid { stroke: var(--rule) }
.line { fill: none; stroke: currentColor; stroke-width: 2 } .dot, .bar { fill: currentColor }
.legend span { display: inline-block; margin-right: 1rem; font-size: .85rem }
.key { width: 1.5rem; height: .5rem; margin-right: .4rem; overflow: visible }
""" + "".join(f".c{n} {{ color: var(--c{n}) }}" for n in range(svg.COLOURS))


def page(items: Sequence[Item], quick: bool, traces: bool) -> str:
    """The whole page as HTML."""
    verdicts = [row.verdict for item in items for row in item.rows]
    count = ", ".join(
        f'<span class="{kind}">{verdicts.count(kind)} {kind}</span>'
        for kind in ("pass", "fail", "info")
    )
    how = "quick form: smaller drives, fewer requests" if quick else "full form"
    if traces:
        how += "; IOzone and Postmark are the recorded traces"
    links = "".join(f'<a href="#{item.name}">{escape(item.name)}</a>' for item in items)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Published and simulated</title><style>{STYLE}</style></head><body>"
        f"<h1>Published and simulated</h1><p>{count} ({how})</p><nav>{links}</nav>"
        f"{''.join(map(_item, items))}<footer><p>ssdlab {escape(_core.version)}, ssdlab paper. A "
        "row passes when neither figure exceeds the other by more than the tolerance, or when the "
        "claim in its note holds.</p></footer></body></html>\n"
    )


def _item(item: Item) -> str:
    figures = "".join(
        f"<figure><figcaption>{escape(figure.title)}</figcaption>{svg.draw(figure)}</figure>"
        for figure in item.figures
    )
    remarks = "".join(f'<p class="remark">{escape(remark)}</p>' for remark in item.remarks)
    return (
        f'<section id="{item.name}"><h2>{escape(item.title)}</h2><div class="wide"><table><thead>'
        "<tr><th></th><th>published</th><th>simulated</th><th>difference</th><th>tolerance</th>"
        f"<th>verdict</th></tr></thead><tbody>{''.join(map(_row, item.rows))}</tbody></table></div>"
        f"{figures}{remarks}</section>"
    )


def _row(row: Row) -> str:
    difference, tolerance = row.difference_percent, row.tolerance_percent
    note = f"<small>{escape(row.note)}</small>" if row.note else ""
    cells = (
        "" if row.published is None else number(row.published),
        number(row.simulated),
        "" if difference is None else f"{difference:+.1f} %",
        "" if tolerance is None else f"{tolerance:g} %",
    )
    return (
        f"<tr><td>{escape(row.name)}{note}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}"
        f'<td class="{row.verdict}">{row.verdict}</td></tr>'
    )
