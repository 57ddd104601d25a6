"""Several streams of requests as one, in order of time, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def merged(pa: Any, streams: Sequence[Iterator[Any]]) -> Iterator[Any]:
    """The requests of all streams in order of time; a single stream is unchanged.

    One batch per stream is held: requests before the earliest batch end can be emitted.
    """
    if len(streams) == 1:
        yield from streams[0]
        return
    held = [batch for stream in streams for batch in [next(stream, None)]]
    while any(batch is not None for batch in held):
        until = min(batch.column("at_ns")[-1].as_py() for batch in held if batch is not None)
        parts = []
        for position, batch in enumerate(held):
            while batch is not None:
                count = _before(batch, until)
                if count:
                    parts.append(batch.slice(0, count))
                if count < batch.num_rows:
                    batch = batch.slice(count)
                    break
                batch = next(streams[position], None)
                if batch is not None and batch.column("at_ns")[0].as_py() > until:
                    break
            held[position] = batch
        table = pa.Table.from_batches(parts)
        yield from _sorted(table).to_batches()


def _before(batch: Any, until: int) -> int:
    """Number of requests in a batch up to `until`."""
    import pyarrow.compute as pc

    later = pc.index(pc.greater(batch.column("at_ns"), until), True).as_py()
    return batch.num_rows if later < 0 else int(later)


def _sorted(table: Any) -> Any:
    """Sorted by time, then by stream."""
    return table.combine_chunks().sort_by([("at_ns", "ascending")])
