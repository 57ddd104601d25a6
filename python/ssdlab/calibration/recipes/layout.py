"""Internal structure of a drive: page, channels, block, write buffer, spare space.

A read of two sectors across a page boundary costs two page reads: the smallest spacing at which all
such reads do is the page size. The time of a single read grows by a step when it needs one more
page of each channel: the step width in pages is the number of channels. Some sequential writes wait
for an erase: the distance between them is the block size. In a burst, writes run ahead of the flash
by the size of the buffer. Random writes to a drive that was filled in sequence slow down when its
free blocks are used up.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from ssdlab._core import InputError
from ssdlab.calibration.recipes import Found, Recipe, numbers, shell
from ssdlab.calibration.recipes.logs import Latency, latencies, stage

KIB = 1024
#: Tested spacings of boundaries, in KiB. At page boundaries the rate is halved; at half their
#: spacing it is two thirds.
SPACINGS, STRADDLES = (1, 2, 4, 8, 16, 32, 64), 0.58
#: The longest read of the script, the minimum number of steps, and their minimum ratio to the
#: growth between steps.
LONGEST, FEWEST_STEPS, CLEAR = 512 * KIB, 3, 2.0
#: Writes that wait for an erase: minimum number, maximum share of all writes, and minimum latency
#: ratio.
FEWEST_PAUSES, MOST_PAUSES, LONGER = 6, 0.05, 1.5
#: Minimum ratio of the first writes' rate to later ones behind a buffer.
BUFFERED = 1.2
#: Random writes of a sample, and samples at most.
FEWEST_WRITES, MOST_SAMPLES = 8, 400
#: The rate falls where it is half way between its former and later level.
HALF, FALLS = 0.5, 0.8

JOBS = shell.text("layout.fio")
BODY = shell.text("layout.sh")
PAGE = shell.text("layout.txt")


def scripts(capacity_bytes: int) -> Mapping[str, str]:
    """The files; written ranges are shares of the drive."""
    usage = "Writes all of TARGET, three times: ALL DATA ON IT ARE LOST."
    return {
        "layout.md": PAGE,
        "layout.sh": shell.script("layout", usage, BODY, erases=True),
        "layout.fio": shell.jobs("layout", JOBS),
    }


def fit(directory: Path, settings: Mapping[str, float], time_scale: float) -> Found:
    """The layout from the stages' results; a note for each unknown."""
    found = Found()
    page = _page(directory, found)
    _channels(directory, page, found)
    _block(directory, found)
    _buffer(directory, time_scale, found)
    _spare(directory, found)
    if not found.quantities:
        raise InputError(f"{directory}: nothing of the inside is seen: {'; '.join(found.notes)}")
    return found


def _certain(value: float, about: float) -> tuple[float, float, float]:
    return value, value - about, value + about


def _page(directory: Path, found: Found) -> int | None:
    for spacing in SPACINGS:
        within, across = (_rate(directory, f"{it}-{spacing}k") for it in ("within", "across"))
        if across < STRADDLES * within:
            size = spacing * KIB
            found.add("page", _certain(size, 0), "B", "unit in which a die is read")
            found.keys["device.page_size"] = f"{spacing}KiB"
            return size
    found.notes.append(
        "reads across boundaries of up to 64 KiB cost no more than others: no page is seen; where "
        "the link or the processor of the drive limits small reads, none can be"
    )
    return None


def _rate(directory: Path, name: str) -> float:
    of = stage(directory / f"{name}.json")
    try:
        count, seconds = int(of.job["read"]["total_ios"]), float(of.job["read"]["runtime"]) / 1000
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{of.name}.json: lacks a number that is needed ({error})") from None
    if count < 1 or seconds <= 0:
        raise InputError(f"{of.name}.json: no read was measured")
    return count / seconds


