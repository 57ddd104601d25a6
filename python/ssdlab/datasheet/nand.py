"""Assumptions on flash that the data sheet does not state, by bits per cell.

The parts and their sources are in the engine's table (`ssdlab list cells`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Nand:
    """Flash with a number of bits per cell, in bytes and seconds."""

    part: str
    """Source of the numbers."""
    read: float
    fastest: float
    """The shortest published sensing time of these cells."""
    program: tuple[float, float]
    """Range of the program time of a word line of all planes."""
    erase: float
    planes: int
    page: int
    word_lines: int
    """Word lines per block."""
    die: int
    """Capacity of a die."""
    cycles: int


#: Program times range from the fastest part of the table to the slowest that fits a drive's
#: measured rate: 2.1 ms of three bits (Samsung PM9A3), 13.5 ms of four (Kioxia 96L).
NAND: Mapping[int, Nand] = {
    1: Nand(
        "Samsung Z-NAND (ISSCC 2018)", 3e-6, 3e-6, (75e-6, 350e-6), 2e-3, 2, 4096, 384, 2**33, 30000
    ),
    2: Nand(
        "the Samsung 970 PRO in NVMeVirt",
        *(36e-6, 25e-6, (0.4e-3, 1.6e-3), 3.5e-3, 4, 16384, 384, 2**36, 6000),
    ),
    3: Nand(
        "Samsung 128-layer TLC (ISSCC 2021)",
        *(45e-6, 32e-6, (0.85e-3, 2.6e-3), 3.5e-3, 4, 16384, 384, 2**36, 3000),
    ),
    4: Nand(
        "Intel 144-layer QLC (ISSCC 2021)",
        *(85e-6, 70e-6, (6e-3, 14e-3), 3.5e-3, 4, 16384, 768, 2**37, 1500),
    ),
}


def fastest_read(bits: int) -> float:
    """The shortest published sensing time of cells of `bits` bits."""
    return NAND[bits].fastest
