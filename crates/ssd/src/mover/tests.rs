//! Relocations alone: a victim is scanned, read and erased by a page of script.

use super::{Jobs, Mover};
use crate::config::{CleaningTime, SsdConfig};
use crate::device::building::proceed;
use crate::ftl::Ftl;
use crate::ids::{Domain, Unit};
use crate::shape::Geometry;
use options::Size;

#[test]
fn a_victim_is_read_group_by_group_and_erased_on_all_its_dies() {
    let mut config = SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 64,
        pages_per_block: 8,
        summary_page: false,
        ..SsdConfig::default()
    };
    config.buffer.size = Size::from_bytes(1 << 20);
    let geometry = Geometry::new(&config).expect("it is possible");
    let shape = geometry.groups.expect("it has a buffer");
    let filled = Ftl::new(&config, &geometry, 0, &mut proceed).continue_value();
    let (mut ftl, mut flash) = filled.expect("nobody interrupts");
    ftl.overwrite_untimed(&mut flash, &(0..16).collect::<Vec<u64>>());
    let mut mover = Mover::new(&config, &geometry, shape);
    let job = ftl.begin_cleaning_below(&flash, Unit(0), u32::MAX).expect("something is superseded");
    mover.begin(job);
    let domain = Domain(0);
    let mut read = 0;
    loop {
        assert!(mover.take_read(domain).is_none() || read == 16);
        let Some(scan) = mover.scan(domain, (&ftl, &flash), u32::MAX, u32::MAX) else { break };
        let batches: Vec<_> = scan.batches().collect();
        assert_eq!(scan.pages, 1, "a group has one page");
        assert!(mover.stands() == batches.is_empty());
        for (batch, _) in batches {
            let pages = mover.batch_read(&batch, scan.die, &geometry).count() as u32;
            mover.batch_moved(&batch, pages);
        }
        read += 1;
    }
    // All sixteen groups of the line were scanned; then it is due for erasure.
    assert_eq!(read, 16);
    assert!(!mover.has_victim(domain) || mover.take_read(domain).is_some());
    let number = mover.erase_after(job, 0);
    assert_eq!(mover.begin_erasure(number), 0..2);
    assert_eq!(mover.erasing(), [job.source]);
    assert!(mover.die_erased(number).is_none());
    assert!(mover.die_erased(number).is_some_and(|it| it.source == job.source));
    assert!(mover.erasing().is_empty());
}

#[test]
fn cleaning_that_blocks_counts_the_wait_of_an_erasure_that_is_barred() {
    for (time, waited) in [(CleaningTime::Blocking, 70), (CleaningTime::Interleaved, 0)] {
        let mut config = SsdConfig::default();
        config.cleaning.time = time;
        let geometry = Geometry::new(&config).expect("it is possible");
        let mut jobs = Jobs::new(&config, &geometry, (true, false));
        jobs.bar(Unit(2), 30);
        jobs.bar(Unit(2), 50);
        assert!(jobs.any_barred());
        assert_eq!(jobs.take_barred(100), [Unit(2)]);
        assert_eq!((jobs.cleaning_ns(Unit(2), 100), jobs.any_barred()), (waited, false));
    }
}
