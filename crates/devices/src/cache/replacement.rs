//! Interface of a replacement policy.

use super::kept::Kept;
use super::lists::Slot;

/// Maximum number of slots examined for an eviction: slots of dirty and of used lines must stay.
pub const LOOKED_AT: u32 = 64;

/// A replacement policy.
pub trait Replacement {
    /// A line that is there was used.
    fn hit(&mut self, slot: Slot);

    /// A line has come into a free slot.
    fn admit(&mut self, slot: Slot, line: u64);

    /// The slot to evict for an arriving line, among those that `may` leave.
    fn victim(&mut self, line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot>;

    /// Removes a line from its slot: to make room, or because its content is worth nothing.
    fn leave(&mut self, slot: Slot, line: u64, evicted: bool);

    /// Number of lines that returned soon after eviction, if remembered.
    fn remembered(&self) -> u64 {
        0
    }

    /// State of the policy, as lists of numbers.
    fn keep(&self) -> Kept;

    /// Restores the state of an empty policy; which slots hold a line that may leave.
    ///
    /// # Errors
    /// When it cannot be.
    fn take_up(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        holds: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String>;

    /// Number of known lines, or the error of an inconsistent state.
    ///
    /// # Errors
    /// Our mistake.
    fn audit(&self) -> Result<u32, String>;
}
