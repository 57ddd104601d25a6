//! Interface of a replacement policy.

use super::kept::Kept;
use super::lists::Slot;

/// Maximum number of slots examined for an eviction; dirty and busy lines are skipped.
pub const LOOKED_AT: u32 = 64;

/// A replacement policy.
pub trait Replacement {
    /// Notes a use of a cached line.
    fn hit(&mut self, slot: Slot);

    /// Notes a line in a slot that was free.
    fn admit(&mut self, slot: Slot, line: u64);

    /// Slot to evict for an arriving line, among the slots that satisfy `may`.
    fn victim(&mut self, line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot>;

    /// Removes a line: evicted to make room, or dropped.
    fn leave(&mut self, slot: Slot, line: u64, evicted: bool);

    /// Number of lines that returned soon after their eviction, if the policy remembers them.
    fn remembered(&self) -> u64 {
        0
    }

    /// Saved state of the policy: lists of numbers.
    fn keep(&self) -> Kept;

    /// Restores the state of an empty policy; `may` tells which slots hold evictable lines.
    ///
    /// # Errors
    /// When the state is invalid.
    fn restore_state(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        holds: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String>;

    /// Number of known lines, or the error of an inconsistent state.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    fn audit(&self) -> Result<u32, String>;
}
