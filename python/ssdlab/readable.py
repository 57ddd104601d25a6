"""Numbers as pages write them: three significant digits, a narrow space before the unit.

`units` has the shorter forms of terminal tables.
"""

from __future__ import annotations

import math
from typing import Any

from ssdlab.units import plural, significant

#: The narrow no-break space before a unit.
THIN = "\u202f"
MINUS = "\u2212"
#: The placeholder for a missing number.
ABSENT = "\u2013"
#: Maximum ratio of values that count as equal.
SAME = 0.02


def time(us: float | None) -> str:
    """A time of `us` microseconds.

    >>> time(8229.68), time(0), time(None), time(125e6)
    ('8.23\\u202fms', '0\\u202fs', '\\u2013', '125\\u202fs')
    """
    if us is None:
        return ABSENT
    if us == 0:
        return f"0{THIN}s"
    for unit, size in (("ns", 1e-3), ("µs", 1.0), ("ms", 1e3)):
        text = significant(us / size, 3)
        if float(text) < 1000:
            return f"{text}{THIN}{unit}"
    return f"{grouped(us / 1e6)}{THIN}s"


def grouped(value: float) -> str:
    """Three significant digits, or every digit before the point.

    >>> grouped(8002.59), grouped(4.6023), grouped(0.0), grouped(-3.5)
    ('8,003', '4.60', '0', '−3.50')
    """
    if value == 0:
        return "0"
    sign = MINUS if value < 0 else ""
    size = abs(value)
    if size < 1e-3:
        return f"{sign}{size:.2g}"
    text = f"{size:,.0f}" if size >= 99.95 else significant(size, 3)
    return sign + text


def count(number: float) -> str:
    """A number as text: every digit up to a billion.

    >>> count(1378435), count(24557647724544)
    ('1,378,435', '24,558\\u202fG')
    """
    return f"{number:,.0f}" if number < 1e9 else f"{grouped(number / 1e9)}{THIN}G"


def counted(number: float, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "request"), counted(2000, "block")
    ('1 request', '2,000 blocks')
    """
    return f"{count(number)} {noun if number == 1 else plural(noun)}"


def short(value: float) -> str:
    """A number on an axis.

    >>> short(5000), short(1.4e6), short(0.25), short(-3)
    ('5k', '1.4\\u202fM', '0.25', '−3')
    """
    sign = MINUS if value < 0 else ""
    for size, unit in ((1e9, f"{THIN}G"), (1e6, f"{THIN}M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{sign}{abs(value) / size:.4g}{unit}"
    return f"{sign}{abs(value):.4g}"


def rate(per_second: float | None) -> str:
    """Requests or blocks a second."""
    return ABSENT if per_second is None else f"{grouped(per_second)}/s"


def watts(power: float | None) -> str:
    """A power.

    >>> watts(0.7391), watts(0.89), watts(0)
    ('739\\u202fmW', '890\\u202fmW', '0\\u202fW')
    """
    if power is None:
        return ABSENT
    if 0 < abs(power) < 0.9995:
        return f"{grouped(1000 * power)}{THIN}mW"
    return f"{grouped(power)}{THIN}W"


def traffic(number: float | None) -> str:
    """A number of bytes written or read, in powers of ten.

    >>> traffic(122685118705664), traffic(568098816), traffic(0)
    ('123\\u202fTB', '568\\u202fMB', '0\\u202fB')
    """
    if number is None:
        return ABSENT
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    place = 0
    while place + 1 < len(units) and number >= 999.5:
        number, place = number / 1000, place + 1
    return f"{grouped(number) if place else f'{number:.0f}'}{THIN}{units[place]}"


def throughput(mb_per_s: float | None) -> str:
    """Megabytes a second."""
    return ABSENT if mb_per_s is None else f"{traffic(mb_per_s * 1e6)}/s"


def share(part: float | None) -> str:
    """A share in percent; near 100 %, with enough digits to differ from it.

    >>> share(0.7948), share(0.99996), share(1.0), share(0.0), share(0.03)
    ('79.5\\u202f%', '99.996\\u202f%', '100\\u202f%', '0\\u202f%', '3.0\\u202f%')
    """
    if part is None:
        return ABSENT
    if part in (0, 1):
        return f"{100 * part:.0f}{THIN}%"
    if 0.999 <= part < 1:
        digits = min(8, math.ceil(-math.log10(1 - part)) - 2)
        return f"{100 * part:.{digits}f}{THIN}%"
    return f"{100 * part:.1f}{THIN}%".replace("-", MINUS)


def about(part: float) -> str:
    """A share in words or whole percent, for a sentence.

    >>> about(0.795), about(0.5), about(0.1), about(0.004), about(0.9997)
    ('80\\u202f%', '50\\u202f%', '10\\u202f%', '0.4\\u202f%', 'over 99.9\\u202f%')
    """
    if 0.995 <= part < 1:
        return f"over 99.9{THIN}%" if part >= 0.9995 else f"{100 * part:.1f}{THIN}%"
    return f"{100 * part:.0f}{THIN}%" if part >= 0.0095 else f"{100 * part:.1f}{THIN}%"


def times(ratio: float) -> str:
    """A ratio with its sign."""
    return f"{grouped(ratio)}{THIN}×"


def percentile(key: str) -> str:
    """A percentile by the key of results: `p99.9`."""
    return f"p{key}"


def same(a: float, b: float) -> bool:
    """True if two values count as equal."""
    return abs(a - b) <= SAME * max(abs(a), abs(b))


def value(number: Any, unit: str) -> str:
    """A number as text, by the unit of a counter or an axis."""
    if number is None:
        return ABSENT
    return FORMS.get(unit, count if isinstance(number, int) else grouped)(number)


#: Form of a number of each unit.
FORMS = {
    "us": time,
    "s": lambda seconds: time(1e6 * seconds),
    "bytes": traffic,
    "share": share,
    "rate": rate,
    "mb_per_s": throughput,
    "times": times,
    "watts": watts,
    "count": count,
    "short": short,
}
