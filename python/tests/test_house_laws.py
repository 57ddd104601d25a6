"""The laws of the house that are counts: `house_laws.tsv` has today's figures, which only fall.

`python python/tests/support/house_laws.py` prints the table beside the figures of the tree.
"""

import ast
import re

import house_laws
import house_pairs
import house_prose
import pytest
from house import Crate
from house_laws import HEAD, LAWS, Law, compared, lowered, rows

TABLE = house_laws.TABLE.read_text(encoding="utf-8")


@pytest.mark.parametrize("law", LAWS)
def test_a_figure_only_falls_and_what_has_fallen_is_recorded(law):
    wrong = [*compared(rows(TABLE), LAWS[law](), law)]
    assert not wrong, "\n".join(wrong)


def test_the_table_has_each_law_once_and_no_other():
    known = [(row.law, row.place) for row in rows(TABLE)]
    assert len(known) == len({*known})
    assert {law for law, _ in known} == {*LAWS}
    assert TABLE.splitlines()[0] == HEAD
    assert all(row.aim is None or row.aim <= row.figure for row in rows(TABLE))


def test_the_table_is_shown():
    print(house_laws.printed(rows(TABLE)))


def test_a_figure_that_rises_and_one_that_has_fallen_are_refused():
    table = [Law("fields", "a", 3, 1), Law("fields", "b", 3, 1), Law("others", "a", 9, None)]
    assert [*compared(table, {"a": 3, "b": 3}, "fields")] == []
    (risen,) = compared(table, {"a": 4, "b": 3}, "fields")
    assert risen == "fields, a: 4, and the table allows 3"
    (fallen,) = compared(table, {"a": 3, "b": 2}, "fields")
    assert "fields, b: 2, and the table still has 3: python python/tests" in fallen
    # A place that is new has none, one that is gone has too many.
    new, gone = compared(table, {"a": 3, "c": 1}, "fields")
    assert "b: 0" in new and "c: 1, and the table allows 0" in gone


def test_only_what_has_fallen_is_written(monkeypatch):
    monkeypatch.setattr(house_laws, "LAWS", {"fields": lambda: {"a": 2, "b": 4, "d": 0}})
    table = [Law("fields", it, 3, None) for it in "abcd"]
    assert lowered(table).splitlines()[1:] == [
        "fields\ta\t2\t-",
        "fields\tb\t3\t-",
        "fields\td\t0\t-",
    ]


# What counts


def words(text):
    return Crate({"lib.rs": text}).words[()]


def test_whatever_stands_behind_pub_it_is_visible():
    text = """
    pub mod a; pub(crate) use b::C; pub use d::*;
    pub fn e() {} pub(super) fn f() {} pub(in crate::g) const fn h() {}
    pub struct I { pub j: u8, pub(crate) k: u8, l: u8 } pub struct M(pub u8, pub(super) u8);
    #[cfg(test)] pub fn of_tests() {} // pub fn in a comment
    const N: &str = "pub fn in a string";
    """
    assert house_laws.visible(words(text)) == 9


def test_parameters_are_counted_in_either_language():
    text = """fn a() {} fn b(self, c: [u8; 2], d: Map<u8, u8>,) {}
    fn e(f: impl Fn(u8, u8) -> u8, g: u8) {}"""
    assert [*house_laws.parameters(words(text))] == [("a", 0), ("b", 3), ("e", 2)]
    tree = ast.parse("def a(b, /, c, *d, e=1, **f): pass\nclass G:\n    async def h(self): pass")
    assert [*house_laws.python_parameters(tree)] == [("a", 3), ("h", 1)]


def test_a_trait_that_is_cut_up_is_one():
    text = "trait A: B + Send { fn a(&self); } trait B: C { fn b(&self) { } } trait C { fn c(); }"
    declared = {name: (own, asked) for name, own, asked in house_laws.traits(words(text))}
    assert house_laws.with_those_asked_for(declared) == {"A": 3, "B": 2, "C": 1}


def test_names_of_rust_are_taken_apart():
    assert [house_laws.snake(it) for it in ("SlcBlocks", "map_cache", "Fdp", "MAX_FDP")] == [
        "slc_blocks",
        "map_cache",
        "fdp",
        "max_fdp",
    ]
    slc = re.compile(rf"(?:^|_)(?:{house_laws.FEATURES['SLC cache']})(?:_|$)")
    assert slc.search("slc_blocks") and slc.search("by_slc") and not slc.search("ulslc")


# Pairs of features


def test_what_a_pair_is_refused_with_is_a_sentence_about_a_key():
    for drive, refusals in house_pairs.refused().items():
        for found in refusals:
            for features, sentence in found.items():
                assert re.search(r"device\.\w+.*: \w+ .* \w+", sentence), (
                    drive,
                    features,
                    sentence,
                )


def test_features_that_a_drive_refuses_alone_are_in_no_pair():
    features = {
        "log blocks": {"log_blocks.scheme": "fast"},
        "handles": {"fdp.handles": 4},
        "more handles": {"fdp.handles": 8},
        "nothing": {},
    }
    alone, pairs = house_pairs.refusals("tlc-enterprise", features)
    assert ([*alone], pairs) == (["log blocks"], {})
    alone, pairs = house_pairs.refusals("agrawal2008", features)
    # Two values of one key are no pair.
    assert (alone, [*pairs]) == ({}, [("log blocks", "handles"), ("log blocks", "more handles")])
    assert "log blocks are of addresses, not of handles" in pairs["log blocks", "handles"]


# Prose


def test_prose_is_that_of_comments_messages_and_paragraphs():
    rust = '//! Head.\n//! More.\nlet a = "//no"; // tail\n/// What it is.\nfn b() {}\n'
    assert [*house_prose.of_rust(rust)] == ["Head.\nMore.", "What it is."]
    message = 'fn a() {\n    say("two \\\n         words", "one");\n}\n'
    assert [*house_prose.of_rust(message)] == ["two words"]
    python = '"""A docstring."""\n# A comment.\nraise E("a message of it")\nx = "word"\n'
    assert sorted(house_prose.of_python(python)) == [
        "A comment.",
        "A docstring.",
        "a message of it",
    ]
    page = "# A head of it\n\nOne. Two of `x`:\n\n- a point\n- another\n\n| a | b |\n"
    assert [*house_prose.of_page(page)] == ["One. Two of CODE:", "a point", "another"]
    assert house_prose.sentences("One.  Two\nof it? Three") == ["One.", "Two of it?", "Three"]
