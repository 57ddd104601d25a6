"""Closed forms of a drive: what its parts make possible, and which parts a rate asks for.

Sizes are bytes, times seconds, rates a second. A *group* is what a die programs at once: a word
line of all its planes. Spare bytes of a page count only in transfers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Default request sizes of the host.
BLOCK = 4096


def amplification(utilisation: float) -> float:
    """Write amplification of uniform random writes at `utilisation`, exported / physical space.

    A victim's valid share v solves utilisation = (v - 1) / ln v, where blocks are many and large
    (Menon 1995; Desnoyers, SYSTOR 2012): greedy and first-in first-out are then one.

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
    """The flash of a drive and its buses, as far as rates depend on it."""

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
        """Data of a word line of all planes."""
        return self.planes * self.bits * self.page

    @property
    def write_rate(self) -> float:
        """Program rate of all dies, their buses allowing."""
        transfer = self.transfer(self.page) * self.group / self.page * self.dies / self.channels
        return self.dies * self.group / max(self.program, transfer)

    def transfer(self, size: int) -> float:
        """Moving `size` bytes of a page, with their share of the spare area."""
        return self.command + size * (1 + self.spare / self.page) / self.bus

    def read_rate(self, independent: bool, size: int = BLOCK) -> float:
        """Random reads of `size` a second: dies or planes, or their buses."""
        lanes = self.dies * (self.planes if independent else 1)
        transfer = self.transfer(size)
        return min(lanes / (self.read + transfer), self.channels / transfer)

    def random_write_rate(self, amplification: float) -> float:
        """Units of random writes a second, where a host unit costs `amplification` units.

        As many units are programmed as are examined for valid ones, in parallel reads of all
        planes; a read without a valid unit is left out.
        """
        together = self.planes * self.page // self.unit
        valid = 1 - 1 / amplification
        sensed = 1 - (1 - valid) ** together
        read = self.read + self.planes * self.transfer(self.page)
        program = amplification * self.program / (self.group / self.unit)
        return self.dies / (program + amplification / together * sensed * read)

    def amplification_of(self, rate: float) -> float:
        """The write amplification at which `rate` units of random writes a second are possible."""
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
    """The time of a word line with which `dies` write `rate` bytes a second.

    >>> round(1e3 * program_time(16, 192 * 1024, 1.5e9), 3)  # ms
    2.097
    """
    return dies * group / rate


def cores_for(rate: float, time: float) -> tuple[int, float]:
    """Firmware cores and the time of a request that allow `rate` requests and take at most `time`.

    >>> cores_for(500e3, 21.5e-6)
    (10, 2e-05)
    """
    cores = max(1, math.floor(rate * time + 1e-9))
    return cores, cores / rate


def total_bytes_written(capacity: float, writes_per_day: float, years: float) -> float:
    """Drive writes per day over the years of service, in bytes (TBW)."""
    return capacity * writes_per_day * 365 * years


def rated_cycles(written: float, amplification: float, physical: float) -> float:
    """Erasures of a block after `written` bytes of the host."""
    return written * amplification / physical
