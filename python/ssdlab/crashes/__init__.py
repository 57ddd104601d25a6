"""Crash tests: an application runs once on the live device, and all its writes are recorded.

Then images of the drive after a power cut at many instants are made. Each image's file system is
mounted, the application recovers, and a checker compares its data with the acknowledged data. Only
images are mounted, never the running device, each in its own namespace, so that no mount remains.
The parts:

- `recording` reads the record of the live device, `content` derives the drive's possible content,
  `plan` chooses the instants;
- `namespace` starts the processes that mount: `stage` runs the application, `worker` judges;
- `run` combines them, `apps` has built-in applications, `controls` runs with known outcomes.
"""

from __future__ import annotations

OK, LOST, BROKEN = "ok", "lost", "broken"
#: The exit status of a checker for consistent data with acknowledged items missing.
LOST_STATUS = 3
EXT4, LOOP, NBD = "ext4", "loop", "nbd"
#: The variables of the application, in the order of the help text.
PLACES = (EXT4, LOOP, NBD)
