"""The command line in this process: a program of its own imports for longer than most of what is
asked of it takes.

It sees what a process would: its directory, its environment, and standard streams with descriptors
that what it starts inherits. All of it is as it was afterwards.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import ExitStack, contextmanager

from ssdlab import cli

#: What Python reads only when it starts, so that another value needs another process.
AT_START = ("PATH", "PYTHON", "TMPDIR", "LD_", "LC_", "LANG")


def can(env=None, cwd=None, timeout=None, text=True, **others):
    """Whether these arguments of `subprocess.run` need no process."""
    ours = os.environ if env is None else env
    changed = {name for name in {*ours, *os.environ} if ours.get(name) != os.environ.get(name)}
    return (
        not others
        and not any(name.startswith(AT_START) for name in changed)
        and threading.current_thread() is threading.main_thread()
    )


def run(words, cwd, env=None, timeout=None, text=True):
    """What `subprocess.run` would return for the command line with these words."""
    with ExitStack() as stack:
        stack.enter_context(_directory(cwd))
        stack.enter_context(_environment(os.environ if env is None else env))
        stack.enter_context(_nothing_to_read())
        output = stack.enter_context(_stream("stdout", 1, "strict"))
        errors = stack.enter_context(_stream("stderr", 2, "backslashreplace"))
        stack.enter_context(_ends_in_time(words, timeout))
        status = _status(words)
        printed = [read() for read in (output, errors)]
    if text:
        printed = [it.decode().replace("\r\n", "\n").replace("\r", "\n") for it in printed]
    return subprocess.CompletedProcess(words, status, *printed)


def _status(words):
    try:
        return cli.main(words) or 0
    except SystemExit as end:
        return end.code or 0
    except subprocess.TimeoutExpired:
        raise
    except BaseException:
        traceback.print_exc()
        return 1


@contextmanager
def _directory(path):
    before, paths = os.getcwd(), [*sys.path]
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = paths


@contextmanager
def _environment(variables):
    before = dict(os.environ)
    if variables is not os.environ:
        os.environ.clear()
        os.environ.update({name: os.fspath(value) for name, value in variables.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _nothing_to_read():
    before = sys.stdin
    with open(os.devnull) as sys.stdin:
        try:
            yield
        finally:
            sys.stdin = before


@contextmanager
def _stream(name, number, on_error):
    """A file behind a standard stream and its descriptor; what reads all that was printed there."""
    before, kept = getattr(sys, name), os.dup(number)
    before.flush()
    with (
        tempfile.TemporaryFile() as file,
        open(number, "w", encoding="utf-8", errors=on_error, closefd=False) as stream,
    ):
        os.dup2(file.fileno(), number)
        setattr(sys, name, stream)

        def printed():
            stream.flush()
            file.seek(0)
            return file.read()

        try:
            yield printed
        finally:
            stream.flush()
            setattr(sys, name, before)
            os.dup2(kept, number)
            os.close(kept)


@contextmanager
def _ends_in_time(words, seconds):
    def too_late(*_):
        raise subprocess.TimeoutExpired(words, seconds)

    before = signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
