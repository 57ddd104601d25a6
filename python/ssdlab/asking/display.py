"""Output of `ssdlab ask`: its assumptions, a row for each drive, and the answer."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.asking import Answer, Question
from ssdlab.asking.lines import wrapped
from ssdlab.choosing import Choice, Offer, reasons
from ssdlab.choosing.display import prepared, prices
from ssdlab.results.facts import tail
from ssdlab.sizing import life_of
from ssdlab.sizing.display import goals_text
from ssdlab.under_load import life_text as life
from ssdlab.units import decimal_size, dollars, duration

HEAD = f"{'drive':<20}{'':>4}{'capacity':>9}{'read p99':>9}{'write p99':>10}{'life':>20}"
HEAD += f"{'dollars':>9}  lacks"


def head(question: Question) -> str:
    """Data and assumptions, and the head of the table."""
    lines = [*question.asked.read]
    lines += _several("Assumed", question.asked.assumed)
    capacity = f", {float(question.needs['gb']):,.0f} GB" if "gb" in question.needs else ""
    goals = goals_text(question.goals) if question.goals else "Goals: none"
    lines += [f"{goals}{capacity}", "", HEAD]
    return "\n".join(lines) + "\n"


def row(offer: Offer, question: Question) -> str:
    """A drive, with one word for each unmet need."""
    trial = offer.trial
    if trial is None:
        return f"{offer.drive:<24}{offer.why}\n"
    cost = "?" if offer.dollars is None else dollars(offer.dollars)
    count = f"x{offer.drives}" if offer.drives > 1 else ""
    lacks = ", ".join(reasons.names(offer, question.goals)) or "nothing"
    if len(trial.found) > 1:
        lacks += f" ({len(trial.found)} full runs)"
    return (
        f"{offer.drive:<20}{count:>4}{decimal_size(trial.capacity_bytes):>9}"
        f"{_time(trial.mean('read.p99')):>9}{_time(trial.mean('write.p99')):>10}"
        f"{_lasts(offer):>20}{cost + ('*' if offer.is_assumed else ''):>9}  {lacks}\n"
    )


def end(found: Answer) -> str:
    """The answer below the rows."""
    choice, question = found.choice, found.question
    lines = [""]
    if not choice.is_whole:
        count = len(choice.offers)
        lines.append(f"Partial: {count} of {len(question.drives)} drives were tried.")
    lines += _answer(choice)
    lines += [f"Note: {note}" for note in choice.notes if not note.startswith("The trace is short")]
    surer = [*question.asked.surer]
    if all(goal.figure == "years" for goal in question.goals):
        surer.insert(0, "a latency limit, such as --need p99=2ms")
    lines += _several("Surer with", surer)
    lines += prepared(choice) + prices(choice)
    trials = [it for it in choice.offers if it.trial is not None]
    if any(it.life[1] for it in trials):
        lines.append("r: by the rated writes of its data sheet, as the run erased too few blocks.")
    if any("at least" in _lasts(it) for it in trials):
        lines.append("at least: a lower bound, as the run erased too few blocks for an estimate.")
    text = [part for line in lines for part in wrapped(line)]
    first = next((it for it in choice.offers if it.trial is not None), None)
    if first is not None and first.command is not None:
        text += ["", "The same by itself:", first.command]  # one line, to copy
    return "\n".join(text) + "\n"


def _answer(choice: Choice) -> list[str]:
    first = next((it for it in choice.offers if it.trial is not None), None)
    if first is None or first.trial is None:
        return ["No drive of these has room for it."] if choice.offers else []
    said = f"{first.drives} x {first.drive}" if first.drives > 1 else first.drive
    cost = "no price is known" if first.dollars is None else dollars(first.dollars)
    by_price = "the cheapest that does" if choice.is_whole else "the cheapest so far"
    line = f"Fits: {said}, {cost}, {by_price}."
    if not first.meets:
        line = f"No drive of these fits. Nearest: {said}: {first.why}."
    why = tail(first.trial.found[0])
    return [
        line,
        *([f"Its tail: {why}"] if why else []),
        *([f"How it was run: {' '.join(first.how)}"] if first.how else []),
    ]


def _time(us: float | None) -> str:
    return "-" if us is None else duration(us)


def _lasts(offer: Offer) -> str:
    """Lifetime; `r` marks a rating."""
    if offer.trial is None:
        return ""
    years, is_rated = offer.life
    lasts = life_of(offer.trial) if years is None else life(years)
    lasts = lasts.replace("more than", ">")
    return f"{lasts}{' r' if is_rated else ''}"


def _several(name: str, sentences: Sequence[str]) -> list[str]:
    return wrapped(f"{name}: {'; '.join(sentences)}.") if sentences else []
