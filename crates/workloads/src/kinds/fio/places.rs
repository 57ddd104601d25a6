//! Addresses and sizes of the requests of a job.

use super::distribution::RandomPlaces;
use super::job::{Job, Sizes};
use super::map::Map;
use super::units::DIRECTIONS;
use crate::locality::{Band, band_block, bands};
use crate::permutation::Permutation;
use engine::{Random as _, Xoshiro256};
use options::Invalid;

/// The multiplier of Knuth's multiplicative hash (TAOCP 6.4), 2^64 over the golden ratio, negated
/// as in fio. For a power of two of blocks it is a bijection; otherwise some blocks have several
/// ranks.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15_u64.wrapping_neg();

/// Maximum terms of the zeta function, as in fio.
const ZETA_TERMS: u64 = 10_000_000;

/// The region of a job, and its positions; all in bytes.
pub(super) struct Places {
    start: u64,
    end: u64,
    /// The unit of random positions and their number, by direction.
    units: [(u64, u64); DIRECTIONS],
    least: [u64; DIRECTIONS],
    law: Law,
    cover: Cover,
    /// End of the last request by direction.
    last: [u64; DIRECTIONS],
    /// Gap to the next sequential request.
    step: i64,
}

/// Distribution of random positions.
enum Law {
    Uniform,
    Zoned([Vec<Band>; DIRECTIONS]),
    Hashed {
        rank: [Rank; DIRECTIONS],
        centre: Centre,
    },
    /// In a fixed order, separately by direction, shifted by `step` each time.
    Sequence {
        blocks: Vec<u64>,
        step: u64,
        asked: [u64; DIRECTIONS],
    },
}

/// Ranks of the blocks of one direction, by popularity.
#[derive(Clone)]
enum Rank {
    Zipf { n: f64, zeta: f64, zeta2: f64, alpha: f64, eta: f64 },
    Pareto { n: f64, power: f64 },
    Normal { n: u64, deviation: u64 },
}

/// Place of the most popular block, before hashing.
#[derive(Clone, Copy)]
enum Centre {
    /// An offset in blocks.
    Shift(u64),
    /// At a share of the blocks.
    Share(f64),
    /// A normal distribution at a share of the blocks.
    Middle(f64),
}

/// Prevention of repeated random blocks.
enum Cover {
    /// None.
    Free,
    /// Equal request sizes: every position once, in constant memory.
    Once { order: Permutation, next: u64 },
    /// Several request sizes: one bit per unit of the smallest size. As in fio, directions with
    /// different smallest sizes share the bits and each counts in its own units.
    Bits(Map),
}

impl Places {
    /// The positions of `job` in the bytes from `start` to `end`.
    pub(super) fn new(
        job: &Job,
        start: u64,
        end: u64,
        random: &mut Xoshiro256,
    ) -> Result<Self, Invalid> {
        const KEY: &str = "random_distribution";
        let region = end - start;
        let least: [u64; DIRECTIONS] = std::array::from_fn(|d| job.sizes[d].least());
        let units: [(u64, u64); DIRECTIONS] = std::array::from_fn(|d| {
            let unit = job.align[d].unwrap_or(least[d]);
            (unit, region.saturating_sub(least[d].saturating_sub(unit)) / unit)
        });
        if let Some(direction) = job.used().find(|direction| units[*direction].1 == 0) {
            let problem = format!("{region} bytes hold no request at {}", units[direction].0);
            return Err(Invalid::new(&[KEY], problem));
        }
        let law = match &job.distribution {
            RandomPlaces::Uniform => Law::Uniform,
            RandomPlaces::Zoned(zones) => {
                let mut by_direction = [const { Vec::new() }; DIRECTIONS];
                for direction in job.used() {
                    by_direction[direction] = bands(KEY, &zones[direction], units[direction].1)?;
                }
                Law::Zoned(by_direction)
            }
            RandomPlaces::Sequence(blocks) => {
                let few = job.used().map(|direction| units[direction].1).min().unwrap_or(0);
                if let Some(beyond) = blocks.iter().find(|block| **block >= few) {
                    let problem =
                        format!("block {beyond} of the sequence is none of the {few} of the job");
                    return Err(Invalid::new(&[KEY], problem));
                }
                let step = if job.moves_on { blocks.len() as u64 } else { 0 };
                Law::Sequence { blocks: blocks.clone(), step, asked: [0; DIRECTIONS] }
            }
            skewed => Law::skewed(skewed, units, random),
        };
        let cover = cover(job, &law, units, least, region, random);
        let last = [start; DIRECTIONS];
        Ok(Places { start, end, units, least, law, cover, last, step: job.step })
    }

    /// True if random requests never repeat a block.
    pub(super) fn covered(&self) -> bool {
        !matches!(self.cover, Cover::Free)
    }

    /// Starts over: at the start and with every block free, in a new order if `random` is given.
    pub(super) fn reset(&mut self, random: Option<&mut Xoshiro256>) {
        self.last = [self.start; DIRECTIONS];
        match &mut self.cover {
            Cover::Free => {}
            Cover::Once { order, next } => {
                if let Some(random) = random {
                    *order = Permutation::new(order.bound(), random);
                }
                *next = 0;
            }
            Cover::Bits(map) => *map = Map::new(map.blocks()),
        }
    }

