"""The five-minute rule: the access interval beyond which data costs less on the cheaper device.

Gray and Putzolu, *The 5 minute rule for trading memory for disc accesses* (1987): a page accessed
every T seconds costs a share of the slower device's accesses, or its space on the faster one. The
costs are equal at

    T = (pages of a MB / accesses a second) x (price of the device / price of a MB of the faster)
"""

from __future__ import annotations


def break_even_seconds(
    pages_per_unit: float, accesses_per_s: float, device_dollars: float, unit_dollars: float
) -> float:
    """Seconds between accesses at which both cost the same.

    A unit is the sales unit of the faster level, such as a MB; `unit_dollars` is its price.

    >>> round(break_even_seconds(1024, 15, 15_000, 5_000))
    205
    """
    return pages_per_unit / accesses_per_s * device_dollars / unit_dollars
