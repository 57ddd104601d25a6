//! The keys of a drive with a write buffer: cells, suspension, firmware, buffer, parity.

use super::parts::{PARTS, Part};
use crate::kit::config::Depth;
use options::{Duration, Maybe, Size, Values, choices, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// How the pages of a word line are programmed.
    pub enum Program {
        /// All at once.
        OneShot = "one-shot",
        /// All at once in a coarse pass, and again in a fine one after some word lines more.
        TwoPass = "two-pass",
        /// One after the other, each in its share of the time.
        PerPage = "per-page",
    }

    /// Which pages of a block share their cells.
    pub enum Pairing {
        /// None: cells of one bit.
        None = "none",
        /// Each even page with the next.
        Next = "next",
        /// Each with one that is four or six pages on, as in many parts of two bits.
        Stepped = "stepped",
    }

    /// What keeps an answered page safe while the other page of its cells is programmed.
    pub enum PairingGuard {
        /// Nothing: a power cut may take it.
        None = "none",
        /// It is copied before, within its plane.
        Copy = "copy",
        /// Capacitors, on which programs that are under way come to their end.
        Capacitors = "capacitors",
    }

    /// What the planes of a die do at a time.
    pub enum Planes {
        /// One operation, on the same page of each of the planes that take part.
        Shared = "shared",
        /// Reads of their own; programs and erases are of all.
        Independent = "independent",
    }

    /// What is cleaned and erased together.
    pub enum Reclaim {
        /// A block of each plane of one die.
        Block = "block",
        /// A block of each plane of every die.
        Superblock = "superblock",
    }

    /// How host writes and cleaning share the flash.
    pub enum Pace {
        /// Cleaning goes on with every write; writes are admitted at the rate that it leaves.
        Token = "token",
        /// Writes run ahead, and then cleaning pays at full speed what they owe.
        Burst = "burst",
        /// In bursts, but metered under a lasting backlog.
        Adaptive = "adaptive",
    }

    /// Which of the reads that wait for a die goes first.
    pub enum ReadOrder {
        /// The one that came first.
        Fifo = "fifo",
        /// The host's.
        HostFirst = "host-first",
    }
}

options! {
    /// Cells, and what is programmed at once: a *group*, planes x bits x page size.
    pub struct Cell as CellPartial {
        /// A part by name (`ssdlab list cells`), for the keys that say nothing else: bits, planes, page
        /// size, times and bus.
        preset: CellName = CellName::NONE,
        /// Bits a cell: pages of a word line in each plane.
        bits: u32 = 1,
        /// How the pages of a word line are programmed.
        program: Program = Program::OneShot,
        /// Word lines between the two passes of two-pass programming; until the second the data stay
        /// in the buffer.
        distance: u32 = 2,
        /// What the planes of a die do at a time.
        planes: Planes = Planes::Shared,
        /// Which pages of a block share their cells, of a drive without a write buffer that recovers from
        /// power cuts: the one that is programmed first may be lost when the other is cut.
        pairing: Pairing = Pairing::None,
        /// What keeps it safe meanwhile.
        pairing_guard: PairingGuard = PairingGuard::None,
    }

    /// Suspending programs and erases for reads.
    pub struct Suspend as SuspendPartial {
        /// From the decision to stop a program until the die can read; `none`: reads wait for its end.
        program: Maybe = Maybe::NONE,
        /// The same of an erase.
        erase: Maybe = Maybe::NONE,
        /// What going on again takes, beside the time that is left.
        resume: Duration = Duration::from_ns(0),
        /// A program stops only after a multiple of this time; 0 is anywhere.
        step: Duration = Duration::from_ns(0),
        /// The same of an erase.
        erase_step: Duration = Duration::from_ns(0),
        /// How often one operation is stopped at most, and how many reads go before one that waits; then
        /// it has its turn.
        limit: u32 = 8,
        /// What the host's reads cost the operation each time that they stop it, beside `resume`.
        cost: Duration = Duration::from_ns(0),
        /// Nothing is stopped while so many writes wait for the buffer.
        unless_backlog: Depth = Depth::UNLIMITED,
    }

    /// The controller's processors.
    pub struct Firmware as FirmwarePartial {
        /// Commands that are worked on at a time.
        cores: u32 = 1,
        /// What a read takes of a core.
        read: Duration = Duration::from_ns(0),
        /// What a write takes of a core.
        write: Duration = Duration::from_ns(0),
        /// What each logical page of a command takes beside.
        per_page: Duration = Duration::from_ns(0),
    }

    /// The write buffer. With it, pages gather and are programmed by groups, and a write is answered when
    /// it is in the buffer.
    pub struct Buffer as BufferPartial {
        /// What it holds of the host's data, filling, waiting and being programmed; `0B`: there is none.
        size: Size = Size::from_bytes(0),
        /// What it holds of the pages that cleaning moves; as much as of the host's when not given.
        copies: Option<Size> = None,
        /// A group that is not full after this time is programmed with padding.
        linger: Maybe = Maybe::NONE,
        /// The buffer survives a power cut: a flush need not wait for the flash.
        power_loss_protected: bool = true,
    }

    /// Parity over the dies.
    pub struct Parity as ParityPartial {
        /// Of so many groups of a superblock, one is parity; 0: none is.
        of: u32 = 0,
    }
}

/// The name of a part of the table of cells, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellName(Option<&'static Part>);

impl CellName {
    /// No part: every key speaks for itself.
    pub const NONE: CellName = CellName(None);

    /// Its row.
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
