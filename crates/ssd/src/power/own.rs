//! Metadata pages written while serving requests: trim log, and checkpoints. They lie outside the
//! data blocks, and queue at units like other pages.

use super::state::{Own, Power, State};
use crate::Ssd;
use crate::config::Trims;
use crate::device::kit::slots::Slot;
use crate::ids::Unit;
use crate::page::HeldFor;
use engine::{Op, Status};
use std::ops::Range;

/// Unit of the trim log, which is written in order.
const LOG_UNIT: Unit = Unit(0);

impl Ssd {
    /// Notes trimmed pages. Returns true if the completion waits for the trim log.
    pub(crate) fn note_trim(&mut self, slot: Slot, pages: Range<u64>) -> bool {
        let Some(power) = &mut self.power else { return false };
        power.trims.add(pages, self.ftl.next_program());
        power.trims.is_logged() && self.write_log(slot, Op::Trim)
    }

    /// Handles a flush whose earlier writes are durable; it completes once earlier trims are
    /// logged. Returns true if it waits for the trim log.
    pub(crate) fn flush_trims(&mut self, slot: Slot) -> bool {
        let flushes = |power: &Power| power.config.trims == Trims::Flushed;
        self.power.as_deref().is_some_and(flushes) && self.write_log(slot, Op::Flush)
    }

    /// Writes pending trim records. Returns true if the request's completion must wait for them.
    fn write_log(&mut self, slot: Slot, op: Op) -> bool {
        let Some(power) = &mut self.power else { return false };
        let pages = power.trims.begin();
        let queue = power.own_pages.entry(LOG_UNIT.0).or_default();
        if pages == 0 {
            let last = queue.iter_mut().rev().find_map(|own| match own {
                Own::Log { last: true, waiting } => Some(waiting),
                _ => None,
            });
            let Some(waiting) = last else { return false };
            waiting.push((slot, op));
            return true;
        }
        for page in 1..=pages {
            let last = page == pages;
            let waiting = if last { vec![(slot, op)] } else { Vec::new() };
            queue.push_back(Own::Log { last, waiting });
        }
        let (executor, mut cx) = self.executor();
        for _ in 0..pages {
            executor.write_own(LOG_UNIT, &mut cx);
        }
        true
    }

    /// Completes a metadata page while serving requests.
    pub(super) fn own_page_of(&mut self, unit: Unit) {
        let Some(power) = &mut self.power else { return };
        debug_assert!(matches!(power.state, State::Serving));
        match power.own_pages.get_mut(&unit.0).and_then(std::collections::VecDeque::pop_front) {
            Some(Own::Log { last, waiting }) => {
                if last {
                    power.trims.end();
                }
                for (slot, op) in waiting {
                    if op == Op::Flush {
                        self.front.flushed(slot, &mut self.clock);
                    } else {
                        self.front.answer(slot, Status::Ok, HeldFor::default(), &mut self.clock);
                    }
                }
            }
            Some(Own::Checkpoint) => {
                power.checkpoint_page_written(unit);
                self.write_checkpoint();
                self.await_checkpoint();
            }
            None => {}
        }
    }
}
