"""Derives a drive from a data sheet in closed form; `calibrate` refines it.

Latencies determine firmware and sensing times, queue depth parallelism, bandwidth the program time,
capacity and raw capacity or the random-write rate the spare space, and endurance the rated cycles.
The rest is assumed, with a note.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ssdlab._core import InputError
from ssdlab.datasheet import arithmetic
from ssdlab.datasheet.arithmetic import Flash
from ssdlab.datasheet.contradictions import NOMINAL, link_rate
from ssdlab.datasheet.drive import Drive
from ssdlab.datasheet.given import LATENCIES, Given, link_of
from ssdlab.datasheet.nand import NAND, Nand
from ssdlab.units import BANDWIDTH, IOPS, size_text, text, time_text

#: Assumed spare space.
LEAST_SPARE = 0.05
#: Read latency limits: SLC below the first, QLC above the second.
FAST, SLOW = 30e-6, 100e-6
CHANNELS = 8
#: Bus rates by standard: NV-DDR3 of ONFI 4.2 and 4.1, ONFI 5.0 and beyond.
BUS_RATES = (1200e6, 1600e6, 2400e6, 3200e6, 3600e6)
#: Ratio of flash rate to link rate at which the link is the limit.
MARGIN = 1.15
COMMAND = 200e-9
#: Spare bytes of a page in bus transfers, as a share: 1/8, as in 16 KiB pages with 2 KiB.
SPARE_SHARE = 8
#: Maximum number of blocks per plane; beyond it blocks are larger.
MOST_BLOCKS = 1100
SLOTS = 256
#: Minimum time of firmware per request.
LEAST_FIRMWARE = 0.5e-6
#: Number of firmware cores if the latency allows it: with few, one write would delay many reads.
LEAST_CORES = 8


def solve(given: Given) -> Drive:
    """The drive that the sheet describes. Raises `InputError` if no parts fit it."""
    solver = _Solver(given)
    return solver.drive()


class _Solver:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.assumptions: list[str] = []
        self.origins: dict[str, tuple[str, str]] = {}

    def drive(self) -> Drive:
        given = self.given
        bits = self._bits()
        nand = NAND[bits]
        flash = self._flash(bits, nand)
        link = self._link()
        cores, read, write, latency, sensing = self._firmware(flash, nand, link)
        flash = replace(flash, read=sensing)
        independent = self._planes(flash)
        physical = self._physical(flash)
        word_lines, blocks = self._blocks(flash, nand, physical)
        self._rest(nand)
        self._measured_at()
        self._latencies()
        physical = blocks * word_lines * flash.dies * flash.group
        return Drive(
            name=given["name"],
            capacity=given["capacity"],
            flash=flash,
            independent=independent,
            word_lines=word_lines,
            blocks=blocks,
            erase=nand.erase,
            cores=cores,
            firmware_read=read,
            firmware_write=write,
            link=link,
            link_latency=latency,
            slots=self._slots(),
            protected=given["power_loss_protected"],
            cycles=self._cycles(nand, physical),
            origins=self.origins,
            assumptions=self.assumptions,
        )

    def _measured_at(self) -> None:
        """Note assumed queue depths of rates."""
        for key in ("rand_read", "rand_write", "fresh_write"):
            if key in self.given and f"{key}_depth" not in self.given:
                depth = self.given[f"{key}_depth"]
                self._assume(f"{key} with {depth} requests outstanding: {key}_depth is not stated")

    def _latencies(self) -> None:
        """Note assumed latencies."""
        for key in LATENCIES:
            if key not in self.given:
                said = self.given.shown(key)
                self._assume(f"{said}: not stated; typical of these cells and this link")
                for name, (kind, why) in self.origins.items():
                    if kind == "fitted" and said in why:
                        self.origins[name] = ("guess", said)

    def _assume(self, what: str) -> None:
        self.assumptions.append(what)

    def _bits(self) -> int:
        given, latency = self.given, self.given["read_latency"]
        if "bits" in given:
            self.origins["cell.bits"] = ("published", "the sheet")
            return int(given["bits"])
        if latency < FAST:
            bits, why = 1, f"a read latency of {given.written.get('read_latency')}"
        elif latency > SLOW and given["mapping_unit"] > arithmetic.BLOCK:
            bits, why = 4, "a mapping unit above 4 KiB and a read latency above 100 us"
        else:
            bits, why = 3, "typical of most drives"
        self._assume(f"{bits} bit{'s' * (bits > 1)} a cell: not stated; taken from {why}")
        self.origins["cell.bits"] = ("guess", why)
        return bits

    def _flash(self, bits: int, nand: Nand) -> Flash:
        """Number of dies and program time that yield the sheet's write rate."""
        given = self.given
        group = nand.planes * bits * nand.page
        rate = given["seq_write"]
        dies, source = self._dies(nand)
        program = arithmetic.program_time(dies, group, rate)
        low, high = nand.program
        if "dies" not in given and not low <= program <= high:
            bound = low if program < low else high
            fitting = _whole(rate * bound / group, up=program < low)
            self._assume(
                f"{fitting} dies: {dies} of {size_text(nand.die)} ({source}) would program a word "
                f"line in {time_text(program)} at {given.written['seq_write']}, outside "
                f"{time_text(low)} to {time_text(high)} of cells of {bits} bits"
            )
            dies, program = fitting, arithmetic.program_time(fitting, group, rate)
        elif "dies" not in given:
            self._assume(f"{dies} dies of {size_text(nand.die)}: {source}")
        channels = max(n for n in range(1, CHANNELS + 1) if dies % n == 0)
        self._assume(
            f"{channels} channels, {nand.planes} planes of {size_text(nand.page)} pages, sensing, "
            f"erase and die size: not stated; taken from {nand.part}"
        )
        kind = "published" if "dies" in given else "guess"
        self.origins |= {
            "channels": ("guess", "typical of most controllers"),
            "dies_per_package": (kind, "the sheet" if kind == "published" else source),
            "planes_per_die": ("guess", nand.part),
            "page_size": ("guess", nand.part),
            "spare_size": ("guess", "an eighth of the page"),
            "timing.erase": ("guess", nand.part),
            "timing.command": ("guess", "ONFI: command and address cycles"),
            "timing.program": ("fitted", f"to {given.shown('seq_write')}: P = dies x group / rate"),
        }
        return Flash(
            channels=channels,
            dies=dies,
            planes=nand.planes,
            bits=bits,
            page=nand.page,
            spare=nand.page // SPARE_SHARE,
            read=nand.read,
            program=program,
            command=COMMAND,
            bus=self._bus(channels, nand),
            unit=self._unit(nand),
        )

    def _unit(self, nand: Nand) -> int:
        unit = int(self.given["mapping_unit"])
        kind = "published" if "mapping_unit" in self.given else "guess"
        self.origins["logical_page"] = (kind, "the sheet" if kind == "published" else "usual")
        return unit

    def _dies(self, nand: Nand) -> tuple[int, str]:
        given = self.given
        if "dies" in given:
            return int(given["dies"]), "the sheet"
        if "raw_capacity" in given:
            raw, source = given["raw_capacity"], given.shown("raw_capacity")
            return max(1, round(raw / nand.die)), source
        minimum = given["capacity"] * (1 + LEAST_SPARE) / nand.die
        dies = _whole(minimum, up=True)
        source = f"the next {CHANNELS} dies" if dies >= CHANNELS else "whole dies"
        return dies, f"{source} above the capacity and {100 * LEAST_SPARE:g} % of spare"

    def _bus(self, channels: int, nand: Nand) -> float:
        """The slowest bus standard that does not limit the link."""
        needed = MARGIN * max(self.given["seq_read"], self.given["seq_write"])
        page = nand.page * (1 + 1 / SPARE_SHARE)
        for rate in BUS_RATES:
            if channels * nand.page / (page / rate + COMMAND) >= needed:
                break
        self._assume(f"a bus of {rate / 1e6:g} MT/s: the slowest standard that carries seq_read")
        self.origins["timing.bus_rate"] = ("guess", "the slowest standard that carries seq_read")
        return rate

    def _link(self) -> float:
        given = self.given
        nominal = link_rate(given["interface"])
        said = str(given.written["interface"])
        if said != given["interface"] and link_of(said)[1]:
            self._assume(f"{given['interface']}: {said} does not say how many lanes")
        rate = float(min(nominal, max(given["seq_read"], given["seq_write"])))
        if rate < nominal:
            self._assume(
                f"the link carries {text(BANDWIDTH, rate)} of its {text(BANDWIDTH, nominal)}: "
                f"what {given['interface']} and the controller leave, by seq_read"
            )
        self.origins["host_link.bandwidth"] = ("fitted", f"to {given.shown('seq_read')}")
        return rate

    def _firmware(
        self, flash: Flash, nand: Nand, link: float
    ) -> tuple[int, float, float, float, float]:
        """Cores, their times per read and write, link latency, and sensing time."""
        given = self.given
        wire = arithmetic.BLOCK / link
        write = given["write_latency"] - given["mapping_unit"] / link
        if given["mapping_unit"] > arithmetic.BLOCK:
            self._assume(
                f"write_latency and fresh_write are of {size_text(given['mapping_unit'])}, a unit "
                "of the map: of less the rest is read first"
            )
        if write < LEAST_FIRMWARE:
            raise InputError(
                f"{given.source}: {given.shown('write_latency')} contradicts "
                f"{given.shown('interface')}: 4 KiB alone take {wire * 1e6:.2f} us on the link"
            )
        rest = given["read_latency"] - flash.transfer(arithmetic.BLOCK) - wire
        # Sensing takes the part's time, unless that leaves the cores too little.
        firmware = max(
            LEAST_FIRMWARE, LEAST_CORES / given["rand_read"] if "rand_read" in given else 0
        )
        sensing = min(flash.read, max(nand.fastest, rest - firmware), rest - LEAST_FIRMWARE)
        if sensing < nand.fastest:
            fastest, read = time_text(nand.fastest), given.shown("read_latency")
            raise InputError(
                f"{given.source}: {read} contradicts bits = {flash.bits}: sensing takes at least "
                f"{fastest}, transfers {time_text(given['read_latency'] - rest)}"
            )
        read, latency = rest - sensing, 0.0
        rates = [(given[key], time) for key, time in (("rand_read", read), ("fresh_write", write))
                 if key in given]  # fmt: skip
        cores = min((arithmetic.cores_for(*each)[0] for each in rates), default=CHANNELS)
        if "rand_read" in given:
            read = min(rest - nand.fastest, cores / given["rand_read"])
            self.origins["firmware.read"] = ("fitted", f"to {given.shown('rand_read')}")
            self.origins["timing.read"] = ("fitted", f"to {given.shown('read_latency')}")
        else:
            self.origins["firmware.read"] = ("fitted", f"to {given.shown('read_latency')}")
            self.origins["timing.read"] = ("guess", nand.part)
            self._assume("firmware does not limit reads: no rate of random reads is stated")
        if "fresh_write" in given:
            latency = max(0.0, write - cores / given["fresh_write"])
            write -= latency
        self.origins["firmware.write"] = ("fitted", f"to {given.shown('write_latency')}")
        self.origins["firmware.cores"] = ("fitted", "rates x times of firmware")
        sensing = rest - read - latency
        return cores, read, write, latency, sensing

    def _planes(self, flash: Flash) -> bool:
        """True if the random-read rate needs independent planes."""
        rate: float | None = self.given.get("rand_read")
        shared = flash.read_rate(independent=False)
        if rate is None:
            self._assume("planes that sense together: no rate of random reads is stated")
            return False
        independent = MARGIN * rate > shared
        if independent:
            most = flash.read_rate(independent=True)
            why = f"together they allow {text(IOPS, shared)}, on their own {text(IOPS, most)}"
            if rate > most:
                raise InputError(
                    f"{self.given.source}: {self.given.shown('rand_read')} contradicts "
                    f"{self.given.shown('read_latency')}: {flash.dies} dies of {flash.planes} "
                    f"planes that sense in {time_text(flash.read)} allow {text(IOPS, most)}; "
                    "give dies, if there are more"
                )
            self._assume(f"planes that sense on their own: {why}")
            self.origins["cell.planes"] = ("fitted", f"to {self.given.shown('rand_read')}: {why}")
        return independent

    def _physical(self, flash: Flash) -> float:
        """Data bytes of the flash: from the write amplification, the random-write rate, or as
        given.
        """
        given, capacity = self.given, self.given["capacity"]
        raw = given.get("raw_capacity")
        nominal = raw if raw is not None else flash.dies * self._die(flash)
        if "write_amplification" in given:
            self._spare("write_amplification", "uniform random writes amplify so")
            return float(capacity / arithmetic.utilisation(given["write_amplification"]))
        if raw is not None or "rand_write" not in given:
            self._refuse_promise(flash, raw)
            self._assume(
                f"{size_text(nominal)} of flash, {100 * (nominal / capacity - 1):.1f} % more than "
                f"the capacity: {'the sheet' if raw is not None else 'whole dies'}"
            )
            source = ("published", "the sheet") if raw is not None else ("guess", "whole dies")
            self.origins["blocks_per_plane"] = source
            return float(nominal)
        amplification, needed = self._for_random_writes(flash)
        self._spare("rand_write", f"the write law asks for an amplification of {amplification:.2f}")
        return min(needed, 4.0 * float(capacity))

    def _for_random_writes(self, flash: Flash) -> tuple[float, float]:
        """Write amplification that the random-write rate allows, and the flash size for it."""
        given = self.given
        rate = given["rand_write"] * self._units(flash)
        amplification = flash.amplification_of(rate)
        used = max(arithmetic.utilisation(amplification), 1e-9)
        return amplification, float(given["capacity"]) / used

    def _units(self, flash: Flash) -> float:
        """Mapping units per random write of the sheet."""
        return max(1.0, float(self.given["rand_write_block"] / flash.unit))

    def _refuse_promise(self, flash: Flash, raw: float | None) -> None:
        """Reject a random-write rate for which the stated flash is too small.

        A stated rate is a lower bound: a faster drive meets it, so the flash stays as stated.
        """
        given = self.given
        if raw is None or "rand_write" not in given:
            return
        _, needed = self._for_random_writes(flash)
        if needed > NOMINAL[1] * raw:
            usual = arithmetic.amplification(given["capacity"] / raw)
            possible = flash.random_write_rate(usual) / self._units(flash)
            raise InputError(
                f"{given.source}: {given.shown('rand_write')} contradicts "
                f"{given.shown('raw_capacity')}: {given.written['capacity']} on it amplify random "
                f"writes by {usual:.2f}, which at {given.written['seq_write']} allows "
                f"{text(IOPS, possible)}"
            )

    def _die(self, flash: Flash) -> float:
        """Size of the dies that hold the capacity and the minimum spare space."""
        nand = NAND[flash.bits]
        minimum = self.given["capacity"] * (1 + LEAST_SPARE) / flash.dies
        return math.ceil(minimum / nand.die - 1e-9) * nand.die if minimum > nand.die else nand.die

    def _spare(self, key: str, why: str) -> None:
        shown = self.given.shown(key)
        self.origins["blocks_per_plane"] = ("fitted", f"to {shown}: {why}")
        self._assume(f"spare space by {shown}: {why}")

    def _blocks(self, flash: Flash, nand: Nand, physical: float) -> tuple[int, int]:
        """Word lines per block, and blocks per plane."""
        lines = physical / (flash.dies * flash.group)
        word_lines = nand.word_lines * math.ceil(lines / nand.word_lines / MOST_BLOCKS)
        size = size_text(word_lines * flash.bits * flash.page)
        self._assume(f"blocks of {size}: not stated")
        self.origins["pages_per_block"] = ("guess", nand.part)
        return word_lines, max(8, round(lines / word_lines))

    def _cycles(self, nand: Nand, physical: float) -> int:
        given, capacity = self.given, self.given["capacity"]
        written = given.get("tbw")
        if written is None and "dwpd" in given:
            written = arithmetic.total_bytes_written(capacity, given["dwpd"], given["years"])
        if written is None:
            self._assume(
                f"{nand.cycles} rated cycles: no endurance is stated; typical of these cells"
            )
            self.origins["wear.rated_cycles"] = ("guess", "typical of these cells")
            return nand.cycles
        amplification = given.get("write_amplification")
        if amplification is None:
            amplification = arithmetic.amplification(capacity / physical)
        self._assume(
            f"endurance is stated for random writes over all of the drive, which amplify by "
            f"{amplification:.2f}"
        )
        key = "tbw" if "tbw" in given else "dwpd"
        self.origins["wear.rated_cycles"] = ("fitted", f"to {given.shown(key)}")
        return round(arithmetic.rated_cycles(written, amplification, physical))

    def _slots(self) -> int:
        """Command slots: the link's, or as many as the sheet's loads need."""
        given = self.given
        return given.most_slots or max(SLOTS, given.depth("rand_read"), given.depth("rand_write"))

    def _assumed_slots(self) -> str:
        return "" if self.given.most_slots is not None else f", {self._slots()} command slots"

    def _rest(self, nand: Nand) -> None:
        """Parameters that no data sheet states."""
        self._assume(
            "suspension of programs and erases, a buffer of two stripes, cleaning at a steady "
            f"pace{self._assumed_slots()}: no data sheet says; as of the Samsung PM9A3"
        )
        for key in (
            "suspend.program",
            "suspend.erase",
            "suspend.step",
            "suspend.limit",
            "suspend.unless_backlog",
        ):
            self.origins[key] = ("guess", "fitted to the Samsung PM9A3")
        for key in ("buffer.size", "buffer.copies", "cleaning.pace", "host_link.queue_depth"):
            self.origins[key] = ("guess", "as of the Samsung PM9A3")
        if self.given.most_slots is not None:
            self.origins["host_link.queue_depth"] = ("published", "native command queuing of SATA")
        stated = "power_loss_protected" in self.given
        self.origins |= {
            "capacity": ("published", "the sheet"),
            "cleaning.min_free": ("guess", "a few superblocks"),
            "buffer.power_loss_protected": (
                ("published", "the sheet") if stated else ("guess", "not stated")
            ),
            "host_link.latency": ("fitted", f"to {self.given.shown('write_latency')}"),
            "scale": ("guess", "so that a run takes seconds; without it all blocks are whole"),
        }


def _whole(dies: float, up: bool) -> int:
    """Whole number of dies, a multiple of the channels if there are several."""
    step = CHANNELS if dies >= CHANNELS else 1
    number = math.ceil(dies / step - 1e-9) if up else math.floor(dies / step + 1e-9)
    return max(1, number) * step
