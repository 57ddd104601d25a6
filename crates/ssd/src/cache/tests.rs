//! The buffer alone: A script of writes, group fills and durability.

use super::{Asked, Cache, Class, Turn, Waiter, Why};
use crate::clock::Clock;
use crate::config::SsdConfig;
use crate::device::building::proceed;
use crate::die::{Costs, Job};
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::ids::Stream;
use crate::shape::Geometry;
use engine::{Lba, Op, Request, Status};
use options::Size;

struct Drive {
    cache: Cache,
    ftl: Ftl,
    flash: Flash,
    clock: Clock,
}

/// Two dies of one plane and a buffer of four pages, of which each is a group.
fn drive() -> Drive {
    let mut config = SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 64,
        ..SsdConfig::default()
    };
    config.buffer.size = Size::from_bytes(4 * 4096);
    let geometry = Geometry::new(&config).expect("it is possible");
    let shape = geometry.groups.expect("it has a buffer");
    let filled = Ftl::new(&config, &geometry, 0, &mut proceed).continue_value();
    let (mut ftl, mut flash) = filled.expect("nobody interrupts");
    ftl.write_through(super::untimed_room(&config, &shape));
    let mut cache = Cache::new(&config, &geometry, shape, &Costs::new(&config, &shape));
    cache.begin(&mut ftl, &mut flash);
    Drive { cache, ftl, flash, clock: Clock::default() }
}

impl Drive {
    /// A one-page write; its next step once the pages are placed.
    fn write(&mut self, slot: u32, page: u64) -> Turn {
        let request = Request::new(u64::from(slot), Op::Write, Lba(page * 8), 8);
        self.cache.join(slot, request, self.ftl.geometry(), self.clock.now);
        self.turn()
    }

    fn turn(&mut self) -> Turn {
        loop {
            let turn = self.cache.next(&mut self.ftl, |_| 0, |_, _| false, &mut self.clock);
            let Turn::Page { domain, lpn, .. } = turn else { return turn };
            let to = (domain, Stream::FIRST, Class::Host);
            self.cache.place(&mut self.ftl, to, lpn, &mut self.clock);
        }
    }

    fn jobs(&mut self) -> Vec<Asked> {
        std::iter::from_fn(|| self.cache.next_job()).collect()
    }
}

#[test]
fn a_write_is_through_when_it_is_in_the_buffer_and_each_full_group_is_a_job() {
    let mut drive = drive();
    for page in 0..4 {
        assert!(matches!(drive.write(page as u32, page), Turn::Through { status: Status::Ok, .. }));
    }
    let dies: Vec<u32> = drive.jobs().iter().map(|job| job.die).collect();
    assert_eq!(dies, [0, 1, 0, 1], "groups go round the dies");
    assert!(matches!(drive.write(4, 4), Turn::Held(Why::Room)), "the buffer is full");
}

#[test]
fn a_page_that_is_written_again_takes_no_room_until_it_is_on_its_way() {
    let mut drive = drive();
    drive.write(0, 7);
    drive.write(1, 7);
    assert_eq!(drive.ftl.counters.buffer_replaced, 1);
    let jobs = drive.jobs();
    let [Asked { job: Job::Program { group, .. }, .. }] = jobs[..] else { panic!("{jobs:?}") };
    drive.cache.begins(group);
    drive.write(2, 7);
    assert_eq!((drive.ftl.counters.buffer_replaced, drive.jobs().len()), (1, 1));
}

#[test]
fn a_group_that_is_programmed_makes_room_and_what_waited_for_it_is_durable() {
    let mut drive = drive();
    (0..4).for_each(|page| _ = drive.write(page as u32, page));
    drive.cache.await_durable(Waiter::Flush(9));
    assert!(matches!(drive.write(4, 4), Turn::Held(Why::Room)));
    for Asked { job, .. } in drive.jobs() {
        assert!(drive.cache.next_durable().is_none(), "not all is programmed");
        let Job::Program { group, .. } = job else { panic!("{job:?}") };
        drive.cache.begins(group);
        let done = drive.cache.pass_done(group, &mut drive.ftl, &mut drive.flash);
        assert!(done.is_some_and(|done| done.is_hosts && done.pages == 1));
    }
    assert!(matches!(drive.cache.next_durable(), Some(Waiter::Flush(9))));
    assert!(matches!(drive.turn(), Turn::Through { .. }), "there is room again");
}

/// A turn requested within another is that turn; when the first write has stopped, it is another.
#[test]
fn a_turn_begins_once_until_the_first_write_has_stopped() {
    let mut drive = drive();
    assert!(!drive.cache.is_pending());
    drive.cache.ask();
    assert!(drive.cache.begins_attempt());
    drive.cache.ask();
    assert!(drive.cache.is_pending() && !drive.cache.begins_attempt());
    drive.cache.stop(Why::Room, 0);
    assert!(!drive.cache.is_pending());
    drive.cache.ask();
    assert!(drive.cache.begins_attempt());
    assert_eq!((drive.cache.take_stopped(), drive.cache.take_stopped()), (Some(Why::Room), None));
}
