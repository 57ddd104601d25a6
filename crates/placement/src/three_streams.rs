//! Three streams of published FDP measurements (WARP): one sequential, one that overwrites the same
//! addresses at random, and one random on its own addresses.

use crate::account::{Account, Medium};
use crate::drive::{Drive, Isolation, Shape, TooFew};
use crate::random::Random;

/// Share of the drive for the sequential stream and the one that overwrites it.
const FIRST: f64 = 0.9;
/// Zones of `zoned:80/20:10/20:10/60`: share of writes, and share of addresses.
const ZONES: [(f64, f64); 3] = [(0.8, 0.2), (0.1, 0.2), (0.1, 0.6)];
/// Consecutive pages per burst of the sequential stream.
const BURST: u32 = 32;
/// Number of Zipf ranks with a stored share; all others together have less than one write in a
/// million.
const RANKS: usize = 1 << 16;

/// Address distribution of the overwriting stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Uniform.
    Uniform,
    /// `zoned:80/20:10/20:10/60`.
    Zoned,
    /// `zipf:2.2`.
    Zipf,
}

/// Assignment of handles to streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// One handle for all streams.
    None,
    /// One handle for the stream on its own addresses; the others share one.
    Shared,
    /// One handle per stream.
    Each,
}

/// The load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreeStreams {
    /// Capacity as a share of the flash.
    pub use_of: f64,
    /// Share of pages written sequentially, and by the overwriting stream; the third stream has the
    /// rest.
    pub shares: (f64, f64),
    /// Address distribution of the overwriting stream.
    pub over: Over,
    /// Assignment of handles.
    pub given: Given,
    /// Destination of copies.
    pub isolation: Isolation,
    /// Drive writes before and during the measurement.
    pub drive_writes: (f64, f64),
}

/// Draws pages of the overwriting stream.
struct Overwrites {
    over: Over,
    pages: u32,
    /// Cumulative shares of the Zipf ranks.
    cumulative: Vec<f64>,
    /// Maps ranks to pages by multiplication with a number coprime to the page count.
    step: u32,
}

impl Overwrites {
    fn new(over: Over, pages: u32) -> Overwrites {
        let mut cumulative = Vec::new();
        if over == Over::Zipf {
            let mut sum = 0.0;
            for rank in 1..=RANKS.min(pages as usize) {
                sum += libm::pow(rank as f64, -2.2);
                cumulative.push(sum);
            }
            for it in &mut cumulative {
                *it /= sum;
            }
        }
        let gcd = |mut a: u32, mut b: u32| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let near = (f64::from(pages) * 0.618) as u32;
        let step = (near..pages).find(|step| gcd(*step, pages) == 1).unwrap_or(1);
        Overwrites { over, pages, cumulative, step }
    }

    fn next(&self, random: &mut Random) -> u32 {
        match self.over {
            Over::Uniform => random.below(self.pages),
            Over::Zoned => {
                let (mut left, mut from) = (random.share(), 0.0);
                for (writes, space) in ZONES {
                    if left < writes {
                        let first = (from * f64::from(self.pages)) as u32;
                        let end = ((from + space) * f64::from(self.pages)).ceil() as u32;
                        return first + random.below(end.min(self.pages) - first);
                    }
                    (left, from) = (left - writes, from + space);
                }
                random.below(self.pages)
            }
            Over::Zipf => {
                let drawn = random.share();
                let rank = self.cumulative.partition_point(|it| *it <= drawn) as u64;
                (rank * u64::from(self.step) % u64::from(self.pages)) as u32
            }
        }
    }
}

