//! Dies and units alone: they are told what to do, and their events are handed to them by a page of script.

use super::{Dies, Ended, Job, Place, ReadFor, Rows, Sight, UnitEnd, Units, Work, op};
use crate::clock::{Clock, Event};
use crate::config::SsdConfig;
use crate::device::kit::slots::Slot;
use crate::die::OpKind;
use crate::ids::{Block, Ppn, Unit};
use crate::shape::{Geometry, Groups};
use crate::timeline::Word;
use engine::Time;
use options::{Duration, Size};

/// A die of one plane, with 25 us to sense, 105.6 us for a page over the bus, 200 us to program.
fn config() -> SsdConfig {
    let mut config = SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 8,
        summary_page: false,
        ..SsdConfig::default()
    };
    config.buffer.size = Size::from_bytes(1 << 20);
    config
}

fn dies(config: &SsdConfig) -> (Dies, Clock) {
    (Dies::new(config, Groups::new(config).expect("it is possible")), Clock::default())
}

/// A read of a page of a block, for the request in this slot.
fn read(dies: &mut Dies, slot: Slot, clock: &mut Clock) {
    let mut rows = Rows::new(dies.shape(), 8);
    let owner = |pages| ReadFor::Request { slot, pages, reads: true };
    let place = Place { block: Block(0), group: 0, unit: 0, slc: false };
    assert!(rows.add(place, (0, 4096), owner, dies.costs()).is_none());
    let row = rows.finish(owner, dies.costs()).expect("there is one");
    dies.read(&row, Sight::default(), clock);
}

/// Ends of operations, with times, until the dies are idle.
fn run(dies: &mut Dies, clock: &mut Clock) -> Vec<(Time, &'static str)> {
    let mut ends = Vec::new();
    while let Some(event) = clock.proceed(Time::MAX) {
        let Event::Die(event) = event else { panic!("{event:?} is none of a die") };
        let ended = dies.event(event, Sight::default(), clock);
        let (die, word) = match ended {
            None => continue,
            Some(Ended::Row { .. }) => panic!("no batch is read"),
            Some(Ended::Read { die, .. }) => (die, "read"),
            Some(Ended::Task { die, job: Job::Erase(_), .. }) => (die, "erase"),
            Some(Ended::Task { die, .. }) => (die, "program"),
        };
        ends.push((clock.now, word));
        dies.run(die, Sight::default(), clock);
    }
    ends
}

#[test]
fn a_read_is_sensed_and_crosses_the_bus() {
    let (mut dies, mut clock) = dies(&config());
    read(&mut dies, 0, &mut clock);
    assert_eq!(run(&mut dies, &mut clock), [(25_000 + 105_600, "read")]);
}

#[test]
fn a_group_is_loaded_and_programmed_and_its_loading_is_heard_of() {
    let (mut dies, mut clock) = dies(&config());
    let job = Job::Program { group: 7, last: true, slc: false };
    dies.give(0, job, false, Sight::default(), &mut clock);
    assert_eq!((dies.take_begun(), dies.take_begun()), (Some(7), None));
    assert_eq!(run(&mut dies, &mut clock), [(105_600 + 200_000, "program")]);
}

#[test]
fn programs_of_the_host_that_are_held_do_not_begin_and_the_die_stands() {
    let (mut dies, mut clock) = dies(&config());
    let held = Sight { holds_host: true, backlog: 0 };
    dies.give(0, Job::Program { group: 0, last: true, slc: false }, false, held, &mut clock);
    assert_eq!((clock.next_at(), dies.take_begun(), dies.stand(true)), (None, None, true));
    assert!(!dies.stand(false), "it would program");
    dies.run_all(Sight::default(), &mut clock);
    assert_eq!(dies.take_begun(), Some(0));
}

#[test]
fn a_read_waits_for_a_program_unless_it_may_stop_it() {
    let times = |suspends: bool| {
        let mut config = config();
        config.suspend.resume = Duration::from_ns(3_000);
        if suspends {
            config.suspend.program = "10us".parse().expect("a time");
        }
        let (mut dies, mut clock) = dies(&config);
        dies.give(
            0,
            Job::Program { group: 0, last: true, slc: false },
            false,
            Sight::default(),
            &mut clock,
        );
        // The page is loaded, and its program starts.
        let loaded = clock.proceed(Time::MAX).expect("the page crosses the bus");
        let Event::Die(loaded) = loaded else { panic!("{loaded:?}") };
        assert!(dies.event(loaded, Sight::default(), &mut clock).is_none());
        read(&mut dies, 0, &mut clock);
        (run(&mut dies, &mut clock), dies.take_suspensions())
    };
    let (loaded, read_ns) = (105_600, 25_000 + 105_600);
    let programmed = loaded + 200_000;
    assert_eq!(times(false), (vec![(programmed, "program"), (programmed + read_ns, "read")], 0));
    let read_at = loaded + 10_000 + read_ns;
    let (ends, suspensions) = times(true);
    assert_eq!((ends[0], suspensions), ((read_at, "read"), 1));
    assert_eq!(
        ends[1],
        (read_at + 200_000 + 3_000, "program"),
        "it has lost what it did, and resumes"
    );
}

/// An uninterruptible operation is a single event.
#[test]
fn a_unit_reads_and_programs_in_one_event() {
    let config = SsdConfig { blocks_per_plane: 8, ..SsdConfig::default() };
    let geometry = Geometry::new(&config).unwrap();
    let (mut units, mut clock) = (Units::new(&config, &geometry), Clock::default());
    let read = op(OpKind::Read, Ppn(0), 1, false);
    units.launch_alone(Unit(3), Work::Page(9, None), Word::Read, &read, &mut clock);
    assert!(!units.is_idle(Unit(3)) && units.is_idle(Unit(2)));
    let Some(Event::Lane(lane)) = clock.proceed(Time::MAX) else { panic!("a lane has an event") };
    let UnitEnd::Ended { flight, unit, finished, .. } = units.stage_ended(lane, &mut clock) else {
        panic!("the read has ended")
    };
    assert!(matches!(units.work(flight), Work::Page(9, None)));
    units.drop_flight(flight);
    assert_eq!((clock.now, unit), (25_000 + 105_600, Unit(3)));
    assert_eq!((finished.cell_ns, finished.bus_ns), (25_000, 105_600));
    assert!(units.is_idle(Unit(3)) && clock.next_at().is_none());
}
