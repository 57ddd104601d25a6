"""A crash test from its beginning to its findings."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab._core import InputError
from ssdlab.crashes import BROKEN, EXT4, LOST, NBD, OK, apps, namespace
from ssdlab.crashes.content import Content, chosen
from ssdlab.crashes.judge import Verdict, failures, judge
from ssdlab.crashes.plan import Image, Plan, acked_at, instants, plan
from ssdlab.crashes.record import INITIAL, Case, Recorded, record

#: Maximum number of failed images that are kept.
MOST_KEPT = 5
DEFAULT_DEVICE = "tlc-client"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Search:
    """Choice of images to test."""

    points: int = 1000
    draws: int = 4
    seed: int = 1
    workers: int | None = None
    timeout: float = 60.0


@dataclass
class Findings:
    """The results of a crash test."""

    recorded: Recorded
    search: Search
    plan: Plan
    verdicts: list[Verdict]
    events: int
    asked: dict[str, int]
    seconds: dict[str, float]
    kept: Path | None = None
    check: str | None = None
    """A checker that replaces the run's."""
    warnings: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Images by their verdict."""
        found = Counter(it.verdict for it in self.verdicts)
        return {verdict: found[verdict] for verdict in (OK, LOST, BROKEN)}

    @property
    def failed(self) -> list[Verdict]:
        """Images with a failed verdict."""
        return failures(self.verdicts)

    def again(self, verdict: Verdict) -> str | None:
        """The command that judges an image again; None if the run was not kept."""
        if self.kept is None:
            return None
        seed = ["--seed", str(self.search.seed)]
        words = ["ssdlab", "crash", "--recorded", str(self.kept), *seed]
        words += [] if self.check is None else ["--check", self.check]
        return shlex.join([*words, "--image", verdict.image.name])

    def to_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        it = self.recorded
        return {
            "version": _core.version,
            "device": it.device,
            "promise": {"volatile": it.promise.volatile, "atom_bytes": it.promise.atom},
            "on": it.place,
            "app": it.app,
            "check": it.check,
            "seed": self.search.seed,
            "events": {"before": it.first, "at_end": it.last, "all": self.events},
            "asked": self.asked,
            "lines": len(it.lines),
            "points": self.plan.points,
            "images": self.plan.made,
            "distinct": len(self.plan.images),
            "most_open": self.plan.most_open,
            "verdicts": self.counts,
            "seconds": self.seconds,
            "failures": [
                {
                    "image": it.image.name,
                    "acked": it.image.acked,
                    "verdict": it.verdict,
                    "reason": it.reason,
                    "again": self.again(it),
                }
                for it in self.failed
            ],
            "kept": None if self.kept is None else str(self.kept),
            "warnings": self.warnings,
        }


def demand(place: str, app: str | None) -> None:
    """Raise `InputError` for a missing requirement."""
    problem = unavailable(place, app)
    if problem is not None:
        raise InputError(f"crash: {problem}")


def unavailable(place: str, app: str | None) -> str | None:
    """Missing requirement; None if all are met."""
    programs: list[str] = [] if place == NBD else [*namespace.MOUNTING]
    if place == EXT4:
        programs.append("mkfs.ext4")
    if app is None:
        return namespace.unavailable(programs)
    it, _ = apps.load(app)
    return namespace.unavailable([*programs, *it.programs]) or it.unavailable()


def record_and_judge(
    case: Case, search: Search, work: Path, keep: Path | None, progress: Progress
) -> Findings:
    """Record a run and judge it."""
    demand(case.place, case.app)
    recorded = record(case, work, lambda what: progress(what, 0, 0))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        recorded.keep(keep)
    return judge_recorded(recorded, search, work, keep, progress)


def judge_again(
    directory: Path, check: str | None, search: Search, work: Path, progress: Progress
) -> Findings:
    """Judge a kept run, optionally with another checker."""
    recorded = with_checker(Recorded.load(directory), check)
    found = judge_recorded(recorded, search, work, None, progress)
    found.kept, found.check = directory, check
    return found


def with_checker(recorded: Recorded, check: str | None) -> Recorded:
    """A recording, with its checker replaced if one is given. Raises `InputError` for a missing
    program.
    """
    demand(recorded.place, recorded.app)
    if check is not None:
        recorded.check, recorded.app = check, None
    return recorded


def judge_recorded(
    recorded: Recorded, search: Search, work: Path, keep: Path | None, progress: Progress
) -> Findings:
    """Judge a recorded run."""
    began = time.monotonic()
    recording = recorded.recording
    content = Content(recording, recorded.directory / INITIAL, recorded.promise, hashing=True)
    at = instants(recording, recorded.first, search.points, search.seed)
    step = _step(progress, "choose images")
    planned = plan(content, at, recorded.stamps, search.draws, search.seed, step)
    between = time.monotonic()
    verdicts = judge(
        recorded,
        planned.images,
        work,
        seed=search.seed,
        workers=search.workers,
        timeout=search.timeout,
        progress=_step(progress, "judge"),
    )
    seconds = {
        "record": round(recorded.seconds, 3),
        "choose": round(between - began, 3),
        "judge": round(time.monotonic() - between, 3),
    }
    requested = recording.counts(recorded.first)
    events = len(recording.events)
    findings = Findings(recorded, search, planned, verdicts, events, requested, seconds, keep)
    findings.warnings = warnings(findings)
    if keep is not None:
        _keep_images(findings, keep)
    return findings


def judge_one(recorded: Recorded, name: str, search: Search, work: Path) -> Verdict:
    """Judge one image again; the checker's output goes to standard error."""
    number, _, choice = name.partition(":")
    last = len(recorded.recording.events)
    kind, _, draw = choice.partition("-")
    drawn = kind in ("only", "without", "random", "torn") and draw.isdecimal()
    if not number.isdecimal() or not (drawn or choice in ("none", "all")):
        raise InputError(
            f"--image {name}: as a failure names it, such as 120:none, 120:all or 120:torn-2"
        )
    if int(number) > last:
        raise InputError(f"--image {name}: the run has {last} events")
    content = Content(recorded.recording, recorded.directory / INITIAL, recorded.promise)
    content.advance(int(number))
    if choice != "none" and not content.open:
        raise InputError(f"--image {name}: no write is open there; only {number}:none exists")
    image = Image(int(number), choice, acked_at(recorded.stamps, int(number)))
    return judge(
        recorded,
        [image],
        work,
        seed=search.seed,
        workers=1,
        timeout=search.timeout,
        verbose=True,
    )[0]


