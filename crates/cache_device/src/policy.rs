//! Table of replacement policies. A policy is a file and a row.

use super::kept::Kept;
use super::lists::Slot;
use super::replacement::Replacement;
use super::{arc, lfu, lru};

/// The table: module, type, name and description of each policy.
macro_rules! policies {
    ($make:ident) => {
        $make! {
            lru: Lru = "lru", "The line that was used longest ago (LRU).";
            lfu: Lfu = "lfu", "The line that was used least often, up to 63 times; of these the one used longest ago \
                (LFU).";
            arc: Arc = "arc", "By age or by frequency, whichever of the lines that have left would have been hit more \
                (ARC, FAST 2003).";
        }
    };
}

macro_rules! dispatch {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        /// A policy with its state.
        #[derive(Debug, Clone)]
        pub enum Policy {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Policy {
            /// A policy without lines.
            pub fn new(word: super::config::Policy, slots: u32) -> Policy {
                match word {
                    $(super::config::Policy::$variant => {
                        Policy::$variant($module::$variant::new(slots))
                    })+
                }
            }

            /// Name in configurations.
            pub fn word(&self) -> &'static str {
                match self { $(Policy::$variant(_) => $word,)+ }
            }

            fn inner(&self) -> &dyn Replacement {
                match self { $(Policy::$variant(it) => it,)+ }
            }
        }

        impl Replacement for Policy {
            #[inline]
            fn hit(&mut self, slot: Slot) {
                match self { $(Policy::$variant(it) => it.hit(slot),)+ }
            }

            fn admit(&mut self, slot: Slot, line: u64) {
                match self { $(Policy::$variant(it) => it.admit(slot, line),)+ }
            }

            fn victim(&mut self, line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
                match self { $(Policy::$variant(it) => it.victim(line, may),)+ }
            }

            fn leave(&mut self, slot: Slot, line: u64, evicted: bool) {
                match self { $(Policy::$variant(it) => it.leave(slot, line, evicted),)+ }
            }

            fn remembered(&self) -> u64 {
                self.inner().remembered()
            }

            fn keep(&self) -> Kept {
                self.inner().keep()
            }

            fn restore_state(
                &mut self,
                lists: &mut dyn Iterator<Item = Vec<u64>>,
                holds: &dyn Fn(Slot) -> bool,
            ) -> Result<(), String> {
                match self { $(Policy::$variant(it) => it.restore_state(lists, holds),)+ }
            }

            fn audit(&self) -> Result<u32, String> {
                self.inner().audit()
            }
        }
    };
}
policies!(dispatch);
