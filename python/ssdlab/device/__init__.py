"""`ssdlab device`: drives from data sheets, and presets compared with their data sheets."""
