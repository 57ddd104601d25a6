"""`ssdlab trace info` of traces whose clocks resolve whole seconds or nanoseconds, in each unit."""

import io
import re

import pytest

from ssdlab import trace
from ssdlab.trace import display

#: How long a tick is, in ns, and how a trace with such a clock is read.
CLOCKS = {
    "s": (10**9, {"format": "mqsim", "time_unit": "s"}),
    "ms": (10**6, {"format": "mqsim", "time_unit": "ms"}),
    "us": (10**3, {"format": "mqsim", "time_unit": "us"}),
    "100ns": (100, {"format": "msr"}),
    "ns": (1, {"format": "mqsim", "time_unit": "ns"}),
}
#: When requests arrive, in ticks after some instant.
ARRIVALS = {
    "at once": [0] * 3,
    "one tick": [0, 1, 1],
    "few": [0, 0, 1, 2, 2],
    "two far": [0, 1000],
    "many": [n // 3 for n in range(200)],
}
NS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}


def lines(format, ticks):
    for n, tick in enumerate(ticks):
        if format == "msr":
            yield f"{128166372000000000 + tick},host,0,Read,{4096 * n},4096,5000"
        else:
            yield f"{1000 + tick} 0 {8 * n} 8 1"


def nanoseconds(text):
    number, unit = re.fullmatch(r"([\d.,]+) ?(ns|µs|ms|s|min|h)", text).groups()
    assert not re.match(r"0\d", number), text
    return float(number.replace(",", "")) * NS[unit]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_times_are_those_of_the_trace(tmp_path, clock, arrivals):
    tick, options = CLOCKS[clock]
    ticks = ARRIVALS[arrivals]
    path = tmp_path / "t"
    path.write_text("\n".join(lines(options["format"], ticks)) + "\n")
    shown = display.info("t", trace.info(path, **options), io.StringIO())
    length = ticks[-1] * tick
    said = re.search(r"requests in (\S+) to", shown)[1]
    assert nanoseconds(said) == pytest.approx(length, rel=1e-3)
    axis = re.search(r"└─+\n(.*)", shown)[1]
    start, *end = axis.split()
    assert start == "0"
    if length == 0:
        assert end == [], "the single column of one instant has no length"
    else:
        # To the end of the last column, of which at least half as many as there may be are in use.
        assert length < nanoseconds(*end) <= length * (1 + 1 / 32) + max(tick, 1)
    every = nanoseconds(re.search(r"of every (\S+), at most", shown)[1])
    assert every >= 1000 and (every <= 1000 or every * 16 <= length * 4)
