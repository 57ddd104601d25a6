//! How fast is fast-forward? Uniform random overwrites of the baseline drive (32 GiB of 4 KiB pages,
//! eight packages, 15 % spare) in steady state, against a plain-array program that does only what
//! cannot be avoided: map, reverse map, valid counts, and the sets of blocks by valid count.
//!
//! A drive with a write buffer, whose superblocks are large, is measured beside it. The loop that fetches ahead draws
//! pages 64 writes before they are written, begins to fetch their entries of the map, and half of that later what it
//! knows of the blocks which these name; its tables are in large pages.
//!
//! The last run (`cargo bench -p ssdlab-devices --bench fast_forward`; 2 vCPUs on which others compiled, so only the ratios
//! tell):
//!
//! ```text
//! million page programs a CPU second, medians of 15 rounds in turn
//! plain arrays                    25.5
//! plain arrays, fetching ahead    57.8
//! fast-forward                    30.7
//! the same of a current drive     52.8
//! ratio to plain arrays           1.19
//! ratio to fetching ahead         0.54
//! of the current drive            0.90
//! ```
//!
//! A drive of 960 GB (`whole`) is written over once in 22 to 26 CPU s: 1.15 G random lines of memory, of which each takes
//! 12 ns however far ahead it is asked for.

use devices::ssd::config::{Cleaning, CleaningTime};
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Instruction, Model};
use engine::{Random, Xoshiro256};
use serde_json::json;

/// Overwrites of a round, measured after the drive has settled.
const WRITES: u64 = 1_000_000;
/// Rounds, in each of which all take their turn.
const ROUNDS: usize = 15;

/// How long this thread has had a core (Linux).
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn on_core_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|it| it.parse().ok());
    first.expect("the kernel counts it")
}

