"""The counters of a live device, in the text format of Prometheus.

A metric is a row of `FIGURES`. Units are seconds and bytes, counters end in `_total`, and a kind of
request is a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

KIND = "text/plain; version=0.0.4; charset=utf-8"
KINDS = ("read", "write", "trim", "flush")
#: Latency buckets, ns. They coincide with bounds of the engine's bins, so that each count is exact.
STEPS = [2**octave for octave in range(10, 37)]

Counts = Mapping[str, Any]
#: Labels and value; None for a missing value.
Sample = tuple[dict[str, str], "float | int | None"]


class Figure(NamedTuple):
    """A metric: name after `ssdlab_`, type and help text."""

    name: str
    kind: str
    says: str
    of: Callable[[Counts], list[Sample]]


def _by_kind(name: str) -> Callable[[Counts], list[Sample]]:
    return lambda counts: [({"kind": it}, counts["model"][it][name]) for it in KINDS]


def _timing(name: str) -> Callable[[Counts], list[Sample]]:
    return lambda counts: [({}, counts["timing"][name])]


def _flash(name: str) -> Callable[[Counts], list[Sample]]:
    return lambda counts: [({}, counts["flash"][name])] if counts["flash"] else []


def _amplification(counts: Counts) -> list[Sample]:
    flash = counts["flash"] or {"host_bytes_written": 0}
    written = flash["host_bytes_written"]
    return [({}, flash["bytes_programmed"] / written)] if written else []


FIGURES = [
    Figure("requests_total", "counter", "Requests that were done.", _by_kind("requests")),
    Figure(
        "failed_requests_total", "counter", "Requests that ended in an error.", _by_kind("failed")
    ),
    Figure("transferred_bytes_total", "counter", "Bytes of the requests done.", _by_kind("bytes")),
    Figure(
        "timed_requests_total",
        "counter",
        "Requests whose timing was checked.",
        _timing("requests"),
    ),
    Figure(
        "late_requests_total",
        "counter",
        "Requests answered over 5 % later than simulated.",
        _timing("late"),
    ),
    Figure(
        "timing_valid",
        "gauge",
        "1 if clients see the simulated latencies, to 5 % in the mean.",
        lambda counts: [({}, int(counts["timing"]["verdict"] == "valid"))],
    ),
    Figure(
        "host_written_bytes_total",
        "counter",
        "Bytes that the host wrote to the flash.",
        _flash("host_bytes_written"),
    ),
    Figure(
        "programmed_bytes_total",
        "counter",
        "Bytes programmed into the flash.",
        _flash("bytes_programmed"),
    ),
    Figure(
        "write_amplification_ratio",
        "gauge",
        "Bytes programmed for each byte that the host wrote, since the first request.",
        _amplification,
    ),
    Figure("erased_blocks_total", "counter", "Blocks erased.", _flash("blocks_erased")),
    Figure("free_blocks", "gauge", "Erased blocks that are free.", _flash("free_blocks")),
    Figure(
        "faults_in_force",
        "gauge",
        "Orders in force that make the device slow, or fail.",
        lambda counts: [({}, len(counts["in_force"]))],
    ),
    Figure(
        "model_time_seconds",
        "gauge",
        "Simulated time since the start of serving.",
        lambda counts: [({}, counts["at_seconds"])],
    ),
]
LATENCIES = {
    "model_latency_seconds": ("model", "Simulated latencies of completed requests."),
    "measured_latency_seconds": (
        "measured",
        "Latencies of completed requests on the server's clock.",
    ),
}


def text(counts: Counts, about: Mapping[str, Any], bounds: Sequence[int]) -> str:
    """All metrics of a query in Prometheus's format; `bounds` are the upper bounds of its latency
    bins, ns.
    """
    return "\n".join([*_lines(counts, about, bounds), ""])


def _lines(counts: Counts, about: Mapping[str, Any], bounds: Sequence[int]) -> Iterator[str]:
    labels = {"device": str(about["device"]), "version": str(about["version"])}
    yield from _head("info", "gauge", "The device that is served.")
    yield _line("info", labels, 1)
    yield from _head("size_bytes", "gauge", "The size of the device for its clients.")
    yield _line("size_bytes", {}, about["size_bytes"])
    if about.get("flash"):
        yield from _head("blocks", "gauge", "Blocks of the flash.")
        yield _line("blocks", {}, about["flash"]["blocks"])
    for figure in FIGURES:
        samples = figure.of(counts)
        if samples:
            yield from _head(figure.name, figure.kind, figure.says)
        for labels, value in samples:
            yield _line(figure.name, labels, value)
    for name, (clock, says) in LATENCIES.items():
        yield from _head(name, "histogram", says)
        for kind in KINDS:
            yield from _histogram(name, {"kind": kind}, counts[clock][kind], bounds)


def _histogram(
    name: str, labels: dict[str, str], of: Mapping[str, Any], bounds: Sequence[int]
) -> Iterator[str]:
    pairs = list(zip(of["bins"][::2], of["bins"][1::2], strict=True))
    for step in STEPS:
        below = sum(count for number, count in pairs if bounds[number] <= step)
        yield _line(f"{name}_bucket", labels | {"le": repr(step / 1e9)}, below)
    yield _line(f"{name}_bucket", labels | {"le": "+Inf"}, of["requests"])
    yield _line(f"{name}_sum", labels, of["latency_seconds"])
    yield _line(f"{name}_count", labels, of["requests"])


def _head(name: str, kind: str, says: str) -> Iterator[str]:
    yield f"# HELP ssdlab_{name} {says}"
    yield f"# TYPE ssdlab_{name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float | int | None) -> str:
    inner = ",".join(f'{key}="{_escaped(said)}"' for key, said in labels.items())
    return f"ssdlab_{name}{'{' + inner + '}' if inner else ''} {value!r}"


def _escaped(said: str) -> str:
    return said.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
