"""Sweeps: many experiments at once, on all cores or a cluster. Call `ssdlab.sweep`.

`space` parses the axes, `plan` builds the points, `backends` run them, `journal` stores their
outcomes, `table` builds the rows, `search` chooses points from earlier outcomes.
"""

from ssdlab.sweeps.result import Finished, Sweep
from ssdlab.sweeps.run import sweep

__all__ = ["Finished", "Sweep", "sweep"]
