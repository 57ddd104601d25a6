//! Answers in the order in which requests came: nothing is done later for it, and no answer overtakes another.

use crate::common::{Closed, Script, run_closed, run_on, small, times};
use devices::latency::{HOST_QUEUE, UNIT_WAIT};
use devices::ssd::config::{Completions, Depth, HostOrder};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use engine::{Completion, Device, Lba, Op, Op::*, Random, Request, Time, Xoshiro256};

const READ: Time = 130_600;
const WRITE: Time = 305_600;

fn in_order(config: SsdConfig) -> SsdConfig {
    let mut config = config;
    config.host_link.completions = Completions::InOrder;
    config
}

#[test]
fn what_is_done_waits_for_what_came_before_it() {
    // Pages 0 and 2 lie in one package, page 1 in the other.
    let steps = [(0, Write, 0, 1), (0, Read, 1, 1), (0, Read, 2, 1)];
    assert_eq!(times(&small(), &steps), [WRITE, READ, WRITE + READ]);
    assert_eq!(times(&in_order(small()), &steps), [WRITE, WRITE, WRITE + READ]);
    let mut ssd = Ssd::new(&in_order(small()), 0).unwrap();
    let read = run_on(&mut ssd, Script::pages(&steps))[1].breakdown;
    assert_eq!([read[HOST_QUEUE], read[UNIT_WAIT]], [WRITE - READ, 0]);
}

#[test]
fn queues_have_an_order_of_their_own() {
    let mut config = in_order(small());
    (config.host_link.order, config.host_link.queues) = (HostOrder::RoundRobin, 2);
    let ends = |queues: [u16; 2]| {
        let mut ssd = Ssd::new(&config, 0).unwrap();
        let request =
            |id: u64, op, queue| Request { queue, ..Request::new(id, op, Lba(id * 8), 8) };
        ssd.submit(0, request(0, Write, queues[0]));
        ssd.submit(0, request(1, Read, queues[1]));
        let mut done = Vec::new();
        while let Some(at) = ssd.next_event() {
            ssd.advance(at, &mut done);
        }
        done.sort_by_key(|it: &Completion| it.request.id);
        [done[0].at, done[1].at]
    };
    assert_eq!(ends([0, 0]), [WRITE, WRITE]);
    assert_eq!(ends([0, 2]), [WRITE, WRITE], "two of three is none of two");
    assert_eq!(ends([0, 1]), [WRITE, READ]);
}

/// The flash does the same at the same time where all that is asked is there at the beginning; answers are only given
/// later, in the order in which requests came, and the last of them at the same instant.
#[test]
fn answers_come_in_the_order_of_requests_and_no_later_than_they_must() {
    for buffered in [false, true] {
        let mut config = small();
        config.spare_factor = Some(0.3);
        config.host_link.latency = "3us".parse().unwrap();
        if buffered {
            config.buffer.size = "1MiB".parse().unwrap();
        }
        let run = |config: &SsdConfig| {
            let mut ssd = Ssd::new(config, 0).unwrap();
            let pages = Geometry::new(config).unwrap().exported_pages();
            let random = &mut Xoshiro256::new(3, 0);
            let mut load = Closed::new(400, 400, |n| {
                let op = [Op::Read, Op::Write, Op::Read, Op::Trim][random.below(4) as usize];
                Request::new(
                    n,
                    op,
                    Lba(random.below(pages - 4) * 8),
                    8 * (1 + random.below(3) as u32),
                )
            });
            run_closed(&mut ssd, &mut load)
        };
        let (end, mut as_done) = run(&config);
        let (same_end, ordered) = run(&in_order(config.clone()));
        assert_eq!(end, same_end);
        assert!(ordered.windows(2).all(|two| two[0].request.id < two[1].request.id));
        assert!(as_done.windows(2).any(|two| two[0].request.id > two[1].request.id));
        as_done.sort_by_key(|it| it.request.id);
        // Each is answered when it and all before it are done.
        let mut latest = 0;
        for (one, other) in as_done.iter().zip(&ordered) {
            latest = one.at.max(latest);
            assert_eq!((one.request.id, other.at), (other.request.id, latest));
        }
    }
}

/// However requests enter the device, with flushes between them and places that are few, all are answered.
#[test]
fn nobody_waits_for_ever() {
    for (seed, order) in
        [HostOrder::Fifo, HostOrder::Clook, HostOrder::RoundRobin, HostOrder::Weighted]
            .into_iter()
            .enumerate()
    {
        for (depth, buffered) in [(1, false), (3, false), (8, true)] {
            let mut config = in_order(small());
            config.spare_factor = Some(0.3);
            (config.host_link.order, config.host_link.queue_depth) = (order, Depth::of(depth));
            config.host_link.bandwidth = "100MB/s".parse().unwrap();
            if buffered {
                config.buffer.size = "1MiB".parse().unwrap();
                config.buffer.power_loss_protected = false;
            }
            let mut ssd = Ssd::new(&config, 0).unwrap();
            let pages = Geometry::new(&config).unwrap().exported_pages();
            let random = &mut Xoshiro256::new(seed as u64, 0);
            let mut load = Closed::new(20, 2_000, |n| {
                let op = [Op::Read, Op::Write, Op::Write, Op::Flush][random.below(4) as usize];
                if op == Op::Flush {
                    return Request::new(n, op, Lba(0), 0);
                }
                Request {
                    queue: random.below(3) as u16,
                    ..Request::new(n, op, Lba(random.below(pages) * 8), 8)
                }
            });
            let (_, done) = run_closed(&mut ssd, &mut load);
            assert_eq!(done.len(), 2_000, "{order}, {depth}");
            // A flush is answered after the writes that were answered before it was asked.
            let mut seen = vec![false; 2_000];
            for it in &done {
                let before = |n: usize| seen[n];
                if it.request.op == Op::Flush {
                    let earlier = done.iter().filter(|other| {
                        other.request.op == Op::Write && other.request.id < it.request.id
                    });
                    assert!(earlier.into_iter().all(|other| before(other.request.id as usize)));
                }
                seen[it.request.id as usize] = true;
            }
        }
    }
}
