"""Schemes of protection in one table: capacity, latencies, rebuild, losses and dollars.

A row is an array of the drives with one redundancy. It is simulated under the load healthy, with a
failed member, and while that member is rebuilt; `ssdlab reliability` gives the losses a year.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ssdlab import layers, portable, reliability, sources, under_load
from ssdlab._core import InputError
from ssdlab.layers import Layer
from ssdlab.reliability import Times
from ssdlab.running import run_layers
from ssdlab.sizing.load import Load
from ssdlab.under_load import UnderLoad

#: Schemes in order of protection, with the fewest members of each.
SCHEMES = {"none": 2, "mirror": 2, "parity": 3, "double-parity": 4}
MOST_MEMBERS = 32
#: States of an array, with the keys that set them.
HEALTHY, DEGRADED, REBUILDING = "healthy", "degraded", "rebuilding"
STATES: dict[str, dict[str, Any]] = {
    HEALTHY: {},
    DEGRADED: {"failed": "0 at 1us"},
    REBUILDING: {"failed": "0 at 1us", "spares": 1},
}
#: Arrays of which losses are counted.
GROUPS = 20_000
YEARS = 5.0
STRIPE = "64KiB"


@dataclass(frozen=True)
class Scheme:
    """A redundancy of the drives, with its figures."""

    redundancy: str
    usable_bytes: float
    #: Figures under the load by state; a missing state has no redundancy that it needs.
    states: dict[str, UnderLoad]
    #: Hours of a rebuild without load; None without redundancy.
    rebuild_hours: float | None
    #: Expected losses of data a year.
    losses_a_year: float
    dollars: float | None

    @property
    def dollars_per_tb(self) -> float | None:
        """Dollars of the drives for each usable TB."""
        return None if self.dollars is None else self.dollars / (self.usable_bytes / 1e12)

    def to_dict(self) -> dict[str, Any]:
        """The row in the form of `ssdlab protect --json`."""
        return {
            "redundancy": self.redundancy,
            "usable_bytes": self.usable_bytes,
            "states": {name: it.to_dict() for name, it in self.states.items()},
            "rebuild_hours": self.rebuild_hours,
            "losses_a_year": self.losses_a_year,
            "dollars": self.dollars,
            "dollars_per_usable_tb": self.dollars_per_tb,
        }


@dataclass(frozen=True)
class Protection:
    """The schemes of a number of drives under a load."""

    device: str
    members: int
    load: Load
    times: Times
    rebuild_rate: str
    price: under_load.Figure
    """Price of one drive."""
    rows: Sequence[Scheme]
    left_out: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """The table in the form of `ssdlab protect --json`."""
        return {
            "device": self.device,
            "members": self.members,
            "load": self.load.name,
            "life": self.times.life,
            "rebuild_rate": self.rebuild_rate,
            "drive_dollars": self.price.to_dict(),
            "schemes": [it.to_dict() for it in self.rows],
            "left_out": list(self.left_out),
        }


def protect(
    load: Load,
    device: str,
    members: int,
    *,
    price: under_load.Figure,
    requests: int,
    rebuild_rate: str,
    life: str = reliability.LIFE,
    assignments: Sequence[str] = (),
    seed: int = 42,
    told: Callable[[int, int], object] | None = None,
) -> Protection:
    """Each scheme over `members` drives of a preset or file, under a load.

    `requests` is the number that each state is measured with, `rebuild_rate` the limit of a
    rebuild, `life` the distribution of a drive's lifetime. `told` gets the runs done and their
    number. Raises `InputError` for a drive that is an array, and for wrong numbers of members.
    """
    if not 2 <= members <= MOST_MEMBERS:
        raise InputError(f"--members {members}: from 2 to {MOST_MEMBERS} drives")
    rows: list[Scheme] = []
    left_out: list[str] = []
    todo: list[tuple[str, str]] = []
    for redundancy, least in SCHEMES.items():
        if members < least:
            left_out.append(f"{redundancy}: needs {least} drives")
        elif redundancy == "mirror" and members % 2:
            left_out.append(f"{redundancy}: needs an even number of drives, not {members}")
        else:
            tried = [HEALTHY] if redundancy == "none" else [*STATES]
            todo += [(redundancy, state) for state in tried]
    drive = _drive(load, device, assignments)
    # Of a load without requests one learns before drives are prepared.
    brief = _array(load, drive, (members, todo[0][0], HEALTHY), rebuild_rate, 1)
    run_layers([*brief, layers.from_assignment("run.precondition", "none")])
    done = 0

    def one(redundancy: str, state: str) -> UnderLoad:
        nonlocal done
        stack = _array(load, drive, (members, redundancy, state), rebuild_rate, requests)
        run = layers.from_seed(f"--seed {seed}", seed)
        found = under_load.of([run_layers([*stack, *run])], drives=members)
        done += 1
        if told is not None:
            told(done, len(todo))
        return found

    with ThreadPoolExecutor(portable.cores()) as pool:
        futures = {key: pool.submit(one, *key) for key in todo}
        try:
            figures = {key: it.result() for key, it in futures.items()}
        finally:
            for it in futures.values():
                it.cancel()
    times = Times(life=life)
    for redundancy in dict.fromkeys(name for name, _ in todo):
        stack = _array(load, drive, (members, redundancy, HEALTHY), rebuild_rate, requests)
        array = reliability.of_stack(f"{members} x {device}", stack)
        hours = array.rebuild_hours
        repair = reliability.REPAIR if hours is None else f"constant({max(hours, 1e-6):.6f}h)"
        own = Times(life=life, repair=repair)
        lost = reliability.outlook(array, own, YEARS, GROUPS, seed)
        states = {state: it for (name, state), it in figures.items() if name == redundancy}
        rows.append(
            Scheme(
                redundancy,
                float(array.data_bytes * array.groups),
                states,
                hours,
                lost.of_array / YEARS,
                None if price.value is None else members * price.value,
            )
        )
    return Protection(device, members, load, times, rebuild_rate, price, rows, left_out)


def _drive(load: Load, device: str, assignments: Sequence[str]) -> dict[str, Any]:
    """The keys of a member."""
    from ssdlab.running import Experiment

    layer = sources.from_name("device", device, "--device")
    own = layers.from_options([it for it in assignments if not it.startswith("workload.")])
    drive: dict[str, Any] = Experiment._from_layers([layer, *own]).to_dict()["device"]
    if drive["kind"] != "ssd":
        raise InputError(
            f"--device {device}: kind {drive['kind']}, not ssd; the schemes are arrays of ssds"
        )
    return drive


def _array(
    load: Load,
    drive: dict[str, Any],
    of: tuple[int, str, str],
    rebuild_rate: str,
    requests: int,
) -> list[Layer]:
    members, redundancy, state = of
    array = {
        "kind": "array",
        "members": members,
        "layout": "striped",
        "stripe": STRIPE,
        "redundancy": redundancy,
        "member": drive,
        **STATES[state],
    }
    if redundancy != "none":
        array["rebuild"] = {"rate": rebuild_rate}
    run = {"precondition": "random:1"}
    sections = {"device": array, "run": run, "workload": {"requests": requests}}
    return [*load.layers(), *layers.from_mapping("ssdlab protect", sections)]
