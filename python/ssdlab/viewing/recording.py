"""A run as one file that plays without ssdlab: the page with its frames."""

from __future__ import annotations

from pathlib import Path

from ssdlab import delivery, forms, layers, readable
from ssdlab._core import InputError
from ssdlab.viewing import document
from ssdlab.viewing.scenes import Scene
from ssdlab.viewing.sessions import Session, heads

MOST_FRAMES = 3600
FRAMES_PER_SECOND = 30
#: Maximum bytes of frames before compression, which saves about two thirds.
MOST_BYTES = 24 * 2**20
#: Simulated seconds per second of playing, unless the scene states it.
SPEED = 0.1
#: Number of frames requested at a time.
AT_ONCE = 60


def write(
    scene: Scene,
    path: Path,
    *,
    start: str | None,
    last: str | None,
    frames: int,
    force: bool = False,
) -> str:
    """Write a recording of a scene to `path`; returns a sentence on its content."""
    begin = scene.start if start is None else _seconds("--start", start)
    span = frames / FRAMES_PER_SECOND * (scene.speed or SPEED)
    span = span if last is None else _seconds("--last", last)
    if span <= 0:
        raise InputError(f"--last {last}: a recording takes some time, such as 500ms or 2s")
    step = max(1, round(span * 1e9 / frames))
    scene = scene._replace(start=begin)
    session = Session(scene, [{}, {}] if scene.beside else [{}], {})
    try:
        stored, is_cut = _frames(session, step, frames)
        told = heads(stored[0])[session.begins_at :]
        requests = sum(sum(head["n"]) for head in told[1:])
        words = (
            f"{len(told)} frames of {_time(step)}: {readable.count(requests)} requests in "
            f"{_time(told[-1]['t'] - told[0]['t'])} of simulated time"
        )
        stated = session.said() | {
            "kept": f"A recording of {words}.",
            "frames_per_second": FRAMES_PER_SECOND,
        }
    finally:
        session.stop()
    text = document.recording(stated, stored).encode()
    delivery.write(path, text, forms.RECORDING, force=force)
    cut = (
        f"; it ends there, because a recording has at most {MOST_BYTES >> 20} MiB of frames"
        if is_cut
        else ""
    )
    return f"{path}: {len(text) / 1e6:.2f} MB, {words}{cut}"


def _frames(session: Session, step: int, frames: int) -> tuple[list[bytes], bool]:
    """The frames of each drive, and True if more were omitted."""
    for drive in session.drives:
        while not drive.is_ready(0.5):
            pass
    stored = session.first()
    left = frames - 1
    while left > 0 and not all(drive.is_over for drive in session.drives):
        count = min(AT_ONCE, left)
        stored = [a + b for a, b in zip(stored, session.frames(step, count), strict=True)]
        left -= count
        if sum(map(len, stored)) > MOST_BYTES:
            return stored, left > 0
    return stored, False


def _seconds(option: str, text: str) -> float:
    """A duration of the command line, in the syntax of keys."""
    import json

    from ssdlab import _core

    stack = layers.from_assignments({"run.warm_up": text})
    try:
        found = json.loads(_core.resolve_json(stack))["run"]["warm_up"]
    except InputError:
        raise InputError(f"{option} {text}: a duration is needed, such as 500ms or 2s") from None
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    unit = next(it for it in ("ns", "us", "ms", "min", "h", "s") if str(found).endswith(it))
    return float(str(found).removesuffix(unit)) * units[unit]


def _time(ns: float) -> str:
    return readable.time(ns / 1e3)
