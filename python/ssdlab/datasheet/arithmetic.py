"""Closed forms of a drive: the rates of given parts, and the parts for given rates.

Sizes are in bytes, times in seconds, rates per second. A *group* is a word line of all planes of a
die, which are programmed together. Spare bytes of a page count only in transfers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Default request sizes of the host.
BLOCK = 4096


def amplification(utilisation: float) -> float:
    """Write amplification of uniform random writes at `utilisation`, exported / physical space.

    For many large blocks a victim's valid share v solves utilisation = (v - 1) / ln v (Menon 1995;
    Desnoyers, SYSTOR 2012); greedy and FIFO are then equal.

    >>> round(amplification(0.875), 2)
    4.18
    """
    if utilisation >= 1:
        return math.inf
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if middle == 0 or (middle - 1) / math.log(middle) < utilisation:
            low = middle
        else:
            high = middle
    return 1 / (1 - low)


def utilisation(amplification: float) -> float:
    """The inverse of `amplification`.

    >>> round(utilisation(4.2), 4)
    0.8756
    """
    if amplification <= 1:
        return 0.0
    valid = 1 - 1 / amplification
    return (valid - 1) / math.log(valid)


@dataclass(frozen=True)
class Flash:
    """Parameters of the flash and its buses that determine rates."""

    channels: int
    dies: int
    planes: int
    bits: int
    page: int
    spare: int
    read: float
    program: float
    command: float
    bus: float
    unit: int = BLOCK

    @property
    def group(self) -> int:
        """Data bytes of a word line of all planes."""
        return self.planes * self.bits * self.page

    @property
    def write_rate(self) -> float:
        """Program rate of all dies, limited by their buses."""
        transfer = self.transfer(self.page) * self.group / self.page * self.dies / self.channels
        return self.dies * self.group / max(self.program, transfer)

    def transfer(self, size: int) -> float:
        """Transfer time of `size` bytes of a page, with their share of the spare area."""
        return self.command + size * (1 + self.spare / self.page) / self.bus

    def read_rate(self, independent: bool, size: int = BLOCK) -> float:
        """Random reads of `size` per second, limited by dies or planes, or by their buses."""
        lanes = self.dies * (self.planes if independent else 1)
        transfer = self.transfer(size)
        return min(lanes / (self.read + transfer), self.channels / transfer)

    def random_write_rate(self, amplification: float) -> float:
        """Mapping units of random writes per second at a write amplification.

        Garbage collection reads all units of a victim, in parallel on all planes; reads without a
        valid unit are skipped.
        """
        together = self.planes * self.page // self.unit
        valid = 1 - 1 / amplification
        sensed = 1 - (1 - valid) ** together
        read = self.read + self.planes * self.transfer(self.page)
        program = amplification * self.program / (self.group / self.unit)
        return self.dies / (program + amplification / together * sensed * read)

    def amplification_of(self, rate: float) -> float:
        """Write amplification at which `rate` units of random writes per second are possible."""
        low, high = 1.0, 1000.0
        if self.random_write_rate(low) <= rate:
            return 1.0
        for _ in range(100):
            middle = (low + high) / 2
            if self.random_write_rate(middle) > rate:
                low = middle
            else:
                high = middle
        return low


def program_time(dies: int, group: int, rate: float) -> float:
    """Program time of a word line at which `dies` write `rate` bytes per second.

    >>> round(1e3 * program_time(16, 192 * 1024, 1.5e9), 3)  # ms
    2.097
    """
    return dies * group / rate


def cores_for(rate: float, time: float) -> tuple[int, float]:
    """Number of firmware cores and time per request, at most `time`, for `rate` requests per
    second.

    >>> cores_for(500e3, 21.5e-6)
    (10, 2e-05)
    """
    cores = max(1, math.floor(rate * time + 1e-9))
    return cores, cores / rate


def total_bytes_written(capacity: float, writes_per_day: float, years: float) -> float:
    """Drive writes per day over the years of service, in bytes (TBW)."""
    return capacity * writes_per_day * 365 * years


def rated_cycles(written: float, amplification: float, physical: float) -> float:
    """Erase cycles of a block after `written` host bytes."""
    return written * amplification / physical
