"""TOML parser: the standard library's from Python 3.11 on, else a replacement."""

from __future__ import annotations

import sys
from typing import Any

from ssdlab._core import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def parse(source: str, text: str) -> dict[str, Any]:
    """The tables of `text`. Raises `InputError`, which names `source`, if it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not TOML: {error}") from None
