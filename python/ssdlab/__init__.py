"""ssdlab: a laboratory for solid-state disks.

>>> import ssdlab
>>> r = ssdlab.run(device="agrawal2008", set={"workload.read_share": 0.7})  # doctest: +SKIP
>>> r.host.read.percentiles_us["99"]  # doctest: +SKIP

`run` puts a workload on a device and returns `Results`; `Experiment` is what is run, checked and
ready; `sweep` runs many of them at once and returns a table; `list` names what there is to choose
from; `trace` looks at traces and converts them; `calibrate` makes a device from measurements;
`serve` makes a simulated device a block device; `check_cleaner` checks a cleaning policy of your
own, for which `cleaners` has the parts.

The user's mistakes raise `InputError`, whose message names the source, the key and the valid
choices.
"""

from typing import TYPE_CHECKING, Any

from ssdlab import cleaners, trace
from ssdlab._core import CheckError, Clean, InputError, PolicyError, Rest
from ssdlab._core import version as __version__
from ssdlab.calibration import Calibration, calibrate
from ssdlab.catalogue import list
from ssdlab.cleaners import check_cleaner
from ssdlab.live import LiveDevice, serve
from ssdlab.results import Record, Results
from ssdlab.running import Experiment, Progress, run

if TYPE_CHECKING:
    from ssdlab.comparison import Comparison, compare
    from ssdlab.reports import report
    from ssdlab.sweeps import Sweep, sweep

__all__ = [
    "Calibration",
    "CheckError",
    "Clean",
    "Comparison",
    "Experiment",
    "InputError",
    "LiveDevice",
    "PolicyError",
    "Progress",
    "Record",
    "Rest",
    "Results",
    "Sweep",
    "__version__",
    "calibrate",
    "check_cleaner",
    "cleaners",
    "compare",
    "list",
    "report",
    "run",
    "serve",
    "sweep",
    "trace",
]


def __getattr__(name: str) -> Any:
    """What is imported when it is first asked for, so that the command line starts fast."""
    if name in ("Sweep", "sweep"):
        from ssdlab import sweeps

        return getattr(sweeps, name)
    if name == "report":
        from ssdlab.reports import report

        return report
    if name in ("Comparison", "compare"):
        from ssdlab import comparison

        return getattr(comparison, name)
    raise AttributeError(f"module 'ssdlab' has no attribute {name!r}")
