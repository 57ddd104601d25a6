"""`ssdlab` as a reader of a page calls it: runs are short, and servers are left running.

Tests of the pages put it on the path. `SSDLAB_REQUESTS` cuts runs. A `serve` or `view` that has no
end runs on when this program ends, which it does once the server is reached; the one before it ends
first, as by Ctrl-C. The file `SSDLAB_SERVERS` has its number.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = [sys.executable, "-m", "ssdlab"]
#: Seconds until a server is reached, or has ended.
PATIENCE = 60


def short(words, requests):
    """A run with few requests; drives that settle before it are overwritten once."""
    few = f"workload.requests={requests}"
    words = [few if word.startswith("workload.requests=") else word for word in words]
    words += [] if few in words else ["--set", few]
    once = "run.precondition=random:1"
    return [once if word == "run.precondition=steady" else word for word in words]


def serves(words):
    """Whether a command serves until it is stopped."""
    if words[:1] == ["view"]:
        return "--record" not in words
    ends = words[1:2] in (["ctl"], ["overhead"]) or {"--run", "--help"} & {*words}
    return words[:1] == ["serve"] and not ends


def reached(words, said):
    """Whether a server with these options accepts clients."""
    if words[0] == "view":
        return "http://" in said.read_text()
    for option, value in zip(words, words[1:], strict=False):
        if option == "--mount" and not Path(value, "disk").exists():
            return False
        if option in ("--socket", "--control", "--vhost-user") and not Path(value).exists():
            return False
        if option in ("--port", "--nvme", "--watch"):
            with socket.socket() as it:
                if it.connect_ex(("127.0.0.1", int(value.rpartition(":")[2]))):
                    return False
    return True


def stop(numbers):
    """End the servers of a file, and wait for their results."""
    for number in numbers.read_text().split() if numbers.exists() else ():
        try:
            os.kill(int(number), signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                os.kill(int(number), 0)
                time.sleep(0.02)
        except ProcessLookupError:
            continue
    numbers.write_text("")


def serve(words, numbers):
    """Start a server, and end once it is reached."""
    stop(numbers)
    said = numbers.with_suffix(".said")
    words += ["--no-browser"] if words[0] == "view" else []
    with open(said, "w") as file:
        started = subprocess.Popen([*PROGRAM, *words], stdout=file, stderr=file)
    numbers.write_text(str(started.pid))
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not reached(words, said):
        if started.poll() is not None:
            sys.exit(said.read_text())
        time.sleep(0.02)
    os._exit(0)


if __name__ == "__main__":
    given = sys.argv[1:]
    if serves(given):
        serve(given, Path(os.environ["SSDLAB_SERVERS"]))
    if given[:1] in (["run"], ["sweep"]) and "SSDLAB_REQUESTS" in os.environ:
        given = short(given, os.environ["SSDLAB_REQUESTS"])
    os.execv(sys.executable, [*PROGRAM, *given])
