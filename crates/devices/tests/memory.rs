//! Memory of a drive: next to nothing while it is empty, that of accessed pages while it is filled in
//! part, and at most 9 bytes a page when it is full, 11 where page numbers have 40 bits.
//!
//! One test, so that nothing else takes memory at the same time.

#[path = "common/depth.rs"]
mod depth;

use depth::depth;
use devices::Model;
use devices::ssd::config::{CleaningTime, Fill, Interleave};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use engine::{Device, Lba, Op, Random, Request, Xoshiro256};
use options::Setting;

const TIB: f64 = (1u64 << 40) as f64;

/// Bytes of memory in use; none where the system does not say.
#[expect(clippy::disallowed_methods, reason = "a test that asks the system for memory in use")]
fn in_use() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

/// Blocks in each of four dies of one plane, of pages of a size and in a number.
fn drive(blocks: u32, pages_per_block: u32, page: &str, fill: &str) -> SsdConfig {
    let mut config = SsdConfig {
        channels: 4,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: blocks,
        pages_per_block,
        page_size: page.parse().unwrap(),
        spare_size: "0B".parse().unwrap(),
        summary_page: false,
        interleave: Interleave::None,
        fill: Setting::complete(serde_json::from_str(fill).unwrap(), Fill::FULL),
        ..SsdConfig::default()
    };
    config.cleaning.time = CleaningTime::Blocking;
    config
}

/// Pages of the flash, and bytes that a drive takes for each: as it is built, and after `work`.
fn bytes_a_page(config: &SsdConfig, work: impl FnOnce(&mut Ssd)) -> Option<(f64, f64, f64)> {
    let pages = Geometry::new(config).unwrap().pages() as f64;
    let before = in_use()? as f64;
    let mut ssd = Ssd::new(config, 1).unwrap();
    let built = (in_use()? as f64 - before) / pages;
    work(&mut ssd);
    let after = (in_use()? as f64 - before) / pages;
    println!("{pages:.3e} pages: {built:.3} bytes a page, then {after:.3}");
    Some((pages, built, after))
}

fn write_some(ssd: &mut Ssd, within: u64, writes: u64) {
    let mut random = Xoshiro256::new(1, 0);
    for _ in 0..writes {
        let page = random.below(within);
        ssd.overwrite_untimed(&[page], 0);
    }
}

#[test]
fn a_drive_takes_memory_for_what_it_holds() {
    // Small blocks, of which there are many; a domain has 4 million.
    let empty = drive(1 << 22, 64, "4KiB", "\"empty\"");
    let Some((pages, built, after)) = bytes_a_page(&empty, |_| ()) else { return };
    assert!(pages > 1e9 && built < 0.1 && after < 0.1, "an empty drive takes {built} bytes a page");
    // One page in 400, at night in 100, and after another the tables of that part alone.
    let part = depth(400, 400, 100);
    let within = pages as u64 / part;
    let (.., after) = bytes_a_page(&empty, |ssd| write_some(ssd, within, within)).unwrap();
    let most = 0.1 + 12.0 / part as f64;
    assert!(after < most, "a drive with one page in {part} takes {after} bytes a page");
    // Full, and written over.
    let full = drive(1 << depth(13, 13, 14), 64, "4KiB", "\"full\"");
    let work = |ssd: &mut Ssd| write_some(ssd, ssd.facts().pages, ssd.facts().pages);
    let (_, built, after) = bytes_a_page(&full, work).unwrap();
    assert!(built < 9.0 && after < 9.0, "a full drive takes {built}, later {after} bytes a page");
    // 131 TB of pages of 16 KiB, more than 2^32; written, read and checked in a small part.
    let large = drive(1 << 21, 1024, "16KiB", "\"empty\"");
    let (pages, built, after) = bytes_a_page(&large, |ssd| {
        assert!(ssd.capacity_sectors() as f64 * 512.0 > 100.0 * TIB);
        write_some(ssd, 1 << 18, 1 << 18);
        let last = ssd.capacity_sectors() - 32;
        for op in [Op::Write, Op::Read] {
            ssd.submit(0, Request::new(u64::from(op == Op::Read), op, Lba(last), 32));
        }
        let mut done = Vec::new();
        while let Some(at) = ssd.next_event() {
            ssd.advance(at, &mut done);
        }
        assert!(done.len() == 2 && ssd.account(1).counts.host_pages_written > 1 << 18);
        ssd.check().unwrap();
    })
    .unwrap();
    assert!(pages > 8e9 && built < 0.05 && after < 0.05, "{built}, later {after} bytes a page");
}
