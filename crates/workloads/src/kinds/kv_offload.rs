//! Offloading of a language model's key-value cache to a drive: repeated prompts read their cached
//! keys and values.
//!
//! The key and value of a token take 2 (key and value) x layers x heads x dimension x 2 bytes: 128
//! KiB for Llama-3 8B, 320 KiB for 70B. They are stored in objects of one chunk of tokens each; a
//! prompt is a chain of objects. A repeated prompt reads all of its objects (a *get*); a new one is
//! computed and written (a *put*), in requests of 128 KiB. Objects have 1 to 32 MiB and are written
//! by nine workers, as in the measurements of `LMCache`, or have the size of a chunk of the model.
//! When space runs out, prompts are evicted and their objects trimmed. Assumed: lengths, repetition
//! and computation of prompts.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::extents::{Allocator, Extent};
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::streams;
use crate::zipf::Zipf;
use engine::{Handle, Op, Time, Workload, Xoshiro256};
use options::{Duration, Invalid, Size};
use std::collections::VecDeque;

options::choices! {
    /// Eviction order of a full store.
    pub enum Eviction {
        /// Least recently read or written first.
        Lru = "lru",
        /// First written first.
        Fifo = "fifo",
        /// Older than `ttl`; then first written first, where there still is no room.
        Ttl = "ttl",
    }

    /// Separation of data by placement handle.
    pub enum Owners {
        /// No handle is named.
        None = "none",
        /// A handle per worker.
        Worker = "worker",
        /// A handle per object size.
        Size = "size",
    }
}

options::conditions! { KvOffload:
    EXPIRES = "with `eviction = \"ttl\"`", |it| it.eviction == Eviction::Ttl;
    BY_MODEL = "with `objects = \"\"`", |it| it.objects.is_empty();
}

