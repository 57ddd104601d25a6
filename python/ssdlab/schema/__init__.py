"""The JSON Schema of experiment files, for completion and checks in editors."""

from __future__ import annotations

from ssdlab import _core


def text() -> str:
    """The schema, in the draft 2020-12, as JSON text that ends with a line break."""
    return _core.experiment_schema() + "\n"
