"""The laws of the house about state: who may write a field, who calls whom, what a number means.

A type is written by the file that declares it or, where a `mod.rs` declares it, by the files of its
folder. Rust forbids the rest only where a field is private, so two figures are kept low: the items
that are visible to a part of a crate, and the writes to fields of types that other files declare.
"""

from collections import Counter

import house
import house_state
import pytest

#: By room: how many items are `pub(super)`, `pub(crate)` or `pub(in ..)`, and how many times a file
#: writes a field of a type that another file declares. They may only fall: whoever makes a room
#: better by more than a twentieth lowers its row. Rooms without a row have none.
VISIBLE = {
    "crates/bindings/src": 44,
    "crates/devices/src": 99,
    "crates/devices/src/array": 29,
    "crates/devices/src/ssd": 785,
    "crates/engine/src": 21,
    "crates/lab/src": 429,
    "crates/nbd/src": 309,
    "crates/options/src": 13,
    "crates/placement/src": 1,
    "crates/workloads/src": 477,
}
WRITTEN = {
    "crates/devices/src": 38,
    "crates/devices/src/array": 3,
    "crates/devices/src/ssd": 323,
    "crates/lab/src": 13,
    "crates/nbd/src": 76,
    "crates/workloads/src": 15,
}

#: By crate and type: how many methods call each other in a circle over several files. Whoever
#: breaks a circle removes its row.
CIRCLES_OF_CALLS: dict[tuple[str, str], int] = {}

#: Files that match on the numbers of an enum instead of its variants.
DECODED: set[str] = set()


def room(path):
    """A crate, and in `devices` the drive and the array apart from the rest."""
    for part in ("crates/devices/src/ssd", "crates/devices/src/array"):
        if path.startswith(f"{part}/"):
            return part
    return path[: path.index("/src/") + len("/src")]


def only_falls(rows, counts):
    """Fails for a count above its row, and for one that is more than a twentieth below."""
    wrong = {}
    for it in sorted({*rows, *counts}):
        row, count = rows.get(it, 0), counts.get(it, 0)
        if count > row:
            wrong[it] = f"{count}, and at most {row} are allowed"
        elif count < 0.95 * row:
            wrong[it] = f"{count}: lower its row, which is {row}"
    assert not wrong, "\n".join(f"{it}: {why}" for it, why in wrong.items())


def test_a_row_may_only_fall_and_is_kept_near_its_count():
    only_falls({"a": 100, "b": 3}, {"a": 95, "b": 3})
    with pytest.raises(AssertionError, match="a: 101, and at most 100"):
        only_falls({"a": 100}, {"a": 101})
    with pytest.raises(AssertionError, match="a: 94: lower its row, which is 100"):
        only_falls({"a": 100}, {"a": 94})
    with pytest.raises(AssertionError, match="b: 1, and at most 0"):
        only_falls({}, {"b": 1})
    with pytest.raises(AssertionError, match="b: 0: lower its row"):
        only_falls({"b": 1}, {})


def test_few_items_are_visible_to_a_part_of_a_crate():
    counts = Counter()
    for src, crate in house.crates().items():
        for module, words in crate.words.items():
            counts[room(f"{src}/{crate.files[module]}")] += house_state.restricted(words)
    only_falls(VISIBLE, +counts)


def test_a_field_is_written_where_its_type_is_declared():
    counts = Counter()
    for src, crate in house.crates().items():
        for path, _, _ in house_state.foreign_writes(crate):
            counts[room(f"{src}/{path}")] += 1
    only_falls(WRITTEN, counts)


def test_no_circle_of_calls_goes_over_several_files():
    found, members = {}, {}
    for src, crate in house.crates().items():
        for name, circle in house_state.circles_of_calls(crate):
            found[src, name] = found.get((src, name), 0) + len(circle)
            members[src, name] = circle
    new = {it: members[it] for it in found if found[it] > CIRCLES_OF_CALLS.get(it, 0)}
    assert not new, new
    gone = {it for it, count in CIRCLES_OF_CALLS.items() if found.get(it, 0) < count}
    assert not gone, f"smaller or gone, lower or remove its row: {gone}"


def test_no_number_stands_for_a_variant():
    found = {
        f"{src}/{crate.files[module]}"
        for src, crate in house.crates().items()
        for module, words in crate.words.items()
        if house_state.decodes_numbers(words)
    }
    assert found == DECODED
