"""ssdlab: a laboratory for solid-state disks.

>>> import ssdlab
>>> r = ssdlab.run(device="agrawal2008", set={"workload.read_share": 0.7})  # doctest: +SKIP
>>> r.host.read.percentiles_us["99"]  # doctest: +SKIP

`run` puts a workload on a device and returns `Results`; `list` names what there is to choose from;
`trace` looks at traces and converts them; `calibrate` makes a device from measurements.

The user's mistakes raise `InputError`, whose message names the source, the key and the valid
choices.
"""

from ssdlab import trace
from ssdlab._core import CheckError, InputError
from ssdlab._core import version as __version__
from ssdlab.api import Progress, run
from ssdlab.calibration import Calibration, calibrate
from ssdlab.catalogue import list
from ssdlab.results import Record, Results

__all__ = [
    "Calibration",
    "CheckError",
    "InputError",
    "Progress",
    "Record",
    "Results",
    "__version__",
    "calibrate",
    "list",
    "run",
    "trace",
]
