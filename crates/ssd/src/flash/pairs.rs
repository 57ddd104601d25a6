//! Pages that share cells: an interrupted program of the upper page may damage the lower one.

use crate::config::{Pairing, SsdConfig};

/// Lower page that shares cells with a page, if any.
pub fn lower_of(pairing: Pairing, page: u32, pages_per_block: u32) -> Option<u32> {
    match pairing {
        Pairing::None => None,
        Pairing::Next => (page % 2 == 1).then(|| page - 1),
        Pairing::Stepped => {
            // Pairs in steps of two: 0 with 2, then 1 with 4, 3 with 6, and so on; the last with
            // the last but two.
            let (couple, side) = (page / 2, page % 2);
            let lower = match couple {
                0 | 1 => return None,
                2 => 0,
                even if even % 2 == 0 => even - 3,
                odd if odd + 1 == pages_per_block / 2 => odd - 2,
                _ => return None,
            };
            Some(2 * lower + side)
        }
    }
}

/// `lower` for a drive.
pub(crate) fn lower_in(config: &SsdConfig, page: u32) -> Option<u32> {
    lower_of(config.cell.pairing, page, config.simulated_pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paired pages are four or six apart, and no page is in two pairs.
    #[test]
    fn stepped_pairs_are_four_or_six_pages_apart() {
        for pages in [8, 64, 128, 256] {
            let mut seen = vec![false; pages as usize];
            for page in 0..pages {
                let Some(lower) = lower_of(Pairing::Stepped, page, pages) else { continue };
                assert!([4, 6].contains(&(page - lower)), "{lower} with {page} of {pages}");
                for it in [page, lower] {
                    assert!(!std::mem::replace(&mut seen[it as usize], true), "{it} of {pages}");
                }
            }
            assert!(seen.iter().all(|it| *it), "{pages}: {seen:?}");
        }
    }
}
