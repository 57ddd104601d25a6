"""What a registry, a forge and a shell show of the project is made from the sources that it has."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from commands import EVERY

from ssdlab import _core, schema, toml

ROOT = Path(__file__).parents[2]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def packaging(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_registry_is_fresh_and_its_links_are_whole():
    """`.venv/bin/python packaging/readme.py` writes it."""
    readme = packaging("readme")
    assert readme.TARGET.read_text(encoding="utf-8") == readme.text()
    links = re.findall(r"\]\(([^)#]+)", readme.text())
    assert len(links) > 20 and all(it.startswith("https://") for it in links)
    for link in links:
        path = link.removeprefix(readme.address()).split("/main/")[-1]
        assert (ROOT / path).exists() or not link.startswith(readme.address()), link
    assert any("/raw/main/docs/view.png" in it for it in links)


def test_the_page_of_the_glossary_is_fresh():
    """`.venv/bin/python packaging/glossary.py` writes it."""
    glossary = packaging("glossary")
    assert glossary.TARGET.read_text(encoding="utf-8") == glossary.text()


def test_a_page_of_the_site_links_the_first_use_of_a_term():
    """Not within code, headings and links, nor an ordinary word."""
    linked = packaging("glossary").linked
    page = (
        "<p>GC</p><article><h1>Over-provisioning</h1><p>This page: <code>GC</code> costs "
        "<em>WAF</em> and was; GC and garbage collection. Dies have planes.</p></article>"
    )
    found = linked(page, "glossary.html")
    assert re.sub(r"</?a\b[^>]*>", "", found) == page
    links = re.findall(r'<a href="glossary.html#([\w-]+)" title="[^"]+">(.*?)</a>', found)
    assert links == [
        ("write-amplification", "WAF"),
        ("garbage-collection", "GC"),
        ("die", "Dies"),
        ("plane", "planes"),
    ]


def test_the_address_of_the_repository_stands_where_packages_are_described():
    address = packaging("readme").address()
    said = subprocess.run(["git", "grep", "-lI", address], cwd=ROOT, capture_output=True, text=True)
    if said.returncode == 128:
        pytest.skip("this is no clone")
    assert set(said.stdout.split()) <= {"pyproject.toml", "Cargo.toml", "packaging/registry.md"}


def test_the_readme_opens_with_both_ways_to_begin():
    begin = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Three commands")[0]
    assert "pip install ssdlab" in begin and "make demo" in begin


def test_a_citation_names_the_version_and_licences():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {_core.version}\n" in text
    project = toml.parse("it", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for licence in project["license"].split(" OR "):
        assert f"\n  - {licence}\n" in text
    assert f"name: {project['authors'][0]['name']}\n" in text


def test_the_schema_has_a_name_of_its_own():
    found = json.loads(schema.text())
    assert found["$id"] == "urn:ssdlab:experiment:1"
    assert found["properties"]["version"]["const"] == 1


@pytest.mark.parametrize("place", [".github/workflows/ci.yml", "packaging/Containerfile"])
def test_recipes_for_others_call_our_targets(place):
    text = (ROOT / place).read_text(encoding="utf-8")
    called = re.findall(r"(?:run: |RUN |&& )make ([a-z-]+)(?![\w./-])", text)
    assert set(called) <= TARGETS
    if place.endswith("yml"):
        assert {"release", "docs-versions"} == set(called) and "run: .ci/run" in text
    else:
        assert "dist/.stamp-wheel" in text and 'ENTRYPOINT ["ssdlab"]' in text


def test_versions_of_the_docs_stand_side_by_side(tmp_path):
    publish = packaging("versions").publish
    (tmp_path / "site").mkdir()
    for version in ("0.9.0", "0.10.0", "0.2.1"):
        (tmp_path / "site" / "index.html").write_text(version)
        found = publish(tmp_path / "site", tmp_path / "out", version)
    assert found == ["0.10.0", "0.9.0", "0.2.1"]
    assert (tmp_path / "out" / "0.9.0" / "index.html").read_text() == "0.9.0"
    assert "url=0.10.0/" in (tmp_path / "out" / "index.html").read_text()
    rows = json.loads((tmp_path / "out" / "versions.json").read_text())
    assert [row["aliases"] for row in rows] == [["latest"], [], []]


def test_every_command_has_a_manual_page_with_every_option():
    pages = packaging("man").pages("2026-01-01")
    assert len(pages) == len(EVERY)
    for words, command in EVERY:
        page = pages["-".join(("ssdlab", *words)) + ".1"]
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"):
            assert f".SH {heading}\n" in page
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.opts[-1].replace("-", "\\-") in page
        for what, line in getattr(command, "examples", ()):
            assert line.splitlines()[0].replace("-", "\\-")[:20] in page, what


def test_manual_pages_are_good_roff(tmp_path):
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for name, text in packaging("man").pages("2026-01-01").items():
        (tmp_path / name).write_text(text)
        words = ["groff", "-man", "-Tutf8", "-ww", "-z", name]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), name
