//! How a device is built while somebody waits: it asks now and then whether to go on.

use options::Invalid;
use std::ops::ControlFlow;

/// Is asked now and then whether to go on.
pub type Tick<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Pages that are filled between two questions: a millisecond of work, or ten in random order.
const PAGES: u64 = 1 << 16;

/// Why there is no device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unbuilt {
    /// The configuration contradicts itself, or names what is not supplied.
    Invalid(Invalid),
    /// Whoever waits for it does not want it any more.
    Interrupted,
}

impl From<Invalid> for Unbuilt {
    fn from(invalid: Invalid) -> Unbuilt {
        Unbuilt::Invalid(invalid)
    }
}

impl Unbuilt {
    /// The contradiction, of a device for which nobody waits.
    pub(crate) fn invalid(self) -> Invalid {
        match self {
            Unbuilt::Invalid(invalid) => invalid,
            Unbuilt::Interrupted => unreachable!("nobody could interrupt it"),
        }
    }

    /// The same with a contradiction put in other words.
    pub(crate) fn map(self, words: impl FnOnce(Invalid) -> Invalid) -> Unbuilt {
        match self {
            Unbuilt::Invalid(invalid) => Unbuilt::Invalid(words(invalid)),
            Unbuilt::Interrupted => Unbuilt::Interrupted,
        }
    }
}

/// Goes on, for nobody waits.
pub(crate) fn go_on() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Asks after so many pages.
pub(crate) struct Asking<'a> {
    tick: Tick<'a>,
    left: u64,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(tick: Tick<'a>) -> Asking<'a> {
        Asking { tick, left: PAGES }
    }

    /// So many pages more are done.
    #[inline]
    pub(crate) fn done(&mut self, pages: u64) -> ControlFlow<()> {
        if pages < self.left {
            self.left -= pages;
            return ControlFlow::Continue(());
        }
        self.left = PAGES;
        (self.tick)()
    }
}
