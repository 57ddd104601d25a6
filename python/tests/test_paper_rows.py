"""Rows of the studies: how they compare and judge, and that none passes at any value."""

import pytest
from distorted import passes_at_any_value

from ssdlab.paper import Row


def test_a_row_compares_and_judges():
    assert Row("x", 100, 103, 5).verdict == "pass"
    assert Row("x", 100, 106, 5).verdict == "fail"
    assert Row("x", 100, 106).verdict == "info"
    assert Row("x", None, 106, 5).verdict == "info"
    assert Row("x", 200, 150).difference_percent == -25
    # 25 % is 1.25 times as much, or as little.
    assert Row("x", 100, 124, 25).verdict == Row("x", 100, 81, 25).verdict == "pass"
    assert Row("x", 100, 126, 25).verdict == Row("x", 100, 79, 25).verdict == "fail"
    assert Row("x", None, 1, least=1, most=2).verdict == "pass"
    assert (
        Row("x", None, 1, most=0.5).verdict == Row("x", None, 1, least=2, most=3).verdict == "fail"
    )
    assert Row("x", None, 0, most=0).verdict == "pass"
    # What the constants were found with proves nothing, met or missed.
    assert Row("x", 100, 100, 5, fitted=True).verdict == "fitted"
    assert Row("x", 100, 200, 5, fitted=True).verdict == "fitted"
    # So does what no simulation contributes to.
    assert Row("x", 100, 100, 5, arithmetic=True).verdict == "arithmetic"
    assert Row("x", 100, 200, 5, arithmetic=True).agrees is False
    # An explanation turns a miss into one that is known, and a figure that is met stays one.
    assert Row("x", 100, 200, 5, missed="why").verdict == "not reproduced"
    assert Row("x", 100, 101, 5, missed="why").verdict == "pass"
    assert Row("x", 100, 101).verdict == Row("x", 100, 101, missed="why").verdict == "info"
    assert Row("x", None, None).verdict == "not reproduced"
    # A quick study judges nothing that it measures otherwise, met or missed.
    assert Row("x", 100, 101, 5, unjudged="why").verdict == "not judged"
    assert Row("x", 100, 200, 5, unjudged="why").verdict == "not judged"


@pytest.mark.parametrize(
    "bounds", [{"least": 1}, {"least": 1, "most": 4.1}, {"tolerance_percent": 100}]
)
def test_a_claim_that_any_figure_bears_out_is_refused(bounds):
    with pytest.raises(ValueError, match="x: a claim that half and twice the figure bear out"):
        Row("x", 1, 13_836, **bounds)


def test_rows_that_pass_at_any_value_are_found():
    assert passes_at_any_value(Row("slower, times", None, 13_836, most=1e6))
    assert not passes_at_any_value(Row("x", None, 1.9, least=1, most=4))
    assert not passes_at_any_value(Row("x", 100, 115, 15))
    assert not passes_at_any_value(Row("nothing expires", None, 0, most=0))
    assert not passes_at_any_value(Row("shown", None, 13_836))


def test_a_row_says_why_only_where_it_does_not_agree():
    assert Row("x", 100, 101, 5, "note", missed="why").explained == "note"
    assert Row("x", 100, 200, 5, "note", missed="why").explained == "note; why"
    assert Row("x", 100, 200, 5, unjudged="quick").to_dict()["note"] == "quick"
    assert Row("x", None, 3, note="note", least=2, most=4).explained == "note; 2 to 4"
    assert Row("x", None, 0, most=0).explained == "at most 0"
