//! Sharing of the flash between host writes and cleaning.
//!
//! The *room* of the drive is counted in logical pages: the writable pages, and the scanned pages
//! of victims, which return with the erasure. A host write takes one, a superseded page that is
//! scanned gives one, a moved page does neither. Cleaning keeps the room at what the threshold of
//! cleaning demands; Cleaning restores the room demanded by its threshold;
//!
//! - `token`: cleaning continues whenever space is missing, and writes are admitted while little is
//!   missing. Below that limit a meter admits host commands at the rate that cleaning leaves, which the
//!   controller estimates from its last victims.
//! - `burst`: nothing is cleaned until the pending copies fill a quantum of groups. Then cleaning has the
//!   flash, and the host the room of a burst in the buffer, until no space is missing.
//! - `adaptive`: bursts, and `token` from when several of them came close upon each other until no write
//!   waits.

use crate::config::{Cleaning, Pace as Rule};
use engine::Time;

/// The host's rate is measured in windows of this length, ns.
const WINDOW_NS: Time = 32_000_000;
/// A backlog is lasting when this number of bursts in a row came after a gap shorter than this multiple
/// of the duration of the burst.
const LASTING_BURSTS: u32 = 3;
const SHORT_PAUSE: f64 = 2.5;
/// Weight of the last victim in the average.
const LAST_VICTIM: f64 = 0.125;

/// Die time of writing a logical page, which determines the write rate left by cleaning.
#[derive(Debug, Clone)]
pub(super) struct Law {
    pub(super) dies: f64,
    /// Time to program a group, ns, with its share of parity.
    pub(super) program_ns: f64,
    /// Logical pages of a group, and of a parallel read of the planes.
    pub(super) group: f64,
    pub(super) row: f64,
    /// Logical pages per flash page, at least one.
    pub(super) page: f64,
    pub(super) planes: f64,
    /// Time to sense a row, and to move one of its pages, ns.
    pub(super) sense_ns: f64,
    pub(super) transfer_ns: f64,
}

impl Law {
    /// Time of the whole drive for a page that the host writes, where victims are valid to a share of
    /// `valid`: with A = 1 / (1 - valid), A pages are programmed and A are scanned, a row being read if
    /// any of its pages is valid, and its pages moved over the bus where theirs are.
    pub(super) fn page_ns(&self, valid: f64) -> f64 {
        // A policy may choose blocks that are wholly valid.
        let amplification = 1.0 / (1.0 - valid).max(1e-3);
        let none = |pages: f64| libm::pow(1.0 - valid, pages);
        let read = self.sense_ns * (1.0 - none(self.row))
            + self.planes * self.transfer_ns * (1.0 - none(self.page));
        let programmed = self.program_ns / self.group;
        amplification * (programmed + read / self.row) / self.dies
    }
}

/// Permission for a host write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Now,
    /// Permitted from this time on.
    At(Time),
    /// Blocked until cleaning proceeds.
    Blocked,
}

/// The way in which host and cleaning share the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Free,
    /// Writes are as if the rule were `token`.
    Metered,
    Burst,
}

/// The state of a rule. It has many fields because three rules share them.
#[derive(Debug, Clone)]
pub struct Pace {
    config: Cleaning,
    law: Law,
    /// Room by domain, and in all; and how much each should have.
    room: Vec<i64>,
    cleaning: Vec<bool>,
    total: i64,
    wanted: i64,
    wanted_in_all: i64,
    /// Target room by domain unless cleaning is postponed, and the minimum for host writes.
    usual: i64,
    least: i64,
    puts_off: bool,
    /// Domains with a requested victim, even with enough room.
    asked: Vec<bool>,
    /// Shortfall at which `token` stops the host.
    slack: i64,
    /// Mean share of valid pages of the last victims, and the resulting cost of a host page.
    valid: f64,
    page_ns: f64,
    sharing: Sharing,
    /// True after an unreported change of the sharing.
    has_changed: bool,
    /// Pages that the host may still write during the burst.
    host_left: i64,
    /// When the last burst began; how long the last one took that has ended, and when that was; and how
    /// many have followed each other closely.
    began: Time,
    last: (Time, Time),
    close: u32,
    /// Time at which the meter has passed all admitted writes.
    through: Time,
    window: (Time, u64, u64),
}

