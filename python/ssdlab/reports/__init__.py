"""Reports: results, several results or a sweep as one web page that needs no network.

A page works without script; its script adds a cross-hair and zoom.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ssdlab import delivery, files, forms, reading
from ssdlab._core import InputError
from ssdlab.reports import runs
from ssdlab.reports import sweep_page as of_sweep
from ssdlab.results import Results
from ssdlab.sweeps.result import Sweep

#: The input of a report: results, a sweep, or the path of either.
Source = Results | Sweep | str | os.PathLike[str]


def report(
    results: Source | Sequence[Source],
    path: str | os.PathLike[str],
    *,
    minimize: str | Iterable[str] = (),
    maximize: str | Iterable[str] = (),
    force: bool = False,
) -> None:
    """Write a report of one or more results, or of a sweep, to the HTML file `path`.

    `results` are `Results`, their file or the directory of `ssdlab run --out`; or a `Sweep` or its
    .jsonl file. `minimize` and `maximize` are the metrics of a sweep to draw, instead of its own
    objectives. Raises `InputError` for wrong input and `OSError` if the file cannot be written,
    also for an existing file that is not a report, unless `force` is given.
    """
    files.refuse_other_ending(Path(path), forms.REPORT)
    text = page(results, _listed(minimize), _listed(maximize))
    delivery.write(Path(path), text, forms.REPORT, force=force)


def page(
    sources: Source | Sequence[Source], minimize: Sequence[str] = (), maximize: Sequence[str] = ()
) -> str:
    """The report as HTML."""
    if isinstance(sources, Results | Sweep | str | os.PathLike):
        sources = [sources]
    files_ = [os.fspath(source) for source in sources if not isinstance(source, Results | Sweep)]
    with reading.of_files(*files_):
        try:
            return _page(sources, minimize, maximize)
        except InputError as error:
            if not files_ or any(it in str(error) for it in files_):
                raise
            raise InputError(f"{', '.join(files_)}: {error}") from error


def _page(sources: Sequence[Source], minimize: Sequence[str], maximize: Sequence[str]) -> str:
    loaded = [_loaded(source) for source in sources]
    results = [source for source in loaded if isinstance(source, Results)]
    sweeps = [source for source in loaded if isinstance(source, Sweep)]
    if not loaded:
        raise InputError("a report needs results")
    if sweeps and len(loaded) > 1:
        raise InputError("a report shows one sweep, or results, not both")
    if sweeps:
        return of_sweep.page(sweeps[0], minimize, maximize)
    if minimize or maximize:
        raise InputError("minimize and maximize are for the report of a sweep")
    return runs.page(results)


def _loaded(source: Source) -> Results | Sweep:
    if isinstance(source, Results | Sweep):
        return source
    if os.fspath(source).endswith((".jsonl", ".parquet", ".csv")):
        return Sweep.load(source)
    return Results.load(source)


def _listed(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
