"""Sweeps: many experiments at once, on all cores or a cluster. `ssdlab.sweep` is the way in.

`space` reads what varies, `plan` makes points of it, `backends` runs them, `journal` keeps what is
done, `table` makes rows of it, `search` chooses points by what was found.
"""

from ssdlab.sweeps.result import Finished, Sweep
from ssdlab.sweeps.run import sweep

__all__ = ["Finished", "Sweep", "sweep"]
