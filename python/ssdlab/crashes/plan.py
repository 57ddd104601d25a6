"""Choice of instants of a recorded run, and of the open writes in each image."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from ssdlab.crashes.content import Content, choices, chosen
from ssdlab.crashes.recording import ANSWER, FLUSH, Recording


class Image(NamedTuple):
    """Content of the drive after a cut: the instant, and a selection of the open writes."""

    event: int
    choice: str
    acked: int
    """Number of lines printed by the application."""

    @property
    def name(self) -> str:
        """Name for judging it again."""
        return f"{self.event}:{self.choice}"


class Plan(NamedTuple):
    """The images to judge, in the order of their instants."""

    images: list[Image]
    points: int
    """Instants."""
    made: int
    """Number of images before removing duplicates."""
    most_open: int
    """Maximum number of open writes at an instant."""


def instants(recording: Recording, first: int, points: int, seed: int) -> list[int]:
    """Instants from event `first` to the end, half of them next to flushes."""
    last = len(recording.events)
    every = range(first, last + 1)
    if len(every) <= points:
        return list(every)
    generator = random.Random(f"{seed}:instants")
    flushes = {it.id for it in recording.events if it.kind == FLUSH}
    neighbours: set[int] = set()
    for number in range(first, last):
        event = recording.events[number]
        if event.kind == FLUSH or event.kind == ANSWER and event.id in flushes:
            neighbours.update((number, number + 1))
    used = set(generator.sample(sorted(neighbours), min(len(neighbours), points // 2)))
    remainder = [number for number in every if number not in used]
    # The rest is stratified: one instant per stretch.
    missing = points - len(used)
    for stretch in range(missing):
        start = stretch * len(remainder) // missing
        end = (stretch + 1) * len(remainder) // missing
        used.add(remainder[generator.randrange(start, end)])
    return sorted(used)


def acked_at(stamps: list[int], event: int) -> int:
    """Number of lines printed before the instant."""
    return bisect_right(stamps, event)


def plan(
    content: Content,
    at: list[int],
    stamps: list[int],
    draws: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """The images at these instants; among equal images with equal printed lines, only the first."""
    images: list[Image] = []
    seen: set[tuple[int, int]] = set()
    made = most_open = 0
    for number, event in enumerate(at):
        content.advance(event)
        open = list(content.open.values())
        most_open = max(most_open, len(open))
        acked = acked_at(stamps, event)
        atom = content.promise.atom
        for choice in choices(open, atom, draws, seed, event):
            made += 1
            blocks = content.above(chosen(open, atom, choice, seed, event))
            key = (content.digest_with(blocks), acked)
            if key not in seen:
                seen.add(key)
                images.append(Image(event, choice, acked))
        if progress is not None:
            progress(number + 1, len(at))
    return Plan(images, len(at), made, most_open)
