"""Findings: gains, lifetime, cost of open units, and a summary sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ssdlab import arrow, under_load
from ssdlab.placing.drive import Drive
from ssdlab.under_load import Figure
from ssdlab.units import percent, size

#: Policies with simple rules, and all practical ones.
RULES = ("address", "size", "hint", "column")
REAL = (*RULES, "lifetime", "own")
#: Spare space held by an open unit: measured 0.59 to 0.66 of a unit.
OPEN_UNIT = 0.6
#: Thresholds of warnings.
OPEN_SHARE, FOREIGN, FEW_UNITS, FEW_PAGES = 0.2, 0.1, 300, 500
PAGE = 4096


@dataclass(frozen=True)
class Row:
    """A policy on one drive; each figure is a field."""

    policy: str
    utilisation: float
    isolation: str
    handles_used: int
    unit_bytes: int
    units: int
    open_units: int
    spare_units: int
    rule: Mapping[str, Any] | None
    #: Reason for missing figures.
    refused: str | None = None
    dlwa: float | None = None
    dlwa_curve: Sequence[float] = ()
    settled: bool = True
    host_bytes: int = 0
    relocated_bytes: int = 0
    relocated_because_of_copies_bytes: int = 0
    replayed_bytes: int = 0
    #: Bytes programmed without placement / with this policy, and the half-width of its 95 %
    #: confidence interval.
    gain: float | None = None
    gain_error: float | None = None
    handles: Sequence[Mapping[str, Any]] = field(default_factory=list)

    @property
    def open_share(self) -> float:
        """Share of the spare space in open units beyond the first."""
        return OPEN_UNIT * (self.open_units - 1) / max(self.spare_units, 1)

    @property
    def is_gain(self) -> bool:
        """True for a significant gain, by the variation between parts of the trace."""
        return self.gain is not None and self.gain - (self.gain_error or 0.0) > 1.0005

    @property
    def is_loss(self) -> bool:
        """True for a significant loss."""
        return self.gain is not None and self.gain + (self.gain_error or 0.0) < 0.9995

    @property
    def said_rule(self) -> str:
        """The rule that selects the handle, in words."""
        return _said(self.rule)

    @property
    def is_zoned(self) -> bool:
        """True for a host log on zones, instead of a drive with handles."""
        return self.isolation == "zones"

    @property
    def noisy(self) -> Mapping[str, Any] | None:
        """The handle with the most copies, if above its share of writes."""
        if self.handles_used < 2 or self.relocated_bytes == 0:
            return None
        worst = max(self.handles, key=lambda it: int(it["relocated_bytes"]))
        share = worst["relocated_bytes"] / self.relocated_bytes
        return worst if share > worst["host_bytes"] / max(self.host_bytes, 1) else None


def exact(count: int) -> str:
    """Bytes as a size of a config, without rounding.

    >>> exact(12_537_856), exact(4096), exact(3 << 30)
    ('12244KiB', '4KiB', '3GiB')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count and count % 1024**power == 0:
            return f"{count // 1024**power}{unit}"
    return f"{count}B"


def _said(rule: Mapping[str, Any] | None) -> str:
    if rule is None:
        return "-"
    by = rule["by"]
    if by == "address":
        starts = ["0", *(exact(it["offset_bytes"]) for it in rule["borders"])]
        ends = [*starts[1:], ""]
        spans = zip(starts, ends, strict=True)
        parts = [f"{start}-{end}:{handle}" for handle, (start, end) in enumerate(spans)]
        return f"address({', '.join(parts)})"
    if by == "size":
        parts = [f"<={exact(it)}:{handle}" for handle, it in enumerate(rule["largest_bytes"])]
        return f"size({', '.join(parts)}, else {len(parts)})"
    if by == "device":
        return f"device({', '.join(f'{it}:{handle}' for handle, it in enumerate(rule['devices']))})"
    if by == "fua":
        return "fua"
    if by == "column":
        return f"column({', '.join(f'{it}:{handle}' for handle, it in enumerate(rule['handles']))})"
    parts = [f"<={size(it)}:{handle}" for handle, it in enumerate(rule["longest_bytes"])]
    return f"bytes written until overwritten ({', '.join(parts)}, else {len(parts)})"


