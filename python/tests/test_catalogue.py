"""Finding what there is: the overview, details, keys by any word, and completion in a shell."""

import doctest
import functools
import json
import operator
import os
import re
from pathlib import Path

import pytest

import ssdlab as package
from ssdlab import catalogue
from ssdlab.catalogue import glossary, pages, search

DOCS = Path(__file__).parents[2] / "docs"


def test_the_overview_is_one_screen(ssdlab):
    for width in (80, 40):
        done = ssdlab("list", env=os.environ | {"COLUMNS": str(width)})
        lines = done.stdout.splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= width
        for category in catalogue.categories():
            assert f"{category} {len(catalogue.list(category))}" in lines


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("garbage collection", "device.cleaning.policy"),
        ("GC", "device.cleaning.policy"),
        ("QD", "device.host_link.queue_depth"),
        ("iodepth", "workload.outstanding"),
        ("bs", "workload.block_size"),
        ("OP", "device.over_provisioning"),
        ("TBW", "device.wear.rated_cycles"),
        ("DWPD", "device.wear.service_years"),
        ("theta", "workload.locality"),
        ("victim", "device.cleaning.policy"),
        ("queue", "device.host_link.queue_depth"),
        ("device.wear", "device.wear.spread"),
    ],
)
def test_keys_are_found_by_the_words_for_them(word, key):
    found = [it.name for it in search.keys(word)]
    assert key in found and len(found) < 45


def test_superseded_pages_are_found_as_invalid():
    names = [it.name for it in search.keys("invalid")]
    assert names == [it.name for it in search.keys("superseded")]


def test_every_synonym_leads_to_a_key_or_says_why_not():
    rows = [search.Synonym(*row) for row in search._core.synonyms()]
    assert len(rows) > 40
    for row in rows:
        is_subject = row.word in ("discard", "invalid", "stale", "unmap")
        assert search.keys(row.word) or is_subject or (row.note and not row.terms), row
    assert doctest.testmod(search).attempted


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("theta", "workload.locality"),
        ("qd", "workload.outstanding"),
        ("iodepth", "workload.outstanding"),
        ("queue_depth", "device.host_link.queue_depth"),
        ("op", "device.over_provisioning"),
        ("overprovisioning", "device.over_provisioning"),
        ("gc", "device.cleaning"),
        ("bs", "workload.block_size"),
        ("waf", "write_amplification"),
    ],
)
def test_an_unknown_key_is_named_by_what_it_means(word, key, refused, tmp_path):
    """In an assignment, below its section, and in a file: the same table as `ssdlab keys` has."""
    assert key in refused("run", "--set", f"{word}=1") or word == "queue_depth"
    experiment = tmp_path / "a.toml"
    section = key.partition(".")[0] if "." in key else "device"
    experiment.write_text(f"[{section}]\n{word} = 1\n")
    if word != "queue_depth":  # which is a key of a device of another kind
        said = refused("run", experiment)
        assert key in said and "a.toml:2" in said
    assert key in refused("sweep", "--vary", f"{word}=1,2") or word == "queue_depth"


def test_keys_on_the_command_line(ssdlab, refused):
    found = json.loads(ssdlab("keys", "garbage", "collection", "--json").stdout)
    assert "device.cleaning.min_free" in found
    said = ssdlab("keys", "tbw").stdout
    assert "called rated_cycles" in said and "ssdlab endurance" in said
    sections = ssdlab("keys").stdout
    assert "device.cleaning" in sections and len(sections.splitlines()) < 50
    assert 'no key matches "zzz"' in refused("keys", "zzz")


def test_show_finds_whatever_has_that_name(ssdlab, refused):
    drive = ssdlab("show", "samsung-pm9a3").stdout
    assert "ssdlab run --device samsung-pm9a3" in drive and "[device]" in drive
    policy = ssdlab("show", "d-choices").stdout
    assert "device.cleaning.d_choices.d" in policy and "--set cleaning.policy=d-choices" in policy
    depth = json.loads(ssdlab("show", "queue_depth", "--json").stdout)
    assert {it["name"] for it in depth} == {
        "device.queue_depth",
        "device.host_link.queue_depth",
        "device.link.queue_depth",
        "queue depth",
    }
    for name in ("transient", "table1", "msr", "sata-300", "hynix-176l-tlc"):
        assert name in ssdlab("show", name).stdout
    assert "did you mean greedy" in refused("show", "gredy")
    assert "Keys: device.cleaning.policy" in ssdlab("show", "GC").stdout
    assert "ssdlab keys 'bs'" in refused("show", "bs")
    assert "nothing is called" in refused("show", "zzz")


