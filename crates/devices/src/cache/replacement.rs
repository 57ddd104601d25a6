//! Interface of a replacement policy.

use super::kept::Kept;
use super::lists::Slot;

/// At most so many slots are looked at for one that may leave: those of dirty lines, and of lines in use, may not.
pub const LOOKED_AT: u32 = 64;

/// A replacement policy.
pub trait Replacement {
    /// A line that is there was used.
    fn hit(&mut self, slot: Slot);

    /// A line has come into a free slot.
    fn admit(&mut self, slot: Slot, line: u64);

    /// The slot to give up for a line that comes, of those that `may` leave.
    fn victim(&mut self, line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot>;

    /// A line leaves its slot: to make room, or because its content is worth nothing.
    fn leave(&mut self, slot: Slot, line: u64, evicted: bool);

    /// Lines that came again soon after they had left, as far as it remembers such.
    fn remembered(&self) -> u64 {
        0
    }

    /// State of the policy, as lists of numbers.
    fn keep(&self) -> Kept;

    /// Takes that up, where it knows nothing yet; which slots hold a line that may leave.
    ///
    /// # Errors
    /// When it cannot be.
    fn take_up(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        holds: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String>;

    /// Lines that it knows to be there, and what is wrong with what it knows.
    ///
    /// # Errors
    /// Our mistake.
    fn audit(&self) -> Result<u32, String>;
}
