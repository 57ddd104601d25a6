//! Proof that no page of a drive is uncorrectable, so that writes need not check for lost pages.

/// Bounds within which no page of the drive is uncorrectable.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// Minute of the clock at which the proof ends.
    before: u32,
    /// Maximum erases and reads of a block.
    erases: u32,
    reads: u32,
    /// True after a failed attempt; the clock never goes back.
    failed: bool,
}

/// Margins of an attempt: minutes, erases and reads of a block.
const AHEAD: [u32; 3] = [24 * 60, 64, 1 << 20];

impl Proof {
    /// True if the proof is valid at a minute.
    #[inline]
    pub fn holds_at(&self, minute: u32) -> bool {
        minute < self.before
    }

    /// True unless an attempt has failed.
    pub fn may_be_tried(&self) -> bool {
        !self.failed
    }

    /// Bounds of the next attempt, given the current minute, erases and reads.
    pub fn bounds(&mut self, minute: u32, erases: u32, reads: u32) -> [u32; 3] {
        let [before, erases, reads] = [(minute, 0), (erases, 1), (reads, 2)]
            .map(|(it, which)| it.saturating_add(it / 4).saturating_add(AHEAD[which]));
        *self = Proof { before, erases, reads, failed: self.failed };
        [before, erases, reads]
    }

    /// Stores the outcome of an attempt.
    pub fn found(&mut self, holds: bool) {
        if !holds {
            *self = Proof { failed: true, ..Proof::default() };
        }
    }

    /// Notes an erase count of a block.
    #[inline]
    pub fn hear_of_erases(&mut self, erases: u32) {
        if erases > self.erases {
            self.before = 0;
        }
    }

    /// Remaining reads of a block until the proof must be renewed.
    #[inline]
    pub fn hear_of_reads(&mut self, reads: u32) {
        if reads > self.reads {
            self.before = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_up_to_its_bounds_and_is_not_tried_again_in_vain() {
        let mut proof = Proof::default();
        assert!(!proof.holds_at(0) && proof.may_be_tried());
        let [minutes, erases, reads] = proof.bounds(100, 8, 0);
        proof.found(true);
        assert!(proof.holds_at(100) && proof.holds_at(minutes - 1) && !proof.holds_at(minutes));
        proof.hear_of_erases(erases);
        proof.hear_of_reads(reads);
        assert!(proof.holds_at(100));
        proof.hear_of_erases(erases + 1);
        assert!(!proof.holds_at(100) && proof.may_be_tried());
        let [.., reads] = proof.bounds(100, erases + 1, reads);
        proof.found(true);
        proof.hear_of_reads(reads + 1);
        assert!(!proof.holds_at(100));
        proof.bounds(100, 0, 0);
        proof.found(false);
        assert!(!proof.holds_at(100) && !proof.may_be_tried());
    }
}
