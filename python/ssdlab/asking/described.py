"""Loads described by a few numbers, as keys of a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ssdlab.asking import words
from ssdlab.sizing.load import Load
from ssdlab.units import decimal_size, size

#: Assumptions for unspecified values.
READ_SHARE, BLOCK, DEPTH = 0.7, 4096, 32


@dataclass(frozen=True)
class Asked:
    """A load with its description."""

    load: Load
    read: Sequence[str]
    """Sentences on the data read."""
    assumed: Sequence[str]
    """Sentences on the assumptions."""
    surer: Sequence[str]
    """Data that would make the answer more certain."""
    read_share: float | None = None
    """Share of reads, if known."""

    @property
    def is_paced(self) -> bool:
        """True if the load is open (arrival times are given); False if closed (fixed depth)."""
        return self.load.is_paced


@dataclass(frozen=True)
class Stream:
    """Requests of one size, arriving at a rate."""

    iops: float
    read_share: float
    block_bytes: float


def of_words(text: str) -> Asked:
    """The load that a text describes. Raises `InputError` for unknown words."""
    found = dict(words.load(text))
    assumed = []
    reads = found.get("read_share")
    if reads is None:
        reads = READ_SHARE
        assumed.append("70 % reads and 30 % writes (say 50/50, reads or writes)")
    block = float(found.get("block_bytes", BLOCK))
    if "block_bytes" not in found:
        assumed.append("blocks of 4 KiB (say 8K)")
    if "random_share" not in found:
        found["random_share"] = 1.0
        assumed.append("random addresses (say sequential, or 80% random)")
    if "locality" not in found and found["random_share"]:
        assumed.append("all places equally often (say hot 80/20, or zipf 0.9)")
    if "touches_bytes" not in found:
        assumed.append("the whole drive is in use (say over 200 GB)")
    keys = {
        "read_share": f"{reads:g}",
        "random_share": f"{found['random_share']:g}",
        "locality": str(found.get("locality", "uniform")),
        "block_size": f"{block:.0f}B",
    }
    rate = found.get("iops")
    if rate is None and "bytes_per_s" in found:
        rate = float(found["bytes_per_s"]) / block
    depth, threads = (found.get(it) for it in ("depth", "threads"))
    if rate is None and depth is None:
        depth = DEPTH
        assumed.append(
            f"{DEPTH} requests outstanding, as fast as they are answered (say 20 K IOPS or QD 16)"
        )
    elif rate is not None and depth is None:
        assumed.append("arrivals at random times, whatever is outstanding (say QD 16 for a limit)")
    stated = _keys(keys, rate, depth, threads)
    touched = found.get("touches_bytes")
    load = Load(
        text,
        keys=stated,
        touches_bytes=None if touched is None else float(touched),
        is_paced=rate is not None,
    )
    pace = f"{float(rate):,.0f} requests a second" if rate else f"{float(depth or 1):g} outstanding"
    pattern = f"{100 * float(reads):g} % reads of {size(block)}"
    read = [f"Load: {pattern}, {100 * float(found['random_share']):g} % random, {pace}."]
    surer = ["a trace of the load: blktrace or bpftrace for ten minutes of the busiest hour"]
    return Asked(load, read, assumed, surer, float(reads))


def _keys(
    keys: Mapping[str, str],
    rate: float | str | None,
    depth: float | str | None,
    threads: float | str | None,
) -> dict[str, str]:
    """Keys of a workload with this rate, this queue depth, or both."""
    if rate is not None and depth is None:
        own = {"kind": "bursts", "on_rate": f"{rate:.10g}", "off_rate": f"{rate:.10g}"}
        return {f"workload.{key}": value for key, value in {**own, **keys}.items()}
    count = {"threads": f"{float(threads or 1):.0f}"}
    if rate is None:
        own = {"kind": "closed", "outstanding": f"{float(depth or 1):.0f}", **count}
        return {f"workload.{key}": value for key, value in {**own, **keys}.items()}
    own = {"rate": f"{rate:.10g}", "depth": f"{float(depth or 1):.0f}", **count, **keys}
    found = {f"workload.classes.all.{key}": value for key, value in own.items()}
    return {"workload.kind": "threads", **found}


def of_streams(name: str, streams: Sequence[Stream]) -> Load:
    """The load of concurrent streams, each at its rate."""
    parts = []
    for it in streams:
        words_ = {
            "kind": '"bursts"',
            "on_rate": f"{it.iops:.6g}",
            "off_rate": f"{it.iops:.6g}",
            "read_share": f"{it.read_share:.4g}",
            "block_size": f'"{it.block_bytes:.0f}B"',
        }
        parts.append("{" + ", ".join(f"{key} = {value}" for key, value in words_.items()) + "}")
    return Load(name, keys={"workload.kind": "mix", "workload.streams": f"[{', '.join(parts)}]"})


def rate_text(iops: float, bytes_each: float) -> str:
    """A rate in words."""
    return f"{iops:,.0f}/s of {size(bytes_each)} ({decimal_size(iops * bytes_each)}/s)"
