//! A log-structured merge tree under writes, as in `RocksDB`: log, flushes, and compactions.
//!
//! Known (O'Neil et al., 1996; `RocksDB`'s documentation, leveled compaction with dynamic level
//! sizes): a write is appended to the log and inserted into a memtable; a full memtable becomes a
//! file of level 0. Files are merged downward, each level ten times as large as the one above
//! (`tree.rs`); files are written once and deleted whole. Chain 0 appends to the log, chain 1
//! flushes, the others merge: they alternately read `buffer` bytes and write the merged result. The
//! writer stalls while two memtables wait for their flush, or while level 0 has nine times the
//! files that trigger its merge, as in `RocksDB` (36 of 4). Assumed: uniformly written keys, or
//! keys in order, and a tree filled long before (`load`).

mod config;
mod store;
mod tree;

pub use config::{Classes, Keys, Lsm, LsmPartial};

use crate::chains::{Chains, Cut};
use crate::checks;
use crate::error::BuildError;
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::kind::{Context, WorkloadKind};
use engine::{SECTOR_BYTES, Workload};
use options::{Invalid, Size};
use store::{STOP, Store};

/// Maximum number of concurrent merges.
const MOST_MERGES: u64 = 1 << 8;

impl Lsm {
    /// Bytes of the data and blocks of the footprint; an error if the tree does not fit.
    fn room(&self, context: &Context, memtable: u64) -> Result<(f64, u64), Invalid> {
        let blocks = self.footprint.sectors(context.capacity_sectors)? / BLOCK_SECTORS;
        let data = self.data.sectors_of("workload.data", context.capacity_sectors)? / BLOCK_SECTORS;
        let data = (data * BLOCK_BYTES) as f64;
        let (memtable, file) = (memtable as f64, self.file.bytes() as f64);
        let (l1, l0) = (self.l1.bytes() as f64, f64::from(self.l0_files));
        let levels = data / (1.0 - 1.0 / self.fan_out);
        // Maximum of level 0 and logs, and output written before its input is deleted.
        let merging = 2.0 * (l1 + 2.0 * l0 * memtable);
        let moving = f64::from(self.merges) * (self.fan_out + 3.0) * file;
        let needed = match self.keys {
            Keys::Uniform => {
                levels + STOP as f64 * l0 * memtable + 4.0 * memtable + merging + moving
            }
            Keys::Sequential => data + 6.0 * memtable,
        };
        let given = (blocks * BLOCK_BYTES) as f64;
        if needed > given {
            let size = |bytes: f64| Size::from_bytes((bytes as u64).next_multiple_of(1 << 20));
            let problem = format!(
                "a tree of {} needs up to {} with its logs, level 0 and merges, and has {}; give less data, or a \
                 smaller memtable, l1 and file",
                self.data,
                size(needed),
                Size::from_bytes(blocks * BLOCK_BYTES)
            );
            let keys = ["workload.data", "workload.memtable", "workload.l1", "workload.footprint"];
            return Err(Invalid::new(&keys, problem));
        }
        Ok((data, blocks))
    }
}

impl WorkloadKind for Lsm {
    const SUMMARY: &'static str = "a log-structured merge tree under writes: log, flushes to level 0, and merges of files that are then deleted";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn draws(&self) -> bool {
        false
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Lsm::default();
        let rows = [
            ("workload.data", self.data == default.data),
            ("workload.append", self.log && self.append == default.append),
            ("workload.outstanding", self.outstanding == default.outstanding),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::positive("workload.l0_files", u64::from(self.l0_files))?;
        checks::positive("workload.value", self.value.bytes())?;
        checks::within("workload.merges", u64::from(self.merges), 1, MOST_MERGES)?;
        checks::share("workload.overwrites", self.overwrites)?;
        if !(2.0..=1000.0).contains(&self.fan_out) {
            let problem = format!("{} is not possible; it must be from 2 to 1000", self.fan_out);
            return Err(Invalid::new(&["workload.fan_out"], problem).into());
        }
        if !(self.compression > 0.0 && self.compression <= 1.0) {
            let problem = format!("{} is not a share above 0 and up to 1", self.compression);
            return Err(Invalid::new(&["workload.compression"], problem).into());
        }
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let append = checks::blocks("workload.append", self.append)?;
        let buffer = checks::blocks("workload.buffer", self.buffer)?;
        let memtable = checks::blocks("workload.memtable", self.memtable)?;
        checks::blocks("workload.file", self.file)?;
        checks::positive("workload.l1", self.l1.bytes())?;
        let (data, blocks) = self.room(context, memtable * BLOCK_BYTES)?;
        let steps = Store::new(self, (memtable, append, buffer), (data, blocks));
        let cut = Cut { largest: largest * BLOCK_BYTES / SECTOR_BYTES, depth: self.outstanding };
        let chains = 2 + self.merges as usize;
        Ok(Box::new(Chains::new(Some(self.requests), chains, cut, steps)))
    }
}

#[cfg(test)]
mod tests;
