//! The order in which queues of the host and the ways of the link are used.

use super::*;
use engine::Op;

fn round_robin(queues: u32) -> HostQueue {
    let order = HostOrder::RoundRobin;
    HostQueue::new(&HostLink { order, queues, ..HostLink::default() })
}

fn at(lba: u64) -> Request {
    Request::new(0, Op::Read, Lba(lba), 1)
}

fn on(queue: u16) -> Request {
    Request { queue, ..at(0) }
}

#[test]
fn clook_ascends_and_wraps() {
    let config = HostLink { order: HostOrder::Clook, ..HostLink::default() };
    let mut queue = HostQueue::new(&config);
    for (slot, lba) in [(0, 50), (1, 10), (2, 70), (3, 50)] {
        queue.push(slot, &at(lba));
    }
    queue.sent(&at(40), 0);
    let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    // The address of the last request is not updated here: 50, 50, 70, then from the start.
    assert_eq!(order, [0, 3, 2, 1]);
}

#[test]
fn a_queue_of_one_request_does_not_wait_behind_384_of_another() {
    let mut queue = round_robin(2);
    for slot in 0..384 {
        queue.push(slot, &on(0));
    }
    queue.push(1000, &on(1));
    let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    assert_eq!(order[..3], [0, 1000, 1]);
    assert!(order[2..].is_sorted() && order.len() == 385);
    // In order of arrival, it is the last.
    let mut queue = HostQueue::new(&HostLink::default());
    for slot in 0..384 {
        queue.push(slot, &on(0));
    }
    queue.push(1000, &on(1));
    assert_eq!(std::iter::from_fn(|| queue.pop()).last(), Some(1000));
}

#[test]
fn queues_take_turns_and_empty_ones_are_passed_over() {
    let mut queue = round_robin(4);
    // Queue 6 of the host is queue 2 of four.
    for (slot, on_queue) in [(0, 2), (1, 2), (2, 6), (3, 0), (4, 3), (5, 3)] {
        queue.push(slot, &on(on_queue));
    }
    assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(3), Some(0), Some(4)]);
    // The next turn is queue 0's, which has a request again.
    queue.push(6, &on(4));
    let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    assert_eq!(order, [6, 1, 5, 2]);
    assert_eq!(queue.pop(), None);
}

#[test]
fn full_duplex_moves_data_both_ways_at_once() {
    let bandwidth = "1GB/s".parse().unwrap();
    let config = HostLink { bandwidth, duplex: Duplex::Full, ..HostLink::default() };
    let mut link = Link::new(&config);
    link.send(1, 4096, 0);
    link.send(2, 1000, 0);
    link.answer(9, 512);
    link.answer(8, 4096);
    assert_eq!(link.turn(0), Turn::Busy(512));
    assert_eq!(link.turn(0), Turn::Busy(4096));
    assert_eq!(link.turn(0), Turn::Idle);
    assert_eq!(link.turn(511), Turn::Idle);
    assert_eq!(link.turn(512), Turn::Answered(9));
    assert_eq!(link.turn(512), Turn::Busy(4608));
    assert_eq!(link.turn(4095), Turn::Idle);
    assert_eq!(link.turn(4096), Turn::Arrived(1));
    assert_eq!(link.turn(4096), Turn::Busy(5096));
    assert_eq!(link.turn(4608), Turn::Answered(8));
    assert_eq!(link.turn(4608), Turn::Idle);
    assert_eq!(link.turn(5096), Turn::Arrived(2));
    assert_eq!(link.turn(5096), Turn::Idle);
}

/// A request without data passes by a link exactly when sending it and taking turns would bring it
/// to the flash at once, and nothing else across.
#[test]
fn what_passes_by_the_link_would_have_crossed_it_first() {
    let mut passed = [0, 0];
    for duplex in [Duplex::Half, Duplex::Full] {
        for case in 0..32 {
            let bandwidth = "1GB/s".parse().unwrap();
            let mut link = Link::new(&HostLink { bandwidth, duplex, ..HostLink::default() });
            let turns = |link: &mut Link, now| {
                let turns = std::iter::from_fn(|| Some(link.turn(now)));
                turns.take_while(|turn| *turn != Turn::Idle).collect::<Vec<_>>()
            };
            if case & 1 != 0 {
                link.send(1, 100, 0);
            }
            if case & 2 != 0 {
                link.answer(2, 300);
            }
            if case & 4 != 0 {
                turns(&mut link, 0);
            }
            if case & 8 != 0 {
                link.answer(3, 0);
            }
            let now = if case & 16 != 0 { 350 } else { 50 };
            let (passes, is_idle) = (link.may_pass(0, now), link.is_idle(now));
            assert_eq!(is_idle, turns(&mut link.clone(), now).is_empty(), "{case}");
            link.send(4, 0, now);
            let crossed = turns(&mut link, now);
            assert_eq!(passes, crossed == [Turn::Arrived(4)], "{case}: {crossed:?}");
            passed[usize::from(passes)] += 1;
        }
    }
    assert!(passed.iter().all(|cases| *cases >= 10), "{passed:?}");
}

#[test]
fn answers_go_before_new_requests_and_data_take_time() {
    let config = HostLink { bandwidth: "1GB/s".parse().unwrap(), ..HostLink::default() };
    let mut link = Link::new(&config);
    link.send(1, 4096, 0);
    link.send(2, 0, 0);
    assert_eq!(link.turn(0), Turn::Busy(4096));
    link.answer(9, 512);
    assert_eq!(link.turn(4095), Turn::Idle);
    assert_eq!(link.turn(4096), Turn::Arrived(1));
    assert_eq!(link.turn(4096), Turn::Busy(4608));
    assert_eq!(link.turn(4608), Turn::Answered(9));
    assert_eq!(link.turn(4608), Turn::Arrived(2));
    assert_eq!(link.turn(4608), Turn::Idle);
}
