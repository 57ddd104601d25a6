"""Kinds of files written by ssdlab, and their recognition.

A file is replaced only if it is empty or in the form to be written: `refuse_foreign`. Forms are
recognised by content (keys of JSON, columns of a table, the end of a page). Files of earlier
versions are recognised too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ssdlab._core import InputError

if TYPE_CHECKING:
    from pathlib import Path


#: Bytes examined at each end of larger files.
LOOKED_AT = 1 << 26


class Form(NamedTuple):
    """Content written by one option, under any file name."""

    what: str
    #: Beginning and a text that all such files share.
    begins: bytes = b""
    marks: tuple[bytes, ...] = ()
    #: Required extensions, if any, and a hint for other formats.
    endings: tuple[str, ...] = ()
    instead: str = ""

    def is_of(self, path: Path) -> bool:
        """True for a file in this form. Raises `OSError`."""
        if not (self.begins or self.marks):
            return False
        with path.open("rb") as file:
            if file.read(len(self.begins)) != self.begins:
                return False
            file.seek(0)
            first = file.read(LOOKED_AT)
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOOKED_AT))
            last = file.read(LOOKED_AT)
            return all(mark in first or mark in last for mark in self.marks)


def _json(of: str, *keys: str, begins: bytes = b"{") -> Form:
    return Form(f"the JSON of ssdlab {of}", begins, tuple(b'"%s":' % it.encode() for it in keys))


def _page(of: str, mark: str) -> Form:
    return Form(
        f"a web page of ssdlab {of}",
        b"<!doctype html>",
        (mark.encode(),),
        (".html", ".htm"),
        "for a PDF or a picture, open the page in a browser and print",
    )


_TOML = (".toml",)

RESULTS = _json("run", "capacity_bytes", "simulated_seconds", "schema", "host", begins=b'{\n  "')
SWEEP = _json("sweep", "parameters", "results", begins=b'{"points": [')
COMPARISON = _json("compare", "a", "b", "confidence")
COST = _json("cost", "need", "designs", "cheapest", "pareto")
SIZING = _json("size", "drive", "goals", "next_best", "tried")
SIZINGS = _json("size", "drive", "goals", "next_best", "tried", begins=b"[")
WHY = _json("why", "column", "confidence", "simulations", "rows")
PLAN = _json("plan", "growth", "service_years", "goals", "fleets")
CONSOLIDATION = _json("consolidate", "tenants", "alone", "together", "remedies")
PROTECTION = _json("protect", "members", "rebuild_rate", "schemes", "left_out")
CHOICE = _json("choose", "goals", "need", "notes", "offers")
ANSWER = _json("ask", "assumed", "surer", "goals", "offers")
HEALTH = _json("ask", "health", "life_used", "left_bytes", "disagreement")
KEPT = _json("cache", "in_use", "bound_bytes", "entries", "traces")
CLIFF = _json("cliff", "copy_bytes", "cliff_at_bytes", "phases")
ENDURANCE = _json("endurance", "failures_allowed", "closed_form", "lives")
PLACEMENT = _json("placement", "sentence", "drive", "rows")
RETENTION = _json("retention", "closed_form", "simulated", "evidence")
RELIABILITY = _json("reliability", "array", "times", "losses_over_mttdl")
RECIPE = Form("the script of ssdlab calibrate --recipe", b"", (b"ssdlab calibrate",))
CALIBRATION = _json("calibrate", "source", "weights", "conditions", "patterns")
SOLVED = _json("device from-datasheet", "cells", "predictions", "assumptions")
SHEETS = _json("device compare-sheets", "drives", "lines")
CHECKED = _json("device check", "sheet", "unknown", "cells")
STUDIES = _json("paper", "items", "verdicts")
PTS = _json("pts", "specification", "partial", "tests", "measured")
CRASHES = _json("crash", "promise", "most_open", "verdicts")
DAMAGE = _json("crash --unreadable", "unreadable_share", "outcomes", "drives")
CONTROLS = _json("crash --controls", "control", "as_expected", "findings", begins=b"[")
OVERHEAD = _json("serve overhead", "overhead", "conditions")
TRACE_INFO = _json("trace info", "alignment", "backward_steps", "density")
TRACE_HEAD = _json("trace head", "requests", "skipped", "text")
EXPERIMENT = Form(
    "an experiment that ssdlab wrote",
    b"version = 1\ntitle = ",
    (b"\n[device]", b"\n[run]"),
    _TOML,
)
SIZED = EXPERIMENT._replace(what="the design of ssdlab size")
CALIBRATED = Form("a device of ssdlab calibrate", b"# ", (b" by ssdlab ",), _TOML)
FROM_SHEET = Form(
    "a device of ssdlab device from-datasheet", b"# ", (b"ssdlab device from-datasheet",), _TOML
)
CATALOGUE = Form("a catalogue of drives", b"", (b"[drive.", b"price = "), _TOML)
TABLE_CSV = Form("a table of ssdlab sweep", b"", (b",capacity_bytes,", b",host.all.requests,"))
TABLE_PARQUET = Form("a table of ssdlab sweep", b"PAR1", (b"ssdlab ", b"error"))
REQUESTS = Form("the requests of an ssdlab run", b"PAR1", (b"arrival_ns", b"bus_ns", b"cell_ns"))
TRACE = Form("a trace that ssdlab wrote", b"PAR1", (b"parquet-rs", b"at_ns", b"sectors"))
TRACE_OF_ARRAYS = TRACE._replace(marks=(b"ssdlab ", b"at_ns", b"sectors"))
DRIVE = Form("a drive that ssdlab saved", b"ssdlab drive\n")
REPORT = _page("report", ", ssdlab report</footer>")
STUDIES_PAGE = _page("paper", ", ssdlab paper. A row passes")
PTS_PAGE = _page("pts", "Storage Performance Test Specification")
PTS_JOBS = Form("the jobs of ssdlab pts", b"", (b"written by ssdlab pts --jobs",))
RECORDING = _page("view", "<title>ssdlab view</title>")
#: Mark in pictures, see `charts.matplotlib`.
DRAWN = "Drawn by ssdlab"
PICTURE = Form("a picture that ssdlab drew", b"", (DRAWN.encode(),))

#: All forms, to describe a file that is not replaced.
ALL = tuple(it for it in tuple(globals().values()) if isinstance(it, Form))
#: Magic bytes of foreign files, with their names.
_OTHERS = (
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "a picture"),
    (b"<?xml", "XML"),
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "an archive"),
    (b"\x1f\x8b", "compressed data"),
    (b"\x28\xb5\x2f\xfd", "compressed data"),
    (b"\x7fELF", "a program"),
)


def name_of(path: Path) -> str | None:
    """The form of a file that ssdlab wrote, such as "the JSON of ssdlab compare"; else None."""
    return next((form.what for form in ALL if form.is_of(path)), None)


def is_special(path: Path) -> bool:
    """True for a device or pipe, which is written to directly."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def is_replaceable(path: Path, forms: Sequence[Form]) -> bool:
    """True for a missing or empty file, or one in a given form."""
    try:
        if is_special(path) or path.stat().st_size == 0:
            return True
        return any(form.is_of(path) for form in forms)
    except FileNotFoundError:
        return True
    except OSError:  # an unreadable file may be anything
        return False


def refuse_foreign(path: Path, *forms: Form) -> None:
    """Raise `InputError` if a file exists that is in none of the `forms`."""
    if not is_replaceable(path, forms):
        raise InputError(f"{path}: {foreign(path)}; --force replaces it, another name keeps it")


def foreign(path: Path) -> str:
    """Description of a file that is not replaced, without quoting its content."""
    try:
        if (what := name_of(path)) is not None:
            return f"is there already, and is {what}"
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        return f"is there already, and cannot be read: {error.strerror}"
    return f"is there already, and is not of this command: it seems to be {_seems(head)}"


def _seems(head: bytes) -> str:
    for begins, subject in _OTHERS:
        if head.startswith(begins):
            return subject
    if head.lstrip()[:1] in (b"{", b"["):
        return "JSON of something else"
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.end < len(head) - 3:  # a real error, not a truncated character
            return "binary data"
    return "binary data" if b"\0" in head else "text"
