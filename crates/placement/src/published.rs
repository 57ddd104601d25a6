//! Loads of published FDP measurements, without a trace: one stream in random permutations, and a
//! cache of small and large objects.

use crate::account::{Account, Medium};
use crate::drive::{Drive, Isolation, Shape, TooFew};
use crate::random::Random;

/// Write amplification by tenth of a pass, and by pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Passes {
    /// Write amplification of each pass.
    pub passes: Vec<f64>,
    /// Write amplification of each tenth of a pass: mean of all passes after the third.
    pub tenths: Vec<f64>,
    /// Write amplification of the first hundredth of a pass: mean of the same passes.
    pub start: f64,
}

/// A stream that writes every page once per pass, in a new random order each time, as fio's random
/// writes without `norandommap`. Data fill the share `use_of` of the flash.
///
/// # Errors
/// When there are too few units.
pub fn permutation(
    use_of: f64,
    (unit_pages, units): (u32, u32),
    passes: u32,
    seed: u64,
) -> Result<Passes, TooFew> {
    let shape = Shape::filled(use_of, (unit_pages, units), 1, Isolation::Initial);
    let mut drive = Drive::new(shape)?;
    let mut order: Vec<u32> = (0..shape.pages).collect();
    for page in &order {
        drive.write(*page, 0);
    }
    let mut random = Random::new(seed);
    let (mut means, mut tenths, mut start) = (Vec::new(), vec![0.0; 10], 0.0);
    for pass in 0..passes {
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at as u32 + 1) as usize);
        }
        let mut programmed = 0;
        for (tenth, part) in order.chunks(order.len().div_ceil(10)).enumerate() {
            drive.reset_account();
            for (at, page) in part.iter().enumerate() {
                if tenth == 0 && pass >= 3 && at == part.len() / 10 {
                    start += drive.account().dlwa() / f64::from(passes - 3);
                }
                drive.write(*page, 0);
            }
            programmed += drive.account().host() + drive.account().moved();
            if pass >= 3 {
                tenths[tenth] += drive.account().dlwa() / f64::from(passes - 3);
            }
        }
        means.push(programmed as f64 / f64::from(shape.pages));
    }
    Ok(Passes { passes: means, tenths, start })
}

/// A flash cache (`CacheLib`): small objects in randomly overwritten buckets, large objects in
/// regions written as a ring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheLoad {
    /// Capacity as a share of the flash.
    pub use_of: f64,
    /// Share of the capacity used by the cache.
    pub utilisation: f64,
    /// Share of the cache for small objects.
    pub small: f64,
    /// Share of written bytes for small objects.
    pub share: f64,
    /// True if the two streams have separate handles.
    pub placed: bool,
    /// Destination of copies.
    pub isolation: Isolation,
    /// Pages per region of large objects, written in order.
    pub region: u32,
    /// Drive writes before and during the measurement.
    pub drive_writes: (f64, f64),
}

impl CacheLoad {
    /// Activity of the drive during the measurement, and its write amplification in each earlier
    /// drive write.
    ///
    /// # Errors
    /// When there are too few units.
    pub fn run(
        &self,
        (unit_pages, units): (u32, u32),
        seed: u64,
    ) -> Result<(Account, Vec<f64>), TooFew> {
        let handles = if self.placed { 2 } else { 1 };
        let shape = Shape::filled(self.use_of, (unit_pages, units), handles, self.isolation);
        let mut drive = Drive::new(shape)?;
        let capacity = f64::from(shape.pages);
        let used = (capacity * self.utilisation) as u32;
        let small = ((f64::from(used) * self.small) as u32).max(1);
        let large = (used - small).max(1);
        let (buckets, ring) = (0, u8::from(self.placed));
        (0..used).for_each(|page| drive.write(page, if page < small { buckets } else { ring }));
        let mut random = Random::new(seed);
        let (mut next, mut left) = (0, 0);
        // Large objects are written a region at a time, as often as the share of bytes requires.
        let per_region = self.share + (1.0 - self.share) / f64::from(self.region);
        let starts = if per_region > 0.0 {
            (1.0 - self.share) / f64::from(self.region) / per_region
        } else {
            1.0
        };
        let mut write = |drive: &mut Drive, pages: f64| {
            for _ in 0..pages as u64 {
                if left == 0 && random.chance(starts) {
                    left = self.region;
                }
                if left > 0 {
                    left -= 1;
                    drive.write(small + next, ring);
                    next = (next + 1) % large;
                } else {
                    drive.write(random.below(small), buckets);
                }
            }
        };
        let (before, counted) = self.drive_writes;
        let mut curve = Vec::new();
        for _ in 0..before.ceil() as u32 {
            drive.reset_account();
            write(&mut drive, capacity);
            curve.push(drive.account().dlwa());
        }
        drive.reset_account();
        write(&mut drive, capacity * counted);
        Ok((drive.account().clone(), curve))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit counts of the mechanism study.
    const UNITS: (u32, u32) = (512, 600);

    #[test]
    fn permutation_passes_take_the_means_of_the_published_streams() {
        // Equation (e), and the two measured drives: 2.035 (7.68 TB) and 3.60 (3.84 TB).
        for (use_of, expected) in
            [(0.845, 2.05), (0.855, 2.16), (0.873, 2.37), (0.90, 2.91), (0.92, 3.6)]
        {
            let found = permutation(use_of, UNITS, 7, 1).unwrap();
            let mean = found.passes[3..].iter().sum::<f64>() / 4.0;
            assert!((mean / expected - 1.0).abs() < 0.03, "{use_of}: {mean:.3}, {expected}");
            // Units erased at the end of a pass are empty, so each pass starts without copies.
            assert!(found.start < 1.02, "{use_of}: {:.3}", found.start);
            assert!(found.tenths[0] < 0.7 * mean, "{:?}", found.tenths);
            let most = found.tenths.iter().copied().fold(0.0, f64::max);
            assert!(most > 1.5 * mean, "{:?}", found.tenths);
        }
    }

    #[test]
    fn a_cache_has_the_published_write_amplification_with_placement_and_without() {
        let cache = CacheLoad {
            use_of: 0.845,
            utilisation: 1.0,
            small: 0.04,
            share: 0.82,
            placed: false,
            isolation: Isolation::Initial,
            region: 1,
            drive_writes: (9.0, 2.0),
        };
        let dlwa = |load: CacheLoad| load.run(UNITS, 3).unwrap().0.dlwa();
        let (none, placed) = (dlwa(cache), dlwa(CacheLoad { placed: true, ..cache }));
        println!("full {none:.3} {placed:.3}");
        // Published: 3.22 to 3.5 without placement, 1.03 with; the study: 3.5 to 3.6 and 1.00.
        assert!((3.2..3.8).contains(&none), "{none}");
        assert!((0.99..1.07).contains(&placed), "{placed}");
        let half = CacheLoad { utilisation: 0.5, ..cache };
        let (none, placed) = (dlwa(half), dlwa(CacheLoad { placed: true, ..half }));
        println!("half {none:.3} {placed:.3}");
        assert!((1.15..1.35).contains(&none), "{none}");
        assert!((0.99..1.07).contains(&placed), "{placed}");
        // Small objects on most of the drive: 2.5 published, 2.68 in the study.
        let most = CacheLoad { small: 0.64, share: 0.95, placed: true, ..cache };
        let found = dlwa(most);
        println!("64 % {found:.3}");
        assert!((2.25..2.75).contains(&found), "{found}");
    }
}
