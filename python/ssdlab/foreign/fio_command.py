"""Command lines of fio, such as `fio --name=a --rw=randread --bs=4k`, as a job file.

Options before the first `--name` hold for all jobs, as in fio. Several commands run one after the
other.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ssdlab._core import InputError

_BEGINS = re.compile(r"^[ \t]*(?:sudo[ \t]+)?(?:\S*/)?fio[ \t]+(?=[^\n]*--?[a-z])", re.MULTILINE)
#: Words of the shell that end a command.
ENDS = {"|", "||", "&", "&&", ";", ">", ">>", "2>", "2>&1", "<"}
#: Options of fio itself, which change no requests.
OF_FIO = {
    "output", "output-format", "minimal", "append-terse", "terse-version", "eta", "eta-interval",
    "eta-newline", "status-interval", "bandwidth-log", "readonly", "warnings-fatal", "max-jobs",
    "alloc-size", "idle-prof", "aux-path", "debug", "trigger-file", "trigger-timeout",
}  # fmt: skip
#: Options that need no value.
FLAGS = {
    "time_based", "group_reporting", "norandommap", "thread", "stonewall", "minimal", "readonly",
    "append-terse", "softrandommap", "randrepeat", "new_group", "end_fsync", "exitall",
}  # fmt: skip


def is_one(text: str) -> bool:
    """True if a line of a text is a command of fio."""
    return _BEGINS.search(text) is not None


def job(path: Path, text: str) -> str:
    """The commands of a file as a job file. Raises `InputError`."""
    joined = re.sub(r"\\\r?\n", "  ", text)
    jobs: list[str] = []
    for found in _BEGINS.finditer(joined):
        line = joined[found.end() :].partition("\n")[0]
        number = text.count("\n", 0, text.find(joined[found.start() : found.end()])) + 1
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError(f"{path}:{number}: a command of fio: {error}") from None
        jobs += _sections(f"{path}:{number}", words, is_later=bool(jobs))
    return "\n".join(jobs) + "\n"


def _sections(where: str, words: list[str], is_later: bool) -> list[str]:
    """Lines of a job file for the options of one command."""
    common: list[str] = []
    named: list[list[str]] = []
    while words:
        word = words.pop(0)
        if word in ENDS:
            break
        if not word.startswith("-"):
            raise InputError(
                f"{where}: fio reads its jobs from {word}; `ssdlab run {word}` runs them"
            )
        key, equals, value = word.lstrip("-").partition("=")
        if not equals and key not in FLAGS and words and not words[0].startswith("-"):
            value = words.pop(0)
            equals = "="
        if key == "name":
            named.append([f"[{value or 'job'}]"])
        elif key not in OF_FIO:
            (named[-1] if named else common).append(f"{key}{equals}{value}")
    named = named or [["[job]"]]
    if is_later:
        named[0].append("stonewall")
    # A later [global] would hold for the jobs behind it alone, and for jobs of other commands.
    return [line for head, *keys in named for line in (head, *common, *keys)]
