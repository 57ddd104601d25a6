"""A real program under memory pressure, which swaps on a served device.

The served device is mounted as a file, a loop device makes it a block device, and a control group
limits the program's memory. This needs root and kernel support (`refused`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab.paper.item import Row

PROGRAMS = ("mkswap", "swapon", "swapoff", "losetup")
GROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20
#: Swap space, working set, memory limit and duration.
SPACE, WORKING_SET, MEMORY, SECONDS = 512 * MIB, 192 * MIB, 96 * MIB, 8.0
#: Served devices.
DEVICES = {"flash": "zeus-linear", "disk": "scsi-15k"}
#: Memory of the program besides its pages.
PROGRAM = f"""
import json, mmap, random, resource, time
pages = {WORKING_SET} // 4096
data = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if hasattr(mmap, "MADV_NOHUGEPAGE"):
    data.madvise(mmap.MADV_NOHUGEPAGE)
draw = random.Random(1)
for page in range(pages):
    data[page * 4096 : page * 4096 + 64] = draw.randbytes(64)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt
before, began, touches = faults(), time.monotonic(), 0
busy = time.process_time()
while (now := time.monotonic()) < began + {SECONDS}:
    for _ in range(16):
        at = draw.randrange(pages) * 4096
        if draw.random() < 0.3:
            data[at] = touches & 255
        else:
            data[at]
        touches += 1
busy = time.process_time() - busy
print(json.dumps({{"touches": touches, "seconds": now - began, "faults": faults() - before,
                   "busy": busy}}))
"""


@dataclass(frozen=True)
class Ran:
    """Outcome of a program: page accesses, faults, elapsed and CPU seconds."""

    touches: int
    seconds: float
    faults: int
    busy: float

    @property
    def rate(self) -> float:
        """Page accesses per second."""
        return self.touches / self.seconds

    @property
    def wait_us(self) -> float:
        """Mean time per fault, us."""
        return 1e6 * (self.seconds - self.busy) / max(1, self.faults)


def refused() -> str:
    """Reason why swapping is impossible here; empty if it is possible."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "swapping on a served device needs root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        return "this system has no FUSE or no loop devices"
    if not any((GROUPS / name).exists() for name in ("memory", "cgroup.controllers")):
        return "this system has no control groups of memory"
    return ""


def rows() -> list[Row]:
    """Rows of the program on each served device, or the reason for their absence."""
    why = refused()
    if why:
        return [Row("live: a program that swaps, touches/s", None, None, note=why)]
    try:
        ran = {name: swap(device) for name, device in DEVICES.items()}
    except (OSError, subprocess.CalledProcessError) as error:
        note = f"the system refuses: {error}"
        return [Row("live: a program that swaps, touches/s", None, None, note=note)]
    return shown(ran)


def shown(ran: Mapping[str, Ran]) -> list[Row]:
    """Outcomes of the programs, in wall-clock time, hence without verdicts."""
    import ssdlab

    found = [Row(f"live, on {name}: touches/s", None, it.rate) for name, it in ran.items()]
    flash, disk = ran["flash"], ran["disk"]
    found.append(
        Row(
            "live: flash / disk",
            None,
            flash.rate / disk.rate,
            note=f"{flash.faults:,} and {disk.faults:,} page faults",
        )
    )
    workload = {
        "kind": "paging",
        "threads": 1,
        "working_set": f"{WORKING_SET}B",
        "memory": f"{MEMORY}B",
        "touches": 20_000,
        "compute": "1us",
        "read_ahead": 1,
        "load": False,
    }
    device = {"preset": DEVICES["flash"], "size": f"{SPACE}B"}
    results = ssdlab.run(device=device, workload=workload)
    counts: dict[str, Any] = results.to_dict()["workload"]["notices"]
    wait = counts["paging_wait_ns"] / counts["paging_faults"] / 1e3
    found.append(
        Row(
            "live, on flash: wait for a page, us",
            wait,
            flash.wait_us,
            note="beside it the workload paging on that device; the machine adds to it",
        )
    )
    return found


def swap(device: str) -> Ran:
    """The program, swapping on a served device."""
    import ssdlab

    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mount = directory / "mount"
        mount.mkdir()
        # The server must not wait for memory swapped to its own device.
        stack.enter_context(ssdlab.serve(device, mount=mount, size=f"{SPACE}B", realtime=True))
        disk = mount / "disk"
        _do("mkswap", str(disk))
        loop = _do("losetup", "--direct-io=on", "--find", "--show", str(disk)).strip()
        stack.callback(_do, "losetup", "-d", loop)
        _do("swapon", "--priority", "100", loop)
        stack.callback(_do, "swapoff", loop)
        group = stack.enter_context(_group(MEMORY))
        code = f"import os; open({str(group)!r}, 'w').write(str(os.getpid()))\n{PROGRAM}"
        done = _do(sys.executable, "-I", "-S", "-c", code)
    return Ran(**json.loads(done))


@contextmanager
def _group(limit: int) -> Iterator[Path]:
    """A control group with a memory limit: the file into which a process writes its PID."""
    first = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if first else GROUPS) / f"ssdlab-{os.getpid()}"
    group.mkdir()
    try:
        limits = "memory.limit_in_bytes" if first else "memory.max"
        (group / limits).write_text(str(limit))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def _do(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout
