"""KV caches of language models on a drive, as in LMCache.

Sizes follow from the models. The drive's write amplification is from untimed runs on a small drive,
with the number of object sizes in LMCache's measurements, at a sixteenth of their size.
"""

from __future__ import annotations

from typing import Any

from ssdlab.paper.item import Item, Row
from ssdlab.paper.lsm import DRIVE
from ssdlab.paper.study import Study
from ssdlab.results import Results

SUMMARY = "LMCache: keys and values of language models on a drive with FDP"

HIT = 0.92
#: Objects of 1 to 32 MiB, divided by 16.
SIZES = "64KiB, 128KiB, 256KiB, 1MiB, 2MiB"


def _load(**keys: Any) -> dict[str, Any]:
    return {
        "kind": "kv_offload",
        "objects": SIZES,
        "prompt": 1,
        "hit_share": 0.3,
        "outstanding": 1,
        **keys,
    }


def run(study: Study) -> Item:
    """Chunk size, bytes written, and orders of eviction; `quick` runs fewer requests."""
    requests = 60_000 if study.quick else 250_000
    handles = {"device.fdp.handles": 8}
    chunk = {"objects": "", "workers": 1, "outstanding": 32, "hit_share": 0.0}
    runs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "chunk": (_load(requests=256, **chunk), {}),
        "hits": (_load(requests=requests // 2, hit_share=HIT), {}),
        "lru": (_load(requests=requests), {}),
        "fifo": (_load(requests=requests, eviction="fifo"), {}),
        "lru, by size": (_load(requests=requests, placement="size"), handles),
        "no trim": (_load(requests=requests, trim=False), {}),
    }
    requested = {
        name: {"device": "tlc-enterprise", "workload": load, "set": DRIVE | more}
        for name, (load, more) in runs.items()
    }
    found = study.measure(requested)
    chunks = _notices(found["chunk"])
    of_chunk = chunks["kv_put_bytes"] / chunks["kv_puts"] / 1e6
    hits = _notices(found["hits"])
    asked_for = hits["kv_hits"] + hits["kv_puts"]
    missed = hits["kv_puts"] / asked_for
    drive = {name: float(it.flash.write_amplification) for name, it in found.items()}
    rows = [
        Row("a chunk of 256 tokens of Llama-3 8B, MB", 33.0, of_chunk, None,
            "a sum, which the workload has right: 2 x 32 layers x 8 heads x 128 x 2 B x 256"),
        Row("share of prompts that is written, %", 100 * (1 - HIT), 100 * missed, 3,
            "the share of hits is given; the workload keeps it while objects are evicted"),
        Row("of the drive, objects evicted in order", None, drive["fifo"]),
        Row("of the drive, evicted in order / least recently used first", None,
            drive["fifo"] / drive["lru"], note="objects of an age are deleted together",
            least=0.5, most=1),
        Row("of the drive, least recently used evicted", None, drive["lru"]),
        Row("of the drive, the same, with trims / without", None, drive["lru"] / drive["no trim"],
            note="trims keep it below that without", least=0.5, most=1),
        Row("of the drive, the same, a handle for each size", None, drive["lru, by size"]),
    ]  # fmt: skip
    return Item("kv-offload", "Keys and values of language models", rows)


def _notices(results: Results) -> dict[str, float]:
    return dict(results.to_dict()["workload"]["notices"])