    /// The next sequential request; `None` at the end of the region.
    pub(super) fn follow(
        &mut self,
        direction: usize,
        sizes: &Sizes,
        random: &mut Xoshiro256,
    ) -> Option<(u64, u64)> {
        let at = self.stepped(self.last[direction]);
        let size = self.size(direction, at, sizes, random)?;
        self.last[direction] = at + size;
        Some((at, size))
    }

    /// Start of the sequential request after one that ended at `last`; with a gap it wraps at the
    /// end of the region, as in fio.
    fn stepped(&self, last: u64) -> u64 {
        let moved = |from: u64| from.checked_add_signed(self.step).filter(|at| *at >= self.start);
        match self.step {
            0 => last,
            step if step < 0 => {
                let from = if last == self.start { self.end } else { last };
                moved(from).or_else(|| moved(self.end)).unwrap_or(self.start)
            }
            _ if last == self.start => last,
            _ => {
                moved(last).filter(|at| at + self.least_of_all() <= self.end).unwrap_or(self.start)
            }
        }
    }

    fn least_of_all(&self) -> u64 {
        self.least.into_iter().min().unwrap_or(0)
    }

    /// The next random request; `None` if every block was accessed.
    pub(super) fn jump(
        &mut self,
        direction: usize,
        sizes: &Sizes,
        random: &mut Xoshiro256,
    ) -> Option<(u64, u64)> {
        let (unit, count) = self.units[direction];
        let block = match &mut self.cover {
            Cover::Once { next, .. } if *next == count => return None,
            Cover::Once { order, next } => {
                *next += 1;
                order.apply(*next - 1)
            }
            Cover::Free => self.law.block(direction, count, random),
            Cover::Bits(map) => {
                let free = map.next_free(self.law.block(direction, count, random))?;
                Some(free).filter(|free| *free < count).or_else(|| map.next_free(0))?
            }
        };
        if block >= count {
            return None;
        }
        let at = self.start + block * unit;
        let mut size = self.size(direction, at, sizes, random)?;
        if let Cover::Bits(map) = &mut self.cover {
            // A request that reaches accessed blocks is truncated.
            size = size.min(map.take(block, size.div_ceil(unit)) * unit);
        }
        self.last[direction] = at + size;
        Some((at, size))
    }

    /// A size that fits at `at`; `None` if the smallest does not.
    fn size(
        &self,
        direction: usize,
        at: u64,
        sizes: &Sizes,
        random: &mut Xoshiro256,
    ) -> Option<u64> {
        let room = self.end - at;
        if self.least[direction] > room {
            return None;
        }
        loop {
            let size = match sizes {
                Sizes::One(size) => *size,
                Sizes::Range(least, most) => {
                    // Draws beyond the largest size are clamped to it, as in fio.
                    let drawn = least + (*most as f64 * random.unit()) as u64;
                    (drawn / least * least).min(*most)
                }
                Sizes::Split(split) => {
                    let mut percent = random.below(100);
                    let picked = split.iter().find(|(_, share)| {
                        let within = percent < *share;
                        percent = percent.saturating_sub(*share);
                        within
                    });
                    picked.expect("the percentages add up to 100").0
                }
            };
            if size <= room {
                return Some(size);
            }
        }
    }
}

/// The map of accessed blocks for a job.
fn cover(
    job: &Job,
    law: &Law,
    units: [(u64, u64); DIRECTIONS],
    least: [u64; DIRECTIONS],
    region: u64,
    random: &mut Xoshiro256,
) -> Cover {
    let aligned = job.used().any(|direction| job.align[direction].is_some());
    if !job.map || !job.random || aligned || !matches!(law, Law::Uniform) {
        return Cover::Free;
    }
    let first = job.used().next().expect("a job asks something");
    let alike = job.used().all(|direction| job.sizes[direction] == job.sizes[first]);
    let one_size = alike && matches!(job.sizes[first], Sizes::One(_));
    if one_size {
        return Cover::Once { order: Permutation::new(units[first].1, random), next: 0 };
    }
    let unit = job.used().map(|direction| least[direction]).min().unwrap_or(1);
    Cover::Bits(Map::new(region / unit))
}

impl Law {
    /// A distribution of fio, with hashed positions.
    fn skewed(
        skewed: &RandomPlaces,
        units: [(u64, u64); DIRECTIONS],
        random: &mut Xoshiro256,
    ) -> Self {
        let (RandomPlaces::Zipf(_, share)
        | RandomPlaces::Pareto(_, share)
        | RandomPlaces::Normal(_, share)) = *skewed
        else {
            unreachable!("the others have no ranks");
        };
        let centre = match (skewed, share) {
            (RandomPlaces::Normal(..), share) => Centre::Middle(share.unwrap_or(0.5)),
            (_, Some(share)) => Centre::Share(share),
            (_, None) => Centre::Shift(random.below(u64::MAX)),
        };
        let mut known: Option<(u64, Rank)> = None;
        let rank = units.map(|(_, count)| match &known {
            Some((same, rank)) if *same == count => rank.clone(),
            _ => known.insert((count, Rank::new(skewed, count))).1.clone(),
        });
        Law::Hashed { rank, centre }
    }

