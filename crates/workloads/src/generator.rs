//! Draws of a synthetic generator: place, size, direction and time of each request.
//!
//! Draws are in the order of `DiskSim` 4.0, whose streams its random source reproduces.

use crate::distribution::DistributionSpec;
use crate::kind::Context;
use engine::{Distribution, Drand48, Lba, Op, Random, Request, WorkloadError, Xoshiro256};
use options::Invalid;

options::choices! {
    /// Random number generator of the open workload.
    pub enum Generator {
        /// The default generator of all workloads.
        Xoshiro = "xoshiro256++",
        /// The C library's 48-bit generator with `DiskSim`'s reseeding after the first request.
        Drand48 = "drand48",
    }
}

impl Generator {
    /// Source of the first requests.
    pub(crate) fn first(self, context: &Context, stream: u64) -> RandomSource {
        match self {
            Generator::Xoshiro => RandomSource::Xoshiro(Xoshiro256::new(context.draws(), stream)),
            Generator::Drand48 => RandomSource::Drand48(Drand48::new(context.draws() as u32)),
        }
    }

    /// Source of the other requests, after the one of the first.
    pub(crate) fn later(self, context: &Context, first: RandomSource) -> RandomSource {
        if self == Generator::Xoshiro {
            return first;
        }
        let repeated = context.draws() ^ context.seed;
        RandomSource::Drand48(Drand48::new(DISKSIM_RUN_SEED ^ repeated as u32))
    }
}

/// A random number generator of one of the kinds.
#[derive(Debug, Clone)]
pub(crate) enum RandomSource {
    Xoshiro(Xoshiro256),
    Drand48(Drand48),
}

impl RandomSource {
    /// Draws one value.
    pub(crate) fn sample(&mut self, of: DistributionSpec) -> f64 {
        match (&*self, *of.distribution()) {
            (RandomSource::Drand48(_), Distribution::Normal { mean, deviation }) => {
                mean + deviation * self.normal()
            }
            (_, distribution) => distribution.sample(self),
        }
    }

    /// A standard normal value as the original draws it: by rejection under an exponential
    /// distribution, with a sign.
    fn normal(&mut self) -> f64 {
        let mut exponential = || -libm::log(1.0 - self.unit());
        let size = loop {
            let (bound, size) = (exponential(), exponential());
            if 2.0 * bound > (size - 1.0) * (size - 1.0) {
                break size;
            }
        };
        if self.unit() < 0.5 { -size } else { size }
    }
}

impl Random for RandomSource {
    fn unit(&mut self) -> f64 {
        match self {
            RandomSource::Xoshiro(it) => it.unit(),
            RandomSource::Drand48(it) => it.unit(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        match self {
            RandomSource::Xoshiro(it) => it.below(bound),
            RandomSource::Drand48(it) => it.below(bound),
        }
    }
}

/// Error of a first request that cannot be drawn.
pub(crate) fn no_request(problem: String) -> Invalid {
    Invalid::new(&["workload.size", "workload.footprint", "workload.block_size"], problem)
}

/// Seed of `DiskSim` after the first requests, for any configured seed.
const DISKSIM_RUN_SEED: u32 = 1_000_003;

/// Maximum draws of a request; a size that never fits within them is an error.
const TRIES: u32 = 100_000;

/// Error of a later request that cannot be drawn.
pub(crate) fn no_size(mut problem: String) -> WorkloadError {
    problem.insert_str(0, "workload.size: ");
    WorkloadError(problem)
}

/// Refuses times that are negative by design; a normal distribution may still draw values below 0.
pub(crate) fn never_negative(key: &str, interarrival: DistributionSpec) -> Result<(), Invalid> {
    if interarrival.floor() < 0.0 {
        let problem = format!("{interarrival} gives negative times between arrivals");
        return Err(Invalid::new(&[key], problem));
    }
    Ok(())
}

/// A request in blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) op: Op,
    block: u64,
    blocks: u64,
}

/// Requests of one generator, each drawn from the one before.
#[derive(Debug, Clone)]
pub(crate) struct GeneratorDraws {
    pub(crate) sequential_share: f64,
    pub(crate) local_share: f64,
    pub(crate) read_share: f64,
    pub(crate) interarrival: DistributionSpec,
    pub(crate) sequential_interarrival: DistributionSpec,
    pub(crate) local_interarrival: DistributionSpec,
    /// Distance of a local request from the previous one, sectors.
    pub(crate) local_distance: DistributionSpec,
    /// Size in sectors.
    pub(crate) size: DistributionSpec,
    pub(crate) block_sectors: u32,
    pub(crate) blocks: u64,
    /// The request drawn last.
    pub(crate) now: Extent,
}

/// The extent before the first draw.
pub(crate) const NOWHERE: Extent = Extent { op: Op::Read, block: 0, blocks: 0 };

impl GeneratorDraws {
    /// Draws the next request, and returns the time before it in ms. It is sequential with the given
    /// probability, if two more of its size fit.
    pub(crate) fn draw(&mut self, random: &mut RandomSource) -> Result<f64, String> {
        let place = random.unit();
        let Extent { block, blocks, .. } = self.now;
        if place < self.sequential_share && block + 2 * blocks < self.blocks {
            let pause = pause(self.sequential_interarrival, random);
            self.now.block += blocks;
            return Ok(pause);
        }
        let is_local =
            place >= self.sequential_share && place < self.sequential_share + self.local_share;
        if !is_local {
            return self.jump(random);
        }
        let pause = pause(self.local_interarrival, random);
        let (block, blocks) = self.place(random, Some(block))?;
        self.now = Extent { op: self.op(random), block, blocks };
        Ok(pause)
    }

