"""Width of terminal output, and missing characters."""

from __future__ import annotations

MAX_WIDTH = 100
#: Blanks between parts side by side.
GAP = 4
#: ASCII replacements for characters that a terminal may lack.
ASCII = str.maketrans(
    {"\u202f": " ", "\u2212": "-", "\u2013": "-", "\u00b5": "u", "\u00d7": "x", "\u00b1": "+-"}
)
