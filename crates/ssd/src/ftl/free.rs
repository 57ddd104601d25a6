//! Erased blocks: which are free, and which is opened next.

use crate::config::FreeOrder;
use crate::ids::{Block, Domain};
use crate::sets::{Set, Sets};
use crate::shape::Geometry;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// The erased blocks of every domain.
#[derive(Debug, Clone)]
pub struct FreeBlocks {
    blocks_per_domain: u32,
    count: Vec<u32>,
    /// Blocks of each domain that were never erased and are free in the order of their numbers,
    /// before all others: the lists of `order` need not contain most blocks of a new drive.
    fresh: Vec<Range<u32>>,
    /// For the only domain: free blocks reserved for the SLC cache.
    aside: u32,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    Rotating {
        members: Sets,
        cursor: Vec<u32>,
    },
    Fifo(Vec<VecDeque<u32>>),
    /// Erasures and number of each block.
    LeastWorn(Vec<BinaryHeap<Reverse<(u32, u32)>>>),
}

impl FreeBlocks {
    /// No block is free yet.
    pub fn new(geometry: &Geometry, order: FreeOrder) -> Self {
        let domains = geometry.domains as usize;
        FreeBlocks {
            blocks_per_domain: geometry.blocks_per_domain,
            count: memory::zeroed(domains),
            fresh: memory::filled(0..0, domains),
            aside: 0,
            order: match order {
                FreeOrder::Rotating => Order::Rotating {
                    members: Sets::new(geometry.domains, 1, geometry.blocks_per_domain),
                    cursor: memory::zeroed(domains),
                },
                FreeOrder::Fifo => Order::Fifo(memory::filled(VecDeque::new(), domains)),
                FreeOrder::LeastWorn => {
                    Order::LeastWorn(memory::filled(BinaryHeap::new(), domains))
                }
            },
        }
    }

    /// Copies the free blocks of some domains from an equal drive.
    pub fn take_part(&mut self, other: &FreeBlocks, domains: Range<usize>) {
        self.count[domains.clone()].copy_from_slice(&other.count[domains.clone()]);
        self.fresh[domains.clone()].clone_from_slice(&other.fresh[domains.clone()]);
        match (&mut self.order, &other.order) {
            (
                Order::Rotating { members, cursor },
                Order::Rotating { members: other, cursor: others },
            ) => {
                members.take_part(other, domains.clone());
                cursor[domains.clone()].copy_from_slice(&others[domains]);
            }
            (Order::Fifo(queues), Order::Fifo(other)) => {
                queues[domains.clone()].clone_from_slice(&other[domains]);
            }
            (Order::LeastWorn(heaps), Order::LeastWorn(other)) => {
                heaps[domains.clone()].clone_from_slice(&other[domains]);
            }
            _ => unreachable!("drives alike take their blocks in the same order"),
        }
    }

    /// Free blocks of a domain.
    #[inline]
    pub fn count(&self, domain: Domain) -> u32 {
        self.count[domain.at()]
    }

    /// Adds an erased block with its erase count.
    pub fn insert(&mut self, domain: Domain, block: Block, erases: u32) {
        self.count[domain.at()] += 1;
        let relative = block.0 - domain.0 * self.blocks_per_domain;
        if self.is_fresh(domain, relative, erases) {
            let fresh = &mut self.fresh[domain.at()];
            let first = if fresh.start < fresh.end { fresh.start } else { relative };
            *fresh = first..relative + 1;
            return;
        }
        match &mut self.order {
            Order::Rotating { members, .. } => members.insert(Set::only(domain.0), relative),
            Order::Fifo(queues) => queues[domain.at()].push_back(relative),
            Order::LeastWorn(heaps) => heaps[domain.at()].push(Reverse((erases, relative))),
        }
    }

    /// True if a block belongs behind the fresh ones of its domain, and before all others.
    fn is_fresh(&self, domain: Domain, relative: u32, erases: u32) -> bool {
        let fresh = &self.fresh[domain.at()];
        let is_next = fresh.start >= fresh.end || relative == fresh.end;
        match &self.order {
            Order::Rotating { .. } => false,
            Order::Fifo(queues) => is_next && queues[domain.at()].is_empty(),
            Order::LeastWorn(heaps) => is_next && erases == 0 && heaps[domain.at()].is_empty(),
        }
    }

    /// Free blocks that are set aside for the SLC cache.
    pub fn aside(&self) -> u32 {
        self.aside
    }

    /// Reserves one more free block of the only domain.
    pub fn set_aside(&mut self) {
        self.count[0] -= 1;
        self.aside += 1;
    }

    /// Cancels all reservations.
    pub fn forget_aside(&mut self) {
        self.count[0] += std::mem::take(&mut self.aside);
    }

    /// Takes a block that was set aside.
    pub fn take_aside(&mut self) -> Block {
        self.aside -= 1;
        self.count[0] += 1;
        self.take(Domain(0))
    }

    /// Takes the next block to open; the domain must have a free one.
    pub fn take(&mut self, domain: Domain) -> Block {
        let d = domain.at();
        self.count[d] = self.count[d].checked_sub(1).expect("a domain keeps a block to clean into");
        let relative = match &mut self.order {
            Order::Fifo(_) | Order::LeastWorn(_) if self.fresh[d].start < self.fresh[d].end => {
                self.fresh[d].start += 1;
                self.fresh[d].start - 1
            }
            Order::Rotating { members, cursor } => {
                let next = members
                    .next_wrapping(Set::only(domain.0), cursor[d])
                    .expect("the count says so");
                members.remove(Set::only(domain.0), next);
                cursor[d] = (next + 1) % self.blocks_per_domain;
                next
            }
            Order::Fifo(queues) => queues[d].pop_front().expect("the count says so"),
            Order::LeastWorn(heaps) => {
                let Reverse((_, relative)) = heaps[d].pop().expect("the count says so");
                relative
            }
        };
        Block(domain.0 * self.blocks_per_domain + relative)
    }

    /// Order of taking free blocks.
    pub fn order(&self) -> FreeOrder {
        match &self.order {
            Order::Rotating { .. } => FreeOrder::Rotating,
            Order::Fifo(_) => FreeOrder::Fifo,
            Order::LeastWorn(_) => FreeOrder::LeastWorn,
        }
    }

    /// Free blocks of a domain in an order whose insertion reproduces the list, and the start of
    /// the search for the next one. Slow; used for saving.
    pub fn list(&self, domain: Domain) -> (Vec<u32>, u32) {
        let first = domain.0 * self.blocks_per_domain;
        let (relative, cursor): (Vec<u32>, u32) = match &self.order {
            Order::Rotating { members, cursor } => {
                let all = 0..self.blocks_per_domain;
                let free =
                    all.filter(|block| members.contains(Set::only(domain.0), *block)).collect();
                (free, cursor[domain.at()])
            }
            Order::Fifo(queues) => {
                let fresh = self.fresh[domain.at()].clone();
                (fresh.chain(queues[domain.at()].iter().copied()).collect(), 0)
            }
            Order::LeastWorn(heaps) => {
                let fresh = self.fresh[domain.at()].clone();
                let worn = heaps[domain.at()].iter().map(|Reverse((_, block))| *block);
                (fresh.chain(worn).collect(), 0)
            }
        };
        (relative.into_iter().map(|block| first + block).collect(), cursor)
    }

    /// Lets the search for the next free block of a domain begin at one.
    pub fn begin_at(&mut self, domain: Domain, block: u32) {
        if let Order::Rotating { cursor, .. } = &mut self.order {
            cursor[domain.at()] = block % self.blocks_per_domain;
        }
    }
}
