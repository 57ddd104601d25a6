use super::Geometry;
use crate::config::SsdConfig;

/// End of the spare space, exact to the block: with the maximum of lost blocks, the exported data
/// still fit beside the reserve with a page to spare; with one more they do not.
#[test]
fn a_pool_can_lose_blocks_until_what_it_exports_does_not_fit() {
    let mut shapes = 0;
    for blocks in [16, 24, 64, 100, 257] {
        for pages in [4, 17, 64] {
            for spare in [0.15, 0.2, 0.35, 0.6] {
                let config = SsdConfig {
                    blocks_per_plane: blocks,
                    pages_per_block: pages,
                    spare_factor: Some(spare),
                    ..SsdConfig::default()
                };
                let Ok(it) = Geometry::new(&config) else { continue };
                let domains = it.domains / it.pools;
                let kept = domains * (it.low_blocks + it.frontiers);
                let fits = |lost: u32| {
                    let left = u64::from(domains * it.blocks_per_domain - kept - lost);
                    left * u64::from(it.data_pages) > it.pages_per_pool
                };
                let most = it.losable_blocks();
                assert!(fits(most), "{config:?}: {most}");
                assert!(!fits(most + 1), "{config:?}: {most}");
                shapes += 1;
            }
        }
    }
    assert!(shapes > 20, "{shapes}");
}