def complete(ssdlab, words, shell="zsh"):
    environment = {
        "_SSDLAB_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = ssdlab(env=os.environ | environment)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ssdlab", "com"], "compare"),
        (["ssdlab", "run", "--device", "samsung-p"], "samsung-pm9a3"),
        (["ssdlab", "run", "--workload", "zipf"], "zipf-mixed"),
        (["ssdlab", "run", "--set", "cleaning.pol"], "cleaning.policy="),
        (["ssdlab", "run", "--set", "cleaning.policy=d-"], "cleaning.policy=d-choices"),
        (["ssdlab", "run", "--set", "device.pool=pl"], "device.pool=plane"),
        (["ssdlab", "run", "--set", "device.summary_page=t"], "device.summary_page=true"),
        (["ssdlab", "sweep", "--vary", "workload=mixed,rand"], "workload=mixed,random-read"),
        (["ssdlab", "list", "cle"], "cleaners"),
        (["ssdlab", "show", "hynix"], "hynix-176l-tlc"),
        (["ssdlab", "compare", "gree"], "greedy"),
        (["ssdlab", "endurance", "enterp"], "enterprise-ssd"),
        (["ssdlab", "serve", "--wat"], "--watch"),
        (["ssdlab", "serve", "ctl", "/tmp/ctl", "end"], "end-of-life"),
        (["ssdlab", "serve", "ctl", "/tmp/ctl", "latency", "a"], "add"),
    ],
)  # fmt: skip
def test_a_shell_completes(ssdlab, words, expected):
    assert expected in complete(ssdlab, words)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_for_shells(ssdlab, shell):
    done = ssdlab(env=os.environ | {"_SSDLAB_COMPLETE": f"{shell}_source"})
    assert "_SSDLAB_COMPLETE" in done.stdout and done.returncode == 0
    assert complete(ssdlab, ["ssdlab", "ru"], "bash") == ["plain,run"]


def test_no_word_of_the_catalogue_is_repeated_in_python():
    assert set(search.USES) <= set(catalogue.categories())
    assert package.list("devices") == catalogue.list("devices")


@pytest.fixture(scope="module")
def results():
    """The results of a drive."""
    return package.run(device="tlc-enterprise", set={"workload.requests": 500}).to_dict()


@pytest.mark.parametrize("term", glossary.terms(), ids=lambda it: it.term)
def test_a_term_names_what_there_is(term, results, ssdlab):
    assert set(term.keys) <= set(catalogue.list("keys"))
    for name in term.results:
        functools.reduce(operator.getitem, name.split("."), results)
    assert (DOCS / term.page).is_file()
    assert term.meaning.endswith(".") and len(term.meaning.split()) <= 35
    said = ssdlab("show", term.term).stdout
    assert said.startswith(f"{term.term}  terms") and all(key in said for key in term.keys)


def test_a_word_is_one_term():
    words = [word for it in glossary.terms() for word in (it.term, *it.also)]
    assert len(glossary.terms()) >= 40 and doctest.testmod(glossary).attempted
    for word in words:
        found = glossary.find(word.upper())
        assert found is not None and word in (found.term, *found.also), word
    assert glossary.find("iodepth").term == "queue depth" and glossary.find("nothing") is None


def test_a_term_is_data_for_scripts_and_leads_to_its_keys(ssdlab):
    (row,) = json.loads(ssdlab("show", "WAF", "--json").stdout)
    assert row["category"] == "terms" and "flash.write_amplification" in row["results"]
    assert [it.name for it in search.keys("waf")] == list(glossary.find("waf").keys)


def test_ratings_that_sheets_have_are_listed(ssdlab):
    """Drives without a price had none, although their sheets rate them."""
    lines = ssdlab("list", "devices").stdout.splitlines()
    rated = {line.split()[0]: line for line in lines if line.startswith(("samsung", "micron"))}
    assert " 0.26 " in rated["samsung-bm1743"] and " 0.05 " in rated["micron-5210-ion"]
    assert " 1 " in rated["samsung-pm9a3"]


def test_the_docs_are_read_and_searched_without_a_network(ssdlab):
    names = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    listed = ssdlab("docs").stdout.splitlines()
    assert {line.split()[0] for line in listed} == names == set(pages.pages())
    for name in ("drives", "docs/drives.md"):
        assert ssdlab("docs", name).stdout == (DOCS / "drives.md").read_text().rstrip() + "\n"
    found = ssdlab("docs", "queue", "depth").stdout.splitlines()
    assert found[0] == "ssdlab docs glossary: Queue depth" and len(found) <= 2 * pages.MAX_FOUND
    rows = json.loads(ssdlab("docs", "frontier", "--json").stdout)
    assert all("frontier" in (row["heading"] + row["text"]).lower() for row in rows) and rows
    assert json.loads(ssdlab("docs", "zones", "--json").stdout)[0]["title"] == "Zones"
    failed = ssdlab("docs", "xyzzy")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert 'no section of the docs has "xyzzy"' in failed.stderr


@pytest.mark.parametrize("term", [it.term for it in glossary.terms()])
def test_every_term_is_found_in_the_docs(term):
    assert pages.search(term)


def test_a_page_with_code_is_parted_at_its_headings_only():
    parts = [it for it in pages.sections() if it.page == "shell"]
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", pages.pages()["shell"]))
    assert [it.heading for it in parts] == headings


def test_the_examples_of_the_docs_are_copied_once(ssdlab, tmp_path):
    assert "`ssdlab docs --examples .`" in ssdlab("run", "examples/raid5.toml").stderr
    copied = ssdlab("docs", "--examples", ".").stdout.splitlines()
    assert {"examples/raid5.toml", "notebooks/first-results.ipynb"} < {*copied}
    assert all((tmp_path / it).read_bytes() == (DOCS.parent / it).read_bytes() for it in copied)
    assert "examples: is there already" in ssdlab("docs", "--examples", ".").stderr
