"""Orders to a live device through its control socket: one line sent, one JSON line returned."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from ssdlab._core import InputError

__all__ = ["order", "patiently"]

#: End of an answer to retry.
LATER = "ask again when it rests"
LOOK_SECONDS = 0.2


def order(path: str | os.PathLike[str], line: str, patience: float = 10.0) -> dict[str, Any]:
    """Send one line to the control socket `path` of a live device; the answer.

    Orders that need an idle drive (`save`, `age`) are retried for `patience` seconds. An answer
    with the key "error" says why nothing was done. Raises `InputError` if no server listens.
    """
    return patiently(lambda line: _ask(os.fspath(path), line), line, patience)


def patiently(
    say: Callable[[str], str | None], line: str, patience: float = 10.0
) -> dict[str, Any]:
    """Send a line by `say`, retrying until the drive is idle; returns the answer.

    Raises `InputError` if `say` returns None: the device has ended.
    """
    if "\n" in line:
        raise InputError(f"{line!r}: an order is one line")
    until = time.monotonic() + patience
    while True:
        text = say(line)
        if text is None:
            raise InputError("the server has ended")
        answer: dict[str, Any] = json.loads(text)
        if not str(answer.get("error", "")).endswith(LATER) or time.monotonic() > until:
            return answer
        time.sleep(LOOK_SECONDS)


def _ask(path: str, line: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(path)
            with contextlib.suppress(BrokenPipeError):
                # The server may send a refused client the reason before the client sends anything.
                link.sendall(line.encode() + b"\n")
            with link.makefile() as answers:
                text = answers.readline()
    except OSError as error:
        raise InputError(f"{path}: no live device listens there: {error.strerror}") from None
    if not text:
        raise InputError(f"{path}: the live device hung up")
    return text
