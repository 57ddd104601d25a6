"""The findings of each test in sentences, for the terminal and the page."""

from __future__ import annotations

from ssdlab.pts.outcome import KNEE, RESPONSE_US, Outcome
from ssdlab.pts.plan import Load
from ssdlab.units import decimal_size, duration


def of(found: Outcome) -> list[str]:
    """The sentences of a test: findings, steady state, and refused loads."""
    own = {"wsat": _saturation, "dirth": _demand, "xsr": _stimulus, "hir": _rests}
    stated = [it for it in (steady(found), refused(found)) if it]
    if found.test.word in own:
        stated[:0] = own[found.test.word](found)
    return stated


def steady(found: Outcome) -> str:
    """Sentence on the steady state: its window and distance from the limits, or its absence."""
    if not found.windows:
        return "" if not found.test.tracked else "No figure that must settle was measured."
    some = next(iter(found.windows.values()))
    excursion = max(it.excursion for it in found.windows.values())
    slope = max(it.slope for it in found.windows.values())
    limits = f"excursion {excursion:.1%} of at most 20%, slope {slope:.1%} of at most 10%"
    if found.is_steady:
        return f"Steady in rounds {some.first} to {some.last}: {limits}."
    rounds = len(found.rounds)
    return f"Not steady in {rounds} round{'s' if rounds > 1 else ''}: {limits}."


def refused(found: Outcome) -> str:
    """Refused loads, with reasons."""
    if not found.refused:
        return ""
    names = [*found.refused]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"Not run: {shown} ({next(iter(found.refused.values()))})."


def how(found: Outcome) -> str:
    """Shortening of the test relative to the specification."""
    stated = []
    if found.scale > 1:
        stated.append(f"simulated at 1/{found.scale} scale (device.scale)")
    loads = [*found.test.round, *found.test.after]
    if any(not it.share for it in loads):
        stated.append(f"a minute of the specification takes {duration(found.minute_seconds * 1e6)}")
    if found.test.fewer > 1:
        stated.append(f"one of {found.test.fewer} repetitions is run")
    text = "; ".join(stated)
    return f"{text[:1].upper()}{text[1:]}."


def _saturation(found: Outcome) -> list[str]:
    curve = found.curve()
    if not curve:
        return []
    first, last = curve[0][1], curve[-1][1]
    fallen = next((written for written, iops in curve if iops < 0.9 * first), None)
    said = f"{first:,.0f} IOPS when purged, {last:,.0f} after {decimal_size(curve[-1][0])}"
    if fallen is not None:
        said += f"; below nine tenths of the first after {decimal_size(fallen)}"
    return [f"{said}."]


def _demand(found: Outcome) -> list[str]:
    points = found.points()
    if not points:
        return [f"No load was answered within {duration(RESPONSE_US)} in the mean."]
    most, knee = points["most"], points["knee"]
    return [
        f"Most IOPS within {duration(RESPONSE_US)}: {_point(found, most)}.",
        f"The knee, the least demand with {KNEE:.0%} of that: {_point(found, knee)}.",
    ]


def _point(found: Outcome, load: Load) -> str:
    iops, response = found.mean(load.name, "iops"), found.mean(load.name, "mean_us")
    threads = f"{load.threads} thread{'s' if load.threads > 1 else ''}"
    return f"{iops:,.0f} at {threads} of QD {load.depth}, answered in {duration(response or 0.0)}"


def _stimulus(found: Outcome) -> list[str]:
    stated = []
    for name, words in (("random", "Random writes"), ("again", "Sequential writes after them")):
        recovered = found.recovery(name)
        if recovered is not None:
            writes = recovered[2]
            when = f"after {writes:.1f} capacities" if writes else "at once"
            stated.append(f"{words} are within 10% of their last rate {when}.")
    return stated


def _rests(found: Outcome) -> list[str]:
    rested = found.rested()
    base = next(iter(found.windows.values()), None)
    if not rested or base is None:
        return []
    gain = max(rested, key=lambda it: it[1])
    return [
        f"{base.mean:,.0f} IOPS without rest; bursts after {gain[0]:g} s of rest have "
        f"{gain[1] / base.mean:.2f} times as many."
    ]
