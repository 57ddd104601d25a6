//! Files on a simple file system, and the requests of file operations.
//!
//! The mapping of operations to requests is an assumption, kept simple. Space is allocated in
//! extents of 4 KiB blocks, first fit. Each file has an inode in a table at the start of the
//! footprint, 16 per block. Creating, growing or deleting a file writes its inode's block; reading
//! a file does not (no access times). There is no journal, no directory and no cache: every
//! operation goes straight to the device. Reads and writes cover whole blocks; a request ends at
//! the end of its extent or at the maximum request size.

use crate::extents::{Allocator, Extent};
use engine::{Lba, Op, Request};
use std::collections::VecDeque;

/// Bytes in a block, the unit of allocation and access.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// Sectors in a block.
pub(crate) const BLOCK_SECTORS: u64 = BLOCK_BYTES / engine::SECTOR_BYTES;

/// Inodes per block of the inode table: 256 bytes each.
const INODES_A_BLOCK: u64 = 16;

/// A file: its size and extents.
#[derive(Debug, Default)]
struct File {
    bytes: u64,
    extents: Vec<Extent>,
}

/// The file system: files by number, and the queue of requests not yet fetched.
#[derive(Debug)]
pub(crate) struct Files {
    allocator: Allocator,
    entries: Vec<Option<File>>,
    largest_blocks: u64,
    trim: bool,
    requests: VecDeque<(Op, Extent)>,
}

impl Files {
    /// A file system of `sectors` with space for `most` files, whose requests have at most
    /// `largest_blocks` blocks. `None` if the space is too small for the inode table.
    pub(crate) fn new(sectors: u64, most: u64, largest_blocks: u64, trim: bool) -> Option<Self> {
        let blocks = sectors / BLOCK_SECTORS;
        let table = most.div_ceil(INODES_A_BLOCK);
        let data = blocks.checked_sub(table).filter(|data| *data > 0)?;
        Some(Files {
            allocator: Allocator::new(table, data),
            entries: Vec::new(),
            largest_blocks,
            trim,
            requests: VecDeque::new(),
        })
    }

    /// True if requests are queued.
    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// The oldest queued request, with number `id`.
    pub(crate) fn fetch(&mut self, id: u64) -> Option<Request> {
        let (op, extent) = self.requests.pop_front()?;
        let lba = Lba(extent.first * BLOCK_SECTORS);
        Some(Request::new(id, op, lba, (extent.blocks * BLOCK_SECTORS) as u32))
    }

    /// Size of a file in bytes; 0 if it does not exist.
    pub(crate) fn bytes(&self, file: usize) -> u64 {
        self.entries.get(file).and_then(Option::as_ref).map_or(0, |file| file.bytes)
    }

    /// Creates an empty file with this number.
    pub(crate) fn create(&mut self, file: usize) {
        if self.entries.len() <= file {
            self.entries.resize_with(file + 1, || None);
        }
        self.entries[file] = Some(File::default());
        self.write_inode(file);
    }

    /// Appends `bytes` to a file; returns `false` and changes nothing if space is exhausted.
    ///
    /// A partially filled last block is rewritten. `inode` selects whether the inode is written,
    /// too: false for all but the last write of a longer operation.
    pub(crate) fn append(&mut self, file: usize, bytes: u64, inode: bool) -> bool {
        let at = self.bytes(file);
        let has = at.div_ceil(BLOCK_BYTES);
        let needs = (at + bytes).div_ceil(BLOCK_BYTES);
        let Some(new) = self.allocator.take(needs - has) else { return false };
        let entry = self.entries[file].as_mut().expect("the file exists");
        for extent in new {
            match entry.extents.last_mut() {
                Some(last) if last.first + last.blocks == extent.first => {
                    last.blocks += extent.blocks;
                }
                _ if extent.blocks > 0 => entry.extents.push(extent),
                _ => {}
            }
        }
        entry.bytes += bytes;
        self.range(Op::Write, file, at, bytes);
        if inode {
            self.write_inode(file);
        }
        true
    }

    /// Reads a range of a file.
    pub(crate) fn read(&mut self, file: usize, at: u64, bytes: u64) {
        self.range(Op::Read, file, at, bytes);
    }

    /// Overwrites a range of a file in place.
    pub(crate) fn rewrite(&mut self, file: usize, at: u64, bytes: u64) {
        self.range(Op::Write, file, at, bytes);
    }

    /// Deletes a file.
    pub(crate) fn delete(&mut self, file: usize) {
        let Some(entry) = self.entries[file].take() else { return };
        self.write_inode(file);
        for extent in entry.extents {
            if self.trim {
                self.ask(Op::Trim, extent);
            }
            self.allocator.give(extent);
        }
    }

    /// Writes the block of the inode table that contains the file's inode.
    pub(crate) fn write_inode(&mut self, file: usize) {
        let extent = Extent { first: file as u64 / INODES_A_BLOCK, blocks: 1 };
        self.requests.push_back((Op::Write, extent));
    }

