"""Table 1 of the 2008 paper: time of an operation; section 2.2: bandwidth of a package."""

from __future__ import annotations

from typing import Any

from ssdlab.paper.baseline import baseline
from ssdlab.paper.derived import PART
from ssdlab.paper.item import Item, Row
from ssdlab.paper.study import Study

SUMMARY = "Agrawal et al. 2008, Table 1: flash parameters, and one package's bandwidth"

#: Data bytes of a page, and of its spare area.
PAGE, SPARE = 4096, 128


def run(study: Study) -> Item:
    """Time single operations on the baseline, and a saturated package."""
    drive = {"preset": "agrawal2008"}
    one = baseline(study, channels=1)
    found = study.measure(
        {
            "read": {"device": drive, "workload": _closed(1, 1, 1_000)},
            # Writes to a single block's worth of pages, so that victims are wholly invalid.
            "write": {"device": drive, "workload": _closed(0, 1, 1_000)},
            "erase": {
                "device": baseline(study, blocks_per_plane=32),
                "workload": _closed(0, 8, 40_000) | {"footprint": 0.25, "random_share": 0.0},
            },
            **{
                (word, interleave): {
                    "device": one | {"interleave": interleave, "stripe": "4KiB"},
                    "workload": _closed(share, 16, 4_000),
                }
                for word, share in (("read", 1), ("write", 0))
                for interleave in ("none", "die")
            },
        }
    )
    read, write = found["read"].host.all, found["write"].host.all
    transfer = "the paper's 100 us is 4096 bytes; with the 128 spare ones it is 105.6 us"
    serial = "8 (spare area) of 136 parts slower than the paper's round figures"
    rows = [
        Row("page read to register, us", 25, read.breakdown_us.cell, 0.1),
        Row("serial transfer of a page's 4096 bytes, us", 100, _data_us(read), 3, transfer),
        Row("serial transfer with the spare area, us", None, read.breakdown_us.bus),
        Row(
            "page program from register, us",
            200,
            write.min_us - read.breakdown_us.bus,
            0.1,
        ),
        Row("block erase, us", 1500, found["erase"].flash.cleaning.mean_block_us, 0.1),
    ]
    device = found["read"].experiment.device
    page = _bytes(device.page_size)
    block = page * device.pages_per_block
    die = block * device.planes_per_die * device.blocks_per_plane
    rows += [
        _constant("page size, KiB", 4, page / 1024),
        _constant("block size, KiB", 256, block / 1024),
        _constant("die size, GiB", 2, die / 2**30),
        _constant("planes of a die", 4, device.planes_per_die),
        _constant("dies of a package", 2, device.dies_per_package, "the part with 4 GB"),
        _constant("program/erase cycles, thousands", 100, device.wear.rated_cycles / 1000),
        Row("reads, one at a time, MB/s", 32, _rate(found, "read", "none"), 3, serial),
        Row("reads, dies interleaved, MB/s", 40, _rate(found, "read", "die"), 4, serial),
        Row("writes, one at a time, MB/s", 13, _rate(found, "write", "none"), 3, serial),
        Row("writes, dies interleaved, MB/s", 26, _rate(found, "write", "die"), 3, serial),
    ]
    title = "Table 1: operational flash parameters; section 2.2"
    return Item("table1", title, rows, derived=(PART,))


def _constant(name: str, published: float, of_preset: float, note: str = "") -> Row:
    """Row of a preset's key, which is not a result."""
    return Row(name, published, of_preset, 0, note, arithmetic=True)


def _closed(read_share: float, outstanding: int, requests: int) -> dict[str, Any]:
    return {
        "kind": "closed",
        "read_share": float(read_share),
        "outstanding": outstanding,
        "requests": requests,
    }


def _data_us(host: Any) -> float:
    return float(host.breakdown_us.bus) * PAGE / (PAGE + SPARE)


def _rate(found: Any, word: str, interleave: str) -> float:
    return float(found[word, interleave].host.all.mb_per_s)


def _bytes(size: str) -> int:
    """A size in the form of resolved experiments, such as "4KiB"."""
    number = size.rstrip("BiKM")
    return int(number) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[size[len(number) :]]
