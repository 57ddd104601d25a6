"""What mypy finds in results, and what it lets pass. It is run on this file with the package, and a
line that is to be ignored without such an error is one.
"""

from ssdlab.results import Results

results = Results({})
results.host.read.mean_us + 1.0
results.flash.write_amplification
results.experiment.anything
results.hosst  # type: ignore[attr-defined]
results.host.read.mean_ms  # type: ignore[attr-defined]
