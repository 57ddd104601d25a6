"""A live device for hours under three clients and a script of faults: `make soak HOURS=24`.

A client of NBD, one of the mounted file and a guest each write a third of the device, read it
back, and come anew after a while; pages and orders are asked for beside them. At the end it
prints memory, descriptors, threads and wear as they were after the first minute and as they are,
and fails where the server holds more than then, or a client read what it had not written.
"""

import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).with_name("support")))

import guest
import short_client

from ssdlab import control

BLOCK, BLOCKS = 4096, 2048
SHARE = BLOCK * BLOCKS
CYCLE_SECONDS = 60
FAULTS = (
    (5, "latency add 2ms p=0.01"),
    (10, "fail flush 1"),
    (15, "fail write all rate=0.01"),
    (20, "fail read all 3"),
    (25, "reset"),
    (30, "stall 300ms"),
    (35, "cut off 200ms"),
    (40, "slow 2"),
    (50, "reset"),
)
SETTLED_SECONDS = 60
#: What the server may hold more than after the first minute.
MORE = {"memory, MiB": 64, "descriptors": 3, "threads": 3}


class OverNbd:
    """The Unix socket."""

    def __init__(self, place):
        self._client = short_client.Client(place / "socket")

    def write(self, offset, data):
        self._client.write(offset, data)

    def read(self, offset):
        return self._client.read(offset, BLOCK)

    def flush(self):
        self._client.ask(short_client.FLUSH)

    def close(self):
        self._client.socket.close()


class OverFile:
    """The mounted file."""

    def __init__(self, place):
        self._file = os.open(place / "file/disk", os.O_RDWR)

    def write(self, offset, data):
        os.pwrite(self._file, data, offset)

    def read(self, offset):
        return os.pread(self._file, BLOCK, offset)

    def flush(self):
        os.fsync(self._file)

    def close(self):
        os.close(self._file)


class OverGuest:
    """The disk of a virtual machine."""

    def __init__(self, place):
        self._guest = guest.Guest(place / "vhost")

    def write(self, offset, data):
        self._guest.ask(guest.OUT, offset, data)

    def read(self, offset):
        return self._guest.ask(guest.IN, offset, length=BLOCK)

    def flush(self):
        self._guest.ask(guest.FLUSH)

    def close(self):
        self._guest.close()


