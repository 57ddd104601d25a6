"""Needs: the requirements of `--need`."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass

from ssdlab._core import InputError
from ssdlab.units import TIME

#: Requirements that depend on the number of drives, with their descriptions.
AMOUNTS = {
    "iops": "requests per second, such as iops=18000",
    "mb_per_s": "MB a second, such as mb_per_s=500",
    "gb": "GB of 1e9 bytes, such as gb=3240",
    "dwpd": "drive writes a day, such as dwpd=1",
}
#: Latencies of the results that a need may bound.
LATENCIES = ("mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999", "max")
_LATENCY = re.compile(r"(?:(read|write)\.)?(mean|max|p[0-9.]+)")


@dataclass(frozen=True)
class Need:
    """Needs: amounts by name, and latencies in us by name, such as read.p99."""

    amounts: dict[str, float]
    latencies_us: dict[str, float]

    def to_dict(self) -> dict[str, float]:
        """The needs in the form of `ssdlab cost --json`."""
        return {**self.amounts, **{f"{name}_us": us for name, us in self.latencies_us.items()}}


def parse(texts: tuple[str, ...]) -> Need:
    """The needs in texts such as "iops=18000,p99=20ms". Raises `InputError` for unknown needs."""
    amounts: dict[str, float] = {}
    latencies: dict[str, float] = {}
    for part in (part for text in texts for part in text.split(",")):
        source = f"--need {part.strip()}"
        name, sign, value = (it.strip() for it in part.partition("="))
        if not sign or not name or not value:
            raise InputError(f"{source}: expected NAME=VALUE, such as iops=18000 or p99=20ms")
        if name in amounts or name in latencies:
            raise InputError(f"{source}: {name} is given twice; keep one")
        if name in AMOUNTS:
            amounts[name] = _amount(source, name, value)
        elif is_latency(name):
            latencies[name] = 1e6 * TIME.parse(f"--need {name}", value)
        else:
            known = [*AMOUNTS, *LATENCIES]
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(
                f"{source}: the requirements are {', '.join(known)}; latencies may begin with "
                f"read. "
                f"or write.{hint}"
            )
    return Need(amounts, latencies)


def is_latency(name: str) -> bool:
    """True if results have a latency with that name."""
    found = _LATENCY.fullmatch(name)
    return found is not None and found[2] in LATENCIES


def _amount(source: str, name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise InputError(
            f'{source}: "{value}" is not a number; {name} is {AMOUNTS[name]}'
        ) from None
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{source}: {name} must be above 0")
    return number
