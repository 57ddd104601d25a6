"""The docs build as a site: every link leads somewhere, and nothing is fetched from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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
    done = build(source)
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "site"


def test_the_site_is_whole(site):
    pages = [page.stem for page in (ROOT / "docs").glob("*.md")]
    for page in pages:
        html = (site / f"{page}.html").read_text()
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="([^"]*)"', html)
        assert loaded
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []
    where = site / "glossary.html"
    places = set(re.findall(r'<h2 id="([\w-]+)"', where.read_text()))
    linking = [sys.executable, ROOT / "packaging" / "glossary.py", site]
    subprocess.run(linking, check=True)
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


def test_no_search_is_offered_that_files_could_not_serve(site):
    page = (site / "index.html").read_text()
    assert 'type="search"' not in page and 'class="md-search"' not in page
