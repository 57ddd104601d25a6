"""The tests as job files of fio: for a real drive as specified, and shorter for a simulated one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from ssdlab import delivery, forms
from ssdlab.pts.plan import Load, Test, places, size_word
from ssdlab.pts.steady import WINDOW

GLOBAL = """\
[global]
ioengine=libaio
direct=1
norandommap
group_reporting
"""
#: Options for real drives: incompressible content, and new addresses in each round.
OF_DRIVES = """\
filename=${DEVICE}
thread
refill_buffers
randrepeat=0
"""
#: Prefix of jobs after the rounds, in a simulated run.
AFTER = "after"


def simulated(test: Test, rounds: int, minute: float, loads: Sequence[Load]) -> str:
    """The whole test as one job file, with minutes shortened to `minute` seconds."""
    wanted = {it.name for it in loads}
    text = GLOBAL
    for number in range(1, rounds + 1):
        text += "".join(
            _section(f"{number}.{name}", load, at, minute)
            for load, at, name in places(test.round, test, False)
            if load.name in wanted
        )
    return text + "".join(
        _section(f"{AFTER}.{name}", load, at, minute)
        for load, at, name in places(test.after, test, False)
        if load.name in wanted
    )


def writes(blocks: Sequence[int], percent: int) -> str:
    """Successive random writes of each size, each over a share of the drive."""
    sections = [
        f"[{size_word(it)}]\nstonewall\nrw=randwrite\nbs={size_word(it)}\nio_size={percent}%\n"
        for it in blocks
    ]
    return GLOBAL + "".join(sections)


def of_drive(test: Test, loads: tuple[Load, ...]) -> str:
    """A round of the test, or its loads after the rounds, for a real drive."""
    head = f"; {test.title}, as in SNIA's PTS 2.0.2; written by ssdlab pts --jobs\n"
    sections = [_section(name, load, at, 60.0) for load, at, name in places(loads, test, True)]
    return head + GLOBAL + OF_DRIVES + "".join(sections)


def _section(name: str, load: Load, at: int, minute: float) -> str:
    """A load as a job with number `at`."""
    lines = [f"[{name}]", "stonewall", f"rw={_pattern(load)}", f"bs={size_word(load.block)}"]
    if 0 < load.reads < 100:
        lines.append(f"rwmixread={load.reads}")
    lines += [f"iodepth={load.depth}", f"numjobs={load.threads}"]
    if load.rest:
        lines.append(f"startdelay={_time(load.rest, minute)}")
    if load.share and load.is_random:
        # Each thread writes its part of the drive.
        lines += [f"io_size={load.share // load.threads}%"]
    elif load.share:
        # The last part is the rest of the drive: percentages are rounded to blocks.
        offset = load.share * at % 100
        lines += [f"offset={offset}%", *([f"size={load.share}%"] * (offset + load.share < 100))]
    else:
        lines += ["time_based", f"runtime={_time(load.seconds, minute)}"]
    return "\n" + "\n".join(lines) + "\n"


def _pattern(load: Load) -> str:
    word = "read" if load.reads == 100 else "write" if load.reads == 0 else "rw"
    return f"rand{word}" if load.is_random else word


def _time(seconds: float, minute: float) -> str:
    microseconds = max(1, math.ceil(seconds * minute / 60 * 1e6))
    return f"{microseconds // 10**6}s" if microseconds % 10**6 == 0 else f"{microseconds}us"


#: Script that prepares a real drive, runs rounds and keeps fio's results.
SCRIPT = (Path(__file__).parent / "run.sh").read_text(encoding="utf-8")


def write(folder: Path, tests: Sequence[Test]) -> list[Path]:
    """Write the job files and their script; returns the paths.

    Raises `InputError` for an existing foreign file.
    """
    texts = dict(_texts(tests))
    paths = {folder / name: text for name, text in texts.items()}
    if not folder.is_dir():
        delivery.refuse(folder)
        folder.mkdir()
    for path in paths:
        delivery.refuse(path, forms.PTS_JOBS)
    for path, text in paths.items():
        delivery.write(path, text, forms.PTS_JOBS)
    return [*paths]


def _texts(tests: Sequence[Test]) -> Iterator[tuple[str, str]]:
    for test in tests:
        if test.round:
            yield f"{test.word}.fio", of_drive(test, test.round)
        for load in test.after:
            yield f"{test.word}-{load.name}.fio", of_drive(test, (load,))
    words = " ".join(it.word for it in tests)
    cases = "".join(
        f"    {it.word}) run {it.word} {'purged' if it.start == 'purged' else 'filled'} "
        f"{' '.join([str(max(WINDOW, 4 * it.skipped)), *(load.name for load in it.after)])} ;;\n"
        for it in tests
    )
    yield (
        "run.sh",
        f"{SCRIPT}for test in ${{*:-{words}}}; do\n    case $test in\n{cases}"
        '    *) echo "run.sh: no test $test" >&2; exit 2 ;;\n    esac\ndone\n',
    )
