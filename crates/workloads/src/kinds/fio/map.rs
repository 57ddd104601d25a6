//! Bitmap of the accessed blocks of a region, with fast search for the next free block.

/// One bit per block, with summary levels: each bit stands for 64 taken bits of the level below.
#[derive(Debug, Clone)]
pub(super) struct Map {
    blocks: u64,
    free: u64,
    /// The lowest level first; the bits beyond the last block are set.
    levels: Vec<Vec<u64>>,
}

impl Map {
    pub(super) fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let mut words = vec![0; bits.div_ceil(64) as usize];
            if !bits.is_multiple_of(64) {
                *words.last_mut().expect("there are bits") = u64::MAX << (bits % 64);
            }
            bits = words.len() as u64;
            levels.push(words);
            if bits <= 1 {
                return Map { blocks, free: blocks, levels };
            }
        }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The first free block at or after `from`, otherwise from the start; `None` if all are taken.
    pub(super) fn next_free(&self, from: u64) -> Option<u64> {
        if self.free == 0 {
            return None;
        }
        self.find(from).or_else(|| self.find(0))
    }

    fn find(&self, from: u64) -> Option<u64> {
        let (mut level, mut position) = (0, from);
        loop {
            let index = position / 64;
            let word = *self.levels[level].get(index as usize)?;
            let free = !word & (u64::MAX << (position % 64));
            if free == 0 {
                level += 1;
                position = index + 1;
                if level == self.levels.len() {
                    return None;
                }
                continue;
            }
            position = index * 64 + u64::from(free.trailing_zeros());
            if level == 0 {
                return Some(position);
            }
            level -= 1;
            position *= 64;
        }
    }

    /// Takes up to `count` free blocks, starting at `first`, and returns their number.
    pub(super) fn take(&mut self, first: u64, count: u64) -> u64 {
        let mut taken = 0;
        while taken < count && first + taken < self.blocks && self.take_one(first + taken) {
            taken += 1;
        }
        self.free -= taken;
        taken
    }

    /// Takes a block; `false` if it is already taken.
    fn take_one(&mut self, block: u64) -> bool {
        let mut position = block;
        for words in &mut self.levels {
            let word = &mut words[(position / 64) as usize];
            let bit = 1 << (position % 64);
            if *word & bit != 0 {
                return false;
            }
            *word |= bit;
            if *word != u64::MAX {
                break;
            }
            position /= 64;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random, Xoshiro256};

    #[test]
    fn the_map_finds_the_free_blocks_of_a_plain_list() {
        for blocks in [1, 2, 63, 64, 65, 4095, 4096, 4097, 10_000] {
            let mut map = Map::new(blocks);
            let mut plain = vec![false; blocks as usize];
            let mut random = Xoshiro256::new(blocks, 0);
            while let Some(free) = map.next_free(random.below(blocks)) {
                assert!(!plain[free as usize]);
                let count = 1 + random.below(5);
                let run = plain[free as usize..].iter().take_while(|taken| !**taken).count() as u64;
                let taken = map.take(free, count);
                assert_eq!(taken, run.min(count));
                plain[free as usize..(free + taken) as usize].fill(true);
                let from = random.below(blocks);
                let after = (from..blocks).chain(0..from).find(|block| !plain[*block as usize]);
                assert_eq!(map.next_free(from), after);
            }
            assert!(plain.iter().all(|taken| *taken));
        }
    }
}