impl Pace {
    /// A pace with the present and target room of the domains.
    pub(super) fn new(config: &Cleaning, law: Law, wanted: i64, slack: i64) -> Pace {
        Pace {
            config: config.clone(),
            page_ns: law.page_ns(0.0),
            law,
            room: Vec::new(),
            cleaning: Vec::new(),
            total: 0,
            wanted,
            wanted_in_all: 0,
            usual: wanted,
            least: 0,
            puts_off: false,
            asked: Vec::new(),
            slack,
            valid: 0.0,
            sharing: if config.pace == Rule::Token { Sharing::Metered } else { Sharing::Free },
            has_changed: false,
            host_left: 0,
            began: 0,
            last: (0, 0),
            close: 0,
            through: 0,
            window: (0, 0, 0),
        }
    }

    /// This pace with windows that begin at `now`, when the drive is turned on.
    pub(super) fn since(self, now: Time) -> Pace {
        Pace { began: now, last: (0, now), through: now, window: (now, 0, 0), ..self }
    }

    /// The room that the domains have now. An initial shortfall is not made up: a drive that was
    /// prepared without time stops cleaning anywhere within a block.
    pub(super) fn begin(&mut self, room: Vec<i64>, least: i64) {
        self.total = room.iter().sum();
        let mean = self.total / i64::try_from(room.len()).expect("domains have 32 bits");
        (self.usual, self.least) = (self.usual.min(mean).max(least), least);
        self.cleaning = memory::zeroed::<bool>(room.len());
        self.asked = self.cleaning.clone();
        self.room = room;
        self.put_off(self.puts_off);
    }

    /// Cleaning waits as long as there is half of the room that there should be, or no longer.
    pub fn put_off(&mut self, puts_off: bool) {
        self.puts_off = puts_off;
        self.wanted = if puts_off { (self.usual / 2).max(self.least) } else { self.usual };
        self.wanted_in_all = self.room.iter().map(|_| self.wanted).sum();
    }

    /// True while cleaning is postponed.
    pub fn puts_off(&self) -> bool {
        self.puts_off
    }

    pub(super) fn has_begun(&self) -> bool {
        !self.room.is_empty()
    }

    /// Takes or returns room.
    #[inline]
    pub fn add(&mut self, domain: u32, pages: i64) {
        self.room[domain as usize] += pages;
        self.total += pages;
    }

    /// Notes the share of valid pages of a chosen victim.
    pub fn note_victim(&mut self, valid: f64) {
        if self.valid == 0.0 {
            self.valid = valid;
        }
        self.valid += LAST_VICTIM * (valid - self.valid);
        self.page_ns = self.law.page_ns(self.valid);
    }

    fn missing(&self) -> i64 {
        self.wanted_in_all - self.total
    }

    /// True if a domain would miss its target after `soon` more pages.
    pub fn lacks(&self, domain: u32, soon: u32) -> bool {
        self.room.get(domain as usize).is_some_and(|room| *room < self.usual + i64::from(soon))
    }

    /// A victim of a domain is to be cleaned now, or has been.
    pub fn ask(&mut self, domain: u32, asked: bool) {
        self.asked[domain as usize] = asked;
    }

    /// True if cleaning of a domain is requested.
    pub fn is_requested(&self, domain: u32) -> bool {
        self.asked[domain as usize]
    }

    /// True if a domain was to be cleaned at the last look.
    pub fn is_cleaning(&self, domain: u32) -> bool {
        let of = |all: &[bool]| all.get(domain as usize).is_some_and(|it| *it);
        of(&self.asked) || self.sharing != Sharing::Free && of(&self.cleaning)
    }

    /// Decides if a domain must be cleaned: from when it lacks room until it has two thirds of a
    /// group for each die to spare, so that victims are read in rounds.
    pub fn cleans(&mut self, domain: u32) -> bool {
        let (room, cleaning) = (self.room[domain as usize], &mut self.cleaning[domain as usize]);
        let spare = if self.sharing == Sharing::Metered { self.slack / 3 } else { 0 };
        *cleaning = room < self.wanted || *cleaning && room < self.wanted + spare;
        self.sharing != Sharing::Free && *cleaning || self.asked[domain as usize]
    }

    /// Maximum victim groups in progress per die: two, that it continues at once with the next; in
    /// a burst, when every die reads all the time, one, because the host's reads wait behind them.
    pub fn most_batches(&self) -> u32 {
        if self.sharing == Sharing::Burst { 1 } else { 2 }
    }

    /// True while programs for the host are held.
    pub fn holds_host(&self) -> bool {
        self.sharing == Sharing::Burst
    }

    /// Reports a change of the sharing once.
    #[inline]
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// A burst begins when the shortfall fills a quantum, or when the host finds no room; whether
    /// it did.
    pub fn begins_burst(&mut self, is_stuck: bool, now: Time) -> bool {
        if self.sharing != Sharing::Free {
            return false;
        }
        if is_stuck {
            // Its former target was too low.
            self.wanted_in_all = self.room.iter().map(|_| self.wanted).sum();
        }
        if self.missing() <= 0 {
            return false;
        }
        let copies = self.missing() as f64 * self.valid / (1.0 - self.valid).max(1e-3);
        let due = copies >= f64::from(self.config.quantum) * self.law.group
            || self.missing() >= self.wanted / 2
            || is_stuck;
        if due {
            self.begin_burst(now);
        }
        due
    }

