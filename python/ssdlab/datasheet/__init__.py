"""Data sheets: reading one, contradictions in it, and the drive that follows from it."""
