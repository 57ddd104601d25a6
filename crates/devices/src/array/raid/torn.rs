//! Stripes that were being written when the power went: what of them is there, and what it spoils.

use super::message::{Place, Span, span};

/// A write of a stripe that a cut ended.
#[derive(Debug, Clone)]
pub struct Torn {
    /// First sector within the stripe's data.
    pub from: u64,
    pub to: u64,
    /// Rows with changed parity.
    pub hull: Span,
    /// By place, true if its write survived; nothing where it writes nothing.
    pub there: Vec<Option<bool>>,
    /// Position in the log.
    pub log: Option<Place>,
}

/// Effect of a cut on an operation.
#[derive(Debug, Clone)]
pub enum Cut {
    /// A stripe had been put right.
    Repaired(u64),
    /// A write of a stripe is there in part.
    Torn {
        stripe: u64,
        torn: Torn,
        /// True if all outstanding writes survived.
        all_there: bool,
    },
}

/// Effects of cuts on a stripe.
#[derive(Debug, Clone, Default)]
pub struct Dirt {
    /// Each with the rows whose parity has been written anew since.
    torn: Vec<(Torn, Vec<Span>)>,
    /// True while the parity is rewritten: of all, or by a write of these rows.
    is_written_anew: bool,
    mending: Option<Span>,
    /// Chunks that have been counted as wrong.
    counted: Vec<u64>,
}

impl Torn {
    /// True if a parity fits the data of a row.
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
    /// A cut tore another write, or the one that was making its parity anew if not `all_there`.
    pub fn tear(&mut self, torn: Torn, all_there: bool) {
        if all_there {
            self.mended();
        }
        self.torn.push((torn, Vec::new()));
    }

    /// The operation that a cut interrupted is over.
    pub fn calm(&mut self) {
        (self.is_written_anew, self.mending) = (false, None);
    }

    /// A write makes the parity of these rows anew.
    pub fn mend(&mut self, rows: Span) {
        self.mending = Some(rows);
    }

    /// Marks the resync as done.
    pub fn mended(&mut self) {
        if let Some(rows) = self.mending.take() {
            self.torn.iter_mut().for_each(|(_, mended)| mended.push(rows));
        }
    }

    /// Starts rewriting the whole parity.
    pub fn write_anew(&mut self) {
        self.is_written_anew = true;
    }

    /// Notes the resync of a stripe, or the replay of a log entry; whether it is clean.
    pub fn go_through(&mut self, log: Option<Place>) -> bool {
        if log.is_none() {
            return self.is_written_anew;
        }
        self.torn.retain(|(torn, _)| torn.log != log);
        self.torn.is_empty()
    }

    /// The writes that were torn.
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

    /// True if a chunk reconstructed from these parities is wrong although it was not being written.
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
