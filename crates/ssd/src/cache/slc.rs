//! The SLC cache in time: whether the host writes to it, and when it is folded.
//!
//! Nothing here knows blocks: the FTL says whether there is room for another page, and whether a victim is of the
//! cache. While a block is folded because space is short, the host waits: on the drives whose rates are published the
//! times of both add up.

use super::Cache;
use super::gather::Group;
use crate::clock::{Clock, Event};
use crate::config::{Fold, Reuse, SsdConfig, WhenFull};
use crate::die::Costs;
use crate::shape::Groups;
use engine::Time;
use options::Bandwidth;

/// State of the writes of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlcState {
    /// Writes go to the cache.
    Fast = 0,
    /// The cache is full: they go to native blocks.
    Direct,
    /// `Direct`, with room from folded blocks only.
    Forced,
    /// No writes, and the cache is folded or empty.
    Idle,
}

impl SlcState {
    /// All states in order.
    pub const ALL: [SlcState; 4] =
        [SlcState::Fast, SlcState::Direct, SlcState::Forced, SlcState::Idle];

    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            SlcState::Fast => "fast",
            SlcState::Direct => "direct",
            SlcState::Forced => "forced",
            SlcState::Idle => "idle",
        }
    }
}

/// A period in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlcPhase {
    pub state: SlcState,
    /// Start of the period.
    pub from: Time,
    /// Logical pages that the host wrote meanwhile, and blocks in the cache at its end.
    pub pages: u64,
    pub blocks: u32,
}

/// Maximum number of recorded phases; later ones count with the last.
const MOST_PHASES: usize = 256;

/// Timers, by event number.
const IDLE: u32 = 0;
const FOLD: u32 = 1;

/// The machine. It has many fields because it has two timers and an account.
#[derive(Debug, Clone)]
pub struct SlcCacheState {
    fold: Fold,
    when_full: WhenFull,
    reuse: Reuse,
    fold_after: Time,
    fold_rate: Bandwidth,
    /// Time for each byte that is folded beside the host, where that is done, ns.
    beside: Option<f64>,
    unit_bytes: u64,
    last_write: Time,
    /// The timers are running.
    called: [bool; 2],
    /// When the next group may be folded.
    fold_at: Time,
    /// True while a fold for space makes the host wait.
    holds: bool,
    /// True if the cache was full, and has not been empty since.
    was_full: bool,
    phases: Vec<SlcPhase>,
    times: [Time; 4],
    pages: [u64; 4],
}

impl Cache {
    /// Rows that the first pass of a group programs, and how long that takes, ns.
    pub(super) fn first_pass(&self, group: &Group, costs: &Costs) -> (u32, Time) {
        if group.stream == self.slc_stream {
            return (1, costs.slc_program);
        }
        (self.shape.rows, costs.program)
    }

    /// True if a group with one bit a cell has all its pages: of the last of a block less where a summary follows.
    pub(super) fn has_its_row(&self, group: u32) -> bool {
        let kept = self.gather.group(group);
        let is_last = kept.index + 1 == self.shape.per_block;
        kept.filled() == if is_last { self.last_in_slc } else { self.shape.units_per_row() }
    }
}

impl SlcCacheState {
    pub fn new(config: &SsdConfig, shape: &Groups) -> Option<Box<SlcCacheState>> {
        let keys = &config.slc_cache;
        // A die folds at its program rate.
        let data = shape.data_share();
        let native =
            data * f64::from(shape.dies) * shape.bytes() as f64 / config.timing.program.ns() as f64;
        let beside = (keys.fold_share > 0.0).then(|| 1.0 / (keys.fold_share * native));
        keys.is_on().then(|| {
            Box::new(SlcCacheState {
                fold: keys.fold,
                when_full: keys.when_full,
                reuse: keys.reuse,
                fold_after: keys.fold_after.ns() / u64::from(config.scale.max(1)),
                fold_rate: keys.fold_rate,
                beside,
                unit_bytes: u64::from(shape.unit_bytes),
                last_write: 0,
                called: [false; 2],
                fold_at: 0,
                holds: false,
                was_full: false,
                phases: vec![SlcPhase { state: SlcState::Fast, from: 0, pages: 0, blocks: 0 }],
                times: [0; 4],
                pages: [0; 4],
            })
        })
    }

    /// The state now.
    pub fn state(&self) -> SlcState {
        self.phases[self.phases.len() - 1].state
    }

    /// Another state from now on.
    pub fn enter(&mut self, state: SlcState, blocks: u32, now: Time) {
        let (last, has_room) = (self.phases.len() - 1, self.phases.len() < MOST_PHASES);
        let phase = &mut self.phases[last];
        phase.blocks = blocks;
        if phase.state == state {
            return;
        }
        self.times[phase.state as usize] += now - phase.from;
        if phase.from == now && phase.pages == 0 {
            phase.state = state;
        } else if has_room {
            self.phases.push(SlcPhase { state, from: now, pages: 0, blocks });
        } else {
            (phase.state, phase.from) = (state, now);
        }
    }

