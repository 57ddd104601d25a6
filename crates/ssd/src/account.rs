//! The account of a drive: requests to its pages, and operations on them.
//!
//! Everything is counted here, once, and by the same calls whether the drive runs in time or
//! without: the host's pages and bytes when the page that holds them is programmed, reads when they
//! end. The reports of a drive are derived from them.
//!
//! To add a counter takes a row of the table below and the line that counts. The row's field is then in
//! [`Counters`], its key in [`Counts`], and with that in the sum over the members of an array, the
//! results, the terminal (where the row has words for it), the reports and the docs. Every count adds
//! up over drives.

mod measure;
mod section;

pub use measure::Measure;
pub use section::Section;

use crate::device::energy::FOLLOWED;
use crate::page::PageWork;
use crate::programmed::MediaBytes;
use crate::shape::Granule;
use engine::{Followed, Time};
use std::ops::AddAssign;

/// A row of the table of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Name in results.
    pub key: &'static str,
    /// Section of the results.
    pub section: Section,
    /// Description in one line.
    pub doc: &'static str,
    /// Unit of the count.
    pub measure: Measure,
    /// Label in the terminal; without them it is not shown there.
    pub terminal: Option<&'static str>,
    /// Index and name among the figures followed over time.
    pub over_time: Option<(usize, &'static str)>,
}

/// The figures that are followed over time have a place each, the energy too, and none is left over.
const _: () = {
    let (mut taken, mut row) = (1_usize << FOLLOWED, 0);
    while row < COUNTERS.len() {
        if let Some((place, _)) = COUNTERS[row].over_time {
            assert!(taken >> place & 1 == 0, "two figures have one place");
            taken |= 1 << place;
        }
        row += 1;
    }
    assert!(taken == (1 << Followed::FIGURES) - 1, "Followed::FIGURES is the number of figures");
};

impl Counter {
    /// Label in the terminal.
    pub fn label(&self) -> String {
        self.terminal.map_or_else(|| self.key.replace('_', " "), str::to_owned)
    }

    /// The rows that are followed over time, in the order of their places, with their names there.
    pub fn over_time() -> Vec<(&'static Counter, usize, &'static str)> {
        let flagged = COUNTERS.iter().filter_map(|row| {
            let (place, name) = row.over_time?;
            Some((row, place, name))
        });
        let mut rows: Vec<_> = flagged.collect();
        rows.sort_by_key(|(_, place, _)| *place);
        rows
    }

    /// True for a state, as opposed to a count of events.
    pub fn is_level(&self) -> bool {
        self.section == Section::Levels
    }
}

