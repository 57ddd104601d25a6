//! The event queue compared with a sorted map.

use super::*;
use crate::Random;
use std::collections::BTreeMap;

impl EventQueue {
    /// Checks that no events are left.
    fn is_clean(&self) -> bool {
        let places = std::iter::successors(Some(self.free), |place| Some(self.next[at(*place)]));
        self.first == NEVER
            && self.used_words == 0
            && self.used == [0; WORDS]
            && self.wheel.iter().all(|last| *last == NONE)
            && places.take_while(|place| *place != NONE).count() == PLACES
            && self.few.is_empty()
            && self.heap.is_empty()
            && self.cancelled.is_empty()
    }
}

#[test]
fn equal_times_leave_in_order_of_insertion() {
    let mut queue = EventQueue::new();
    for (at, payload) in [(5, 1), (3, 9), (5, 0), (3, 2)] {
        queue.push(at, payload);
    }
    assert_eq!(queue.next_at(), Some(3));
    let order: Vec<_> = std::iter::from_fn(|| queue.pop_until(5)).collect();
    assert_eq!(order, [(3, 9), (3, 2), (5, 1), (5, 0)]);
}

#[test]
fn later_events_stay() {
    let mut queue = EventQueue::new();
    queue.push(10, 7);
    assert_eq!(queue.pop_until(9), None);
    assert_eq!(queue.pop_until(10), Some((10, 7)));
    assert_eq!(queue.next_at(), None);
}

#[test]
fn a_cancelled_event_never_happens_and_the_others_keep_their_order() {
    let mut queue = EventQueue::new();
    let events: Vec<_> = (0..6).map(|n| queue.push(10 + Time::from(n / 2), n)).collect();
    // Cancels an event in the middle, then the earliest with its successor.
    queue.cancel(events[3]);
    queue.cancel(events[1]);
    queue.cancel(events[0]);
    assert_eq!(queue.next_at(), Some(11));
    // Equal payloads at equal times are distinct events.
    queue.push(11, 3);
    let order: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).collect();
    assert_eq!(order, [(11, 2), (11, 3), (12, 4), (12, 5)]);
    assert!(queue.is_clean());
}

/// Compared with a sorted map: few and many events, near and far ones, cancelled ones.
#[test]
fn whatever_is_asked_for_leaves_in_order() {
    let mut random = crate::Xoshiro256::new(3, 5);
    let (few, many) = (few::MOST as u64, u64::from(MOST_PASSED));
    for most in [1, 3, FEW_AGAIN, few, few + 1, 2 * many, 500] {
        for cancelled in [0, 20, 3] {
            let mut queue = EventQueue::new();
            let mut wanted = BTreeMap::new();
            let mut now = 0;
            for number in 0..20_000 {
                if (wanted.len() as u64) < 1 + random.below(most) {
                    let wheel = (INTERVALS << INTERVAL_SHIFT) as u64;
                    let spans = [40, 40, 40, 1000, 1, 100_000, wheel, 3 * wheel];
                    let span = spans[random.below(spans.len() as u64) as usize];
                    let at = now + random.below(span);
                    let payload = random.below(1 << PAYLOAD_BITS) as u32;
                    // Some go to a line.
                    let event = if random.below(8) == 0 {
                        let line = random.below(EventQueue::LINES as u64) as usize;
                        queue.push_in_line(line, at, payload);
                        None
                    } else {
                        Some(queue.push(at, payload))
                    };
                    wanted.insert((at, number), (payload, event));
                } else if cancelled > 0 && random.below(cancelled) == 0 {
                    let which = random.below(wanted.len() as u64) as usize;
                    let key = *wanted.keys().nth(which).unwrap();
                    if let (_, Some(event)) = wanted[&key] {
                        wanted.remove(&key);
                        queue.cancel(event);
                    }
                } else {
                    let ((at, _), (payload, _)) = wanted.pop_first().unwrap();
                    let before = at.checked_sub(1).and_then(|before| queue.pop_until(before));
                    assert_eq!((before, queue.pop_until(at)), (None, Some((at, payload))));
                    now = at;
                }
                let next = wanted.first_key_value().map(|((at, _), _)| *at);
                assert_eq!(queue.next_at(), next);
            }
            let left: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).collect();
            let wanted = wanted.into_iter().map(|((at, _), (payload, _))| (at, payload));
            assert_eq!(left, wanted.collect::<Vec<_>>());
            assert!(queue.is_clean());
        }
    }
}

#[test]
fn more_events_than_the_wheel_has_places_for_leave_in_order() {
    let mut random = crate::Xoshiro256::new(3, 6);
    let mut queue = EventQueue::new();
    let mut wanted: Vec<(Time, u32)> = (0..150_000)
        .map(|payload| (random.below((INTERVALS << INTERVAL_SHIFT) as u64), payload))
        .collect();
    let events: Vec<EventId> =
        wanted.iter().map(|(at, payload)| queue.push(*at, *payload)).collect();
    for (number, event) in events.iter().enumerate().filter(|(number, _)| number % 3 == 0) {
        queue.cancel(*event);
        assert_eq!(wanted[number].1, number as u32);
    }
    wanted.retain(|(_, payload)| payload % 3 != 0);
    wanted.sort_unstable();
    let left: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).collect();
    assert!(left == wanted && queue.is_clean());
}

#[test]
fn a_queue_that_was_emptied_ahead_of_time_is_as_good_as_new() {
    let mut queue = EventQueue::new();
    queue.push(1 << 40, 1);
    assert_eq!(queue.pop_until(Time::MAX), Some((1 << 40, 1)));
    for payload in [5, 3, 4] {
        queue.push(100 * Time::from(payload), payload);
    }
    assert!(queue.heap.len() <= 2);
    let order: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).collect();
    assert_eq!(order, [(300, 3), (400, 4), (500, 5)]);
    assert!(queue.is_clean());
}

/// The queue moves to the wheel above the list's capacity, and returns only when events are much
/// fewer.
#[test]
fn events_go_to_and_fro_only_where_their_number_changes_much() {
    let mut queue = EventQueue::new();
    let most = few::MOST as Time;
    let events: Vec<_> = (0..most).map(|number| queue.push(1000 * number, 0)).collect();
    assert!(queue.are_few);
    queue.push(1000 * most, 0);
    assert!(!queue.are_few);
    queue.cancel(events[1]);
    // A line with one event, which empties each time.
    for left in (1..most).rev() {
        assert_eq!(queue.are_few, left < FEW_AGAIN, "{left} wait");
        queue.pop_until(Time::MAX);
        let now = queue.next_at().unwrap();
        queue.push_in_line(0, now.saturating_sub(1), 1);
        queue.pop_until(now);
    }
    assert!(queue.pop_until(Time::MAX).is_some() && queue.is_clean());
}
