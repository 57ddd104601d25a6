"""Traces whose writes have lifetimes to tell apart, for tests of placement."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab.placing.answer import Row

PAGES = 20_000


def written(path: Path, pages: list[int], **columns: Any) -> Path:
    """A trace that reads all pages and then writes these, a page each."""
    count = len(pages) + 1
    ssdlab.trace.write(
        path,
        at_ns=[1000 * at for at in range(count)],
        op=["read"] + ["write"] * len(pages),
        sector=[0, *(8 * page for page in pages)],
        sectors=[8 * PAGES, *([8] * len(pages))],
        **columns,
    )
    return path


def skewed_at(path: Path) -> Path:
    """Half of the writes go to the first twentieth of the pages, and are forced to the medium."""
    draw = random.Random(1)
    hot = [draw.random() < 0.5 for _ in range(60_000)]
    pages = [draw.randrange(PAGES // 20 if it else PAGES) for it in hot]
    return written(path, pages, fua=[False, *hot])


def row(found: ssdlab.Placed, policy: str, **wanted: Any) -> Row:
    """The row of a policy."""
    rows = [it for it in found.rows if it.policy == policy]
    return next(it for it in rows if all(getattr(it, key) == wanted[key] for key in wanted))
