//! Submission queues by class on a drive: what is urgent waits for the command in service alone, weights are kept, and
//! one queue is as none.

use crate::common::{Script, Step, run_on, small};
use devices::QueueClass;
use devices::ssd::config::{Depth, HostLink, HostOrder};
use devices::ssd::{Ssd, SsdConfig};
use engine::{Completion, Device, Lba, Op, Request, Time};

const READ: Time = 130_600;

fn drive(order: HostOrder, priorities: &str, queues: u32) -> Ssd {
    let (queue_depth, priorities) = (Depth::of(1), priorities.parse().unwrap());
    let host_link = HostLink { queue_depth, order, queues, priorities, ..HostLink::default() };
    Ssd::new(&SsdConfig { host_link, ..small() }, 0).unwrap()
}

fn read(id: u64, queue: u16) -> Request {
    Request { queue, ..Request::new(id, Op::Read, Lba(0), 8) }
}

/// Submits requests at their times, and goes on until all are answered or an instant comes.
fn run(ssd: &mut Ssd, load: &[(Time, u16)], until: Time) -> Vec<Completion> {
    let mut done = Vec::new();
    for (id, (at, queue)) in load.iter().enumerate() {
        ssd.advance(*at, &mut done);
        ssd.submit(*at, read(id as u64, *queue));
    }
    while let Some(at) = ssd.next_event().filter(|at| *at <= until) {
        ssd.advance(at, &mut done);
    }
    done
}

#[test]
fn what_is_urgent_waits_for_the_command_in_service_alone() {
    // A hundred requests wait on the queue that is not urgent, and each fourth service an urgent one comes.
    let mut load: Vec<(Time, u16)> = vec![(0, 0); 100];
    load.extend((1..25).map(|number| (number * 4 * READ + 1000, 1)));
    let mut ssd = drive(HostOrder::Weighted, "low, urgent", 2);
    let done = run(&mut ssd, &load, Time::MAX);
    assert_eq!(done.len(), load.len());
    for it in done.iter().filter(|it| it.request.queue == 1) {
        assert_eq!(it.latency(), 2 * READ - 1000, "the rest of the one in service, and its own");
    }
    let queues = ssd.account(1).queues;
    assert_eq!([queues[0].class, queues[1].class], [QueueClass::Low, QueueClass::Urgent]);
    assert_eq!([queues[0].fetched, queues[1].fetched], [100, 24]);
    assert_eq!(queues[1].longest_ns, READ - 1000);
    // In turn they share.
    let done = run(&mut drive(HostOrder::RoundRobin, "medium", 2), &load, Time::MAX);
    assert!(done.iter().filter(|it| it.request.queue == 1).all(|it| it.latency() <= 2 * READ));
    let done = run(&mut drive(HostOrder::Fifo, "medium", 1), &load, Time::MAX);
    assert!(done.iter().any(|it| it.request.queue == 1 && it.latency() > 50 * READ));
}

#[test]
fn what_is_low_starves_where_something_urgent_always_waits() {
    let load: Vec<(Time, u16)> = (0..60).map(|number| (0, u16::from(number % 3 > 0))).collect();
    let mut ssd = drive(HostOrder::Weighted, "low, urgent", 2);
    // The first is in the device at once. As long as urgent ones wait nothing else is taken.
    run(&mut ssd, &load, 40 * READ);
    let queues = ssd.account(40 * READ).queues;
    assert_eq!([queues[0].fetched, queues[1].fetched], [1, 40]);
    assert_eq!([queues[0].waiting, queues[1].waiting], [19, 0]);
}

#[test]
fn classes_have_their_weights_on_a_drive() {
    let queue = |number: usize| (number % 3) as u16;
    let load: Vec<(Time, u16)> = (0..900).map(|number| (0, queue(number))).collect();
    let mut ssd = drive(HostOrder::Weighted, "high, medium, low", 3);
    run(&mut ssd, &load, 20 * 17 * READ);
    let fetched: Vec<u64> = ssd.account(1).queues.iter().map(|it| it.fetched).collect();
    // The weights are 8, 4 and 2; the first request took no turn.
    assert_eq!(fetched, [9 * 20 + 1, 5 * 20, 3 * 20]);
}

#[test]
fn one_queue_is_as_none_whatever_its_class() {
    let steps: Vec<Step> = (0..200).map(|id| (id * 40_000, Op::Read, id * 7 % 300, 1)).collect();
    let run = |mut ssd: Ssd| run_on(&mut ssd, Script::pages(&steps));
    let plain = run(drive(HostOrder::Fifo, "medium", 1));
    for class in ["urgent", "low"] {
        let found = run(drive(HostOrder::Weighted, class, 1));
        assert!(found == plain, "{class}");
    }
}