    /// Cleans the present shortfall below a quantum; whether a burst begins.
    pub fn begins_early(&mut self, now: Time) -> bool {
        let begins = self.sharing == Sharing::Free && self.missing() > 0;
        if begins {
            self.begin_burst(now);
        }
        begins
    }

    fn begin_burst(&mut self, now: Time) {
        let (took, ended) = self.last;
        let is_close = (now - ended) as f64 <= SHORT_PAUSE * took as f64;
        self.close = if is_close { self.close + 1 } else { 0 };
        self.began = now;
        let lasts = self.config.pace == Rule::Adaptive && self.close >= LASTING_BURSTS;
        self.sharing = if lasts { Sharing::Metered } else { Sharing::Burst };
        self.has_changed = true;
        self.host_left = i64::from(self.config.host_room);
    }

    /// Accepts the present room when cleaning gains no more: blocks have worn out, or hold nothing
    /// superseded. The host continues with the available space.
    pub fn settle_for_less(&mut self, now: Time) {
        self.wanted_in_all = self.wanted_in_all.min(self.total);
        self.ends_burst(now);
        self.has_changed = true;
    }

    /// A burst ends without a shortfall; whether it did.
    pub fn ends_burst(&mut self, now: Time) -> bool {
        let over = self.sharing == Sharing::Burst && self.missing() <= 0;
        if over {
            self.sharing = Sharing::Free;
            self.has_changed = true;
            self.last = (now - self.began, now);
        }
        over
    }

    /// No write waits. If the host writes so little that the meter would be open, the backlog that made
    /// the rule `adaptive` metered is over.
    pub(super) fn end_backlog(&mut self, now: Time) {
        let was_metered = self.config.pace == Rule::Adaptive
            && self.sharing == Sharing::Metered
            && self.is_open(self.page_ns, now);
        if was_metered {
            self.sharing = Sharing::Free;
            self.has_changed = true;
            self.close = 0;
        }
    }

    /// Decides if the host's next page may be written. `begins` is the number of pages of its
    /// command if it is the first of them; `used` is the share of the buffer in use.
    pub(super) fn admits(
        &mut self,
        begins: Option<u32>,
        used: impl FnOnce() -> f64,
        now: Time,
    ) -> Admission {
        if self.sharing == Sharing::Burst {
            return if self.host_left > 0 { Admission::Now } else { Admission::Blocked };
        }
        if self.sharing != Sharing::Metered {
            return Admission::Now;
        }
        let missing = self.missing();
        if missing > self.slack {
            return Admission::Blocked;
        }
        let Some(pages) = begins.filter(|_| missing + self.slack > 0) else {
            return Admission::Now;
        };
        // A shortfall and a nearly full buffer slow the meter, so that the meter rather than a lack
        // of room spaces the commands.
        let lack = (missing as f64 / self.slack as f64).max(4.0 * used() - 3.0).max(0.0);
        let page_ns = self.page_ns * (1.0 + lack);
        let tolerated = page_ns * f64::from(self.config.meter_depth - 1);
        let at = self.through.saturating_sub(tolerated as Time);
        if at > now && !self.is_open(page_ns, now) {
            return Admission::At(at);
        }
        self.through = self.through.max(now) + (page_ns * f64::from(pages)) as Time;
        Admission::Now
    }

    /// True if the shortfall makes `token` stop the host.
    pub fn lags(&self) -> bool {
        self.missing() > self.slack
    }

    /// True if the host's rate leaves the meter open.
    fn is_open(&self, page_ns: f64, now: Time) -> bool {
        let (since, before, count) = self.window;
        let (pages, time) = if before > 0 {
            (before + count, WINDOW_NS + (now - since))
        } else {
            (count, (now - since).max(WINDOW_NS / 8))
        };
        pages as f64 * page_ns < self.config.meter_above * time as f64
    }

    /// The host has written a page.
    pub(super) fn wrote(&mut self, now: Time) {
        if self.sharing == Sharing::Burst {
            self.host_left -= 1;
        }
        let (since, _, count) = self.window;
        if now - since >= 2 * WINDOW_NS {
            self.window = (now, 0, 0);
        } else if now - since >= WINDOW_NS {
            self.window = (since + WINDOW_NS, count, 0);
        }
        self.window.2 += 1;
    }
}
