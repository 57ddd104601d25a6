//! Stripes that were being written at a power cut: surviving writes, and chunks that they corrupt.

use super::message::{Place, Span, span};

/// A write of a stripe, torn by a cut.
#[derive(Debug, Clone)]
pub struct Torn {
    /// First sector within the stripe's data.
    pub from: u64,
    pub to: u64,
    /// Rows with changed parity.
    pub hull: Span,
    /// By place, true if its write survived; `None` without a write there.
    pub there: Vec<Option<bool>>,
    /// Its log entry.
    pub log: Option<Place>,
}

/// Effect of a cut on an operation.
#[derive(Debug, Clone)]
pub enum Cut {
    /// A repair of this stripe was interrupted.
    Repaired(u64),
    /// A write of a stripe was interrupted.
    Torn {
        stripe: u64,
        torn: Torn,
        /// True if all outstanding member writes survived.
        all_there: bool,
    },
}

/// Effects of cuts on a stripe.
#[derive(Debug, Clone, Default)]
pub struct Dirt {
    /// Torn writes, each with the rows whose parity has been rewritten since.
    torn: Vec<(Torn, Vec<Span>)>,
    /// True while the parity is rewritten: completely, or in some rows.
    is_written_anew: bool,
    mending: Option<Span>,
    /// Chunks already counted as wrong.
    counted: Vec<u64>,
}

impl Torn {
    /// True if a parity chunk fits the data of a row.
    fn fits(&self, row: u64, check: u64, chunk: u64) -> bool {
        let data = self.from / chunk..self.to.div_ceil(chunk);
        let mut written = data.filter(|place| span(self.from, self.to, *place, chunk).has(row));
        written.all(|place| {
            let (data, check) = (self.there[place as usize], self.there[check as usize]);
            data.is_none() || check.is_none() || data == check
        })
    }
}

impl Dirt {
    /// Adds a torn write. If not `all_there`, an unfinished parity rewrite is torn too.
    pub fn tear(&mut self, torn: Torn, all_there: bool) {
        if all_there {
            self.mended();
        }
        self.torn.push((torn, Vec::new()));
    }

    /// Forgets the interrupted parity rewrite.
    pub fn calm(&mut self) {
        (self.is_written_anew, self.mending) = (false, None);
    }

    /// Notes that a write recomputes the parity of these rows.
    pub fn mend(&mut self, rows: Span) {
        self.mending = Some(rows);
    }

    /// Marks that rewrite as complete.
    pub fn mended(&mut self) {
        if let Some(rows) = self.mending.take() {
            self.torn.iter_mut().for_each(|(_, mended)| mended.push(rows));
        }
    }

    /// Starts rewriting the whole parity.
    pub fn write_anew(&mut self) {
        self.is_written_anew = true;
    }

    /// Notes the resync of a stripe, or the replay of a log entry. Returns true if the stripe is
    /// clean.
    pub fn go_through(&mut self, log: Option<Place>) -> bool {
        if log.is_none() {
            return self.is_written_anew;
        }
        self.torn.retain(|(torn, _)| torn.log != log);
        self.torn.is_empty()
    }

    /// The torn writes.
    pub fn torn(&self) -> impl Iterator<Item = &Torn> {
        self.torn.iter().map(|(torn, _)| torn)
    }

    /// Number of missing chunks that these parities reconstruct wrong and that are not counted yet.
    pub fn count_wrong(&mut self, missing: &[u64], checks: &[u64], chunk: u64) -> u64 {
        if self.is_written_anew {
            return 0;
        }
        let new = missing.iter().filter(|place| !self.counted.contains(place));
        let wrong: Vec<u64> =
            new.copied().filter(|place| self.is_wrong(*place, checks, chunk)).collect();
        self.counted.extend(&wrong);
        wrong.len() as u64
    }

    /// True if these parities reconstruct a chunk wrong that was not being written.
    fn is_wrong(&self, place: u64, checks: &[u64], chunk: u64) -> bool {
        self.torn.iter().any(|(torn, mended)| {
            let own = span(torn.from, torn.to, place, chunk);
            let mended =
                |row: u64| mended.iter().chain(&self.mending).any(|rows: &Span| rows.has(row));
            let mut rows = torn.hull.from..torn.hull.to;
            rows.any(|row| {
                !own.has(row)
                    && !mended(row)
                    && checks.iter().any(|check| !torn.fits(row, *check, chunk))
            })
        })
    }
}
