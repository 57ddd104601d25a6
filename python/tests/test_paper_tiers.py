"""The study of two tiers: closed forms hold, and fail where pages do not find their places."""

from collections import Counter

from paper_rows import listed

from ssdlab.paper import ITEMS, Study

#: Shares of reads on the fast device, of a load that has hot pages.
SHARES = [f"reads on the fast device, of {size} pages, %" for size in ("128", "512", "2,048")]


def rows(mutate=None):
    return ITEMS["tiers"].run(Study(quick=True, mutate=mutate)).rows


def test_reads_on_the_fast_device_are_those_of_popular_pages():
    found = rows()
    assert Counter(row.verdict for row in found) == {"pass": 10, "info": 1}
    # The mistakes that are planted in drives are in no law of service times.
    assert listed("blind", "tiers") == [row.name for row in found if row.verdict == "pass"]


def test_tiers_that_hardly_migrate_fail():
    def stubborn(arguments):
        device = arguments["device"]
        if device["mode"] != "tiered":
            return arguments
        return {**arguments, "device": device | {"tier": device["tier"] | {"gain": 1000.0}}}

    failed = {row.name for row in rows(stubborn) if row.verdict == "fail"}
    assert {*SHARES} <= failed
    assert all(name.startswith("mean read with") for name in failed - {*SHARES})
