"""Large tables of devices are made in one place: one without memory for it ends no process."""

import re

from house import ROOT

CRATES = ROOT / "crates"
DEVICES = ("ssd", "array", "cache_device", "disk", "service_law", "devices")
#: A table that does not come from `crates/memory`.
MADE_ELSEWHERE = re.compile(
    r"vec!\[[^\]]*;|Vec::with_capacity|VecDeque::with_capacity|\.resize\(|alloc_zeroed"
)
#: What is bounded whatever the keys are: its file, and the line.
BOUNDED = {
    "ssd/src/blocks/ahead.rs": "self.there.resize((end - begin) as usize, false);",
    "ssd/src/numbers/raw.rs": "room.resize(numbers.len() * NARROW, 0);",
    "ssd/src/parts.rs": "pages.resize(batch.len(), 0);\nnumbers.resize(batch.len(), 0);",
    "ssd/src/zoned/media.rs": "self.done.resize(place + 1, false);",
}
_TESTS = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod (\w+)( \{|;)"
)


def files():
    return sorted(path for name in DEVICES for path in (CRATES / name / "src").rglob("*.rs"))


def without_tests(text):
    inline = next((it for it in _TESTS.finditer(text) if it[2] == " {"), None)
    return text[: inline.start()] if inline else text


def of_tests():
    """The files that are compiled for tests alone."""
    for path in files():
        for found in _TESTS.finditer(path.read_text()):
            if found[2] == ";":
                stem = path.parent if path.stem in ("mod", "lib") else path.with_suffix("")
                yield from (stem / f"{found[1]}.rs", stem / found[1])


def offenders(path, text):
    name = path.relative_to(CRATES).as_posix()
    allowed = BOUNDED.get(name, "").split("\n")
    for number, line in enumerate(without_tests(text).splitlines(), 1):
        code = line.strip()
        if MADE_ELSEWHERE.search(code) and not code.startswith("//") and code not in allowed:
            yield f"{name}:{number}: {code}"


def test_large_tables_are_made_in_one_place():
    tests = list(of_tests())
    assert tests
    found = [
        it
        for path in files()
        if not any(path == test or test in path.parents for test in tests)
        and not path.stem.endswith("tests")
        for it in offenders(path, path.read_text())
    ]
    assert not found, "\n".join(["use memory::zeroed, filled, grow or with_capacity:", *found])


def test_a_table_made_elsewhere_is_found():
    path = CRATES / "ssd/src/some.rs"
    assert list(offenders(path, "let all = vec![0; blocks];\n"))
    assert list(offenders(path, "let all = Vec::with_capacity(blocks);\n"))
    assert not list(offenders(path, "let all = memory::zeroed(blocks);\n"))
    assert not list(offenders(path, "#[cfg(test)]\nmod tests {\n    vec![0; 3]\n}\n"))
