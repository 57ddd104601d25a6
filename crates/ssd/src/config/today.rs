//! Options that drives of 2008 did not have: multi-bit cells, suspension, processors, write buffer,
//! parity.

use super::applies::{BACKLOGS, BUFFERED, GUARDS, LIMITS, PAIRS, STRIPED, TWO_PASS, YIELDS};
use super::parts::{PARTS, Part};
use crate::device::kit::config::Depth;
use options::{Duration, Maybe, Size, Values, choices, conditions, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// Programming of a word line's pages.
    pub enum Program {
        /// All pages at once.
        OneShot = "one-shot",
        /// All pages in a coarse pass, and again in a fine pass some word lines later.
        TwoPass = "two-pass",
        /// One page at a time, each in its share of the time.
        PerPage = "per-page",
    }

    /// Pages of a block that share cells.
    pub enum Pairing {
        /// None: single-bit cells.
        None = "none",
        /// Each even page with the next page.
        Next = "next",
        /// Each page with one four or six pages later, as in many MLC parts.
        Stepped = "stepped",
    }

    /// Protection of an acknowledged page while its paired page is programmed.
    pub enum PairingGuard {
        /// No protection: a power cut may destroy it.
        None = "none",
        /// A copy within its plane beforehand.
        Copy = "copy",
        /// Capacitors supply power until running programs finish.
        Capacitors = "capacitors",
    }

    /// Independence of the planes of a die in reads.
    pub enum Planes {
        /// All planes run one operation together, on the same page.
        Shared = "shared",
        /// Each plane reads independently; programs and erases are multi-plane.
        Independent = "independent",
    }

    /// Unit of cleaning and erasing.
    pub enum Reclaim {
        /// A block of each plane of one die.
        Block = "block",
        /// A block of each plane of every die.
        Superblock = "superblock",
    }

    /// Sharing of the flash between host writes and cleaning.
    pub enum Pace {
        /// Cleaning runs continuously; writes are admitted at the rate that it leaves.
        Token = "token",
        /// Bursts: writes run ahead, then cleaning catches up at full speed.
        Burst = "burst",
        /// In bursts, but as token under a lasting backlog.
        Adaptive = "adaptive",
    }

    /// Order of the reads waiting for a die.
    pub enum ReadOrder {
        /// In order of arrival.
        Fifo = "fifo",
        /// Host reads first.
        HostFirst = "host-first",
    }
}

conditions! {
    Suspend:
    SUSPENDS = "where programs or erases are suspended (device.suspend.program, erase)",
        |c| c.program.ns().is_some() || c.erase.ns().is_some();
    STOPS_PROGRAMS = "where programs are suspended (device.suspend.program)",
        |c| c.program.ns().is_some();
    STOPS_ERASES = "where erases are suspended (device.suspend.erase)", |c| c.erase.ns().is_some();
}

conditions! {
    Firmware:
    CORES_WORK = "where commands take core time (device.firmware.read, write, per_page)",
        |c| c.read.ns() + c.write.ns() + c.per_page.ns() > 0;
}

