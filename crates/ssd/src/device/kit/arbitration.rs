//! Choice of the host's next submission queue: in turn, or by classes in a weighted round.
//!
//! After "Command Arbitration" of the NVM Express base specification. There is no clock in it: the
//! state is the current queue and the rest of its turn.

use crate::device::kit::slots::Slot;
use engine::Time;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

/// The class of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueClass {
    /// Before all others.
    Urgent,
    /// Weighted.
    High,
    /// Weighted.
    Medium,
    /// Weighted.
    Low,
}

impl QueueClass {
    const ALL: [QueueClass; 4] =
        [QueueClass::Urgent, QueueClass::High, QueueClass::Medium, QueueClass::Low];

    /// The name used in keys and results.
    pub fn name(self) -> &'static str {
        match self {
            QueueClass::Urgent => "urgent",
            QueueClass::High => "high",
            QueueClass::Medium => "medium",
            QueueClass::Low => "low",
        }
    }
}

/// Accepted words for the classes of queues.
const PRIORITIES: &str =
    "a class for each queue, such as urgent, high, medium, low; the last applies to all others";

/// The classes of the queues: of the first ones by number, and the last for all others.
#[derive(Debug, Clone, PartialEq)]
pub struct Priorities(Vec<QueueClass>);

impl Priorities {
    /// Queues of one class.
    pub fn medium() -> Self {
        Priorities(vec![QueueClass::Medium])
    }

    /// The class of a queue.
    pub fn of(&self, queue: usize) -> QueueClass {
        self.0[queue.min(self.0.len() - 1)]
    }

    /// Number of named queues.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|it| it.name()).collect::<Vec<_>>().join(", "))
    }
}

impl FromStr for Priorities {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |word: &str| {
            let found = QueueClass::ALL.into_iter().find(|it| it.name() == word.trim());
            found.ok_or_else(|| {
                format!("\"{}\" is no class of queues; expected {PRIORITIES}", word.trim())
            })
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(Priorities)
    }
}

options::text_setting!(
    Priorities: PRIORITIES,
    options::Values::Pattern(
        r"\s*(urgent|high|medium|low)(\s*,\s*(urgent|high|medium|low))*\s*".to_owned()
    )
);

/// Accepted words for the weights.
const WEIGHTS: &str =
    "three weights from 0 to 255 of the classes high, medium and low, such as 8, 4, 2";

/// The weights of the classes high, medium and low: each may have that many requests and one more in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights(pub [u8; 3]);

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Weights([high, medium, low]) = self;
        write!(f, "{high}, {medium}, {low}")
    }
}

impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found: Option<Vec<u8>> = text.split(',').map(|it| it.trim().parse().ok()).collect();
        let found = found.and_then(|it| <[u8; 3]>::try_from(it).ok());
        found.map(Weights).ok_or_else(|| format!("\"{text}\" is not {WEIGHTS}"))
    }
}

options::text_setting!(
    Weights: WEIGHTS,
    options::Values::Pattern(r"\s*[0-9]{1,3}\s*,\s*[0-9]{1,3}\s*,\s*[0-9]{1,3}\s*".to_owned())
);

/// Account of a queue of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueAccount {
    /// Class of the queue.
    pub class: QueueClass,
    /// Requests taken by the device.
    pub fetched: u64,
    /// Waiting time, total and maximum.
    pub waited_ns: Time,
    /// See `waited_ns`.
    pub longest_ns: Time,
    /// Waiting requests.
    pub waiting: u64,
}

/// A queue of the host.
#[derive(Debug, Clone)]
struct Queue {
    waiting: VecDeque<Slot>,
    class: QueueClass,
    fetched: u64,
    waited_ns: Time,
    longest_ns: Time,
}

/// The queues of a class, in turn.
#[derive(Debug, Clone, Default)]
struct Turns {
    queues: Vec<usize>,
    /// The queue in turn, and its requests in this turn.
    turn: usize,
    had: u32,
    /// Waiting requests of all these queues.
    waiting: usize,
}

