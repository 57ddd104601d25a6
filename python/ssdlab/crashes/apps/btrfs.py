"""Files on btrfs, with a checksum per block, and with `data=dup` a second copy.

The checker mounts the file system, scrubs it, and reads all copied files: a scrub repairs blocks
from their copies, and reports the others.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from ssdlab.crashes import LOOP, namespace
from ssdlab.crashes.apps import App, Place, Refused, Settings, copy

FILE_SYSTEMS = Path("/proc/filesystems")
UNCORRECTED = re.compile(r"uncorrectable_errors:\s*(\d+)")


def unavailable() -> str | None:
    """Reason why it cannot be mounted."""
    if namespace.find("modprobe") is not None:
        subprocess.run(["modprobe", "btrfs"], capture_output=True, env=namespace.environment())
    if "btrfs" not in FILE_SYSTEMS.read_text().split():
        return "this kernel has no btrfs (no module, and not built in)"
    return None


@contextlib.contextmanager
def _mounted(place: Place) -> Iterator[Place]:
    where = place.tmp / "btrfs"
    where.mkdir(exist_ok=True)
    try:
        namespace.call("mount", "-t", "btrfs", "-o", "loop", str(place.dev), str(where))
    except RuntimeError as error:
        raise Refused(f"it cannot be mounted: {error}") from None
    try:
        yield place._replace(dir=where)
    finally:
        namespace.call("umount", str(where))


def setup(place: Place, settings: Settings) -> None:
    """Make the file system."""
    profile = settings["data"]
    words = ["mkfs.btrfs", "--quiet", "--force", "--nodiscard", "--mixed"]
    namespace.call(*words, "--data", profile, "--metadata", profile, str(place.dev))


def run(place: Place, settings: Settings) -> None:
    """Copy files, and print each copied one."""
    with _mounted(place) as mounted:
        copy.run(mounted, settings)


def check(place: Place, settings: Settings, lines: Sequence[str]) -> None:
    """Scrub, and read all copied files."""
    with _mounted(place) as mounted:
        words = ["btrfs", "scrub", "start", "-B", "-R", str(mounted.dir)]
        done = subprocess.run(words, capture_output=True, text=True, env=namespace.environment())
        left = UNCORRECTED.search(done.stdout)
        if left is None:
            raise OSError(f"scrub: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
        if int(left[1]):
            raise OSError(f"scrub: {left[1]} errors could not be corrected")
        copy.check(mounted, settings, lines)


APP = App(
    summary="Files copied to btrfs, scrubbed; data=dup keeps two copies of each block",
    settings={"data": ("single", "dup"), "fsync": ("yes", "no"), "files": ("20",)},
    setup=setup,
    run=run,
    check=check,
    place=LOOP,
    size="192MiB",  # the minimum size of mkfs.btrfs for two copies
    programs=("mkfs.btrfs", "btrfs"),
    unavailable=unavailable,
)
