"""The words of the house: comments, docs and messages say what colleagues would say aloud.

Phrases stand here that were found to need a second reading, with what to write instead.
"""

import re
from itertools import pairwise

import house
import pytest

#: What is not written: words that it contains, the phrase as a regular expression, what is.
PHRASES = [
    (" is of a", r"\b(it|there) is of an?(other)? (?!share|size|kind|type)", "belongs to"),
    ("they are of a", r"\bthey are of an?(other)? (?!share|size|kind|type)", "belong to"),
    ("what came of", r"\bwhat came of\b", "results, or the noun"),
    ("what becomes of", r"\bwhat becomes of\b", "results, or the noun"),
    ("to the same", r"\bcomes? to the same\b", "gives the same result"),
    ("body who waits", r"\b(some|any|every)body who waits\b", "the caller"),
    ("for so many", r"\bfor so many\b", "the number"),
    ("hold ", r"\bhold [a-z ]{0,20}against\b", "compare"),
    ("gears", r"\bgears\b", "timed and untimed runs"),
    ("hands ", r"\bhands (it )?on\b", "passes on"),
]
#: Whose words are still to be gone through.
NOT_YET = ("crates/ssd/src/", "crates/array/src/", "crates/engine/")
#: A test that quotes messages of these.
NOT_YET += ("crates/devices/tests/array.rs",)
FILES = ("*.md", "docs/**/*.md", "crates/**/*.rs", "python/**/*.py", "examples/**/*.py")
ELSEWHERE = ("CHANGELOG.md", "python/tests/test_house_english.py")

#: A line of text: its mark, and what follows.
COMMENT = re.compile(r"(\s*(?://[/!]?|#)) (.*)")
PROSE = re.compile(r"( *)([^ |<#`].*)")
#: A shorter line in the middle of a paragraph is one that an automatic change has left.
LEAST = 36


def texts():
    for path in house.sources(*FILES):
        place = house.place(path)
        if not place.startswith((*NOT_YET, *ELSEWHERE)):
            yield place, house.text_of(path)


def phrases(text):
    words = " ".join(text.lower().split())
    for mark in (" /// ", " //! ", " // ", " # "):
        words = words.replace(mark, " ")
    for contained, phrase, better in PHRASES:
        for found in re.finditer(phrase, words) if contained in words else ():
            yield f"{words[max(found.start() - 30, 0) : found.end() + 20]!r}: {better}"


def test_words_need_no_second_reading():
    found = [f"{place}: {it}" for place, text in texts() for it in phrases(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", ["as it is of a\n    /// drive", "what came of it", "both gears"])
def test_phrases_that_need_a_second_reading_are_found(line):
    assert [*phrases(line)]


def broken(text, mark, most):
    """The short lines in the middle of a paragraph, each with its number.

    Not those behind which the next word would not have fitted, nor the last one of a sentence.
    """
    fenced = False
    for number, (line, following) in enumerate(pairwise(text.splitlines()), 1):
        fenced ^= line.strip(" /!#").startswith("```")
        here, there = mark.fullmatch(line), mark.fullmatch(following)
        if fenced or not here or not there or here[1] != there[1]:
            continue
        listed = re.match(r"\s*(?:[-*|#>`<]|\d+\.|\w+[:=] )", there[2])
        fits = len(line) + 1 + len(there[2].split(" ")[0]) <= most
        if (
            len(line) < LEAST
            and fits
            and not listed
            and not re.search(r"[.:!?;,|]$|^[|#]", here[2])
        ):
            yield number, line.strip()


def test_no_line_of_a_paragraph_is_broken_off():
    found = []
    for place, text in texts():
        mark, most = (PROSE, 110) if place.endswith(".md") else (COMMENT, 100)
        found += [f"{place}:{number}: {line}" for number, line in broken(text, mark, most)]
    assert not found, "\n".join(found)


def test_a_line_that_is_broken_off_is_found():
    text = (
        "/// The first line of a comment that a script has filled\n/// again and\n/// left. So.\n"
    )
    assert [*broken(text, COMMENT, 100)] == [(2, "/// again and")]
    assert [*broken("/// A list:\n/// - one\n/// - two\n", COMMENT, 100)] == []
