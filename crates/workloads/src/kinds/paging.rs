//! Paging of a program with too little memory: page faults read pages, and changed pages are
//! written before their memory is reused.
//!
//! Memory holds the most recently touched pages (LRU). A thread computes, touches a page, and waits
//! if the page is not in memory. Unchanged pages are evicted immediately. Changed ones are written
//! by a separate writer, in clusters, as soon as free memory falls below one cluster; they go to
//! the next free slots of the swap space. Known (Linux): 8 adjacent pages are read together
//! (`vm.page-cluster` = 3), and 32 are written together (`SWAP_CLUSTER_MAX`). Assumed: exact LRU,
//! which kernels approximate; the working set was written out once before; and all touches of a
//! thread between two waits are timed from the first one.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::locality::{Locality, Skew};
use crate::streams;
use engine::{Op, Random, Time, Workload, Xoshiro256};
use options::{Duration, Invalid, Size};
use pages::{Pages, Place};
use std::collections::VecDeque;

mod pages;

options::options! {
    /// The paging of a program whose memory is too small.
    pub struct Paging as PagingPartial {
        /// Maximum number of requests; if not given, until the last touch.
        requests: Option<u64> = None,
        /// Touches of pages, by all threads together.
        touches: u64 = 1_000_000,
        /// Number of threads, each waiting for its missing pages.
        threads: u32 = 10,
        /// Working set of the program, a multiple of 4KiB: it lies in memory or in the swap space.
        working_set: Size = Size::from_bytes(2 << 30),
        /// Memory of the program, a multiple of 4KiB.
        memory: Size = Size::from_bytes(1 << 30),
        /// Time that a thread computes for each touch.
        compute: Duration = Duration::from_ns(1_000),
        /// Share of accesses that leave the page unchanged; the rest change it.
        read_share: f64 = 0.7,
        /// Share of the touches that go anywhere; the rest go to the page behind the last one.
        random_share: f64 = 1.0,
        /// Distribution of random touches over the working set.
        locality: Locality = Locality::UNIFORM,
        /// Pages that are read at once, side by side in the swap space.
        read_ahead: u32 = 8,
        /// Pages that are written at once.
        cluster: u32 = 32,
        /// Write the working set first; if false, it must be on the device already.
        load: bool = true,
        /// Footprint: the swap space, from the start of the device.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Maximum pages of a program, threads, and pages per read or write.
const MOST_PAGES: u64 = 1 << 24;
const MOST_THREADS: u64 = 1 << 12;
const MOST_AT_ONCE: u64 = 1 << 10;
/// The working set is loaded with requests of 1 MiB.
const LOAD_BLOCKS: u64 = 256;

impl Paging {
    /// The number of pages of a size.
    fn pages(key: &str, size: Size) -> Result<u64, Invalid> {
        let pages = size.bytes() / BLOCK_BYTES;
        if pages == 0 || !size.bytes().is_multiple_of(BLOCK_BYTES) || pages > MOST_PAGES {
            let problem = format!("{size} is no multiple of 4KiB from 4KiB to 64GiB");
            return Err(Invalid::new(&[key], problem));
        }
        Ok(pages)
    }
}

impl WorkloadKind for Paging {
    const SUMMARY: &'static str = "the paging of a program whose memory is too small: LRU, pages read when they are touched, changed ones written";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Paging::default();
        let rows = [
            ("workload.compute", self.compute == default.compute),
            ("workload.read_share", self.read_share.to_bits() == default.read_share.to_bits()),
            ("workload.memory", self.memory == default.memory),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        checks::positive("workload.touches", self.touches)?;
        checks::within("workload.threads", u64::from(self.threads), 1, MOST_THREADS)?;
        checks::within("workload.read_ahead", u64::from(self.read_ahead), 1, MOST_AT_ONCE)?;
        checks::within("workload.cluster", u64::from(self.cluster), 1, MOST_AT_ONCE)?;
        checks::share("workload.read_share", self.read_share)?;
        checks::share("workload.random_share", self.random_share)?;
        let pages = Self::pages("workload.working_set", self.working_set)?;
        let memory = Self::pages("workload.memory", self.memory)?;
        if memory >= pages {
            let problem = format!(
                "{} hold all of {}, so that nothing is paged",
                self.memory, self.working_set
            );
            return Err(Invalid::new(&["workload.memory", "workload.working_set"], problem).into());
        }
        let threads = u64::from(self.threads);
        let least = threads * u64::from(self.read_ahead) + 2 * u64::from(self.cluster);
        if memory < least {
            let problem = format!(
                "{} is less than what {threads} threads read at once, {} pages each, and twice the {} pages that are \
                 written at once; it must be at least {}",
                self.memory,
                self.read_ahead,
                self.cluster,
                Size::from_bytes(least * BLOCK_BYTES)
            );
            let keys =
                ["workload.memory", "workload.threads", "workload.read_ahead", "workload.cluster"];
            return Err(Invalid::new(&keys, problem).into());
        }
        let slots = self.footprint.sectors(context.capacity_sectors)? / BLOCK_SECTORS;
        if pages > slots {
            let space = Size::from_bytes(slots * BLOCK_BYTES);
            let problem = format!("{} do not fit into a swap space of {space}", self.working_set);
            return Err(
                Invalid::new(&["workload.working_set", "workload.footprint"], problem).into()
            );
        }
        let skew = self.locality.skew("workload.locality", pages, true, context.seed)?;
        let program = Program {
            threads: (0..threads)
                .map(|n| Thread {
                    left: self.touches / threads + u64::from(n < self.touches % threads),
                    next: (pages * n / threads) as u32,
                    random: Xoshiro256::new(streams::derived(context.draws(), n), streams::PAGING),
                    lacks: None,
                    since: 0,
                })
                .collect(),
            pages: Pages::new(pages as u32, memory as u32, slots.min(2 * MOST_PAGES) as u32),
            skew,
            read_share: self.read_share,
            random_share: self.random_share,
            compute_ns: self.compute.ns(),
            read_ahead: self.read_ahead,
            cluster: self.cluster,
            is_loading: self.load,
            under_way: Vec::new(),
            counts: Counts::default(),
        };
        let largest = LOAD_BLOCKS.max(u64::from(self.read_ahead)).max(u64::from(self.cluster));
        let cut = Cut { largest: largest * BLOCK_SECTORS, depth: self.cluster };
        // The writer is the last chain.
        Ok(Box::new(Chains::new(limit, program.threads.len() + 1, cut, program)))
    }
}

/// A touch of a page.
#[derive(Debug, Clone, Copy)]
struct Touch {
    page: u32,
    changes: bool,
}

/// A thread of the program.
struct Thread {
    /// Touches not yet made.
    left: u64,
    /// Page after the last touched one.
    next: u32,
    random: Xoshiro256,
    /// A touch that waits for its page to be loaded.
    lacks: Option<Touch>,
    /// Start of the wait.
    since: Time,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    touches: u64,
    faults: u64,
    pages_read: u64,
    pages_written: u64,
    wait_ns: u64,
}

/// A program, its memory and its swap space.
struct Program {
    threads: Vec<Thread>,
    pages: Pages,
    /// `None` for a uniform distribution.
    skew: Option<Skew>,
    read_share: f64,
    random_share: f64,
    compute_ns: Time,
    read_ahead: u32,
    cluster: u32,
    is_loading: bool,
    /// Pages being written.
    under_way: Vec<u32>,
    counts: Counts,
}

impl Program {
    /// Draws the next touch of a thread.
    fn draw(&mut self, chain: usize) -> Touch {
        let count = self.pages.count();
        let thread = &mut self.threads[chain];
        let goes_anywhere = thread.random.unit() < self.random_share;
        let changes = thread.random.unit() >= self.read_share;
        let page = match &self.skew {
            _ if !goes_anywhere => thread.next,
            None => thread.random.below(u64::from(count)) as u32,
            Some(skew) => skew.block(&mut thread.random) as u32,
        };
        thread.next = if page + 1 == count { 0 } else { page + 1 };
        thread.left -= 1;
        self.counts.touches += 1;
        Touch { page, changes }
    }

    /// Runs a thread until it touches a page that is not in memory.
    fn run(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        let mut at = now;
        loop {
            let touch = if let Some(touch) = self.threads[chain].lacks.take() {
                at = at.max(self.threads[chain].since);
                touch
            } else if self.threads[chain].left > 0 {
                at += self.compute_ns;
                self.threads[chain].since = at;
                self.draw(chain)
            } else {
                return Next::End;
            };
            let is_there = self.pages.place(touch.page) != Place::Out;
            if is_there {
                self.pages.touch(touch.page);
            } else {
                let Some(read) = self.pages.fetch(touch.page, self.read_ahead) else {
                    self.threads[chain].lacks = Some(touch);
                    return Next::Wait;
                };
                self.counts.faults += 1;
                self.counts.pages_read += read.blocks;
                step.push_back(Piece::of(Op::Read, read));
            }
            if touch.changes {
                self.pages.change(touch.page);
            }
            if !is_there {
                return Next::Ask(at);
            }
        }
    }

    /// Writes changed pages if free memory is short.
    fn write(&mut self, now: Time, step: &mut VecDeque<Piece>) -> Next {
        let (written, places) = self.pages.evict(self.cluster);
        if written.is_empty() {
            return Next::Wait;
        }
        self.counts.pages_written += written.len() as u64;
        self.under_way = written;
        step.extend(places.into_iter().map(|extent| Piece::of(Op::Write, extent)));
        Next::Ask(now)
    }
}

impl Steps for Program {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.is_loading {
            if chain > 0 {
                return Next::Wait;
            }
            let sectors = u64::from(self.pages.count()) * BLOCK_SECTORS;
            step.push_back(Piece::new(Op::Write, 0, sectors));
            return Next::Ask(now);
        }
        if chain == self.threads.len() { self.write(now, step) } else { self.run(chain, now, step) }
    }

    fn finished(&mut self, chain: usize, now: Time) -> bool {
        if std::mem::take(&mut self.is_loading) {
            return true;
        }
        if chain == self.threads.len() {
            self.pages.written(&std::mem::take(&mut self.under_way));
        } else {
            self.counts.wait_ns += now - self.threads[chain].since;
        }
        true
    }

    fn notices(&self) -> Notices {
        let Counts { touches, faults, pages_read, pages_written, wait_ns } = self.counts;
        vec![
            ("paging_touches", touches),
            ("paging_faults", faults),
            ("paging_pages_read", pages_read),
            ("paging_pages_written", pages_written),
            ("paging_wait_ns", wait_ns),
        ]
    }
}

#[cfg(test)]
mod tests;