    /// Issues requests for a range of a file.
    fn range(&mut self, op: Op, file: usize, at: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut skip = at / BLOCK_BYTES;
        let mut left = (at + bytes).div_ceil(BLOCK_BYTES) - skip;
        let entry = self.entries[file].as_ref().expect("the file exists");
        let mut parts = Vec::new();
        for extent in &entry.extents {
            if skip >= extent.blocks {
                skip -= extent.blocks;
                continue;
            }
            let blocks = (extent.blocks - skip).min(left);
            parts.push(Extent { first: extent.first + skip, blocks });
            left -= blocks;
            skip = 0;
            if left == 0 {
                break;
            }
        }
        for part in parts {
            self.ask(op, part);
        }
    }

    /// Queues requests for consecutive blocks, each of the maximum request size.
    fn ask(&mut self, op: Op, extent: Extent) {
        let end = extent.first + extent.blocks;
        let mut first = extent.first;
        while first < end {
            let blocks = self.largest_blocks.min(end - first);
            self.requests.push_back((op, Extent { first, blocks }));
            first += blocks;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random, Xoshiro256};

    fn fetched(files: &mut Files) -> Vec<(Op, u64, u64)> {
        let mut all = Vec::new();
        while let Some(request) = files.fetch(0) {
            let blocks = u64::from(request.sectors) / BLOCK_SECTORS;
            all.push((request.op, request.lba.0 / BLOCK_SECTORS, blocks));
        }
        all
    }

    #[test]
    fn a_file_is_created_grown_read_and_deleted() {
        // 100 blocks, of which 2 are inodes.
        let mut files = Files::new(800, 20, 2, true).unwrap();
        let (r, w, t) = (Op::Read, Op::Write, Op::Trim);
        files.create(0);
        assert!(files.append(0, 10_000, true));
        assert_eq!(fetched(&mut files), [(w, 0, 1), (w, 2, 2), (w, 4, 1), (w, 0, 1)]);
        // The last block held 1,808 bytes, and is rewritten.
        assert!(files.append(0, 2_481, true));
        assert_eq!(fetched(&mut files), [(w, 4, 2), (w, 0, 1)]);
        files.create(17);
        assert!(files.append(17, 1, false));
        assert_eq!(fetched(&mut files), [(w, 1, 1), (w, 6, 1)]);
        // The next block is allocated, so the file gets a second extent.
        assert!(files.append(0, 4096, false));
        files.read(0, 0, files.bytes(0));
        let reads = [(r, 2, 2), (r, 4, 2), (r, 7, 1)];
        assert_eq!(fetched(&mut files), [[(w, 5, 1), (w, 7, 1)].as_slice(), &reads].concat());
        files.read(0, 4096, 1);
        files.rewrite(0, 16_383, 2);
        assert_eq!(fetched(&mut files), [(r, 3, 1), (w, 5, 1), (w, 7, 1)]);
        files.delete(0);
        assert_eq!(fetched(&mut files), [(w, 0, 1), (t, 2, 2), (t, 4, 2), (t, 7, 1)]);
        assert_eq!(files.bytes(0), 0);
        // Freed space is reused, lowest address first.
        files.create(0);
        assert!(files.append(0, 4 * 4096, false));
        assert_eq!(fetched(&mut files), [(w, 0, 1), (w, 2, 2), (w, 4, 2)]);
    }

    #[test]
    fn space_that_runs_out_leaves_everything_as_it_was() {
        let mut files = Files::new(80, 1, 8, false).unwrap();
        files.create(0);
        assert!(files.append(0, 8 * 4096, false));
        files.requests.clear();
        assert!(!files.append(0, 2 * 4096, true));
        assert_eq!((files.bytes(0), files.requests.len()), (8 * 4096, 0));
        assert!(files.append(0, 4096, false));
        assert!(Files::new(8, 1, 8, false).is_none());
    }

    #[test]
    fn no_block_has_two_files_and_all_space_comes_back() {
        let mut files = Files::new(8 * 1000, 16, 4, false).unwrap();
        let mut random = Xoshiro256::new(1, 0);
        for _ in 0..5_000 {
            let file = random.below(16) as usize;
            if files.bytes(file) > 0 && random.below(3) == 0 {
                files.delete(file);
            } else {
                if files.bytes(file) == 0 {
                    files.create(file);
                }
                files.append(file, 1 + random.below(80_000), false);
            }
            files.requests.clear();
            let mut owned = vec![0; 1000];
            let extents = files.entries.iter().flatten().flat_map(|file| &file.extents);
            let used = extents.map(|extent| (extent.first, extent.blocks));
            for (first, blocks) in used.chain(files.allocator.free()) {
                assert!(blocks > 0);
                for block in first..first + blocks {
                    owned[block as usize] += 1;
                }
            }
            assert_eq!(owned[0], 0);
            assert!(owned[1..].iter().all(|owners| *owners == 1));
        }
    }
}
