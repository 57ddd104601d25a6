"""Results of a run, with attribute access over the JSON of results schema 1."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ssdlab import _core, arrow, delivery, forms
from ssdlab._core import InputError
from ssdlab.results.records import KINDS, Elapsed, Flash, Host, Part, Record, Wear

if TYPE_CHECKING:
    from pathlib import Path

    from ssdlab.explaining import Why
    from ssdlab.results.plots import Plots
    from ssdlab.under_load import UnderLoad

#: The schema of results that this version writes and reads.
SCHEMA = _core.SCHEMA
#: File name of results in the directory of `ssdlab run --out`.
FILE = "results.json"


class Results(Part, arrow.Table):
    """The results of one run: `r.host.read.mean_us`, `r.flash.write_amplification`, ...

    Latencies are in us, `simulated_seconds` in s, sizes in bytes. Sections that a device does
    not have are absent: test with `"flash" in r` or `r.get("wear")`. A notebook shows a small
    table. All but `elapsed` is reproducible: the same experiment gives identical results.

    >>> import ssdlab
    >>> r = ssdlab.run(set={"workload.requests": 100})
    >>> r.host.all.requests, r.host.read.percentiles_us[99] >= r.host.read.percentiles_us[50]
    (100, True)
    """

    __slots__ = ()
    schema: int
    version: str
    experiment: Record
    simulated_seconds: float
    capacity_bytes: int
    host: Host
    flash: Flash
    wear: Wear
    elapsed: Elapsed
    health: Record
    buffer: Record
    map: Record
    disk: Record
    zones: Record
    commands: Record
    array: Record
    energy: Record
    power: Record
    live: Record
    classes: Record
    workload: Record
    steady_state: Record
    sample: Record
    time_series: Record
    timeline: Record
    units: Any
    buses: Any
    warnings: list[Record]
    _parts = {"host": Host, "flash": Flash, "wear": Wear, "elapsed": Elapsed}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Results:
        """The results in the JSON file `path`, or in the directory of `ssdlab run --out`.

        Raises `InputError` if it cannot be read, or has no results of this version's schema.
        """
        from pathlib import Path

        from ssdlab import reading

        file = Path(path) / FILE if Path(path).is_dir() else Path(path)
        data = reading.parsed(file, reading.text(file))
        if not isinstance(data, dict) or "schema" not in data or "host" not in data:
            raise InputError(f"{file}: {_description(file, data)}")
        if data["schema"] != SCHEMA:
            schema = data["schema"]
            raise InputError(f"{file}: results of schema {schema}; this version reads {SCHEMA}")
        reading.refuse_broken_results(file, data)
        return cls(data)

    @classmethod
    def from_json(cls, text: str) -> Results:
        """The results in `text`. Raises `ValueError` if it is not JSON."""
        return cls(json.loads(text))

    def to_json(self) -> str:
        """The results as JSON text, one key per line, with a final line feed."""
        return json.dumps(self._data, indent=2) + "\n"

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the results to the JSON file `path` atomically.

        Raises `OSError`, also for an existing file without results, unless `force` is given.
        """
        from pathlib import Path

        delivery.write(Path(path), self.to_json(), forms.RESULTS, force=force)

    def warning_names(self) -> list[str]:
        """The names of the `warnings`, such as `transient`: see `ssdlab.list("warnings")`."""
        return [warning["name"] for warning in self._data.get("warnings") or []]

    def warning_messages(self) -> list[str]:
        """The messages of the warnings, each after its name."""
        found = self._data.get("warnings") or []
        return [f"{warning['name']}: {warning['message']}" for warning in found]

    def under_load(self) -> UnderLoad:
        """Life in years, p99 of reads and writes, watts and dollars, each with kind and origin.

        Price and rated writes are the catalogue's, for a drive as it is sold.
        """
        from ssdlab import under_load

        return under_load.of([self])

    @property
    def plot(self) -> Plots:
        """Figures: `plot.latency()`, `breakdown()`, `over_time()`, `units()` and `timeline()`."""
        from ssdlab.results.plots import Plots

        return Plots(self)

    def why(self, goal: str | None = None, **arguments: Any) -> Why:
        """Single changes that would improve a metric; the arguments are as for `ssdlab.why`."""
        import ssdlab

        return ssdlab.why(self, goal=goal, **arguments)

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame` by kind of request. Raises `InputError` without it."""
        return super().to_pandas().set_index("kind").rename_axis(None)

    def table_rows(self) -> list[dict[str, Any]]:
        """A row per kind of request, and figures by path; the first column is `kind`."""
        rows = []
        for kind, host in self._data["host"].items():
            row = {key: value for key, value in host.items() if not isinstance(value, dict | list)}
            for part in ("percentiles_us", "breakdown_us"):
                row |= {f"{part}.{key}": value for key, value in host.get(part, {}).items()}
            rows.append({"kind": kind, **row})
        return rows

    def __repr__(self) -> str:
        parts = [f"{self.host.all.requests} requests in {self.simulated_seconds:.6g} s"]
        parts += [f"{kind} mean {host.mean_us:.6g} us" for kind, host in self._kinds()]
        if (amplification := self._amplification()) is not None:
            parts.append(f"write amplification {amplification:.4g}")
        return f"<Results: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        import html

        columns = ["requests", "IOPS", "MB/s", "mean us", "p50 us", "p99 us", "p99.9 us", "max us"]
        rows = []
        for kind, host in self._kinds():
            p = host.percentiles_us
            times = [host.mean_us, p["50"], p["99"], p["99.9"], host.max_us]
            cells = [f"{host.requests:,}", f"{host.iops:,.0f}", f"{host.mb_per_s:,.1f}"]
            cells += [f"{value:,.1f}" for value in times]
            rows.append(_html_row("td", [kind, *cells]))
        caption = f"{self.simulated_seconds:.6g} s simulated"
        if (amplification := self._amplification()) is not None:
            caption += f", write amplification {amplification:.4g}"
        return (
            f"<table><caption>{html.escape(caption)}</caption>"
            f"<thead>{_html_row('th', ['', *columns])}</thead>"
            f"<tbody>{''.join(rows)}</tbody></table>"
            + "".join(f"<p>Warning: {html.escape(it)}</p>" for it in self.warning_messages())
        )

    def _kinds(self) -> list[tuple[str, Any]]:
        """The kinds of request that occurred, then all of them together."""
        kinds = [(kind, host) for kind, host in self.host.items() if host.requests]
        return sorted(kinds, key=lambda kind: KINDS.index(kind[0]))

    def _amplification(self) -> float | None:
        """Write amplification in bytes; in pages for results of an older version."""
        flash = self._data.get("flash", {})
        in_pages: float | None = flash.get("write_amplification")
        in_bytes: float | None = flash.get("write_amplification_bytes", in_pages)
        return in_bytes


def _description(file: Path, data: object) -> str:
    """Description of a file of JSON without results, and the commands that read it."""
    if isinstance(data, dict) and "fio version" in data:
        return (
            "these are results of fio: `ssdlab compare FILE DEVICE` simulates the same jobs, "
            "`ssdlab ask FILE` finds a drive for them"
        )
    what = forms.name_of(file)
    return "not results of ssdlab run" + (f", but {what}" if what else "")


def _html_row(tag: str, cells: list[str]) -> str:
    import html

    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