impl Turns {
    /// The next request. A turn is over with the burst, or where nothing waits.
    fn next(&mut self, queues: &mut [Queue], burst: u32) -> Option<Slot> {
        self.waiting = self.waiting.checked_sub(1)?;
        if self.had == burst {
            self.pass();
        }
        loop {
            if let Some(slot) = queues[self.queues[self.turn]].waiting.pop_front() {
                self.had += 1;
                return Some(slot);
            }
            self.pass();
        }
    }

    fn pass(&mut self) {
        self.turn = (self.turn + 1) % self.queues.len();
        self.had = 0;
    }
}

/// Takes requests from the queues of the host.
#[derive(Debug, Clone)]
pub struct Arbiter {
    queues: Vec<Queue>,
    burst: u32,
    /// Turns by class.
    turns: [Turns; 4],
    /// Requests of the classes high, medium and low in a round, and those left in this one; the class whose turn it is.
    round: [u32; 3],
    left: [u32; 3],
    at: usize,
}

impl Arbiter {
    /// An arbiter of queues of one class.
    pub fn round_robin(queues: usize, burst: u32) -> Self {
        Arbiter::weighted(queues, burst, &Priorities::medium(), Weights([0; 3]))
    }

    /// An arbiter of queues with classes.
    pub fn weighted(
        queues: usize,
        burst: u32,
        priorities: &Priorities,
        Weights(weights): Weights,
    ) -> Self {
        let mut turns: [Turns; 4] = Default::default();
        for queue in 0..queues {
            turns[priorities.of(queue) as usize].queues.push(queue);
        }
        let queue = |number| Queue {
            waiting: VecDeque::new(),
            class: priorities.of(number),
            fetched: 0,
            waited_ns: 0,
            longest_ns: 0,
        };
        let round = weights.map(|weight| u32::from(weight) + 1);
        let queues = (0..queues).map(queue).collect();
        Arbiter { queues, burst, turns, round, left: round, at: 0 }
    }

    /// A request waits on a queue of the host.
    pub fn push(&mut self, slot: Slot, queue: u16) {
        let place = self.place(queue);
        self.turns[self.queues[place].class as usize].waiting += 1;
        self.queues[place].waiting.push_back(slot);
    }

    fn place(&self, queue: u16) -> usize {
        usize::from(queue) % self.queues.len()
    }

    /// The next request.
    pub fn pop(&mut self) -> Option<Slot> {
        let [urgent, others @ ..] = &mut self.turns;
        if let Some(slot) = urgent.next(&mut self.queues, self.burst) {
            return Some(slot);
        }
        if others.iter().all(|it| it.waiting == 0) {
            return None;
        }
        loop {
            if self.left[self.at] > 0
                && let Some(slot) = others[self.at].next(&mut self.queues, self.burst)
            {
                self.left[self.at] -= 1;
                return Some(slot);
            }
            // A class without requests loses its turn; behind the last a round begins.
            self.at += 1;
            if self.at == self.left.len() {
                (self.at, self.left) = (0, self.round);
            }
        }
    }

    /// The device took a request of a queue, which had waited.
    pub fn took(&mut self, queue: u16, waited: Time) {
        let place = self.place(queue);
        let it = &mut self.queues[place];
        it.fetched += 1;
        it.waited_ns += waited;
        it.longest_ns = it.longest_ns.max(waited);
    }

    /// Each queue.
    pub fn accounts(&self) -> Vec<QueueAccount> {
        let of = |it: &Queue| QueueAccount {
            class: it.class,
            fetched: it.fetched,
            waited_ns: it.waited_ns,
            longest_ns: it.longest_ns,
            waiting: it.waiting.len() as u64,
        };
        self.queues.iter().map(of).collect()
    }

