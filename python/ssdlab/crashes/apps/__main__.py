"""Prepares or runs an application on the place in `$dir`, `$dev` and `$tmp`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ssdlab.crashes.apps import Place, check_damaged, load


def main(action: str, spec: str) -> int:
    """Execute the command line; the exit status."""
    app, settings = load(spec)
    position = Place(*(Path(os.environ[name]) for name in ("dir", "dev", "tmp")))
    if action == "damaged":
        return check_damaged(spec, position, (position.tmp / "acked").read_text().splitlines())
    if action == "run":
        app.run(position, settings)
    elif app.setup is not None:
        app.setup(position, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