class User(threading.Thread):
    """A client with a part of the device to itself."""

    def __init__(self, kind, place, number, until):
        super().__init__(name=kind.__name__)
        self._kind, self._place, self._until = kind, place, until
        self._first, self._random = number * SHARE, random.Random(number)
        self._holds = {}
        self.requests = self.failed = self.came = 0
        self.wrong = None

    def run(self):
        while time.monotonic() < self._until and self.wrong is None:
            try:
                door = self._kind(self._place)
            except (OSError, AssertionError):
                # The power is off.
                time.sleep(0.1)
                continue
            self.came += 1
            try:
                self._use(door)
            except (ConnectionError, AssertionError):
                self.failed += 1
            finally:
                door.close()

    def _use(self, door):
        for _ in range(self._random.randint(20, 400)):
            block, what = self._random.randrange(BLOCKS), self._random.random()
            offset = self._first + block * BLOCK
            self.requests += 1
            try:
                if what < 0.5:
                    held = self._holds.pop(block, None)
                    data = self._random.randbytes(8) * (BLOCK // 8)
                    door.write(offset, data)
                    self._holds[block] = data
                elif what < 0.95:
                    held = self._holds.get(block)
                    found = door.read(offset)
                    if held is not None and bytes(found) != held:
                        self.wrong = f"{self.name}: block {block} is not what was written"
                        return
                else:
                    door.flush()
            except (ConnectionError, AssertionError):
                raise
            except OSError:
                self.failed += 1
            time.sleep(0.001)


def held(server):
    """What the server holds."""
    with open(f"/proc/{server.pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {
        "memory, MiB": int(fields["VmRSS"].split()[0]) / 1024,
        "descriptors": len(os.listdir(f"/proc/{server.pid}/fd")),
        "threads": int(fields["Threads"]),
    }


def worn(place):
    """The wear and the work of the drive."""
    counts, health = (
        control.order(place / "control", "counts"),
        control.order(place / "control", "health"),
    )
    return flat(counts) | flat(health)


def flat(value, name=""):
    """The numbers of a tree by their paths."""
    if isinstance(value, dict):
        return {
            k: v
            for key, it in value.items()
            for k, v in flat(it, f"{name}.{key}".strip(".")).items()
        }
    return {name: value} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


@contextlib.contextmanager
def serving(place, seconds):
    """The server, and the address of its page."""
    (place / "file").mkdir()
    lines = [
        f"{cycle + at}s {order}"
        for cycle in range(0, int(seconds), CYCLE_SECONDS)
        for at, order in FAULTS
    ]
    (place / "faults").write_text("\n".join(lines) + "\n")
    settings = (
        "device.blocks_per_plane=16",
        "device.persistence.recovery=summary",
        "run.precondition=random:1",
    )
    words = [sys.executable, "-m", "ssdlab", "serve", "agrawal2008", "--size", f"{3 * SHARE}B"]
    words += [word for setting in settings for word in ("--set", setting)]
    words += [
        "--socket",
        place / "socket",
        "--mount",
        place / "file",
        "--vhost-user",
        place / "vhost",
    ]
    words += [
        "--backing",
        place / "data",
        "--control",
        place / "control",
        "--script",
        place / "faults",
    ]
    words += ["--watch", "0"]
    with open(place / "said", "w+") as said:
        server = subprocess.Popen(list(map(str, words)), stdout=said, stderr=said, cwd=place)
        try:
            url = None
            for _ in range(600):
                found = re.search(r"http://127\.0\.0\.1:\d+/", (place / "said").read_text())
                if found or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert found, (place / "said").read_text()
            url = found[0]
            yield server, url
        finally:
            server.terminate()
            server.wait(timeout=120)
            print((place / "said").read_text()[-1500:])


def main(hours):
    seconds = hours * 3600
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        place = Path(directory)
        with serving(place, seconds) as (server, url):
            until = time.monotonic() + seconds
            users = [
                User(kind, place, number, until)
                for number, kind in enumerate((OverNbd, OverFile, OverGuest))
            ]
            for user in users:
                user.start()
            settled = time.monotonic() + min(SETTLED_SECONDS, seconds / 3)
            first = None
            while time.monotonic() < until and not any(user.wrong for user in users):
                time.sleep(0.5)
                with contextlib.suppress(OSError, ValueError):
                    urllib.request.urlopen(url + "state", timeout=30).read()
                    control.order(place / "control", "stats")
                if first is None and time.monotonic() > settled:
                    first = held(server), worn(place)
            for user in users:
                user.join()
            # Connections that have just closed are gone a moment later.
            time.sleep(25)
            last = held(server), worn(place)
    return report(users, first, last)


def report(users, first, last):
    """Prints the tables; the exit status."""
    print(f"{'client':<12}{'connections':>14}{'requests':>14}{'failed':>14}")
    for user in users:
        print(f"{user.name:<12}{user.came:>14,}{user.requests:>14,}{user.failed:>14,}")
    print(f"\n{'':<44}{'at first':>14}{'at the end':>14}")
    for part in range(2):
        for name, value in last[part].items():
            if part == 0 or "erase" in name or "wear" in name or "life" in name:
                print(f"{name:<44}{first[part].get(name, 0):>14,.6g}{value:>14,.6g}")
    wrong = [user.wrong for user in users if user.wrong]
    grown = [name for name, most in MORE.items() if last[0][name] > first[0][name] + most]
    for problem in [*wrong, *(f"{name}: grown" for name in grown)]:
        print(problem)
    return 1 if wrong or grown else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.05))
