"""Rows of the studies by name: what is not reproduced, and what must fail on a wrong device."""

from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "paper_rows.tsv"


def listed(what: str, item: str | None = None) -> list[str]:
    """The rows of `item` listed under `what`; without one "item: row" of all items."""
    found = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            under, of, row = line.split("\t")
            if under == what and item in (None, of):
                found.append(row if item else f"{of}: {row}")
    return found
