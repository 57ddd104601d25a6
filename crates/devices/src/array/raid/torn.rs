//! Stripes that were being written when the power went: what of them is there, and what it spoils.

use super::operation::{Place, Span};
use std::ops::Range;

/// A write of a stripe that a cut ended.
#[derive(Debug)]
pub(super) struct Torn {
    /// Its sectors among the data of the stripe.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Rows whose parity it changes.
    pub(super) hull: Span,
    /// By place, whether what it writes is there; nothing where it writes nothing.
    pub(super) there: Vec<Option<bool>>,
    /// Rows whose parity has been written anew since.
    pub(super) mended: Vec<Span>,
    /// Where the log has it.
    pub(super) log: Option<Place>,
}

/// What cuts left of a stripe.
#[derive(Debug, Default)]
pub(super) struct Dirt {
    pub(super) torn: Vec<Torn>,
    /// Its parity is being written anew: of all, or by a write of these rows.
    pub(super) is_written_anew: bool,
    pub(super) mending: Option<Span>,
    /// Chunks that have been counted as wrong.
    pub(super) counted: Vec<u64>,
}

/// What of a data chunk a range of sectors of the stripe touches.
fn span(range: &Range<u64>, place: u64, chunk: u64) -> Span {
    let (first, end) = (place * chunk, (place + 1) * chunk);
    let within = |sector: u64| sector.clamp(first, end) - first;
    Span { from: within(range.start), to: within(range.end) }
}

impl Span {
    pub(super) fn has(self, row: u64) -> bool {
        (self.from..self.to).contains(&row)
    }

    pub(super) fn within(self, other: Span) -> Span {
        Span { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

impl Torn {
    /// Whether a parity fits the data of a row.
    fn fits(&self, row: u64, check: u64, chunk: u64) -> bool {
        let range = self.from..self.to;
        let data = self.from / chunk..self.to.div_ceil(chunk);
        let mut written = data.filter(|place| span(&range, *place, chunk).has(row));
        written.all(|place| {
            let (data, check) = (self.there[place as usize], self.there[check as usize]);
            data.is_none() || check.is_none() || data == check
        })
    }
}

impl Dirt {
    /// Whether a chunk reconstructed from these parities is wrong although it was not being written.
    pub(super) fn is_wrong(&self, place: u64, checks: &[u64], chunk: u64) -> bool {
        self.torn.iter().any(|torn| {
            let own = span(&(torn.from..torn.to), place, chunk);
            let mended =
                |row: u64| torn.mended.iter().chain(&self.mending).any(|rows: &Span| rows.has(row));
            let mut rows = torn.hull.from..torn.hull.to;
            rows.any(|row| {
                !own.has(row)
                    && !mended(row)
                    && checks.iter().any(|check| !torn.fits(row, *check, chunk))
            })
        })
    }
}
