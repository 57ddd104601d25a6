//! Policies compared with minimal models, and the saved form of a cache's map.

#![expect(clippy::float_cmp, clippy::single_range_in_vec_init, reason = "the entry comes back")]

use super::config::Policy as Word;
use super::lists::Slot;
use super::policy::Policy;
use super::ranges::Ranges;
use super::replacement::Replacement;
use engine::{Random, Xoshiro256};
use std::collections::BTreeMap;

const SLOTS: u32 = 12;

/// A policy as its inventors describe it.
trait Model {
    /// Uses a line. Returns the line evicted for it, if any.
    fn used(&mut self, line: u64) -> Option<u64>;
}

/// Eviction by last use, or by use count and last use.
struct ByCount {
    lines: Vec<(u64, u64, u64)>,
    counts: bool,
    now: u64,
}

impl Model for ByCount {
    fn used(&mut self, line: u64) -> Option<u64> {
        self.now += 1;
        if let Some(it) = self.lines.iter_mut().find(|it| it.0 == line) {
            *it = (line, (it.1 + 1).min(63), self.now);
            return None;
        }
        let mut leaves = None;
        if self.lines.len() == SLOTS as usize {
            let key = |it: &(u64, u64, u64)| if self.counts { (it.1, it.2) } else { (0, it.2) };
            let place = (0..self.lines.len()).min_by_key(|place| key(&self.lines[*place]));
            leaves = place.map(|place| self.lines.remove(place).0);
        }
        self.lines.push((line, 0, self.now));
        leaves
    }
}

/// ARC after figure 4 of the paper; each list has its oldest line first.
#[derive(Default)]
struct AsPublished {
    t1: Vec<u64>,
    t2: Vec<u64>,
    b1: Vec<u64>,
    b2: Vec<u64>,
    p: f64,
}

impl AsPublished {
    fn replace(&mut self, in_b2: bool) -> u64 {
        let t1 = self.t1.len() as f64;
        if t1 >= 1.0 && (in_b2 && t1 == self.p || t1 > self.p) {
            let line = self.t1.remove(0);
            self.b1.push(line);
            line
        } else {
            let line = self.t2.remove(0);
            self.b2.push(line);
            line
        }
    }
}

impl Model for AsPublished {
    fn used(&mut self, line: u64) -> Option<u64> {
        let c = SLOTS as usize;
        let take = |list: &mut Vec<u64>| {
            let place = list.iter().position(|it| *it == line);
            place.map(|place| list.remove(place)).is_some()
        };
        if take(&mut self.t1) || take(&mut self.t2) {
            self.t2.push(line);
            return None;
        }
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if self.b1.contains(&line) {
            self.p = (self.p + (b2 / b1).max(1.0)).min(c as f64);
            let leaves = self.replace(false);
            take(&mut self.b1);
            self.t2.push(line);
            return Some(leaves);
        }
        if self.b2.contains(&line) {
            self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
            let leaves = self.replace(true);
            take(&mut self.b2);
            self.t2.push(line);
            return Some(leaves);
        }
        let mut leaves = None;
        let all = self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len();
        if self.t1.len() + self.b1.len() == c {
            if self.t1.len() < c {
                self.b1.remove(0);
                leaves = Some(self.replace(false));
            } else {
                leaves = Some(self.t1.remove(0));
            }
        } else if all >= c {
            if all == 2 * c {
                self.b2.remove(0);
            }
            leaves = Some(self.replace(false));
        }
        self.t1.push(line);
        leaves
    }
}

/// Compares a policy with its model, in a load of popular lines and lines used once.
fn agree(word: Word, model: &mut dyn Model) {
    let mut policy = Policy::new(word, SLOTS);
    let mut slots: BTreeMap<u64, Slot> = BTreeMap::new();
    let random = &mut Xoshiro256::new(7, 0);
    let (mut hits, mut scan) = (0, 1_000);
    for step in 0..20_000 {
        let line = match random.below(10) {
            0..5 => random.below(9),
            5..8 => random.below(30),
            _ => {
                scan += 1;
                scan
            }
        };
        let leaves = model.used(line);
        if let Some(slot) = slots.get(&line) {
            assert_eq!(leaves, None, "{word} {step}");
            policy.hit(*slot);
            hits += 1;
            continue;
        }
        let slot = if slots.len() < SLOTS as usize {
            slots.len() as Slot + 1
        } else {
            let slot = policy.victim(line, &mut |_| true).expect("all may leave");
            let old = *slots.iter().find(|it| *it.1 == slot).unwrap().0;
            assert_eq!(Some(old), leaves, "{word} {step}: for {line}");
            policy.leave(slot, old, true);
            slots.remove(&old);
            slot
        };
        policy.admit(slot, line);
        slots.insert(line, slot);
        assert_eq!(policy.audit().unwrap() as usize, slots.len());
    }
    assert!(hits > 5_000, "{word}: {hits} hits");
}

#[test]
fn policies_do_what_their_inventors_write() {
    let by = |counts| ByCount { lines: Vec::new(), counts, now: 0 };
    agree(Word::Lru, &mut by(false));
    agree(Word::Lfu, &mut by(true));
    agree(Word::Arc, &mut AsPublished::default());
}

#[test]
fn a_line_that_may_not_leave_stays() {
    for word in [Word::Lru, Word::Lfu, Word::Arc] {
        let mut policy = Policy::new(word, 4);
        (1..=4).for_each(|slot| policy.admit(slot, u64::from(slot)));
        policy.hit(2);
        assert_eq!(policy.victim(9, &mut |slot| slot == 3), Some(3), "{word}");
        assert_eq!(policy.victim(9, &mut |slot| slot == 2), Some(2), "{word}");
        assert_eq!(policy.victim(9, &mut |_| false), None, "{word}");
    }
}

#[test]
fn ranges_are_read_as_they_are_written_and_lines_counted_once() {
    // Sectors of a line.
    let line = 8;
    for (text, lines) in [
        ("none", vec![]),
        ("0B-1MiB", vec![0..256]),
        ("0B-512B, 1KiB-2KiB", vec![0..1]),
        ("8KiB-12KiB, 64KiB-1MiB", vec![2..3, 16..256]),
    ] {
        let ranges: Ranges = text.parse().unwrap();
        assert_eq!((ranges.to_string(), ranges.lines(line)), (text.to_owned(), lines));
    }
    for (text, says) in
        [("1MiB", "form"), ("1MiB-1MiB", "empty"), ("0B-2MiB, 1MiB-3MiB", "overlap"), ("0B-x", "x")]
    {
        assert!(text.parse::<Ranges>().unwrap_err().contains(says), "{text}");
    }
}
