//! The placement handles of a device, as a drive reports them to its host.

/// Placement handles of a drive. Sizes are bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Handles, first reclaim group first.
    pub handles: Vec<PlacementHandle>,
    /// Naming of the placements.
    pub naming: Naming,
    /// Size of a reclaim unit.
    pub unit_bytes: u64,
    /// Longest time that a unit may be open, s; 0 where that is not limited.
    pub limit_seconds: u32,
    /// Written by the host, programmed for that and to move it, and erased.
    pub host_bytes: u64,
    /// See `host_bytes`.
    pub media_bytes: u64,
    /// See `host_bytes`.
    pub erased_bytes: u64,
    /// The last events that the host brought about, the oldest first.
    pub hosts_events: Vec<PlacementEvent>,
    /// The last of the drive's own.
    pub own_events: Vec<PlacementEvent>,
}

/// Encoding of a write's placement: a handle in a reclaim group.
///
/// Within the program the number of a placement is group x handles + handle. A placement identifier of `NVMe` has the
/// group in its upper bits, as many as the number of groups takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// In each group.
    pub handles: u32,
    /// Reclaim groups.
    pub groups: u32,
}

impl Default for Naming {
    fn default() -> Naming {
        Naming { handles: 0, groups: 1 }
    }
}

impl Naming {
    /// Number of placements.
    pub fn count(self) -> usize {
        self.handles as usize * self.groups as usize
    }

    /// Bits of an identifier that name the group (RGIF).
    pub fn bits_of_group(self) -> u32 {
        self.groups.next_power_of_two().trailing_zeros()
    }

    /// The group and the handle of a placement.
    pub fn parts(self, placement: u32) -> (u32, u32) {
        let handles = self.handles.max(1);
        (placement / handles, placement % handles)
    }

    /// The identifier of a placement.
    pub fn identifier(self, placement: u32) -> u16 {
        let (group, handle) = self.parts(placement);
        (group << (u16::BITS - self.bits_of_group()) | handle) as u16
    }

    /// Placement of an identifier, if valid.
    pub fn placement(self, identifier: u16) -> Option<u32> {
        let below = u16::BITS - self.bits_of_group();
        let (group, handle) =
            (u32::from(identifier) >> below, u32::from(identifier) & ((1 << below) - 1));
        (group < self.groups && handle < self.handles).then(|| group * self.handles + handle)
    }
}

/// A placement handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementHandle {
    /// True if copies keep the handle.
    pub persistent: bool,
    /// Writable bytes left in its unit.
    pub left_bytes: u64,
    /// Remaining time of that unit, s; 0 where it is not limited.
    pub left_seconds: u32,
}

/// An event of placement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementEvent {
    /// Number in a log page.
    pub code: u8,
    /// Handle concerned, if any.
    pub handle: Option<u8>,
    /// The handle that a write named.
    pub named: Option<u8>,
    /// First sector concerned, if known.
    pub sector: Option<u64>,
    /// Number of sectors.
    pub sectors: u32,
    /// Host bytes submitted before.
    pub after_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::Naming;

    #[test]
    fn identifiers_and_placements_are_inverse_to_each_other() {
        for (handles, groups) in [(1, 1), (3, 1), (64, 1), (3, 2), (8, 5), (64, 2), (1, 128)] {
            let naming = Naming { handles, groups };
            let named: Vec<u32> =
                (0..=u16::MAX).filter_map(|identifier| naming.placement(identifier)).collect();
            assert_eq!(named, (0..naming.count() as u32).collect::<Vec<_>>());
            let back = |it: &u32| naming.placement(naming.identifier(*it)) == Some(*it);
            assert!(named.iter().all(back), "{naming:?}");
        }
        let naming = Naming { handles: 8, groups: 5 };
        assert_eq!((naming.bits_of_group(), naming.identifier(11)), (3, 1 << 13 | 3));
    }
}
