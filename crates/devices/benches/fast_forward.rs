//! How fast is fast-forward? Uniform random overwrites of the baseline drive (32 GiB of 4 KiB pages,
//! eight packages, 15 % spare) in steady state, against a plain-array program that does only what
//! cannot be avoided: map, reverse map, valid counts, and the sets of blocks by valid count.
//!
//! The last run (`cargo bench -p devices`; 2 shared vCPUs of an Intel Xeon, best of three):
//!
//! ```text
//! million page programs a second
//! plain arrays                    32.3
//! plain arrays, fetching ahead    46.8
//! fast-forward                    27.9
//! ratio to plain arrays           0.86
//! ratio to fetching ahead         0.59
//! ```

use devices::ssd::config::{Cleaning, CleaningTime};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Examine, Prepare};
use engine::{Random, Xoshiro256};
use std::time::Instant;

/// Overwrites measured after the drive has settled.
const WRITES: u64 = 8_000_000;

#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn timed(work: impl FnOnce() -> u64) -> f64 {
    let started = Instant::now();
    let programs = work();
    programs as f64 / started.elapsed().as_secs_f64() / 1e6
}

/// Overwrites random pages in the batches that preconditioning uses.
fn overwrite(ssd: &mut Ssd, random: &mut Xoshiro256, pages: u64, writes: u64) {
    let mut batch = [0; 64];
    for _ in 0..writes / 64 {
        batch.fill_with(|| random.below(pages));
        ssd.overwrite_untimed(&batch);
    }
}

/// Million page programs a second of the drive.
fn fast_forward(ssd: &mut Ssd, random: &mut Xoshiro256) -> f64 {
    let pages = ssd.preparable_pages();
    ssd.reset_counts();
    timed(|| {
        overwrite(ssd, random, pages, WRITES);
        ssd.account(0).counts.page_programs
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
            plain.write(lpn);
        }
        plain.programs = 0;
        plain
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

    fn write(&mut self, lpn: u32) {
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
            self.clean();
        }
    }

    /// The same with the map fetched for 16 writes at a time.
    fn write_ahead(&mut self, batch: &[u32; 16]) {
        let fetched = batch.iter().fold(0, |all, lpn| all ^ self.map[*lpn as usize]);
        std::hint::black_box(fetched);
        for lpn in batch {
            self.write(*lpn);
        }
    }

    fn clean(&mut self) {
        let blocks = self.valid.len() as u32;
        let heads = blocks..=blocks + Self::PAGES;
        let head = heads.into_iter().find(|head| self.next[*head as usize] != *head);
        let victim = self.next[head.expect("some block is closed") as usize];
        self.unlink(victim);
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

fn main() {
    let config = SsdConfig {
        summary_page: false,
        cleaning: Cleaning {
            min_free: Some(0.0),
            time: CleaningTime::Blocking,
            ..Cleaning::default()
        },
        ..SsdConfig::default()
    };
    let mut ssd = Ssd::new(&config, 0).expect("the baseline is valid");
    let pages = ssd.preparable_pages();
    let mut plain = Plain::new(131_072, pages as u32);
    let mut random = Xoshiro256::new(1, 0);
    // Two overwrites settle both.
    overwrite(&mut ssd, &mut random, pages, 2 * pages);
    for _ in 0..2 * pages {
        plain.write(random.below(pages) as u32);
    }
    let draw = |random: &mut Xoshiro256| random.below(pages) as u32;
    let mut best = [0.0_f64; 3];
    for _ in 0..3 {
        plain.programs = 0;
        best[0] = best[0].max(timed(|| {
            (0..WRITES).for_each(|_| plain.write(draw(&mut random)));
            plain.programs
        }));
        plain.programs = 0;
        best[1] = best[1].max(timed(|| {
            for _ in 0..WRITES / 16 {
                plain.write_ahead(&std::array::from_fn(|_| draw(&mut random)));
            }
            plain.programs
        }));
        best[2] = best[2].max(fast_forward(&mut ssd, &mut random));
    }
    let [plain, ahead, ours] = best;
    println!("million page programs a second");
    println!("plain arrays                    {plain:.1}");
    println!("plain arrays, fetching ahead    {ahead:.1}");
    println!("fast-forward                    {ours:.1}");
    println!("ratio to plain arrays           {:.2}", ours / plain);
    println!("ratio to fetching ahead         {:.2}", ours / ahead);
}
