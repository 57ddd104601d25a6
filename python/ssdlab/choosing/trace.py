"""Limits of a trace as evidence for years of operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ssdlab import layers
from ssdlab.results.records import Record
from ssdlab.running import Experiment
from ssdlab.sizing import DRIVE
from ssdlab.sizing.fit import read
from ssdlab.sizing.load import Load
from ssdlab.trace.samples import is_sample, is_wide
from ssdlab.units import size

#: Shorter traces do not represent a day: ten minutes contain one or two database checkpoints.
SHORT_SECONDS = 600.0
#: Minimum requests above a p99 for it to be stable.
ABOVE_P99 = 100
#: Share above which a trace counts as reads or writes only.
ONE_KIND = 0.999


def facts(load: Load, assignments: Sequence[str]) -> tuple[Record, dict[str, Any]]:
    """Summary of a load's trace, and the keys to read it. Raises `InputError`."""
    from ssdlab import sources

    above = layers.from_options([*assignments])
    stack = [sources.from_name("device", DRIVE), *load.layers(assignments), *above]
    workload: dict[str, Any] = Experiment._from_layers(stack).to_dict()["workload"]
    return read(load, workload, 1 << 62), workload


def notes(load: Load, assignments: Sequence[str]) -> list[str]:
    """Notes on the trace's length and on missing kinds of requests.

    Raises `InputError` for a trace that cannot be read.
    """
    return [] if load.trace is None else list(_said(facts(load, assignments)[0]))


def _said(found: Record) -> list[str]:
    seconds, requests = float(found.duration_seconds), int(found.requests)
    reads = found.read_share
    lines = []
    if seconds < SHORT_SECONDS:
        lines.append(
            f"The trace is short: {seconds:.3g} s, {requests:,} requests. It is replayed as if all "
            "hours were like it; a day's peak, a nightly job or a slow phase is not in it."
        )
    if requests < 100 * ABOVE_P99:
        lines.append(
            f"Its p99 rests on {requests / 100:.0f} requests; 10,000 requests make it "
            "a figure to buy by."
        )
    if reads is not None and reads > ONE_KIND:
        lines.append(
            "It only reads: nothing is cleaned, no read waits behind a program, and no drive wears "
            "out, so that every lifetime is unlimited."
        )
    elif reads is not None and reads < 1 - ONE_KIND:
        lines.append("It only writes: how long reads wait behind them is not in it.")
    if is_wide(found) and reads is not None and reads <= ONE_KIND:
        on = (
            "each replay goes to other places of the span, as the load itself would"
            if is_sample(found)
            else "it comes back to that part, on which write amplification and lifetime rest"
        )
        lines.append(
            f"It is a sample: it touches {size(found.footprint_bytes)} of a span of "
            f"{size(found.span_bytes)}; {on}. Drives that hold all of the span are asked for by "
            "their capacity."
        )
    writes = reads is not None and reads <= ONE_KIND
    if requests and writes and found.footprint_bytes < 64 * 2**20 and not is_sample(found):
        lines.append(
            f"It touches {size(found.footprint_bytes)} only: much of it stays in the drives' "
            "buffers, and cleaning finds whole blocks superseded."
        )
    return lines
