//! Ids shared by the modules of the drive: page, block and unit numbers, each with its own type,
//! and the states of a block. It has no dependencies.

macro_rules! index {
    ($($(#[doc = $doc:literal])+ $name:ident: $number:ty),+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl $name {
            /// The number as an array index.
            #[inline]
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

index! {
    /// A logical page, as addressed by the host.
    Lpn: u64,
    /// A physical page: block number x pages per block + page in the block.
    Ppn: u64,
    /// A flash block. Blocks are numbered domain by domain.
    Block: u32,
    /// A domain: the blocks that share frontier, free list and victim index. The planes of a
    /// domain always belong to one unit and one pool.
    Domain: u32,
    /// An allocation pool: the domains among which a logical page may be placed.
    PoolId: u32,
    /// Executor of one flash operation at a time.
    Unit: u32
}

impl Lpn {
    /// Spare area of a page that was programmed to fill a group: no logical page.
    pub const PADDING: Lpn = Lpn(u64::MAX);
}

/// Bits a cell of a block, as a row of the table of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMode(pub u8);

impl BlockMode {
    /// Native bits per cell.
    pub const NATIVE: BlockMode = BlockMode(0);
}

/// A stream of writes: pages of one stream are written to one frontier of each domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub u32);

impl Stream {
    /// Stream of written, or hot pages.
    pub const FIRST: Stream = Stream(0);
    /// Stream of moved, or cold pages.
    pub const SECOND: Stream = Stream(1);
}

/// Use of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// Erased, in the free list.
    Free = 0,
    /// A frontier, or a block whose last page is being programmed.
    Open,
    /// Fully programmed; may be cleaned.
    Closed,
    /// Being cleaned.
    Victim,
    /// Worn, and being filled with cold data.
    Filling,
    /// Worn out: erased, and never used again.
    Retired,
    /// Closed, and hidden from the cleaning policy while wear levelling passes it over.
    PassedOver,
}
