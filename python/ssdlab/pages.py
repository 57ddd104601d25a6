"""Shared parts of pages: the document, its style, its tables and key figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from ssdlab import _core
from ssdlab.charts.style import CHARTS

_HERE = Path(__file__).parent
_STYLE = (_HERE / "pages.css").read_text(encoding="utf-8")
#: A cross-hair over strips and curves, and zoom; a page works without it.
_SCRIPT = (_HERE / "charts" / "charts.js").read_text(encoding="utf-8")

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
        f"<script>{_SCRIPT}</script></body></html>\n"
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
