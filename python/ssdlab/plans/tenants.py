"""Several tenants on one drive: who suffers from whom, and which remedy helps.

The tenants are streams of one mix, each on an equal part of the drive. Their latencies come from
the record of every request, by its place; life comes from `under_load`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ssdlab import layers, portable, sources, under_load
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.optional import required
from ssdlab.running import Experiment, run_layers
from ssdlab.sizing.load import Load
from ssdlab.under_load import Figure

#: Requests of a run, and loops of a trace that is shorter.
REQUESTS, LOOPS = 40_000, 10_000
MOST_TENANTS = 8
#: Ratio of a p99 above which a tenant suffers, and below which a remedy helps.
SUFFERS, HELPS = 1.25, 0.9
TOGETHER = "together"
#: Part of a rate that the limit leaves to the noisiest tenant.
LIMIT = 0.5


@dataclass(frozen=True)
class Row:
    """The tenants in one arrangement."""

    name: str
    #: p99 of each tenant's requests in us; None for an absent one.
    p99_us: Sequence[float | None]
    amplification: float | None
    life: Figure

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `ssdlab consolidate --json`."""
        return {
            "name": self.name,
            "p99_us": list(self.p99_us),
            "write_amplification": self.amplification,
            "life_years": self.life.to_dict(),
        }


@dataclass(frozen=True)
class Consolidation:
    """All arrangements: alone, together, without each, and with each remedy."""

    device: str
    tenants: Sequence[str]
    alone: Sequence[Row]
    together: Row
    without: Sequence[Row]
    remedies: Sequence[Row]

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the table."""
        apart = [*self.alone, self.together]
        return [*apart, *(self.without if len(self.tenants) > 2 else ()), *self.remedies]

    def factor(self, tenant: int, of: Row) -> float:
        """p99 of a tenant among all, relative to its p99 in another arrangement."""
        now, then = self.together.p99_us[tenant], of.p99_us[tenant]
        return 1.0 if not now or not then else now / then

    def neighbours(self, tenant: int) -> list[tuple[int, float]]:
        """Tenants without which this one's p99 falls most, with the factors."""
        found = [
            (other, self.factor(tenant, row))
            for other, row in enumerate(self.without)
            if other != tenant
        ]
        return sorted((it for it in found if it[1] >= SUFFERS), key=lambda it: -it[1])

    @property
    def noisiest(self) -> int:
        """The tenant whose absence helps the others most."""
        gains = {
            other: max(
                self.factor(tenant, row) for tenant in range(len(self.tenants)) if tenant != other
            )
            for other, row in enumerate(self.without)
        }
        return max(gains, key=lambda other: gains[other])

    def helped(self, row: Row, tenant: int) -> float:
        """p99 of a tenant with a remedy, relative to that without."""
        return 1 / self.factor(tenant, row)

    def sentences(self) -> list[str]:
        """Sentences on suffering tenants, and on remedies that help."""
        lines = []
        suffering = []
        for tenant in range(len(self.tenants)):
            alone = self.factor(tenant, self.alone[tenant])
            if alone < SUFFERS:
                continue
            suffering.append(tenant)
            of = self.neighbours(tenant)
            whom = f", mostly from tenant {of[0][0] + 1}" if of else ""
            times = f"its p99 is {alone:.3g} times its own alone"
            lines.append(f"Tenant {tenant + 1} suffers: {times}{whom}.")
        if not suffering:
            return ["No tenant suffers: each p99 is within a quarter of its own alone."]
        for row in self.remedies:
            ratios = [self.helped(row, tenant) for tenant in suffering]
            if min(ratios) <= HELPS and max(self._all(row)) < SUFFERS:
                tenant = suffering[ratios.index(min(ratios))]
                change = f"{100 * min(ratios) - 100:+.0f} %"
                lines.append(f"It helps: {row.name}; p99 of tenant {tenant + 1} {change}.")
        if not any(it.startswith("It helps") for it in lines):
            lines.append("None of the remedies helps without harm to another tenant.")
        return lines

    def _all(self, row: Row) -> list[float]:
        return [self.helped(row, tenant) for tenant in range(len(self.tenants))]

    def to_dict(self) -> dict[str, Any]:
        """The arrangements in the form of `ssdlab consolidate --json`."""
        return {
            "device": self.device,
            "tenants": list(self.tenants),
            "alone": [it.to_dict() for it in self.alone],
            "together": self.together.to_dict(),
            "without": [it.to_dict() for it in self.without],
            "remedies": [it.to_dict() for it in self.remedies],
            "sentences": self.sentences(),
        }


