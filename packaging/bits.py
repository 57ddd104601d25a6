"""Prints the checksum of the results of many short experiments: every preset and every cleaner.

Every machine and every build of a version prints the same lines; `release.py` compares them. It
runs where ssdlab is installed, and needs nothing else.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping

import ssdlab

#: A mixed load, at instants that come from distributions.
MIXED = {
    "kind": "open",
    "read_share": 0.5,
    "interarrival": "exponential(0, 0.7)",
    "sequential_interarrival": "normal(0.5, 0.2)",
    "requests": 3000,
}


def presets(kinds: str) -> list[str]:
    """The names of all presets of a kind."""
    return [name for name in ssdlab.list(kinds) if " = " not in name]


def experiments() -> Iterator[tuple[str, Mapping[str, object]]]:
    """What is run, by a name."""
    for device in presets("devices"):
        yield f"device {device}", {"device": device, "workload": MIXED}
    for workload in presets("workloads"):
        yield f"workload {workload}", {"workload": workload, "set": {"workload.requests": 3000}}
    full = {"workload.requests": 20_000, "run.precondition": "random:1"}
    for cleaner in ssdlab.list("cleaners"):
        policy = {"cleaning.policy": cleaner, "device.blocks_per_plane": 64}
        yield f"cleaner {cleaner}", {"workload": "zipf-mixed", "set": full | policy}


def main() -> None:
    """Run them all."""
    for name, what in experiments():
        results = json.loads(ssdlab.run(**what).to_json())
        del results["elapsed"]
        text = json.dumps(results, sort_keys=True)
        print(f"{hashlib.sha256(text.encode()).hexdigest()[:16]}  {name}", flush=True)


if __name__ == "__main__":
    main()
