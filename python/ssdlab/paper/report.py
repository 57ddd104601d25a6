"""The items of a study as one web page: no script, no network, readable in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab import _core
from ssdlab.charts import svg
from ssdlab.numbers import study_number as number
from ssdlab.pages import STYLE
from ssdlab.paper.item import Item, Row, counts


def page(items: Sequence[Item], quick: bool, traces: bool) -> str:
    """The whole page as HTML."""
    count = ", ".join(
        f'<span class="{_class(kind)}">{found} {kind}</span>'
        for kind, found in counts(items).items()
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
        "claim in its note holds. A fitted one was used to find constants, an arithmetic one "
        "follows from constants alone, and neither proves anything. One that is not reproduced "
        "is missed, or has no numbers in the documents at hand; one that is not judged needs the "
        "full form.</p>"
        "</footer></body></html>\n"
    )


def _item(item: Item) -> str:
    figures = "".join(map(svg.figure, item.figures))
    remarks = "".join(f'<p class="remark">{escape(remark)}</p>' for remark in item.remarks)
    return (
        f'<section id="{item.name}"><h2>{escape(item.title)}</h2><div class="wide"><table><thead>'
        "<tr><th></th><th>published</th><th>simulated</th><th>difference</th><th>tolerance</th>"
        f"<th>verdict</th></tr></thead><tbody>{''.join(map(_row, item.rows))}</tbody></table></div>"
        f"{figures}{remarks}</section>"
    )


def _row(row: Row) -> str:
    difference, tolerance = row.difference_percent, row.tolerance_percent
    note = f"<small>{escape(row.explained)}</small>" if row.explained else ""
    cells = (
        "" if row.published is None else number(row.published),
        "" if row.simulated is None else number(row.simulated),
        "" if difference is None else f"{difference:+.1f} %",
        "" if tolerance is None else f"{tolerance:g} %",
    )
    return (
        f"<tr><td>{escape(row.name)}{note}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}"
        f'<td class="{_class(row.verdict)}">{row.verdict}</td></tr>'
    )


def _class(verdict: str) -> str:
    """The class of a verdict in the style sheet."""
    return verdict.replace(" ", "-")
