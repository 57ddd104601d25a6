"""Scenes: an experiment, the changes of a second drive beside it, and the speed.

A scene is a TOML file of `scenes/`: an experiment, whose leading comment is its summary, and a
table `[view]`: `beside`, the differing keys of a second drive; `colour`; `speed`, simulated seconds
per second of playing; `from`, simulated seconds before the first frame; `questions`, three for a
class.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

from ssdlab import layers, toml

#: The default scene.
DEFAULT = "cleaning"
COLOURS = ("valid", "erases", "stream", "age")


class Scene(NamedTuple):
    """A scene."""

    stack: list[layers.Layer]
    """The experiment."""
    beside: Mapping[str, Any] | None = None
    """Differing keys of a second drive, if any."""
    colour: str = "valid"
    """Property that colours the blocks."""
    speed: float | None = None
    """Simulated seconds per second of playing; None for an automatic speed."""
    start: float = 0.0
    """Simulated seconds before the first frame."""
    title: str = ""
    """Title, in a line."""
    questions: tuple[str, ...] = ()
    """Questions for a class, to answer from the view."""


def names() -> dict[str, str]:
    """All scenes with their summaries."""
    found = (resources.files("ssdlab.viewing") / "scenes").iterdir()
    paths = sorted(it.name for it in found if it.name.endswith(".toml"))
    return {path.removesuffix(".toml"): _summary(_text(path)) for path in paths}


def is_name(word: str) -> bool:
    """True if a scene has that name."""
    return word in names()


def scene(name: str) -> Scene:
    """The scene of that name."""
    text = _text(f"{name}.toml")
    table = toml.parse(f"scene {name}", text)
    view = table.pop("view", {})
    return Scene(
        layers.from_mapping(f"scene {name}", table),
        beside=view.get("beside"),
        colour=view.get("colour", "valid"),
        speed=view.get("speed"),
        start=view.get("from", 0.0),
        title=_summary(text),
        questions=tuple(view.get("questions", ())),
    )


def _text(path: str) -> str:
    return (resources.files("ssdlab.viewing") / "scenes" / path).read_text(encoding="utf-8")


def _summary(text: str) -> str:
    lines = text.splitlines()
    head = lines[: next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)]
    return " ".join(line.lstrip("# ").strip() for line in head)
