//! Choice between polling and sleeping.
//!
//! Polling has the lowest latency while a processor is free. On a busy machine it costs clients
//! processor time, and the scheduler suspends a thread that has used up its share for milliseconds.
//! At real-time priority (`--realtime`) the kernel stops a thread that never sleeps for 50 ms of
//! every second.
//!
//! The clock is always polled just before a reply, because a sleeping thread is about 20 us late.

use crate::clock;
use rustix::event::PollFlags;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Interval of reads of the scheduler's statistics, ns.
const WINDOW_NS: u64 = 10_000_000;
/// Maximum share of a window that the thread may wait for a processor, or run at real-time
/// priority.
const MOST_WAITED: f64 = 0.05;
const MOST_RAN: f64 = 0.9;
/// Time without polling after a window above the maximum, ns.
const SLEEPY_NS: u64 = 200_000_000;
/// Sleep per period of a constantly busy server at real-time priority, ns: more than the 5 % that
/// the kernel reserves for other threads.
const REST_NS: u64 = 60_000;
const REST_EVERY_NS: u64 = 1_000_000;

/// Times of the server's last actions, and state of its polling.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) patience: Patience,
    pub(crate) last_message: u64,
    pub(crate) last_idle: u64,
    /// Time of the last poll of all descriptors.
    pub(crate) last_round: u64,
    /// Places of recently active clients.
    pub(crate) warm: Vec<usize>,
    /// Place that is read first in the next round.
    pub(crate) first: usize,
    /// Polled places in order, and the events of each descriptor.
    pub(crate) places: Vec<usize>,
    pub(crate) events: Vec<PollFlags>,
}

/// The scheduler's statistics for this thread, and the resulting limits.
#[derive(Default)]
pub(crate) struct Patience {
    account: Option<File>,
    is_first: bool,
    asked: u64,
    ran: u64,
    waited: u64,
    sleepy_until: u64,
    /// End of the mode with rests, and time of the last rest.
    overworked_until: u64,
    rested: u64,
}

impl Patience {
    /// State for the current thread.
    pub(crate) fn of_this_thread() -> Self {
        Patience {
            account: File::open("/proc/thread-self/schedstat").ok(),
            is_first: clock::is_realtime(),
            ..Patience::default()
        }
    }

    /// True if sockets may be polled for a while after each message.
    pub(crate) fn may_watch(&mut self, now: u64) -> bool {
        if now >= self.asked + WINDOW_NS {
            self.ask(now);
        }
        now >= self.sleepy_until
    }

    /// A rest that is required now even with work left, ns.
    pub(crate) fn rest(&mut self, now: u64) -> Option<u64> {
        let due = now < self.overworked_until && now >= self.rested + REST_EVERY_NS;
        if due {
            self.rested = now;
        }
        due.then_some(REST_NS)
    }

    fn ask(&mut self, now: u64) {
        let Some((ran, waited)) = self.account.as_ref().and_then(account) else { return };
        let window = (now - self.asked) as f64;
        let share = |after: u64, before: u64| after.saturating_sub(before) as f64 / window;
        if self.asked > 0 && self.is_first && share(ran, self.ran) > MOST_RAN {
            self.overworked_until = now + SLEEPY_NS;
        } else if self.asked > 0 && !self.is_first && share(waited, self.waited) > MOST_WAITED {
            self.sleepy_until = now + SLEEPY_NS;
        }
        (self.asked, self.ran, self.waited) = (now, ran, waited);
    }
}

/// Time that the thread has run, and waited for a processor, ns.
fn account(file: &File) -> Option<(u64, u64)> {
    let mut words = [0; 64];
    let count = file.read_at(&mut words, 0).ok()?;
    let mut numbers = std::str::from_utf8(&words[..count]).ok()?.split_ascii_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_spins_only_once_its_sleep_is_over() {
        let mut it = Patience { asked: 1, ..Patience::default() };
        assert!(it.may_watch(WINDOW_NS));
        it.sleepy_until = 5 * WINDOW_NS;
        assert!(!it.may_watch(4 * WINDOW_NS));
        assert!(it.may_watch(5 * WINDOW_NS));
    }
}
