"""Constants of experiments that were fitted to published figures, with those figures.

Agreement with a figure that was used in a fit proves nothing. So an item names the constants of its
experiments, which decide the verdict of each row: "fitted" if a constant was fitted to the compared
figure, "arithmetic" if that figure follows from fitted figures regardless of the simulation. The
item and its row identify a published figure ("table4: no gang, mean latency, us"); `*` stands for
any text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal


@dataclass(frozen=True)
class Derived:
    """A constant of an experiment, fitted to published figures."""

    constant: str
    """Description, with its preset, if any."""
    figures: tuple[str, ...]
    """The figures to which it was fitted."""
    follows: tuple[str, ...] = ()
    """Figures that follow from it by arithmetic alone: no simulation could miss them."""
    preset: str = ""
    """The preset of a device or workload with the constant."""


def consumed(
    figures: Iterable[str], derived: Iterable[Derived]
) -> tuple[Literal["fitted", "arithmetic"], str] | None:
    """Verdict and constant of a row that compares with `figures`; None if it is judged."""
    known = tuple(figures)
    chosen = list(derived)
    for it in chosen:
        if _any(known, it.follows):
            return "arithmetic", it.constant
    for it in chosen:
        if _any(known, it.figures):
            return "fitted", it.constant
    return None


def _any(figures: Iterable[str], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(figure, pattern) for figure in figures for pattern in patterns)


#: Table 1 has the constants of the preset.
PART = Derived(
    "cell times and the speed of the pins of agrawal2008",
    (
        "table1: page read to register, us",
        "table1: serial transfer of a page's 4096 bytes, us",
        "table1: page program from register, us",
        "table1: block erase, us",
    ),
    preset="agrawal2008",
)
#: Internals, request sizes and queue depths are not published: they were chosen to match the rates.
DRIVES_OF_2008 = tuple(
    Derived(
        f"the inside of {preset}, and size and depth of the requests",
        (f"table2: {name}, sequential *", f"table2: {name}, random 4 KiB *"),
        preset=preset,
    )
    for preset, name in (("usb-stick", "USB"), ("laptop-ssd", "MTron"), ("enterprise-ssd", "Zeus"))
) + (
    Derived(
        "the inside of iodrive, and size and depth of the requests",
        ("table2: FusionIO, sequential *", "table2: FusionIO, random 4 KiB reads/s"),
        preset="iodrive",
    ),
)
EXCHANGE = Derived("request sizes of paper-exchange", ("table4: *",), preset="paper-exchange")
TPCC_SKEWED = Derived(
    "locality and request sizes of paper-tpcc-skewed",
    (
        "table5: TPC-C, inter-plane: blocks cleaned in a package",
        "table5: TPC-C, inter-plane: cleaning efficiency, %",
        "table5: TPC-C, copy-back: cleaning efficiency, %",
    ),
    preset="paper-tpcc-skewed",
)
#: All writes are sequential because all victim data is invalid; that determines their number.
IOZONE = Derived(
    "order and number of the writes of paper-iozone",
    (
        "table5: IOzone: blocks cleaned in a package",
        "table5: IOzone: time to clean a block, ms",
        "table5: IOzone: cleaning efficiency, %",
    ),
    follows=("table5: IOzone: blocks cleaned in a package",),
    preset="paper-iozone",
)
POSTMARK = Derived(
    "order of the writes of paper-postmark",
    ("table5: Postmark: time to clean a block, ms", "table5: Postmark: cleaning efficiency, %"),
    preset="paper-postmark",
)
#: Independent of the simulation: Table 5 has the blocks cleaned, the last row the migrations.
WEAR_MEAN = Derived(
    "50 rated cycles less the blocks cleaned and migrated, over 16,384 blocks",
    (),
    follows=("table7: *: mean erasures left",),
)
WEAR_LENGTH = Derived(
    "length of the run: 101,170 blocks cleaned (Table 5)",
    ("table5: IOzone: blocks cleaned in a package",),
)
WEAR_FILE = Derived(
    "832 blocks of a package that are written",
    ("table8: Greedy: blocks >= 100 %", "table8: + Rate-limiting: blocks >= 100 %"),
)
WEAR_COPY_BACK = Derived(
    "pages are copied back, as 4.7 % leaves no time for transfers",
    ("table7: mean latency that migration adds, %, pages copied back",),
)
SAMSUNG_2007 = Derived(
    "times, link and logical page of samsung-2007, one request at a time",
    (
        "gray: plateau of sequential reads, MB/s",
        "gray: plateau of sequential writes, MB/s",
        "gray: random reads of 8 KB, 4 deep, a second",
        "gray: random writes of 8 KB, 4 deep, cache off, a second",
        'gray: sequential reads of "512-KB", 4 deep, a second',
        'gray: sequential writes of "512-KB", 4 deep, a second',
        "gray: a random write of 8 KB, ms",
        "gray: what four deep gains over one",
    ),
    preset="samsung-2007",
)
MTRON = Derived(
    "link, pins, programs and logical page of mtron, two requests at a time",
    (
        "slides: MTron: reads of 1 MiB in sequence, MB/s",
        "slides: MTron: writes of 1 MiB in sequence, MB/s",
        "slides: MTron: reads of 4 KiB in sequence a second",
        "slides: MTron: reads of 4 KiB at random a second",
        "slides: MTron: writes of 4 KiB at random a second",
    ),
    preset="mtron",
)
SCSI_15K = Derived(
    "order of the requests in scsi-15k, which keeps three outstanding to 200 a second",
    ("gray: array of disks, requests/s", "disks: 90 of these, striped: random reads/s"),
    preset="scsi-15k",
)
SATA_2008 = Derived(
    "mean seek of sata-2008, from 83 accesses a second",
    ("disks: SATA of 2008: random reads/s", "fiveminute: *the disk of 2007, h, simulated rate"),
    preset="sata-2008",
)
ZEUS_LINEAR = Derived(
    "coefficients of zeus-linear",
    # Wall-clock figures of a served device depend on the machine.
    ("maghraoui: [sr]*: [AB], us*",),
    preset="zeus-linear",
)
FDP_USED = Derived(
    "share of the flash of two FDP drives that holds data, 0.845 and 0.92",
    (
        "cachelib-fdp: one stream, 7.68 TB, mean of a pass",
        "cachelib-fdp: one stream, 3.84 TB, mean of a pass",
    ),
)

#: Constants of the controller, the dies and the zone commands.
ZN540 = (
    Derived(
        "firmware times of wd-zn540",
        (
            "zn540: write 4 KiB *",
            "zn540: append 4 KiB *",
            "zn540: finish of an empty zone, us",
        ),
        preset="wd-zn540",
    ),
    Derived(
        "dies, buses and the way to the host of wd-zn540",
        (
            "zn540: read 4 KiB, depth 1, K/s",
            "zn540: read 4 KiB, depth 16, K/s",
            "zn540: read 4 KiB, depth 256, K/s",
            "zn540: read 4 KiB beside writes of 0 MiB/s, us",
            "zn540: read 4 KiB beside writes of 500 MiB/s, us",
        ),
        preset="wd-zn540",
    ),
    Derived(
        "times of programs and resets of wd-zn540",
        (
            "zn540: finish, one page written, ms",
            "zn540: reset, open, nothing written, ms",
            "zn540: reset, open, a sixteenth written, ms",
            "zn540: reset, open, all written, ms",
        ),
        preset="wd-zn540",
    ),
)
