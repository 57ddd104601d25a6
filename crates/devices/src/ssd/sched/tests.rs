//! The flash back end alone, without a host.

use super::Scheduler;
use crate::building::go_on;
use crate::ssd::clock::{Clock, Event};
use crate::ssd::config::SsdConfig;
use crate::ssd::ftl::Ftl;
use crate::ssd::ids::Lpn;
use crate::ssd::page::{Access, PageDone, PageRequest, Spent};
use crate::ssd::shape::Geometry;
use engine::{Status, Time};

fn back_end() -> (Scheduler, Clock) {
    let config = SsdConfig { blocks_per_plane: 64, ..SsdConfig::default() };
    let geometry = Geometry::new(&config).unwrap();
    let filled = Ftl::new(&config, &geometry, 0, &mut go_on).continue_value().unwrap();
    (Scheduler::new(&config, &geometry, filled), Clock::default())
}

/// Gives a page request to an idle back end; when it is done, and its latency.
fn serve(back: &mut Scheduler, clock: &mut Clock, request: &PageRequest) -> (Time, PageDone) {
    assert_eq!(back.accept(request, clock), None, "it takes an operation");
    let mut done = None;
    while let Some(Event::Flash(lane)) = clock.go_on(Time::MAX) {
        let Some(ended) = back.stage_ended(lane, clock) else { continue };
        done = done.or(ended.done.map(|done| (clock.now, done)));
        back.go_on(ended, clock);
    }
    done.expect("it is done")
}

/// A page request is served whatever its owner (buffer, cleaning or none); the host is not needed.
#[test]
fn a_page_request_needs_no_owner() {
    let (mut back, mut clock) = back_end();
    let page = PageRequest {
        owner: None,
        access: Access::Read,
        lpn: Lpn(5),
        bytes: 4096,
        touched: (0, 1),
        whole: (0, 0),
        covered: true,
    };
    let before = back.ftl.lookup(page.lpn);
    let (read_at, done) = serve(&mut back, &mut clock, &page);
    // 25 us, and 4,224 bytes at 25 ns (Table 1 of the 2008 paper).
    assert_eq!(read_at, 25_000 + 105_600);
    let spent = Spent::Served { cleaning_wait: 0, bus: 105_600, cell: 25_000 };
    assert_eq!(done, PageDone { owner: None, status: Status::Ok, spent });
    let write = PageRequest { access: Access::Write, ..page };
    let (written_at, done) = serve(&mut back, &mut clock, &write);
    assert_eq!(written_at - read_at, 105_600 + 200_000);
    assert_eq!((done.owner, done.status), (None, Status::Ok));
    assert_ne!(back.ftl.lookup(page.lpn), before, "the page lies elsewhere now");
    assert_eq!(back.ftl.counters.host_programs, 1);
}
