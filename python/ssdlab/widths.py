"""How wide terminal output is, and which letters it may lack."""

from __future__ import annotations

MAX_WIDTH = 100
#: Blanks between parts that stand beside each other.
GAP = 4
#: What sentences and numbers have for which a terminal may lack the letters.
ASCII = str.maketrans(
    {"\u202f": " ", "\u2212": "-", "\u2013": "-", "\u00b5": "u", "\u00d7": "x", "\u00b1": "+-"}
)
