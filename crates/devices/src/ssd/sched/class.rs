//! The classes of work that a unit can be given.

use crate::ssd::config::CleaningTime;

/// A class of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Page requests, in the order in which they came.
    Requests,
    /// Moves out of a victim, and its erasure.
    Cleaning,
}

impl Class {
    /// The order in which a unit is asked for work: the first that has some goes first.
    pub(super) fn order(time: CleaningTime) -> [Class; 2] {
        match time {
            CleaningTime::Blocking => [Class::Cleaning, Class::Requests],
            CleaningTime::Interleaved => [Class::Requests, Class::Cleaning],
        }
    }
}
