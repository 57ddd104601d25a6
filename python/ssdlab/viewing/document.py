"""The page as one document: its parts, and optionally a recording."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from ssdlab.charts.style import PALETTE_STYLE

#: Parts in order: each uses definitions of its predecessors.
SCRIPTS = ("format.js", "frames.js", "map.js", "strips.js", "source.js", "controls.js", "app.js")


@cache
def _text(name: str) -> str:
    return (resources.files("ssdlab.viewing") / "page" / name).read_text(encoding="utf-8")


def document(recorded: str = "") -> str:
    """The page; `recorded` is inserted at the place of a recording."""
    script = "'use strict';\n" + "\n".join(_text(name) for name in SCRIPTS)
    parts = {
        "style": PALETTE_STYLE + _text("page.css"),
        "script": script,
        "recorded": recorded,
        "policy": _policy(script) if recorded else "",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda it: parts[it[1]], _text("page.html"))


def recording(said: Mapping[str, Any], frames: Sequence[bytes]) -> str:
    """A page that contains the frames of each drive, and needs no server."""
    told = json.dumps(said).replace("<", "\\u003c")
    packed = "".join(
        f'<script type="text/plain" class="frames">{_packed(it)}</script>\n' for it in frames
    )
    return document(f'<script type="application/json" id="said">{told}</script>\n{packed}')


def _packed(frames: bytes) -> str:
    return base64.b64encode(zlib.compress(frames, 9)).decode()


def _policy(script: str) -> str:
    """A file has no server to set its policy, so it contains one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    policy = f"default-src 'none'; {allowed}"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
