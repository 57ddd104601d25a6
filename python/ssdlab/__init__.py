"""ssdlab: a laboratory for solid-state disks.

>>> import ssdlab
>>> r = ssdlab.run(device="agrawal2008", set={"workload.requests": 1000})
>>> r.host.read.percentiles_us[99] > 100  # microseconds
True

`run` puts a workload on a device and returns `Results`; `Experiment` is a checked configuration,
ready to run; `sweep` runs many of them at once and returns a table; `list` names devices,
workloads, policies and formats; `trace` inspects and converts traces; `calibrate` makes a device
from measurements; `size` finds the smallest drive for a trace, `choose` the cheapest that can be
bought, `ask` the drive for a trace, fio results or a load in words, `cost` the cheapest design for
a need, `endurance` the rated writes, `placement` the gain of FDP or streams; `why` tries what would
improve a run; `view` shows a run as it happens; `Drive` is a drive that your program steps; `serve`
exports a simulated device as a block device, and `crash` cuts its power under an application;
`check_cleaner` checks a cleaning policy of your own (its parts are in `cleaners`),
`check_placement` a placement policy (`Placement`), and `check_host_log` a log on zones (`HostLog`).

The user's mistakes raise `InputError`, whose message names the source, the key and the valid
choices; a defect of ssdlab is an `InternalError`, which says how to report it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # replaces `typing`, whose import takes a tenth of the start-up time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ssdlab import cleaners, trace
    from ssdlab._core import CheckError, Clean, InputError, InternalError, PolicyError, Rest
    from ssdlab._core import version as __version__
    from ssdlab.asking import Answer, ask
    from ssdlab.calibration import Calibration, calibrate
    from ssdlab.catalogue import list
    from ssdlab.choosing import Choice, choose
    from ssdlab.cleaners import check_cleaner
    from ssdlab.cliffs import Cliff, cliff
    from ssdlab.comparison import Comparison, compare
    from ssdlab.costing.answer import Costs, cost
    from ssdlab.crashes.perform import Findings, crash
    from ssdlab.explaining import Why, why
    from ssdlab.live import LiveDevice, serve
    from ssdlab.live.exports import LiveExports, serve_exports
    from ssdlab.placing import (
        HostLog,
        Placed,
        Placement,
        check_host_log,
        check_placement,
        placement,
    )
    from ssdlab.rating import Rating, endurance
    from ssdlab.reports import report
    from ssdlab.results import Results
    from ssdlab.results.records import Record
    from ssdlab.running import Experiment, Progress, run
    from ssdlab.sizing import Sizing, size
    from ssdlab.stepping import Drive
    from ssdlab.sweeps import Sweep, sweep
    from ssdlab.viewing.answer import View, view

__all__ = [
    "Answer", "Calibration", "CheckError", "Choice", "Clean", "Cliff", "Comparison", "Costs",
    "Drive", "Experiment", "Findings", "HostLog", "InputError", "InternalError", "Kept",
    "LiveDevice", "LiveExports", "PolicyError", "Placed", "Placement", "Progress", "Rating",
    "Record", "Rest", "Results", "Sizing", "Sweep", "View", "Why", "__version__", "ask",
    "calibrate", "check_cleaner", "check_host_log", "check_placement", "choose", "cleaners",
    "cliff", "compare", "cost", "crash", "endurance", "list", "placement", "report", "retention",
    "run", "serve", "serve_exports", "size", "sweep", "trace", "view", "why",
]  # fmt: skip

#: The public names of each module.
_MODULES = {
    "_core": "CheckError Clean InputError InternalError PolicyError Rest",
    "asking": "Answer ask",
    "calibration": "Calibration calibrate",
    "catalogue": "list",
    "choosing": "Choice choose",
    "cleaners": "check_cleaner",
    "cliffs": "Cliff cliff",
    "comparison": "Comparison compare",
    "costing.answer": "Costs cost",
    "crashes.perform": "Findings crash",
    "explaining": "Why why",
    "live": "LiveDevice serve",
    "live.exports": "LiveExports serve_exports",
    "placing": "HostLog Placed Placement check_host_log check_placement placement",
    "rating": "Rating endurance",
    "reports": "report",
    "results": "Results",
    "results.records": "Record",
    "running": "Experiment Progress run",
    "sizing": "Sizing size",
    "stepping": "Drive",
    "sweeps": "Sweep sweep",
    "unpowered": "Kept retention",
    "viewing.answer": "View view",
}
_PLACES = {name: f"{it}:{name}" for it, names in _MODULES.items() for name in names.split()}
_PLACES |= {"__version__": "_core:version", "cleaners": "cleaners", "trace": "trace"}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use, so that the command line starts fast."""
    from importlib import import_module

    module, _, inner = _PLACES.get(name, name).partition(":")
    problem = AttributeError(f"module 'ssdlab' has no attribute {name!r}")
    if module.startswith("__"):  # probes of protocols, for instance by inspect
        raise problem
    try:
        found: Any = import_module(f"ssdlab.{module}")
    except ModuleNotFoundError as error:
        if error.name != f"ssdlab.{module}":
            raise
        raise problem from None
    if inner:
        found = getattr(found, inner)
        if inner.islower() and callable(found):
            found = import_module("ssdlab.arguments").public(found)
            found.__module__ = "ssdlab"  # where pickle finds it
    globals()[name] = found  # later accesses skip this function
    return found


def __dir__() -> Iterable[str]:
    """Public names, imported or not, and module attributes."""
    return {*__all__, *(name for name in globals() if name.startswith("__"))}
