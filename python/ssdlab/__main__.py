"""`python -m ssdlab` is the command line `ssdlab`."""

import sys

from ssdlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
