"""The options of `ssdlab run`, read without click where they are plain.

`python/tests/test_start.py` compares the tables with click's options, and the results with click's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Options with a text, by their names in the command.
TEXTS = {
    "--columns": "columns",
    "--device": "device",
    "--json": "json_path",
    "--pattern": "pattern",
    "--threads": "threads",
    "--timeline": "timeline",
    "--workload": "workload",
}
#: Options followed by the path of a file or directory.
PATHS = {"--out": "out", "--requests": "requests", "--trace": "trace"}
#: Options followed by a whole number.
NUMBERS = {"--seed": "seed"}
#: Options that may be repeated.
REPEATED = {"--set": "assignments"}
#: Options without a value.
FLAGS = {
    "--allow-code": "allow_code",
    "--check": "check",
    "--force": "force",
    "--no-cache": "no_cache",
    "--quiet": "quiet",
    "--show": "show",
    "--why": "why",
}
#: Defaults of the other options. `--format` and `--advice` are click's to read.
ABSENT = {
    "experiment": None,
    **dict.fromkeys([*TEXTS.values(), *PATHS.values(), *NUMBERS.values()]),
    **dict.fromkeys(REPEATED.values(), ()),
    **dict.fromkeys(FLAGS.values(), False),
    "advice": None,
    "columns": None,
    "form": "table",
    "threads": "1",
}


def options_of(words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of the command that `words` stand for; None where click has to read them.

    So it is wherever something is to be refused or shown: whatever is not an option with its value
    as the tables have it, a second file, or a second value of an option that takes one.
    """
    found: dict[str, Any] = dict(ABSENT)
    given: set[str] = set()
    remainder = iter(words)
    for word in remainder:
        if not word.startswith("-"):
            if found["experiment"] is not None or not word:
                return None
            found["experiment"] = _path(word)
            continue
        if word in FLAGS:
            found[FLAGS[word]] = True
            continue
        option, is_joined, value = word.partition("=")
        if not is_joined:
            value = next(remainder, "")
        if not value or (value.startswith("-") and value != "-"):
            return None
        if option in given:
            return None
        if option not in REPEATED:
            given.add(option)
        if option in TEXTS:
            found[TEXTS[option]] = value
        elif option in PATHS:
            found[PATHS[option]] = _path(value)
        elif option in REPEATED:
            found[REPEATED[option]] += (value,)
        elif option in NUMBERS and value.isascii() and value.isdigit():
            found[NUMBERS[option]] = int(value)
        else:
            return None
    if found["trace"] is not None and found["workload"] is not None:
        return None
    written = [found[name] for name in ("json_path", "out", "requests") if found[name] is not None]
    if len(written) > 1 and len({os.path.realpath(it) for it in written}) < len(written):
        return None
    return found


def _path(text: str) -> Any:
    from pathlib import Path

    return Path(text)
