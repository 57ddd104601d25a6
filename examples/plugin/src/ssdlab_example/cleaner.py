"""A cleaning policy: the block with the fewest valid pages, as greedy does it."""

import ssdlab


class LeastValid:
    """Cleans when ssdlab asks, and always the emptiest block."""

    def step(self, view):
        """The block to clean."""
        return ssdlab.Clean(view.emptiest)