/// Millions a second of what is counted.
fn timed(work: impl FnOnce() -> u64) -> f64 {
    let started = on_core_ns();
    let programs = work();
    programs as f64 / (on_core_ns() - started) * 1e3
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Overwrites random pages in the batches that preconditioning uses.
fn overwrite(ssd: &mut Ssd, random: &mut Xoshiro256, pages: u64, writes: u64) {
    let mut batch = [0; 256];
    for _ in 0..writes / 256 {
        batch.fill_with(|| random.below(pages));
        ssd.overwrite_untimed(&batch, 0);
    }
}

/// Logical pages that were programmed for a number of writes.
fn programs(ssd: &Ssd, writes: u64) -> u64 {
    let amplification = ssd.account(0).write_amplification;
    (writes as f64 * amplification.expect("it was written to")) as u64
}

/// Million page programs a second of the drive.
fn fast_forward(ssd: &mut Ssd, random: &mut Xoshiro256) -> f64 {
    let pages = ssd.facts().pages;
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    timed(|| {
        overwrite(ssd, random, pages, WRITES);
        programs(ssd, WRITES)
    })
}

/// One log of blocks with greedy cleaning, in as few arrays as possible.
struct Plain {
    map: Vec<u32>,
    reverse: Vec<u32>,
    valid: Vec<u8>,
    /// Doubly linked lists of the closed blocks by valid count, headed behind the blocks.
    next: Vec<u32>,
    previous: Vec<u32>,
    free: Vec<u32>,
    frontier: u32,
    page: u32,
    programs: u64,
}

impl Plain {
    const PAGES: u32 = 64;
    /// Writes that the map is fetched ahead of the present one; what is known of the block of the old page, half.
    const AHEAD: usize = 64;

    fn new(blocks: u32, logical: u32) -> Plain {
        let lists = (blocks + Self::PAGES + 1) as usize;
        let mut plain = Plain {
            map: vec![u32::MAX; logical as usize],
            reverse: vec![0; (blocks * Self::PAGES) as usize],
            valid: vec![0; blocks as usize],
            next: (0..lists as u32).collect(),
            previous: (0..lists as u32).collect(),
            free: (1..blocks).rev().collect(),
            frontier: 0,
            page: 0,
            programs: 0,
        };
        for lpn in 0..logical {
            plain.write::<false>(lpn);
        }
        plain.programs = 0;
        plain
    }

    /// The same in large pages, as the drive has its tables.
    fn in_large_pages(&self) -> Plain {
        let copy = |from: &Vec<u32>| {
            let mut table = vec![0; from.len()];
            memory::prefer_large_pages(&mut table);
            table.copy_from_slice(from);
            table
        };
        Plain {
            map: copy(&self.map),
            reverse: copy(&self.reverse),
            valid: self.valid.clone(),
            next: self.next.clone(),
            previous: self.previous.clone(),
            free: self.free.clone(),
            ..*self
        }
    }

    fn unlink(&mut self, block: u32) {
        let (next, previous) = (self.next[block as usize], self.previous[block as usize]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
    }

    fn link(&mut self, block: u32) {
        let head = self.valid.len() as u32 + u32::from(self.valid[block as usize]);
        let next = self.next[head as usize];
        self.next[block as usize] = next;
        self.previous[block as usize] = head;
        self.next[head as usize] = block;
        self.previous[next as usize] = block;
    }

    fn program(&mut self, lpn: u32) {
        if self.page == Self::PAGES {
            let full = self.frontier;
            self.link(full);
            self.frontier = self.free.pop().expect("cleaning keeps a block");
            self.page = 0;
        }
        let ppn = self.frontier * Self::PAGES + self.page;
        self.page += 1;
        self.reverse[ppn as usize] = lpn;
        self.map[lpn as usize] = ppn;
        self.valid[self.frontier as usize] += 1;
        self.programs += 1;
    }

    fn write<const AHEAD: bool>(&mut self, lpn: u32) {
        let old = self.map[lpn as usize];
        if old != u32::MAX {
            let block = old / Self::PAGES;
            self.valid[block as usize] -= 1;
            if block != self.frontier {
                self.unlink(block);
                self.link(block);
            }
        }
        self.program(lpn);
        while self.free.len() < 3 {
            self.clean::<AHEAD>();
        }
    }

    /// Writes random pages: drawn ahead, fetched in two steps.
    fn write_ahead(&mut self, random: &mut Xoshiro256, pages: u64, writes: u64) {
        let mut ring = [0; 2 * Self::AHEAD];
        let mut draw = |plain: &Plain| {
            let lpn = random.below(pages) as u32;
            memory::prefetch(&plain.map, lpn as usize);
            lpn
        };
        ring[..Self::AHEAD].fill_with(|| draw(self));
        for at in 0..writes as usize {
            ring[(at + Self::AHEAD) % ring.len()] = draw(self);
            let old = self.map[ring[(at + Self::AHEAD / 2) % ring.len()] as usize];
            let block = (old / Self::PAGES) as usize;
            memory::prefetch(&self.valid, block);
            memory::prefetch(&self.next, block);
            memory::prefetch(&self.previous, block);
            self.write::<true>(ring[at % ring.len()]);
        }
    }

    fn clean<const AHEAD: bool>(&mut self) {
        let blocks = self.valid.len() as u32;
        let heads = blocks..=blocks + Self::PAGES;
        let head = heads.into_iter().find(|head| self.next[*head as usize] != *head);
        let victim = self.next[head.expect("some block is closed") as usize];
        self.unlink(victim);
        let first = (victim * Self::PAGES) as usize;
        if AHEAD {
            for lpn in &self.reverse[first..first + Self::PAGES as usize] {
                memory::prefetch(&self.map, *lpn as usize);
            }
            // Most likely the victim after this one.
            let next = self.next[victim as usize];
            for line in (0..Self::PAGES).step_by(16) {
                memory::prefetch(&self.reverse, (next * Self::PAGES + line) as usize);
            }
        }
        let mut moved = [0; Self::PAGES as usize];
        let mut count = 0;
        for page in 0..Self::PAGES {
            let ppn = victim * Self::PAGES + page;
            let lpn = self.reverse[ppn as usize];
            moved[count] = lpn;
            count += usize::from(self.map[lpn as usize] == ppn);
        }
        for lpn in &moved[..count] {
            self.program(*lpn);
        }
        self.valid[victim as usize] = 0;
        self.free.push(victim);
    }
}

/// A current drive, as the preset `tlc-enterprise` is of 960 GB: through its write buffer, in superblocks.
fn current(scale: u64) -> Ssd {
    let keys = json!({
        "channels": 8,
        "packages_per_channel": 1,
        "dies_per_package": 2,
        "blocks_per_plane": 912,
        "pages_per_block": 1152,
        "spare_size": "0B",
        "summary_page": false,
        "logical_page": "4KiB",
        "capacity": "960197124096B",
        "scale": scale,
        "cell": {"preset": "hynix-176l-tlc"},
        "buffer": {"size": "6MiB"},
        "cleaning": {"reclaim": "superblock", "min_free": 0.005},
    });
    match DeviceConfig::resolve("ssd", [keys]).expect("a valid drive") {
        DeviceConfig::Ssd(config) => Ssd::new(&config, 0).expect("a valid drive"),
        other => panic!("{other:?}"),
    }
}

/// The most memory that this process has had, MB (Linux).
#[expect(clippy::disallowed_methods, reason = "a bench asks the system")]
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// A drive of 960 GB, written over once.
fn whole() {
    let (mut ssd, mut random) = (current(1), Xoshiro256::new(1, 0));
    let pages = ssd.facts().pages;
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    let began = on_core_ns();
    overwrite(&mut ssd, &mut random, pages, pages);
    let took = (on_core_ns() - began) / 1e9;
    let programs = programs(&ssd, pages);
    println!("960 GB, written over once: {took:.1} CPU s, {programs} programs, {} MB", peak_mb());
}

/// The baseline drive, without a summary page.
fn baseline() -> Ssd {
    let config = SsdConfig {
        summary_page: false,
        cleaning: Cleaning {
            min_free: Some(0.0),
            time: CleaningTime::Blocking,
            ..Cleaning::default()
        },
        ..SsdConfig::default()
    };
    Ssd::new(&config, 0).expect("the baseline is valid")
}

/// One drive only, settled and written over again.
fn alone(is_current: bool) {
    let mut ssd = if is_current { current(16) } else { baseline() };
    let (pages, mut random) = (ssd.facts().pages, Xoshiro256::new(1, 0));
    overwrite(&mut ssd, &mut random, pages, 2 * pages);
    let rates = (0..ROUNDS).map(|_| fast_forward(&mut ssd, &mut random)).collect();
    println!("million page programs a CPU second: {:.1}", median(rates));
}

fn main() {
    // `cargo bench -p ssdlab-devices --bench fast_forward -- alone baseline`, for a profiler.
    if std::env::args().any(|word| word == "alone") {
        return alone(std::env::args().any(|word| word == "current"));
    }
    // `cargo bench -p ssdlab-devices --bench fast_forward -- whole`
    if std::env::args().any(|word| word == "whole") {
        return whole();
    }
    let mut ssd = baseline();
    let pages = ssd.facts().pages;
    let mut plain = Plain::new(131_072, pages as u32);
    let mut random = Xoshiro256::new(1, 0);
    // Two overwrites settle both.
    overwrite(&mut ssd, &mut random, pages, 2 * pages);
    for _ in 0..2 * pages {
        plain.write::<false>(random.below(pages) as u32);
    }
    let mut large = plain.in_large_pages();
    let mut current = current(16);
    let current_pages = current.facts().pages;
    overwrite(&mut current, &mut random, current_pages, 2 * current_pages);
    let mut all = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        let mut measured = [0.0; 4];
        plain.programs = 0;
        measured[0] = timed(|| {
            (0..WRITES).for_each(|_| plain.write::<false>(random.below(pages) as u32));
            plain.programs
        });
        large.programs = 0;
        measured[1] = timed(|| {
            large.write_ahead(&mut random, pages, WRITES);
            large.programs
        });
        measured[2] = fast_forward(&mut ssd, &mut random);
        measured[3] = fast_forward(&mut current, &mut random);
        all.iter_mut().zip(measured).for_each(|(all, rate)| all.push(rate));
    }
    let [plain, ahead, ours, buffered] = all.each_ref().map(|rates| median(rates.clone()));
    let ratio = |of: usize, to: usize| {
        median(all[of].iter().zip(&all[to]).map(|(ours, to)| ours / to).collect())
    };
    println!("million page programs a CPU second, medians of {ROUNDS} rounds in turn");
    println!("plain arrays                    {plain:.1}");
    println!("plain arrays, fetching ahead    {ahead:.1}");
    println!("fast-forward                    {ours:.1}");
    println!("the same of a current drive     {buffered:.1}");
    println!("ratio to plain arrays           {:.2}", ratio(2, 0));
    println!("ratio to fetching ahead         {:.2}", ratio(2, 1));
    println!("of the current drive            {:.2}", ratio(3, 1));
}