    /// Draws a request anywhere.
    pub(crate) fn jump(&mut self, random: &mut RandomSource) -> Result<f64, String> {
        let pause = pause(self.interarrival, random);
        random.unit(); // the device, of which there is one
        let (block, blocks) = self.place(random, None)?;
        self.now = Extent { op: self.op(random), block, blocks };
        Ok(pause)
    }

    fn op(&self, random: &mut RandomSource) -> Op {
        if random.unit() < self.read_share { Op::Read } else { Op::Write }
    }

    /// The request drawn last, with an identification.
    pub(crate) fn request(&self, id: u64) -> Request {
        let Extent { op, block, blocks } = self.now;
        let sectors = blocks as u32 * self.block_sectors;
        Request::new(id, op, Lba(block * u64::from(self.block_sectors)), sectors)
    }

    /// Draws position and size, in blocks, until they fit the footprint: anywhere, or near a block.
    ///
    /// As in the original, a request may not end exactly at the end.
    fn place(&self, random: &mut RandomSource, near: Option<u64>) -> Result<(u64, u64), String> {
        let block_sectors = i64::from(self.block_sectors);
        let mut any_positive = false;
        for _ in 0..TRIES {
            let block = match near {
                None => Some(random.below(self.blocks)),
                Some(block) => {
                    let sectors = random.sample(self.local_distance) as i64;
                    block.checked_add_signed(sectors / block_sectors)
                }
            };
            // The cast truncates towards 0 and saturates; the comparisons below refuse saturated
            // values.
            let sectors = random.sample(self.size) as i64;
            let blocks = sectors.saturating_add(block_sectors - 1).div_euclid(block_sectors);
            if blocks <= 0 {
                continue;
            }
            any_positive = true;
            let (Some(block), blocks) = (block, blocks as u64) else { continue };
            let within = block.checked_add(blocks).is_some_and(|end| end < self.blocks);
            let sectors = blocks.checked_mul(u64::from(self.block_sectors));
            if within && sectors.is_some_and(|sectors| u32::try_from(sectors).is_ok()) {
                return Ok((block, blocks));
            }
        }
        let size = self.size;
        Err(if any_positive {
            let blocks = self.blocks;
            format!("{size} gave no request inside the footprint of {blocks} blocks")
        } else {
            format!("{size} gave no size of at least one sector")
        } + &format!(" in {TRIES} draws"))
    }
}

/// Draws the time between two arrivals, ms.
fn pause(interarrival: DistributionSpec, random: &mut RandomSource) -> f64 {
    random.sample(interarrival).max(0.0)
}
