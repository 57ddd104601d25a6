//! Possible destinations of a host page: pools, the groups of domains in them, and their room.

use crate::shape::Geometry;

/// Pools and the groups of domains among which a write chooses.
#[derive(Debug, Clone)]
pub(super) struct Placement {
    /// Domains among which a write on a unit may choose: consecutive groups of this size.
    pub(super) group_size: u32,
    /// A pool reaches over several units; each unit's domains are then a group.
    pub(super) pools_span_units: bool,
    /// Group of each pool otherwise.
    pub(super) pool_group: Vec<u32>,
    /// True if reclaimable pages are counted: pools span units, or are reclaim groups.
    pub counts_reclaimable: bool,
    /// Pages of each unit that hold no valid data, erased or superseded, if they are counted.
    pub(super) reclaimable: Vec<u64>,
    /// The domain of each group at which the next choice begins.
    pub(super) write_pointer: Vec<u32>,
}

impl Placement {
    pub(super) fn new(geometry: &Geometry) -> Placement {
        let domains_per_pool = geometry.domains / geometry.pools;
        let group_size = domains_per_pool.min(geometry.domains_per_unit);
        let pools_span_units = domains_per_pool > group_size;
        let blocks_per_unit = geometry.domains_per_unit * geometry.blocks_per_domain;
        let pages_per_unit = u64::from(blocks_per_unit) * u64::from(geometry.data_pages);
        let counts_reclaimable = pools_span_units || geometry.reclaim_groups > 1;
        let counted = if counts_reclaimable { geometry.units as usize } else { 0 };
        Placement {
            group_size,
            pools_span_units,
            counts_reclaimable,
            pool_group: geometry.pool_domains.iter().map(|d| d[0].0 / group_size).collect(),
            reclaimable: memory::filled(pages_per_unit, counted),
            write_pointer: memory::zeroed((geometry.domains / group_size) as usize),
        }
    }
}

/// Pages of a domain reserved for the moves of the next cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserve {
    Pages(u32),
    /// All units: the drive has reached end of life.
    Everything,
}
