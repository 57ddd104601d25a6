//! The controller's processors: a command occupies one for its processing time, first come first served.

use crate::config::Firmware;
use crate::device::kit::slots::Slot;
use engine::{Op, Request, Time};
use std::collections::VecDeque;

/// All cores, and their queue.
#[derive(Debug, Clone)]
pub(super) struct Cores {
    config: Firmware,
    idle: Vec<u32>,
    working: Vec<Slot>,
    waiting: VecDeque<(Slot, Time)>,
}

impl Cores {
    pub(super) fn new(config: &Firmware) -> Cores {
        Cores {
            config: config.clone(),
            idle: (0..config.cores).rev().collect(),
            working: memory::zeroed(config.cores as usize),
            waiting: VecDeque::new(),
        }
    }

    /// Processing time of a command of `pages` pages. A trim is one entry, however many pages it covers.
    #[inline]
    pub(super) fn time(&self, request: &Request, pages: u32) -> Time {
        let command = if request.op == Op::Read { self.config.read } else { self.config.write };
        let pages = if request.op == Op::Trim { 1 } else { pages };
        command.ns() + self.config.per_page.ns() * u64::from(pages)
    }

    /// True if some command takes time.
    pub(super) fn have_work(&self) -> bool {
        let Firmware { read, write, per_page, .. } = &self.config;
        read.ns() + write.ns() + per_page.ns() > 0
    }

    /// A command needs a core; which takes it now and until when, if one is idle.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot, ns: Time, now: Time) -> Option<(u32, Time)> {
        let Some(core) = self.idle.pop() else {
            self.waiting.push_back((slot, ns));
            return None;
        };
        self.working[core as usize] = slot;
        Some((core, now + ns))
    }

    /// A core has finished its command; and until when it works on the next, if one waits.
    #[inline]
    pub(super) fn done(&mut self, core: u32, now: Time) -> (Slot, Option<Time>) {
        let slot = self.working[core as usize];
        let Some((next, ns)) = self.waiting.pop_front() else {
            self.idle.push(core);
            return (slot, None);
        };
        self.working[core as usize] = next;
        (slot, Some(now + ns))
    }
}
