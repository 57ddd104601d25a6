//! Address coverage of a run's writes, which is full once they reach no new addresses.
//!
//! The lifetime estimate uses the blocks erased under a load. Blocks of addresses that are never
//! written stay at rest, and blocks of addresses not yet reached look alike. So writes are counted
//! by address, in equal parts of the device.

use engine::{Completion, Op};

/// Number of parts of the device.
const PARTS: u64 = 1024;
/// Final share of the writes, during which a load with full coverage reaches few new parts.
const LATE: f64 = 0.2;
/// Maximum share of these last writes in new parts.
const FEW: f64 = 0.05;
/// Mean writes per part before the next part is reached, above which a load is sequential; a random
/// load reaches half of the parts after 0.7.
const IN_ORDER: f64 = 4.0;

/// Coverage of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reached {
    /// The run still reached new addresses at its end.
    StillNew {
        /// Approximate number of requests that complete a pass over the device.
        more_requests: u64,
    },
    /// At least one sequential pass over the load's addresses.
    InTurns,
    /// Full coverage.
    All,
}

/// A part of the device.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Total sectors written to the device before the first write to this part.
    first: u64,
    /// Sectors written to this part.
    sectors: u64,
}

/// Distribution of a run's writes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    part_sectors: u64,
    parts: Vec<Part>,
    requests: u64,
    writes: u64,
    sectors: u64,
}

impl Reach {
    pub(crate) fn new(capacity_sectors: u64) -> Reach {
        let part_sectors = capacity_sectors.div_ceil(PARTS).max(1);
        let parts = vec![Part::default(); capacity_sectors.div_ceil(part_sectors) as usize];
        Reach { part_sectors, parts, ..Reach::default() }
    }

    /// Counts a completed request.
    pub(crate) fn record(&mut self, completion: &Completion) {
        self.requests += 1;
        let request = &completion.request;
        if request.op != Op::Write || !completion.status.is_ok() {
            return;
        }
        self.writes += 1;
        let sectors = u64::from(request.sectors);
        let (mut at, end) = (request.lba.0, request.lba.0 + sectors);
        while at < end {
            let number = at / self.part_sectors;
            let here = end.min((number + 1) * self.part_sectors) - at;
            if let Some(part) = self.parts.get_mut(number as usize) {
                if part.sectors == 0 {
                    part.first = self.sectors;
                }
                part.sectors += here;
            }
            at += here;
        }
        self.sectors += sectors;
    }

    /// The coverage; with `is_repeated`, equal writes prepared the device, so they count as a full
    /// pass.
    pub(crate) fn reached(&self, is_repeated: bool) -> Reached {
        let mut touched: Vec<Part> =
            self.parts.iter().copied().filter(|it| it.sectors > 0).collect();
        let from = (1.0 - LATE) * self.sectors as f64;
        let late = touched.iter().filter(|it| it.first as f64 >= from).map(|it| it.sectors);
        let is_new = late.sum::<u64>() as f64 > FEW * LATE * self.sectors as f64;
        if is_new && !is_repeated {
            let rounds = self.parts.len() as f64 / touched.len() as f64 / (1.0 - LATE);
            let more_requests = (self.requests as f64 * (rounds - 1.0).max(LATE)).ceil() as u64;
            return Reached::StillNew { more_requests };
        }
        touched.sort_unstable_by_key(|it| it.first);
        let Some(half) = touched.get(touched.len() / 2) else { return Reached::All };
        let writes = half.first as f64 * self.writes as f64 / self.sectors as f64;
        if writes > IN_ORDER * touched.len() as f64 && self.is_even(&touched) {
            return Reached::InTurns;
        }
        Reached::All
    }

    /// True if each part was written n or n + 1 times, apart from the start and end of the load.
    fn is_even(&self, touched: &[Part]) -> bool {
        let times = self.sectors / (touched.len() as u64 * self.part_sectors);
        let range = times * self.part_sectors..=(times + 1) * self.part_sectors;
        let others = touched.iter().filter(|it| !range.contains(&it.sectors)).count();
        times > 0 && others * 100 <= touched.len().max(200)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Breakdown, Lba, Random, Request, Status, Xoshiro256};

    /// Coverage of writes of 8 sectors at the given of 100,000 places, alternating with reads.
    fn reached(places: impl Iterator<Item = u64>) -> Reached {
        let mut reach = Reach::new(800_000);
        for (id, place) in places.enumerate() {
            for op in [Op::Read, Op::Write] {
                let request = Request::new(id as u64, op, Lba(8 * place), 8);
                let breakdown = Breakdown::default();
                let status = Status::Ok;
                reach.record(&Completion { request, submitted: 0, at: 1, breakdown, status });
            }
        }
        reach.reached(false)
    }

    #[test]
    fn a_load_in_order_has_to_go_round_and_is_told_how_far_that_is() {
        let in_order = |writes: u64| reached((0..writes).map(|it| it % 100_000));
        // A fifth of the device was written: a further 1.25 rounds minus that fifth are needed,
        // with two requests each.
        let Reached::StillNew { more_requests } = in_order(20_000) else { panic!("it is new") };
        assert!((more_requests as f64 / 210_000.0 - 1.0).abs() < 0.02, "{more_requests}");
        for writes in [100_000, 115_000] {
            assert!(matches!(in_order(writes), Reached::StillNew { .. }), "{writes}");
        }
        for writes in [125_000, 185_000, 200_000, 1_030_000] {
            assert_eq!(in_order(writes), Reached::InTurns, "{writes}");
        }
        // The suggested number of requests suffices.
        assert_eq!(in_order(20_000 + more_requests / 2 + 1), Reached::InTurns);
    }

    #[test]
    fn a_load_at_random_has_been_everywhere_soon_and_takes_no_turns() {
        let mut random = Xoshiro256::new(1, 0);
        for writes in [5_000, 100_000, 1_000_000] {
            assert_eq!(reached((0..writes).map(|_| random.below(100_000))), Reached::All);
        }
        // Sequential runs of 50 from random positions.
        let mut place = 0;
        let runs = (0..300_000).map(|it| {
            place = if it % 50 == 0 { random.below(99_000) } else { place + 1 };
            place
        });
        assert_eq!(reached(runs), Reached::All);
        assert_eq!(reached(std::iter::empty()), Reached::All);
    }
}
