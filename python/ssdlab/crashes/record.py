"""A recorded run of an application on the live device."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import click

from ssdlab import layers
from ssdlab._core import InputError
from ssdlab.crashes import EXT4, NBD, apps, namespace
from ssdlab.crashes.content import Promise, bytes_of, promise_of
from ssdlab.crashes.recording import Recording
from ssdlab.live import LOOPBACK, LiveDevice, serve_layers
from ssdlab.running import Experiment

PACKAGES = Path(__file__).resolve().parents[2]
SHARED_MEMORY = Path("/dev/shm")
RECORDING, INITIAL, FACTS = "recording", "initial.img", "crash.json"
FORMAT = 1


@dataclass(frozen=True)
class Case:
    """The application to test, and the device."""

    stack: list[layers.Layer]
    place: str
    size: str
    run: str
    check: str | None
    """A shell command; or else the application `app` checks."""
    setup: str | None = None
    app: str | None = None


@dataclass
class Recorded:
    """A recorded run, with the facts that its judges need."""

    directory: Path
    device: str
    place: str
    check: str | None
    app: str | None
    promise: Promise
    first: int
    """Number of events before the application's start."""
    last: int
    """Number of events at its end."""
    lines: list[str]
    """Printed lines."""
    stamps: list[int]
    """Number of events when each line appeared."""
    seconds: float

    @property
    def recording(self) -> Recording:
        """All recorded events."""
        return Recording(self.directory / RECORDING)

    def keep(self, directory: Path) -> None:
        """Move it to its final place."""
        for name in (RECORDING, INITIAL):
            namespace.copy(self.directory / name, directory / name)
        self.directory = directory
        facts = asdict(self) | {"format": FORMAT}
        del facts["directory"]
        (directory / FACTS).write_text(json.dumps(facts, indent=1) + "\n")

    @classmethod
    def load(cls, directory: Path) -> Recorded:
        """The recording that `keep` moved there."""
        try:
            facts = json.loads((directory / FACTS).read_text())
        except (OSError, ValueError) as error:
            problem = f"--recorded {directory}: not a recording written by --keep: {error}"
            raise InputError(problem) from None
        if facts.pop("format", None) != FORMAT:
            raise InputError(f"--recorded {directory}: written by another version of ssdlab")
        return cls(directory=directory, **facts | {"promise": Promise(*facts["promise"])})


