//! The enterprise workload of JEDEC standard JESD219: mixed sizes on hot, warm and cold areas.
//!
//! The standard's client workload is a recorded trace; this is the synthetic enterprise workload.
//! Sizes and access shares of the three areas follow the standard, as does the share of reads (40
//! %), checked against fio's published job file `jesd219.fio`.
//!
//! Known: requests of 4 KiB and more are aligned to 4 KiB. Assumed, because the standard leaves it
//! open: smaller requests begin at any sector such that they stay within one unit of 4 KiB. The
//! areas are at the start of the footprint in the order hot, warm, cold. A request that would
//! exceed the footprint is moved down to end with it. Sizes, areas and directions are drawn
//! independently, and the queue depth is a key.

use crate::chance::Chance;
use crate::closed_loop::{ClosedLoop, Draw};
use crate::error::BuildError;
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::locality::{Band, Zone, band_block, bands};
use crate::units::PAGE_SECTORS;
use crate::{checks, streams};
use engine::{Lba, Op, Random, Request, Workload, Xoshiro256};
use options::Invalid;

options::options! {
    /// The JESD219 enterprise workload in a closed loop.
    pub struct Jesd219 as Jesd219Partial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Queue depth (outstanding requests).
        outstanding: u32 = 32,
        /// Share of reads; the rest are writes.
        read_share: f64 as Ratio = 0.4,
        /// Footprint: the part of the device that is accessed, from its start; at least 64KiB.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Sizes in sectors, with percentages.
const SIZES: [(u32, u64); 12] = [
    (1, 4),
    (2, 1),
    (3, 1),
    (4, 1),
    (5, 1),
    (6, 1),
    (7, 1),
    (8, 67),
    (16, 10),
    (32, 7),
    (64, 3),
    (128, 3),
];

/// The largest request size, sectors.
const LARGEST: u64 = 128;

/// Shares of the accesses and of the addresses: hot, warm, cold.
const AREAS: [Zone; 3] = [
    Zone { requests: 0.5, blocks: 0.05 },
    Zone { requests: 0.3, blocks: 0.15 },
    Zone { requests: 0.2, blocks: 0.8 },
];

impl WorkloadKind for Jesd219 {
    const SUMMARY: &'static str =
        "the JESD219 enterprise workload: mixed sizes, half of them to 5 % of the space";
    const IS_STATIONARY: bool = true;

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        const FOOTPRINT: &str = "workload.footprint";
        checks::positive("workload.requests", self.requests)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::share("workload.read_share", self.read_share)?;
        let sectors = self.footprint.sectors(context.capacity_sectors)?;
        if sectors < LARGEST {
            let problem =
                format!("{} is smaller than the largest request of 64KiB", self.footprint);
            return Err(Invalid::new(&[FOOTPRINT], problem).into());
        }
        let units = sectors / PAGE_SECTORS;
        let mixture = Mixture {
            reads: Chance::new(self.read_share),
            areas: bands(FOOTPRINT, &AREAS, units)?,
            units,
            random: Xoshiro256::new(context.draws(), streams::JESD219),
        };
        Ok(Box::new(ClosedLoop::single(Some(self.requests), self.outstanding, mixture)))
    }
}

/// The mixture of requests.
struct Mixture {
    reads: Chance,
    areas: Vec<Band>,
    /// Units of 4 KiB in the footprint.
    units: u64,
    random: Xoshiro256,
}

impl Draw for Mixture {
    fn draw(&mut self, id: u64) -> Request {
        let reads = self.reads.decide(self.random.below(1 << Chance::BITS));
        let sectors = self.size();
        let unit = band_block(&self.areas, &mut self.random);
        let whole = u64::from(sectors).div_ceil(PAGE_SECTORS);
        let start = unit.min(self.units - whole) * PAGE_SECTORS;
        // Requests of whole units have a fixed alignment, so nothing is drawn.
        let slack = whole * PAGE_SECTORS - u64::from(sectors);
        let within = if slack > 0 { self.random.below(slack + 1) } else { 0 };
        let op = if reads { Op::Read } else { Op::Write };
        Request::new(id, op, Lba(start + within), sectors)
    }
}

impl Mixture {
    fn size(&mut self) -> u32 {
        let mut percent = self.random.below(100);
        for (sectors, share) in SIZES {
            if percent < share {
                return sectors;
            }
            percent -= share;
        }
        unreachable!("the shares of the sizes add up to 100")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_refused, assert_three_outstanding, run};
    use super::*;
    use engine::Arrival;

    #[test]
    fn sizes_areas_and_directions_have_the_standard_s_shares() {
        let arrivals = run("jesd219", "requests = 200000");
        let count = arrivals.len() as f64;
        let share = |filter: &dyn Fn(&Request) -> bool| {
            arrivals.iter().filter(|a| filter(&a.request)).count() as f64 / count
        };
        // Five standard deviations of a share are at most 0.0056.
        let near = |share: f64, expected: f64| (share - expected).abs() < 0.0056;
        assert_eq!(SIZES.iter().map(|(_, percent)| percent).sum::<u64>(), 100);
        for (sectors, percent) in SIZES {
            let found = share(&|r| r.sectors == sectors);
            assert!(near(found, percent as f64 / 100.0), "{sectors} sectors: {found}");
        }
        assert!(near(share(&|r| r.op == Op::Read), 0.4));
        // 1 GiB is 2^21 sectors.
        let end = |share: f64| ((1u64 << 21) as f64 * share) as u64;
        assert!(near(share(&|r| r.lba.0 < end(0.05)), 0.5));
        assert!(near(share(&|r| (end(0.05)..end(0.2)).contains(&r.lba.0)), 0.3));
        assert!(near(share(&|r| r.lba.0 >= end(0.2)), 0.2));
    }

    #[test]
    fn requests_are_aligned_and_within_the_footprint() {
        let arrivals = run("jesd219", "requests = 50000\nfootprint = '200KiB'");
        for Arrival { request: Request { lba, sectors, .. }, .. } in &arrivals {
            assert!(lba.0 + u64::from(*sectors) <= 400, "{lba:?} + {sectors}");
            if u64::from(*sectors) >= PAGE_SECTORS {
                assert_eq!(lba.0 % PAGE_SECTORS, 0);
            } else {
                assert!(lba.0 % PAGE_SECTORS + u64::from(*sectors) <= PAGE_SECTORS);
            }
        }
        // Small requests occur at all allowed offsets.
        let places = (0..8).map(|place| {
            let single = |a: &&Arrival| a.request.sectors == 1 && a.request.lba.0 % 8 == place;
            arrivals.iter().filter(single).count()
        });
        assert!(places.min() > Some(180));
    }

    #[test]
    fn every_option_changes_the_requests() {
        let base = run("jesd219", "requests = 100");
        for text in
            ["requests = 99", "requests = 100\nread_share = 0.5", "requests = 100\nfootprint = 0.5"]
        {
            assert_ne!(run("jesd219", text), base, "{text}");
        }
        assert_eq!(run("jesd219", "requests = 100"), base);
        assert_three_outstanding("jesd219");
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (text, key, problem) in [
            ("requests = 0", "workload.requests", "at least 1"),
            ("outstanding = 0", "workload.outstanding", "at least 1"),
            ("read_share = 2.0", "workload.read_share", "2 is not a share"),
            ("footprint = '32KiB'", "workload.footprint", "32KiB is smaller than the largest"),
            ("footprint = '2GiB'", "workload.footprint", "more than the device's 1GiB"),
        ] {
            assert_refused("jesd219", text, key, problem);
        }
    }
}