def _channels(directory: Path, page: int | None, found: Found) -> None:
    if page is None:
        found.notes.append("without a page the channels cannot be counted")
        return
    times: dict[int, list[float]] = {}
    for it in latencies(directory, "sizes"):
        times.setdefault(-(-it.size // page), []).append(it.us)
    pages = range(1, LONGEST // page + 1)
    if any(count not in times for count in pages):
        found.notes.append("the stage sizes has not all sizes: READS must be larger")
        return
    medians = [statistics.median(times[count]) for count in pages]
    # After page k + 1 the time grows by growth[k].
    growth = [after - before for before, after in zip(medians, medians[1:], strict=False)]
    best: tuple[float, int] | None = None
    for each in range(1, len(growth) // FEWEST_STEPS + 1):
        steps = growth[each - 1 :: each]
        remainder = [it for position, it in enumerate(growth, 1) if position % each]
        step, between = statistics.mean(steps), statistics.mean(remainder) if remainder else 0.0
        if step > CLEAR * abs(between) and (best is None or step - between > best[0]):
            best = step - between, each
    if best is None:
        found.notes.append("the time of a read grows evenly with its size: no channels are seen")
        return
    subject = "pages that are read at once: channels, where the data lie on all of them in turn"
    found.add("channels", _certain(best[1], 0), "", subject)
    found.keys["device.channels"] = f"{best[1]}"


def _block(directory: Path, found: Found) -> None:
    writes = latencies(directory, "erase")
    ranked = sorted(it.us for it in writes)
    maximum = int(MOST_PAUSES * len(ranked))
    gaps = [
        (ranked[position] / max(ranked[position - 1], 1e-3), position)
        for position in range(len(ranked) - maximum, len(ranked) - FEWEST_PAUSES + 1)
        if position > 0
    ]
    ratio, position = max(gaps, default=(0.0, 0))
    if ratio < LONGER:
        found.notes.append("no write in sequence waits for an erasure: no block is seen")
        return
    bound, at, pauses = ranked[position], 0, []
    for it in writes:
        if it.us >= bound:
            pauses.append(at)
        at += it.size
    # Blocks of a superblock are erased together: pauses form groups.
    between = (pauses[-1] - pauses[0]) / (len(pauses) - 1)
    starts = [pauses[0]]
    starts += [b for a, b in zip(pauses, pauses[1:], strict=False) if b - a >= between]
    if len(starts) < FEWEST_PAUSES:
        found.notes.append(f"{len(starts)} times writes wait for erasures: WRITES must be larger")
        return
    in_whole = sum(1 for it in pauses if it < starts[-1])
    periods = [b - a for a, b in zip(starts, starts[1:], strict=False)]
    together = in_whole / (len(starts) - 1)
    size = statistics.mean(periods) / together
    about = numbers.NORMAL * statistics.pstdev(periods) / together / len(periods) ** 0.5
    subject = "data between two erasures of a drive that is written in sequence"
    found.add("block", _certain(size, about), "B", subject)


def _buffer(directory: Path, time_scale: float, found: Found) -> None:
    writes = latencies(directory, "burst")
    begun = 0
    points = []
    for it in writes:
        begun += it.size
        points.append((it.ms / 1000 / time_scale, float(begun)))
    half = [it for it in points if it[1] > begun / 2]
    if len({at for at, _ in half}) < FEWEST_STEPS:
        found.notes.append("the burst was over too soon: BURST must be larger")
        return
    ahead, rate = numbers.line([at for at, _ in half], [amount for _, amount in half])
    first = [it for it in points if it[1] < ahead]
    took = first[-1][0] - first[0][0] if len(first) > 1 else 0.0
    if ahead <= 0 or ahead < (BUFFERED - 1) * rate * took or len(first) < FEWEST_PAUSES:
        found.notes.append("the first writes are no faster than the others: no buffer is seen")
        return
    errors = [amount - ahead - rate * at for at, amount in half]
    about = numbers.NORMAL * statistics.pstdev(errors)
    found.add("buffer", _certain(ahead, about), "B", "data that are written ahead of the flash")
    found.keys["device.buffer.size"] = f"{ahead / KIB / KIB:.4g}MiB"


def _spare(directory: Path, found: Found) -> None:
    samples = _samples(latencies(directory, "spare"))
    rates = [amount / seconds for seconds, amount in samples]
    fresh = statistics.median(rates[: max(5, len(rates) // 20)])
    width = min(len(rates), max(5, len(rates) // 40))
    low = min(statistics.mean(rates[at : at + width]) for at in range(len(rates) - width + 1))
    if low > FALLS * fresh:
        found.notes.append("random writes do not slow down: no spare space is seen; SPARE is short")
        return
    bound, written = low + HALF * (fresh - low), 0.0
    for position, (_, amount) in enumerate(samples[:-1]):
        if rates[position] < bound and rates[position + 1] < bound:
            break
        written += amount
    subject = "free blocks of a drive that is full: spare space less what cleaning keeps free"
    found.add("spare", _certain(written, samples[position][1]), "B", subject)


def _samples(writes: list[Latency]) -> list[tuple[float, float]]:
    """Seconds and bytes of the needed number of samples of equal size."""
    each = max(FEWEST_WRITES, len(writes) // MOST_SAMPLES)
    found, before = [], 0.0
    for start in range(0, len(writes) - each + 1, each):
        own = writes[start : start + each]
        # Times in the log are whole milliseconds.
        seconds = max(own[-1].ms - before, HALF) / 1000
        before = own[-1].ms
        found.append((seconds, float(sum(it.size for it in own))))
    return found


RECIPE = Recipe(
    summary="the inside: page, channels, block, write buffer and spare space",
    scripts=scripts,
    fit=fit,
)
