//! What is seen of the blocks agrees with the map, the report and the shape of the drive, at any instant.

use crate::buffered;
use crate::common::{self, configured, run_closed};
use devices::array::ArrayConfig;
use devices::ssd::config::{Cleaning, Frontiers};
use devices::ssd::ids::BlockState;
use devices::ssd::{Ssd, SsdConfig};
use devices::{BlockLook, DeviceConfig, DeviceKind as _, Looks, Model, UNKNOWN_STREAM};
use engine::{Device, Lba, Op, Random, Request, Xoshiro256};

fn seen(device: &(impl Model + ?Sized)) -> Looks {
    let mut looks = Looks::default();
    device.blocks(&mut looks);
    looks
}

fn sum(looks: &Looks, of: impl Fn(&BlockLook) -> u32) -> u64 {
    looks.blocks.iter().map(|block| u64::from(of(block))).sum()
}

fn paged() -> SsdConfig {
    let cleaning = Cleaning { frontiers: Frontiers::SeparateMoved, ..Cleaning::default() };
    SsdConfig { cleaning, pages_per_block: 16, ..common::small() }
}

fn buffered() -> SsdConfig {
    match configured(&buffered::small()) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// Overwrites a drive twice at random and trims some of it.
fn used(config: &SsdConfig) -> (Ssd, u64) {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(5, 5);
    (0..2 * pages).for_each(|_| ssd.overwrite_untimed(&[random.below(pages)], 0));
    let sectors = ssd.capacity_sectors() / pages;
    ssd.serve_untimed(&Request::new(0, Op::Trim, Lba(0), (sectors * (pages / 10)) as u32));
    (ssd, pages - pages / 10)
}

#[test]
fn valid_pages_are_the_mapped_ones_and_erasures_those_of_the_report() {
    for config in [paged(), buffered()] {
        let (ssd, mapped) = used(&config);
        let looks = seen(&ssd);
        let report = ssd.account(1);
        assert_eq!(sum(&looks, |it| it.valid), mapped);
        let mean = sum(&looks, |it| it.erases) as f64 / looks.blocks.len() as f64;
        assert!((mean - report.wear.mean_erases).abs() < 1e-9 && mean > 0.5);
        let [drive] = &looks.drives[..] else { panic!("{:?}", looks.drives) };
        // A superblock reaches over all dies.
        let units = if report.buffered { 1 } else { report.units.len() };
        assert_eq!(drive.units.len(), units);
        assert!(looks.blocks.iter().all(|it| it.valid <= drive.data_pages));
        assert!(looks.blocks.iter().all(|it| (it.unit as usize) < drive.units.len()));
        // What is erased holds nothing, and a frontier is open and has room.
        for it in &looks.blocks {
            assert!(it.state != BlockState::Free || it.valid + it.programmed == 0);
            let is_open = it.state == BlockState::Open && it.programmed < drive.data_pages;
            assert!(!it.is_frontier || is_open);
        }
        // Both streams were written, and a block that was never erased may have been opened by none.
        let of = |stream| looks.blocks.iter().filter(|it| it.stream == stream).count();
        assert!(of(0) > 0 && of(1) > 0);
        assert!(of(0) + of(1) + of(UNKNOWN_STREAM) == looks.blocks.len());
    }
}

#[test]
fn victims_are_seen_while_they_are_cleaned() {
    for config in [paged(), buffered()] {
        let mut ssd = used(&config).0;
        let pages = ssd.facts().pages;
        let mut random = Xoshiro256::new(3, 3);
        let mut done = Vec::new();
        let (mut id, mut victims) = (0, 0);
        for _ in 0..3000 {
            let now = ssd.next_event().unwrap_or(0);
            ssd.advance(now, &mut done);
            if id < done.len() as u64 + 8 {
                ssd.submit(now, Request::new(id, Op::Write, Lba(8 * random.below(pages)), 8));
                id += 1;
            }
            let looks = seen(&ssd);
            victims += looks.blocks.iter().filter(|it| it.state == BlockState::Victim).count();
        }
        assert!(victims > 100, "{victims}");
    }
}

#[test]
fn looking_at_blocks_changes_no_result() {
    let run = |looks: bool| {
        let mut ssd = used(&paged()).0;
        if looks {
            assert!(!seen(&ssd).blocks.is_empty());
        }
        let make = |id| Request::new(id, Op::Write, Lba(8 * (id % 700)), 8);
        run_closed(&mut ssd, &mut common::Closed::new(4, 3000, make))
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn the_drives_of_an_array_come_one_after_another_and_laws_have_no_blocks() {
    let member = DeviceConfig::Ssd(Box::new(paged()));
    let config = ArrayConfig { members: 3, member, ..ArrayConfig::default() };
    let device: Box<dyn Model> = DeviceConfig::Array(Box::new(config)).build(1).unwrap();
    let (all, one) = (seen(&*device), seen(&Ssd::new(&paged(), 1).unwrap()));
    assert_eq!(all.drives.iter().map(|it| it.first).collect::<Vec<_>>(), [0, 128, 256]);
    assert_eq!(all.blocks.len(), 3 * one.blocks.len());
    let law = DeviceConfig::Law(Box::default()).build(1);
    assert_eq!(seen(&*law.unwrap()), Looks::default());
}
