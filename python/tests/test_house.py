"""The laws of the house that ARCHITECTURE.md states: a test holds what it says, and imports make no
circle. Which imports count is said in `support/house.py`; the laws that are counts are in
`test_house_laws.py`.
"""

import re
import subprocess
import sys
from pathlib import Path

import house
import pytest
from house import ROOT, place, sources

from ssdlab import _core

#: Of pages that a new colleague reads from end to end; features are described in their folders.
MOST_WORDS = {"ARCHITECTURE.md": 3000, "CONTRIBUTING.md": 1500, "CHANGELOG.md": 600}

#: What breaks the law and why, by the words with which a test would report it. Whoever mends one
#: removes its line: one that no longer breaks the law fails.
KNOWN: dict[str, set[str]] = {
    "circles": {
        # `Results.plot` hands its object on, and its figures show results.
        "ssdlab.results",
        "ssdlab.results.plots",
    },
}


#: The crates of devices.
DEVICES = ("ssd", "array", "cache_device", "disk", "service_law", "devices")


def held(law, offenders):
    """Fails for offenders that are not known, and for known ones that are mended."""
    found = set(offenders)
    new = [f"{it}: {offenders[it]}" for it in sorted(found - KNOWN.get(law, set()))]
    assert not new, f"{law}:\n" + "\n".join(new)
    stale = sorted(KNOWN.get(law, set()) - found)
    assert not stale, f"mended, remove from KNOWN[{law!r}]: {', '.join(stale)}"


def test_what_is_mended_leaves_the_table(monkeypatch):
    monkeypatch.setitem(KNOWN, "lines", {"a.rs"})
    held("lines", {"a.rs": "501 lines"})
    with pytest.raises(AssertionError, match="mended, remove from KNOWN.*a.rs"):
        held("lines", {})
    with pytest.raises(AssertionError, match="b.rs: 502 lines"):
        held("lines", {"a.rs": "501 lines", "b.rs": "502 lines"})


# What ARCHITECTURE.md says


def invariants(text):
    """The items of the section "Invariants", and sentences that begin with *Invariant*."""
    body, _, section = text.partition("\n## Invariants\n")
    section, further, rest = section.partition("\n## ")
    yield from (" ".join(it.split()) for it in re.findall(r"^- .*(?:\n  .*)*", section, re.M))
    for paragraph in re.split(r"\n\s*\n", body + further + rest):
        line = " ".join(paragraph.split())
        # The end of a sentence is no full stop of a file's name or within brackets.
        masked = re.sub(r"`[^`]*`|\([^()]*\)", lambda it: "_" * len(it[0]), line)
        for start in re.finditer(r"\*Invariants?\b", masked):
            end = re.search(r"[.!?](\s|$)", masked[start.start() :])
            yield line[start.start() :][: end.end() if end else None].strip()


def named(sentence):
    """The files that a sentence names in backticks, each with the function behind `::`, if any."""
    for word in re.findall(r"`([^`]+)`", sentence):
        name, _, function = word.partition("::")
        for room in ("", "crates", "python"):
            path = ROOT / room / name
            if "." in name and path.is_file():
                yield path, function
                break
        else:
            if re.fullmatch(r"[\w/.-]+\.(rs|py|toml)", name):
                raise AssertionError(f"ARCHITECTURE.md names `{word}`, which is not there")


def unheld(text):
    """The invariants that name no file, or a function that is not there."""
    for sentence in invariants(text):
        files = [*named(sentence)]
        if not files:
            yield f"names no test or source: {sentence}"
        for path, function in files:
            last = function.rpartition("::")[2]
            if last and not re.search(rf"\b(fn|def) {last}\b", house.text_of(path)):
                yield f"there is no {last} in {place(path)}: {sentence}"


def test_every_invariant_names_what_holds_it():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    every = [*invariants(text)]
    assert len(every) >= 70
    assert [it for it in every if "::" not in it] == []
    assert [*unheld(text)] == []


def test_an_invariant_that_nothing_holds_is_found():
    test = "python/tests/test_house.py"
    held_up = (
        f"*Invariant:* it stands (`{test}::test_an_invariant_that_nothing_holds_is_found`). So."
    )
    assert [*unheld(held_up)] == []
    assert "names no test" in [*unheld(f"*Invariant:* it stands. See `{test}`.")][0]
    assert "there is no nothing in" in [*unheld(f"*Invariants:* `{test}::nothing`.")][0]
    with pytest.raises(AssertionError, match="not there"):
        [*unheld("*Invariant:* it stands (`devices/tests/none.rs`).")]
    items = f"- It stands:\n  `{test}::none`.\n- It falls.\n"
    first, second = unheld(f"So.\n\n## Invariants\n\n{items}\n## Other\n\n- x\n")
    assert "there is no none in" in first
    assert "names no test" in second


def test_packages_stand_in_layers():
    """`tool.importlinter` in pyproject.toml has the layers, and every package is in one of them."""
    program = Path(sys.executable).with_name("lint-imports")
    words = [program, "--no-cache", ROOT / "pyproject.toml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Contracts: 1 kept, 0 broken." in done.stdout


def test_the_ftl_has_no_time():
    """Decisions about places take none from a clock: timed and untimed runs have one FTL."""
    files = sources("crates/ssd/src/ftl/**/*.rs")
    assert len(files) > 5
    for path in files:
        words = house.tokens(house.text_of(path))
        timed = [it for it in words if re.fullmatch(r"Time|\w+_ns", it)]
        assert not timed, f"{place(path)}: {timed}"


def test_no_device_or_workload_reads_a_clock():
    """Simulated time comes from events; `clippy.toml` forbids the calls, without exceptions."""
    for path in sources(*(f"crates/{name}/src/**/*.rs" for name in ("engine", *DEVICES))):
        assert not re.search(r"\b(Instant|SystemTime)\b|disallowed_methods", house.text_of(path)), (
            path
        )
    for path in sources("crates/workloads/src/**/*.rs"):
        assert not re.search(r"\b(Instant|SystemTime)\b", house.text_of(path)), path


def test_pages_for_contributors_are_short():
    for name, most in MOST_WORDS.items():
        words = len((ROOT / name).read_text().split())
        assert words <= most, f"{name}: {words} words"


# Circles


def test_imports_make_no_circle():
    offenders = {}
    imports = house.python_imports(house.package())
    assert "ssdlab.results" in imports["ssdlab.running"]
    for circle in house.circles(imports):
        offenders |= house.ties(circle, imports)
    for src, crate in house.crates().items():
        imports = crate.imports()
        for circle in house.circles(imports):
            offenders |= house.ties(circle, imports, f"{src}/")
    held("circles", offenders)


# What is said once


def test_the_lists_of_the_engine_stand_nowhere_else():
    """Parts of a latency and operations are rows of tables in Rust, which Python asks for."""
    rows = _core.latency_parts()
    words = [row["key"] for row in rows if row["key"].endswith("_wait")]
    words += [word for word in _core.operations() if "-" in word]
    words += [row["label"] for row in rows]
    assert len(words) == 17
    for module, text in house.package().items():
        repeated = [word for word in words if f'"{word}"' in text]
        assert not repeated, f"{module} repeats {repeated}"
