"""Sentences in lines of a terminal."""

from __future__ import annotations

import textwrap

WIDTH = 88


def wrapped(line: str) -> list[str]:
    """The lines of a sentence, of which the first alone begins at the margin."""
    return textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) or [""]
