"""The law of the house that ARCHITECTURE.md tells: a test holds what it says, imports make no
circle, and files and structs stay small enough to read. Which imports count is said in
`support/house.py`.
"""

import re
from pathlib import Path

import house
import pytest

from ssdlab import _core

ROOT = Path(__file__).parents[2]
MOST_LINES = 500
MOST_FIELDS = 15
WIRING = ("crates/devices/src/ssd/mod.rs", 150)

#: What breaks the law and why, by the words with which a test would report it. Whoever mends one
#: removes its line: one that no longer breaks the law fails.
KNOWN: dict[str, set[str]] = {
    # An array's member is any device: the table of kinds names the array, the array the table.
    "circles": {
        "crates/devices/src/array/config.rs",
        "crates/devices/src/lib.rs",
    },
}


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


def sources(*patterns):
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def place(path):
    return path.relative_to(ROOT).as_posix()


# What ARCHITECTURE.md says


def invariants(text):
    """The sentences that begin with *Invariant* or *Invariants*."""
    for paragraph in re.split(r"\n\s*\n", text):
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
            if last and not re.search(rf"\b(fn|def) {last}\b", path.read_text()):
                yield f"there is no {last} in {place(path)}: {sentence}"


def test_every_invariant_names_what_holds_it():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len([*invariants(text)]) >= 8
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


def test_the_ftl_has_no_time():
    """Decisions about places take none from a clock: both gears are one FTL."""
    files = sources("crates/devices/src/ssd/ftl/**/*.rs")
    assert len(files) > 5
    for path in files:
        timed = [it for it, _ in house.tokens(path.read_text()) if re.fullmatch(r"Time|\w+_ns", it)]
        assert not timed, f"{place(path)}: {timed}"


# Sizes


def test_no_device_or_workload_reads_a_clock():
    """Simulated time comes from events; `clippy.toml` forbids the calls, without exceptions."""
    for path in sources("crates/engine/src/**/*.rs", "crates/devices/src/**/*.rs"):
        assert not re.search(r"\b(Instant|SystemTime)\b|disallowed_methods", path.read_text()), path
    for path in sources("crates/workloads/src/**/*.rs"):
        assert not re.search(r"\b(Instant|SystemTime)\b", path.read_text()), path


def test_no_file_is_longer_than_a_sitting():
    every = sources("crates/**/*.rs", "python/**/*.py")
    lines = {place(path): len(path.read_text().splitlines()) for path in every}
    assert len(lines) > 150
    held("lines", {path: f"{n} lines" for path, n in lines.items() if n > MOST_LINES})


def test_the_drive_is_put_together_in_a_file_of_wiring():
    path, most = WIRING
    lines = len((ROOT / path).read_text().splitlines())
    held("wiring", {path: f"{lines} lines"} if lines > most else {})


def test_a_struct_of_many_fields_says_why():
    offenders = {}
    for path in sources("crates/**/*.rs"):
        for name, fields, above in house.structs(path.read_text()):
            if fields > MOST_FIELDS and not re.search(r"\bfields\b", above):
                offenders[f"{place(path)}: {name}"] = f"{fields} fields, and no sentence says why"
    held("fields", offenders)


# Circles


def package():
    modules = {"ssdlab._core": ""}
    for path in sources("python/ssdlab/**/*.py"):
        parts = path.relative_to(ROOT / "python").with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return modules


def test_imports_make_no_circle():
    offenders = {}
    imports = house.python_imports(package())
    assert "ssdlab.results" in imports["ssdlab.running"]
    for circle in house.circles(imports):
        offenders |= house.ties(circle, imports)
    for src in sources("crates/*/src"):
        files = {path.relative_to(src).as_posix(): path.read_text() for path in src.rglob("*.rs")}
        imports = house.Crate(files).imports()
        for circle in house.circles(imports):
            offenders |= house.ties(circle, imports, f"{place(src)}/")
    held("circles", offenders)


# What is said once


def test_the_lists_of_the_engine_stand_nowhere_else():
    """Parts of a latency and operations are rows of tables in Rust, which Python asks for."""
    rows = _core.latency_parts()
    words = [row["key"] for row in rows if row["key"].endswith("_wait")]
    words += [word for word in _core.operations() if "-" in word]
    words += [row["label"] for row in rows]
    assert len(words) == 12
    for module, text in package().items():
        repeated = [word for word in words if f'"{word}"' in text]
        assert not repeated, f"{module} repeats {repeated}"
