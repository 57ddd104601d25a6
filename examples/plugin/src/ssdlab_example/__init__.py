"""An example of a package that adds names to ssdlab."""