    /// The host writes a page: whether it goes to the cache, in which there is room or not.
    pub fn writes(&mut self, takes: bool, blocks: u32, clock: &mut Clock) -> bool {
        let now = clock.now;
        self.last_write = now;
        if !std::mem::replace(&mut self.called[IDLE as usize], true) {
            clock.call(now + self.fold_after.max(1), Event::Slc(IDLE));
        }
        self.was_full &= blocks > 0;
        let may_begin = takes && (self.reuse == Reuse::Any || !self.was_full);
        let next = match self.state() {
            // The cache is full: folds first, or continues in native blocks.
            SlcState::Fast | SlcState::Idle if !takes && self.folds_when_full() && blocks > 0 => {
                SlcState::Forced
            }
            SlcState::Fast if !takes => SlcState::Direct,
            SlcState::Idle if may_begin => SlcState::Fast,
            SlcState::Idle => SlcState::Direct,
            SlcState::Direct if self.reuse == Reuse::Empty && may_begin && blocks == 0 => {
                SlcState::Fast
            }
            SlcState::Forced if blocks == 0 && self.folds_when_full() && takes => SlcState::Fast,
            SlcState::Forced if blocks == 0 => SlcState::Direct,
            state => state,
        };
        if next != self.state() {
            self.was_full |= !takes;
            self.enter(next, blocks, now);
        }
        if self.folds_when_full() && next == SlcState::Forced {
            // The next folded block provides the room.
            self.holds = !takes;
            return takes;
        }
        next == SlcState::Fast
    }

    fn folds_when_full(&self) -> bool {
        self.when_full == WhenFull::Fold
    }

    /// Counts a placed page of the host.
    pub fn wrote(&mut self) {
        let last = self.phases.len() - 1;
        self.phases[last].pages += 1;
        self.pages[self.phases[last].state as usize] += 1;
    }

    /// A block of the cache is to be folded because space is short.
    pub fn forces(&mut self, blocks: u32, now: Time) {
        if self.state() != SlcState::Idle {
            self.enter(SlcState::Forced, blocks, now);
            self.holds = true;
        }
    }

    /// A block of the cache has been erased.
    pub fn folded(&mut self) {
        self.holds = false;
    }

    /// True if the host waits for a block that is folded.
    pub fn holds_host(&self) -> bool {
        self.holds
    }

    /// True if writes need no meter, because cleaning does not slow them.
    pub fn is_unmetered(&self) -> bool {
        self.state() != SlcState::Direct
    }

    /// True if a fold proceeds on its own when its time comes.
    pub fn waits_to_fold(&self) -> bool {
        self.called[FOLD as usize]
    }

    /// True if the next group of a block may be folded now; if not, it is when a timer ends.
    pub fn may_fold(&mut self, clock: &mut Clock) -> bool {
        if clock.now >= self.fold_at {
            return true;
        }
        if !std::mem::replace(&mut self.called[FOLD as usize], true) {
            clock.call(self.fold_at, Event::Slc(FOLD));
        }
        false
    }

    /// Pages of a group are being folded.
    pub fn folds(&mut self, pages: u32, now: Time) {
        let bytes = u64::from(pages) * self.unit_bytes;
        let slowest = self.fold_rate.time_ns(bytes);
        let ns = match self.beside {
            Some(ns) if self.state() == SlcState::Direct => {
                slowest.max((ns * bytes as f64) as Time)
            }
            _ => slowest,
        };
        self.fold_at = self.fold_at.max(now) + ns;
    }

    /// True if blocks are folded as soon as they are full, or while the host rests.
    pub fn folds_now(&self) -> bool {
        let beside = self.state() == SlcState::Direct && self.beside.is_some();
        if beside || self.folds_when_full() && self.state() == SlcState::Forced {
            return true;
        }
        match self.fold {
            Fold::Idle => self.state() == SlcState::Idle,
            Fold::Lazy => false,
            Fold::Eager => true,
        }
    }

    /// A timer has ended. If it says that the host rests, that begins. A host whose writes wait does not rest, however
    /// short the time is after which it would.
    pub fn timer_ended(&mut self, timer: u32, waits: bool, blocks: u32, clock: &mut Clock) {
        self.called[timer as usize] = false;
        if timer == FOLD {
            return;
        }
        if waits {
            self.last_write = clock.now;
        }
        let due = self.last_write + self.fold_after.max(1);
        if clock.now < due {
            self.called[IDLE as usize] = true;
            clock.call(due, Event::Slc(IDLE));
        } else {
            self.holds = false;
            self.enter(SlcState::Idle, blocks, clock.now);
        }
    }

    /// Counts from zero.
    pub fn reset(&mut self, now: Time) {
        let state = self.state();
        self.phases = vec![SlcPhase { state, from: now, pages: 0, blocks: 0 }];
        (self.times, self.pages) = ([0; 4], [0; 4]);
    }

    /// Time in each state up to `end`, host pages in each, and the phases.
    pub fn account(&self, end: Time) -> ([Time; 4], [u64; 4], &[SlcPhase]) {
        let mut times = self.times;
        let last = &self.phases[self.phases.len() - 1];
        times[last.state as usize] += end.saturating_sub(last.from);
        (times, self.pages, &self.phases)
    }
}
