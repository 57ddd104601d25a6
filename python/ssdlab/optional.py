"""Optional libraries: each belongs to an extra of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ssdlab._core import InputError

#: The extra that installs a library.
EXTRAS = {
    "distributed": "dask",
    "matplotlib": "plot",
    "numpy": "pandas",
    "optuna": "search",
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "arrow",
}


def required(library: str, what: str) -> Any:
    """The module `library`; otherwise an `InputError` with its purpose and install command."""
    try:
        return import_module(library)
    except ImportError:
        name = library.partition(".")[0]
        line = f"pip install 'ssdlab[{EXTRAS[name]}]'"
        raise InputError(f"{what} needs {name}: {line}") from None
