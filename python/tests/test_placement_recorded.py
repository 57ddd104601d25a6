"""What `ssdlab placement` says of recorded traces, before and after, confirmed by plain runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab

pq = pytest.importorskip("pyarrow.parquet")

TRACES = Path(__file__).parents[3] / "shared" / "traces"
UNITS, SPARE = 256, 0.13
#: Pages that a die programs at once: what is written over while they fill is not programmed.
GROUP = 12


def compacted(source: Path, path: Path) -> int:
    """The pages that a trace writes, one behind the other, as a trace of their own; their number.

    What a write buffer absorbs is left out, because the drive of `ssdlab placement` has none.
    """
    whole = path.with_suffix(".whole.parquet")
    ssdlab.trace.convert(source, whole)
    table = pq.read_table(whole, columns=["op", "sector", "sectors"])
    writes = np.array(table.column("op").to_pylist()) == "write"
    first = np.array(table.column("sector"))[writes]
    last = (first + np.array(table.column("sectors"))[writes] - 1) // 8
    first = first // 8
    touched = np.unique(np.concatenate([np.arange(*it) for it in zip(first, last + 1)]))  # noqa: B905
    runs, seen, count = [], {}, 0
    for start, end in zip(
        np.searchsorted(touched, first).tolist(),
        np.searchsorted(touched, last).tolist(),
        strict=True,
    ):
        for page in range(start, end + 1):
            if count - seen.get(page, -GROUP) < GROUP:
                continue
            seen[page] = count
            count += 1
            if runs and sum(runs[-1]) == page > start:
                runs[-1][1] += 1
            else:
                runs.append([page, 1])
    ssdlab.trace.write(
        path,
        at_ns=[1000 * at for at in range(len(runs) + 1)],
        op=["read"] + ["write"] * len(runs),
        sector=[0, *(8 * page for page, _ in runs)],
        sectors=[8 * len(touched), *(8 * pages for _, pages in runs)],
    )
    return len(touched)


def plain(trace: Path, pages: int, rows: int, **more: Any) -> float:
    """Write amplification of a whole drive of one die, whose superblocks are the reclaim units."""
    one = ("channels", "dies_per_package", "planes_per_die", "packages_per_channel")
    drive = dict.fromkeys(one, 1) | {
        "blocks_per_plane": UNITS,
        "pages_per_block": 3 * rows,
        "scale": 1,
        "capacity": f"{4 * pages}KiB",
        "buffer.size": "1MiB",
        "buffer.copies": "1MiB",
        "cleaning.min_free": 0.004,
    }
    keys = {f"device.{key}": value for key, value in drive.items()}
    keys |= {"workload.loops": 6, "run.timed": False, "run.precondition": "steady"}
    keys |= {f"device.fdp.{key}": value for key, value in more.items()}
    found = ssdlab.run(device="tlc-enterprise", trace=trace, set=keys)
    return float(found.flash.write_amplification)


def confirmed(name: str, directory: Path, tolerance: float, rules: int) -> None:
    trace = directory / "trace.parquet"
    pages = compacted(TRACES / name, trace)
    rows = -(-int(pages * 4096 * (1 + SPARE)) // (UNITS * 3 * 16384))
    spare = UNITS * rows * 3 * 16384 / (4096 * pages) - 1
    options = {"handles": 4, "isolation": "persistent"}
    found = ssdlab.placement(trace, units=UNITS, spare=spare, **options)
    by_policy = {it.policy: it for it in found.rows}
    none = by_policy["none"].dlwa
    before = plain(trace, pages, rows)
    assert before == pytest.approx(none, rel=tolerance)
    # Knowledge of the future may help; no rule on addresses or sizes does.
    tried = 0
    for policy in ("address", "size"):
        row = by_policy.get(policy)
        if row is None:
            continue
        tried += 1
        after = plain(trace, pages, rows, place=row.said_rule, **options)
        print(f"{name} {policy}: {none:.2f} {row.dlwa:.2f}, plain {before:.2f} {after:.2f}")
        assert before / after == pytest.approx(row.gain, rel=tolerance)
        if abs(row.gain - 1) > 0.02:
            assert (before > after) == (row.gain > 1)
    assert tried == rules


@pytest.mark.nightly
@pytest.mark.shared("traces/cloudphysics_io.vscsi.zst")
def test_a_virtual_disk(tmp_path: Path) -> None:
    confirmed("cloudphysics_io.vscsi.zst", tmp_path, 0.08, 2)


@pytest.mark.shared("traces/oracle_w_tpcc.trace.zst")
def test_a_database(tmp_path: Path) -> None:
    confirmed("oracle_w_tpcc.trace.zst", tmp_path, 0.05, 0)


@pytest.mark.nightly
@pytest.mark.shared("traces/disksim_iozone_aligned2_100K.trace.zst")
def test_a_benchmark_of_files(tmp_path: Path) -> None:
    confirmed("disksim_iozone_aligned2_100K.trace.zst", tmp_path, 0.08, 2)
