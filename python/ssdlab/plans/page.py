"""A plan as a page: the answer first, then its table."""

from __future__ import annotations

from html import escape

from ssdlab import pages
from ssdlab.pages import Section
from ssdlab.plans.display import Answer


def page(it: Answer) -> str:
    """The page of an answer."""
    first, *others = it.answer
    asked = "".join(f"<p class=sub>{escape(line)}</p>" for line in it.asked)
    more = "".join(f"<p>{escape(line)}</p>" for line in others)
    lead = f'<p class="over">{escape(it.title)}</p><h1>{escape(first)}</h1>{asked}{more}'
    below = "".join(f"<p>{escape(line)}</p>" for line in it.below)
    rows = [[*map(str, row)] for row in it.rows]
    body = pages.table([*it.heads], rows) + below
    return pages.document(
        it.title, lead, [Section("table", f"By {it.heads[0]}", body, " ".join(it.notes))]
    )
