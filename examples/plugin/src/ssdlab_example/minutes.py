"""A trace format of a line a request: `minute:second op sector count`, such as `0:1.5 r 800 8`."""

from pathlib import Path


def read(path: Path):
    """The requests of a file as a table, whose columns ssdlab knows by their names."""
    import pyarrow as pa

    rows = {"time_us": [], "op": [], "offset": [], "size": []}
    for line in path.read_text(encoding="utf-8").splitlines():
        at, op, sector, count = line.split()
        minutes, _, seconds = at.partition(":")
        rows["time_us"].append(round((60 * int(minutes) + float(seconds)) * 1e6))
        rows["op"].append({"r": "read", "w": "write"}[op])
        rows["offset"].append(512 * int(sector))
        rows["size"].append(512 * int(count))
    return pa.table(rows)