@dataclass(frozen=True)
class Placed(arrow.Table):
    """Results of placement policies on a trace."""

    trace: str
    drive: Drive
    handles: int
    facts: Mapping[str, Any]
    rows: Sequence[Row]

    @property
    def utilisations(self) -> list[float]:
        """Tried shares of the capacity, in the order given."""
        return list(dict.fromkeys(row.utilisation for row in self.rows))

    def at(self, utilisation: float) -> list[Row]:
        """Rows at a utilisation."""
        return [row for row in self.rows if row.utilisation == utilisation]

    def none(self, utilisation: float) -> Row:
        """The row without placement."""
        rows = [row for row in self.at(utilisation) if not row.is_zoned]
        return next(row for row in rows if row.policy == "none")

    def zoned(self, utilisation: float) -> Row | None:
        """The host log on zones with the fewest writes, among practical policies."""
        rows = [row for row in self.at(utilisation) if row.is_zoned and row.dlwa is not None]
        own = [row for row in rows if row.policy in ("none", *REAL)]
        return min(own, key=lambda row: row.dlwa or 0.0, default=None)

    def best(self, utilisation: float, of: Sequence[str] = REAL) -> Row | None:
        """The row with the largest gain among these policies."""
        rows = [row for row in self.at(utilisation) if not row.is_zoned]
        found = [row for row in rows if row.policy in of and row.gain is not None]
        return max(found, key=lambda row: row.gain or 0.0, default=None)

    def bound(self, utilisation: float) -> Row | None:
        """The largest gain: usually that of the clairvoyant policy."""
        return self.best(utilisation, (*REAL, "clairvoyant"))

    def years(self, row: Row) -> Figure | None:
        """Upper bound of the lifetime under the trace, in years, if drive and rate are known."""
        duration, flash = self.facts["duration_s"], self.drive.flash_bytes
        if not duration or flash is None or self.drive.rated_cycles is None or row.dlwa is None:
            return None
        rate = float(self.facts["written_bytes"]) / float(duration)
        cycles = self.drive.rated_cycles
        return under_load.of_flash(flash, cycles, row.dlwa, rate * under_load.DAY_SECONDS)

    @cached_property
    def sentence(self) -> str:
        """The answer, for the highest utilisation tried."""
        level = max(self.utilisations)
        none, best, bound = self.none(level), self.best(level), self.bound(level)
        if none.dlwa is None:
            return f"No answer: {none.refused}."
        where = f"at {level:.0%} full"
        most = "" if bound is None or bound.gain is None else f"; {bound.gain:.2f} times at best"
        if best is None or best.gain is None:
            return f"No gain {where}: no rule tells the writes of this trace apart{most}."
        if not best.is_gain:
            said = "placement loses" if best.is_loss else "No gain"
            return (
                f"{said[0].upper()}{said[1:]} {where}: write amplification {none.dlwa:.2f} "
                f"without, {best.dlwa:.2f} with the best policy ({best.policy}){most}."
            )
        rule = self.best(level, RULES)
        text = (
            f"Placement gains {best.gain:.2f} times {where} with the policy {best.policy} (write "
            f"amplification {none.dlwa:.2f} without, {best.dlwa:.2f} with){most}"
        )
        if rule is not None and rule.is_gain and rule.gain is not None:
            share = (rule.gain - 1) / (best.gain - 1)
            text += f"; {percent(share)} of it comes from one rule: {rule.said_rule}"
        return f"{text}."

    @cached_property
    def fuller(self) -> str | None:
        """Sentence on the utilisation with placement at which write amplification equals the lowest
        utilisation's without.
        """
        levels = sorted(self.utilisations)
        if len(levels) < 2:
            return None
        target = self.none(levels[0]).dlwa
        if target is None:
            return None
        reached = [level for level in levels if _dlwa(self.best(level)) <= target * 1.005]
        without = [level for level in levels if _dlwa(self.none(level)) <= target * 1.005]
        if not reached or max(reached) <= max(without):
            return None
        return (
            f"With placement it may be {max(reached):.0%} full for the write amplification "
            f"that it has at {max(without):.0%} without ({target:.2f})."
        )

    @cached_property
    def zones(self) -> str | None:
        """Sentence on a host log on zones, if tested."""
        level = max(self.utilisations)
        none, best, log = self.none(level), self.best(level), self.zoned(level)
        if log is None or none.dlwa is None:
            return None
        placed = none.dlwa if best is None or best.dlwa is None else min(best.dlwa, none.dlwa)
        return (
            f"On zones a host log writes {log.dlwa:.2f} times what its user writes (policy "
            f"{log.policy}), and the drive moves nothing; a drive with handles programs "
            f"{placed:.2f} times as much, one without {none.dlwa:.2f}."
        )

    @cached_property
    def warnings(self) -> list[tuple[str, str]]:
        """Names and texts of warnings about misleading figures."""
        found: dict[str, str] = {}
        if self.facts.get("is_permutation"):
            found["permutation"] = (
                "the trace writes each page once before any is written again (random writes of fio "
                "without norandommap): this is the write amplification of a permutation, about "
                "half of that of independent draws"
            )
        for row in self.rows:
            for kind, text in _warnings(row):
                found.setdefault(kind, text)
        return list(found.items())

    def to_dict(self) -> dict[str, Any]:
        """The form of `ssdlab placement --json`."""
        rows = []
        for row in self.rows:
            figures = {key: value for key, value in vars(row).items() if value is not None}
            noisy, life = row.noisy, self.years(row)
            derived = {
                "open_share_of_spare": row.open_share,
                "life_years": None if life is None else life.value,
                "life_kind": None if life is None else life.kind,
                "noisy_handle": None if noisy is None else noisy["handle"],
            }
            rows.append({**figures, **{k: v for k, v in derived.items() if v is not None}})
        return {
            "trace": self.trace,
            "facts": dict(self.facts),
            "drive": vars(self.drive),
            "handles": self.handles,
            "rows": rows,
            "sentence": self.sentence,
            "fuller": self.fuller,
            "zones": self.zones,
            "warnings": [{"kind": kind, "message": text} for kind, text in self.warnings],
        }