options! {
    /// Cells and program groups: a *group*, planes x bits x page size.
    pub struct Cell as CellPartial {
        /// Flash part: sets bits, planes, page size, times and bus where not given.
        preset: CellName = CellName::NONE,
        /// Bits per cell, which is also the pages of a word line in each plane. Without a write buffer pages are
        /// programmed one by one, each in its share of the time of a word line.
        bits: u32 = 1,
        /// Programming of a word line's pages.
        program: Program where BUFFERED = Program::OneShot,
        /// Word lines between the two passes of two-pass programming; the data stay in the buffer until the
        /// second pass.
        distance: u32 where TWO_PASS = 2,
        /// Independence of the planes of a die in reads.
        planes: Planes where BUFFERED = Planes::Shared,
        /// Pages of a block that share cells: a power cut while one is programmed may destroy the
        /// other.
        pairing: Pairing where PAIRS = Pairing::None,
        /// Protection of paired pages during programming.
        pairing_guard: PairingGuard where GUARDS = PairingGuard::None,
    }

    /// Suspending programs and erases for reads.
    pub struct Suspend as SuspendPartial {
        /// Program suspend latency, until the die can read; `none`: reads wait for the program to end.
        program: Maybe = Maybe::NONE,
        /// Erase suspend latency, likewise.
        erase: Maybe where YIELDS = Maybe::NONE,
        /// Resume latency, added to the remaining time of the operation.
        resume: Duration where SUSPENDS = Duration::from_ns(0),
        /// A program is suspended only at a multiple of this time; 0: at any time.
        step: Duration where STOPS_PROGRAMS = Duration::from_ns(0),
        /// An erase is suspended only at a multiple of this time; 0: at any time.
        erase_step: Duration where STOPS_ERASES = Duration::from_ns(0),
        /// Maximum number of suspensions of one operation, and of reads served ahead of a waiting one.
        limit: u32 where LIMITS = 8,
        /// Extra time of the operation per suspension, in addition to `resume`.
        cost: Duration where SUSPENDS = Duration::from_ns(0),
        /// No suspension while at least this many writes wait for the write buffer.
        unless_backlog: Depth where BACKLOGS = Depth::UNLIMITED,
    }

    /// The controller's processors.
    pub struct Firmware as FirmwarePartial {
        /// Processor cores of the controller: commands processed at a time.
        cores: u32 where CORES_WORK = 1,
        /// Core time of a read command.
        read: Duration = Duration::from_ns(0),
        /// Core time of any other command: a write, a trim or a flush.
        write: Duration = Duration::from_ns(0),
        /// Additional core time per logical page of a read or write; a trim counts as one page.
        per_page: Duration = Duration::from_ns(0),
    }

    /// The write buffer. With it, pages gather and are programmed by groups, and a write is answered when
    /// it is in the buffer.
    pub struct Buffer as BufferPartial {
        /// Write buffer for host data (filling, waiting and being programmed); `0B`: no write buffer.
        size: Size = Size::from_bytes(0),
        /// Buffer for pages that cleaning moves; as large as the one for host data if not given.
        copies: Option<Size> where BUFFERED = None,
        /// A partly filled program group is padded and programmed after this time.
        linger: Maybe where BUFFERED = Maybe::NONE,
        /// Power-loss protection of the buffer: its data survive a power cut, and a flush does not wait for the flash.
        power_loss_protected: bool where BUFFERED = true,
    }

    /// Parity over the dies.
    pub struct Parity as ParityPartial {
        /// One group in N of a superblock is parity; 0: no parity.
        of: u32 = 0,
        /// The pages of a stripe lie on other word lines of each die, where data age (device.media.model): word lines
        /// that age faster than others take one page of a stripe, not all.
        stagger: bool where STRIPED = false,
    }
}

impl Suspend {
    /// True if reads suspend operations.
    pub(crate) fn suspends(&self) -> bool {
        self.program.ns().is_some() || self.erase.ns().is_some()
    }
}

/// Name of a row in the table of parts, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellName(Option<&'static Part>);

impl CellName {
    /// No part: all keys have their own values.
    pub const NONE: CellName = CellName(None);

    /// Row of the part.
    pub fn part(self) -> Option<&'static Part> {
        self.0
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("none", |part| part.name))
    }
}

impl FromStr for CellName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(CellName::NONE);
        }
        if let Some(part) = PARTS.iter().find(|part| part.name == text) {
            return Ok(CellName(Some(part)));
        }
        let names = || PARTS.iter().map(|part| part.name);
        let hint = options::nearest(text, names())
            .map(|name| format!(" (did you mean \"{name}\"?)"))
            .unwrap_or_default();
        let names: Vec<_> = names().collect();
        Err(format!("\"{text}\" is not one of none, {}{hint}", names.join(", ")))
    }
}

text_setting!(CellName: "the name of a flash part (ssdlab list cells), or \"none\"", cell_names());

fn cell_names() -> Values {
    let none = ("none", "Every key speaks for itself.");
    let parts = PARTS.iter().map(|part| (part.name, part.source));
    Values::words(&std::iter::once(none).chain(parts).collect::<Vec<_>>())
}
