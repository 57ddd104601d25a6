//! A drive with page numbers of 40 bits gives bit-identical results to one with 32.

use super::config::{Detector, FillOrder, Frontiers, LevellingRule, Persistence, Pool, SsdConfig};
use super::{Geometry, Ssd};
use crate::clean::Supplied;
use crate::device::Model;
use crate::device::building::proceed;
use engine::{Completion, Device, Lba, Op, Random, Request, Xoshiro256};
use options::Size;
use serde::de::DeserializeSeed;

fn small() -> SsdConfig {
    SsdConfig {
        channels: 2,
        packages_per_channel: 1,
        dies_per_package: 1,
        planes_per_die: 2,
        blocks_per_plane: 48,
        pages_per_block: 12,
        spare_factor: Some(0.3),
        ..SsdConfig::default()
    }
}

/// Each drive has a different state per page.
fn drives() -> Vec<SsdConfig> {
    let mut pool = SsdConfig { pool: Pool::Ssd, fill_order: FillOrder::Random, ..small() };
    pool.persistence = Persistence { order: true, ..Persistence::default() };
    pool.logical_page = Some(Size::from_bytes(2048));
    pool.spare_size = Size::from_bytes(64);
    let mut heat = small();
    heat.cleaning.frontiers = Frontiers::HotCold;
    heat.cleaning.hot_cold.detector = Detector::Recency;
    let mut worn = small();
    worn.cleaning.levelling.rule = LevellingRule::Migrate;
    worn.wear.rated_cycles = 300;
    worn.wear.spread = 0.2;
    let mut buffered = SsdConfig { summary_page: false, ..small() };
    buffered.page_size = Size::from_bytes(16_384);
    buffered.logical_page = Some(Size::from_bytes(4096));
    buffered.buffer.size = Size::from_bytes(4 << 20);
    buffered.buffer.power_loss_protected = true;
    buffered.cell.bits = 3;
    buffered.timing.program = "1.2ms".parse().unwrap();
    buffered.spare_size = Size::from_bytes(0);
    vec![small(), pool, heat, worn, buffered]
}

fn built(config: &SsdConfig, wide: bool) -> Ssd {
    let mut geometry = Geometry::new(config).unwrap();
    geometry.wide = wide;
    Ssd::shaped(config, &geometry, 1, &Supplied::default(), &mut proceed).unwrap()
}

/// Overwrites all, untimed and then in time, with trims and reads among the writes.
fn run(ssd: &mut Ssd) -> Vec<Completion> {
    let mut random = Xoshiro256::new(3, 3);
    let pages = ssd.facts().pages;
    let drawn: Vec<u64> = (0..3 * pages).map(|_| random.below(pages)).collect();
    ssd.overwrite_untimed(&drawn, 0);
    let sectors = ssd.capacity_sectors();
    let (mut now, mut done) = (0, Vec::new());
    for id in 0..4000 {
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
        let (from, length) = (random.below(sectors - 64), 1 + random.below(64) as u32);
        ssd.submit(now, Request::new(id, op, Lba(from), length));
        while id + 1 - done.len() as u64 > 16 * u64::from(id < 3999) {
            now = ssd.next_event().expect("requests are outstanding");
            ssd.advance(now, &mut done);
        }
    }
    done
}

#[test]
fn wide_page_numbers_change_nothing() {
    for (number, config) in drives().iter().enumerate() {
        let (mut narrow, mut wide) = (built(config, false), built(config, true));
        let kept = wide.save().unwrap();
        assert!(narrow.save().unwrap() == kept, "drive {number} begins otherwise");
        let other = narrow.restore(kept.clone()).unwrap_err();
        assert!(other.contains("does not fit this drive"), "{other}");
        let mut again = built(config, true);
        let state = postcard::to_stdvec(&kept).unwrap();
        let (shape, rest): (Vec<_>, _) = postcard::take_from_bytes(&state).unwrap();
        let whole = again.room(&shape).unwrap().of_shape(shape);
        let read = whole.deserialize(&mut postcard::Deserializer::from_bytes(rest)).unwrap();
        again.restore(read).unwrap();
        let (one, other) = (run(&mut narrow), run(&mut wide));
        assert!(one == other && run(&mut again) == one, "drive {number} answers otherwise");
        for ssd in [&narrow, &wide, &again] {
            ssd.check().unwrap();
            assert!(ssd.ftl.keep() == narrow.ftl.keep(), "drive {number}");
            assert!(ssd.flash.keep(0) == narrow.flash.keep(0), "drive {number}");
            assert!(ssd.report(1) == narrow.report(1), "drive {number}");
        }
    }
}
