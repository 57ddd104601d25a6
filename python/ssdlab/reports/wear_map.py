"""The wear of the blocks by place, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab.reports import html
from ssdlab.results import Results

#: Shades between the least and the most worn cell.
SHADES = 8


def section(names: Sequence[str], results: Sequence[Results]) -> str:
    """A heat map for each of the results that has blocks which were erased."""
    return "".join(_map(name, it) for name, it in zip(names, results, strict=True))


def _map(name: str, it: Results) -> str:
    rows = [row.to_dict() for row in (it.get("wear") or {}).get("map") or []]
    means = [mean for row in rows for mean in row["mean_erases"]]
    if not any(means):
        return ""
    low, high = min(means), max(means)
    paths: dict[int, str] = {}
    for y, row in enumerate(rows):
        for x, mean in enumerate(row["mean_erases"]):
            shade = round((SHADES - 1) * (mean - low) / (high - low)) if high > low else SHADES - 1
            paths[shade] = paths.get(shade, "") + f"M{x} {y}h1v.9h-1z"
    columns = max(len(row["mean_erases"]) for row in rows)
    cells = "".join(
        f'<path class="shade" fill-opacity="{_opacity(shade)}" d="{path}"/>'
        for shade, path in sorted(paths.items())
    )
    blocks = rows[0]["blocks_per_cell"]
    each = "a block" if blocks == 1 else f"the mean of {blocks} consecutive blocks"
    told = (
        f"Erases by place: a row for each unit, in it {each} a cell; from {low:.4g} to {high:.4g}"
    )
    drawn = (
        f'<svg viewBox="0 0 {columns} {len(rows)}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(told, quote=True)}" style="height:{1.2 * len(rows):.1f}rem" '
        f'shape-rendering="crispEdges">{cells}</svg>'
    )
    key = "".join(
        f'<i class="swatch shade" style="opacity:{_opacity(shade)};margin:0"></i>'
        for shade in range(SHADES)
    )
    body = [
        [
            row["name"],
            f"{sum(row['mean_erases']) / len(row['mean_erases']):.4g}",
            str(max(row["max_erases"])),
        ]
        for row in rows
    ]
    numbers = html.table(["", "mean of the cells", "most erased block"], body)
    title = f"Erases by place{f', {name}' if name else ''}"
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f"{html.lanes([row['name'] for row in rows], drawn)}"
        f'<p class="legend">{low:.4g} {key} {high:.4g} erases; {each} a cell</p></figure>'
        f"<details><summary>As numbers</summary>{numbers}</details>"
    )


def _opacity(shade: int) -> str:
    return f"{0.1 + 0.9 * shade / (SHADES - 1):.2f}"
