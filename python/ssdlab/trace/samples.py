"""Traces as samples of a longer load: their share of the span, and their write rate."""

from __future__ import annotations

from ssdlab.results.records import Record

#: Minimum ratio of span to footprint of a wide trace.
WIDE = 2
#: A trace returns to its pages if its parts' footprints add up to this many times the whole. The
#: ratio is one for a uniform load, below two for a skewed load (Zipf, 0.99) over a large volume.
RETURNS = 3


def is_wide(found: Record) -> bool:
    """True if a trace touches less than half of its span."""
    return bool(found.span_bytes > WIDE * found.footprint_bytes)


def is_sample(found: Record) -> bool:
    """True if a trace touches little of its span, and mostly new pages:

    a longer trace would touch others.
    """
    touched = sum(found.working_set.bytes)
    return is_wide(found) and touched < RETURNS * found.footprint_bytes


def written_bytes(found: Record) -> float:
    """Bytes written by a trace; zero without reads and writes."""
    reads = 1.0 if found.read_share is None else found.read_share
    return float(found.total_bytes * (1 - reads))
