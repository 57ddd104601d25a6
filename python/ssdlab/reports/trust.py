"""Reliability of a run's figures: warnings and other checks."""

from __future__ import annotations

from ssdlab import lifetime, readable
from ssdlab.results import Results
from ssdlab.results.facts import Facts
from ssdlab.results.figures import FEWEST_SLOWER, kinds

#: A check: kind ("" passed, "w" warning, "i" information), name, sentence.
Check = tuple[str, str, str]

#: Maximum number of blocks taken from the reserve per erased block in steady state.
BEHIND = 0.5

#: The topic of each warning, in a word or two.
ABOUT = {
    "nothing_cleaned": "No cleaning",
    "transient": "Not in steady state",
    "overloaded": "Overloaded",
    "effective_spare": "Spare space",
    "buffer_untimed": "Buffer untimed",
    "cleaning_behind": "Cleaning behind",
    "wrapped": "Trace wrapped",
    "remapped": "Trace moved",
    "clipped": "Trace gaps cut",
    "truncated": "Trace lines skipped",
}


def checks(it: Results) -> list[Check]:
    """Warnings, then passed checks."""
    names = it.warning_names()
    found: list[Check] = []
    for warning in it.get("warnings") or []:
        name = ABOUT.get(warning["name"], warning["name"].replace("_", " ").capitalize())
        found.append(("w", name, warning["message"]))
    total = it.host.all
    if not total.requests:
        return found
    unsteady = {"transient", "nothing_cleaned", "overloaded"} & {*names} or reserve(it)
    if it.get("flash") and not unsteady:
        found.append(("", "Steady", "the drive was in steady state (no warning)."))
    if stated := reserve(it):
        found.append(("w", "Cleaning behind", stated))
    if "overloaded" not in names:
        found.append(("", "Load served", _load(it)))
    found.append(_samples(it))
    if (life := lifetime.of(it)) is not None and life.status in ("estimated", "unknown"):
        found.append(("i", "Endurance", _endurance(life)))
    left_out = (it.get("workload") or {}).get("warm_up") or 0
    if left_out:
        are = "is" if left_out == 1 else "are"
        stated = f"{readable.counted(left_out, 'request')} {are} left out."
        found.append(("i", "Warm-up", stated))
    if total.get("failed"):
        found.append(("w", "Failed", f"{readable.counted(total.failed, 'request')} failed."))
    return found


def _endurance(life: lifetime.Lifetime) -> str:
    """Basis of the lifetime estimate, or the reason for its absence."""
    if life.error is None:
        return f"{life.reason_and_bound}."
    return (
        f"estimated within {100 * life.error:.2g} %, from write amplification and evenness of wear "
        f"over {readable.counted(life.erases, 'erasure')}."
    )


def reserve(it: Results) -> str:
    """Warning if writes used erased blocks faster than garbage collection produced them."""
    erased = (it.get("flash") or {}).get("block_erases") or 0
    free = (it.get("time_series") or {}).get("free_blocks") or []
    used = free[0] - free[-1] if free and erased else 0
    if used <= BEHIND * erased:
        return ""
    return (
        f"erased blocks fell by {readable.count(used)} while {readable.counted(erased, 'block')} "
        f"{'was' if erased == 1 else 'were'} cleaned; once the reserve is used up, write "
        "amplification and latency will rise."
    )


def behind(it: Results) -> list[str]:
    """Further checks of a run, which affect the meaning of its figures."""
    said = reserve(it)
    return [f"cleaning behind: {said}"] if said else []


def _load(it: Results) -> str:
    offered = (it.get("workload") or {}).get("offered_iops")
    rate = readable.rate(it.host.all.iops)
    if offered:
        return f"{rate} of the {readable.rate(offered)} that were offered."
    if Facts(it).outstanding is not None:
        return f"closed loop: each completion triggers the next request, {rate}."
    unanswered = (it.get("workload") or {}).get("unanswered") or 0
    were = "was" if unanswered == 1 else "were"
    end = f"; {readable.count(unanswered)} {were} unanswered at the end" if unanswered else ""
    return f"throughput kept up with the arrivals, {rate}{end}."


def _samples(it: Results) -> Check:
    requests = kinds(it)[-1][1].requests
    if requests < 2 * FEWEST_SLOWER:
        said = f"{readable.counted(requests, 'request')} {'is' if requests == 1 else 'are'}"
        return ("w", "Few requests", f"{said} too few for percentiles.")
    marks = [("99.99", 1e-4), ("99.9", 1e-3), ("99", 1e-2), ("90", 0.1), ("50", 0.5)]
    best = next(((m, s) for m, s in marks if requests * s >= FEWEST_SLOWER), marks[-1])
    slower = readable.count(requests * best[1])
    kind = "" if requests >= 1000 else "w"
    said = f"{slower} requests are above p{best[0]}; curves end where fewer than 10 samples remain."
    return (kind, "Samples", said)
