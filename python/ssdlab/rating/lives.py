"""Drives written from new to end of life, each with its own seed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ssdlab import layers, portable
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.rating import closed_form
from ssdlab.results import Results
from ssdlab.running import Experiment, Progress, run_layers

#: Number of requests, or of trace repetitions, sufficient to wear out any drive.
ENDLESS = 10**12
#: Write rate of a drive with ageing data.
PACE = "1 DWPD"
#: Number of requests among which a workload must have a write.
PROBE = 20_000


@dataclass(frozen=True)
class Subject:
    """A device under a workload that continues until the drive's end of life."""

    stack: tuple[Layer, ...]
    #: The section with the keys of a drive: `device`, or `device.member` in an array.
    section: tuple[str, ...]
    workload: str
    rated: int
    scale: int
    years: float
    seed: int
    #: True with ageing data (device.media.model), so that retention can be tested.
    ages: bool = False

    @classmethod
    def of(
        cls, device: str, load: str, below: Sequence[Layer], changes: Sequence[Layer]
    ) -> Subject:
        """The subject of these layers of device and workload, with changes on top.

        Raises `InputError` for a device without flash.
        """
        found = Experiment._from_layers([*below, *changes]).to_dict()
        section: tuple[str, ...] = ("device",)
        drive = found["device"]
        while "member" in drive:
            section, drive = (*section, "member"), drive["member"]
        if "wear" not in drive:
            raise InputError(
                f'device {device}: kind "{drive["kind"]}" has no flash that could wear out; '
                "`ssdlab list devices` has devices of kind ssd, and arrays of them"
            )
        for key in "precondition", "load_drive":
            if (given_as := found["run"].get(key)) not in (None, "none"):
                raise InputError(f'run.{key} = "{given_as}": a life begins with a new drive')
        run: dict[str, Any] = {"timed": False}
        ages = drive.get("media", {}).get("model", "none") != "none"
        if ages and section == ("device",) and found["run"].get("pace", "none") == "none":
            # Data written in a life ages meanwhile.
            run["pace"] = PACE
        untimed = layers.from_mapping("ssdlab endurance", {"run": run})
        requested = found["workload"]
        key = "loops" if requested["kind"] == "trace" else "requests"
        endless = []
        if isinstance(requested.get(key), int):
            length = {"workload": {key: ENDLESS}}
            endless = layers.from_mapping("ssdlab endurance", length)
        return cls(
            (*below, *untimed, *endless, *changes),
            section,
            load.removeprefix("--workload ").removeprefix("--trace "),
            int(drive["wear"]["rated_cycles"]),
            int(drive.get("scale", 1)),
            float(drive["wear"]["service_years"]),
            int(found["run"]["seed"]),
            ages and section == ("device",),
        )

    def refuse_without_writes(self) -> None:
        """Raise `InputError` for a workload that never wears out a drive."""
        kind = Experiment._from_layers(self.stack).to_dict()["workload"]
        short = list(self.stack)
        if kind.get("requests") == ENDLESS:
            short += layers.from_mapping("ssdlab endurance", {"workload": {"requests": PROBE}})
        elif kind.get("loops") == ENDLESS:
            short += layers.from_mapping("ssdlab endurance", {"workload": {"loops": 1}})
        results = run_layers(short)
        if not results.host.write.requests + results.host.write.failed:
            asked = f"{results.host.all.requests:,} requests"
            raise InputError(f"workload {self.workload}: none of its first {asked} writes")


@dataclass(frozen=True)
class Life:
    """The simulated life of a drive: at 1/`scale`, with `cycles` rated erases."""

    seed: int
    cycles: int
    requests: int
    capacity_bytes: int
    physical_bytes: float
    host_bytes: int
    amplification: float
    mean_erases: float
    max_erases: int

    @property
    def evenness(self) -> float:
        """Mean erases of a block at end of life / its rating."""
        return self.mean_erases / self.cycles

    @property
    def closed_form_bytes(self) -> float:
        """Host bytes until end of life, by the closed form."""
        return closed_form.written(
            self.physical_bytes, self.cycles, self.evenness, self.amplification
        )

    @property
    def wear(self) -> tuple[float, float]:
        """The rating, and the mean erases at end of life."""
        return self.cycles, self.mean_erases

    def to_dict(self) -> dict[str, Any]:
        """The life in the form of JSON."""
        return {
            "seed": self.seed,
            "simulated_cycles": self.cycles,
            "requests": self.requests,
            "host_bytes": self.host_bytes,
            "write_amplification": self.amplification,
            "mean_erases": self.mean_erases,
            "max_erases": self.max_erases,
            "evenness": self.evenness,
            "closed_form_bytes": self.closed_form_bytes,
        }


def live(
    subject: Subject, cycles: int, seed: int, progress: Callable[[Progress], object] | None = None
) -> Life:
    """Write a new drive with that rating to end of life, and audit its content.

    Raises `InputError` for a workload that ends earlier.
    """
    rating: Mapping[str, Any] = {"wear": {"rated_cycles": cycles}}
    for name in reversed(subject.section):
        rating = {name: rating}
    stack = [
        *subject.stack,
        *layers.from_mapping("the rating that is simulated", rating),
        *layers.from_seed("the seed of the drive", seed),
    ]
    results = run_layers(stack, check=True, progress=progress)
    return _life(subject, cycles, seed, results)


def _life(subject: Subject, cycles: int, seed: int, results: Results) -> Life:
    capacity = results.capacity_bytes
    flash, wear = results.flash, results.wear
    if not wear.ended:
        writes = flash.host_bytes_written / capacity
        raise InputError(
            f"workload {subject.workload}: ended after {writes:.3g} drive writes, before a drive "
            f"of {cycles} erasures did: give a longer one"
        )
    return Life(
        seed,
        cycles,
        results.workload.asked,
        capacity,
        wear.lifetime.physical_bytes / subject.scale,
        flash.host_bytes_written,
        wear.lifetime.amplification,
        wear.mean_erases,
        wear.max_erases,
    )


def several(
    subject: Subject,
    cycles: int,
    seeds: Sequence[int],
    expected: float,
    progress: Callable[[int, int], object] | None,
) -> list[Life]:
    """The lives of several drives, in parallel on all cores.

    `progress` is called with the requests done and their approximate total.
    """
    stopped = threading.Event()
    done = dict.fromkeys(seeds, 0)
    total = int(expected * len(seeds))

    def one(seed: int) -> Life:
        def move(now: Progress) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            done[seed] = now.done
            if progress is not None:
                progress(min(sum(done.values()), total), total)

        return live(subject, cycles, seed, move)

    workers = min(portable.cores(), len(seeds))
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, seed) for seed in seeds]
        try:
            return [future.result() for future in futures]
        finally:
            stopped.set()
            for future in futures:
                future.cancel()
