"""`--export NAME=DEVICE,...` of `ssdlab serve`: the options of one drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ssdlab import layers, sources
from ssdlab._core import InputError
from ssdlab.live import roles
from ssdlab.live.exports import Room, describe
from ssdlab.running.stack import above

#: Options of an export; keys of its experiment contain a dot.
WORDS = (
    "size",
    "backing",
    "record",
    "control",
    "script",
    "overhead",
    "namespaces",
    "seed",
    "description",
)
FLAGS = ("read-only",)


def room_of(
    text: str,
    assignments: Sequence[str],
    seed: int | None,
    settings: dict[str, Any],
    allow_code: bool,
) -> Room:
    """The device of one `--export`; its values override the common ones.

    A doubled comma stands for a comma within a value. Raises `InputError` for invalid text.
    """
    first, *pieces = (it.replace("\0", ",") for it in text.replace(",,", "\0").split(","))
    name, _, device = first.partition("=")
    if not name or not device:
        raise InputError(f'--export {text}: write NAME=DEVICE first, such as "fast=tlc-client"')
    settings = dict(settings)
    own: list[str] = []
    script, description = None, describe(device)
    keys: set[str] = set()
    for piece in pieces:
        key, has_value, value = piece.partition("=")
        if key in keys:
            raise InputError(f"--export {name}: {key} is said twice")
        keys.add(key)
        if key in FLAGS and not has_value:
            settings["read_only"] = True
        elif "." in key and value:
            own.append(piece)
        elif key not in WORDS or not value:
            raise InputError(
                f'--export {name}: "{piece}" is no KEY=VALUE of an export; the keys are '
                f"{', '.join(WORDS)}, the flag {', '.join(FLAGS)}, and keys as for --set"
            )
        elif key == "seed":
            if not value.isdecimal():
                raise InputError(f'--export {name}: seed "{value}" is not a whole number')
            seed = int(value)
        elif key == "script":
            script = value
        elif key == "description":
            description = value
        else:
            settings[key] = value
    roles.refuse_record(settings["record"])
    # Options of an export override the common ones.
    stated = {piece.partition("=")[0].strip() for piece in own}
    remainder = [it for it in assignments if it.partition("=")[0].strip() not in stated]
    stack = [sources.from_name("device", device), *above([*remainder, *own], seed)]
    if script is not None:
        stack += layers.from_mapping(f"--export {name}, script", {"run": {"faults": script}})
    return Room(name, description, layers.permitting(stack) if allow_code else stack, settings)


def variable(name: str) -> str:
    """Environment variable with the URI of an export, for `--run`."""
    return "uri_" + "".join(it if it.isalnum() and it.isascii() else "_" for it in name)
