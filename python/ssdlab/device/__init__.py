"""`ssdlab device`: drives from their data sheets, and how far presets are from theirs."""
