//! Replays a load on a drive until its write amplification settles, then measures it.

use crate::account::{Account, Medium};
use crate::drive::{Drive, Shape, TooFew};
use crate::load::Load;
use crate::zones::{HostLog, Victim, Zoned};
use std::fmt;

/// Number of parts of a pass with separate counters, for the confidence interval.
const BATCHES: usize = 10;
/// Prefetch distance in requests.
const AHEAD: usize = 16;
/// Minimum and maximum number of replayed stretches (passes that together write about the data
/// size), and minimum drive writes: fewer would measure the transient.
const LEAST: usize = 3;
const MOST: usize = 40;
const DRIVE_WRITES: u64 = 8;
/// Settled if the last three stretches differ by at most this share.
const SETTLED: f64 = 0.005;
/// A pass that writes the data this often is not repeated: its first half settles the drive.
const LONG: u64 = 10;
/// Requests between two calls of `stop`.
const LOOK: usize = 1 << 14;

/// Called at intervals with the number of requests replayed since the last call; true stops the
/// study.
pub type Stop<'a> = &'a (dyn Fn(u64) -> bool + Sync);

/// Reason why a study has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// There are too few units.
    TooFew(TooFew),
    /// The caller stopped the study.
    Stopped,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::TooFew(few) => few.fmt(f),
            Ended::Stopped => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Ended {}

/// Page counts of one part of the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    /// Pages written by the host.
    pub host: u64,
    /// Pages moved in the same period.
    pub moved: u64,
}

/// Measurement after the transient.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Counters of the measured stretch.
    pub account: Account,
    /// Counters by part of the load.
    pub batches: Vec<Batch>,
    /// Write amplification of each stretch, the measured one last.
    pub curve: Vec<f64>,
    /// True if write amplification settled.
    pub settled: bool,
    /// Pages written by the host.
    pub replayed: u64,
}

/// Replays `load` with the handle of each request. At the start the drive holds all touched pages,
/// written in address order with handle 0.
///
/// # Errors
/// When there are too few units, or `stop` ends the study.
pub fn study(load: &Load, handles: &[u8], shape: Shape, stop: Stop<'_>) -> Result<Measured, Ended> {
    on(load, handles, Drive::new(shape).map_err(Ended::TooFew)?, stop)
}

/// Studies a host log on zones; `victim` chooses the zone to clean.
///
/// # Errors
/// When there are too few zones, or `stop` or `victim` ends the study.
pub fn study_log(
    load: &Load,
    streams: &[u8],
    (shape, victim): (Zoned, Victim<'_>),
    stop: Stop<'_>,
) -> Result<Measured, Ended> {
    on(load, streams, HostLog::new(shape, victim).map_err(Ended::TooFew)?, stop)
}

fn on<M: Medium>(
    load: &Load,
    handles: &[u8],
    mut drive: M,
    stop: Stop<'_>,
) -> Result<Measured, Ended> {
    (0..load.pages).for_each(|page| drive.write(page, 0));
    let mut run = Run { load, handles, drive, stop, replayed: 0, curve: Vec::new() };
    let (pass, data) = (u64::from(load.written), u64::from(load.pages));
    if pass >= LONG * data {
        let half = load.len() / 2;
        run.stretch(&[(0, half)])?;
        let ends = (0..=BATCHES).map(|at| half + (load.len() - half) * at / BATCHES);
        let ends: Vec<usize> = ends.collect();
        let parts: Vec<(usize, usize)> = ends.windows(2).map(|it| (it[0], it[1])).collect();
        let (account, batches) = run.stretch(&parts)?;
        return Ok(run.measured(account, batches, true));
    }
    let ends: Vec<usize> = (0..=BATCHES).map(|at| load.len() * at / BATCHES).collect();
    let pass_parts: Vec<(usize, usize)> = ends.windows(2).map(|it| (it[0], it[1])).collect();
    let parts = pass_parts.repeat(data.div_ceil(pass) as usize);
    loop {
        let (account, batches) = run.stretch(&parts)?;
        let settled = run.has_settled();
        if settled || run.curve.len() == MOST {
            let mut sums = vec![Batch::default(); BATCHES];
            for (at, batch) in batches.iter().enumerate() {
                sums[at % BATCHES].host += batch.host;
                sums[at % BATCHES].moved += batch.moved;
            }
            return Ok(run.measured(account, sums, settled));
        }
    }
}

struct Run<'a, M> {
    load: &'a Load,
    handles: &'a [u8],
    drive: M,
    stop: Stop<'a>,
    replayed: u64,
    curve: Vec<f64>,
}

impl<M: Medium> Run<'_, M> {
    /// Replays parts of the load, with separate counters.
    fn stretch(&mut self, parts: &[(usize, usize)]) -> Result<(Account, Vec<Batch>), Ended> {
        self.drive.reset_account();
        let mut batches = Vec::with_capacity(parts.len());
        let mut before = (0, 0);
        for (from, to) in parts {
            let mut at = *from;
            while at < *to {
                let end = (at + LOOK).min(*to);
                self.replay(at, end);
                if (self.stop)((end - at) as u64) || self.drive.has_ended() {
                    return Err(Ended::Stopped);
                }
                at = end;
            }
            let now = (self.drive.account().host(), self.drive.account().moved());
            batches.push(Batch { host: now.0 - before.0, moved: now.1 - before.1 });
            before = now;
        }
        let account = self.drive.account().clone();
        self.replayed += account.host();
        self.curve.push(account.dlwa());
        Ok((account, batches))
    }

    #[inline]
    fn replay(&mut self, from: usize, to: usize) {
        for at in from..to {
            if at + 2 * AHEAD < to {
                self.drive.prefetch(self.load.get(at + 2 * AHEAD).first);
                self.drive.prefetch_old(self.load.get(at + AHEAD).first);
            }
            let write = self.load.get(at);
            let pages = write.first..write.first + write.pages;
            if write.is_trim {
                pages.for_each(|page| self.drive.trim(page));
            } else {
                let handle = self.handles[at];
                pages.for_each(|page| self.drive.write(page, handle));
            }
        }
    }

    fn has_settled(&self) -> bool {
        if self.curve.len() < LEAST || self.replayed < DRIVE_WRITES * u64::from(self.load.pages) {
            return false;
        }
        let last = &self.curve[self.curve.len() - 3..];
        let most = last.iter().copied().fold(0.0, f64::max);
        let least = last.iter().copied().fold(f64::INFINITY, f64::min);
        most - least <= SETTLED * least
    }

    fn measured(self, account: Account, batches: Vec<Batch>, settled: bool) -> Measured {
        let Run { replayed, curve, .. } = self;
        Measured { account, batches, curve, settled, replayed }
    }
}