def _dlwa(row: Row | None) -> float:
    return float("inf") if row is None or row.dlwa is None else row.dlwa


def _warnings(row: Row) -> list[tuple[str, str]]:
    found = []
    if row.units < FEW_UNITS:
        found.append(
            ("units_few", f"the drive has {row.units} reclaim units; below {FEW_UNITS} write "
             "amplification depends on their number")
        )  # fmt: skip
    pages = row.unit_bytes // PAGE
    if pages < FEW_PAGES:
        found.append(
            ("unit_small", f"the trace touches so little that a unit has {pages} pages of 4 KiB; "
             f"below {FEW_PAGES} write amplification comes out 10 to 15 % low")
        )  # fmt: skip
    if row.refused is None and not row.settled:
        found.append(
            ("transient", f"write amplification had not settled with the policy {row.policy}")
        )
    if row.handles_used > 1 and row.open_share > OPEN_SHARE:
        copies = row.handles_used if row.isolation == "persistent" else 1
        allowed = int(OPEN_SHARE * row.spare_units / OPEN_UNIT) + 1
        fit = max(allowed // 2 if copies > 1 else allowed - 1, 1)
        found.append(
            ("spare_in_open_units", f"{row.open_units} open units hold {percent(row.open_share)} "
             f"of the spare space ({row.isolation} isolation): placement may raise write "
             f"amplification; {fit} handle{'s' if fit > 1 else ''} would hold less than "
             f"{percent(OPEN_SHARE)}")
        )  # fmt: skip
    if row.policy in ("hint", "column", "own"):
        for it in row.handles:
            if it["foreign_invalidated"] > FOREIGN:
                found.append(
                    ("foreign_invalidation", f"{percent(it['foreign_invalidated'])} of the data of "
                     f"handle {it['handle']} (policy {row.policy}) is overwritten with other "
                     "handles")
                )  # fmt: skip
    if row.policy == "own" and (idle := [it for it in row.handles if it["host_bytes"] == 0]):
        names = ", ".join(str(it["handle"]) for it in idle)
        found.append(("handles_unused", f"the policy uses no handle {names}"))
    return found