def warnings(findings: Findings) -> list[str]:
    """Reasons for doubt about the findings."""
    found = []
    requested = findings.asked
    if not requested["flushes"] and not requested["forced"]:
        found.append("no flush reached the drive: the application asked for no durability")
    if not requested["writes"]:
        found.append("no write reached the drive: there was nothing to lose")
    if not findings.recorded.lines:
        found.append(
            "the application printed no line, so the checker cannot know which data must be present"
        )
    return found


def _step(progress: Progress, what: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(what, done, total)


def _keep_images(findings: Findings, keep: Path) -> None:
    """Write failed images in their state before mounting."""
    recorded, seed = findings.recorded, findings.search.seed
    content = Content(recorded.recording, recorded.directory / INITIAL, recorded.promise)
    for verdict in sorted(worth_keeping(findings.failed), key=lambda it: it.image.event):
        image = verdict.image
        content.advance(image.event)
        open = list(content.open.values())
        pieces = chosen(open, recorded.promise.atom, image.choice, seed, image.event)
        path = keep / f"{verdict.verdict}-{image.event}-{image.choice}.img"
        content.write(path, content.above(pieces))


def worth_keeping(failed: list[Verdict]) -> list[Verdict]:
    """The first failures, broken images before losses."""
    return sorted(failed, key=lambda it: it.verdict != BROKEN)[:MOST_KEPT]


@contextmanager
def progress_on(file: Any, quiet: bool) -> Iterator[Progress]:
    """A progress bar on a terminal, with the current phase."""
    from ssdlab import terminal

    bars: list[Any] = []

    def close() -> None:
        while bars:
            bars.pop()[1].__exit__(None, None, None)

    def move(what: str, done: int, total: int) -> None:
        if not bars or bars[0][0] != what:
            close()
            bar = terminal.steps(file, what, quiet)
            bars.append((what, bar, bar.__enter__()))
        if bars[0][2] is not None and total:
            bars[0][2](done, total)

    try:
        yield move
    finally:
        close()


def new_directory(path: Path, option: str = "--keep") -> None:
    """Refuse a non-empty directory."""
    if path.exists() and (not path.is_dir() or os.listdir(path)):
        raise InputError(f"{option} {path}: exists and is not empty; give a new directory")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: the directory {path.parent} does not exist")
