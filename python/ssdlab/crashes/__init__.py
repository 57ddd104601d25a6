"""Crash tests: an application runs once on the live device while all that it changes is recorded
with its data; then images of the drive are made as a power cut at any instant leaves them.

Of each image the file system is mounted, the application recovers, and a checker compares what it
finds with what must be there. An image is mounted, never the running device, in a namespace of its
own, so that no mount is left. The parts:

- `recording` reads the record of the live device, `content` derives the drive's possible content,
  `plan` chooses the instants;
- `namespace` starts the processes that mount: `stage` runs the application, `worker` judges;
- `run` puts them together, `apps` has applications that are ready, `controls` the runs whose
  outcome is known.
"""

from __future__ import annotations

OK, LOST, BROKEN = "ok", "lost", "broken"
#: The exit status of a checker for consistent data with acknowledged items missing.
LOST_STATUS = 3
EXT4, LOOP, NBD = "ext4", "loop", "nbd"
#: The variables of the application, in the order of the help text.
PLACES = (EXT4, LOOP, NBD)
