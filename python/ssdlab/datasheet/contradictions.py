"""Contradictions in a data sheet: pairs of inconsistent keys, with the arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.datasheet import arithmetic
from ssdlab.datasheet.given import Given
from ssdlab.datasheet.nand import fastest_read
from ssdlab.units import BANDWIDTH, IOPS, SIZE, text

#: Permitted difference of an endurance stated twice: rounding and binary units.
SAME_ENDURANCE = 0.10
#: Permitted deviation of raw flash from its round number: reserve blocks, as in the Micron 7450
#: (1076 GiB for 1 TiB).
NOMINAL = (0.90, 1.06)
#: Maximum factor from rounding a rate to two digits.
ROUNDING = 1.02

Found = Iterator[tuple[str, str, str]]


def refuse(given: Given) -> None:
    """Raise `InputError` for the first contradiction, naming both keys and the arithmetic."""
    for rule in RULES:
        for one, other, reason in rule(given):
            message = f"{given.shown(one)} contradicts {given.shown(other)}: {reason}"
            raise InputError(f"{given.source}: {message}")


def link_rate(name: str) -> float:
    """Bandwidth of the host link `name`, bytes per second.

    >>> link_rate("pcie4-x4")
    7876900000.0
    """
    return BANDWIDTH.parse(name, dict(_core.list("links") or [])[name].split(" (")[0])


def _raw(given: Given) -> Found:
    raw = given.get("raw_capacity")
    if raw is not None and raw <= given["capacity"]:
        sizes = f"{given.written['raw_capacity']} = {raw / 1e9:.6g} GB"
        yield "raw_capacity", "capacity", f"{sizes} leaves no spare space beside what is exported"


def _link(given: Given) -> Found:
    most = link_rate(given["interface"])
    for key, size in (
        ("seq_read", 1),
        ("seq_write", 1),
        ("rand_read", arithmetic.BLOCK),
        ("rand_write", given["rand_write_block"]),
        ("fresh_write", arithmetic.BLOCK),
    ):
        rate = given.get(key)
        if rate is not None and rate * size > most:
            product = "" if size == 1 else f"{rate:,.0f}/s x {text(SIZE, size)} = "
            need = f"{product}{text(BANDWIDTH, rate * size)}"
            yield key, "interface", f"{need}, but the link carries {text(BANDWIDTH, most)}"


def _sensing(given: Given) -> Found:
    bits = given.get("bits")
    if bits is not None and given["read_latency"] <= fastest_read(bits):
        need = f"{fastest_read(bits) * 1e6:g} us"
        yield "read_latency", "bits", f"sensing a page of {bits}-bit cells alone takes {need}"


def _little(given: Given) -> Found:
    for key, latency in (("rand_read", "read_latency"), ("fresh_write", "write_latency")):
        rate = given.get(key)
        depth = given.depth(key)
        if rate is not None and rate > ROUNDING * depth / given[latency]:
            most = depth / given[latency]
            yield (
                key,
                latency,
                f"{depth} outstanding (the key {key}_depth), each for at least "
                f"{given.written.get(latency)}, are at most {text(IOPS, most)}",
            )


def _random_above_sequential(given: Given) -> Found:
    rate = given.get("rand_write")
    if rate is None:
        return
    moved = rate * given["rand_write_block"]
    if moved > ROUNDING * given["seq_write"]:
        size = text(SIZE, given["rand_write_block"])
        need = f"{text(IOPS, rate)} x {size} = {text(BANDWIDTH, moved)} of lasting random writes"
        yield "rand_write", "seq_write", f"{need} is more than in sequence"
    amplification = given.get("write_amplification")
    if amplification is not None and moved * amplification > 1.05 * given["seq_write"]:
        need = f"{text(BANDWIDTH, moved)} x {amplification:g} = "
        need += text(BANDWIDTH, moved * amplification)
        reason = f"{need} would be programmed, but {given.shown('seq_write')}"
        yield "rand_write", "write_amplification", reason


def _amplification(given: Given) -> Found:
    raw, amplification = given.get("raw_capacity"), given.get("write_amplification")
    if raw is None or amplification is None:
        return
    needed = given["capacity"] / arithmetic.utilisation(amplification)
    if not NOMINAL[0] <= needed / raw <= NOMINAL[1]:
        least = arithmetic.amplification(given["capacity"] / raw)
        yield (
            "write_amplification",
            "raw_capacity",
            f"uniform writes over {given.written['capacity']} on {given.written['raw_capacity']} "
            f"amplify by {least:.2f}; {amplification:g} needs {needed / 2**30:.0f} GiB",
        )


def _endurance(given: Given) -> Found:
    written, daily = given.get("tbw"), given.get("dwpd")
    if written is None or daily is None:
        return
    product = arithmetic.total_bytes_written(given["capacity"], daily, given["years"])
    if not 1 / (1 + SAME_ENDURANCE) <= product / written <= 1 + SAME_ENDURANCE:
        sum_of = f"{daily:g} x {given.written['capacity']} x 365 days x {given['years']:g} years"
        yield "tbw", "dwpd", f"{sum_of} = {product / 1e12:,.0f} TB"


RULES: tuple[Callable[[Given], Found], ...] = (
    _raw,
    _link,
    _sensing,
    _little,
    _random_above_sequential,
    _amplification,
    _endurance,
)
