"""The command line `ssdlab`.

The contract for scripts: results on standard output, everything else on standard error. Exit
status: 0 done, 1 the run could not be completed, 2 wrong input, 130 interrupted by Ctrl-C, 143 by
SIGTERM. Failures print one message that begins with "ssdlab: ".

Each command is imported on demand (`group`), for a fast start.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # replaces `typing`, which is not needed here
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (the process's if None); the exit status."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    try:
        for word in words:
            # File names must be valid text, to appear in results and messages.
            str(word).encode()
        if words == ["--version"]:
            from ssdlab._core import version

            print(f"ssdlab {version}", flush=True)
            return 0
        from ssdlab.cli import group

        return group.main(words)
    except KeyboardInterrupt as error:
        # No click here: its import would delay the response to Ctrl-C.
        from ssdlab import interruption

        return interruption.report_interruption(error)
    except Exception as error:
        try:
            from ssdlab.cli import group

            return group.report_failure(error)
        except KeyboardInterrupt as interrupt:
            from ssdlab import interruption

            return interruption.report_interruption(interrupt)