options::options! {
    /// Keys and values of a language model that are kept on a drive. Its many fields are its keys:
    /// the model, the prompts, and the store.
    pub struct KvOffload as KvOffloadPartial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Number of workers, each with one prompt at a time.
        workers: u32 = 9,
        /// Requests of a worker at once.
        outstanding: u32 = 8,
        /// Object sizes of the workers in turn; if empty, the size of a chunk of tokens.
        objects: String = "1MiB, 2MiB, 4MiB, 16MiB, 32MiB".to_owned(),
        /// Layers of the model.
        layers: u32 where BY_MODEL = 32,
        /// Heads of keys and values.
        heads: u32 where BY_MODEL = 8,
        /// Dimension of a head.
        head_dimension: u32 where BY_MODEL = 128,
        /// Tokens of a chunk.
        chunk: u32 where BY_MODEL = 256,
        /// Objects of a prompt.
        prompt: u32 = 4,
        /// Share of prompts that were seen before.
        hit_share: f64 as Ratio = 0.92,
        /// Exponent of Zipf's law for repeated prompts.
        skew: f64 = 0.9,
        /// Time to compute an object before it is written.
        compute: Duration = Duration::from_ns(0),
        /// Eviction order of a full store.
        eviction: Eviction = Eviction::Lru,
        /// Age at which prompts are evicted.
        ttl: Duration where EXPIRES = Duration::from_ns(3_600_000_000_000),
        /// Size of each request, a multiple of 4KiB.
        request_size: Size = Size::from_bytes(128 << 10),
        /// Trim objects that are evicted.
        trim: bool = true,
        /// Separation of data by placement handle.
        placement: Owners = Owners::None,
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Maximum number of workers, and of objects per prompt.
const MOST: u64 = 1 << 12;
/// Maximum exponent of popularity.
const LARGEST_SKEW: f64 = 10.0;
/// Bytes per number; numbers per key-value pair.
const NUMBER_BYTES: u64 = 2;
const KEY_AND_VALUE: u64 = 2;

impl KvOffload {
    /// Bytes per token over all layers.
    fn token_bytes(&self) -> u64 {
        let parts = [self.layers, self.heads, self.head_dimension].map(u64::from);
        parts.iter().fold(KEY_AND_VALUE * NUMBER_BYTES, |all, part| all.saturating_mul(*part))
    }

    /// The sizes of objects in blocks.
    fn sizes(&self) -> Result<Vec<u64>, Invalid> {
        const KEY: &str = "workload.objects";
        if self.objects.trim().is_empty() {
            let bytes = self.token_bytes().saturating_mul(u64::from(self.chunk));
            let keys =
                ["workload.layers", "workload.heads", "workload.head_dimension", "workload.chunk"];
            if bytes == 0 || bytes > 1 << 40 {
                let problem =
                    format!("an object of {bytes} bytes is not possible; it has 1 byte to 1 TiB");
                return Err(Invalid::new(&keys, problem));
            }
            return Ok(vec![bytes.div_ceil(BLOCK_BYTES)]);
        }
        let size = |text: &str| -> Result<u64, Invalid> {
            let size: Size = text.trim().parse().map_err(|error: options::QuantityError| {
                Invalid::new(
                    &[KEY],
                    format!("{error} (sizes with commas between, such as \"1MiB, 4MiB\")"),
                )
            })?;
            checks::blocks(KEY, size)
        };
        self.objects.split(',').map(size).collect()
    }
}

impl WorkloadKind for KvOffload {
    const SUMMARY: &'static str = "keys and values of a language model kept on a drive: prompts seen before are read, others written, old ones trimmed";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = KvOffload::default();
        let rows = [
            ("workload.prompt", self.prompt == default.prompt),
            ("workload.skew", self.skew.to_bits() == default.skew.to_bits()),
            ("workload.compute", self.compute == default.compute),
            ("workload.outstanding", self.outstanding == default.outstanding),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        checks::within("workload.workers", u64::from(self.workers), 1, MOST)?;
        checks::within("workload.prompt", u64::from(self.prompt), 1, MOST)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::share("workload.hit_share", self.hit_share)?;
        if !(0.0..=LARGEST_SKEW).contains(&self.skew) {
            let problem = format!("{} is no exponent from 0 to {LARGEST_SKEW}", self.skew);
            return Err(Invalid::new(&["workload.skew"], problem).into());
        }
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let sizes = self.sizes()?;
        let blocks = self.footprint.sectors(context.capacity_sectors)? / BLOCK_SECTORS;
        let prompts = (0..self.workers as usize).map(|worker| sizes[worker % sizes.len()]);
        let at_once: u64 = prompts.map(|size| size.saturating_mul(u64::from(self.prompt))).sum();
        // Each worker may have a prompt in use, which cannot be evicted.
        if at_once.saturating_mul(2) > blocks {
            let size = |blocks: u64| Size::from_bytes(blocks.saturating_mul(BLOCK_BYTES));
            let problem = format!(
                "a prompt of each of {} workers takes {}, of which {} has no room for two",
                self.workers,
                size(at_once),
                size(blocks)
            );
            let keys =
                ["workload.objects", "workload.prompt", "workload.workers", "workload.footprint"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let mut distinct = sizes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let workers = self.workers as usize;
        let store = Store {
            allocator: Allocator::new(0, blocks),
            sizes,
            distinct,
            prompts: Vec::new(),
            used: 0,
            work: (0..workers).map(|_| Work::Idle).collect(),
            asked: 0,
            counts: Counts::default(),
            random: Xoshiro256::new(context.draws(), streams::KV_OFFLOAD),
            options: self.clone(),
        };
        let cut = Cut { largest: largest * BLOCK_SECTORS, depth: self.outstanding };
        Ok(Box::new(Chains::new(Some(self.requests), workers, cut, store)))
    }
}

/// A stored prompt.
#[derive(Debug)]
struct Prompt {
    number: u64,
    /// Position in the eviction order: the smallest is evicted first.
    age: u64,
    written: Time,
    objects: Vec<Extent>,
    /// Workers currently reading the prompt.
    readers: u32,
}

/// State of a worker.
#[derive(Debug)]
enum Work {
    Idle,
    /// A prompt must be written.
    Due,
    /// Objects are trimmed to free space for a prompt.
    Evicting(Vec<Extent>),
    /// The objects of a prompt are being written.
    Putting(Vec<Extent>),
    /// A prompt is being read.
    Getting(u64),
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    hits: u64,
    puts: u64,
    evicted: u64,
    put_blocks: u64,
    got_blocks: u64,
}

/// A running store.
struct Store {
    options: KvOffload,
    allocator: Allocator,
    /// Blocks per object, by worker in turn, and the distinct sizes.
    sizes: Vec<u64>,
    distinct: Vec<u64>,
    prompts: Vec<Prompt>,
    /// Counter of prompt writes and reads, from which eviction ages derive.
    used: u64,
    work: Vec<Work>,
    asked: u64,
    counts: Counts,
    random: Xoshiro256,
}

impl Store {
    /// Blocks per prompt of a worker.
    fn prompt_blocks(&self, worker: usize) -> u64 {
        self.sizes[worker % self.sizes.len()] * u64::from(self.options.prompt)
    }

    fn handle(&self, worker: usize) -> Handle {
        match self.options.placement {
            Owners::None => Handle::NONE,
            Owners::Worker => Handle::new(worker as u64),
            Owners::Size => {
                let size = self.sizes[worker % self.sizes.len()];
                Handle::new(self.distinct.partition_point(|it| *it < size) as u64)
            }
        }
    }

    /// The prompt to evict, if any.
    fn victim(&self) -> Option<usize> {
        let idle = self.prompts.iter().enumerate().filter(|(_, it)| it.readers == 0);
        idle.min_by_key(|(_, it)| it.age).map(|(index, _)| index)
    }

    /// Evicts prompts until `blocks` are free, and returns their extents.
    fn evicted(&mut self, blocks: u64, now: Time) -> Vec<Extent> {
        let mut gone: Vec<Extent> = Vec::new();
        let mut free = self.allocator.free_blocks();
        let ttl_ns = match self.options.eviction {
            Eviction::Ttl => self.options.ttl.ns(),
            Eviction::Lru | Eviction::Fifo => Time::MAX,
        };
        while let Some(index) = self.victim() {
            if free >= blocks && now - self.prompts[index].written <= ttl_ns {
                break;
            }
            let prompt = self.prompts.swap_remove(index);
            self.counts.evicted += 1;
            free += prompt.objects.iter().map(|extent| extent.blocks).sum::<u64>();
            gone.extend(prompt.objects);
        }
        gone
    }

    fn give(&mut self, extents: Vec<Extent>) {
        for extent in extents {
            self.allocator.give(extent);
        }
    }

    /// The next prompt: read if stored, otherwise written.
    fn ask(&mut self, worker: usize, step: &mut VecDeque<Piece>) {
        self.asked += 1;
        let missed = (self.asked - 1 - self.counts.hits) as f64;
        let is_new = missed < self.asked as f64 * (1.0 - self.options.hit_share);
        if is_new || self.prompts.is_empty() {
            self.work[worker] = Work::Due;
            return;
        }
        let zipf = Zipf::new(self.prompts.len() as u64, self.options.skew);
        let prompt = &mut self.prompts[zipf.rank(&mut self.random) as usize];
        self.counts.hits += 1;
        self.used += 1;
        prompt.readers += 1;
        if self.options.eviction == Eviction::Lru {
            prompt.age = self.used;
        }
        step.extend(prompt.objects.iter().map(|extent| Piece::of(Op::Read, *extent)));
        self.counts.got_blocks += prompt.objects.iter().map(|extent| extent.blocks).sum::<u64>();
        self.work[worker] = Work::Getting(prompt.number);
    }

    /// Writes a prompt, evicting others if space is short.
    fn put(&mut self, worker: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        let needed = self.prompt_blocks(worker);
        let gone = self.evicted(needed, now);
        if self.options.trim && !gone.is_empty() {
            step.extend(gone.iter().map(|extent| Piece::of(Op::Trim, *extent)));
            self.work[worker] = Work::Evicting(gone);
            return Next::Ask(now);
        }
        self.give(gone);
        if self.allocator.free_blocks() < needed {
            return Next::Wait;
        }
        let (each, handle) = (needed / u64::from(self.options.prompt), self.handle(worker));
        let mut objects = Vec::new();
        for _ in 0..self.options.prompt {
            objects.extend(self.allocator.take(each).expect("there is room"));
        }
        step.extend(objects.iter().map(|extent| Piece::of(Op::Write, *extent).with(handle)));
        self.counts.puts += 1;
        self.counts.put_blocks += needed;
        self.work[worker] = Work::Putting(objects);
        let computed_ns = self.options.compute.ns().saturating_mul(u64::from(self.options.prompt));
        Next::Ask(now.saturating_add(computed_ns))
    }
}

impl Steps for Store {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if matches!(self.work[chain], Work::Idle) {
            self.ask(chain, step);
        }
        match self.work[chain] {
            Work::Due => self.put(chain, now, step),
            _ => Next::Ask(now),
        }
    }

    fn finished(&mut self, chain: usize, now: Time) -> bool {
        match std::mem::replace(&mut self.work[chain], Work::Idle) {
            Work::Idle | Work::Due => {}
            Work::Evicting(gone) => {
                self.give(gone);
                self.work[chain] = Work::Due;
            }
            Work::Putting(objects) => {
                self.used += 1;
                let (number, age) = (self.used, self.used);
                self.prompts.push(Prompt { number, age, written: now, objects, readers: 0 });
            }
            Work::Getting(number) => {
                let read = self.prompts.iter_mut().find(|prompt| prompt.number == number);
                read.expect("it is kept while it is read").readers -= 1;
            }
        }
        true
    }

    fn notices(&self) -> Notices {
        let Counts { hits, puts, evicted, put_blocks, got_blocks } = self.counts;
        vec![
            ("kv_hits", hits),
            ("kv_puts", puts),
            ("kv_evicted", evicted),
            ("kv_put_bytes", put_blocks * BLOCK_BYTES),
            ("kv_got_bytes", got_blocks * BLOCK_BYTES),
        ]
    }
}

#[cfg(test)]
mod tests;
