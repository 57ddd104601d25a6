"""Numbers for tables, pages and charts."""

from __future__ import annotations

from typing import Any


def plural(noun: str) -> str:
    """Several of a thing; plural nouns stay unchanged.

    >>> plural("die"), plural("planes"), plural("flush"), plural("switch"), plural("copy")
    ('dies', 'planes', 'flushes', 'switches', 'copies')
    """
    if noun.endswith("s"):
        return noun
    if noun.endswith(("sh", "ch", "x")):
        return f"{noun}es"
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"


def duration(us: float, digits: int = 3) -> str:
    """A time of `us` microseconds in the unit that suits it, to `digits` significant digits.

    >>> duration(130.6), duration(130.6, 4), duration(1532.9), duration(0), duration(9999.9)
    ('131µs', '130.6µs', '1.53ms', '0µs', '10.0ms')
    """
    if us == 0:
        return "0µs"
    for unit, size in (("ns", 1e-3), ("µs", 1.0), ("ms", 1e3)):
        text = significant(us / size, digits)
        if float(text) < 1000:
            return text + unit
    return significant(us / 1e6, digits) + "s"


def energy(joules: float) -> str:
    """An energy in the unit that suits it, to three significant digits.

    >>> energy(165.3e-6), energy(0.07), energy(12.34), energy(0)
    ('165µJ', '70.0mJ', '12.3J', '0J')
    """
    if joules == 0:
        return "0J"
    for unit, size in (("nJ", 1e-9), ("µJ", 1e-6), ("mJ", 1e-3)):
        text = significant(joules / size, 3)
        if float(text) < 1000:
            return text + unit
    return significant(joules, 3) + "J"


def count(number: float) -> str:
    """A large number, short: exact below a hundred million.

    >>> count(61255.1), count(5704304), count(123456789)
    ('61,255', '5,704,304', '123.5M')
    """
    for limit, size, unit in ((1e8, 1, ""), (1e11, 1e6, "M"), (1e14, 1e9, "G")):
        if number < limit:
            return f"{number / size:,.0f}" if size == 1 else f"{number / size:,.1f}{unit}"
    return f"{number:.3g}"


def significant(value: float, digits: int) -> str:
    """`value` to `digits` significant digits, with all digits before the point.

    >>> significant(130.62, 3), significant(1.5329, 3), significant(99.96, 3)
    ('131', '1.53', '100')
    """
    before = len(str(int(float(f"{value:.{digits - 1}e}"))))  # after rounding: 99.96 has three
    return f"{value:.{max(digits - before, 0)}f}"


def percent(share: float) -> str:
    """A share in percent, to a tenth."""
    return f"{100 * share:.1f}%"


def study_number(number: float) -> str:
    """A number of a study: whole if it is large, else with four significant digits."""
    if abs(number) >= 1000 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.4g}"


def size(number: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> size(512), size(4096), size(227656), size(1.1e12)
    ('512 B', '4 KiB', '222 KiB', '1.00 TiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1000 or unit == "TiB":
            break
        number /= 1024
    text = f"{number:.0f}" if number == int(number) else significant(number, 3)
    return f"{text} {unit}"


def decimal_size(number: float) -> str:
    """A number of bytes as data sheets have it, in the unit that suits it.

    >>> decimal_size(1.1017e12), decimal_size(4.84e12), decimal_size(1.61e9), decimal_size(2.2e16)
    ('1.10 TB', '4.84 TB', '1.61 GB', '22.0 PB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB", "PB", "EB"):
        if float(f"{number:.3g}") < 1000 or unit == "EB":
            break
        number /= 1000
    return f"{significant(number, 3)} {unit}"


def cell_text(value: Any) -> str:
    """A value of the table for a person."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
