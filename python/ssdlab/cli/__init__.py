"""The command line `ssdlab`.

Scripts depend on its contract: results on standard output, everything else on standard error; exit
status 0 done, 1 the run could not be completed, 2 the input was wrong, 130 interrupted by Ctrl-C,
143 by SIGTERM, with one message that begins with "ssdlab: ".

Each command is imported when it is called (`group`), so that a start imports little.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of typing, which is not needed here
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (the process's if None); the exit status."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    try:
        for word in words:
            # The name of a file that is no text: results and messages could not say it.
            str(word).encode()
        if words == ["--version"]:
            from ssdlab._core import version

            print(f"ssdlab {version}", flush=True)
            return 0
        from ssdlab.cli import group

        return group.main(words)
    except KeyboardInterrupt as error:
        # Without click, whose import could take longer than Ctrl-C may be answered.
        from ssdlab import interruption

        return interruption.told(error)
    except Exception as error:
        try:
            from ssdlab.cli import group

            return group.told(error)
        except KeyboardInterrupt as interrupt:
            from ssdlab import interruption

            return interruption.told(interrupt)
