"""The docs build as a site: every link leads somewhere, and nothing is fetched from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import browser
import pytest

ROOT = Path(__file__).parents[2]


def build(where):
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    plain = os.environ | {"NO_COLOR": "1"}
    return subprocess.run(command, cwd=where, capture_output=True, text=True, env=plain)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    pytest.importorskip("zensical", reason="pip install 'ssdlab[docs]'")
    where = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", where / "docs")
    shutil.copy(ROOT / "zensical.toml", where)
    return where


@pytest.fixture(scope="module")
def site(source):
    """The site as zensical builds it, with links to the glossary and a search."""
    done = build(source)
    assert done.returncode == 0, done.stdout + done.stderr
    for script in ("glossary.py", "search.py"):
        command = [sys.executable, ROOT / "packaging" / script, source / "site"]
        subprocess.run(command, check=True)
    return source / "site"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        pass


def test_the_site_is_whole(site):
    pages = [page.stem for page in (ROOT / "docs").glob("*.md")]
    for page in pages:
        html = (site / f"{page}.html").read_text()
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="([^"]*)"', html)
        assert loaded
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []
    where = site / "glossary.html"
    places = set(re.findall(r'<h2 id="([\w-]+)"', where.read_text()))
    text = (site / "drives.html").read_text()
    terms = re.findall(r'<a href="glossary.html#([\w-]+)" title', text)
    assert {"die", "write-amplification"} <= set(terms) <= places
    assert len(terms) == len(set(terms))
    menu = (site / "index.html").read_text()
    linked = set(re.findall(r'href="(?:\./)?([a-z-]+)\.html"', menu))
    assert set(pages) - linked == set()


def test_a_broken_link_fails_the_build(source, tmp_path):
    shutil.copytree(source / "docs", tmp_path / "docs")
    shutil.copy(source / "zensical.toml", tmp_path)
    links = ["nowhere.md", "model.md#nothing"]
    said = "\n".join(f"[This]({link}) leads nowhere." for link in links)
    (tmp_path / "docs" / "broken.md").write_text(f"# Broken\n\n{said}\n")
    done = build(tmp_path)
    assert done.returncode != 0
    for kind in ("page", "anchor"):
        assert f"{kind} does not exist" in done.stdout + done.stderr


@pytest.mark.skipif(browser.BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("served", [False, True])
def test_a_search_finds_sections_from_files_and_from_a_server(site, tmp_path, served):
    handler = partial(QuietHandler, directory=site)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = f"http://127.0.0.1:{server.server_port}" if served else site.as_uri()
    with browser.Browser(tmp_path / "profile") as opened:
        opened.open(f"{start}/search.html?q=map+cache+memory")
        opened.until("document.querySelectorAll('#found li').length > 3")
        links = opened.run("[...document.querySelectorAll('#found a')].map(it => it.href)")
        assert f"{start}/media.html#drives-without-enough-memory-for-their-map" in links
        opened.run("words.value = 'zzqq'; words.dispatchEvent(new Event('input')); void 0")
        assert opened.run("count.textContent").startswith("No section")
        opened.open(links[0])
        page, place = links[0].rsplit("/", 1)[1].split("#")
        opened.until(
            f"location.pathname.endsWith('/{page}') && document.getElementById('{place}') !== null"
        )
    server.shutdown()