/// Declares the counters: first those without a report, then the rows of the report, each a counter
/// or a sum.
macro_rules! counters {
    (
        unreported { $($inner:ident: $inner_doc:literal;)* }
        $($section:ident {
            $(
                $key:ident: $doc:literal, $measure:ident
                $(, terminal $label:literal)?
                $(, over_time $place:literal $name:literal)?
                $(, counts $field:ident)?
                $(, is $derived:expr)?;
            )*
        })*
    ) => {
        /// Every row of the table, in the order of the results.
        pub const COUNTERS: &[Counter] = &[$($(Counter {
            key: stringify!($key),
            section: Section::$section,
            doc: $doc,
            measure: Measure::$measure,
            terminal: counters!(@option $($label)?),
            over_time: counters!(@option $(($place, $name))?),
        },)*)*];

        /// Raw counts since the start or the last reset. Its fields are many because there is one
        /// for each thing that happens.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counters {
            $(#[doc = $inner_doc] pub $inner: u64,)*
            $($($(#[doc = $doc] pub $field: u64,)?)*)*
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Counters) {
                $(self.$inner += other.$inner;)*
                $($($(self.$field += other.$field;)?)*)*
            }
        }

        /// Reported counts of a drive. Its fields are the rows of [`COUNTERS`], by which they are
        /// found by name.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $doc] pub $key: u64,)*)*
        }

        impl Counts {
            pub(crate) fn of(account: &Account) -> Counts {
                let counted = |measure: Measure, count| measure.reported(count, account.granule);
                Counts {
                    $($($key: counted(
                        Measure::$measure,
                        $(account.counters.$field)? $(derived($derived, account))?
                    ),)*)*
                }
            }

            /// All rows with their counts.
            pub fn rows(&self) -> impl Iterator<Item = (&'static Counter, u64)> {
                COUNTERS.iter().zip([$($(self.$key),*),*])
            }

            /// The counts that are followed over time.
            pub fn followed(&self) -> Followed {
                let mut followed = Followed::default();
                $($($(followed.0[$place] = self.$key;)?)*)*
                followed
            }
        }

        impl AddAssign for Counts {
            fn add_assign(&mut self, other: Counts) {
                $($(self.$key += other.$key;)*)*
            }
        }

        /// Levels of a drive over time.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct FlashCounts {
            $($($(#[doc = concat!($doc, " (`", $name, "`).")] pub $key: u64,)?)*)*
        }

        impl From<Followed> for FlashCounts {
            fn from(followed: Followed) -> FlashCounts {
                FlashCounts { $($($($key: followed.0[$place],)?)*)* }
            }
        }
    };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
}

fn derived(sum: fn(&Account) -> u64, account: &Account) -> u64 {
    sum(account)
}

/// Busy times of one unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnitAccount {
    pub(crate) name: String,
    pub(crate) busy_ns: Time,
    pub(crate) cleaning_ns: Time,
    /// Total waiting time of pages, ns.
    pub(crate) waited_ns: Time,
    /// Pages read or programmed for the host.
    pub(crate) operations: u64,
}

/// Busy times of units and buses in an interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spent {
    pub(crate) time: Time,
    pub(crate) units: Vec<UnitAccount>,
    pub(crate) buses_ns: Vec<Time>,
}

impl Spent {
    /// Subtracts the times before the measurement. A page that waited then counts with all its
    /// wait.
    pub(crate) fn leave_out(&mut self, before: &Spent) {
        self.time -= before.time;
        for (unit, before) in self.units.iter_mut().zip(&before.units) {
            unit.busy_ns -= before.busy_ns;
            unit.cleaning_ns -= before.cleaning_ns;
            unit.waited_ns -= before.waited_ns;
            unit.operations -= before.operations;
        }
        self.buses_ns.iter_mut().zip(&before.buses_ns).for_each(|(now, then)| *now -= then);
    }
}

/// Counters of a drive, and the data for reporting them.
pub(crate) struct Account {
    pub(crate) counters: Counters,
    pub(crate) granule: Granule,
    /// Logical data pages of a block.
    pub(crate) data_pages: u32,
    /// Bytes of a flash page, or of a logical page where that is smaller.
    pub(crate) page_bytes: u64,
    /// Bytes of a page of the map.
    pub map_page_bytes: u64,
    /// True for moves by copy-back.
    pub(crate) copy_back: bool,
    /// Erased blocks that are free now.
    pub(crate) free_blocks: u64,
}

impl Account {
    /// Bytes programmed by cause.
    pub fn media(&self) -> MediaBytes {
        let bytes = |logical: u64| self.pages(logical) * self.page_bytes;
        let it = &self.counters;
        let programmed = bytes(it.host_programs);
        // Pages replaced in the buffer were not programmed.
        let host = (it.host_bytes - it.replaced_bytes).min(programmed);
        MediaBytes {
            host,
            merge: programmed - host,
            copy: self.moved() * self.page_bytes - bytes(it.folds) - bytes(it.refreshes)
                + bytes(it.pair_copies),
            fold: bytes(it.folds),
            refresh: bytes(it.refreshes),
            pad: bytes(it.padding),
            map: self.map_bytes(),
            parity: bytes(it.parity),
        }
    }

    /// Flash pages of `logical` logical pages.
    fn pages(&self, logical: u64) -> u64 {
        Measure::LogicalPages.reported(logical, self.granule)
    }

    fn map_bytes(&self) -> u64 {
        self.counters.map_programs * self.map_page_bytes
    }

    fn moved(&self) -> u64 {
        self.pages(self.counters.moves + self.counters.migrations)
    }

    /// Data pages programmed: for the host, to clean and to level wear; with padding and parity, which
    /// the flash takes for data, and without the map.
    fn programs(&self) -> u64 {
        let Counters { host_programs, padding, parity, pair_copies, .. } = self.counters;
        self.pages(host_programs + padding + parity + pair_copies) + self.moved()
    }
}

counters! {
    unreported {
        idle_reads: "Additional flash pages read by a synchronous gang with those for the host.";
        host_programs: "Logical pages programmed for the host.";
        replaced_bytes: "Bytes that the host wrote over pages in the write buffer.";
        folds: "Of the logical pages moved, those out of the SLC cache.";
        refreshes: "Logical pages moved because they were old, or in a block that was read often.";
        refreshed_blocks: "Blocks whose data a patrol found too old, and that were erased.";
        reclaimed_blocks: "Blocks that were read too often, and erased.";
        patrol_reads: "Pages read on patrol.";
        failed_programs: "Programs that failed.";
        map_reads: "Pages of the map read from the flash.";
        pair_copies: "Pages copied before the other page of their cells was programmed.";
    }
    Flash {
        page_reads: "Pages read from flash: for the host (with all pages of a synchronous gang), for \
            read-modify-write, for cleaning, and of the map.",
            FlashPages, terminal "pages read",
            is |it| {
                let Counters { host_reads, idle_reads, merge_reads, patrol_reads, map_reads, .. } =
                    it.counters;
                host_reads + idle_reads + merge_reads + patrol_reads + map_reads + it.moved()
            };
        page_programs: "Data pages programmed, for the host, cleaning and wear levelling, and pages of the map.",
            FlashPages, terminal "pages programmed", over_time 2 "pages_programmed",
            is |it| it.programs() + it.map_bytes() / it.page_bytes;
        bytes_programmed: "Bytes of the pages programmed.",
            Bytes, over_time 3 "bytes_programmed", is |it| it.programs() * it.page_bytes + it.map_bytes();
        summary_programs: "Summary pages programmed.", WidePages, counts summaries;
        block_erases: "Blocks erased, each after cleaning or migration.",
            WideBlocks, terminal "blocks erased", over_time 4 "blocks_erased", counts erases;
        copy_backs: "Pages moved by copy-back, within their plane.",
            FlashPages, is |it| if it.copy_back { it.moved() } else { 0 };
        pages_moved: "Valid pages moved by cleaning.",
            LogicalPages, terminal "pages moved", counts moves;
        pages_migrated: "Pages moved by wear levelling.", LogicalPages, counts migrations;
        host_pages_read: "Pages read for the host.", FlashPages, counts host_reads;
        host_pages_written: "Pages written by the host, whole or in part.",
            FlashPages, over_time 0 "host_pages_written", counts host_pages;
        host_bytes_written: "Bytes written by the host.",
            Bytes, over_time 1 "host_bytes_written", counts host_bytes;
        merge_reads: "Pages read for read-modify-write of partial logical pages.",
            FlashPages, counts merge_reads;
        unmapped_pages_read: "Reads of pages never written, served without flash access.",
            FlashPages, counts unmapped_reads;
        pages_trimmed: "Pages trimmed by the host.", FlashPages, counts trims;
    }
    Cleaning {
        blocks_cleaned: "Blocks cleaned and erased, without wear-levelling migrations.",
            WideBlocks, is |it| it.counters.cleaned();
        blocks_migrated: "Blocks of cold data migrated into worn blocks.",
            WideBlocks, counts migrated_blocks;
        victim_pages: "Data pages of cleaned blocks.",
            LogicalPages, is |it| it.counters.cleaned() * u64::from(it.data_pages);
        victim_pages_moved: "Valid pages moved out of cleaned blocks, without blocks still being \
            cleaned.", LogicalPages, counts victim_moves;
    }
    Wear {
        refused_pages: "Pages refused because the drive had reached end of life, whole or in part.",
            FlashPages, counts refused_pages;
        refused_bytes: "Host bytes in refused pages.", Bytes, counts refused_bytes;
    }
    Buffer {
        groups_programmed: "Program groups (pages programmed at once), without parity.",
            Groups, terminal "groups programmed", counts groups;
        padding_pages: "Padding pages in program groups, due to a flush or the linger time.",
            LogicalPages, terminal "padding pages", counts padding;
        parity_pages: "Parity pages programmed, counted when their block is full.", LogicalPages, counts parity;
        read_hits: "Page reads served from the write buffer.",
            FlashPages, terminal "buffer hits (reads)", counts buffer_hits;
        replaced_pages: "Pages overwritten in the write buffer before they were programmed.",
            FlashPages, terminal "overwrites in the buffer", counts buffer_replaced;
        write_waits: "Writes that had to wait for room in the write buffer.",
            Times, counts buffer_waits;
        suspensions: "Suspensions of a program or erase for reads.",
            Times, terminal "suspensions", counts suspensions;
    }
    Merges {
        switch_merges: "Log blocks that writes in sequence filled, so that they took the place of their block without \
            a copy.", Times, terminal "switch merges", counts switch_merges;
        partial_merges: "Log blocks in sequence whose rest was copied, so that they took the place of their block.",
            Times, terminal "partial merges", counts partial_merges;
        full_merges: "Blocks copied whole to an erased block, from their log blocks and where they lay.",
            Times, terminal "full merges", counts full_merges;
    }
    Blocks {
        blocks_flushed: "Blocks that left the block buffer.",
            Times, terminal "blocks flushed", counts blocks_flushed;
        complete_blocks: "Of these, blocks that were complete: nothing was read for them.",
            Times, terminal "complete blocks", counts complete_blocks;
        pages_filled_up: "Pages read to fill up blocks that left the block buffer.",
            FlashPages, counts block_fills;
        buffered_reads: "Page reads served from the block buffer.",
            FlashPages, counts block_hits;
        read_ahead_hits: "Page reads of which the page had been read ahead, or was on its way.",
            FlashPages, counts ahead_hits;
        pages_read_ahead: "Pages read ahead.", FlashPages, counts ahead_reads;
    }
    Map {
        hits: "Look-ups in the map of entries in memory.", Times, terminal "map hits", counts map_hits;
        sram_hits: "Of these, entries in memory of the controller.", Times, counts map_near_hits;
        misses: "Look-ups that read a page of the map.", Times, terminal "map misses", counts map_misses;
        joins: "Look-ups that waited for a page which another request has read.", Times, counts map_joins;
        evictions: "Pages of the map that left memory for others.",
            Times, terminal "map evictions", counts map_evictions;
        programs: "Pages of the map programmed, because they had changed.",
            Times, terminal "map programs", counts map_programs;
    }
    Levels {
        free_blocks: "Free (erased) blocks.",
            WideBlocks, over_time 5 "free_blocks", is |it| it.free_blocks;
    }
}

impl Counters {
    /// Counts a completed host read of `pages` flash pages, or the read half of a merge.
    pub(super) fn page_read(&mut self, work: PageWork, pages: u32, granule: Granule) {
        let (pages, logical) = (u64::from(pages), u64::from(granule.flash_pages));
        match work {
            PageWork::Read => {
                self.host_reads += pages;
                self.idle_reads += if granule.synchronous { logical - pages } else { 0 };
            }
            PageWork::ReadForWrite => self.merge_reads += logical - pages,
            PageWork::Merge | PageWork::MergeAcross => self.merge_reads += logical,
            _ => {}
        }
    }

    /// Counts a programmed logical page of the host, with `bytes` written in `pages` flash pages.
    #[inline]
    pub(super) fn page_written(&mut self, pages: u32, bytes: u64) {
        self.pages_written(1, pages, bytes);
    }

    /// `page` for several equal logical pages.
    #[inline]
    pub(super) fn pages_written(&mut self, count: u64, pages: u32, bytes: u64) {
        self.host_programs += count;
        self.host_took(count, pages, bytes);
    }

    #[inline]
    fn host_took(&mut self, count: u64, pages: u32, bytes: u64) {
        self.host_pages += count * u64::from(pages);
        self.host_bytes += count * bytes;
    }

    /// The host wrote `bytes` to `pages` flash pages of a logical page in the buffer.
    #[inline]
    pub(super) fn host_wrote(&mut self, pages: u32, bytes: u64) {
        self.host_took(1, pages, bytes);
    }

    /// Counts a padding page.
    pub fn padded(&mut self) {
        self.padding += 1;
    }

    /// `pages` for copies replaced in the buffer.
    pub(super) fn pages_replaced(&mut self, count: u64, pages: u32, bytes: u64) {
        self.host_took(count, pages, bytes);
        self.buffer_replaced += count * u64::from(pages);
        self.replaced_bytes += count * bytes;
    }

    /// Counts bytes and whole flash pages of the host that replaced others in the block buffer.
    pub(super) fn replaced_in_block(&mut self, bytes: u64, pages: u64) {
        self.replaced_bytes += bytes;
        self.buffer_replaced += pages;
    }

    /// A block leaves the block buffer, complete or not.
    pub(super) fn block_leaves(&mut self, is_complete: bool) {
        self.blocks_flushed += 1;
        self.complete_blocks += u64::from(is_complete);
    }

    /// Counts pages read to fill up a block, which were counted as reads of the host.
    pub(super) fn read_to_fill_up(&mut self, pages: u32) {
        self.host_reads -= u64::from(pages);
        self.merge_reads += u64::from(pages);
        self.block_fills += u64::from(pages);
    }

    /// Counts page reads from the block buffer, and from read-ahead; `now` of them complete at
    /// once.
    pub(super) fn read_from_blocks(&mut self, gathered: u32, ahead: u32, read_ahead: u32) {
        self.block_hits += u64::from(gathered);
        self.ahead_hits += u64::from(ahead);
        self.ahead_reads += u64::from(read_ahead);
    }

    /// An ended drive did not take `bytes` in `pages` flash pages.
    pub(super) fn page_refused(&mut self, pages: u32, bytes: u64) {
        self.refused_pages += u64::from(pages);
        self.refused_bytes += bytes;
    }

    /// Pages were moved out of the SLC cache.
    pub fn folded(&mut self, pages: u64) {
        self.folds += pages;
    }

    /// A page of the host is programmed once more.
    pub fn programmed_in_vain(&mut self) {
        self.host_programs += 1;
    }

    /// Programs have failed.
    pub fn programs_failed(&mut self, count: u32) {
        self.failed_programs += u64::from(count);
    }

    /// Counts an erased block that was refreshed or reclaimed.
    pub fn cared(&mut self, refreshed: bool) {
        *if refreshed { &mut self.refreshed_blocks } else { &mut self.reclaimed_blocks } += 1;
    }

    /// Blocks cleaned, without migrations.
    pub(crate) fn cleaned(&self) -> u64 {
        self.erases - self.migrated_blocks
    }
}