    /// Counts from zero.
    pub fn reset(&mut self) {
        for it in &mut self.queues {
            (it.fetched, it.waited_ns, it.longest_ns) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random, Xoshiro256};

    fn weighted(priorities: &str, weights: [u8; 3], burst: u32) -> Arbiter {
        let priorities: Priorities = priorities.parse().unwrap();
        Arbiter::weighted(priorities.count(), burst, &priorities, Weights(weights))
    }

    /// Turns per queue in a number of requests, with all queues saturated.
    fn saturated(arbiter: &mut Arbiter, requests: u32) -> Vec<u32> {
        let queues = arbiter.queues.len();
        let mut served = vec![0; queues];
        for queue in 0..queues {
            arbiter.push(queue as Slot, queue as u16);
            arbiter.push(queue as Slot, queue as u16);
        }
        for _ in 0..requests {
            let slot = arbiter.pop().unwrap();
            served[slot as usize] += 1;
            arbiter.push(slot, slot as u16);
        }
        served
    }

    #[test]
    fn saturated_queues_of_a_class_share_to_a_burst() {
        for burst in [1, 4, 32] {
            for queues in [1, 2, 7] {
                let served = saturated(&mut Arbiter::round_robin(queues, burst), 1001);
                let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
                assert!(most - least <= burst, "{burst}: {served:?}");
            }
        }
        // Without a limit the first queue keeps its turn while it has requests.
        assert_eq!(saturated(&mut Arbiter::round_robin(3, u32::MAX), 100), [100, 0, 0]);
    }

    #[test]
    fn classes_have_their_weights_and_one_exactly_over_a_round() {
        let mut arbiter = weighted("high, medium, low, medium", [8, 4, 2], 1);
        let round = 9 + 5 + 3;
        let served = saturated(&mut arbiter, 100 * round);
        assert_eq!([served[0], served[1] + served[3], served[2]], [900, 500, 300]);
        assert!(served[1].abs_diff(served[3]) <= 1);
        // A class without requests loses its turn.
        let mut arbiter = weighted("high, medium, low", [8, 4, 2], 1);
        for slot in 0..80 {
            arbiter.push(slot, 1 + (slot % 2) as u16);
        }
        let first: Vec<Slot> = (0..16).map(|_| arbiter.pop().unwrap() % 2).collect();
        assert_eq!(first, [0, 0, 0, 0, 0, 1, 1, 1].repeat(2));
    }

    #[test]
    fn urgent_queues_go_first_and_starve_the_others() {
        let mut arbiter = weighted("low, urgent", [8, 4, 2], 1);
        arbiter.push(0, 0);
        for slot in 1..50 {
            arbiter.push(slot, 1);
        }
        let order: Vec<Slot> = std::iter::from_fn(|| arbiter.pop()).collect();
        assert!(order[..49].is_sorted() && order[49] == 0);
        assert_eq!(saturated(&mut weighted("low, urgent", [8, 4, 2], 1), 100), [0, 100]);
    }

    #[test]
    fn nothing_is_lost_and_a_queue_keeps_its_order() {
        let random = &mut Xoshiro256::new(3, 1);
        let mut arbiter = weighted("urgent, high, medium, low, low", [3, 0, 1], 4);
        let mut waiting: Vec<VecDeque<Slot>> = vec![VecDeque::new(); 5];
        for slot in 0..20_000 {
            if random.below(2) == 0 {
                let queue = random.below(5) as u16;
                arbiter.push(slot, queue);
                waiting[usize::from(queue)].push_back(slot);
            } else if let Some(found) = arbiter.pop() {
                let queue = waiting.iter().position(|it| it.front() == Some(&found)).unwrap();
                assert!(queue == 0 || waiting[0].is_empty(), "urgent ones go first");
                waiting[queue].pop_front();
            } else {
                assert!(waiting.iter().all(VecDeque::is_empty));
            }
        }
        let left: usize = waiting.iter().map(VecDeque::len).sum();
        assert_eq!(std::iter::from_fn(|| arbiter.pop()).count(), left);
    }

    #[test]
    fn classes_and_weights_are_written_as_they_are_read() {
        let classes: Priorities = " urgent,low , medium".parse().unwrap();
        assert_eq!(classes.to_string(), "urgent, low, medium");
        assert_eq!([classes.of(0), classes.of(9)], [QueueClass::Urgent, QueueClass::Medium]);
        assert!("urgent, hot".parse::<Priorities>().unwrap_err().contains("\"hot\" is no class"));
        assert_eq!("255,0, 1".parse::<Weights>().unwrap().to_string(), "255, 0, 1");
        for wrong in ["1, 2", "1, 2, 3, 4", "1, 2, 256", "a, 1, 2", ""] {
            assert!(wrong.parse::<Weights>().unwrap_err().contains("high, medium and low"));
        }
    }
}