impl ThreeStreams {
    /// Activity of the drive during the measurement.
    ///
    /// # Errors
    /// When there are too few units.
    pub fn run(&self, units: (u32, u32), seed: u64) -> Result<Account, TooFew> {
        let (handles, [order, over, own]) = match self.given {
            Given::None => (1, [0, 0, 0]),
            Given::Shared => (2, [0, 0, 1]),
            Given::Each => (3, [0, 2, 1]),
        };
        let shape = Shape::filled(self.use_of, units, handles, self.isolation);
        let mut drive = Drive::new(shape)?;
        let first = (f64::from(shape.pages) * FIRST) as u32;
        (0..shape.pages).for_each(|page| drive.write(page, if page < first { order } else { own }));
        let overwrites = Overwrites::new(self.over, first);
        let mut random = Random::new(seed);
        let (mut next, mut left) = (0, 0);
        let (in_order, overwritten) = self.shares;
        // One draw per burst.
        let starts = in_order / f64::from(BURST);
        let draws = starts + 1.0 - in_order;
        let mut write = |drive: &mut Drive, pages: f64| {
            for _ in 0..pages as u64 {
                if left == 0 {
                    let drawn = random.share() * draws;
                    if drawn >= starts {
                        if drawn - starts < overwritten {
                            drive.write(overwrites.next(&mut random), over);
                        } else {
                            drive.write(first + random.below(shape.pages - first), own);
                        }
                        continue;
                    }
                    left = BURST;
                }
                left -= 1;
                drive.write(next, order);
                next = (next + 1) % first;
            }
        };
        let (before, counted) = self.drive_writes;
        let capacity = f64::from(shape.pages);
        write(&mut drive, capacity * before);
        drive.reset_account();
        write(&mut drive, capacity * counted);
        Ok(drive.account().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit counts of the mechanism study.
    const UNITS: (u32, u32) = (512, 600);

    fn dlwa(use_of: f64, in_order: f64, over: Over, given: Given) -> f64 {
        let rest = (1.0 - in_order) / 2.0;
        let load = ThreeStreams {
            use_of,
            shares: (in_order, rest),
            over,
            given,
            isolation: Isolation::Initial,
            drive_writes: (6.0, 2.0),
        };
        load.run(UNITS, 5).unwrap().dlwa()
    }

    #[test]
    fn shares_and_places_are_those_of_the_streams() {
        let load = ThreeStreams {
            use_of: 0.845,
            shares: (0.5, 0.3),
            over: Over::Zoned,
            given: Given::Each,
            isolation: Isolation::Initial,
            drive_writes: (0.0, 2.0),
        };
        let account = load.run(UNITS, 1).unwrap();
        let host = account.host() as f64;
        for (handle, share) in [(0, 0.5), (1, 0.2), (2, 0.3)] {
            let found = account.handles[handle].host as f64 / host;
            assert!((found - share).abs() < 0.01, "{handle}: {found}");
        }
        let overwrites = Overwrites::new(Over::Zoned, 100_000);
        let mut random = Random::new(2);
        let drawn: Vec<u32> = (0..20_000).map(|_| overwrites.next(&mut random)).collect();
        for (writes, space) in [(0.8, 0..20_000), (0.1, 20_000..40_000), (0.1, 40_000..100_000)] {
            let found = drawn.iter().filter(|it| space.contains(*it)).count() as f64 / 20_000.0;
            assert!((found - writes).abs() < 0.01, "{space:?}: {found}");
        }
        // The first Zipf rank has 1 / zeta(2.2) of the writes, and every rank has its own page.
        let overwrites = Overwrites::new(Over::Zipf, 100_000);
        let drawn: Vec<u32> = (0..20_000).map(|_| overwrites.next(&mut random)).collect();
        let first = drawn.iter().filter(|it| **it == 0).count() as f64 / 20_000.0;
        assert!((first - 1.0 / 1.490_5).abs() < 0.02, "{first}");
    }

    #[test]
    fn handles_help_as_much_as_was_measured() {
        // Published: 1.08, 3.35 and 3.85 on an emulator; the study: 1.086, 3.46 and 3.94.
        let found =
            [Given::Each, Given::Shared, Given::None].map(|it| dlwa(0.909, 0.58, Over::Zipf, it));
        println!("{found:?}");
        for (found, study) in found.into_iter().zip([1.086, 3.46, 3.94]) {
            assert!((found / study - 1.0).abs() < 0.05, "{found} {study}");
        }
    }
}
