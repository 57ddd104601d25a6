"""Puts a search into the page `search.html` of a site: `python packaging/search.py site`.

The sections of all pages are part of that page, so that it also works for pages read as files,
which may load nothing. It ranks like `ssdlab docs WORDS`: all words occur, and headings count most.
"""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

PAGE = "search.html"
HEADINGS = ("h1", "h2", "h3", "h4")
#: Elements whose text is no part of a section.
SILENT = ("script", "style", "svg", "button")
#: Elements within a sentence.
INLINE = ("a", "b", "code", "em", "i", "span", "strong", "sub", "sup")

FORM = """\
<p><label for="words">Words</label> <input id="words" type="search" autofocus autocomplete="off"
style="font: inherit; width: 100%; padding: .4em .6em; border: 1px solid currentColor;
border-radius: .3em; background: transparent; color: inherit"></p>
<p id="count" aria-live="polite"></p>
<ol id="found"></ol>
<script type="application/json" id="sections">{sections}</script>
<script>
(() => {
  "use strict";
  const at = id => document.getElementById(id);
  const sections = JSON.parse(at("sections").textContent);
  const score = (it, words) => {
    const head = it.heading.toLowerCase(), text = it.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const named = 20 * head.includes(word) + 5 * it.page.includes(word);
      const count = text.split(word).length - 1 + named;
      if (!count) return 0;
      sum += Math.min(count, 30);
    }
    return sum;
  };
  const add = (parent, tag, text) => {
    const it = document.createElement(tag);
    it.textContent = text;
    return parent.appendChild(it);
  };
  // From the sentence of the word, or shortly before it, to the end of a word.
  const excerpt = (text, word) => {
    const place = Math.max(0, text.toLowerCase().indexOf(word));
    const start = place && text.lastIndexOf(". ", place) + 1, isFar = place - start > 120;
    const from = isFar ? text.lastIndexOf(" ", place - 60) : start;
    const to = from + 200 < text.length ? text.lastIndexOf(" ", from + 200) : text.length;
    return (isFar ? "\u2026" : "") + text.slice(from, to) + (to < text.length ? " \u2026" : "");
  };
  const show = () => {
    const words = at("words").value.toLowerCase().split(/\\s+/).filter(Boolean);
    const scored = sections.map(it => [score(it, words), it]);
    const found = words.length ? scored.filter(it => it[0]) : [];
    found.sort((a, b) => b[0] - a[0]);
    at("found").replaceChildren();
    at("count").textContent = !words.length ? ""
      : found.length ? `${found.length} sections` : "No section has all of these words.";
    for (const [, it] of found.slice(0, 20)) {
      const item = add(at("found"), "li", "");
      const name = it.heading === it.title ? it.title : `${it.title}: ${it.heading}`;
      add(item, "a", name).href = it.to;
      const said = add(item, "p", ""), named = words.map(word => word.replace(/\\W/g, "\\\\$&"));
      excerpt(it.text, words[0]).split(new RegExp(`(${named.join("|")})`, "i"))
        .forEach((part, n) => add(said, n % 2 ? "b" : "span", part));
    }
  };
  at("words").value = new URLSearchParams(location.search).get("q") ?? "";
  at("words").addEventListener("input", show);
  show();
})();
</script>
"""


class Sections(HTMLParser):
    """The sections of the article of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page, self.title = page, ""
        self.found: list[dict[str, str]] = []
        self._within: list[str] = []
        self._in_article = False
        self._heading = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a section at a heading."""
        given = dict(attrs)
        if tag not in INLINE:
            self.handle_data(" \u00b7 " if tag == "td" else " ")
        if tag == "article":
            self._in_article = True
        elif tag in HEADINGS and self._in_article and given.get("id"):
            self._heading = tag
            to = f"{self.page}#{given['id']}"
            self.found.append({"page": self.page, "to": to, "heading": "", "text": ""})
        elif tag in SILENT or (given.get("class") or "") == "headerlink":
            self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """End a heading, or an element without text."""
        if tag not in INLINE:
            self.handle_data(" ")
        if tag == "article":
            self._in_article = False
        elif tag == self._heading:
            self._heading = ""
        elif self._within and tag == self._within[-1]:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        """Add text to the section or its heading."""
        if self.found and self._in_article and not self._within:
            self.found[-1]["heading" if self._heading else "text"] += data


def sections(site: Path) -> list[dict[str, str]]:
    """The sections of all pages of a site, with heading, text and address."""
    found = []
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site).as_posix()
        if page in (PAGE, "404.html"):
            continue
        reader = Sections(page)
        reader.feed(path.read_text(encoding="utf-8"))
        for it in reader.found:
            it |= {key: re.sub(r"\s+", " ", it[key]).strip() for key in ("heading", "text")}
            it["title"] = reader.found[0]["heading"]
            found.append(it)
    return found


def add_search(site: Path) -> None:
    """Put form, script and sections into the page of the search."""
    target = site / PAGE
    page = target.read_text(encoding="utf-8")
    data = json.dumps(sections(site), ensure_ascii=False).replace("</", "<\\/")
    form = FORM.replace("{sections}", data)
    assert "</article>" in page, f"{target}: no article"
    head, end, rest = page.rpartition("</article>")
    target.write_text(head + form + end + rest, encoding="utf-8")


if __name__ == "__main__":
    add_search(Path(sys.argv[1]))