def consolidate(
    loads: Sequence[Load],
    device: str,
    *,
    requests: int = REQUESTS,
    assignments: Sequence[str] = (),
    seed: int = 42,
    told: Callable[[int, int], object] | None = None,
) -> Consolidation:
    """The tenants alone, together, without each of them, and together with remedies.

    `requests` is the number of all tenants together in a run. `told` gets the runs done and their
    number. Raises `InputError` for a single tenant, and for a load that is no stream.
    """
    if not 2 <= len(loads) <= MOST_TENANTS:
        raise InputError(
            f"--tenant: {len(loads)} given; give 2 to {MOST_TENANTS}, each with a part of the drive"
        )
    if requests < 1000:
        raise InputError(f"--requests {requests}: a p99 takes 1,000 at least")
    stage = _Stage(loads, device, requests, assignments, seed)
    count = len(loads)
    every = range(count)
    first: dict[str, tuple[list[int], dict[str, Any]]] = {
        f"{number + 1} alone": ([number], {}) for number in every
    }
    first[TOGETHER] = ([*every], {})
    for number in every:
        first[f"without {number + 1}"] = ([it for it in every if it != number], {})
    done = 0
    total = len(first) + 3

    def one(name: str, present: Sequence[int], remedy: Mapping[str, Any]) -> Row:
        nonlocal done
        found = stage.run(name, present, remedy)
        done += 1
        if told is not None:
            told(done, total)
        return found

    with ThreadPoolExecutor(portable.cores()) as pool:
        futures = {name: pool.submit(one, name, *it) for name, it in first.items()}
        rows = {name: it.result() for name, it in futures.items()}
        found = Consolidation(
            device,
            [it.name for it in loads],
            [rows[f"{number + 1} alone"] for number in every],
            rows[TOGETHER],
            [rows[f"without {number + 1}"] for number in every],
            [],
        )
        noisiest = found.noisiest
        remedies: dict[str, dict[str, Any]] = {
            "a placement handle each": {"handles": True},
            "fair queues": {"queues": True},
        }
        if loads[noisiest].is_paced:
            remedies[f"half the rate of tenant {noisiest + 1}"] = {"limit": noisiest}
        total = len(first) + len(remedies)
        later = {name: pool.submit(one, name, [*every], it) for name, it in remedies.items()}
        return replace(found, remedies=[it.result() for it in later.values()])


class _Stage:
    """Runs of the tenants on their parts of the drive."""

    def __init__(
        self,
        loads: Sequence[Load],
        device: str,
        requests: int,
        assignments: Sequence[str],
        seed: int,
    ) -> None:
        self.loads, self.requests = loads, requests
        self.below = [
            sources.from_name("device", device, "--device"),
            *layers.from_options([*assignments]),
            *layers.from_seed(f"--seed {seed}", seed),
        ]
        drive = Experiment._from_layers(self.below).to_dict()["device"]
        if drive["kind"] != "ssd":
            raise InputError(f"--device {device}: kind {drive['kind']}, not ssd")
        self.buffered = not str(drive["buffer"]["size"]).startswith("0")
        self.depth = drive["host_link"]["queue_depth"]
        self.streams = [self._stream(load) for load in loads]

    def _stream(self, load: Load) -> dict[str, Any]:
        """A tenant as a stream of a mix, which never ends."""
        resolved = Experiment._from_layers([*self.below, *load.layers()]).to_dict()["workload"]
        keys: dict[str, Any] = {key: it for key, it in resolved.items() if it is not None}
        if keys["kind"] == "mix":
            raise InputError(f"{load.name}: a mix is several tenants; give each its own --tenant")
        if "loops" in keys:
            keys["loops"] = LOOPS
        elif "requests" in keys:
            keys["requests"] = LOOPS * self.requests
        return keys

    def run(self, name: str, present: Sequence[int], remedy: Mapping[str, Any]) -> Row:
        """The tenants `present` with a remedy."""
        count = len(self.loads)
        streams = []
        for number in present:
            stream = dict(self.streams[number])
            if number:
                stream["from"] = number / count
            stream["to"] = (number + 1) / count
            if remedy.get("limit") == number:
                load = self.loads[number].faster(LIMIT)
                stream |= {
                    key: value
                    for key, value in self._stream(load).items()
                    if key in ("on_rate", "off_rate", "rate", "time_scale", "classes")
                }
            if "handles" in remedy:
                stream["handle"] = number
            streams.append(stream)
        requests = self.requests * len(present) // count
        sections: dict[str, Any] = {
            "workload": {"kind": "mix", "requests": requests, "streams": streams},
            "run": {"precondition": "random:1"},
        }
        if "handles" in remedy:
            sections["device"] = {"fdp": {"handles": count}}
        if "queues" in remedy:
            depth = {} if self.depth != "unlimited" else {"queue_depth": 64}
            sections["device"] = {"host_link": {"order": "round-robin", "queues": count, **depth}}
        stack: list[Layer] = [*self.below, *layers.from_mapping("ssdlab consolidate", sections)]
        with tempfile.TemporaryDirectory(prefix="ssdlab-") as folder:
            path = Path(folder) / "requests.parquet"
            results = run_layers(stack, requests=path)
            by_tenant = self._latencies(path, results.capacity_bytes)
        p99 = [_p99(by_tenant[number]) if number in present else None for number in range(count)]
        flash = results.get("flash") or {}
        life = under_load.of([results]).life_years
        return Row(name, p99, flash.get("write_amplification_bytes"), life)

    def _latencies(self, path: Path, capacity: int) -> list[list[float]]:
        """Latencies in us of each tenant, by the place of its requests."""
        parquet = required("pyarrow.parquet", "ssdlab consolidate")
        names = ("arrival_ns", "end_ns", "offset_bytes")
        table = parquet.read_table(path, columns=[*names]).to_pydict()
        count = len(self.loads)
        found: list[list[float]] = [[] for _ in range(count)]
        for begin, end, offset in zip(*(table[name] for name in names), strict=True):
            found[min(offset * count // capacity, count - 1)].append((end - begin) / 1e3)
        return found


def _p99(values: list[float]) -> float | None:
    if not values:
        return None
    return sorted(values)[max(-(-99 * len(values) // 100) - 1, 0)]
