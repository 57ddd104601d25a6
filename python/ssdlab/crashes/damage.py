"""Reaction of an application to data lost by its drive: `ssdlab crash --unreadable`.

The application runs once, and its final data is copied to several drives. Each is aged on the live
device until a share of its pages is unreadable. Then the file system is mounted and the checker
runs, on the live device: reads of these pages fail, and writes heal them. Seeds differ, so each
drive loses other pages.
"""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.crashes import namespace
from ssdlab.crashes.apps import REFUSED, RIGHT, SILENT
from ssdlab.crashes.content import Content
from ssdlab.crashes.record import (
    INITIAL,
    RECORDING,
    Case,
    CommandFailed,
    Recorded,
    Stage,
    app_command,
    record,
    serve_again,
)
from ssdlab.crashes.run import Progress, Search, demand

#: Outcomes of a drive, in the order of the table.
OUTCOMES = {
    "untouched": "no page that was read is lost",
    "repaired": "reads failed, and all data are right",
    "noticed": "an error was reported",
    "refused": "it cannot be mounted, or does not start",
    "silent": "wrong or missing data, and no error",
}
#: Ratio of successive ages; the share of lost pages grows with age.
SHORTEST_DAYS, LONGER, LONGEST_DAYS = 30.0, 1.08, 100_000.0
CELSIUS = "55C"
#: Default keys: read retry ends with the controller's table, so that fresh data is readable and any
#: share of pages is lost with age. `--set` overrides them.
AGEING = {"device.media.model": "tlc-3d", "device.retry.search": "none"}
MOST_REASON = 200


@dataclass(frozen=True)
class Drive:
    """A drive with aged data, and the application's reaction."""

    seed: int
    lost_share: float
    age_days: float
    unreadable: int
    """Failed reads during the check."""
    healed: int
    """Lost pages that the application rewrote."""
    outcome: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The form of `--json`."""
        return dict(self.__dict__)


@dataclass
class Damage:
    """Outcomes of an application on all drives."""

    recorded: Recorded
    share: float
    drives: list[Drive]
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        """Drives by their outcome."""
        found = Counter(it.outcome for it in self.drives)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def is_silent(self) -> bool:
        """True if wrong data was accepted silently."""
        return bool(self.counts["silent"])

    def to_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        return {
            "version": _core.version,
            "device": self.recorded.device,
            "on": self.recorded.place,
            "app": self.recorded.app,
            "check": self.recorded.check,
            "lines": len(self.recorded.lines),
            "unreadable_share": self.share,
            "outcomes": self.counts,
            "drives": [it.to_dict() for it in self.drives],
            "seconds": self.seconds,
        }


def damage(case: Case, share: float, search: Search, work: Path, progress: Progress) -> Damage:
    """Run an application, and copy its data to a drive per point."""
    demand(case.place, case.app)
    began = time.monotonic()
    recorded = record(case, work, lambda what: progress(what, 0, 0))
    image = work / "whole.img"
    _whole(recorded, image)
    acked = work / "acked"
    acked.write_text("".join(f"{line}\n" for line in recorded.lines))
    ageing = replace(case, stack=[*_ageing(case.stack)], run=_checker(recorded, acked))
    drives = []
    for number in range(search.points):
        progress("age drives", number, search.points)
        drives.append(_drive(ageing, image, share, search.seed + number, work))
    progress("age drives", search.points, search.points)
    return Damage(recorded, share, drives, time.monotonic() - began)


def _whole(recorded: Recorded, image: Path) -> None:
    """Content of the drive after the application's end, without open writes."""
    content = Content(recorded.recording, recorded.directory / INITIAL, recorded.promise)
    content.advance(len(recorded.recording.events))
    content.write(image, content.above(content.open.values()))
    (recorded.directory / RECORDING).unlink()


def _checker(recorded: Recorded, acked: Path) -> str:
    command = recorded.check if recorded.app is None else app_command("damaged", recorded.app)
    return f"acked={shlex.quote(str(acked))}; export acked; {command}"


def _ageing(stack: list[layers.Layer]) -> list[layers.Layer]:
    """The drive with ageing data, unless the experiment sets it."""
    from ssdlab.running import Experiment

    device: Mapping[str, Any] = Experiment._from_layers(stack).to_dict()["device"]
    if device.get("kind") != "ssd":
        raise InputError('--unreadable: only a device of kind "ssd" has data that age')
    if device.get("media", {}).get("model", "none") != "none":
        return stack
    # Below the user's settings.
    return [stack[0], *layers.from_assignments(AGEING), *stack[1:]]


def _drive(case: Case, image: Path, share: float, seed: int, work: Path) -> Drive:
    """Age a drive that holds the image, and let the application use it."""
    served = work / "aged"
    namespace.copy(image, served)
    stack = [*case.stack, *layers.from_seed("seed of the drive", seed)]
    live = serve_again(replace(case, stack=stack), work, served)
    try:
        lost, days = _age(live, share)
        outcome, reason = _use(case, work, served, live.uri)
    finally:
        results = live.stop()
        for path in work.glob("aged*"):  # and the drive's state
            path.unlink()
    media = results.to_dict()["media"]
    unreadable, healed = int(media["unreadable"]), int(media["healed"])
    if outcome == "right":
        outcome = "repaired" if unreadable else "untouched"
    return Drive(seed, lost, days, unreadable, healed, outcome, reason)


def _age(live: Any, share: float) -> tuple[float, float]:
    """Age the drive until a share of its pages is lost; returns the share and the days."""
    days, more = 0.0, SHORTEST_DAYS
    while share > 0:
        said = live.say(f"age {more:.0f}d at {CELSIUS}")
        if "error" in said:
            raise InputError(f"--unreadable: {said['error']}")
        days += more
        lost = float(said["lost_share"])
        if lost >= share:
            return lost, days
        more = (LONGER - 1) * days
        if days > LONGEST_DAYS:
            raise InputError(
                f"--unreadable {share:.2%}: after {days:,.0f} days at {CELSIUS} only {lost:.2%} of "
                "the pages are lost; raise device.media.cycles, or lower device.retry.steps"
            )
    return 0.0, 0.0


def _use(case: Case, work: Path, served: Path, uri: str) -> tuple[str, str]:
    """Outcome of the application, and its last line."""
    try:
        with Stage(case, case.run, work, served, uri) as stage:
            try:
                stage.perform(lambda: 0)
                status = RIGHT
            except CommandFailed as error:
                status = error.status
            reason = stage.last_line()
    except click.ClickException as error:
        message = error.format_message()
        if not message.startswith(("mount", "umount", "losetup")):
            raise
        return ("refused" if message.startswith("mount") else "noticed"), _short(message)
    outcome = {RIGHT: "right", SILENT: "silent", REFUSED: "refused"}.get(status, "noticed")
    return outcome, "" if outcome == "right" else _short(reason)


def _short(reason: str) -> str:
    """The first line, without this run's directory and `mount`'s hint on the kernel log."""
    first = reason.partition("\n")[0].partition(" dmesg(1)")[0]
    return re.sub(r"/\S*ssdlab-crash-[^/\s:]*/?", "", first)[:MOST_REASON]
