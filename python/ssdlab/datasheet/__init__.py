"""Data sheets: parsing, contradictions, and the derived drive."""