    fn block(&mut self, direction: usize, count: u64, random: &mut Xoshiro256) -> u64 {
        match self {
            Law::Sequence { blocks, step, asked } => {
                let number = asked[direction];
                asked[direction] += 1;
                let length = blocks.len() as u64;
                (number / length * *step).saturating_add(blocks[(number % length) as usize])
            }
            Law::Uniform => random.below(count),
            Law::Zoned(bands) => band_block(&bands[direction], random),
            Law::Hashed { rank, centre } => {
                let hash = rank[direction].draw(random).wrapping_mul(GOLDEN_RATIO);
                let shift = match centre {
                    Centre::Shift(blocks) => *blocks,
                    Centre::Share(share) => (count as f64 * *share) as u64,
                    Centre::Middle(share) => (count as f64 * (*share - 0.5)) as i64 as u64,
                };
                hash.wrapping_add(shift) % count
            }
        }
    }
}

impl Rank {
    fn new(skewed: &RandomPlaces, count: u64) -> Self {
        let n = count as f64;
        match *skewed {
            RandomPlaces::Zipf(theta, _) => {
                // Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD
                // 1994: the first two ranks are exact and the others a continuous approximation.
                let zeta = zeta(count.min(ZETA_TERMS), theta);
                let zeta2 = 1.0 + libm::pow(0.5, theta);
                let eta = (1.0 - libm::pow(2.0 / n, 1.0 - theta)) / (1.0 - zeta2 / zeta);
                Rank::Zipf { n, zeta, zeta2, alpha: 1.0 / (1.0 - theta), eta }
            }
            RandomPlaces::Pareto(h, _) => {
                Rank::Pareto { n: n - 1.0, power: libm::log(h) / libm::log(1.0 - h) }
            }
            RandomPlaces::Normal(percent, _) => {
                let deviation = (libm::ceil(n * percent / 100.0) as u64).min(count / 2);
                Rank::Normal { n: count, deviation }
            }
            RandomPlaces::Uniform | RandomPlaces::Zoned(_) | RandomPlaces::Sequence(_) => {
                unreachable!("they have no ranks")
            }
        }
    }

    fn draw(&self, random: &mut Xoshiro256) -> u64 {
        match *self {
            Rank::Zipf { n, zeta, zeta2, alpha, eta } => {
                let unit = random.unit();
                match unit * zeta {
                    z if z < 1.0 => 0,
                    z if z < zeta2 => 1,
                    _ => (n * libm::pow(eta * unit - eta + 1.0, alpha)) as u64,
                }
            }
            Rank::Pareto { n, power } => (n * libm::pow(random.unit(), power)) as u64,
            Rank::Normal { n, deviation } => normal(n, deviation, random),
        }
    }
}

/// The sum of k^-theta for k from 1 to n: term by term for small k, the rest by the Euler-Maclaurin
/// formula with an error below 10^-12.
fn zeta(n: u64, theta: f64) -> f64 {
    const HEAD: u64 = 1000;
    let term = |k: u64, exponent: f64| libm::pow(k as f64, exponent);
    let head: f64 = (1..n.min(HEAD)).map(|k| term(k, -theta)).sum();
    if n < HEAD {
        return head + term(n, -theta);
    }
    let integral = (term(n, 1.0 - theta) - term(HEAD, 1.0 - theta)) / (1.0 - theta);
    let ends = f64::midpoint(term(n, -theta), term(HEAD, -theta));
    let slopes = theta * (term(HEAD, -theta - 1.0) - term(n, -theta - 1.0)) / 12.0;
    head + integral + ends + slopes
}

/// fio's normal distribution: the mean of twelve uniform draws, plus a uniform deviation that is
/// halved until the result is within the blocks.
fn normal(n: u64, deviation: u64, random: &mut Xoshiro256) -> u64 {
    const DRAWS: u64 = 12;
    let sum: u64 = (0..DRAWS).map(|_| random.below(n + 1)).sum();
    let mean = sum.div_ceil(DRAWS).cast_signed();
    if deviation == 0 {
        return mean as u64;
    }
    let mut moved = (deviation as f64 * random.unit()) as i64 - deviation.cast_signed() / 2;
    while moved != 0 && !(0..n.cast_signed()).contains(&(mean + moved)) {
        moved /= 2;
    }
    (mean + moved) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum_of_its_terms() {
        for (n, theta) in [(1, 1.2), (999, 0.8), (1000, 0.8), (1001, 1.2), (50_000, 0.5)] {
            let sum: f64 = (1..=n).map(|k| libm::pow(k as f64, -theta)).sum();
            let error = (zeta(n, theta) - sum).abs() / sum;
            assert!(error < 1e-11, "{n}, {theta}: {error}");
        }
    }
}
