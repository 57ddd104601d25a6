"""The journal of a large sweep: about 2 KB a point, and nothing of the table is lost."""

import json
import tracemalloc

import pytest

import ssdlab
from ssdlab.sweeps import packing, store, table
from ssdlab.sweeps.packing import Packing
from ssdlab.sweeps.result import Sweep

VARIED = {"device.channels": [2, 4, 8], "run.seed": [*range(4)]}
SMALL = {"device.blocks_per_plane": 64, "workload.requests": 600}


def swept(path, **more):
    return ssdlab.sweep(vary=VARIED, set=SMALL, workers=1, out=path, minimize="p99", **more)


@pytest.fixture
def packs(monkeypatch):
    monkeypatch.setattr(packing, "FROM", 5)
    monkeypatch.setattr(store, "FROM", 5)
    monkeypatch.setattr(store, "ROWS", 5)


def lines_of(path):
    return path.with_suffix(".jsonl").read_bytes().splitlines(keepends=True)


def test_a_packed_sweep_has_the_table_of_a_plain_one_in_3_kb_a_point(tmp_path, request):
    plain = swept(tmp_path / "plain.csv")
    request.getfixturevalue("packs")
    packed = swept(tmp_path / "packed.csv")
    assert isinstance(packed.columns, store.Stored) and isinstance(plain.columns, dict)
    assert packed.columns == plain.columns and [*packed.columns] == [*plain.columns]
    assert table.parquet(packed.columns) == table.parquet(plain.columns)
    assert packed.means() == plain.means()
    assert (tmp_path / "plain.csv").read_bytes() == (tmp_path / "packed.csv").read_bytes()
    lines = lines_of(tmp_path / "packed.csv")
    assert max(map(len, lines[1:])) < 3000 < min(map(len, lines_of(tmp_path / "plain.csv")))
    loaded = Sweep.load(tmp_path / "packed.csv")
    assert loaded.columns == plain.columns and loaded.goals == plain.goals
    one, other = plain[7].results.to_dict(), loaded[7].results.to_dict()
    assert other == {key: it for key, it in one.items() if key not in packing.LEFT_OUT} | {
        "elapsed": other["elapsed"]
    }


def test_it_goes_on_after_an_interruption_and_drops_damaged_lines(tmp_path, packs):
    path = tmp_path / "it.csv"
    columns = swept(path).columns
    lines = lines_of(path)
    for kept in (lines[:5], lines[3:], [*lines[:6], lines[6][:-9] + b'ff"}\n', *lines[7:]]):
        path.with_suffix(".jsonl").write_bytes(b"".join(kept))
        assert swept(path).columns == columns
        assert len(lines_of(path)) == len(lines)
        assert json.loads(lines_of(path)[0])["sweep"]["minimize"]


def test_what_is_packed_is_unpacked():
    first, later = ({"a": n, "b": [1.5] * 9, "time_series": {"x": [1]}} for n in (1, 2))
    packing_ = Packing()
    assert json.loads(packing_.pack(json.dumps(first).encode())) == {"a": 1, "b": [1.5] * 9}
    text = json.loads(packing_.pack(json.dumps(later).encode()))
    assert packing_.unpack(text) == {"a": 2, "b": [1.5] * 9}
    assert packing_.unpack(first) == first
    other = Packing()
    for wrong in (other, packing_):
        with pytest.raises(ValueError, match="missing or damaged|cannot be|Expecting"):
            wrong.unpack(text if wrong is other else f"{text[:9]}{text[9:15][::-1]}")


def test_stored_columns_are_out_of_memory():
    def peak(count):
        tracemalloc.start()
        rows = ({f"x{n}": row + n / 7 for n in range(100)} for row in range(4000))
        columns = store.columns(rows, count)
        assert columns["x3"][1400] == 1400 + 3 / 7
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(4000) < peak(1000) / 4


def test_a_column_that_some_rows_lack_is_empty_there(packs):
    rows = [{"a": n, **({"b": n} if n > 6 else {})} for n in range(12)]
    found = store.columns(rows, 12)
    assert found["b"] == [None] * 7 + [7, 8, 9, 10, 11] and "c" not in found
    found["c"] = [True] * 12
    assert [*found] == ["a", "b", "c"]
    pieces = [*store.pieces(found)]
    assert [len(it[0]) for it in pieces] == [5, 5, 2] and pieces[1][1] == [None, None, 7, 8, 9]
    del found["c"]
    with pytest.raises(KeyError):
        found["c"]
