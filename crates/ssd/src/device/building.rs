//! Building a device can be interrupted: it periodically calls back.

use options::Invalid;
use std::ops::ControlFlow;

/// Called periodically; `Break` ends the work.
pub type Tick<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Pages filled between two calls: a millisecond of work, or ten in random order.
const PAGES: u64 = 1 << 16;

/// Why a device was not built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unbuilt {
    /// The configuration is contradictory, or names something that is not supplied.
    Invalid(Invalid),
    /// The caller gave up.
    Interrupted,
}

impl From<Invalid> for Unbuilt {
    fn from(invalid: Invalid) -> Unbuilt {
        Unbuilt::Invalid(invalid)
    }
}

impl Unbuilt {
    /// The contradiction, where the building could not be interrupted.
    pub(crate) fn invalid(self) -> Invalid {
        match self {
            Unbuilt::Invalid(invalid) => invalid,
            Unbuilt::Interrupted => unreachable!("it could not be interrupted"),
        }
    }

    /// The refusal with another message.
    pub fn map(self, words: impl FnOnce(Invalid) -> Invalid) -> Unbuilt {
        match self {
            Unbuilt::Invalid(invalid) => Unbuilt::Invalid(words(invalid)),
            Unbuilt::Interrupted => Unbuilt::Interrupted,
        }
    }
}

/// A tick that never interrupts.
pub(crate) fn proceed() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Calls a tick every [`PAGES`] pages.
pub(crate) struct Asking<'a> {
    tick: Tick<'a>,
    left: u64,
}

impl<'a> Asking<'a> {
    pub fn new(tick: Tick<'a>) -> Asking<'a> {
        Asking { tick, left: PAGES }
    }

    /// Counts `pages` more.
    #[inline]
    pub fn done(&mut self, pages: u64) -> ControlFlow<()> {
        if pages < self.left {
            self.left -= pages;
            return ControlFlow::Continue(());
        }
        self.left = PAGES;
        (self.tick)()
    }
}
