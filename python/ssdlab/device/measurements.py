"""Measurements of a drive, one row each: an experiment, and a figure of its results.

Cells of data sheets refer to these rows. Latencies under load are as in *SSD-iq* (Haas, Lee,
Bonnet, Leis, PVLDB 18(11), 2025), the workload `ssdiq-load`: one thread sends a read or a write
every 100 us, and only its latencies count; six others supply the rate. The first bursts meet an
empty buffer and are excluded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ssdlab import lifetime
from ssdlab._core import InputError
from ssdlab.results import Results
from ssdlab.running import Experiment
from ssdlab.units import BANDWIDTH, IOPS, RATIO, SIZE, TIME, Unit, size_text, text

Parameters: TypeAlias = Mapping[str, Any]

#: A run ends by simulated time, not by the number of requests.
ENDLESS = 10**12
#: Number of writes that erase several hundred superblocks of a scaled drive.
WEARING = 2_000_000
#: The load of SSD-iq: preset, submission queues, write rate of its measured thread (the minimum
#: rate), and a rate beyond all drives.
LOAD, LOAD_QUEUES, LEAST_RATE, UNREACHED_RATE = "ssdiq-load", 7, 5_000.0, 10e6

#: Simulated warm-up times of a load and of sequential writes: until the buffer is full, it absorbs
#: them faster than the flash.
WARM_UP, FILLING = "300ms", "250ms"

_FIGURE = re.compile(r"mean|p(50|90|95|99|99\.9|99\.99|99\.999)")


@dataclass(frozen=True)
class Parameter:
    """Parameter of a measurement; required unless it has a default."""

    read: Callable[[str, Any], Any]
    default: Any = None


@dataclass(frozen=True)
class Measurement:
    """A row of the table."""

    title: str
    """Title, with the parameters in braces."""
    unit: Unit
    tolerance: float
    """Default relative tolerance of a cell."""
    experiment: Callable[[Parameters], dict[str, Any]]
    """Workload, run and keys to set, as arguments of `ssdlab.run`."""
    value: Callable[[Results, Parameters], float]
    """The figure, in the base unit."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    def tolerance_of(self, parameters: Parameters) -> float:
        """The tolerance; 1.5 times as much for high percentiles."""
        figure = str(parameters.get("figure", "mean"))
        return self.tolerance * (1.5 if figure.startswith("p9") else 1)

    def label(self, parameters: Parameters) -> str:
        """The title with its parameters."""
        visible = {key: _shown(key, value) for key, value in parameters.items()}
        return self.title.format(**visible)

    def read_parameters(self, where: str, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters from `keys`, with defaults for the rest.

        Raises `InputError` for a missing or wrong one.
        """
        found = {}
        for name, parameter in self.parameters.items():
            if name in keys:
                found[name] = parameter.read(f"{where}, {name}", keys[name])
            elif parameter.default is None:
                raise InputError(f'{where}: the key "{name}" is missing')
            else:
                found[name] = parameter.default
        return found


def _shown(key: str, value: Any) -> str:
    if key == "rate":
        return text(IOPS, value)
    if key == "fill":
        return f"{100 * value:.4g} %"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _depth(where: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{where} = {value!r}: expected a number of requests outstanding, from 1")
    return value


def _block(where: str, value: Any) -> str:
    return size_text(SIZE.parse(where, value))


def _share(where: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise InputError(f"{where} = {value!r}: expected a share of the drive, above 0 and up to 1")
    return float(value)


def _figure(where: str, value: Any) -> str:
    if not isinstance(value, str) or not _FIGURE.fullmatch(value):
        raise InputError(
            f"{where} = {value!r}: expected mean, p50, p90, p95, p99, p99.9, p99.99 or p99.999"
        )
    return value


def _rate(where: str, value: Any) -> float:
    rate = IOPS.parse(where, value)
    if rate < LEAST_RATE:
        raise InputError(f'{where} = "{value}": the measured thread alone writes 5K/s')
    return rate


DEPTH_1, DEPTH_32, DEPTH_256 = (Parameter(_depth, depth) for depth in (1, 32, 256))
FIGURE = Parameter(_figure, "mean")
BLOCK = Parameter(_block, "4KiB")
RATE = Parameter(_rate)


def _closed(depth: int, seconds: float, random: bool, reads: bool) -> dict[str, Any]:
    """A closed loop at a fixed queue depth: 4 KiB random, or 128 KiB sequential."""
    workload = {
        "kind": "closed",
        "outstanding": depth,
        "read_share": float(reads),
        "random_share": float(random),
        "block_size": "4KiB" if random else "128KiB",
        "requests": ENDLESS,
    }
    return {"workload": workload, "run": {"until": f"{seconds}s"}}


def _sequential_reads(given: Parameters) -> dict[str, Any]:
    return _closed(given["depth"], 1.0, random=False, reads=True)


def _sequential_writes(given: Parameters) -> dict[str, Any]:
    experiment = _closed(given["depth"], 1.25, random=False, reads=False)
    experiment["run"]["warm_up"] = FILLING
    return experiment


def _random_reads(given: Parameters) -> dict[str, Any]:
    return _closed(given["depth"], 0.2 if given["depth"] > 1 else 1.0, random=True, reads=True)


def _small_reads(given: Parameters) -> dict[str, Any]:
    experiment = _random_reads(given)
    experiment["workload"]["block_size"] = given["block"]
    return experiment


def _fresh_writes(given: Parameters) -> dict[str, Any]:
    experiment = _closed(given["depth"], 0.2, random=True, reads=False)
    experiment["workload"]["block_size"] = given["block"]
    return experiment


def _steady_writes(given: Parameters) -> dict[str, Any]:
    experiment = _closed(given["depth"], 3.0, random=True, reads=False)
    experiment["workload"]["block_size"] = given["block"]
    experiment["run"]["precondition"] = "steady"
    return experiment


def _filled(given: Parameters) -> dict[str, Any]:
    """Random writes to a share of the drive until steady state; the rest is unused."""
    experiment = _closed(32, 0, random=True, reads=False)
    experiment["workload"]["block_size"] = given["block"]
    experiment["workload"]["footprint"] = given["fill"]
    experiment["run"] = {"timed": False, "until": "steady", "steady": {"slope": 0.01, "window": 4}}
    experiment["set"] = {"device.fill": given["fill"]}
    return experiment


def _worn(given: Parameters) -> dict[str, Any]:
    """Steady random writes, enough to estimate the lifetime, without timing."""
    experiment = _closed(32, 0, random=True, reads=False)
    experiment["workload"] |= {"block_size": given["block"], "requests": WEARING}
    settled = {"slope": 0.01, "window": 4}
    experiment["run"] = {"timed": False, "precondition": "steady", "steady": settled}
    return experiment


def _writes_per_day(results: Results, given: Parameters) -> float:
    life = lifetime.of(results)
    if life is None or life.drive_writes_per_day is None:
        why = "this device does not wear" if life is None else life.reason
        raise InputError(f"drive writes a day: {why}")
    return life.drive_writes_per_day


def _loaded(rate: float) -> dict[str, Any]:
    return {
        "workload": {"preset": LOAD, "requests": ENDLESS, "rate": rate},
        "run": {"precondition": "steady", "warm_up": WARM_UP, "until": "6s"},
        "set": {"device.host_link.order": "round-robin", "device.host_link.queues": LOAD_QUEUES},
    }


def _load(given: Parameters) -> dict[str, Any]:
    return _loaded(given["rate"])


def _saturated(given: Parameters) -> dict[str, Any]:
    return _loaded(UNREACHED_RATE)


def _mb(kind: str) -> Callable[[Results, Parameters], float]:
    return lambda results, given: float(results.host[kind].mb_per_s) * 1e6


def _iops(kind: str) -> Callable[[Results, Parameters], float]:
    return lambda results, given: float(results.host[kind].iops)


def _latency(kind: str) -> Callable[[Results, Parameters], float]:
    return lambda results, given: figure_of(results.host[kind], given["figure"])


def _measured_latency(kind: str) -> Callable[[Results, Parameters], float]:
    return lambda results, given: figure_of(measured_thread(results)[kind], given["figure"])


def measured_thread(results: Results) -> Any:
    """Statistics of the measured thread, by kind of request."""
    return results.classes.measured


def figure_of(host: Any, figure: str) -> float:
    """The mean or percentile `figure` of a kind of request, in seconds."""
    if figure == "mean":
        return float(host.mean_us) * 1e-6
    return float(host.percentiles_us[figure.removeprefix("p")]) * 1e-6


#: Every measurement. Tolerances: rates 5 %, of sequential requests 2 %; latencies 10 %, their
#: percentiles from p90 on 15 %; write amplification 2 %.
MEASUREMENTS: Mapping[str, Measurement] = {
    "seq_read": Measurement(
        "sequential read, QD{depth}",
        BANDWIDTH,
        0.02,
        _sequential_reads,
        _mb("read"),
        {"depth": DEPTH_32},
    ),
    "seq_write": Measurement(
        "sequential write, QD{depth}",
        BANDWIDTH,
        0.02,
        _sequential_writes,
        _mb("write"),
        {"depth": DEPTH_32},
    ),
    "rand_read_iops": Measurement(
        "random read, QD{depth}",
        IOPS,
        0.05,
        _random_reads,
        _iops("read"),
        {"depth": DEPTH_256},
    ),
    "small_read_iops": Measurement(
        "random read, {block}, QD{depth}",
        IOPS,
        0.05,
        _small_reads,
        _iops("read"),
        {"depth": DEPTH_256, "block": Parameter(_block, "512B")},
    ),
    "fresh_write_iops": Measurement(
        "random write, {block}, QD{depth}, fresh",
        IOPS,
        0.05,
        _fresh_writes,
        _iops("write"),
        {"depth": DEPTH_32, "block": BLOCK},
    ),
    "rand_write_iops": Measurement(
        "random write, {block}, steady",
        IOPS,
        0.05,
        _steady_writes,
        _iops("write"),
        {"depth": DEPTH_256, "block": BLOCK},
    ),
    "steady_amplification": Measurement(
        "write amplification, {block}, steady",
        RATIO,
        0.02,
        _steady_writes,
        lambda results, given: float(results.flash.write_amplification_bytes),
        {"depth": DEPTH_256, "block": BLOCK},
    ),
    "read_latency": Measurement(
        "read {figure}, QD{depth}",
        TIME,
        0.10,
        _random_reads,
        _latency("read"),
        {"depth": DEPTH_1, "figure": FIGURE},
    ),
    "write_latency": Measurement(
        "write {figure}, {block}, QD{depth}",
        TIME,
        0.10,
        _fresh_writes,
        _latency("write"),
        {"depth": DEPTH_1, "figure": FIGURE, "block": BLOCK},
    ),
    "write_amplification": Measurement(
        "write amplification, {block} over {fill}",
        RATIO,
        0.02,
        _filled,
        lambda results, given: float(results.steady_state.run.window_mean),
        {"fill": Parameter(_share, 1.0), "block": BLOCK},
    ),
    "drive_writes_per_day": Measurement(
        "DWPD, {block} at random",
        RATIO,
        0.05,
        _worn,
        _writes_per_day,
        {"block": BLOCK},
    ),
    "load_read": Measurement(
        "read {figure} at {rate}",
        TIME,
        0.10,
        _load,
        _measured_latency("read"),
        {"rate": RATE, "figure": FIGURE},
    ),
    "load_write": Measurement(
        "write {figure} at {rate}",
        TIME,
        0.10,
        _load,
        _measured_latency("write"),
        {"rate": RATE, "figure": FIGURE},
    ),
    "saturated_writes": Measurement("writes at saturation", IOPS, 0.10, _saturated, _iops("write")),
    "saturated_read": Measurement(
        "read {figure} at saturation",
        TIME,
        0.10,
        _saturated,
        _measured_latency("read"),
        {"figure": FIGURE},
    ),
    "saturated_write": Measurement(
        "write {figure} at saturation",
        TIME,
        0.10,
        _saturated,
        _measured_latency("write"),
        {"figure": FIGURE},
    ),
}


def _has_places(device: Any) -> bool:
    """True if the device has a limited queue."""
    link = Experiment(device=device).to_dict()["device"].get("host_link", {})
    return bool(link.get("queue_depth", "unlimited") != "unlimited")


def experiment(
    measure: str, parameters: Parameters, device: Any, quick: bool = False
) -> dict[str, Any]:
    """The arguments of `ssdlab.run` for the measurement `measure` on `device`.

    Cells that read different figures of one run have equal arguments. `quick` simulates a quarter
    of the time.
    """
    arguments = MEASUREMENTS[measure].experiment(parameters)
    until = arguments["run"].get("until", "steady")
    if quick and until != "steady":
        begins = TIME.parse("warm-up", arguments["run"].get("warm_up", "1ns"))
        ends = TIME.parse("until", until)
        arguments["run"]["until"] = f"{begins + (ends - begins) / 4:.6g}s"
    # Submission queues share a limited queue by turns; without a limit they have no effect.
    if arguments["workload"].get("preset") == LOAD and not _has_places(device):
        arguments["set"] = {}
    return {"device": device, **arguments}
