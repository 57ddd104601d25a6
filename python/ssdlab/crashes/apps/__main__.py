"""Prepares or runs an application where `$dir`, `$dev` and `$tmp` say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ssdlab.crashes.apps import Place, load


def main(action: str, spec: str) -> None:
    """Do as the command line says."""
    app, settings = load(spec)
    place = Place(*(Path(os.environ[name]) for name in ("dir", "dev", "tmp")))
    if action == "run":
        app.run(place, settings)
    elif app.setup is not None:
        app.setup(place, settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
