"""The items of a study as one web page: no script, no network, readable in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab import _core
from ssdlab.charts import svg
from ssdlab.pages import STYLE
from ssdlab.paper.item import Item, Row, counts
from ssdlab.units import study_number as number

#: Items on current drives; they precede older studies.
TODAY = ("drives", "ssdiq", "ssdiq-gc", "ssdiq-load")
COLUMNS = ("published", "simulated", "difference", "tolerance", "verdict")
#: On a phone a row shows its name with labelled figures below.
NARROW = """
.study td:first-child { white-space: normal }
details.item { border-top: 1px solid var(--rule); padding: 10px 0 }
details.item > summary { cursor: pointer; font-size: 17px; font-weight: 600 }
details.item > summary small { font-weight: 400; margin-left: 8px }
@media (max-width: 640px) {
  .study, .study tbody { display: block } .study thead { display: none }
  .study tr { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 4px 10px;
    padding: 9px 0; border-bottom: 1px solid var(--rule) }
  .study td { border: 0; padding: 0; text-align: left; white-space: normal }
  .study td:first-child { grid-column: 1 / -1 } .study td:empty { display: none }
  .study td[data-of]::before { content: attr(data-of); display: block; font-size: 11px;
    font-weight: 400; color: var(--dim) }
}
"""


def page(items: Sequence[Item], quick: bool, traces: bool) -> str:
    """The whole page as HTML: failures first, then current drives, then the rest.

    An item is a collapsible line with its verdicts; items with a failed row are open.
    """
    items = sorted(items, key=lambda it: (not _fails(it), it.name not in TODAY))
    count = _counted(items, link=True)
    how = "quick form: smaller drives, fewer requests" if quick else "full form"
    if traces:
        how += "; IOzone and Postmark are the recorded traces"
    links = "".join(f'<a href="#{item.name}">{escape(item.name)}</a>' for item in items)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Published and simulated</title><style>{STYLE}{NARROW}</style></head><body>"
        f"<h1>Published and simulated</h1><p>{count} ({how})</p><nav>{links}</nav>"
        f"{''.join(map(_item, items))}<footer><p>ssdlab {escape(_core.version)}, ssdlab paper. A "
        "row passes when neither figure exceeds the other by more than the tolerance, or when the "
        "claim in its note holds. A fitted one was used to find constants, an arithmetic one "
        "follows from constants alone, and neither proves anything. One that is not reproduced "
        "is missed, or has no numbers in the documents at hand; one that is not judged needs the "
        "full form.</p>"
        "</footer></body></html>\n"
    )


def _fails(item: Item) -> bool:
    return any(row.verdict == "fail" for row in item.rows)


def _counted(items: Sequence[Item], link: bool = False) -> str:
    """Number of rows with each verdict; with `link` the failures link to the first of them."""
    stated = []
    for kind, found in counts(items).items():
        if not found and not (link and kind == "fail"):
            continue
        text = f"{found} {kind}"
        if kind == "fail" and found and link:
            text = f'<a href="#{next(it.name for it in items if _fails(it))}">{text}</a>'
        stated.append(f'<span class="{_class(kind) if found else "info"}">{text}</span>')
    return ", ".join(stated)


def _item(item: Item) -> str:
    figures = "".join(map(svg.figure, item.figures))
    rows = sorted(item.rows, key=lambda row: row.verdict != "fail")
    heads = "".join(f"<th>{column}</th>" for column in COLUMNS)
    remarks = "".join(f'<p class="remark">{escape(remark)}</p>' for remark in item.remarks)
    head = f"<thead><tr><th></th>{heads}</tr></thead>"
    table = f'<table class="study">{head}<tbody>{"".join(map(_row, rows))}</tbody></table>'
    is_open = " open" if _fails(item) else ""
    return (
        f'<details class="item"{is_open}><summary>{escape(item.title)}'
        f"<small>{_counted([item])}</small></summary>"
        # A link to a nested element opens it.
        f'<div class="wide" id="{item.name}">{table}</div>{figures}{remarks}</details>'
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
    shown = "".join(
        f'<td data-of="{column}">{cell}</td>' for column, cell in zip(COLUMNS, cells, strict=False)
    )
    return (
        f"<tr><td>{escape(row.name)}{note}</td>{shown}"
        f'<td class="{_class(row.verdict)}" data-of="{COLUMNS[-1]}">{row.verdict}</td></tr>'
    )


def _class(verdict: str) -> str:
    """The class of a verdict in the style sheet."""
    return verdict.replace(" ", "-")