def app_command(action: str, spec: str) -> str:
    """The command that prepares or runs an application."""
    words = ["env", f"PYTHONPATH={PACKAGES}", sys.executable, "-m", "ssdlab.crashes.apps"]
    return shlex.join([*words, action, spec])


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory for images: in `$TMPDIR`, else in shared memory if available."""
    parent = os.environ.get("TMPDIR") or (SHARED_MEMORY if SHARED_MEMORY.is_dir() else None)
    directory = Path(tempfile.mkdtemp(prefix="ssdlab-crash-", dir=parent))
    directory.chmod(0o755)  # databases run as another user
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def record(case: Case, work: Path, say: Callable[[str], None]) -> Recorded:
    """Make the file system, prepare the application, and record its run."""
    experiment = Experiment._from_layers(case.stack)
    facts = experiment.to_dict()
    initial, served = work / INITIAL, work / "served"
    size = _size(case.size)
    with open(initial, "wb") as file:
        file.truncate(size)
    if case.place == EXT4:
        say("make the file system")
        try:
            namespace.call("mkfs.ext4", "-q", "-F", "-E", "nodiscard", str(initial))
        except RuntimeError as error:
            raise click.ClickException(f"--size {case.size}: {error}") from None
    if case.setup is not None:
        say("set up")
        with Stage(case, case.setup, work, initial, None) as stage:
            stage.perform(lambda: 0)
    namespace.copy(initial, served)
    say("record")
    began = time.monotonic()
    live = _serve(case, work, served, size, work / RECORDING)
    try:
        with Stage(case, case.run, work, served, live.uri) as stage:
            first, last = stage.perform(lambda: live.events() or 0)
    finally:
        live.stop()
    served.unlink()
    return Recorded(
        directory=work,
        device=facts["title"].split(" under ")[0],
        place=case.place,
        check=case.check,
        app=case.app,
        promise=promise_of(facts["device"]),
        first=first,
        last=last,
        lines=stage.lines,
        stamps=stage.stamps,
        seconds=time.monotonic() - began,
    )


def _size(text: str) -> int:
    try:
        size = bytes_of(text)
    except ValueError:
        size = 0
    if size < 1 << 20 or size % 4096:
        raise InputError(f"--size {text}: a size such as 64MiB, at least 1MiB, in whole 4KiB")
    return size


def serve_again(case: Case, work: Path, served: Path) -> LiveDevice:
    """Serve the content of the file `served`; nothing is recorded."""
    return _serve(case, work, served, served.stat().st_size, None)


def _serve(case: Case, work: Path, served: Path, size: int, recording: Path | None) -> LiveDevice:
    try:
        return serve_layers(
            case.stack,
            socket=work / "socket",
            port=None,
            host=LOOPBACK,
            allow_remote=False,
            size=f"{size}B",
            backing=served,
            record=None,
            record_data=recording,
            time_scale=1.0,
            realtime=False,
        )
    except OSError as error:
        raise click.ClickException(str(error)) from None


class CommandFailed(click.ClickException):
    """The command ended with a status above 0."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Stage:
    """A running command: its place, its output lines, and the number of events at each."""

    def __init__(self, case: Case, command: str, work: Path, image: Path, uri: str | None) -> None:
        self.lines: list[str] = []
        self.stamps: list[int] = []
        self._command = command
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        reader, writer = os.pipe()
        self._output = os.fdopen(reader, errors="replace")
        options: dict[str, Any] = {"stderr": self._errors, "pass_fds": (writer,)}
        self._process: subprocess.Popen[str] | None = None
        try:
            if case.place == NBD:
                variables = {"uri": uri or "", "dev": str(image), "tmp": str(work), "dir": ""}
                self._plain = subprocess.Popen(
                    command,
                    shell=True,
                    env=namespace.environment(**variables),
                    cwd=work,
                    stdin=subprocess.DEVNULL,
                    stdout=writer,
                    stderr=self._errors,
                    start_new_session=True,
                )
                return
            task: dict[str, Any] = {"work": str(work), "image": str(image), "uri": uri}
            task |= {"place": case.place, "command": command, "output": writer}
            words = ("ssdlab.crashes.stage", json.dumps(task))
            self._process = namespace.start(*words, **options)
        finally:
            os.close(writer)

    def perform(self, events: Callable[[], int]) -> tuple[int, int]:
        """Run it; returns the numbers of events before it and at its end."""
        if self._process is not None:
            self._hear("ready")
        first = events()
        listener = threading.Thread(target=self._listen, args=(events,), daemon=True)
        listener.start()
        if self._process is None:
            status = self._plain.wait()
        else:
            assert self._process.stdin is not None
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            status = int(self._hear("ran"))
        last = events()
        if status:
            listener.join(timeout=10)
            # Do not wait for the process: it may still hold resources.
            problem = f"the command ended with status {status}: {self._command}"
            raise CommandFailed(f"{problem}\n{self._complaint()}", status)
        if self._process is not None:
            self._hear("done")
        listener.join(timeout=10)
        return first, last

    def last_line(self) -> str:
        """Last line of the output, or of the errors."""
        return self.lines[-1] if self.lines else self._complaint().rpartition("\n")[2]

    def _listen(self, events: Callable[[], int]) -> None:
        """Stamp each line with the number of events once it is read, never with an earlier one."""
        for line in self._output:
            self.stamps.append(events())
            self.lines.append(line.rstrip("\n"))

    def _hear(self, word: str) -> str:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        stated, _, remainder = line.strip().partition(" ")
        if stated != word:
            problem = remainder if stated == "failed" else "the process of the application ended"
            raise click.ClickException(f"{problem}\n{self._complaint()}".strip())
        return remainder

    def _complaint(self) -> str:
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-10:])

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            namespace.end(self._process)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._plain.pid, 9)
            self._plain.wait()
        self._output.close()
        self._errors.close()


def case_of_app(spec: str, stack: list[layers.Layer], size: str | None) -> Case:
    """The case of a built-in application."""
    app, _ = apps.load(spec)
    return Case(
        stack=stack,
        place=app.place,
        size=size or app.size,
        run=app_command("run", spec),
        check=None,
        setup=app_command("setup", spec) if app.setup is not None else None,
        app=spec,
    )
